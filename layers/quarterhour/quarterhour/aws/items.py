"""Conversion between DynamoDB's attribute values and plain Python values, without loading boto3."""

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Context, Decimal, Inexact, InvalidOperation, Overflow, Rounded, Underflow
from typing import Any, Final, TypeVar

T = TypeVar("T")
Item = dict[str, Any]
"""An item in DynamoDB's attribute values: ``{"pk": {"S": "…"}}``."""
Request = dict[str, Any]
"""The keyword arguments of one AWS call."""

# DynamoDB's numbers: 38 digits, exponents of -130 to 125. A number that would be rounded raises an error.
_NUMBERS: Final = Context(prec=38, Emin=-128, Emax=126, traps=[Inexact, InvalidOperation, Overflow, Rounded, Underflow])


def to_item(values: Mapping[str, Any]) -> Item:
    """Return plain values as an item; attributes that are ``None`` are left out.

    Raises ``TypeError`` for types that no table of Quarterhour holds, float and set, and for bytes: the one attribute
    that holds them is made by ``binary``.
    """
    return {name: _attribute(value) for name, value in values.items() if value is not None}


def from_item(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return an item as plain values; numbers are ``Decimal``. Raises ``TypeError`` for bytes and sets."""
    return {name: _plain(attribute) for name, attribute in item.items()}


def binary(content: bytes) -> dict[str, str]:
    """Return bytes as an attribute: base64, as DynamoDB's JSON and Lambda's stream records have it."""
    return {"B": b64encode(content).decode()}


def bytes_of(attribute: Mapping[str, Any]) -> bytes:
    """Return the bytes of an attribute that ``binary`` made; raise ``ValueError`` for any other."""
    content = attribute.get("B")
    if not isinstance(content, str):
        raise ValueError(f"an attribute of type {', '.join(attribute)} is not binary")  # noqa: TRY004 - not a mistake of the caller
    return b64decode(content, validate=True)


def chunks(sequence: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Yield the sequence in chunks of at most ``size``."""
    return (sequence[at : at + size] for at in range(0, len(sequence), size))


def _attribute(value: object) -> dict[str, Any]:
    match value:
        case str():
            return {"S": value}
        case bool():
            return {"BOOL": value}
        case int() | Decimal():
            return {"N": _number(value)}
        case None:
            return {"NULL": True}
        case Mapping():
            return {"M": {name: _attribute(one) for name, one in value.items()}}
        case list() | tuple():
            return {"L": [_attribute(one) for one in value]}
        case _:
            raise TypeError(f"an item cannot hold a {type(value).__name__}")


def _number(value: int | Decimal) -> str:
    number = _NUMBERS.create_decimal(value)
    if not number.is_finite():
        raise TypeError(f"{number} is not a DynamoDB number")
    return str(number)


def _plain(attribute: Mapping[str, Any]) -> Any:  # noqa: ANN401 - an attribute is any value
    ((kind, value),) = attribute.items()
    try:
        return _READERS[kind](value)
    except KeyError:
        raise TypeError(f"attributes of type {kind} are not supported") from None


_READERS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "S": str,
    "N": _NUMBERS.create_decimal,
    "BOOL": bool,
    "NULL": lambda _: None,
    "M": from_item,
    "L": lambda values: [_plain(value) for value in values],
}
