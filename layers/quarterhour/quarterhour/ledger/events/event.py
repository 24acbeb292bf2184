"""Billing events: the schema of their CloudEvents, and the values read from them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from quarterhour.customers.keys import is_token
from quarterhour.ledger.events.billed import reserved
from quarterhour.ledger.events.cloud_event import check_content_type, read_attributes, read_data
from quarterhour.model import clock, exact_json, fields, money, texts
from quarterhour.model.currencies import not_of_its_time
from quarterhour.model.errors import FieldProblem
from quarterhour.model.fields import MAX_TEXT, NAME, TEXT, Fields
from quarterhour.model.identifiers import Account, Identity
from quarterhour.registry.documents.keys import (
    DEFAULT_RATE_CARD,
    MAX_VERSION,
    NUMBER,
    RATE_CARD,
    group_rate_card_name,
    is_rate_card,
    rate_card_name,
)

if TYPE_CHECKING:
    from quarterhour.ledger.events import api

SALE: Final = "sale.recorded"
REFUND: Final = "sale.refunded"
VOID: Final = "sale.voided"
ADJUSTMENT: Final = "adjustment.recorded"
PAYMENT: Final = "payment.recorded"
VIEW: Final = "view.recorded"
OPENING: Final = fields.OPENING
CUSTOMER: Final = "customer"
"""The fact of an event that names the customer, or holds the customer's token."""
RERATING: Final = "rerating"
"""The fact of an adjustment that applies another rate card to a recorded event."""
STATEMENT: Final = "statement"
"""The fact of a payment that names the statement that is paid, by its number."""
RECORDED_BY: Final = "recorded_by"
"""The fact of an event that names the person who recorded it."""
APPROVED_BY: Final = "approved_by"
"""The fact of an event that names the second person, who approved it."""
ROW_KEY: Final = "rowkey"
"""The extension attribute of an event that says which row of a file it is, if its id depends on the row's place."""
RUNNING_TOTAL: Final = "runningtotal"
"""The extension attribute of a sale whose amount is that of an item so far, and of what corrects it: ``yes``."""
YES: Final = "yes"
MAX_EXTRA_BYTES: Final = 4096

_SIGNS: Final[Mapping[str, tuple[Callable[[Decimal], bool], str]]] = {
    SALE: (lambda amount: amount >= 0, "0 or more, as it is a sale"),
    REFUND: (lambda amount: amount <= 0, "0 or less, as it is a refund"),
    ADJUSTMENT: (lambda _: True, "any amount"),
    PAYMENT: (
        lambda amount: not amount.is_zero(),
        "above 0 if the agency paid, below 0 if it was paid",
    ),
}
TYPES: Final = (SALE, REFUND, VOID, ADJUSTMENT, PAYMENT, VIEW)
_IS_RUNNING: Final = f'"{RUNNING_TOTAL}":"{YES}"'
"""What the attributes of an event of a running total hold, as canonical JSON."""
_CORRECTIONS: Final = frozenset({REFUND, VOID, ADJUSTMENT})
"""The types that can refer to a sale, of any source."""
_REFERENCE: Final = ("refers_to", "refers_to_source")
_REQUIRED: Final[Mapping[str | None, frozenset[str]]] = {
    VIEW: frozenset({CUSTOMER}),
    VOID: frozenset({"refers_to", "reason"}),
    RERATING: frozenset({"refers_to", "reason"}),
}
"""The facts that events of a form must have: a type, or ``RERATING`` for the adjustments that are re-ratings."""
_YOUR_OWN: Final = "; put your own into data.extra"


class Rerating(NamedTuple):
    """What a re-rating applies: a version of a rate card's document; and its operator, whom people do not see."""

    rate_card: str
    version: int
    by: str | None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the re-rating in the text of an event's fact."""
        values = exact_json.parse(text)
        return cls(values["rate_card"], int(values["version"]), values.get("by"))

    @property
    def text(self) -> str:
        """The canonical JSON of the re-rating, as the ledger stores it."""
        return exact_json.canonical(self.as_dict())

    def as_dict(self) -> "api.RecordedRerating":
        """Return the JSON object of the re-rating."""
        shown: api.RecordedRerating = {"rate_card": self.rate_card, "version": self.version}
        if self.by is not None:
            shown["by"] = self.by
        return shown


