"""The values of requests and responses, as types for JSON Schema: money, instants, names."""

from typing import Annotated, Final, TypeVar

from pydantic import Field, RootModel
from pydantic.json_schema import SkipJsonSchema

from quarterhour.model.fields import KIND_PATTERN, MAX_TEXT
from quarterhour.model.money import MAX_DIGITS
from quarterhour.orders.order import MAX_ID

T = TypeVar("T")

Maybe = Annotated[T | SkipJsonSchema[None], Field(default=None)]
"""A field that is omitted without a value; ``T | None`` is a field that is null then."""
Omittable = Annotated[T | None, Field(default=None)]
"""A field that may be omitted or null, with the same meaning."""
Count = Annotated[int, Field(ge=0)]

_DECIMAL: Final = r"^-?[0-9]+(\.[0-9]+)?$"
_LINE: Final = r"[^\x00-\x1f\x7f]"
_NAME: Final = r"[^\x00-\x1f\x7f#]"
_END: Final = r"[^\x00-\x20\x7f#]"
_WHOLE_NAME: Final = f"^{_END}({_NAME}*{_END})?$"
_UTC: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z$"


class Decimal(RootModel[Annotated[str, Field(pattern=_DECIMAL)]]):
    """An exact decimal, with all digits of the input."""


class SentDecimal(RootModel[Annotated[str, Field(pattern=_DECIMAL, max_length=MAX_DIGITS + 3)] | float]):
    """A decimal of up to 38 digits, as a string or as a number; both are exact."""


class Share(
    RootModel[Annotated[str, Field(pattern=r"^(0(\.[0-9]+)?|1(\.0+)?)$")] | Annotated[float, Field(ge=0, le=1)]]
):
    """A decimal from 0 to 1."""


class Percent(
    RootModel[Annotated[str, Field(pattern=r"^[0-9]{1,3}(\.[0-9]{1,10})?$")] | Annotated[float, Field(ge=0, le=100)]]
):
    """A decimal from 0 to 100 with at most 10 places."""


class Name(RootModel[Annotated[str, Field(min_length=1, max_length=MAX_TEXT, pattern=_WHOLE_NAME)]]):
    """Printable characters without `#`, the separator in keys, and without a blank at either end."""


class Text(RootModel[Annotated[str, Field(min_length=1, max_length=MAX_TEXT, pattern=f"^{_LINE}+$")]]):
    """Printable characters."""


class Kind(RootModel[Annotated[str, Field(pattern=f"^{KIND_PATTERN.pattern}$")]]):
    """What an adjustment charges: up to 50 lowercase letters, digits and underscores, a letter first."""


class ShortName(RootModel[Annotated[str, Field(min_length=1, max_length=MAX_ID, pattern=_WHOLE_NAME)]]):
    """The id of an order or a product: printable characters without `#`, and without a blank at either end."""


class Currency(RootModel[Annotated[str, Field(pattern="^[A-Z]{3}$")]]):
    """A currency code of ISO 4217."""


class Country(RootModel[Annotated[str, Field(pattern="^[A-Z]{2}$")]]):
    """A country code of ISO 3166-1."""


class Location(RootModel[Annotated[str, Field(min_length=1, max_length=MAX_TEXT, pattern=f"^{_NAME}+(#{_NAME}+)*$")]]):
    """A path that begins with the country, such as `GB#London`."""


class Instant(RootModel[Annotated[str, Field(pattern=_UTC, json_schema_extra={"format": "date-time"})]]):
    """An instant in UTC."""


class SentInstant(RootModel[Annotated[str, Field(json_schema_extra={"format": "date-time"})]]):
    """An instant (RFC 3339), in UTC or with an offset."""


class Day(RootModel[Annotated[str, Field(json_schema_extra={"format": "date"})]]):
    """A day in UTC."""


class Month(RootModel[Annotated[str, Field(pattern="^[0-9]{4}-(0[1-9]|1[0-2])$")]]):
    """A calendar month in the marketplace's time zone: `2026-10`."""


class Moment(RootModel[SentInstant | Day]):
    """An instant, or a date for its midnight UTC."""


class QuarterHourName(RootModel[Annotated[str, Field(pattern="^[0-9]{10}(00|15|30|45)$")]]):
    """A quarter-hour, by its start in UTC: `202610230130`."""


class Run(RootModel[Annotated[str, Field(pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{4}-[0-9]{4}$")]]):
    """A report run, by the span that it covers: `2026-10-23T0130-0230`."""


class Sha256(RootModel[Annotated[str, Field(pattern="^[0-9a-f]{64}$")]]):
    """A SHA-256 hash in hexadecimal."""


class Token(RootModel[Annotated[str, Field(pattern="^[A-Za-z0-9_-]+$")]]):
    """The start of a page: opaque, and valid only for the same request."""
