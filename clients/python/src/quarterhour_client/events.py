"""Events as the server takes them: CloudEvents whose money is exact and whose identity is fixed."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

from quarterhour_client.errors import EventError

if TYPE_CHECKING:
    from collections.abc import Mapping

Money = Decimal | str | int
"""An exact amount. A float is refused: 0.1 is not exact in it."""

SALE = "sale.recorded"
REFUND = "sale.refunded"
VOID = "sale.voided"
ADJUSTMENT = "adjustment.recorded"
PAYMENT = "payment.recorded"

MAX_BODY = 4_000_000
"""Bytes of a request."""
_MAX_TEXT = 200
_MAX_DIGITS = 38
_MAX_EXTRA = 4096
_CODE = 3
_DESCRIPTIONS = frozenset({"product", "reason"})
"""The fields of which the server shows what fits, whatever they hold."""
_BLANKS = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_REFUSED = re.compile("[\x00-\x1f\x7f-\x9f\u00ad\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")
"""Characters that nobody sees, which no name has; the server knows the others, by the letters beside them."""
_DECIMAL = "a Decimal, a whole number, or a decimal as a string, of at most 38 digits"
_OWN = frozenset({"specversion", "source", "id", "type", "subject", "time", "data"})


@dataclass(frozen=True)
class Event:
    """An event that can be stored and sent; ``body`` is its JSON, the same bytes in every try."""

    source: str
    id: str
    body: bytes


def sale(  # noqa: PLR0913 - the fields of a sale
    *,
    source: str,
    id: str,  # noqa: A002 - the name in CloudEvents
    agency: str,
    amount: Money,
    currency: str,
    time: datetime | None = None,
    commission_rate: Money | None = None,
    customer: str | None = None,
    order_id: str | None = None,
    line: str | int | None = None,
    product: str | None = None,
    quantity: Money | None = None,
    unit_price: Money | None = None,
    location: str | None = None,
    category: str | None = None,
    tax: Money | None = None,
    shipping: Money | None = None,
    extra: Mapping[str, Any] | None = None,
    attributes: Mapping[str, str | int | bool] | None = None,
) -> Event:
    """Return the event of a sale; ``amount`` is 0 or more.

    ``source`` and ``id`` identify it for ever, so take them from your own data: a retry must give the same ones.
    ``time`` is when it happened, with a time zone. ``tax`` and ``shipping`` are parts of the amount. ``attributes`` are
    extension attributes of CloudEvents, such as ``traceparent``. Raises ``EventError``.
    """
    figure = _signed(amount, "amount", at_least=0)
    data: dict[str, Any] = {
        "amount": figure,
        "currency": currency,
        "commission_rate": commission_rate,
        "customer": customer,
    }
    data |= {"order_id": order_id, "line": line, "product": product, "quantity": quantity}
    data |= {"unit_price": unit_price, "location": location, "category": category, "extra": extra}
    data |= {"tax": tax, "shipping": shipping}
    return event(source=source, id=id, type=SALE, agency=agency, data=data, time=time, attributes=attributes)


def refund(  # noqa: PLR0913 - the fields of a refund
    *,
    source: str,
    id: str,  # noqa: A002 - the name in CloudEvents
    agency: str,
    amount: Money,
    currency: str,
    refers_to: str | None = None,
    refers_to_source: str | None = None,
    reason: str | None = None,
    time: datetime | None = None,
    commission_rate: Money | None = None,
    customer: str | None = None,
    order_id: str | None = None,
    tax: Money | None = None,
    shipping: Money | None = None,
    extra: Mapping[str, Any] | None = None,
    attributes: Mapping[str, str | int | bool] | None = None,
) -> Event:
    """Return the event of a refund; ``amount`` is 0 or less, ``refers_to`` the id of the sale.

    ``refers_to_source`` is the source of the sale, if it is another. Raises ``EventError``.
    """
    figure = _signed(amount, "amount", at_most=0)
    data: dict[str, Any] = {
        "amount": figure,
        "currency": currency,
        "refers_to": refers_to,
        "refers_to_source": refers_to_source,
    }
    data |= {"reason": reason, "commission_rate": commission_rate, "customer": customer, "order_id": order_id}
    data |= {"extra": extra, "tax": tax, "shipping": shipping}
    return event(source=source, id=id, type=REFUND, agency=agency, data=data, time=time, attributes=attributes)


def void(  # noqa: PLR0913 - the fields of a void
    *,
    source: str,
    id: str,  # noqa: A002 - the name in CloudEvents
    agency: str,
    currency: str,
    refers_to: str,
    reason: str,
    refers_to_source: str | None = None,
    time: datetime | None = None,
    extra: Mapping[str, Any] | None = None,
    attributes: Mapping[str, str | int | bool] | None = None,
) -> Event:
    """Return the event that reverses what is left of the sale ``refers_to``, or takes the refund of that id back.

    A refund is taken back whole, as when the bank returned it or a dispute was won; then the sale can be refunded
    again. Raises ``EventError``.
    """
    data: dict[str, Any] = {"currency": currency, "refers_to": refers_to, "refers_to_source": refers_to_source}
    data |= {"reason": reason, "extra": extra}
    return event(source=source, id=id, type=VOID, agency=agency, data=data, time=time, attributes=attributes)


def payment(  # noqa: PLR0913 - the fields of a payment
    *,
    source: str,
    id: str,  # noqa: A002 - the name in CloudEvents
    agency: str,
    amount: Money,
    currency: str,
    statement: str | None = None,
    kind: str | None = None,
    reason: str | None = None,
    time: datetime | None = None,
    extra: Mapping[str, Any] | None = None,
    attributes: Mapping[str, str | int | bool] | None = None,
) -> Event:
    """Return the event of a payment by the agency (above 0) or to it (below 0). Raises ``EventError``."""
    figure = _decimal(amount, "amount")
    if not figure:
        raise EventError("amount", "is 0", "above 0 if the agency paid, below 0 if it was paid")
    data: dict[str, Any] = {
        "amount": figure,
        "currency": currency,
        "statement": statement,
        "kind": kind,
        "reason": reason,
        "extra": extra,
    }
    return event(source=source, id=id, type=PAYMENT, agency=agency, data=data, time=time, attributes=attributes)


def adjustment(  # noqa: PLR0913 - the fields of an adjustment
    *,
    source: str,
    id: str,  # noqa: A002 - the name in CloudEvents
    agency: str,
    amount: Money,
    currency: str,
    commission: Money | None = None,
    commission_rate: Money | None = None,
    kind: str | None = None,
    refers_to: str | None = None,
    refers_to_source: str | None = None,
    reason: str | None = None,
    time: datetime | None = None,
    extra: Mapping[str, Any] | None = None,
    attributes: Mapping[str, str | int | bool] | None = None,
) -> Event:
    """Return the event of an adjustment of any amount, with its commission or its rate. Raises ``EventError``."""
    data: dict[str, Any] = {
        "amount": _decimal(amount, "amount"),
        "currency": currency,
        "commission": commission,
        "kind": kind,
    }
    data |= {"commission_rate": commission_rate, "refers_to": refers_to}
    data |= {"refers_to_source": refers_to_source, "reason": reason, "extra": extra}
    return event(source=source, id=id, type=ADJUSTMENT, agency=agency, data=data, time=time, attributes=attributes)


def event(  # noqa: PLR0913 - the fields of an event
    *,
    source: str,
    id: str,  # noqa: A002 - the name in CloudEvents
    type: str,  # noqa: A002 - the name in CloudEvents
    agency: str,
    data: Mapping[str, Any],
    time: datetime | None = None,
    attributes: Mapping[str, str | int | bool] | None = None,
) -> Event:
    """Return an event of any type; ``None`` in ``data`` leaves a field out.

    The values are checked as far as they can be without the server, whose verdict counts. Raises ``EventError``.
    """
    item = {"specversion": "1.0", "source": _name(source, "source"), "id": _name(id, "id"), "type": type}
    item["subject"] = _name(agency, "agency")
    if time is not None:
        item["time"] = instant(time, "time")
    extensions = dict(attributes or {})
    for name in extensions:
        if name in _OWN:
            raise EventError("attributes", f"have {name!r}", "extension attributes, such as traceparent")
    fields = {name: _field(value, name) for name, value in data.items() if value is not None}
    body = _json(in_one_form({**item, **extensions, "data": fields}), "data")
    if len(body) > MAX_BODY - 2:
        raise EventError("data", f"has {len(body):,} bytes as JSON", f"at most {MAX_BODY - 2:,}")
    return Event(item["source"], item["id"], body)


def order_item(  # noqa: PLR0913 - the fields of an item
    *,
    agency: str,
    product: str,
    amount: Money,
    commission_rate: Money | None = None,
    quantity: Money | None = None,
    unit_price: Money | None = None,
    location: str | None = None,
    category: str | None = None,
) -> dict[str, Any]:
    """Return an item of an order, for ``Sender.create_order``; ``amount`` is 0 or more. Raises ``EventError``."""
    item: dict[str, Any] = {
        "agency": _name(agency, "agency"),
        "product": product,
        "amount": _signed(amount, "amount", at_least=0),
    }
    item |= {"commission_rate": commission_rate, "quantity": quantity, "unit_price": unit_price}
    item |= {"location": location, "category": category}
    return {name: _field(value, name) for name, value in item.items() if value is not None}


def instant(value: object, field: str) -> str:
    """Return a time as RFC 3339 in UTC; raise ``EventError`` if it has no time zone."""
    if not isinstance(value, datetime) or value.utcoffset() is None:
        raise EventError(field, f"is {value!r}", "a datetime with a time zone, such as datetime.now(timezone.utc)")
    return value.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")


_MONEY = frozenset({"amount", "commission_rate", "commission", "quantity", "unit_price", "tax", "shipping"})


def _field(value: object, name: str) -> object:
    """Return a field of ``data`` as JSON has it; raise ``EventError`` if it cannot be right."""
    if name in _MONEY:
        return format(_decimal(value, name), "f")
    if name == "currency":
        if not (isinstance(value, str) and len(value) == _CODE and value.isascii() and value.isupper()):
            raise EventError(name, f"is {value!r}", "a currency code of ISO 4217, such as EUR")
        return value
    if name == "extra":
        size = len(_json(value, name))
        if size > _MAX_EXTRA:
            raise EventError(name, f"has {size:,} bytes as JSON", f"at most {_MAX_EXTRA:,}")
        return value
    if isinstance(value, (float, Decimal)):
        raise EventError(name, f"is {value!r}", "a text or a whole number")
    if isinstance(value, str) and name not in _DESCRIPTIONS:
        sent = _BLANKS.sub(" ", normalize("NFC", value))
        line = " ".join(sent.split())
        # A location is a part of keys, so the server refuses line breaks in it.
        if not 0 < len(line) <= _MAX_TEXT or _REFUSED.search(sent if name == "location" else line):
            raise EventError(name, f"is {value!r}", "1 to 200 printable characters")
        return line
    return value


def _name(value: object, field: str) -> str:
    """Return a name in the form in which the server stores it; raise ``EventError`` if it can be none."""
    name = normalize("NFC", _BLANKS.sub(" ", value)) if isinstance(value, str) else ""
    if not 0 < len(name) <= _MAX_TEXT or _REFUSED.search(name) or "#" in name or name != name.strip(" "):
        raise EventError(
            field, f"is {value!r}", "1 to 200 printable characters without # and without a blank at an end"
        )
    return name


def in_one_form(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Return a JSON value with all its texts in Unicode NFC: two forms of one text are one text."""
    if isinstance(value, str):
        return normalize("NFC", value)
    if isinstance(value, dict):
        return {in_one_form(name): in_one_form(one) for name, one in value.items()}
    return [in_one_form(one) for one in value] if isinstance(value, (list, tuple)) else value


