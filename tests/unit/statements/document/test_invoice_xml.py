"""The XML of statements: an invoice or a credit note of EN 16931."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.model import money
from quarterhour.statements.document.invoice import prefixed, why_no_invoice
from quarterhour.statements.document.invoice_xml import statement_xml
from quarterhour.statements.document.page import statement_page
from tests.support.cases import cases
from tests.support.invoices import (
    BUYER,
    EXEMPT,
    NO_PARTY,
    OUTSIDE_SCOPE,
    REVERSE_CHARGE,
    SELLER,
    every_kind,
    invoice_document,
    row,
)
from tests.support.statement_documents import PUBLISHED, tax_row

UBL: Final = "urn:oasis:names:specification:ubl:schema:xsd:"
NAMES: Final = {"cac": f"{UBL}CommonAggregateComponents-2", "cbc": f"{UBL}CommonBasicComponents-2"}
CURRENCIES: Final = st.sampled_from(["EUR", "GBP", "JPY"])
PRINTABLE: Final = st.text(
    st.characters(exclude_categories=["C", "Z"], include_characters=" "), min_size=1, max_size=20
).filter(str.strip)


def parsed(document: dict[str, Any]) -> ET.Element:
    xml = statement_xml(document)
    assert xml is not None
    return ET.fromstring(xml)  # noqa: S314 - our own


def texts(root: ET.Element, path: str) -> list[str]:
    return [one.text or "" for one in root.iterfind(path, NAMES)]


def totals(root: ET.Element) -> dict[str, str]:
    (total,) = root.iterfind("cac:LegalMonetaryTotal", NAMES)
    return {one.tag.rpartition("}")[2]: one.text or "" for one in total}


def test_a_statement_is_an_invoice_of_its_commission() -> None:
    root = parsed(invoice_document(opening="120.00", payments="100.00"))
    assert root.tag == f"{{{UBL}Invoice-2}}Invoice"
    assert totals(root) == {
        "LineExtensionAmount": "220.02",
        "TaxExclusiveAmount": "220.02",
        "TaxInclusiveAmount": "264.02",
        "PrepaidAmount": "-20.00",
        "PayableAmount": "284.02",
    }
    assert texts(root, "cbc:DueDate") == ["2027-01-03"]
    assert texts(root, "cac:InvoicePeriod/*") == ["2026-11-01", "2026-11-30"]
    assert texts(root, "cac:PaymentMeans//cbc:ID") == ["DE89370400440532013000"]
    assert texts(root, "cac:PaymentMeans/cbc:PaymentID") == ["S-000017"]
    assert texts(root, "cbc:Note") == [
        (
            "Balance of the account in EUR: Opening balance 120.00, Total for this period 264.02, "
            "Net sales received for you 0.00, Payments 100.00, Closing balance 284.02."
        )
    ]


def test_a_credit_note_has_the_opposite_signs_and_nothing_to_pay() -> None:
    cancels = {"number": "S-000009", "issued_on": "2026-11-04", "document": "statement"}
    root = parsed(invoice_document(row("-84.70", "-16.94"), opening="500.00", cancels=cancels))
    assert root.tag == f"{{{UBL}CreditNote-2}}CreditNote"
    assert totals(root)["PayableAmount"] == "101.64"
    assert texts(root, "cac:TaxTotal//cbc:TaxableAmount") == ["84.70"]
    assert texts(root, "cac:CreditNoteLine/cac:Price/cbc:PriceAmount") == ["84.70"]
    assert texts(root, "cac:BillingReference/cac:InvoiceDocumentReference/*") == ["S-000009", "2026-11-04"]
    assert not texts(root, "cac:PaymentMeans/*")
    assert texts(root, "cac:PaymentTerms/cbc:Note") == ["Credited to the balance of the account."]


def test_a_credit_note_refers_to_the_document_before_it_if_it_corrects_its_month() -> None:
    references = "cac:BillingReference/cac:InvoiceDocumentReference/*"
    previous = {"number": "S-000009", "period": "2026-10", "issued_on": "2026-11-04"}
    months = [{"month": "2026-10"}, {"month": "2026-09"}]
    credit = (row("-84.70", "-16.94"),)
    made = invoice_document(*credit, previous=previous, earlier_months=months)
    assert texts(parsed(made), references) == ["S-000009", "2026-11-04"]
    assert not texts(parsed(invoice_document(*credit, previous=previous, earlier_months=months[1:])), references)
    statement = invoice_document(row("84.70", "16.94"), previous=previous, earlier_months=months)
    assert not texts(parsed(statement), references)


def test_a_negative_part_of_a_statement_is_a_line_of_quantity_minus_one() -> None:
    root = parsed(invoice_document(row("100.00", "20.00"), row("-30.00", **REVERSE_CHARGE)))
    assert texts(root, "cac:InvoiceLine/cbc:InvoicedQuantity") == ["1", "-1"]
    assert texts(root, "cac:InvoiceLine/cbc:LineExtensionAmount") == ["100.00", "-30.00"]
    assert texts(root, "cac:InvoiceLine/cac:Price/cbc:PriceAmount") == ["100.00", "30.00"]
    assert totals(root)["PayableAmount"] == "90.00"


@pytest.mark.parametrize(
    ("tax", "category", "code"),
    [
        (row("84.70", "16.94"), "S", []),
        (row("84.70", percent="0"), "Z", []),
        (row("84.70", **REVERSE_CHARGE), "AE", ["VATEX-EU-AE"]),
        (row("84.70", **EXEMPT), "E", []),
        (row("84.70", **OUTSIDE_SCOPE), "O", ["VATEX-EU-O"]),
    ],
)
def test_each_scheme_is_a_category_of_tax(tax: dict[str, Any], category: str, code: list[str]) -> None:
    root = parsed(invoice_document(tax))
    assert texts(root, "cac:TaxTotal//cac:TaxCategory/cbc:ID") == [category]
    assert texts(root, "cac:TaxTotal//cbc:TaxExemptionReasonCode") == code


def test_the_legal_ground_is_that_of_the_tax_profile_or_the_usual_one_in_the_language_of_the_agency() -> None:
    ground = {"reason": "§ 4 Nr. 11 UStG", "reason_code": "VATEX-EU-135-1A"}
    own = parsed(invoice_document(row("84.70", **EXEMPT, **ground)))
    assert texts(own, "cac:TaxTotal//cbc:TaxExemptionReasonCode") == [ground["reason_code"]]
    assert texts(own, "cac:TaxTotal//cbc:TaxExemptionReason") == [ground["reason"]]
    german = parsed(invoice_document(row("84.70", **REVERSE_CHARGE), language="de"))
    note = "Steuerschuldnerschaft des Leistungsempfängers."
    assert texts(german, "cac:TaxTotal//cbc:TaxExemptionReason") == [note]
    assert texts(german, ".//cac:Item/cbc:Name") == ["Provision auf Verkäufe"]


def test_the_buyer_has_the_vat_id_by_which_it_owes_the_tax_and_one_id_alone() -> None:
    french = row("100.00", **REVERSE_CHARGE, country="FR", vat_id="FR40303265045")
    german = row("50.00", "9.50", percent="19", country="DE", vat_id="DE136695976")
    moved = invoice_document(german, french)
    assert texts(parsed(moved), "cac:AccountingCustomerParty//cac:PartyTaxScheme/cbc:CompanyID") == ["FR40303265045"]
    spanish = {**french, "country": "ES", "vat_id": "ESB58378431"}
    problem = "its reverse charge is of several VAT ids, and EN 16931 names one buyer"
    assert why_no_invoice(invoice_document(french, spanish)) == problem


def test_rows_of_one_rate_are_one_breakdown_of_tax() -> None:
    """The agency got its VAT id in the middle of the month."""
    root = parsed(invoice_document(row("100.00", "20.00"), row("50.00", "10.00", vat_id="NL004495445B01")))
    assert texts(root, "cac:TaxTotal/cac:TaxSubtotal/cbc:TaxableAmount") == ["150.00"]
    assert texts(root, "cac:InvoiceLine/cbc:LineExtensionAmount") == ["100.00", "50.00"]


def test_outside_the_scope_of_vat_no_party_has_a_vat_id_and_the_seller_is_identified_by_its_number() -> None:
    root = parsed(invoice_document(row("84.70", **OUTSIDE_SCOPE)))
    assert not texts(root, ".//cac:PartyTaxScheme/cbc:CompanyID")
    assert texts(root, "cac:AccountingSupplierParty//cac:PartyIdentification/cbc:ID") == ["DE136695976"]


@pytest.mark.parametrize(
    ("proceeds", "prepaid", "due", "terms"),
    [
        ("2200.18", ["264.02"], "0.00", ["Settled by deduction from the proceeds of sales."]),
        ("200.00", ["200.00"], "64.02", []),
        ("-50.00", ["-50.00"], "314.02", []),
    ],
)
def test_the_marketplace_deducts_what_the_proceeds_cover(
    proceeds: str, prepaid: list[str], due: str, terms: list[str]
) -> None:
    root = parsed(invoice_document(collects="marketplace", proceeds=proceeds))
    assert texts(root, "cac:LegalMonetaryTotal/cbc:PrepaidAmount") == prepaid
    assert totals(root)["PayableAmount"] == due
    assert texts(root, "cac:PaymentTerms/cbc:Note") == terms
    assert bool(texts(root, "cac:PaymentMeans/cbc:PaymentID")) is (not terms)


@pytest.mark.parametrize(
    ("paid", "closing", "prepaid", "due", "terms"),
    [
        ("264.02", "264.02", ["264.02"], "0.00", ["Nothing to pay: settled with the balance of the account."]),
        ("64.02", "264.02", ["64.02"], "200.00", []),
        ("64.02", "364.02", ["-35.98"], "300.00", []),
    ],
)
def test_page_xml_and_reference_ask_for_one_amount_which_leaves_out_what_was_paid_since(
    paid: str, closing: str, prepaid: list[str], due: str, terms: list[str]
) -> None:
    opening = str(Decimal(closing) - Decimal("264.02"))
    is_open = bool(Decimal(due))
    document = invoice_document(
        opening=opening, replaces="S-000009", replaced_on="2026-12-01", paid_since=paid,
        due_on="2027-01-03" if is_open else None,
    )  # fmt: skip
    root = parsed(document)
    assert texts(root, "cac:LegalMonetaryTotal/cbc:PrepaidAmount") == prepaid
    assert totals(root)["PayableAmount"] == due
    assert texts(root, "cac:PaymentTerms/cbc:Note") == terms
    assert texts(root, "cac:PaymentMeans/cbc:PaymentID") == (["S-000017"] if is_open else [])
    assert texts(root, "cac:BillingReference/cac:InvoiceDocumentReference/*") == ["S-000009", "2026-12-01"]
    page = statement_page(document).decode().replace("\N{NO-BREAK SPACE}", " ")
    due_box = f"Amount due</p><strong>EUR {due}" if is_open else "Nothing to pay</p><strong>EUR 0.00"
    assert due_box in page
    assert f'Payments received since</th><td class="n">\N{MINUS SIGN}{paid}' in page


def test_a_credit_note_shows_its_tax_in_the_currency_of_the_issuer_too() -> None:
    root = parsed(every_kind()["foreign credit note"])
    assert texts(root, "cbc:TaxCurrencyCode") == ["EUR"]
    assert [(one.get("currencyID"), one.text) for one in root.iterfind("cac:TaxTotal/cbc:TaxAmount", NAMES)] == [
        ("GBP", "16.94"),
        ("EUR", "19.31"),
    ]


@pytest.mark.parametrize(
    ("document", "why"),
    [
        (invoice_document(row("1.00", scheme=None)), "a tax profile is missing"),
        (
            invoice_document(row("1.00", "0.20"), row("1.00", **OUTSIDE_SCOPE)),
            "EN 16931 cannot mix what is outside the scope of VAT with anything else",
        ),
        (invoice_document(row("1", "0"), currency="XXX"), "it has no currency"),
        (invoice_document(currency="STN"), "EN 16931 does not know the currency STN"),
        (invoice_document(customer={**BUYER, "country": "XK"}), "EN 16931 does not know the country XK"),
        (
            invoice_document(row("1.000", "0.200"), currency="KWD"),
            "amounts in KWD have more than the two decimal places of EN 16931",
        ),
        (
            invoice_document(
                tax_in={
                    "currency": "BHD",
                    "exchange_rate": "0.4",
                    **PUBLISHED,
                    "base": "88.008",
                    "tax": "17.600",
                },
            ),
            "amounts in BHD have more than the two decimal places of EN 16931",
        ),
    ],
)
def test_what_the_norm_cannot_express_has_no_xml(document: dict[str, Any], why: str) -> None:
    assert why_no_invoice(document) == why
    assert statement_xml(document) is None


@pytest.mark.parametrize(
    ("tax", "changed", "missing"),
    [
        (row("1.00"), {"owner": NO_PARTY}, "owner.legal_name, owner.country, owner.vat_id"),
        (row("1.00"), {"owner": {**SELLER, "vat_id": None}}, "owner.vat_id"),
        (row("1.00"), {"customer": NO_PARTY}, "customer.legal_name, customer.country"),
        (row("1.00"), {"customer": {**BUYER, "country": None}}, "customer.country"),
        (row("1.00"), {"customer": {**BUYER, "legal_name": " "}}, "customer.legal_name"),
        (row("1.00", **REVERSE_CHARGE), {"customer": {**BUYER, "vat_id": None}}, "customer.vat_id"),
    ],
)
def test_a_statement_without_what_the_norm_demands_of_its_parties_has_no_xml(
    tax: dict[str, Any], changed: dict[str, Any], missing: str
) -> None:
    document = invoice_document(tax, **changed)
    assert why_no_invoice(document) == f"{missing}: missing"
    assert statement_xml(document) is None


@pytest.mark.parametrize("tax", [row("84.70", "16.94"), row("84.70", **EXEMPT), row("84.70", **OUTSIDE_SCOPE)])
def test_parties_with_only_what_the_norm_demands_have_an_xml_without_empty_elements(tax: dict[str, Any]) -> None:
    seller = {name: SELLER[name] for name in ("legal_name", "country", "vat_id")}
    buyer = {**NO_PARTY, "legal_name": "Acme B.V.", "country": "NL"}
    root = parsed(invoice_document(tax, owner=seller, customer=buyer))
    assert all((one.text or "").strip() or len(one) for one in root.iter())


@cases(
    ("vat_id", "country", "expected"),
    [
        ("DE 136.695.976", "DE", "DE136695976"),
        ("136695976", "DE", "DE136695976"),
        ("GR094259216", "GR", "EL094259216"),
        ("094259216", "GR", "EL094259216"),
        ("XI980780684", "GB", "XI980780684"),
        ("U13585627", "AT", "ATU13585627"),
        ("B58378431", "ES", "ESB58378431"),
        ("NL004495445B01", "DE", "NL004495445B01"),
        ("CAB680524P76", "MX", "MXCAB680524P76"),  # CA is no country here
        ("CHE-107.787.577 IVA", "DE", "CHE107787577IVA"),
        ("BE1", "FR", "FRBE1"),
        ("DE136695976", None, "DE136695976"),
    ],
)
def test_a_vat_id_begins_with_its_country(vat_id: str, country: str | None, expected: str) -> None:
    assert prefixed(vat_id, country) == expected


def test_an_address_has_at_most_three_lines() -> None:
    root = parsed(invoice_document())
    assert texts(root, "cac:AccountingCustomerParty//cac:PostalAddress//") == [
        "Herengracht 1",
        "3rd floor",
        "\n",
        "1015 BA Amsterdam, Noord-Holland",
        "\n",
        "NL",
    ]


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    currency = draw(CURRENCIES)
    keys = draw(
        st.lists(
            st.one_of(
                st.tuples(st.just("standard"), st.decimals("0", "99.99", places=2)),
                st.tuples(st.sampled_from(["reverse_charge", "exempt"]), st.just(money.ZERO)),
            ),
            min_size=1,
            max_size=4,
            unique=True,
        )
    )
    taxes = []
    for scheme, percent in keys:
        base = money.on_statement(draw(st.decimals("-999999", "999999", places=4)), currency)
        exact = money.multiply(base, money.multiply(percent, Decimal("0.01")))
        tax = money.plain(money.on_statement(exact, currency))
        of_row = {"scheme": scheme, "percent": money.plain(percent), "note": draw(PRINTABLE)}
        taxes.append(tax_row(money.plain(base), tax, "2026-11-01", "2026-11-02", **of_row))
    names = {name: draw(PRINTABLE) for name in ("legal_name", "address", "contact")}
    return invoice_document(
        *taxes,
        currency=currency,
        agency=draw(PRINTABLE),
        owner={**SELLER, **names},
        customer={**BUYER, **names},
        collects=draw(st.sampled_from(["agency", "marketplace"])),
        proceeds=money.plain(money.on_statement(draw(st.decimals("-999999", "999999", places=2)), currency)),
    )


def amounts(root: ET.Element, path: str) -> Iterator[Decimal]:
    return map(Decimal, texts(root, path))


@given(documents())
def test_the_sums_of_any_invoice_are_exact(document: dict[str, Any]) -> None:
    root = parsed(document)
    sign = -1 if document["document"] == "credit_note" else 1
    total = {name: Decimal(value) for name, value in totals(root).items()}
    line = "cac:CreditNoteLine" if sign < 0 else "cac:InvoiceLine"
    (tax,) = amounts(root, "cac:TaxTotal/cbc:TaxAmount")
    assert total["LineExtensionAmount"] == sum(amounts(root, f"{line}/cbc:LineExtensionAmount"))
    assert (
        total["TaxExclusiveAmount"]
        == sum(amounts(root, ".//cbc:TaxableAmount"))
        == sign * Decimal(document["commission"])
    )
    assert tax == sum(amounts(root, ".//cac:TaxSubtotal/cbc:TaxAmount")) == sign * Decimal(document["tax"])
    assert total["TaxInclusiveAmount"] == total["TaxExclusiveAmount"] + tax
    assert total["PayableAmount"] == total["TaxInclusiveAmount"] - total.get("PrepaidAmount", 0)
    assert all(price >= 0 for price in amounts(root, ".//cbc:PriceAmount"))


@given(documents())
def test_the_same_document_gives_the_same_bytes(document: dict[str, Any]) -> None:
    assert statement_xml(document) == statement_xml(dict(reversed(document.items())))
