"""The XML inside a statement's PDF: an invoice or a credit note of EN 16931 in the syntax CII (UN/CEFACT D16B)."""

from decimal import Decimal
from typing import Final

from quarterhour.model import money
from quarterhour.statements.document.invoice import (
    UNIT,
    VAT,
    Invoice,
    InvoiceLine,
    InvoiceParty,
    InvoiceRow,
    invoice_of,
    why_no_invoice,
)
from quarterhour.statements.document.invoice_profiles import NORM
from quarterhour.statements.document.invoice_xml import DECLARATION, group, schemed_text, text
from quarterhour.statements.document.page_part import StatementContent

_NAMESPACES: Final = "".join(
    f' xmlns:{prefix}="urn:un:unece:uncefact:data:standard:{name}:100"'
    for prefix, name in (
        ("rsm", "CrossIndustryInvoice"),
        ("ram", "ReusableAggregateBusinessInformationEntity"),
        ("udt", "UnqualifiedDataType"),
        ("qdt", "QualifiedDataType"),
    )
)


def statement_cii(document: StatementContent) -> bytes | None:
    """Return the XML of a statement for its PDF, in UTF-8; ``None`` if EN 16931 cannot express the statement.

    ``document``: the content of ``statement.json``. The XML says the same as ``statement.xml``.
    """
    if why_no_invoice(document):
        return None
    name = "rsm:CrossIndustryInvoice"
    return f"{DECLARATION}<{name}{_NAMESPACES}>\n{_content(invoice_of(document))}</{name}>\n".encode()


def _content(invoice: Invoice) -> str:
    return "".join(
        [
            group(
                "rsm:ExchangedDocumentContext",
                group("ram:GuidelineSpecifiedDocumentContextParameter", text("ram:ID", NORM)),
            ),
            group(
                "rsm:ExchangedDocument",
                text("ram:ID", invoice.number),
                text("ram:TypeCode", invoice.type_code),
                group("ram:IssueDateTime", _date(invoice.issued_on)),
                *(group("ram:IncludedNote", text("ram:Content", note)) for note in invoice.notes),
            ),
            group(
                "rsm:SupplyChainTradeTransaction",
                *(_line(number, *both) for number, both in enumerate(invoice.lines, 1)),
                group(
                    "ram:ApplicableHeaderTradeAgreement",
                    text("ram:BuyerReference", invoice.reference),
                    group("ram:SellerTradeParty", _party(invoice.seller)),
                    group("ram:BuyerTradeParty", _party(invoice.buyer)),
                    group("ram:BuyerOrderReferencedDocument", text("ram:IssuerAssignedID", invoice.order)),
                ),
                "<ram:ApplicableHeaderTradeDelivery/>\n",  # the schema demands it
                _settlement(invoice),
            ),
        ]
    )


def _date(value: str | None, name: str = "udt:DateTimeString") -> str:
    return text(name, value and value.replace("-", ""), format="102")


def _amount(name: str, amount: Decimal) -> str:
    return text(f"ram:{name}", money.plain(amount))


def _party(party: InvoiceParty) -> str:
    one, two, three = (*party.address, None, None, None)[:3]
    return "".join(
        [
            text("ram:ID", party.identifier),
            text("ram:Name", party.legal_name),
            group("ram:SpecifiedLegalOrganization", schemed_text("ram:ID", party.registration)),
            group(
                "ram:DefinedTradeContact",
                text("ram:PersonName", party.contact),
                group("ram:TelephoneUniversalCommunication", text("ram:CompleteNumber", party.phone)),
                group("ram:EmailURIUniversalCommunication", text("ram:URIID", party.email)),
            ),
            group(
                "ram:PostalTradeAddress",
                text("ram:PostcodeCode", party.post_code),
                text("ram:LineOne", one),
                text("ram:LineTwo", two),
                text("ram:LineThree", three),
                text("ram:CityName", party.town),
                text("ram:CountryID", party.country),
            ),
            group("ram:URIUniversalCommunication", schemed_text("ram:URIID", party.electronic_address)),
            group("ram:SpecifiedTaxRegistration", text("ram:ID", party.vat_id, schemeID="VA")),
        ]
    )


