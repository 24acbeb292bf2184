"""A statement as an invoice or a credit note of EN 16931, pure: what its XML says, in any syntax."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Final, NamedTuple

from quarterhour.model import money
from quarterhour.model.charges import COMMISSION
from quarterhour.model.clock import parse_iso
from quarterhour.model.currencies import LIVES
from quarterhour.model.periods import Period, day_in, time_zone
from quarterhour.registry.agencies.addresses import street_lines
from quarterhour.registry.agencies.agency import EXEMPT, OUTSIDE_SCOPE, REVERSE_CHARGE, STANDARD
from quarterhour.registry.agencies.e_invoices import ADDRESS_SCHEMES, EN16931, REGISTER_SCHEMES, schemed
from quarterhour.statements.document.invoice_profiles import InvoiceProfile, profile_of
from quarterhour.statements.document.language import Language, language_of
from quarterhour.statements.document.page_part import StatementContent
from quarterhour.statements.listing import CREDIT_NOTE

INVOICE_CODE: Final = "380"
CREDIT_NOTE_CODE: Final = "381"
"""Types of documents: codes of UNTDID 1001."""
CREDIT_TRANSFER: Final = "30"
_BY_AGREEMENT: Final = "57"
"""Means of payment: codes of UNTDID 4461. By an agreement (57), the account of both pays it."""
UNIT: Final = "C62"
"""The unit of a quantity, "one": a code of UN/ECE Recommendation 20."""
VAT: Final = "VAT"
NO_TAX: Final = "O"
"""The tax category of what is outside the scope of VAT."""

_ZERO_RATE: Final = "Z"
_CATEGORIES: Final = {STANDARD: "S", REVERSE_CHARGE: "AE", EXEMPT: "E", OUTSIDE_SCOPE: NO_TAX}
"""Tax categories: codes of UNTDID 5305."""
_EXEMPTION_CODES: Final = {REVERSE_CHARGE: "VATEX-EU-AE", OUTSIDE_SCOPE: "VATEX-EU-O"}
"""Reasons for no tax: codes of the list VATEX, unless the tax profile has one. Exemptions have many."""
_BALANCE: Final = {
    "opening": "opening", "payable": "total", "proceeds": "proceeds", "payments": "payments", "closing": "closing",
    "paid_since": "paid_since",
}  # fmt: skip
"""The figures of the balance, with the keys of their names."""
_TAX_IN: Final = {"base": "base", "amount": "tax"}
_MOST_DECIMALS: Final = 2
"""Decimal places that EN 16931 allows in an amount."""
_OF_SELLER: Final = ("legal_name", "country", "vat_id")
_OF_BUYER: Final = ("legal_name", "country")
_UNKNOWN: Final = frozenset({"STN", "XAD", "XK"})
"""Currencies and countries of ours that the code lists of EN 16931 lack."""
_ADDRESS_LINES: Final = 3
_FILLING: Final = re.compile(r"[ ./-]")
_PREFIXED: Final = re.compile(
    r"ATU\d{8}|(BE|PL|SK)\d{10}|BG\d{9,10}|CY\d{8}[A-Z]|CZ\d{8,10}|(DE|EE|EL|GR|PT|XI)\d{9}|(DK|FI|HU|LU|MT|SI)\d{8}"
    r"|ES[A-Z\d]\d{7}[A-Z\d]|FR[A-Z\d]{2}\d{9}|GB\d{9}(\d{3})?|(HR|IT|LV)\d{11}|IE\d[A-Z\d]\d{5}[A-Z]{1,2}|LT\d{9}(\d{3})?"
    r"|NL\d{9}B\d{2}|RO\d{2,10}|SE\d{12}|CHE\d{9}(MWST|TVA|IVA)?|NO\d{9}MVA",
    re.ASCII,
)
"""VAT ids that begin with the letters of a country. Only their form counts: it must not change with a library."""


class InvoiceParty(NamedTuple):
    """Who issues an invoice or receives it; ``None`` or empty where the statement does not say.

    ``identifier``: one that is no VAT id. ``address``: at most three lines. ``electronic_address`` and
    ``registration``: scheme and number.
    """

    identifier: str | None
    legal_name: str | None
    address: tuple[str, ...]
    country: str | None
    vat_id: str | None
    contact: str | None
    phone: str | None
    email: str | None
    electronic_address: tuple[str | None, str] | None
    registration: tuple[str | None, str] | None
    post_code: str | None
    town: str | None


class InvoiceLine(NamedTuple):
    """A line of an invoice: a charge and its amount."""

    item: str
    base: Decimal

    @property
    def quantity(self) -> str:
        """The quantity: -1 gives back a commission, as no price may be negative."""
        return "-1" if self.base < 0 else "1"

    @property
    def price(self) -> Decimal:
        """The price of one unit."""
        return self.base.copy_abs()


class InvoiceRow(NamedTuple):
    """A row of an invoice's tax, with its lines, whose sum is the base.

    ``category``: of UNTDID 5305. ``percent`` is ``None`` outside the scope of VAT.
    ``exemption``: code and text of the reason for no tax. ``description``: the tax points.
    """

    category: str
    percent: str | None
    exemption: tuple[str | None, str] | None
    description: str
    base: Decimal
    tax: Decimal
    lines: tuple[InvoiceLine, ...]

    def plus(self, other: "InvoiceRow") -> "InvoiceRow":
        """Return both rows as one, with both reasons, descriptions and lines."""
        exemption = self.exemption
        if exemption and other.exemption and exemption != other.exemption:
            (code, text), (other_code, other_text) = exemption, other.exemption
            texts = dict.fromkeys((text, other_text))
            exemption = code if code == other_code else None, "; ".join(texts)
        return self._replace(
            exemption=exemption,
            description=f"{self.description}; {other.description}",
            base=money.add(self.base, other.base),
            tax=money.add(self.tax, other.tax),
            lines=self.lines + other.lines,
        )


class Preceding(NamedTuple):
    """A document that an invoice refers to; ``issued_on`` is ``None`` if not known."""

    number: str
    issued_on: str | None


@dataclass(frozen=True, slots=True)
class Invoice:
    """An invoice, or a credit note, whose amounts have the opposite sign of the statement's.

    ``type_code``: ``INVOICE_CODE`` or ``CREDIT_NOTE_CODE``. Dates are ISO 8601. ``due_on`` and ``iban``: only if a
    payment is due; otherwise ``terms`` say why not. ``tax_in``: a further currency, and the tax in it. ``prepaid``:
    what the account has covered of it, below 0 if earlier documents are still open. ``means``: of payment, ``None`` if
    it need not be named. ``reference`` and ``order``: what the buyer needs to read.
    """

    profile: InvoiceProfile
    type_code: str
    number: str
    issued_on: str
    due_on: str | None
    terms: str | None
    notes: tuple[str, ...]
    currency: str
    first_day: date
    last_day: date
    preceding: tuple[Preceding, ...]
    seller: InvoiceParty
    buyer: InvoiceParty
    reference: str | None
    order: str | None
    means: str | None
    iban: str | None
    rows: tuple[InvoiceRow, ...]
    tax_in: tuple[str, Decimal] | None
    prepaid: Decimal

    @property
    def is_credit_note(self) -> bool:
        """Whether it is a credit note."""
        return self.type_code == CREDIT_NOTE_CODE

    @property
    def lines(self) -> list[tuple[InvoiceRow, InvoiceLine]]:
        """Its lines, each with the row of tax that has it."""
        return [(row, line) for row in self.rows for line in row.lines]

    @property
    def net(self) -> Decimal:
        """The sum of the lines."""
        return money.total(row.base for row in self.rows)

    @property
    def tax(self) -> Decimal:
        """The sum of the taxes."""
        return money.total(row.tax for row in self.rows)

    @property
    def total(self) -> Decimal:
        """The total with tax."""
        return money.add(self.net, self.tax)

    @property
    def due(self) -> Decimal:
        """What is to be paid: of a statement, the same amount as on its page."""
        return money.add(self.total, money.negated(self.prepaid))


def why_no_invoice(document: StatementContent) -> str | None:
    """Return why EN 16931 cannot express a statement; ``None`` if it can.

    ``document``: the content of ``statement.json``.
    """
    return next(_obstacles(document), None)


def _obstacles(document: StatementContent) -> Iterator[str]:
    schemes = {row["scheme"] for row in document["taxes"]}
    if None in schemes:
        yield "a tax profile is missing"
    yield from _obstacles_of_parties(document, schemes)
    if len({row["vat_id"] for row in document["taxes"] if row["scheme"] == REVERSE_CHARGE}) > 1:
        yield "its reverse charge is of several VAT ids, and EN 16931 names one buyer"
    if OUTSIDE_SCOPE in schemes and len(schemes) > 1:
        yield "EN 16931 cannot mix what is outside the scope of VAT with anything else"
    tax_in = document["tax_in"]
    for currency in (document["currency"], *([tax_in["currency"]] if tax_in else [])):
        if currency == money.NO_CURRENCY:
            yield "it has no currency"
        if currency in _UNKNOWN or currency in LIVES:
            yield f"EN 16931 does not know the currency {currency}"
        if money.minor_digits(currency) > _MOST_DECIMALS:
            yield f"amounts in {currency} have more than the two decimal places of EN 16931"


def _obstacles_of_parties(document: StatementContent, schemes: Collection[str]) -> Iterator[str]:
    demanded = {"owner": _OF_SELLER, "customer": (*_OF_BUYER, *(("vat_id",) if REVERSE_CHARGE in schemes else ()))}
    missing = [
        f"{party}.{name}"
        for party, names in demanded.items()
        for name in names
        if not (document[party].get(name) or "").strip()
    ]
    if missing:
        yield f"{', '.join(missing)}: missing"
    for party in demanded:
        if document[party]["country"] in _UNKNOWN:
            yield f"EN 16931 does not know the country {document[party]['country']}"


def invoice_of(document: StatementContent) -> Invoice:
    """Return a statement as an invoice or a credit note; ``why_no_invoice`` must have said that it can be one."""
    is_credit_note = document["document"] == CREDIT_NOTE
    words = language_of(document["language"])
    rows = _by_rate(_row(one, words, is_credit_note=is_credit_note) for one in document["taxes"])
    total = money.total(amount for row in rows for amount in (row.base, row.tax))
    prepaid = _prepaid(document, total, is_credit_note=is_credit_note)
    is_due = not is_credit_note and document["due_on"] is not None
    tax_in = document["tax_in"]
    period = Period.parse(document["period"])
    owner, customer = document["owner"], {**document["customer"], **_taxed_as(document)}
    profile = profile_of(customer.get("invoice_profile") or EN16931, owner, customer)
    iban = _compact(owner.get("iban")) if is_due else None
    is_taxed = all(row.category != NO_TAX for row in rows)
    return Invoice(
        profile,
        CREDIT_NOTE_CODE if is_credit_note else INVOICE_CODE,
        document["number"],
        document["issued_on"],
        document["due_on"] if is_due else None,
        None if is_due else words[_terms(document, is_credit_note=is_credit_note)],
        tuple(_notes(document, words)),
        document["currency"],
        period.first_day,
        period.last_day,
        tuple(_preceding(document)),
        # Outside the scope of VAT, no party may be named by its VAT id as such; the seller must have some identifier.
        _party(owner, None if is_taxed else _vat_id_of(owner), is_taxed=is_taxed),
        _party(customer, document["agency"], is_taxed=is_taxed),
        customer.get("buyer_reference"),
        customer.get("purchase_order"),
        CREDIT_TRANSFER if iban else _BY_AGREEMENT if profile.names_means else None,
        iban,
        rows,
        (tax_in["currency"], _signed(tax_in["tax"], is_credit_note=is_credit_note)) if tax_in else None,
        prepaid,
    )


def _taxed_as(document: StatementContent) -> dict[str, str]:
    """Return the VAT id by which the customer owes the tax itself, which an invoice must name, if there is one.

    Article 226(4) of Directive 2006/112/EC: it is that of the tax points, also after a move.
    """
    ids = [row["vat_id"] for row in document["taxes"] if row["scheme"] == REVERSE_CHARGE and row["vat_id"]]
    return {"vat_id": ids[0]} if ids else {}


def _signed(amount: str, *, is_credit_note: bool) -> Decimal:
    return money.negated(Decimal(amount)) if is_credit_note else Decimal(amount)


def _by_rate(rows: Iterable[InvoiceRow]) -> tuple[InvoiceRow, ...]:
    """Return rows with those of one category and percentage as one, as the norm has one breakdown for each."""
    found: dict[tuple[str, str | None], InvoiceRow] = {}
    for row in rows:
        key = row.category, row.percent
        found[key] = found[key].plus(row) if key in found else row
    return tuple(found.values())


def _row(row: StatementContent, words: Language, *, is_credit_note: bool) -> InvoiceRow:
    scheme, percent = row["scheme"], row["percent"]
    is_standard = scheme == STANDARD
    code = row["reason_code"] or _EXEMPTION_CODES.get(scheme)
    return InvoiceRow(
        _ZERO_RATE if is_standard and Decimal(percent).is_zero() else _CATEGORIES[scheme],
        None if scheme == OUTSIDE_SCOPE else percent,
        None if is_standard else (code, row["reason"] or words[f"note_{scheme}"]),
        f"{words['tax_points']}: {', '.join(words.span(one['from'], one['to']) for one in row['tax_points'])}",
        _signed(row["base"], is_credit_note=is_credit_note),
        _signed(row["tax"], is_credit_note=is_credit_note),
        tuple(
            InvoiceLine(
                words["commission_on_sales"] if one["name"] == COMMISSION else one["name"],
                _signed(one["amount"], is_credit_note=is_credit_note),
            )
            for one in row["charges"]
        ),
    )


def _prepaid(document: StatementContent, total: Decimal, *, is_credit_note: bool) -> Decimal:
    """Return what proceeds, payments and the balance before cover of the total, so that the rest is to be paid."""
    if is_credit_note:
        return money.ZERO
    open_ = money.subtract(Decimal(document["closing"]), Decimal(document["paid_since"]))
    return money.subtract(total, max(money.ZERO, open_))


def _terms(document: StatementContent, *, is_credit_note: bool) -> str:
    """Return the key of the terms of payment of a document that nobody pays."""
    if is_credit_note:
        return "credited_to_account"
    return "settled_by_deduction" if Decimal(document["proceeds"]) > 0 else "settled_with_account"


def _notes(document: StatementContent, words: Language) -> Iterator[str]:
    """Yield what the invoice has no element for: the balance of the account, rates, and the document it refers to."""
    if cancels := document["cancels"]:
        facts = {"date": words.full_date(cancels["issued_on"]), "period": words.month(document["period"])}
        yield words[f"cancels_{cancels['document']}"].format(number=cancels["number"], **facts)
    if document["replaces"]:
        yield words["replaces"].format(number=document["replaces"])
    if Decimal(document["closing"]) != Decimal(document["payable"]) or Decimal(document["paid_since"]):
        currency = document["currency"]
        shown = [
            (key, document[name]) for name, key in _BALANCE.items() if name != "paid_since" or Decimal(document[name])
        ]
        figures = ", ".join(f"{words[key]} {words.exact(amount, currency)}" for key, amount in shown)
        yield words["balance_of_account"].format(currency=currency, figures=figures)
    if tax_in := document["tax_in"]:
        currency = tax_in["currency"]
        rate = words["tax_in"].format(
            currency=currency,
            rate=words.number(Decimal(tax_in["exchange_rate"])),
            foreign=document["currency"],
            source=tax_in["exchange_rate_source"],
            date=words.full_date(
                day_in(time_zone(document["time_zone"]), parse_iso(tax_in["exchange_rate_as_of"])).isoformat()
            ),
        )
        amounts = [f"{words[f'tax_{name}']} {words.exact(tax_in[key], currency)}" for name, key in _TAX_IN.items()]
        yield f"{rate}: {', '.join(amounts)}."


def _preceding(document: StatementContent) -> Iterator[Preceding]:
    if cancels := document["cancels"]:
        yield Preceding(cancels["number"], cancels["issued_on"])
    if document["replaces"]:
        yield Preceding(document["replaces"], document["replaced_on"])
    before, months = document["previous"], {one["month"] for one in document["earlier_months"]}
    if document["document"] == CREDIT_NOTE and not cancels and before and before["period"] in months:
        yield Preceding(before["number"], before["issued_on"])


def _party(party: StatementContent, identifier: str | None, *, is_taxed: bool) -> InvoiceParty:
    lines = street_lines(party)
    head, tail = lines[: _ADDRESS_LINES - 1], lines[_ADDRESS_LINES - 1 :]
    return InvoiceParty(
        identifier,
        party.get("legal_name"),
        (*head, *([", ".join(tail)] if tail else [])),
        party.get("country"),
        _vat_id_of(party) if is_taxed else None,
        *_contact(party),
        schemed(party.get("electronic_address"), ADDRESS_SCHEMES),
        schemed(party.get("registration_number"), REGISTER_SCHEMES),
        party.get("post_code"),
        party.get("town"),
    )


def _contact(party: StatementContent) -> tuple[str | None, str | None, str | None]:
    """Return name, telephone number and email address of a contact; a party with a number answers by its legal name."""
    contact, phone = party.get("contact"), party.get("phone")
    of_contact = contact if contact and "@" in contact and not any(map(str.isspace, contact)) else None
    return (
        (None if of_contact else contact) or (phone and party.get("legal_name")),
        phone,
        party.get("email") or of_contact,
    )


def _vat_id_of(party: StatementContent) -> str | None:
    vat_id = party.get("vat_id")
    return prefixed(vat_id, party.get("country")) if vat_id else None


def prefixed(vat_id: str, country: str | None) -> str:
    """Return a VAT id without blanks and marks, after the letters of its country: ``GB123456789``.

    ``country``: of the party. The id may name another country.
    """
    compact = _FILLING.sub("", vat_id).upper()
    if country is None:
        return compact
    if country == "GR":
        country, compact = "EL", re.sub("^GR", "EL", compact)
    return compact if compact.startswith(country) or _PREFIXED.fullmatch(compact) else country + compact


def _compact(iban: str | None) -> str | None:
    return iban.replace(" ", "").upper() if iban else None
