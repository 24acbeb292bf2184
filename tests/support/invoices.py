"""Statements as JSON documents of every kind that becomes an invoice or a credit note."""

from decimal import Decimal
from typing import Any, Final

from tests.support.statement_documents import PUBLISHED, statement, sums, tax_row

SELLER: Final = {
    **statement()["owner"],
    "legal_name": "Marktplatz Beispiel GmbH",
    "address": "Hafenstraße 7\n20457 Hamburg",
    "country": "DE",
    "vat_id": "DE136695976",
    "iban": "DE89 3704 0044 0532 0130 00",
}
BUYER: Final = {
    "registered": True,
    "legal_name": "Acme B.V.",
    "address": "Herengracht 1\n3rd floor\n1015 BA Amsterdam\nNoord-Holland",
    "country": "NL",
    "group": None,
    "contact": "ap@acme.example",
    "vat_id": "NL004495445B01",
}
REACHED: Final = {
    **SELLER,
    "post_code": "20457",
    "town": "Hamburg",
    "email": "rechnung@markt.example",
    "phone": "+49 40 123456",
    "electronic_address": "9930:DE136695976",
    "registration_number": "HRB 12345",
}
"""The seller with all that profiles of electronic invoices need."""
AUTHORITY: Final = {
    "registered": True,
    "legal_name": "Bezirksamt Beispiel",
    "address": "Rathausplatz 1\n20095 Hamburg",
    "country": "DE",
    "group": None,
    "contact": None,
    "vat_id": None,
    "post_code": "20095",
    "town": "Hamburg",
    "electronic_address": "0204:991-03730-19",
    "registration_number": None,
    "invoice_profile": "xrechnung",
    "buyer_reference": "991-03730-19",
    "purchase_order": "B-7",
}
"""A buyer with all that XRechnung needs."""
NO_PARTY: Final[dict[str, Any]] = dict.fromkeys(BUYER)
REVERSE_CHARGE: Final = {"scheme": "reverse_charge", "percent": "0", "note": "Reverse charge: see <Article 196>."}
EXEMPT: Final = {"scheme": "exempt", "percent": "0", "note": "Exempt from VAT."}
OUTSIDE_SCOPE: Final = {"scheme": "outside_scope", "percent": "0", "note": "Outside the scope of VAT."}


def row(base: str, tax: str = "0", **changed: Any) -> dict[str, Any]:
    """Return a row of tax at 20 %, or at another rate or scheme."""
    return tax_row(base, tax, "2026-11-01", "2026-11-30", **changed)