@dataclass(frozen=True)
class Event:
    """A valid billing event.

    ``commission_rate`` is ``None`` if the sender named none. An adjustment may name its ``commission`` instead.
    ``details`` are the optional facts, as text by name. ``rest`` marks a linked refund that is reduced to the amount
    left of its sale. The amount of a void is 0 until it is claimed: then it is what was left of its sale.
    ``attributes`` are those that the ledger keeps without using them, as a JSON object: see ``read_attributes``.
    ``without_registration`` and ``without_sale`` mark an event that an operator lets be recorded though its agency is
    not registered or is closed, or though nobody knows its sale. ``recorded_by`` is the person who recorded it; an
    event of a machine has none. ``needs_approval`` marks an event that waits for a second person, and ``approved_by``
    is that person.
    """

    identity: Identity
    type: str
    account: Account
    amount: Decimal
    commission_rate: Decimal | None
    time: datetime | None
    details: Mapping[str, str]
    commission: Decimal | None = None
    rest: bool = False
    without_registration: bool = False
    without_sale: bool = False
    attributes: str | None = None
    recorded_by: str | None = None
    needs_approval: bool = False
    approved_by: str | None = None

    @property
    def customer_name(self) -> str | None:
        """The name of the event's customer; ``None`` if it has none, or a token in its place."""
        customer = self.details.get(CUSTOMER)
        return None if customer is None or is_token(customer) else customer

    def with_token(self, token: str) -> "Event":
        """Return the event with a token in place of its customer's name."""
        return replace(self, details={**self.details, CUSTOMER: token})

    @property
    def is_running_total(self) -> bool:
        """Whether the event is of an item whose amount is that so far."""
        return self.attributes is not None and _IS_RUNNING in self.attributes

    @property
    def linked_to(self) -> Identity | None:
        """The identity of the sale that this correction refers to; ``None`` if it refers to none."""
        return reference(self.identity.source, self.details) if self.type in _CORRECTIONS else None

    @property
    def unlinked(self) -> "Event":
        """The event without its reference to a sale."""
        return replace(self, details={name: text for name, text in self.details.items() if name not in _REFERENCE})

    @property
    def rerating(self) -> Rerating | None:
        """What the event applies if it is a re-rating, ``None`` if it is none."""
        text = self.details.get(RERATING)
        return Rerating.parse(text) if text else None

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the content; a retry has the same digest as the first try.

        ``attributes`` are no content: a trace, for example, is another one with each try. Nor are ``recorded_by`` and
        ``approved_by``. Nor is the customer: one who was forgotten has another token later, and a hash of the name
        would show who it is to anybody who guesses.
        """
        content: dict[str, Any] = {
            "type": self.type,
            "account": str(self.account),
            "amount": money.plain(self.amount),
            "commission_rate": None if self.commission_rate is None else money.plain(self.commission_rate),
            "time": None if self.time is None else self.time.isoformat(),
            "details": {name: text for name, text in self.details.items() if name != CUSTOMER},
        }
        if self.commission is not None:
            content["commission"] = money.plain(self.commission)
        return sha256(exact_json.canonical_texts(content).encode()).hexdigest()

    def has_digest(self, stored: str) -> bool:
        """Return whether stored content is the event's, by its digest or the beginning of that."""
        return self.digest.startswith(stored)


@dataclass(frozen=True, slots=True)
class Rejection:
    """The problems of an item that is no valid billing event, with its source and id if they are readable."""

    source: str | None
    id: str | None
    problems: tuple[FieldProblem, ...]


def reference(source: str, facts: Mapping[str, str]) -> Identity | None:
    """Return the identity that an event of a source refers to, from its facts; ``None`` if it refers to none."""
    id_ = facts.get("refers_to")
    return Identity(facts.get("refers_to_source") or source, id_) if id_ else None


def shown_facts(facts: Mapping[str, str]) -> "dict[str, str | api.RecordedRerating]":
    """Return facts of an event as the API shows them: a re-rating as an object, the others as text."""
    return {name: Rerating.parse(text).as_dict() if name == RERATING else text for name, text in facts.items()}


def without_operator(facts: Mapping[str, str]) -> Mapping[str, str]:
    """Return facts of an event as people of agencies may see them: without the people who recorded or ordered it."""
    seen = {name: text for name, text in facts.items() if name not in {RECORDED_BY, APPROVED_BY}}
    text = facts.get(RERATING)
    return {**seen, RERATING: Rerating.parse(text)._replace(by=None).text} if text else seen


