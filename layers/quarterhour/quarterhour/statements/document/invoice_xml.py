"""The XML of a statement for other systems: an invoice or a credit note of EN 16931 in the syntax UBL 2.1."""

from decimal import Decimal
from html import escape
from typing import Final

from quarterhour.model import money
from quarterhour.statements.document.invoice import (
    UNIT,
    VAT,
    Invoice,
    InvoiceLine,
    InvoiceParty,
    InvoiceRow,
    Preceding,
    invoice_of,
    why_no_invoice,
)
from quarterhour.statements.document.page_part import StatementContent

DECLARATION: Final = '<?xml version="1.0" encoding="UTF-8"?>\n'

_NAMESPACES: Final = "urn:oasis:names:specification:ubl:schema:xsd:"


def statement_xml(document: StatementContent) -> bytes | None:
    """Return the XML of a statement in UTF-8; ``None`` if EN 16931 cannot express it: ``why_no_invoice`` says why.

    ``document``: the content of ``statement.json``. The same document gives the same bytes.
    """
    if why_no_invoice(document):
        return None
    invoice = invoice_of(document)
    name = "CreditNote" if invoice.is_credit_note else "Invoice"
    attributes = "".join(
        [
            f' xmlns="{_NAMESPACES}{name}-2"',
            f' xmlns:cac="{_NAMESPACES}CommonAggregateComponents-2"',
            f' xmlns:cbc="{_NAMESPACES}CommonBasicComponents-2"',
        ]
    )
    return f"{DECLARATION}<{name}{attributes}>\n{_content(invoice)}</{name}>\n".encode()


def text(name: str, value: str | None, **attributes: str) -> str:
    """Return an element with a text; nothing without one."""
    if not value:
        return ""
    shown = "".join(f' {key}="{escape(one)}"' for key, one in attributes.items())
    return f"<{name}{shown}>{escape(value)}</{name}>\n"


def group(name: str, *parts: str) -> str:
    """Return an element with these elements; nothing without one, as no element may be empty."""
    content = "".join(parts)
    return f"<{name}>\n{content}</{name}>\n" if content else ""


def _content(invoice: Invoice) -> str:
    currency, is_credit_note = invoice.currency, invoice.is_credit_note
    type_code = text("cbc:CreditNoteTypeCode" if is_credit_note else "cbc:InvoiceTypeCode", invoice.type_code)
    return "".join(
        [
            text("cbc:CustomizationID", invoice.profile.specification),
            text("cbc:ProfileID", invoice.profile.process),
            text("cbc:ID", invoice.number),
            text("cbc:IssueDate", invoice.issued_on),
            text("cbc:DueDate", invoice.due_on),
            type_code,
            text("cbc:Note", "\n".join(invoice.notes)),
            text("cbc:DocumentCurrencyCode", currency),
            text("cbc:TaxCurrencyCode", invoice.tax_in[0]) if invoice.tax_in else "",
            text("cbc:BuyerReference", invoice.reference),
            group(
                "cac:InvoicePeriod",
                text("cbc:StartDate", invoice.first_day.isoformat()),
                text("cbc:EndDate", invoice.last_day.isoformat()),
            ),
            group("cac:OrderReference", text("cbc:ID", invoice.order)),
            *(_preceding(one) for one in invoice.preceding),
            group("cac:AccountingSupplierParty", _party(invoice.seller)),
            group("cac:AccountingCustomerParty", _party(invoice.buyer)),
            _payment_means(invoice),
            group("cac:PaymentTerms", text("cbc:Note", invoice.terms)),
            group(
                "cac:TaxTotal",
                _amount("TaxAmount", invoice.tax, currency),
                *(_tax(row, invoice) for row in invoice.rows),
            ),
            group("cac:TaxTotal", _amount("TaxAmount", invoice.tax_in[1], invoice.tax_in[0])) if invoice.tax_in else "",
            group(
                "cac:LegalMonetaryTotal",
                _amount("LineExtensionAmount", invoice.net, currency),
                _amount("TaxExclusiveAmount", invoice.net, currency),
                _amount("TaxInclusiveAmount", invoice.total, currency),
                _amount("PrepaidAmount", invoice.prepaid, currency) if invoice.prepaid else "",
                _amount("PayableAmount", invoice.due, currency),
            ),
            *(_line(number, *both, invoice) for number, both in enumerate(invoice.lines, 1)),
        ]
    )


