"""The names that exports give to their columns, in several languages, and what a name says about its column."""

import re
from typing import Final

ROLES: Final = {
    "subject": (
        *("agency", "agency id", "seller", "seller id", "vendor", "vendor id", "merchant", "merchant id"),
        *("merchant account", "partner", "affiliate", "agent", "shop", "store"),
        *("händler", "verkäufer", "agentur", "vendedor", "tienda", "vendeur"),
    ),
    "id": (
        *("transaction id", "balance transaction id", "event id", "payment id", "sale id", "line id", "id"),
        *("transaction", "receipt", "invoice no", "invoice number", "invoice", "order id", "order number", "order no"),
        *("order", "reference", "no", "nr", "number"),
        *("beleg", "belegnummer", "rechnungsnummer", "bestellnummer", "bestellung", "pedido", "factura"),
    ),
    "time": (
        *("created utc", "created at", "created", "transaction date", "sale date", "order date", "invoice date"),
        *("paid at", "booking date", "date", "datetime", "time", "timestamp", "datum", "fecha", "data"),
    ),
    "amount": (
        *("amount", "gross", "gross amount", "total amount", "line total", "total", "net", "net amount", "sum"),
        *("betrag", "brutto", "netto", "umsatz", "importe", "montant", "valor"),
    ),
    "unit_price": ("unit price", "price", "preis", "einzelpreis", "precio", "prix"),
    "quantity": ("quantity", "qty", "menge", "anzahl", "cantidad", "quantité"),
    "kind": ("type", "transaction type", "reporting category", "kind", "status", "art", "typ", "tipo"),
    "product": ("product", "product id", "sku", "item", "stock code", "artikel", "artículo", "article"),
    "order_id": ("order id", "order number", "order no", "order", "bestellnummer", "bestellung", "pedido", "commande"),
    "customer": ("customer id", "buyer id", "client id"),
    "statement": ("statement number", "statement no", "statement id", "statement", "abrechnungsnummer", "abrechnung"),
    "category": ("category", "product category", "kategorie", "categoría", "catégorie"),
}
"""The names of columns for each part of an event, the best first, as `plain` returns them."""
PARTS: Final = (
    *("id", "time", "subject", "amount", "currency", "quantity", "unit_price"),
    *("product", "category", "order_id", "customer"),
)
"""The parts of an event for which a person can choose a column."""
NET: Final = frozenset({"net", "net amount", "netto"})
"""Names of amounts from which a provider may have taken its fees."""
INVOICES: Final = (
    *("invoice number", "invoice no", "invoice id", "invoice", "rechnungsnummer", "rechnungsnr", "rechnung nr"),
    *("rechnung", "factura", "facture", "numéro de facture", "fattura", "factuurnummer", "factuur"),
)
"""The names of columns that may hold a statement's number, in a file of payments, the best first."""
_PAYMENTS: Final = frozenset(
    ("payment", "payments", "payment recorded", "zahlung", "zahlungseingang", "pago", "paiement", "pagamento")
)
LIKELY_CURRENCIES: Final = {
    "$": "USD",
    "US$": "USD",
    "R$": "BRL",
    "¥": "JPY",
    "kr": "SEK",
    "Kč": "CZK",
    "Fr": "CHF",
    "Ft": "HUF",
}
"""The likeliest currency of a sign that several currencies share."""

_TOTALS: Final = frozenset({"total", "totals", "sum", "summe", "gesamt", "suma", "totale", "totaal"})
_FEE: Final = re.compile(
    r"\b(?:fees?|net|netto|neto|comm|tasa|taxa|courtage|royalty|royalties|take rate|margin|marge|kosten|deductions?)\b"
    r"|\bcharges?\b(?! (?:id|no|nr|number|ref|reference)\b)"
    r"|commiss|comiss|comisi|kommiss|kommisj|komisj|komise|provisi|provisj|prowiz|gebühr|gebuehr|frais|honorar|tarifa"
    r"|opłat|avgift|payout|auszahlung"
)
_CODE: Final = re.compile(r"(?:^|[ _(])([A-Z]{3})\)?\Z")
_CODES: Final = frozenset({"AUD", "BRL", "CAD", "CHF", "CZK", "DKK", "EUR", "GBP", "HUF"}) | frozenset(
    {"INR", "JPY", "MXN", "NOK", "NZD", "PLN", "SEK", "USD"}
)
"""The codes that count at the end of a column's name."""


def plain(name: str) -> str:
    """Return a column's name in lower case with single blanks: `OrderID` and `order_id` are `order id`."""
    spaced = re.sub(r"(?<=[a-zß-ÿ])(?=[A-Z])", " ", name)
    return " ".join(re.split(r"[\s_.-]+", spaced.casefold())).strip()


def code_at_end(name: str) -> str | None:
    """Return the currency code at the end of a column's name, as in `Amount (EUR)`; `None` if there is none."""
    match = _CODE.search(name)
    return match[1] if match and match[1] in _CODES else None


def without_code(name: str) -> str:
    """Return a column's name as `plain` does, without a currency code at its end."""
    return plain(_CODE.sub("", name) if code_at_end(name) else name)


def names_a_fee(name: str) -> bool:
    """Return whether a column's name looks like a commission, a fee, or what is left without them."""
    return _FEE.search(without_code(name)) is not None


def names_a_payment(cell: str) -> bool:
    """Return whether a cell of a column of types says that its row is a payment."""
    return plain(cell) in _PAYMENTS


def names_a_total(cell: str) -> bool:
    """Return whether a cell says that its row holds totals."""
    return cell.strip().strip(":").casefold() in _TOTALS
