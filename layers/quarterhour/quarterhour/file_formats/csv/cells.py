"""The expressions of a CSV map: they clean cells, parse times, and combine cells.

Everything here is a pure function of one row's cells. An invalid definition raises `ValueError`, an unusable cell
`CellError`.
"""

import operator
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from functools import lru_cache
from typing import Final, Generic, TypeVar
from zoneinfo import ZoneInfo

from quarterhour.file_formats.csv.errors import CellError, EmptyCellError
from quarterhour.file_formats.csv.numbers import NumberForm
from quarterhour.file_formats.csv.patterns import found_by
from quarterhour.model import money
from quarterhour.model.instants import NoInstantError, parse_rfc_3339

Cells = Mapping[str, str]
"""The cleaned cells of one row by column name; `row` is its ordinal. The empty text means: no value."""

T_co = TypeVar("T_co", covariant=True)

ISO: Final = "iso"
"""The time format that stands for ISO 8601."""
_OFFSET: Final = re.compile(r"([+-])([01][0-9]|2[0-3]):([0-5][0-9])")
_SAMPLE_TIME: Final = datetime(2026, 10, 23, 13, 30, tzinfo=UTC)

_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH: Final = re.compile(r"[^\W\d_]+\.?")

_END_OF_DAY: Final = re.compile(r"[T ](24|[0-9]{2}:[0-9]{2}:60)(?![0-9])")
"""The hour 24 and the second 60 of a local time; whether Python reads them depends on its version."""
_LONGEST_FORMULA: Final = 100
"""The most columns, numbers and signs of a formula."""


@dataclass(frozen=True, slots=True)
class CellExpression(Generic[T_co]):
    """A compiled expression of the map: the columns that it reads, and a function from a row to its value."""

    columns: frozenset[str]
    value: Callable[[Cells], T_co]


@dataclass(frozen=True, slots=True)
class CleanUp:
    """Cleans a cell before its use: strips blanks, cuts prefix and suffix, replaces an empty cell by the default.

    With `fill_down`, the rows above give the value of an empty cell; `within` names a column in which they are equal.
    """

    strip: bool = True
    cut_prefix: str = ""
    cut_suffix: str = ""
    empty: frozenset[str] = frozenset()
    default: str = ""
    fill_down: bool = False
    within: str = ""

    def __call__(self, cell: str) -> str:
        """Return the cleaned cell; a cell equal to a text of `empty` is empty."""
        text = cell.strip() if self.strip else cell
        text = text.removeprefix(self.cut_prefix).removesuffix(self.cut_suffix)
        return self.default if not text or text in self.empty else text


@dataclass(frozen=True, slots=True)
class TimeForm:
    """The formats of times, and the meaning of a local time that a change of the clocks skips or repeats.

    `formats` are strptime formats, tried in order, or `iso` for ISO 8601. A text without an offset is local time in
    `zone`. `months` has the number of each name of a month, as `%b` reads it in another language than English.
    """

    zone: ZoneInfo
    formats: tuple[str, ...] = (ISO,)
    gap: str = "reject"
    ambiguous: str = "earlier"
    months: frozenset[tuple[str, int]] = frozenset()

    def __post_init__(self) -> None:
        if self.gap not in {"reject", "shift"}:
            raise ValueError('gap must be "reject" or "shift"')
        if self.ambiguous not in {"earlier", "later", "reject"}:
            raise ValueError('ambiguous must be "earlier", "later" or "reject"')
        for form in self.formats:
            _check_format(form)
        for name, number in self.months:
            if not 1 <= number <= len(_MONTHS) or not _MONTH.fullmatch(name):
                raise ValueError("months must have the names of months, with their numbers from 1 to 12")

    def utc(self, text: str, days_before: Decimal = money.ZERO, zone: str | None = None) -> datetime:
        """Return the instant in UTC of a time, moved back by whole days of the local calendar.

        `zone` names the zone of this time alone, as `zone_named` reads it.
        """
        if days_before != int(days_before):
            raise CellError(f"cannot go {days_before} days back")
        return _utc(self, self.zone if zone is None else zone_named(zone), text, int(days_before))


@lru_cache(maxsize=256)
def zone_named(name: str) -> tzinfo:
    """Return the zone of a name such as `Europe/Madrid`, or of an offset such as `-07:00`."""
    if match := _OFFSET.fullmatch(name):
        sign, hours, minutes = match.groups()
        offset = timedelta(hours=int(hours), minutes=int(minutes))
        return timezone(-offset if sign == "-" else offset)
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError):
        raise CellError(f"{name!r} is neither a time zone, such as Europe/Madrid, nor an offset of -07:00") from None


