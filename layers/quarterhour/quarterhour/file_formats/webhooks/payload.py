"""Reads the payloads of webhooks: texts, ids and amounts, exactly, and what a rule leaves out. It does no I/O."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from quarterhour.file_formats.amounts import in_minor_units
from quarterhour.file_formats.webhooks.delivery import AgencyRule, Excluded
from quarterhour.model import money
from quarterhour.model.fields import shown
from quarterhour.model.instants import parse_rfc_3339

PAID: Final = "paid"
"""What a status means by which an order is a sale; any other is the rule that leaves it out."""
_NAMES: Final = ("name", "key")
"""What names an entry in a list of additional fields, beside its ``value``."""
_META: Final = dict.fromkeys(("metadata", "meta_data", "properties", "note_attributes"))
"""Where the additional fields of an object are, which a path may leave out."""
_MOST_DIGITS: Final = 38
_MOST_SECONDS: Final = 11


class PayloadError(Exception):
    """A payload that cannot be mapped; the message says why."""


def object_of(payload: object) -> Mapping[str, Any]:
    """Return a payload that is an object; raise ``PayloadError`` for any other."""
    if not isinstance(payload, dict):
        raise PayloadError(f"the payload is {shown(payload)}, not an object")
    return payload


def objects(value: object, what: str) -> list[Mapping[str, Any]]:
    """Return a list of objects; empty for none. Raises ``PayloadError`` for anything else."""
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
        raise PayloadError(f"{what} is {shown(value)}, not a list of objects")
    return value


def text_of(value: object) -> str:
    """Return a text without blanks at its ends, or a whole number as text; empty for anything else."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, Decimal) and value.is_finite() and value.adjusted() < _MOST_DIGITS and value == int(value):
        return str(int(value))
    return ""


def id_of(value: object, what: str) -> str:
    """Return an id, of any number of digits; raise ``PayloadError`` if there is none."""
    text = text_of(value)
    if not text:
        raise PayloadError(f"{what} is {shown(value)}, not an id")
    return text


def amount_of(value: object, what: str) -> Decimal:
    """Return the exact amount of a text or a number; raise ``PayloadError`` if it is none."""
    amount = money.parse_decimal(value.strip() if isinstance(value, str) else value)
    if amount is None:
        raise PayloadError(f"{what} is {shown(value)}, not an amount")
    return amount


def currency_of(value: object, what: str) -> str:
    """Return the code of a currency; raise ``PayloadError`` if it is none."""
    code = text_of(value).upper()
    if not money.is_currency(code):
        raise PayloadError(f"{what} is {shown(value)}, not a currency")
    return code


def time_of(value: object, what: str) -> str:
    """Return an instant in UTC; raise ``PayloadError`` if the value is none."""
    try:
        return parse_rfc_3339(text_of(value)).isoformat().replace("+00:00", "Z")
    except ValueError:
        raise PayloadError(f"{what} is {shown(value)}, not a time with an offset") from None


def time_of_seconds(value: object, what: str) -> str:
    """Return the instant of Unix seconds in UTC; raise ``PayloadError`` if the value is none."""
    text = text_of(value)
    if not text.isdecimal() or len(text) > _MOST_SECONDS:
        raise PayloadError(f"{what} is {shown(value)}, not seconds since 1970")
    return datetime.fromtimestamp(int(text), UTC).isoformat().replace("+00:00", "Z")


def at_path(value: object, path: str) -> object:
    """Return what a path such as ``metadata.seller`` leads to; ``None`` if it leads nowhere.

    A step into a list leads to the value of its entry of that name or key. What an object does not have itself is
    looked up in its additional fields.
    """
    for step in path.split("."):
        if isinstance(value, dict) and (step in value or _META.keys().isdisjoint(value)):
            value = value.get(step)
        elif isinstance(value, dict):
            value = next((found for name in _META if (found := at_path(value.get(name), step)) is not None), None)
        elif isinstance(value, list):
            entries = (one for one in value if isinstance(one, dict) and any(one.get(name) == step for name in _NAMES))
            value = next((one.get("value") for one in entries), None)
        else:
            return None
    return value


def agency_in(rule: AgencyRule, *places: object, linked: bool = False) -> str:
    """Return the agency, or its external id, that the first place which has the rule's field names.

    Raises ``PayloadError`` if none has it. The event of a ``linked`` fact needs none: it is empty then.
    """
    found = (text_of(at_path(one, rule.field)) for one in places if rule.field)
    agency = rule.fixed or next(filter(None, found), "")
    if not agency and not linked:
        raise PayloadError(f"there is no {rule.field or 'agency'}, which names the agency")
    return agency


def plain(amount: Decimal, currency: str) -> str:
    """Return the text of an amount, with at least the decimal places of its currency."""
    return money.plain(in_minor_units(amount, currency))


def shares(amount: Decimal, weights: Sequence[Decimal], currency: str) -> list[Decimal]:
    """Return the parts of an amount by weights, in whole units of the currency; they add up to it."""
    whole, parts, before, behind = money.total(weights), list[Decimal](), money.ZERO, money.ZERO
    for weight in weights:
        behind = money.add(behind, weight)
        through = (
            money.rounded(Fraction(amount) * Fraction(behind) / Fraction(whole), currency) if whole else money.ZERO
        )
        parts.append(money.subtract(through, before))
        before = through
    return parts


def state_of(map_: str, status: str) -> str:
    """Return what a status means by the lookup ``state`` of a connection's own map; empty without one."""
    if not map_:
        return ""
    # Loaded for a map of the connection's own alone, so that a function starts without it.
    from quarterhour.file_formats.webhooks.own_map import state_in  # noqa: PLC0415

    return state_in(map_, status)


class LeftOut:
    """What rules leave out of a delivery: sums by rule and currency."""

    def __init__(self) -> None:
        self._sums: dict[str, dict[str, Decimal]] = {}

    def add(self, rule: str, amount: Decimal, currency: str) -> None:
        """Add an amount that a rule leaves out; nothing for 0."""
        if amount:
            sums = self._sums.setdefault(rule, {})
            sums[currency] = money.add(sums.get(currency, money.ZERO), amount)

    def all(self) -> list[Excluded]:
        """Return the sums of each rule."""
        return [Excluded(rule, sums) for rule, sums in self._sums.items()]


def event(identity: tuple[str, str], type_: str, agency: str, time: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return a CloudEvent of a source and an id, without the data that is empty.

    An event without an agency has that of the recorded event to which it refers, and one without a time the time at
    which it is recorded.
    """
    source, id_ = identity
    found = {"subject": agency, "time": time}
    given = {name: value for name, value in found.items() if value}
    made = {name: value for name, value in data.items() if value not in ("", None)}
    return {"specversion": "1.0", "source": source, "id": id_, "type": type_, **given, "data": made}