def _signed(value: object, field: str, *, at_least: int | None = None, at_most: int | None = None) -> Decimal:
    figure = _decimal(value, field)
    if at_least is not None and figure < at_least:
        raise EventError(field, f"is {figure}", f"{at_least} or more")
    if at_most is not None and figure > at_most:
        raise EventError(field, f"is {figure}", f"{at_most} or less")
    return figure


def _decimal(value: object, field: str) -> Decimal:
    """Return an exact decimal; raise ``EventError`` for a float and for what is no finite number."""
    if isinstance(value, bool) or not isinstance(value, (Decimal, str, int)):
        raise EventError(field, f"is {value!r}", f"{_DECIMAL}; a float is not exact")
    try:
        figure = Decimal(value)
    except InvalidOperation:
        raise EventError(field, f"is {value!r}", _DECIMAL) from None
    if not figure.is_finite() or _digits(figure) > _MAX_DIGITS:
        raise EventError(field, f"is {value!r}", _DECIMAL)
    return figure


def _digits(figure: Decimal) -> int:
    """Return how many digits the number has when it is written without an exponent."""
    _, digits, exponent = figure.as_tuple()
    power = int(exponent)
    return len(digits) + power if power > 0 else max(len(digits), -power)


def _json(value: object, field: str) -> bytes:
    try:
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
        return text.encode(errors="backslashreplace")  # a lone surrogate stays what it is in JSON
    except (TypeError, ValueError) as error:
        raise EventError(field, f"is not JSON: {error}", "strings, numbers, lists and objects") from None
