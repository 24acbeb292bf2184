"""Lossless JSON: numbers are parsed as exact decimals, and written in a canonical form."""

import json
from collections import Counter
from decimal import Decimal, InvalidOperation
from json.encoder import encode_basestring_ascii as _text
from typing import Any, Final, NoReturn

from quarterhour.model import texts

NOT_A_NUMBER: Final = Decimal("NaN")
_ENCODER: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"))
_SHOWN: Final = 60
_DEEPEST: Final = 32
_TOO_DEEP: Final = "nested too deeply"


def parse(text: str | bytes) -> Any:  # noqa: ANN401 - JSON is any value
    """Parse JSON; every number becomes a ``Decimal``, ``NaN`` and the infinities become a decimal NaN.

    All its texts are in one form (see ``texts``): two forms of a key are one key.

    Raises ``ValueError`` if the text is not JSON, repeats a key of an object or nests too deeply.
    """
    decoded = text if isinstance(text, str) else text.decode(json.detect_encoding(text))
    if decoded.isascii() and "\\u" not in decoded:
        return _decoded(_DECODER, decoded)
    return texts.in_one_form(_decoded(_DECODER_OF_ONE_FORM, decoded))


def parse_sealed(content: bytes) -> Any:  # noqa: ANN401 - JSON is any value
    """Parse the JSON of a sealed file, whose numbers are whole and become ``int``.

    Raises ``ValueError`` as ``parse`` does, and for any other number: two readers of a sealed file see the same values.
    """
    return _decoded(_SEALED_DECODER, content.decode(json.detect_encoding(content)))


def write(value: object) -> str:
    """Return a response's JSON without ASCII escapes; only a lone surrogate, which UTF-8 cannot encode, is escaped."""
    return json.dumps(value, ensure_ascii=False).encode(errors="backslashreplace").decode()


def canonical(value: object) -> str:
    """Return a parsed value's canonical JSON: ASCII, sorted keys, no blanks, exact numbers.

    Equal values have equal texts. Raises ``ValueError`` for a NaN and for more than 32 levels.
    """
    return _canonical(value, 0)


def canonical_texts(value: object) -> str:
    """Return the canonical JSON of a value that holds only texts, ``None``, and objects and lists of them.

    It is the text that ``canonical`` returns, by Python's encoder in C.
    """
    return _ENCODER.encode(value)


def _canonical(value: object, depth: int) -> str:
    if depth > _DEEPEST:
        raise ValueError(f"is {_TOO_DEEP}, more than {_DEEPEST} levels")
    match value:
        case dict():
            pairs = sorted(value.items())
            return "{" + ",".join([f"{_text(key)}:{_canonical(item, depth + 1)}" for key, item in pairs]) + "}"
        case str():
            return _text(value)
        case list():
            return "[" + ",".join([_canonical(item, depth + 1) for item in value]) + "]"
        case Decimal():
            if not value.is_finite():
                raise ValueError("holds a number that is not finite")
            return str(value)
        case _:
            return json.dumps(value)


def _decoded(decoder: json.JSONDecoder, text: str) -> Any:  # noqa: ANN401 - JSON is any value
    try:
        return decoder.decode(text)
    except RecursionError as error:
        raise ValueError(_TOO_DEEP) from error


def _decimal(digits: str) -> Decimal:
    try:
        return Decimal(digits)
    except InvalidOperation:  # the exponent exceeds the range of decimals
        return NOT_A_NUMBER


def _not_whole(digits: str) -> NoReturn:
    raise ValueError(f"{digits[:_SHOWN]} is not a whole number")


def _no_key_twice(pairs: list[tuple[str, object]]) -> dict[str, object]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        (repeated, _), *_ = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {repeated[:_SHOWN]!a} appears twice in one object")
    return mapping


def _in_one_form(pairs: list[tuple[str, object]]) -> dict[str, object]:
    return _no_key_twice([(texts.one_form(key), texts.in_one_form(value)) for key, value in pairs])


_DECODER: Final = json.JSONDecoder(
    parse_float=_decimal,
    parse_int=_decimal,
    parse_constant=lambda _: NOT_A_NUMBER,
    object_pairs_hook=_no_key_twice,
)
"""Made once: that takes as long as parsing a small event."""
_DECODER_OF_ONE_FORM: Final = json.JSONDecoder(
    parse_float=_decimal,
    parse_int=_decimal,
    parse_constant=lambda _: NOT_A_NUMBER,
    object_pairs_hook=_in_one_form,
)
_SEALED_DECODER: Final = json.JSONDecoder(
    parse_float=_not_whole, parse_constant=_not_whole, object_pairs_hook=_no_key_twice
)
