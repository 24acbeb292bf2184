"""One rounding: every export has the figures that the document states, and none rounds again or otherwise."""

import json
import re
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.model.money import Rounding
from quarterhour.registry.agencies.agency import BY_AGENCY, BY_MARKETPLACE, REVERSE_CHARGE, STANDARD, TaxProfile
from quarterhour.statements.document.invoice_xml import statement_xml
from quarterhour.statements.document.language import language_of
from quarterhour.statements.document.page import statement_page
from quarterhour.statements.listing import SealedObject
from quarterhour_tools.accounting.dac7 import seller_figures
from quarterhour_tools.accounting.datev import datev_files
from quarterhour_tools.accounting.document import StatementDocument
from quarterhour_tools.accounting.journal_csv import plain_journal
from quarterhour_tools.accounting.journal_entries import journal_entries
from quarterhour_tools.accounting.vat import charged, ec_sales_of, vat_of
from quarterhour_tools.statements.invoice_cii import statement_cii
from tests.support.accounting import accounts, paid_at_once, rows_of
from tests.support.chained_statements import cancellation, released, statement
from tests.support.html import Page
from tests.support.laws import examples
from tests.unit.tools.accounting.test_journal import MADE_AT, postings

Json = dict[str, Any]
PROFILES = (TaxProfile(STANDARD, Decimal(19)), TaxProfile(STANDARD, Decimal("7.5")), TaxProfile(REVERSE_CHARGE))
MAP = """
currency = "EUR"
[accounts]
payments = "1360"
opening = "9008"
proceeds = "1590"
[receivable]
account = "10000"
[payable]
account = "70000"
[[revenue]]
scheme = "standard"
account = "8400"
automatic = false
vat_account = "1776"
[[revenue]]
scheme = "reverse_charge"
account = "8336"
[datev]
consultant = 1001
client = 1
fiscal_year = "01-01"
account_length = 4
"""
lines = st.lists(
    st.tuples(
        st.decimals(-2000, 2000, places=3).map(str),
        st.decimals(-200, 200, places=4).map(str) | st.sampled_from(["1.025", "-1.025", "0.5", "2.5", "0.0005"]),
    ),
    min_size=1,
    max_size=5,
)
settings = st.fixed_dictionaries(
    {
        "currency": st.sampled_from(["EUR", "USD", "JPY", "KWD"]),
        "rounding": st.sampled_from(Rounding),
        "collects": st.sampled_from([BY_AGENCY, BY_MARKETPLACE]),
        "profiles": st.lists(st.sampled_from(PROFILES), min_size=1, max_size=3),
        "units": st.sampled_from(["0.8", "1.1234", "170.23", "3"]),
        "payments": st.decimals(-100, 100, places=2).map(str),
    }
)


def documents(months: list[list[tuple[str, str]]], setting: Json) -> list[Json]:
    """Return the documents of some months, and one that cancels the first of them, as their files hold them."""
    if setting["currency"] == "EUR":
        setting = {**setting, "units": "1"}
    first = statement(months[0], **setting)
    made, last = [first], (shown := released(first))
    for month in months[1:]:
        made.append(statement(month, last, **setting))
        last = released(made[-1])
    made.append(cancellation(first, shown, last))
    file = SealedObject("0" * 64, 1)
    return [json.loads(json.dumps({**one.content([], file), "number": f"S-{n}"})) for n, one in enumerate(made, 1)]


@pytest.mark.law
@given(st.lists(lines, min_size=1, max_size=3), settings)
@examples(100)
def test_every_export_has_the_figures_that_its_document_states(
    months: list[list[tuple[str, str]]], setting: Json
) -> None:
    for content in documents(months, setting):
        one = StatementDocument.parse(content)
        check_page(content)
        check_xml(content)
        check_books(content, one)
        check_tax(content, one)
        assert one.amount == Decimal(content["payable"]) - Decimal(content["proceeds"])
        for figures in seller_figures([one])[0].values():
            assert (figures.commission, figures.tax) == (Decimal(content["commission"]), Decimal(content["tax"]))


def check_page(content: Json) -> None:
    """Check that the page rounds as the document does: each figure is one of it, or that figure rounded."""
    english, currency, rounding = language_of("en"), content["currency"], content["rounding"]
    numbers = [text for text in leaves(content) if re.fullmatch(r"-?[0-9]+([.][0-9]+)?", text)]
    known = {english.count(int(text)) for text in numbers if "." not in text}
    for text in [*numbers, *(text[1:] if text.startswith("-") else f"-{text}" for text in numbers)]:
        known |= {english.exact(text, currency), english.rounded(text, currency, rounding)}
        if content["base"]:
            known.add(english.exact(text, content["base"]["currency"]))
    page = Page(statement_page(content))
    shown = {cell for row in page.rows for cell in row[1:] if re.fullmatch("\N{MINUS SIGN}?[0-9,]+([.][0-9]+)?", cell)}
    assert shown <= known