def _preceding(document: Preceding) -> str:
    reference = (text("cbc:ID", document.number), text("cbc:IssueDate", document.issued_on))
    return group("cac:BillingReference", group("cac:InvoiceDocumentReference", *reference))


def _amount(name: str, amount: Decimal, currency: str) -> str:
    return text(f"cbc:{name}", money.plain(amount), currencyID=currency)


def _party(party: InvoiceParty) -> str:
    street, further, rest = (*party.address, None, None, None)[:3]
    return group(
        "cac:Party",
        schemed_text("cbc:EndpointID", party.electronic_address),
        group("cac:PartyIdentification", text("cbc:ID", party.identifier)),
        group(
            "cac:PostalAddress",
            text("cbc:StreetName", street),
            text("cbc:AdditionalStreetName", further),
            text("cbc:CityName", party.town),
            text("cbc:PostalZone", party.post_code),
            group("cac:AddressLine", text("cbc:Line", rest)),
            group("cac:Country", text("cbc:IdentificationCode", party.country)),
        ),
        group("cac:PartyTaxScheme", text("cbc:CompanyID", party.vat_id), _TAX_SCHEME) if party.vat_id else "",
        group(
            "cac:PartyLegalEntity",
            text("cbc:RegistrationName", party.legal_name),
            schemed_text("cbc:CompanyID", party.registration),
        ),
        group(
            "cac:Contact",
            text("cbc:Name", party.contact),
            text("cbc:Telephone", party.phone),
            text("cbc:ElectronicMail", party.email),
        ),
    )


def schemed_text(name: str, identifier: tuple[str | None, str] | None) -> str:
    """Return an element with an identifier and its scheme, if it has one; nothing without an identifier."""
    scheme, number = identifier or (None, None)
    return text(name, number, **({"schemeID": scheme} if scheme else {}))


_TAX_SCHEME: Final = group("cac:TaxScheme", text("cbc:ID", VAT))


def _payment_means(invoice: Invoice) -> str:
    if not invoice.means:
        return ""
    return group(
        "cac:PaymentMeans",
        text("cbc:PaymentMeansCode", invoice.means),
        text("cbc:PaymentID", invoice.number if invoice.iban else None),
        group("cac:PayeeFinancialAccount", text("cbc:ID", invoice.iban)),
    )


def _tax(row: InvoiceRow, invoice: Invoice) -> str:
    code, reason = row.exemption or (None, None)
    currency, no_percent = invoice.currency, "0" if invoice.profile.is_german else None
    return group(
        "cac:TaxSubtotal",
        _amount("TaxableAmount", row.base, currency),
        _amount("TaxAmount", row.tax, currency),
        group(
            "cac:TaxCategory",
            text("cbc:ID", row.category),
            text("cbc:Percent", row.percent or no_percent),
            text("cbc:TaxExemptionReasonCode", code),
            text("cbc:TaxExemptionReason", reason),
            _TAX_SCHEME,
        ),
    )


def _line(number: int, row: InvoiceRow, line: InvoiceLine, invoice: Invoice) -> str:
    kind = "CreditNoteLine" if invoice.is_credit_note else "InvoiceLine"
    quantity = "cbc:CreditedQuantity" if invoice.is_credit_note else "cbc:InvoicedQuantity"
    return group(
        f"cac:{kind}",
        text("cbc:ID", str(number)),
        text(quantity, line.quantity, unitCode=UNIT),
        _amount("LineExtensionAmount", line.base, invoice.currency),
        group(
            "cac:Item",
            text("cbc:Description", row.description),
            text("cbc:Name", line.item),
            group(
                "cac:ClassifiedTaxCategory",
                text("cbc:ID", row.category),
                text("cbc:Percent", row.percent),
                _TAX_SCHEME,
            ),
        ),
        group("cac:Price", _amount("PriceAmount", line.price, invoice.currency)),
    )
