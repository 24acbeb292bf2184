"""DynamoDB's attribute values as JSON has them: ``{"S": "…"}``; binary values are base64."""

from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal, InvalidOperation, localcontext
from typing import Any, Final

from quarterhour_tools.emulator.dynamodb.errors import InvalidCallError

CallBody = dict[str, Any]
"""A request or an answer, as JSON has it."""
Value = dict[str, Any]
"""One attribute value: its type and its content."""
Item = dict[str, Value]
Sortable = str | Decimal | bytes
"""What a key's value is compared by: texts by their bytes in UTF-8, which is the order of code points."""

_MOST_DIGITS: Final = 38
_LARGEST: Final = Decimal("9.9999999999999999999999999999999999999E+125")
_SMALLEST: Final = Decimal("1E-130")


def sortable(value: Value) -> Sortable:
    """Return what the value of a key is compared by."""
    ((kind, content),) = value.items()
    if kind == "S":
        return str(content)
    return Decimal(content) if kind == "N" else b64decode(content)


def normal_item(item: Mapping[str, Value]) -> Item:
    """Return an item as DynamoDB stores it; raise ``InvalidCallError`` for a value that it refuses."""
    return {name: value if "S" in value and len(value) == 1 else normal(value) for name, value in item.items()}


def normal(value: Value) -> Value:
    """Return a value as DynamoDB stores it: numbers without zeros at either end, sets in order."""
    if len(value) != 1:
        raise InvalidCallError("Supplied AttributeValue has more than one datatypes set, must contain exactly one")
    ((kind, content),) = value.items()
    if kind not in _NORMAL:
        raise InvalidCallError(f"Supplied AttributeValue is empty, must contain exactly one of the types: {kind}")
    return {kind: _NORMAL[kind](content)}


def number(text: str) -> Decimal:
    """Return a number; raise ``InvalidCallError`` for what is none, or has more than 38 digits."""
    try:
        found = Decimal(text)
    except InvalidOperation:
        found = Decimal("NaN")
    if not found.is_finite():
        raise InvalidCallError(f"The parameter cannot be converted to a numeric value: {text}")
    if len(found.as_tuple().digits) > _MOST_DIGITS and len(_plain(found).strip("-0.").replace(".", "")) > _MOST_DIGITS:
        raise InvalidCallError("Attempting to store more than 38 significant digits in a Number")
    if found and not _SMALLEST <= abs(found) <= _LARGEST:
        raise InvalidCallError("Number overflow or underflow: the magnitude of a number is limited")
    return found


def _plain(found: Decimal) -> str:
    """Return a number in digits: without an exponent, and without zeros at either end."""
    text = f"{found:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return text if found else "0"


def shown(found: Decimal) -> str:
    """Return a number as DynamoDB answers it."""
    return _plain(found)


def _text(content: object) -> str:
    if not isinstance(content, str):
        raise InvalidCallError("A text must be a string")
    return content


def _set_of(read: Callable[[Any], Any]) -> Callable[[Iterable[Any]], list[Any]]:
    def normal_set(content: Iterable[Any]) -> list[Any]:
        members = [read(one) for one in content]
        if not members:
            raise InvalidCallError("One or more parameter values were invalid: An string set  may not be empty")
        if len(set(members)) < len(members):
            raise InvalidCallError("One or more parameter values were invalid: Input collection contains duplicates")
        return sorted(members)

    return normal_set


def _normal_number(text: str) -> str:
    return shown(number(text))


def _null(content: object) -> bool:
    if content is not True:
        raise InvalidCallError("Null attribute value types must have the value of true")
    return True


_NORMAL: Final[Mapping[str, Callable[[Any], Any]]] = {
    "S": _text,
    "N": _normal_number,
    "B": _text,
    "BOOL": bool,
    "NULL": _null,
    "SS": _set_of(_text),
    "NS": _set_of(_normal_number),
    "BS": _set_of(_text),
    "L": lambda values: [normal(one) for one in values],
    "M": normal_item,
}


def plus(one: str, other: str) -> str:
    """Return the sum of two numbers, exact to 38 digits as in DynamoDB."""
    with localcontext(prec=_MOST_DIGITS):
        return shown(number(one) + number(other))


def minus(one: str, other: str) -> str:
    """Return the difference of two numbers, exact to 38 digits as in DynamoDB."""
    with localcontext(prec=_MOST_DIGITS):
        return shown(number(one) - number(other))
