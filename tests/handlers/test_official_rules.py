"""Official rules find nothing in the XML of statements, of every kind and of sealed months, nor in their PDF."""

import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import product
from pathlib import Path
from typing import Any, Final

import pytest
import typst

from quarterhour.model.countries import COUNTRIES
from quarterhour.model.currencies import LIVES, MINOR_DIGITS
from quarterhour.model.money import Rounding
from quarterhour.registry.agencies.agency import STANDARD, TaxProfile
from quarterhour.statements.document.invoice import why_no_invoice
from quarterhour.statements.document.invoice_xml import statement_xml
from quarterhour.statements.document.page import statement_page
from quarterhour.statements.document.tax import Taxable, taxed
from quarterhour.statements.releases.plan import document_kind
from quarterhour.statements.remainders import Remainder, Remainders
from quarterhour_tools.errors import ToolError
from quarterhour_tools.statements.invoice_cii import statement_cii
from quarterhour_tools.statements.pdf import statement_pdf
from tests.conftest import WITHOUT_JAVA
from tests.handlers.desk import send
from tests.support.agencies import FULL, OWNER, tax
from tests.support.invoices import BUYER, EXEMPT, every_kind, every_kind_in_profiles, invoice_document, row
from tests.support.official_rules import Finding, findings
from tests.support.statement_examples import EXAMPLES
from tests.support.system import opened
from tests.unit.statements.three_months import sealed

pytestmark = pytest.mark.slow
Files = Mapping[str, bytes]
START: Final = datetime(2026, 11, 30, 23, 0, tzinfo=UTC)
AGENCIES: Final = {
    "standard": tax(percent="20"),
    "reverse": tax(scheme="reverse_charge", percent=None, vat_id="DE136695976") | {"country": "DE"},
    "exempt": tax(scheme="exempt", percent=None),
    "outside": tax(scheme="outside_scope", percent=None, vat_id=None),
    "collected": tax(percent="20") | {"collects": "marketplace"},
    "returned": tax(percent="20"),
    "untaxed": {name: content for name, content in FULL.items() if name != "tax"},
}