def read_event(item: object, *, billed: bool = False) -> Event | Rejection:
    """Return the event in one item of a request, or its rejection with every problem in it.

    ``billed``: billing made the item, so it may be an order's event.
    """
    if not isinstance(item, dict):
        return Rejection(None, None, (FieldProblem("", "is not a JSON object", "a CloudEvent"),))
    read = Fields(item)
    event = _read(item, read, billed=billed)
    if event is None:
        return rejection(item, read.problems)
    problem = None if billed else reserved(event.identity, is_sale=event.type == SALE)
    return Rejection(event.identity.source, event.identity.id, (problem,)) if problem else event


def rejection(item: Mapping[str, Any], problems: list[FieldProblem]) -> Rejection:
    """Return the rejection of an item for its problems."""
    source, id_ = (value[:MAX_TEXT] if isinstance(value := item.get(name), str) else None for name in ("source", "id"))
    return Rejection(source, id_, fields.bounded(problems, "an event as described"))


def _read(item: Mapping[str, Any], outer: Fields, *, billed: bool) -> Event | None:
    attributes = read_attributes(item, outer, OF_DATA)
    outer.value("specversion", '"1.0"', lambda value: value if value == "1.0" else None)
    check_content_type(outer)
    source = outer.value("source", NAME, fields.name)
    id_ = outer.value("id", NAME, fields.name)
    type_ = outer.value("type", "one of " + ", ".join(TYPES), _type)
    agency = outer.value("subject", f"the agency: {NAME}", fields.name)
    time = outer.value("time", fields.INSTANT, fields.instant, optional=True)
    data = read_data(item, outer)
    if data is None:
        return None
    inner = Fields(data, "data.", outer.problems)
    form = RERATING if type_ == ADJUSTMENT and data.get(RERATING) is not None else type_
    figures = _READ_FIGURES.get(form, _figures)(inner, form)
    required = _REQUIRED.get(form, frozenset())
    details = {
        name: text
        for name, (expected, read) in _DETAILS.items()
        if name in data or name in required
        if (text := inner.value(name, expected, read, optional=name not in required))
    }
    if form == RERATING and (rerating := _rerating(data[RERATING], agency, outer.problems)):
        details[RERATING] = rerating.text
    if type_ == PAYMENT and details.get("kind") == OPENING:
        inner.problem("kind", "is opening, which only an adjustment is", "what stands in place of money, or no kind")
    if source and id_ and reference(source, details) == Identity(source, id_):
        inner.problem("refers_to", "is the event itself", "the id of the sale")
    if "refers_to_source" in details and data.get("refers_to") is None:
        inner.problem("refers_to_source", "is given without refers_to", "refers_to, the id of the sale in that source")
    if figures and not details.keys().isdisjoint(PARTS):
        _check_parts(figures.amount, details, inner)
    if figures:
        at, later = time or clock.now(), billed or type_ != SALE
        if problem := not_of_its_time(figures.currency, at, later=later):
            inner.problem("currency", problem, f"a currency of {at.date()}, the day of the event")
    if outer.problems or not (source and id_ and type_ and agency and figures):
        return None
    return Event(
        Identity(source, id_),
        type_,
        Account(agency, figures.currency),
        figures.amount,
        figures.commission_rate,
        time,
        details,
        figures.commission,
        attributes=attributes,
    )


class _Figures(NamedTuple):
    amount: Decimal
    currency: str
    commission_rate: Decimal | None
    commission: Decimal | None = None


def _figures_of_view(inner: Fields, _: str | None) -> _Figures:
    """Return the figures of a view: an amount of 0 without a currency."""
    inner.report_unknown(frozenset(DETAILS), _YOUR_OWN)
    return _Figures(money.ZERO, money.NO_CURRENCY, money.ZERO)


def _figures_of_payment(inner: Fields, _: str | None) -> _Figures | None:
    """Return the figures of a payment, whose commission is 0; ``None`` if it is invalid."""
    for name in inner.given(_NOT_OF_PAYMENTS):
        inner.problem(name, "is given, though a payment is no sale", f"no {name}")
    inner.report_unknown(_OF_PAYMENTS, _YOUR_OWN, refused=_NOT_OF_PAYMENTS)
    amount, currency = _amount(inner, PAYMENT), inner.value("currency", fields.CURRENCY, fields.currency)
    if amount is None or currency is None:
        return None
    if money.places(amount) > (most := money.minor_digits(currency)):
        expected = f"at most {most} decimal places, as {currency} has" if most else f"a whole number, as of {currency}"
        inner.problem("amount", f"is {money.plain(amount)}", expected)
    return _Figures(amount, currency, money.ZERO)


