"""JSON without loss: numbers are read as exact decimals, and written in one canonical form."""

import json
from decimal import Decimal, InvalidOperation
from typing import Any

NOT_A_NUMBER = Decimal("NaN")
_TOO_DEEP = "nested too deeply"


def parse(text: str | bytes) -> Any:  # noqa: ANN401 - JSON is any value
    """Read JSON text; every number becomes a ``Decimal``, ``NaN`` and the infinities a decimal NaN.

    Raises ``ValueError`` where the text is no JSON, names a key twice or nests too deeply.
    """
    try:
        return json.loads(
            text,
            parse_float=_decimal,
            parse_int=_decimal,
            parse_constant=lambda _: NOT_A_NUMBER,
            object_pairs_hook=_no_key_twice,
        )
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error


def canonical(value: object) -> str:
    """Write a parsed value with sorted keys, no blanks and exact numbers: equal values, equal text, in ASCII.

    Raises ``ValueError`` where it holds a NaN or nests too deeply.
    """
    try:
        return _canonical(value)
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error


def _canonical(value: object) -> str:
    match value:
        case dict():
            pairs = sorted(value.items())
            return "{" + ",".join(f"{json.dumps(key)}:{_canonical(item)}" for key, item in pairs) + "}"
        case list():
            return "[" + ",".join(_canonical(item) for item in value) + "]"
        case Decimal():
            if not value.is_finite():
                raise ValueError("NaN is no JSON")
            return str(value)
        case _:
            return json.dumps(value)


def _decimal(digits: str) -> Decimal:
    try:
        return Decimal(digits)
    except InvalidOperation:  # an exponent that no decimal can hold
        return NOT_A_NUMBER


def _no_key_twice(pairs: list[tuple[str, object]]) -> dict[str, object]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        twice = next(key for i, (key, _) in enumerate(pairs) if key in {name for name, _ in pairs[:i]})
        raise ValueError(f"the key {twice!r} stands twice in one object")
    return mapping