def both(documents: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[tuple[str, bytes]]:
    """Yield the XML of documents in both syntaxes."""
    for name, document in documents:
        ubl, cii = statement_xml(document), statement_cii(document)
        assert ubl, why_no_invoice(document)
        assert cii
        yield from ((f"UBL {name}", ubl), (f"CII {name}", cii))


def documents_of_every_kind() -> Files:
    examples = {name: one for name, one in EXAMPLES.items() if why_no_invoice(one) is None}
    assert len(examples) > len(EXAMPLES) / 2
    return dict(both([*every_kind().items(), *examples.items()]))


def documents_of_every_profile() -> Files:
    """Of every kind, for a seller and buyers that have registered all: each names its profile, whose rules are run."""
    documents = every_kind_in_profiles()
    for name, one in documents.items():
        profile = b"#compliant#" + (b"urn:xeinkauf.de" if name.startswith("XR") else b"urn:fdc:peppol.eu")
        assert profile in (statement_xml(one) or b""), name
    return dict(both(documents.items()))


def figures_with_remainders() -> Files:
    """Figures that took up what rounding had left: half a unit, and more after a cancellation, in either direction.

    A commission that only its remainder makes negative is on a statement, not on a credit note.
    """
    documents = {}
    for currency, unit in (("EUR", Decimal("0.01")), ("JPY", Decimal(1))):
        for percent, units, half in product(("7", "7.7", "10", "19"), (-110, 0, 1, 5, 110, 114), (-3, -1, 1, 3)):
            profile, left = TaxProfile(STANDARD, Decimal(percent)), half * unit / 2
            carried = Remainders({((STANDARD, profile.percent), "commission"): Remainder(left, left)})
            day, exact = date(2026, 11, 5), (units + Decimal("0.2")) * unit
            (taxed_row,) = taxed({Taxable(day): exact}, currency, {day: profile}.get, Rounding.HALF_UP, carried)
            kind = document_kind(exact, currency, Rounding.HALF_UP)
            one = invoice_document(dict(taxed_row.as_dict()), currency=currency, document=kind)
            documents[f"{currency} {percent} {units} {half}"] = one
    assert any(one["document"] == "statement" and Decimal(one["payable"]) < 0 for one in documents.values())
    return dict(both(documents.items()))


def any_currency_or_country() -> Files:
    documents = {f"in {one}": invoice_document(currency=one) for one in MINOR_DIGITS if one not in LIVES}
    documents |= {
        f"to {one}": invoice_document(row("1.00", **EXEMPT), customer={**BUYER, "country": one, "vat_id": None})
        for one in COUNTRIES
    }
    files = {name: xml for name, one in documents.items() if (xml := statement_xml(one))}
    assert len(documents) - len(files) < 20, "three decimals, and what the code lists lack"
    return files


def sealed_months() -> Files:
    files = {key: content for key, content in sealed().items() if key.endswith("statement.xml")}
    assert len(files) == 10
    assert any(b"TaxCurrencyCode" in content for content in files.values())
    return files


def files_of_a_run() -> Files:
    with opened({"grace_days": 0}, start=START) as world:
        assert send(world, "PUT", "/documents/owner", {"seen": 0, "content": OWNER}).status == 201
        for agency, content in AGENCIES.items():
            assert send(world, "PUT", f"/agencies/{agency}", {"seen": 0, "content": content}).status == 201
            world.sell("-100.00" if agency == "returned" else "100.00", agency=agency)
            world.sell("1000", agency=agency, currency="JPY")
        world.drain()
        world.clock.advance_to(datetime(2026, 12, 1, 1, tzinfo=UTC))
        world.report()
        assert world.stack.invoke("statements", {})["periods"] == ["2026-11"]
        keys = [key for key in world.stack.bucket.keys() if key.endswith("statement.xml")]  # noqa: SIM118 - no dict
        files = {key: world.stack.bucket.open(key).read() for key in keys}
    agencies = {key.split("/")[2] for key in files}
    assert agencies == {name for name in AGENCIES if name != "untaxed"}
    assert len(files) == 2 * len(agencies)
    assert any(b"<CreditNote " in one for one in files.values())
    assert any(b"PrepaidAmount" in one for one in files.values())
    return files


def a_wrong_sum_and_a_missing_name() -> Files:
    xml = statement_xml(invoice_document())
    assert xml
    wrong = xml.replace(b">264.02</cbc:PayableAmount>", b">264.03</cbc:PayableAmount>")
    nameless = xml.replace(b"<cbc:RegistrationName>Acme B.V.</cbc:RegistrationName>\n", b"")
    return {"sum": wrong, "name": nameless}


def profiles_whose_needs_are_unmet() -> Files:
    """The XML of each profile without what its rules demand."""
    made = {name: statement_xml(one) or b"" for name, one in every_kind_in_profiles().items()}
    reference = b"<cbc:BuyerReference>991-03730-19</cbc:BuyerReference>\n"
    endpoint = b'<cbc:EndpointID schemeID="0106">12345678</cbc:EndpointID>\n'
    return {
        "xrechnung": made["XRechnung: statement"].replace(reference, b""),
        "peppol": made["Peppol abroad: statement"].replace(endpoint, b""),
    }


def pdfs() -> Files:
    names = ("German", "French", "Dutch credit note", "long names", "right to left", "nobody")
    documents = {name: EXAMPLES[name] for name in names}
    assert [name for name, one in documents.items() if statement_cii(one) is None] == ["nobody"]
    return {
        name: statement_pdf(statement_page(one), statement_cii(one), date.fromisoformat(one["issued_on"]))
        for name, one in documents.items()
    }


def a_pdf_that_is_no_pdf_a() -> Files:
    return {"plain": typst.compile(b"plain", format="pdf")}


CORRECT: Final = (
    *(
        documents_of_every_kind,
        documents_of_every_profile,
        figures_with_remainders,
        any_currency_or_country,
        sealed_months,
        files_of_a_run,
        pdfs,
    ),
)
WRONG: Final = (a_wrong_sum_and_a_missing_name, profiles_whose_needs_are_unmet, a_pdf_that_is_no_pdf_a)


def found_in(folder: Path) -> list[Finding]:
    """Return what the rules find in all files, which are written to a folder."""
    paths = []
    for made in (*CORRECT, *WRONG):
        for number, (name, content) in enumerate(made().items()):
            kind = "pdf" if content.startswith(b"%PDF") else "xml"
            plain = "".join(one if one.isalnum() else "-" for one in name)
            paths.append(folder / f"{made.__name__}-{number}-{plain}.{kind}")
            paths[-1].write_bytes(content)
    try:
        return findings(paths)
    except ToolError as error:
        if os.environ.get("CI") and not os.environ.get(WITHOUT_JAVA):
            pytest.fail(f"{error} (to go without: {WITHOUT_JAVA}=1)", pytrace=False)
        pytest.skip(f"the official rules were not run: {error}")


def test_the_rules_find_nothing_in_what_is_correct_and_each_mistake_in_what_is_not(tmp_path: Path) -> None:
    """One test, as to start the rules takes longer than to follow them."""
    found = found_in(tmp_path)
    wrong = tuple(f"{made.__name__}-" for made in WRONG)
    assert [one for one in found if not one.file.startswith(wrong)] == []
    rules = {(one.file, one.rule) for one in found}
    prefix = f"{a_wrong_sum_and_a_missing_name.__name__}-"
    assert rules >= {(f"{prefix}0-sum.xml", "BR-CO-16"), (f"{prefix}1-name.xml", "BR-07")}
    prefix = f"{profiles_whose_needs_are_unmet.__name__}-"
    assert rules >= {(f"{prefix}0-xrechnung.xml", "BR-DE-15"), (f"{prefix}1-peppol.xml", "PEPPOL-EN16931-R010")}
    assert any(one.file.startswith(f"{a_pdf_that_is_no_pdf_a.__name__}-") for one in found)
