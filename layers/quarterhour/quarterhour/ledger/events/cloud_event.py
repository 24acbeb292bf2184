"""The envelope of a CloudEvent 1.0: the rules of its attributes, and its data."""

import re
from base64 import b64decode
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from quarterhour.model import exact_json
from quarterhour.model.fields import MAX_TEXT, Fields, named

MAX_ATTRIBUTES_BYTES: Final = 4096
DATA: Final = "data"
IN_BASE64: Final = "data_base64"
CONTENT_TYPE: Final = "datacontenttype"
SCHEMA: Final = "dataschema"
_USED: Final = frozenset(
    {"specversion", "id", "source", "type", "subject", "time", CONTENT_TYPE, DATA, IN_BASE64},
)
"""The members of an event that are not kept in ``attributes``."""
_JSON: Final = '"application/json", or another type of JSON such as "application/vnd.shop+json"'
_OBJECT: Final = "an object with amount and currency"
_URI: Final = "an absolute URI such as https://shop.example/schemas/sale"
MAX_INTEGER: Final = 2**31 - 1
MIN_INTEGER: Final = -(2**31)
_EXTENSION: Final = (
    f"a text without control characters, a boolean, or a whole number from {MIN_INTEGER} to {MAX_INTEGER}"
)
NAME: Final = re.compile(rf"[a-z0-9]{{1,{MAX_TEXT}}}")
_JSON_TYPE: Final = re.compile(r"[a-z0-9!#$&^_.+-]+/([a-z0-9!#$&^_.+-]+\+)?json")
ABSOLUTE_URI: Final = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*:([A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+",
)
_LAST_OF_PLANES: Final = "".join(
    chr(plane | last) for plane in range(0, 0x110000, 0x10000) for last in (0xFFFE, 0xFFFF)
)
_NOT_IN_TEXTS: Final = re.compile(rf"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef{_LAST_OF_PLANES}]")
"""The characters that no text of a CloudEvent holds: controls, surrogates and noncharacters."""


def is_json_type(content_type: str) -> bool:
    """Return whether a content type, with or without parameters, is JSON."""
    return _JSON_TYPE.fullmatch(content_type.partition(";")[0].strip(" \t").lower()) is not None


def check_content_type(read: Fields) -> None:
    """Add a problem if the data of an event is not JSON by its content type; without one, it is JSON."""
    read.value(CONTENT_TYPE, _JSON, _json_type, optional=True)


def read_attributes(item: Mapping[str, Any], read: Fields, of_data: frozenset[str]) -> str | None:
    """Return the attributes that the ledger keeps without using them, as a JSON object; ``None`` if there are none.

    These are ``dataschema`` and the extension attributes. ``of_data``: the fields of ``data``, which no extension
    attribute may be called: it would be a field in the wrong place.
    """
    names = item.keys() - _USED
    if not names:
        return None
    kept: dict[str, Any] = {}
    for name in sorted(names):
        if name in of_data:
            read.problem(name, "is a field of data", f"data.{name}")
        elif not NAME.fullmatch(name):
            expected = f"1 to {MAX_TEXT} of the letters a to z and the digits 0 to 9; put your own into data.extra"
            read.problem(named(name), "is not an attribute name", expected)
        else:
            expected, reader = (_URI, _uri) if name == SCHEMA else (_EXTENSION, _extension)
            value = read.value(name, expected, reader, optional=True)
            if value is not None:
                kept[name] = value
    if not kept:
        return None
    text = exact_json.canonical(kept)  # in ASCII: characters are bytes
    if len(text) > MAX_ATTRIBUTES_BYTES:
        expected = f"at most {MAX_ATTRIBUTES_BYTES} bytes of dataschema and extension attributes"
        read.problem("attributes", f"has {len(text)} bytes as JSON", expected)
    return text


def read_data(item: Mapping[str, Any], read: Fields) -> dict[str, Any] | None:
    """Return the data of an event, as JSON or as JSON in Base64; ``None`` if it is missing or invalid."""
    if item.get(IN_BASE64) is not None:
        if item.get(DATA) is not None:
            read.problem(IN_BASE64, "is given with data", "one of them")
        name, data = IN_BASE64, read.value(IN_BASE64, f"{_OBJECT}, as JSON in Base64", _json_in_base64)
    else:
        name, data = DATA, read.value(DATA, _OBJECT, lambda value: value or None)
    if data is not None and not isinstance(data, dict):
        read.problem(name, "is not an object", _OBJECT)
        return None
    return data


def _json_type(value: object) -> str | None:
    if not isinstance(value, str) or _NOT_IN_TEXTS.search(value):
        return None
    return value if is_json_type(value) else None


def _json_in_base64(value: object) -> Any:  # noqa: ANN401 - JSON is any value
    if not isinstance(value, str):
        return None
    try:
        return exact_json.parse(b64decode(value, validate=True).decode())
    except ValueError as error:
        raise ValueError(f"is not JSON in Base64: {error}") from error


def _uri(value: object) -> str | None:
    return value if isinstance(value, str) and ABSOLUTE_URI.fullmatch(value) else None


def _extension(value: object) -> str | bool | Decimal | None:
    match value:
        case bool():
            return value
        case str():
            return None if _NOT_IN_TEXTS.search(value) else value
        case Decimal():
            whole = value.is_finite() and value.as_tuple().exponent == 0
            return value if whole and MIN_INTEGER <= value <= MAX_INTEGER else None
        case _:
            return None
