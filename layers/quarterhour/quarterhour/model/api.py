"""The values in requests and responses as types: what mypy checks, with the constraints that the API documents.

A room's ``api.py`` describes its requests and responses by typed dictionaries of these types. The functions that return
responses are checked against them by mypy, and the OpenAPI document is made of them. No function loads these modules:
they are imported ``if TYPE_CHECKING``.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, NotRequired

from typing_extensions import TypedDict

from quarterhour.model.fields import KIND_PATTERN, MAX_TEXT
from quarterhour.model.money import MAX_DIGITS


@dataclass(frozen=True, eq=False, slots=True)
class Schema:
    """What the JSON schema of a type says beyond its Python type; with a ``name``, the schema is a component."""

    keywords: Mapping[str, Any]
    name: str = ""


def named(name: str, description: str, **keywords: Any) -> Schema:  # noqa: ANN401 - JSON Schema
    """Return the schema of a value that the document describes once and refers to by its name."""
    return Schema({"description": description, **keywords}, name)


def constrained(**keywords: Any) -> Schema:  # noqa: ANN401 - JSON Schema
    """Return constraints of a value."""
    return Schema(keywords)


def one_of(values: Iterable[str]) -> Schema:
    """Return the constraint of a text that is one of these."""
    return constrained(enum=list(map(str, values)))


_DECIMAL: Final = r"^-?[0-9]+(\.[0-9]+)?$"
_LINE: Final = r"[^\x00-\x1f\x7f]"
_NAME: Final = r"[^\x00-\x1f\x7f#]"
_END: Final = r"[^\x00-\x20\x7f#]"
WHOLE_NAME: Final = f"^{_END}({_NAME}*{_END})?$"
"""The pattern of names that are parts of keys."""
_UTC: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z$"

Count = Annotated[int, constrained(minimum=0)]
Decimal = Annotated[str, named("Decimal", "An exact decimal, with all digits of the input.", pattern=_DECIMAL)]
SentDecimal = Annotated[
    Annotated[str, constrained(pattern=_DECIMAL, maxLength=MAX_DIGITS + 3)] | float,
    named("SentDecimal", f"A decimal of up to {MAX_DIGITS} digits, as a string or as a number; both are exact."),
]
Share = Annotated[
    Annotated[str, constrained(pattern=r"^(0(\.[0-9]+)?|1(\.0+)?)$")]
    | Annotated[float, constrained(minimum=0, maximum=1)],
    named("Share", "A decimal from 0 to 1."),
]
Percent = Annotated[
    Annotated[str, constrained(pattern=r"^[0-9]{1,3}(\.[0-9]{1,10})?$")]
    | Annotated[float, constrained(minimum=0, maximum=100)],
    named("Percent", "A decimal from 0 to 100 with at most 10 places."),
]
Name = Annotated[
    str,
    named(
        "Name",
        "Printable characters without `#`, the separator in keys, and without a blank at either end.",
        minLength=1,
        maxLength=MAX_TEXT,
        pattern=WHOLE_NAME,
    ),
]
Text = Annotated[str, named("Text", "Printable characters.", minLength=1, maxLength=MAX_TEXT, pattern=f"^{_LINE}+$")]
Kind = Annotated[
    str,
    named(
        "Kind",
        "What an adjustment charges: up to 50 lowercase letters, digits and underscores, a letter first.",
        pattern=f"^{KIND_PATTERN.pattern}$",
    ),
]
Currency = Annotated[str, named("Currency", "A currency code of ISO 4217.", pattern="^[A-Z]{3}$")]
Country = Annotated[str, named("Country", "A country code of ISO 3166-1.", pattern="^[A-Z]{2}$")]
Location = Annotated[
    str,
    named(
        "Location",
        "A path that begins with the country, such as `GB#London`.",
        minLength=1,
        maxLength=MAX_TEXT,
        pattern=f"^{_NAME}+(#{_NAME}+)*$",
    ),
]
Instant = Annotated[str, named("Instant", "An instant in UTC.", pattern=_UTC, format="date-time")]
SentInstant = Annotated[
    str, named("SentInstant", "An instant (RFC 3339), in UTC or with an offset.", format="date-time")
]
Day = Annotated[str, named("Day", "A day in UTC.", format="date")]
Month = Annotated[
    str,
    named(
        "Month",
        "A calendar month in the marketplace's time zone: `2026-10`.",
        pattern="^[0-9]{4}-(0[1-9]|1[0-2])$",
    ),
]
Moment = Annotated[SentInstant | Day, named("Moment", "An instant, or a date for its midnight UTC.")]
QuarterHourName = Annotated[
    str,
    named(
        "QuarterHourName",
        "A quarter-hour, by its start in UTC: `202610230130`.",
        pattern="^[0-9]{10}(00|15|30|45)$",
    ),
]
Run = Annotated[
    str,
    named(
        "Run",
        "A report run, by the span that it covers: `2026-10-23T0130-0230`.",
        pattern="^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{4}-[0-9]{4}$",
    ),
]
Sha256 = Annotated[str, named("Sha256", "A SHA-256 hash in hexadecimal.", pattern="^[0-9a-f]{64}$")]
Token = Annotated[
    str,
    named(
        "Token",
        "The start of a page: opaque, and valid only for the same request.",
        pattern="^[A-Za-z0-9_-]+$",
    ),
]

From = TypedDict("From", {"from": Instant})
"""What begins at an instant: a class cannot have a field of this name."""


class FieldProblem(TypedDict):
    """An error in one field or parameter of a request."""

    field: str
    problem: str
    expected: str


class SalesSums(TypedDict):
    """The number of events without payments, and exact sums, as they are stored."""

    events: Count
    gross: Decimal
    """The sum of the amounts of 0 or more."""
    refunds: Decimal
    """The sum of the amounts below 0."""
    commission: Decimal


class Sums(SalesSums):
    """The number of events, and exact sums, as they are stored."""

    payments: Decimal
    """The sum of the payments: above 0 if the agency paid more than it was paid. They are in no other sum."""
    charges: NotRequired[dict[str, Decimal]]
    """The commission by the names of its charges, if it has another one than `commission`, or one with tiers."""


class TieredSums(Sums):
    """The number of events, and exact sums, with what tiers depend on."""

    turnover: NotRequired[dict[str, Decimal]]
    """What counts as turnover of tiers: by the name of the charge, `@`, and the definition of the tiers."""
    turnover_since: NotRequired[dict[str, str]]
    """The position of the first event of each turnover."""


class SalesTotals(SalesSums):
    """Totals of events without payments: their number, and exact sums."""

    net: Decimal
    """The sum of gross and refunds."""


class Totals(Sums):
    """Totals of events: their number, and exact sums."""

    net: Decimal
    """The sum of gross and refunds."""


class BadRow(TypedDict):
    """A row without an event, or a line without an agency."""

    line: Annotated[int, constrained(minimum=1)]
    """The line of the file on which it starts."""
    reason: str