def invoice_document(*taxes: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """Return a statement that charges these rows of tax, or 220.02 at 20 %; owed unless the closing balance is not."""
    rows = list(taxes) or [row("220.02", "44.00")]
    commission = sum(Decimal(one["base"]) for one in rows)
    tax = sum(Decimal(one["tax"]) for one in rows)
    opening, proceeds, payments = (Decimal(changed.get(name, "0")) for name in ("opening", "proceeds", "payments"))
    closing = opening + commission + tax - proceeds - payments
    document = {
        "document": "credit_note" if commission < 0 else "statement",
        "issued_on": "2026-12-04",
        "due_on": "2027-01-03" if closing > 0 else None,
        "dispute_until": None,
        "payment_days": 30,
        "language": "en",
        "collects": "agency",
        "collected": [],
        "proceeds": "0.00",
        "opening": "0",
        "payments": "0",
        "commission": f"{commission:f}",
        "tax": f"{tax:f}",
        "payable": f"{commission + tax:f}",
        "closing": f"{closing:f}",
        "cancels": None,
        "title": "statement",
        "replaces": None,
        "replaced_on": None,
        "paid_since": "0",
        "tax_in": None,
        "currency": "EUR",
        "owner": SELLER,
        "customer": BUYER,
        "taxes": rows,
    }
    return statement(**{**document, **changed})


def every_kind() -> dict[str, dict[str, Any]]:
    """Return documents of every kind by name; all of them can be expressed by EN 16931."""
    names = '<b>"O\'Neil" & ]]> &amp; 株式会社\u200d العربية'
    return {
        "statement": invoice_document(),
        "with a balance": invoice_document(opening="120.00", payments="100.00"),
        "covered by a credit balance": invoice_document(opening="-1000.00"),
        "nothing charged": invoice_document(row("0.00", "0.00")),
        "nothing charged but owed": invoice_document(row("0.00", "0.00"), opening="10.00"),
        "several rates": invoice_document(
            row("100.00", "20.00"),
            row("50.00", "3.75", percent="7.5"),
            row("9.99", **EXEMPT),
            row("7.00", **REVERSE_CHARGE),
        ),
        "a part is negative": invoice_document(row("100.00", "20.00"), row("-30.00", **REVERSE_CHARGE)),
        "the tax exceeds the rest": invoice_document(row("-100.00", "-20.00"), row("105.00", **REVERSE_CHARGE)),
        "reverse charge": invoice_document(row("84.70", **REVERSE_CHARGE)),
        "exempt": invoice_document(row("84.70", **EXEMPT)),
        "outside the scope": invoice_document(row("84.70", **OUTSIDE_SCOPE)),
        "standard at 0": invoice_document(row("84.70", percent="0")),
        "credit note": invoice_document(row("-84.70", "-16.94")),
        "credit note, and more is owed": invoice_document(row("-84.70", "-16.94"), opening="500.00"),
        "credit note with a charge": invoice_document(row("-84.70", "-16.94"), row("4.70", **REVERSE_CHARGE)),
        "credit note without tax": invoice_document(row("-84.70", **OUTSIDE_SCOPE)),
        "cancellation": invoice_document(
            row("-84.70", "-16.94"),
            cancels={"number": "S-000009", "issued_on": "2026-11-04", "document": "statement"},
        ),
        "cancelled credit note": invoice_document(
            cancels={"number": "C-000002", "issued_on": "2026-11-04", "document": "credit_note"}
        ),
        "replacement": invoice_document(replaces="S-000009", replaced_on="2026-11-04"),
        "replacement that is paid": invoice_document(
            replaces="S-000009", replaced_on="2026-11-04", paid_since="264.02", due_on=None
        ),
        "credit note for an earlier month": invoice_document(
            row("-84.70", "-16.94"), earlier_months=[{"month": "2026-10", **sums(1, "-847", "-84.70", "net")}]
        ),
        "foreign currency": invoice_document(
            currency="GBP",
            tax_in={"currency": "EUR", "exchange_rate": "0.8772", **PUBLISHED, "base": "250.82", "tax": "50.16"},
        ),
        "foreign credit note": invoice_document(
            row("-84.70", "-16.94"),
            currency="GBP",
            tax_in={"currency": "EUR", "exchange_rate": "0.8772", **PUBLISHED, "base": "-96.56", "tax": "-19.31"},
        ),
        "no decimals": invoice_document(row("22002", "2200", percent="10"), currency="JPY"),
        "deducted": invoice_document(collects="marketplace", proceeds="2200.18"),
        "deducted in part": invoice_document(collects="marketplace", proceeds="200.00"),
        "nothing to deduct from": invoice_document(collects="marketplace", proceeds="-50.00"),
        "credit note to be paid out": invoice_document(
            row("-84.70", "-16.94"), collects="marketplace", proceeds="-847.00"
        ),
        "hostile names": invoice_document(
            number=f"S-{names}",
            agency=names,
            owner={**SELLER, "legal_name": names, "address": f"{names}\n\n {names} \n{names}", "contact": names},
            customer={**BUYER, "legal_name": names, "address": names, "contact": f"{names}@example"},
        ),
        "no IBAN": invoice_document(owner={**SELLER, "iban": None}),
    }


def every_kind_in_profiles() -> dict[str, dict[str, Any]]:
    """Return documents of every kind in the profiles XRechnung and Peppol, for buyers at home and abroad."""
    dutch = {**SELLER, **REACHED, "country": "NL", "vat_id": "NL004495445B01", "registration_number": "0106:12345678"}
    abroad = {**BUYER, "electronic_address": "0106:12345678", "registration_number": "0106:12345678"}
    abroad |= {"invoice_profile": "peppol", "buyer_reference": None, "purchase_order": "4500001", "phone": "020 123456"}
    parties = {
        "XRechnung": (REACHED, AUTHORITY),
        "XRechnung abroad": (REACHED, {**abroad, **dict.fromkeys(("invoice_profile",), "xrechnung"), **_IN_PARTS}),
        "Peppol at home": (REACHED, {**AUTHORITY, "invoice_profile": "peppol"}),
        "Peppol abroad": (REACHED, abroad),
        "Peppol of a Dutch seller": (dutch, {**abroad, **_IN_PARTS}),
    }
    found = {}
    for name, (owner, customer) in parties.items():
        for kind, document in every_kind().items():
            if kind == "hostile names" or (owner is dutch and document["document"] == "credit_note"):
                continue
            vat_id = {"vat_id": "DE136695976"} if customer["country"] == "DE" and kind != "outside the scope" else {}
            found[f"{name}: {kind}"] = {**document, "owner": owner, "customer": {**customer, **vat_id}}
    return found


_IN_PARTS: Final = {"post_code": "1015 BA", "town": "Amsterdam", "buyer_reference": "team 7"}