def leaves(value: Any) -> list[str]:
    """Return every value of JSON as a text."""
    if isinstance(value, dict | list):
        return [leaf for one in (value.values() if isinstance(value, dict) else value) for leaf in leaves(one)]
    return [str(value)]


def check_xml(content: Json) -> None:
    """Check the rows of tax, and the tax in the issuer's currency, of both syntaxes."""
    sign = -1 if content["document"] == "credit_note" else 1
    rows = [(sign * Decimal(row["base"]), sign * Decimal(row["tax"])) for row in content["taxes"]]
    issuer = sign * Decimal(content["tax_in"]["tax"]) if content["tax_in"] else None
    ubl, cii = statement_xml(content), statement_cii(content)
    if ubl is None:
        assert (cii, content["currency"]) == (None, "KWD")
        return
    assert cii is not None
    assert (
        list(zip(amounts(ubl, "cbc:TaxableAmount"), amounts(ubl, "cbc:TaxAmount")[1 : 1 + len(rows)], strict=True))
        == rows
    )
    assert list(zip(amounts(cii, "ram:BasisAmount"), amounts(cii, "ram:CalculatedAmount"), strict=True)) == rows
    if issuer is not None:
        assert amounts(ubl, "cbc:TaxAmount")[-1] == issuer == amounts(cii, "ram:TaxTotalAmount")[-1]


def amounts(xml: bytes, element: str) -> list[Decimal]:
    found = re.findall(rf"<{element}(?: [^>]*)?>([^<]*)</{element}>", xml.decode())
    return list(map(Decimal, found))


def check_books(content: Json, one: StatementDocument) -> None:
    """Check the journal, and the DATEV file in the document's currency or in the issuer's."""
    of_role: dict[str, Decimal] = {}
    one = paid_at_once(one)
    for row in rows_of(plain_journal(journal_entries([one], accounts(MAP)).entries))[1:]:
        amount = Decimal(row[8] or "0") - Decimal(row[9] or "0")
        of_role[row[6]] = of_role.get(row[6], Decimal(0)) + amount
    names = {"revenue": "commission", "vat": "tax", "payments": "payments", "proceeds": "proceeds"}
    for role, name in names.items():
        expected = Decimal(content[name]) * (-1 if role in {"revenue", "vat"} else 1)
        assert of_role.get(role, 0) == expected, role
    found = journal_entries([one], accounts(MAP, "datev")).entries
    files = datev_files(found, accounts(MAP, "datev"), MADE_AT, "").files.values()
    issued = content["tax_in"] or content
    own = [content[name] for name in ("proceeds", "payments")] + [
        row[name] for row in content["taxes"] for name in ("base", "tax")
    ]
    rows = issued["rows"] if content["tax_in"] else content["taxes"]
    theirs = [issued[name] for name in ("proceeds", "payments")] + [
        row[name] for row in rows for name in ("base", "tax")
    ]
    for posting in (row for file in files for row in postings(file)):
        size, is_own = _number(posting["Umsatz (ohne Soll/Haben-Kz)"]), posting["WKZ Umsatz"] == content["currency"]
        assert size in {abs(Decimal(text)) for text in (own if is_own else theirs)}
        if "Basis-Umsatz" in posting:
            assert _number(posting["Basis-Umsatz"]) in {abs(Decimal(text)) for text in theirs}


def _number(text: str) -> Decimal:
    return Decimal(text.replace(",", "."))


def check_tax(content: Json, one: StatementDocument) -> None:
    """Check the VAT figures and the EC sales list."""
    sums = vat_of(charged([one])).values()
    assert sum(row.base for row in sums) == Decimal(content["commission"])
    assert sum(row.tax for row in sums) == Decimal(content["tax"])
    issued = content["tax_in"] or {"base": content["commission"], "tax": content["tax"]}
    figures = [row.issuer for row in sums if row.issuer]
    assert sum(one.base for one in figures) == Decimal(issued["base"])
    assert sum(one.tax for one in figures) == Decimal(issued["tax"])
    reverse = [row["base"] for row in content["taxes"] if row["scheme"] == "reverse_charge"]
    listed = [row.base for row in ec_sales_of(charged([one])).values()]
    assert sum(listed) == sum(map(Decimal, reverse))