@lru_cache(maxsize=4096)
def plain_text(text: str) -> str:
    """Return a text without what makes no difference: case, blanks, and the two forms of an accent."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def _check_format(form: str) -> None:
    """Raise ``ValueError`` if a format is neither ``iso`` nor one that strptime can read."""
    if form == ISO:
        return
    try:
        datetime.strptime(_SAMPLE_TIME.strftime(form), form)  # noqa: DTZ007 - only the format matters
    except (ValueError, re.error) as error:
        raise ValueError(f"formats must hold iso or strptime formats, not {form!r}: {error}") from None


@lru_cache(maxsize=4096)  # the lines of one invoice share their time
def _utc(form: TimeForm, zone: tzinfo, text: str, days_before: int) -> datetime:
    try:
        local = _local_time(form.formats, _in_english(text, form.months)) - timedelta(days=days_before)
        if local.tzinfo:
            return local.astimezone(UTC)
        first, second = (local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
        exists = first.astimezone(zone).replace(tzinfo=None) == local
    except OverflowError:
        raise CellError(f"{text!r} is outside the calendar") from None
    if not exists and form.gap == "reject":
        raise CellError(f"{local} does not exist in {zone}: the clocks skipped it")
    if exists and first != second and form.ambiguous == "reject":
        raise CellError(f"{local} happened twice in {zone}: the clocks went back")
    # In a gap, the first reading keeps the offset from before it: the time moves forward by the gap's length.
    return second if exists and form.ambiguous == "later" else first


@lru_cache(maxsize=4096)
def _in_english(text: str, months: frozenset[tuple[str, int]]) -> str:
    """Return a time with the names of its months as `%b` reads them, and without the points behind them."""
    if not months:
        return text
    numbers = {plain_text(name): number for name, number in months}

    def english(found: re.Match[str]) -> str:
        number = numbers.get(plain_text(found[0].rstrip(".")))
        return _MONTHS[number - 1] if number else found[0]

    return _MONTH.sub(english, unicodedata.normalize("NFC", text))


def _local_time(formats: tuple[str, ...], text: str) -> datetime:
    for form in formats:
        try:
            if form == ISO:
                return _iso_time(text)
            return datetime.strptime(text, form)  # noqa: DTZ007 - the caller adds the zone to a naive time
        except ValueError:
            continue
    raise CellError(f"{text!r} is not a time of the form {' or '.join(formats)}")


def _iso_time(text: str) -> datetime:
    """Return a time of ISO 8601; raise `CellError` for one that does not exist, `ValueError` for any other text."""
    try:
        return parse_rfc_3339(text)
    except NoInstantError as error:
        raise CellError(f"{text!r} {error}") from None
    except ValueError:
        if _END_OF_DAY.search(text):
            raise CellError(
                f"{text!r} has the hour 24 or the second 60: the end of a day is 00:00 of the next one, and a leap "
                "second needs its offset from UTC"
            ) from None
        return datetime.fromisoformat(text)


def column(name: str) -> CellExpression[str]:
    """Return the expression for the text of one cell; an empty cell has no value."""

    def value(cells: Cells) -> str:
        if text := cells[name]:
            return text
        raise EmptyCellError(f"{name} is empty")

    return CellExpression(frozenset({name}), value)


def _constant(text: str) -> Callable[[Cells], str]:
    return lambda _: text


def template(text: str) -> CellExpression[str]:
    """Compile a text such as `{InvoiceNo}:{row}`. It has no value if one of its columns is empty."""
    pieces = re.split(r"\{([^{}]+)\}", text)  # alternately the text between the columns, and their names
    if not text or any(set("{}") & set(piece) for piece in pieces[::2]):
        raise ValueError(f"{text!r} must be text with columns in braces")
    if pieces[::2] == ["", ""]:
        return column(pieces[1])
    parts = [column(piece).value if n % 2 else _constant(piece) for n, piece in enumerate(pieces)]
    return CellExpression(frozenset(pieces[1::2]), lambda cells: "".join([part(cells) for part in parts]))


def formula(text: str, form: NumberForm) -> CellExpression[Decimal]:
    """Compile a formula such as `{adr} * ({nights} + 1)`: columns and numbers with `+`, `-`, `*` and parentheses.

    Results are exact, so there is no division. The value keeps its scale; zero has no sign.
    """
    result = _Formula(text, form).whole()

    def value(cells: Cells) -> Decimal:
        number = result.value(cells)
        return number or number.copy_abs()

    return CellExpression(result.columns, value)


class _Formula:
    """A recursive-descent parser with one method for each level of precedence."""

    def __init__(self, text: str, form: NumberForm) -> None:
        self._text = text
        self._form = form
        self._tokens = re.findall(r"\{[^{}]+\}|[0-9]+(?:\.[0-9]+)?|\S", text)[::-1]
        # Each token may be a nested call, when the formula is parsed and when it is computed.
        if len(self._tokens) > _LONGEST_FORMULA:
            raise ValueError(f"must be a formula of at most {_LONGEST_FORMULA} columns, numbers and signs")

    def whole(self) -> CellExpression[Decimal]:
        result = self._sum()
        if self._tokens:
            raise self._error()
        return result

    def _sum(self) -> CellExpression[Decimal]:
        result = self._product()
        while sign := self._accept("+", "-"):
            term = self._product()
            result = _combined(money.add, result, term if sign == "+" else _negative(term))
        return result

    def _product(self) -> CellExpression[Decimal]:
        result = self._factor()
        while self._accept("*"):
            result = _combined(_times, result, self._factor())
        return result

    def _factor(self) -> CellExpression[Decimal]:
        if self._accept("-"):
            return _negative(self._factor())
        if self._accept("("):
            inner = self._sum()
            if not self._accept(")"):
                raise self._error()
            return inner
        token = self._tokens.pop() if self._tokens else ""
        if token[1:] and token.startswith("{"):
            return self._cell(token[1:-1])
        if token[:1].isdecimal():
            return _number(token)
        raise self._error()

    def _cell(self, name: str) -> CellExpression[Decimal]:
        cell = column(name)
        number = lru_cache(maxsize=4096)(self._form.number)  # a shop sells at few prices

        def value(cells: Cells) -> Decimal:
            text = cell.value(cells)
            try:
                return number(text)
            except CellError as error:
                raise CellError(f"{name} {error}") from None

        return CellExpression(cell.columns, value)

    def _accept(self, *tokens: str) -> str | None:
        return self._tokens.pop() if self._tokens and self._tokens[-1] in tokens else None

    def _error(self) -> ValueError:
        return ValueError(f"{self._text!r} must be a formula of {{columns}}, numbers, + - * and parentheses")


def _combined(
    function: Callable[[Decimal, Decimal], Decimal], left: CellExpression[Decimal], right: CellExpression[Decimal]
) -> CellExpression[Decimal]:
    return CellExpression(left.columns | right.columns, lambda cells: function(left.value(cells), right.value(cells)))


def _times(left: Decimal, right: Decimal) -> Decimal:
    product = money.times(left, right)
    if product is None:
        raise CellError(f"{left} * {right} has more than {money.MAX_DIGITS} digits")
    return product


def _negative(operand: CellExpression[Decimal]) -> CellExpression[Decimal]:
    return CellExpression(operand.columns, lambda cells: operand.value(cells).copy_negate())


def _number(text: str) -> CellExpression[Decimal]:
    number = Decimal(text)
    return CellExpression(frozenset(), lambda _: number)


def cell_test(name: str, operation: str, operand: str) -> CellExpression[bool]:
    """Compile a condition on a cell: it `equals` a text, begins with a `prefix`, or `matches` a pattern of RE2.

    The pattern may match anywhere in the cell. An empty cell `equals` the empty text.
    """
    if operation == "equals":
        return CellExpression(frozenset({name}), lambda cells: cells[name] == operand)
    if operation == "prefix":
        return CellExpression(frozenset({name}), lambda cells: cells[name].startswith(operand))
    found = found_by(operand)
    return CellExpression(frozenset({name}), lambda cells: found(cells[name]))


def listed_test(name: str, texts: frozenset[str]) -> CellExpression[bool]:
    """Compile a condition on a cell: it is one of some texts."""
    return CellExpression(frozenset({name}), lambda cells: cells[name] in texts)


def sign_test(name: str, comparison: str, form: NumberForm) -> CellExpression[bool]:
    """Compile a condition on the sign of a cell's number, such as `> 0`. An empty cell has no sign and never fits."""
    number, compare = formula(f"{{{name}}}", form), amount_test(comparison)
    return CellExpression(number.columns, lambda cells: bool(cells[name]) and compare(number.value(cells)))


def amount_test(comparison: str) -> Callable[[Decimal], bool]:
    """Compile a condition on the amount's sign: `< 0`, `<= 0`, `= 0`, `>= 0` or `> 0`."""
    comparisons = {"<": operator.lt, "<=": operator.le, "=": operator.eq, ">=": operator.ge, ">": operator.gt}
    sign, _, zero = comparison.rpartition(" ")
    if sign not in comparisons or zero != "0":
        raise ValueError("a sign is compared with 0: " + ", ".join(f'"{sign} 0"' for sign in comparisons))
    compare = comparisons[sign]
    return lambda amount: bool(compare(amount, 0))