def _category(row: InvoiceRow) -> str:
    return text("ram:CategoryCode", row.category)


def _line(number: int, row: InvoiceRow, line: InvoiceLine) -> str:
    return group(
        "ram:IncludedSupplyChainTradeLineItem",
        group("ram:AssociatedDocumentLineDocument", text("ram:LineID", str(number))),
        group(
            "ram:SpecifiedTradeProduct",
            text("ram:Name", line.item),
            text("ram:Description", row.description),
        ),
        group(
            "ram:SpecifiedLineTradeAgreement",
            group("ram:NetPriceProductTradePrice", _amount("ChargeAmount", line.price)),
        ),
        group("ram:SpecifiedLineTradeDelivery", text("ram:BilledQuantity", line.quantity, unitCode=UNIT)),
        group(
            "ram:SpecifiedLineTradeSettlement",
            group(
                "ram:ApplicableTradeTax",
                text("ram:TypeCode", VAT),
                _category(row),
                text("ram:RateApplicablePercent", row.percent),
            ),
            group("ram:SpecifiedTradeSettlementLineMonetarySummation", _amount("LineTotalAmount", line.base)),
        ),
    )


def _settlement(invoice: Invoice) -> str:
    return group(
        "ram:ApplicableHeaderTradeSettlement",
        text("ram:PaymentReference", invoice.number if invoice.iban else None),
        text("ram:TaxCurrencyCode", invoice.tax_in[0]) if invoice.tax_in else "",
        text("ram:InvoiceCurrencyCode", invoice.currency),
        group(
            "ram:SpecifiedTradeSettlementPaymentMeans",
            text("ram:TypeCode", invoice.means),
            group("ram:PayeePartyCreditorFinancialAccount", text("ram:IBANID", invoice.iban)),
        )
        if invoice.means
        else "",
        *map(_tax, invoice.rows),
        group(
            "ram:BillingSpecifiedPeriod",
            group("ram:StartDateTime", _date(invoice.first_day.isoformat())),
            group("ram:EndDateTime", _date(invoice.last_day.isoformat())),
        ),
        group(
            "ram:SpecifiedTradePaymentTerms",
            text("ram:Description", invoice.terms),
            group("ram:DueDateDateTime", _date(invoice.due_on)),
        ),
        group(
            "ram:SpecifiedTradeSettlementHeaderMonetarySummation",
            _amount("LineTotalAmount", invoice.net),
            _amount("TaxBasisTotalAmount", invoice.net),
            text("ram:TaxTotalAmount", money.plain(invoice.tax), currencyID=invoice.currency),
            text("ram:TaxTotalAmount", money.plain(invoice.tax_in[1]), currencyID=invoice.tax_in[0])
            if invoice.tax_in
            else "",
            _amount("GrandTotalAmount", invoice.total),
            _amount("TotalPrepaidAmount", invoice.prepaid) if invoice.prepaid else "",
            _amount("DuePayableAmount", invoice.due),
        ),
        *(
            group(
                "ram:InvoiceReferencedDocument",
                text("ram:IssuerAssignedID", one.number),
                group("ram:FormattedIssueDateTime", _date(one.issued_on, "qdt:DateTimeString")),
            )
            for one in invoice.preceding
        ),
    )


def _tax(row: InvoiceRow) -> str:
    code, reason = row.exemption or (None, None)
    return group(
        "ram:ApplicableTradeTax",
        _amount("CalculatedAmount", row.tax),
        text("ram:TypeCode", VAT),
        text("ram:ExemptionReason", reason),
        _amount("BasisAmount", row.base),
        _category(row),
        text("ram:ExemptionReasonCode", code),
        text("ram:RateApplicablePercent", row.percent),
    )
