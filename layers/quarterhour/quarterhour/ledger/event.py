"""Billing events: what a CloudEvent must hold to be one, and its reading into values."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from hashlib import sha256
from typing import Any, Final

from quarterhour import jsontext, money
from quarterhour.clock import parse_iso
from quarterhour.errors import FieldProblem
from quarterhour.ledger.keys import SEPARATOR, Account, Identity

SALE: Final = "sale.recorded"
REFUND: Final = "sale.refunded"
ADJUSTMENT: Final = "adjustment.recorded"
VIEW: Final = "view.recorded"
MAX_TEXT: Final = 200
MAX_EXTRA_BYTES: Final = 4096
MAX_PROBLEMS: Final = 10
_SHOWN: Final = 60

_SIGNS: Final[Mapping[str, tuple[Callable[[Decimal], bool], str]]] = {
    SALE: (lambda amount: amount >= 0, "0 or more, as it is a sale"),
    REFUND: (lambda amount: amount <= 0, "0 or less, as it is a refund"),
    ADJUSTMENT: (lambda _: True, "any amount"),
}
_TYPES: Final = (*_SIGNS, VIEW)
_TIME: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})",
    re.ASCII,
)
_NAME: Final = f"1 to {MAX_TEXT} printable characters without {SEPARATOR!r}"
_TEXT: Final = f"1 to {MAX_TEXT} printable characters"
_AMOUNT: Final = f"a decimal of at most {money.MAX_DIGITS} digits, as a string or a number"
_ENVELOPE: Final = frozenset({"specversion", "id", "source", "type", "subject", "time", "datacontenttype", "data"})


@dataclass(frozen=True)
class Event:
    """A valid billing event, as its sender meant it.

    ``commission_rate`` is ``None`` where the sender left it to us; ``details`` are the optional facts that only
    travel along, as text under their names.
    """

    identity: Identity
    type: str
    account: Account
    amount: Decimal
    commission_rate: Decimal | None
    time: datetime | None
    details: Mapping[str, str]

    @property
    def refunded_sale(self) -> Identity | None:
        """The sale that this refund is linked to, in the same source; ``None`` where it is no linked refund."""
        sale = self.details.get("refers_to")
        return Identity(self.identity.source, sale) if self.type == REFUND and sale else None

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the content: what a retry must repeat to be one."""
        content: dict[str, Any] = {
            "type": self.type,
            "account": str(self.account),
            "amount": money.plain(self.amount),
            "commission_rate": None if self.commission_rate is None else money.plain(self.commission_rate),
            "time": None if self.time is None else self.time.isoformat(),
            "details": dict(self.details),
        }
        return sha256(jsontext.canonical(content).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why an item is no billing event; source and id as far as they could be read."""

    source: str | None
    id: str | None
    problems: tuple[FieldProblem, ...]


def read_event(item: object) -> Event | Rejection:
    """Read one item of a request; every problem in it is told at once."""
    if not isinstance(item, dict):
        return Rejection(None, None, (FieldProblem("", "is no JSON object", "a CloudEvent"),))
    fields = _Fields(item)
    event = _read(fields)
    if event is None:
        source, id_ = (
            value[:MAX_TEXT] if isinstance(value := item.get(name), str) else None for name in ("source", "id")
        )
        return Rejection(source, id_, _bounded(fields.problems))
    return event


def _bounded(problems: list[FieldProblem]) -> tuple[FieldProblem, ...]:
    """Tell no more than a person would read: one bad item must not make the whole answer too large."""
    more = len(problems) - MAX_PROBLEMS
    if more <= 0:
        return tuple(problems)
    return (*problems[:MAX_PROBLEMS], FieldProblem("", f"has {more} more problems", "an event as described"))


def _read(fields: "_Fields") -> Event | None:
    fields.no_others(_ENVELOPE)
    fields.value("specversion", '"1.0"', lambda value: value if value == "1.0" else None)
    fields.value("datacontenttype", '"application/json"', _json_type, optional=True)
    source = fields.value("source", _NAME, _name)
    id_ = fields.value("id", _NAME, _name)
    type_ = fields.value("type", "one of " + ", ".join(_TYPES), _type)
    agency = fields.value("subject", f"the agency: {_NAME}", _name)
    time = fields.value("time", "an RFC 3339 instant such as 2026-10-23T01:30:00Z", _instant, optional=True)
    data = fields.value("data", "an object with amount and currency", lambda value: value or None)
    if not isinstance(data, dict):
        if data is not None:
            fields.problem("data", "is no object", "an object with amount and currency")
        return None
    inner = _Fields(data, "data.", fields.problems)
    figures = _no_figures(inner) if type_ == VIEW else _figures(inner, type_)
    details = {
        name: text
        for name, (expected, read) in _DETAILS.items()
        if (text := inner.value(name, expected, read, optional=(name, type_) != ("customer", VIEW))) is not None
    }
    if id_ and details.get("refers_to") == id_:
        inner.problem("refers_to", "is the event itself", "the id of the sale")
    if fields.problems or not (source and id_ and type_ and agency and figures):
        return None
    amount, currency, rate = figures
    return Event(Identity(source, id_), type_, Account(agency, currency), amount, rate, time, details)


def _no_figures(inner: "_Fields") -> tuple[Decimal, str, Decimal]:
    """Read a view: no money, so that it counts as an event of nothing in no currency."""
    inner.no_others(frozenset(_DETAILS))
    return money.ZERO, money.NO_CURRENCY, money.ZERO


def _figures(inner: "_Fields", type_: str | None) -> tuple[Decimal, str, Decimal | None] | None:
    """Read amount, currency and rate; ``None`` where one does not fit."""
    inner.no_others(frozenset({"amount", "currency", "commission_rate", *_DETAILS}))
    amount = inner.value("amount", _AMOUNT, money.parse_decimal)
    currency = inner.value("currency", "an ISO 4217 code such as EUR", _currency)
    rate = inner.value("commission_rate", "a decimal from 0 to 1", _share, optional=True)
    if amount is not None and type_ is not None:
        fits, expected = _SIGNS[type_]
        if not fits(amount):
            inner.problem("amount", f"is {money.plain(amount)}", expected)
    if amount is not None and rate is not None and money.times(amount, rate) is None:
        inner.problem("commission_rate", "gives a commission of more than 38 digits", "fewer digits in rate or amount")
    return None if amount is None or currency is None else (amount, currency, rate)


class _Fields:
    """The fields of one object, and the problems found in them so far."""

    def __init__(self, values: dict[str, Any], prefix: str = "", problems: list[FieldProblem] | None = None) -> None:
        self._values = values
        self._prefix = prefix
        self.problems: list[FieldProblem] = [] if problems is None else problems

    def problem(self, field: str, problem: str, expected: str) -> None:
        self.problems.append(FieldProblem(self._prefix + field, problem, expected))

    def no_others(self, known: frozenset[str]) -> None:
        for name in sorted(self._values.keys() - known):
            self.problem(
                _shown(name),
                "is not known",
                f"one of {', '.join(sorted(known))}; put your own into data.extra",
            )

    def value(self, name: str, expected: str, read: Callable[[Any], Any], *, optional: bool = False) -> Any:  # noqa: ANN401
        """Return the field as read, ``None`` where it is missing or does not fit (noted as a problem)."""
        if self._values.get(name) is None:
            if not optional:
                self.problem(name, "is missing", expected)
            return None
        value = read(self._values[name])
        if value is None:
            self.problem(name, f"is {_shown(self._values[name])}", expected)
        return value


def _shown(value: object) -> str:
    """Show a value in a message: short, printable, whatever was sent."""
    if isinstance(value, dict | list):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    text = ascii(value) if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} characters)"


def _type(value: object) -> str | None:
    return value if isinstance(value, str) and value in _TYPES else None


def _name(value: object) -> str | None:
    return _text(value) if isinstance(value, str) and SEPARATOR not in value else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and 1 <= len(value) <= MAX_TEXT and value.isprintable() else None


def _text_or_number(value: object) -> str | None:
    if isinstance(value, Decimal):
        decimal = money.parse_decimal(value)
        return money.plain(decimal) if decimal is not None and decimal == int(decimal) else None
    return _text(value)


def _place(value: object) -> str | None:
    return _text(value) if isinstance(value, str) and all(value.split(SEPARATOR)) else None


def _decimal_text(value: object) -> str | None:
    decimal = money.parse_decimal(value)
    return None if decimal is None else money.plain(decimal)


def _share(value: object) -> Decimal | None:
    share = money.parse_decimal(value)
    return share if share is not None and 0 <= share <= 1 else None


def _currency(value: object) -> str | None:
    return str(value) if money.is_currency(value) else None


def _json_type(value: object) -> str | None:
    return "application/json" if isinstance(value, str) and value.split(";")[0].strip() == "application/json" else None


def _instant(value: object) -> datetime | None:
    if not isinstance(value, str) or not _TIME.fullmatch(value):
        return None
    try:
        return parse_iso(value.upper())
    except ValueError:
        return None


def _extra(value: object) -> str | None:
    if not isinstance(value, dict):
        return None
    try:
        text = jsontext.canonical(value)  # in ASCII: characters are bytes
    except ValueError:
        return None
    return text if len(text) <= MAX_EXTRA_BYTES else None


_DETAILS: Final[Mapping[str, tuple[str, Callable[[Any], str | None]]]] = {
    "product": (_TEXT, _text),
    "quantity": (_AMOUNT, _decimal_text),
    "unit_price": (_AMOUNT, _decimal_text),
    "customer": (_TEXT, _text),
    "order_id": (_TEXT, _text),
    "line": (f"{_TEXT}, or a whole number", _text_or_number),
    "location": ("a path such as GB#London without an empty part", _place),
    "refers_to": (f"the id of the sale in the same source: {_NAME}", _name),
    "extra": (f"an object of at most {MAX_EXTRA_BYTES} bytes as JSON", _extra),
}
DETAILS: Final = tuple(_DETAILS)
"""The names of the optional facts, in the order in which reports show them."""
