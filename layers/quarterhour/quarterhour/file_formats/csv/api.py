"""The requests and responses about CSV files, as types."""

from typing import Annotated, Any, NotRequired

from typing_extensions import TypedDict

from quarterhour.file_formats.csv.requests import MAX_MAP, MAX_SETTING
from quarterhour.model.api import BadRow, Count, Token, constrained
from quarterhour.model.fields import MAX_TEXT


class RowSums(TypedDict):
    """A number of rows and their sums."""

    rows: Count
    amounts: dict[str, str]
    """The sum in each currency."""
    unread: Count
    """The rows whose amount cannot be read, which are in no sum."""


class ExcludedRows(RowSums):
    """The rows that a rule excludes."""

    rule: str
    """The `rule` of an `[[exclude]]` of the map, or `totals`."""


class FileSums(TypedDict):
    """The rows of each kind with their sums, which add up to those of the file."""

    events: RowSums
    """The rows that became events."""
    excluded: list[ExcludedRows]
    bad: RowSums
    file: RowSums
    """All rows."""


class FileSummary(TypedDict):
    """What became of the rows of a file."""

    rows: Count
    events: Count
    excluded: Count
    """The number of rows that rules exclude."""
    bad: Count
    """The number of bad rows."""
    problems: Count
    """What is wrong with the file, and with no row: totals that differ or are missing."""
    sums: FileSums


class BadCsvRow(BadRow):
    """A row without an event, to be corrected."""

    text: str | None
    """Its text in the file; null if it cannot be decoded, or the problem is one of the whole file."""


class ConvertedPart(TypedDict):
    """What a part of a CSV file gives."""

    head: str | None
    """The text of the file up to its first row, in the first part."""
    items: list[dict[str, Any]]
    """Its events, as `POST /events` takes them."""
    lines: list[Count]
    """The line of the file on which the row of each event starts."""
    bad: list[BadCsvRow]
    """Its bad rows, and totals of the file that are wrong."""
    summary: FileSummary
    """What became of its rows."""
    must_not_change: str
    """Why no other version of the file may be sent: its ids hold the number of the row; empty if it may."""
    read: Count
    """How many bytes of the part were read: the next part begins behind them."""
    next: Token | None
    """What to send with the next part; null at the end of the file."""


class MapQuestion(TypedDict):
    """An entry of a map that the file does not decide."""

    line: Count
    """The number of its line in the map."""
    name: str
    question: str
    answers: list[str]
    """The values in TOML from which to choose, the likeliest first."""


class FileColumn(TypedDict):
    """A column that a part of an event can be read from."""

    name: str
    values: list[str]
    """Its first values."""


class ProposedMap(TypedDict):
    """A map for a file."""

    map: str
    """TOML. An entry that is a question has the value `"?"`, which no request accepts."""
    questions: list[MapQuestion]
    shipped: list[str]
    """The maps that come with Quarterhour whose columns the file has: use one of them instead."""
    certain: list[str]
    """What the file decides."""
    checks: list[str]
    """What to check."""
    unused: list[str]
    """The columns that the map leaves out."""
    columns: list[FileColumn]
    """The columns of the file; none of one for which a map comes with Quarterhour."""
    parts: dict[str, str]
    """The columns from which the map reads parts of an event, by part, such as `amount`."""


class FilePart(TypedDict):
    """A part of a CSV file."""

    map: Annotated[str, constrained(minLength=1, maxLength=MAX_MAP)]
    """A [map](csv.md#the-map) as TOML, or the name of one that comes with Quarterhour, such as `stripe`."""
    settings: NotRequired[dict[str, Annotated[str, constrained(maxLength=MAX_SETTING)]] | None]
    """The values that the map asks for in `[settings]`."""
    part: Annotated[str, constrained(contentEncoding="base64")]
    """Up to 700,000 bytes of the file, in Base64."""
    last: bool
    """Whether the file ends with this part."""
    next: NotRequired[Token | None]
    """`next` of the response about the part before; not for the first part."""


class FileBeginning(TypedDict):
    """The beginning of a CSV file."""

    part: Annotated[str, constrained(contentEncoding="base64")]
    """The first bytes of the file, up to 700,000, in Base64."""
    name: NotRequired[Annotated[str, constrained(minLength=1, maxLength=MAX_SETTING)] | None]
    """The name of the file, which the proposed map has as the source of the events."""
    source: NotRequired[Annotated[str, constrained(minLength=1, maxLength=MAX_TEXT)] | None]
    """The source of the events, in place of that name."""
    columns: NotRequired[dict[str, str] | None]
    """The columns from which to read parts of an event, by part, in place of those that the file shows."""
    last: bool
    """Whether these are all bytes."""