def _figures_of_claim(inner: Fields, form: str | None) -> _Figures | None:
    """Return the figures of an event whose claim fixes amount and commission: its currency; ``None`` if it is invalid.

    ``form``: a void, or a re-rating.
    """
    why = "a void reverses what is left of its sale" if form == VOID else "a re-rating posts the difference"
    for name in inner.given(_FIGURES):
        inner.problem(name, f"is given, though {why}", f"no {name}")
    own = set[str]() if form == VOID else {RERATING}
    inner.report_unknown(_WITH_FIGURES | _FIGURES | _OF_CORRECTIONS | own, _YOUR_OWN)
    currency = inner.value("currency", fields.CURRENCY, fields.currency)
    return None if currency is None else _Figures(money.ZERO, currency, None)


def _figures(inner: Fields, type_: str | None) -> _Figures | None:
    """Return amount, currency, and the commission or its rate; ``None`` if one is invalid."""
    own = type_ == ADJUSTMENT
    corrects = type_ is None or type_ in _CORRECTIONS
    known = _WITH_PARTS | (_OF_ADJUSTMENTS if own else set()) | (_OF_CORRECTIONS if corrects else set())
    inner.report_unknown(known, _YOUR_OWN)
    amount = _amount(inner, type_)
    currency = inner.value("currency", fields.CURRENCY, fields.currency)
    commission_rate = inner.value("commission_rate", fields.SHARE, fields.share, optional=True)
    commission = inner.value("commission", fields.AMOUNT, money.parse_decimal, optional=True) if own else None
    if commission_rate is not None and commission is not None:
        inner.problem("commission", "is given with a commission_rate", "one of them")
    if amount is not None and commission_rate is not None and money.times(amount, commission_rate) is None:
        inner.problem(
            "commission_rate", "gives a commission of more than 38 digits", "fewer digits in commission_rate or amount"
        )
    return None if amount is None or currency is None else _Figures(amount, currency, commission_rate, commission)


def _amount(inner: Fields, type_: str | None) -> Decimal | None:
    """Return the amount of an event of a type; ``None``, with a problem added, if it is missing or invalid.

    An amount with a sign that the type does not have is returned, with a problem added.
    """
    amount: Decimal | None = inner.value("amount", fields.AMOUNT, money.parse_decimal)
    if amount is not None and type_ is not None:
        fits, expected = _SIGNS[type_]
        if not fits(amount):
            inner.problem("amount", f"is {money.plain(amount)}", expected)
    return amount


def _check_parts(amount: Decimal, details: Mapping[str, str], inner: Fields) -> None:
    """Add a problem for a part of the wrong sign, or if the parts are together more than the amount."""
    parts = {name: Decimal(details[name]) for name in PARTS if name in details}
    for name, part in parts.items():
        if (part < 0 < amount) or (amount < 0 < part) or (amount.is_zero() and not part.is_zero()):
            inner.problem(
                name, f"is {money.plain(part)}", f"a part of the amount, {money.plain(amount)}, with its sign"
            )
            return
    if (both := money.total(parts.values())).copy_abs() > amount.copy_abs():
        expected = f"at most the amount, {money.plain(amount)}, together"
        inner.problem(next(iter(parts)), f"{'is' if len(parts) == 1 else 'are'} {money.plain(both)}", expected)


def _rerating(value: object, agency: str | None, problems: list[FieldProblem]) -> Rerating | None:
    """Return the re-rating in an event of an agency; ``None``, with its problems added, if it is invalid."""
    if not isinstance(value, dict):
        expected = f"an object with {', '.join(Rerating._fields)}"
        problems.append(FieldProblem(f"data.{RERATING}", f"is {fields.shown(value)}", expected))
        return None
    inner = Fields(value, f"data.{RERATING}.", problems)
    inner.report_unknown(frozenset(Rerating._fields))
    rate_cards = f"{rate_card_name(agency or '<agency>')}, {group_rate_card_name('<group>')} or {DEFAULT_RATE_CARD}"
    rate_card = inner.value("rate_card", rate_cards, lambda name: _applicable(name, agency))
    version = inner.value("version", NUMBER, _version)
    by = inner.value("by", f"the operator: {TEXT}, not all of them blanks", fields.text)
    return Rerating(rate_card, version, by) if rate_card and version and by else None


def _applicable(name: object, agency: str | None) -> str | None:
    """Return the name of a rate card that an agency can have; raise ``ValueError`` for that of another agency."""
    if not isinstance(name, str) or not name.startswith(RATE_CARD) or not is_rate_card(name.removeprefix(RATE_CARD)):
        return None
    of_many = name == DEFAULT_RATE_CARD or name.startswith(group_rate_card_name(""))
    if agency and not of_many and name != rate_card_name(agency):
        raise ValueError(f"is {fields.shown(name)}, the rate card of another agency")
    return name


def _version(value: object) -> int | None:
    number = fields.whole(value)
    return number if number and number <= MAX_VERSION else None


def _type(value: object) -> str | None:
    return value if isinstance(value, str) and value in TYPES else None


def _text_or_number(value: object) -> str | None:
    if isinstance(value, Decimal):
        decimal = money.parse_decimal(value)
        return money.plain(decimal) if decimal is not None and decimal == int(decimal) else None
    return fields.label(value)


def _description(value: object) -> str | None:
    """Return a text that describes what is sold: it never keeps a sale out, and is empty if nothing is to be seen."""
    return texts.described(value, MAX_TEXT) if isinstance(value, str) else None


def _extra(value: object) -> str | None:
    if not isinstance(value, dict):
        return None
    text = exact_json.canonical(value)  # in ASCII: characters are bytes
    if len(text) > MAX_EXTRA_BYTES:
        raise ValueError(f"has {len(text)} bytes as JSON")
    return text


_DETAILS: Final[Mapping[str, tuple[str, Callable[[Any], str | None]]]] = {
    "product": (TEXT, _description),
    "quantity": (fields.AMOUNT, fields.decimal_text),
    "unit_price": (fields.AMOUNT, fields.decimal_text),
    CUSTOMER: (TEXT, fields.label),
    "order_id": (TEXT, fields.label),
    "line": (f"{TEXT}, or a whole number", _text_or_number),
    "location": (fields.LOCATION, fields.location),
    "refers_to": (f"the id of the sale: {NAME}", fields.name),
    "extra": (f"an object of at most {MAX_EXTRA_BYTES} bytes as JSON", _extra),
    "category": (TEXT, fields.label),
    "refers_to_source": (f"the source of the sale: {NAME}", fields.name),
    "reason": (f"{TEXT}, not all of them blanks", fields.text),
    "kind": (f"{fields.KIND}; {OPENING} for a balance that is brought forward", fields.kind),
    STATEMENT: (f"the number of the statement that is paid: {TEXT}", fields.label),
    "tax": (fields.AMOUNT, fields.decimal_text),
    "shipping": (fields.AMOUNT, fields.decimal_text),
}
OF_CORRECTIONS: Final = ("refers_to_source", "reason")
"""The names of the optional facts that only refunds, voids and adjustments have; a payment too has a reason."""
PARTS: Final = ("tax", "shipping")
"""The names of the facts that say which parts an amount has."""
DETAILS: Final = tuple(name for name in _DETAILS if name not in {*OF_CORRECTIONS, *PARTS, "kind", STATEMENT})
"""The names of the optional facts that every event can have."""
_OF_CORRECTIONS: Final = frozenset(OF_CORRECTIONS)
_OF_ADJUSTMENTS: Final = frozenset({"commission", "kind", RERATING})
_WITH_FIGURES: Final = frozenset({"amount", "currency", "commission_rate", *DETAILS})
_WITH_PARTS: Final = _WITH_FIGURES | {*PARTS}
_FIGURES: Final = frozenset({"amount", "commission_rate", "commission"})
OF_DATA: Final = _WITH_PARTS | _OF_CORRECTIONS | _OF_ADJUSTMENTS | {STATEMENT}
"""The fields of the data of all events."""
_OF_PAYMENTS: Final = frozenset({"amount", "currency", "kind", "reason", "extra", STATEMENT})
_NOT_OF_PAYMENTS: Final = OF_DATA - _OF_PAYMENTS
_READ_FIGURES: Final[Mapping[str | None, Callable[[Fields, str | None], _Figures | None]]] = {
    VIEW: _figures_of_view,
    VOID: _figures_of_claim,
    PAYMENT: _figures_of_payment,
    RERATING: _figures_of_claim,
}
