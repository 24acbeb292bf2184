"""Compiles the map of `quarterhour csv` from TOML into functions of a row. `docs/csv.md` describes the map."""

import codecs
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from importlib import resources
from typing import Final, ParamSpec, Self, TypeVar
from zoneinfo import ZoneInfo

from quarterhour.file_formats.bank.table import OPTIONAL
from quarterhour.file_formats.csv.cells import (
    CellExpression,
    Cells,
    CleanUp,
    TimeForm,
    amount_test,
    cell_test,
    formula,
    template,
)
from quarterhour.file_formats.csv.errors import CellError, EmptyCellError, MapError
from quarterhour.file_formats.csv.numbers import OPEN, NumberForm
from quarterhour.file_formats.csv.table import DELIMITERS, FileForm
from quarterhour.ledger.events.event import DETAILS, OF_CORRECTIONS, STATEMENT, VIEW, VOID
from quarterhour.model import money
from quarterhour.model.fields import NAME, is_name

ENVELOPE: Final = ("id", "source", "type", "subject")
NUMBERS: Final = frozenset({"quantity", "unit_price", "commission_rate", "commission"})
MONEY: Final = ("amount", "unit_price", "commission")
"""The numbers whose currency must be that of the event, if a sign names one."""
_MOST_HEADER: Final = 1000
_SHIPPED: Final = resources.files("quarterhour.file_formats.csv") / "maps"
CURRENCY: Final = "currency"
KINDS: Final = ("sale", "refund", "adjustment", "payout")
"""The kinds of a provider's lines."""
EXTRA: Final = "extra"
MATCHED_FIELDS: Final = (
    *("source", "id", "order_id", "line", "product", "customer", "statement", "reason", "refers_to", "location"),
)
"""The fields of the ledger's lines by which a provider's lines are matched, beside those in `extra`."""
FEE_FIELDS: Final = frozenset({"commission"})
ROW: Final = "row"
"""A column that every file has: the row's ordinal."""

Value = Callable[[Cells, Decimal], str]

T = TypeVar("T")
P = ParamSpec("P")


@dataclass(frozen=True, slots=True)
class EventMap:
    """Converts a row into one event, if `when` is true. A `Value` is a text that may depend on the amount's sign.

    A map of voids has no `amount`. `money` are the columns of its amounts of money.
    """

    when: Callable[[Cells], bool]
    amount: Callable[[Cells], Decimal] | None
    time: Callable[[Cells, Decimal], datetime] | None
    envelope: dict[str, Value]
    data: dict[str, Value]
    extra: dict[str, Value]
    money: frozenset[str]


@dataclass(frozen=True, slots=True)
class LineMap:
    """Converts a row into a line of a bank, if `when` is true. `texts` are the columns beside date and amount."""

    when: Callable[[Cells], bool]
    booked_on: Callable[[Cells], date]
    amount: Callable[[Cells], Decimal]
    texts: dict[str, Value]


@dataclass(frozen=True, slots=True)
class ProviderLineMap:
    """Converts a row into a line of a payment provider, if `when` is true.

    `name` is the provider's own name of the line. A line without `amount` is a fee alone. `match` has, by field of the
    ledger's lines, what the line of the ledger has there, and `sale` the same of the sale that a refund refers to.
    `texts` has the currency, and the agency and the currency of the fee if the map names them. `money` are the columns
    of its amounts of money.
    """

    when: Callable[[Cells], bool]
    kind: str
    name: Value
    amount: Callable[[Cells], Decimal] | None
    fee: Callable[[Cells], Decimal] | None
    time: Callable[[Cells, Decimal], datetime] | None
    texts: dict[str, Value]
    match: dict[str, Value]
    sale: dict[str, Value]
    money: frozenset[str]


@dataclass(frozen=True, slots=True)
class ProviderMap:
    """The lines of a payment provider. `match` has the fields by which each kind of line is matched.

    `fee_field` is the field of the ledger's lines that holds the provider's fee.
    """

    provider: str
    fee_field: str
    lines: list[ProviderLineMap]
    match: dict[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class TotalMap:
    """Tells the lines of totals. `sums` has, for each of their columns, its number and what it adds up of each row."""

    when: Callable[[Cells], bool]
    sums: dict[str, tuple[Callable[[Cells], Decimal], Callable[[Cells], Decimal]]]


@dataclass(frozen=True, slots=True)
class CsvMap:
    """A whole map: the form of the file, and the events of a row, the line of a bank, or the lines of a provider.

    For each column in use, `clean` has its clean-up, and `used_by` the entry of the map that uses it. `settings` are
    the values that a command line gives, with what each means.
    """

    file: FileForm
    numbers: NumberForm
    zone: ZoneInfo
    settings: dict[str, str]
    clean: dict[str, CleanUp]
    used_by: dict[str, str]
    events: list[EventMap]
    line: LineMap | None
    provider: ProviderMap | None
    total: TotalMap | None


def load_map(text: str) -> CsvMap:
    """Return the map of a TOML text; raise `MapError` with the name of the entry if it is invalid."""
    top = _top(text)
    tables = top.take("event", [])
    if not isinstance(tables, list) or not tables:
        raise MapError("event", "at least one [[event]] is needed")
    return _csv_map(
        top,
        events_of=lambda compiler: [
            _event_map(_Section(table, f"event[{n}]"), compiler) for n, table in enumerate(tables, 1)
        ],
    )


def load_line_map(text: str) -> CsvMap:
    """Return the map of a TOML text to the lines of a bank; raise `MapError` as `load_map` does."""
    top = _top(text)
    table = top.take("line")
    return _csv_map(top, line_of=lambda compiler: _line_map(_Section(table, "line"), compiler))


def load_provider_map(text: str) -> CsvMap:
    """Return the map of a TOML text to the lines of a payment provider; raise `MapError` as `load_map` does."""
    top = _top(text)
    provider, fee_field = top.text("provider"), top.text("fee_field", f"{EXTRA}.fee")
    if not is_name(provider):
        raise MapError("provider", f"must be {NAME}")
    if fee_field not in FEE_FIELDS and not fee_field.startswith(f"{EXTRA}."):
        raise MapError("fee_field", f"must be {', '.join(sorted(FEE_FIELDS))} or {EXTRA}.NAME")
    tables = top.take("provider_line", [])
    if not isinstance(tables, list) or not tables:
        raise MapError("provider_line", "at least one [[provider_line]] is needed")
    return _csv_map(
        top,
        provider_of=lambda compiler: _provider_map(
            provider,
            fee_field,
            [_provider_line_map(_Section(one, f"provider_line[{n}]"), compiler) for n, one in enumerate(tables, 1)],
        ),
    )


def _top(text: str) -> "_Section":
    try:
        return _Section(tomllib.loads(text), "")
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise MapError("map", f"is not TOML: {error}") from None


def _csv_map(
    top: "_Section",
    *,
    events_of: Callable[["_Compiler"], list[EventMap]] = lambda _: [],
    line_of: Callable[["_Compiler"], LineMap | None] = lambda _: None,
    provider_of: Callable[["_Compiler"], ProviderMap | None] = lambda _: None,
) -> CsvMap:
    with (
        top,
        top.section("file") as file,
        top.section("settings") as settings,
        top.section("numbers") as numbers_section,
        top.section("time") as time,
        top.section("text") as texts,
        top.section("columns") as columns,
    ):
        numbers, times = _number_form(numbers_section), _time_form(time)
        compiler = _Compiler(numbers, times)
        events, line, provider = events_of(compiler), line_of(compiler), provider_of(compiler)
        total = _total_map(top.section("total"), compiler) if "total" in top else None
        given = {name: settings.text(name) for name in settings.names()}
        used_by = {column: field for column, field in compiler.used_by.items() if column not in given}
        return CsvMap(
            file=_file_form(file),
            numbers=numbers,
            zone=times.zone,
            settings=given,
            clean=_clean_ups(texts, columns, used_by),
            used_by=used_by,
            events=events,
            line=line,
            provider=provider,
            total=total,
        )


def shipped_maps() -> list[str]:
    """Return the names of the maps that come with Quarterhour."""
    return sorted(map_.name.removesuffix(".toml") for map_ in _SHIPPED.iterdir())


def shipped_map(name: str) -> str | None:
    """Return the text of a map that comes with Quarterhour; `None` if there is none of this name."""
    return (_SHIPPED / f"{name}.toml").read_text("utf-8") if name in shipped_maps() else None


class _Section:
    """One table of the map. As a context, it refuses entries at the end that were not taken."""

    def __init__(self, content: object, name: str) -> None:
        if not isinstance(content, dict):
            raise MapError(name, "must be a table")
        self._content: dict[str, object] = dict(content)
        self.name = name

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if error is None:
            for key in self._content:
                raise MapError(self.path(key), "is unknown here")

    def __contains__(self, key: str) -> bool:
        return key in self._content

    def path(self, key: str) -> str:
        return f"{self.name}.{key}" if self.name else key

    def is_text(self, key: str, text: str) -> bool:
        return self._content.get(key) == text

    def names(self) -> list[str]:
        return list(self._content)

    def take(self, key: str, default: object = None) -> object:
        """Remove and return an entry; without a default it must exist."""
        value = self._content.pop(key, default)
        if value is None:
            raise MapError(self.path(key), "is missing")
        return value

    def section(self, key: str) -> "_Section":
        return _Section(self.take(key, {}), self.path(key))

    def text(self, key: str, default: str | None = None) -> str:
        value = self.take(key, default)
        if not isinstance(value, str):
            raise MapError(self.path(key), "must be text in quotes")
        return self.decided(key, value)

    def texts(self, key: str, *default: str) -> tuple[str, ...]:
        value = self.take(key, list(default))
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise MapError(self.path(key), "must be a list of texts")
        return tuple(self.decided(key, item) for item in value)

    def decided(self, key: str, value: str) -> str:
        """Return a value of the map; raise `MapError` if it is still to be decided."""
        if value == OPEN:
            raise MapError(self.path(key), f'is still "{OPEN}": answer the question')
        return value

    def number(self, key: str) -> int | None:
        """Remove and return a whole number above 0; `None` if it is not there."""
        value = self._content.pop(key, None)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            raise MapError(self.path(key), "must be a whole number above 0")
        return value

    def flag(self, key: str, *, default: bool) -> bool:
        value = self.take(key, default)
        if not isinstance(value, bool):
            raise MapError(self.path(key), "must be true or false")
        return value


def _file_form(file: _Section) -> FileForm:
    encoding = _encoding(file.text("encoding"), file) if "encoding" in file else None
    delimiter = file.text("delimiter") if "delimiter" in file else None
    quote = file.text("quote", '"')
    if delimiter is not None and (len(delimiter) != 1 or delimiter in "\r\n"):
        raise MapError(file.path("delimiter"), "must be one character")
    if len(quote) > 1 or quote in {"\r", "\n", *([delimiter] if delimiter else DELIMITERS)}:
        raise MapError(file.path("quote"), "must be one character other than the delimiter, or empty")
    header = file.number("header")
    if header and header > _MOST_HEADER:
        raise MapError(file.path("header"), f"must be at most {_MOST_HEADER}")
    return FileForm(encoding, delimiter, quote or None, file.texts("columns"), header)


def _encoding(name: str, file: _Section) -> str:
    try:
        "".encode(name)  # codecs that do not convert text to bytes, such as rot13, are not encodings
        return codecs.lookup(name).name
    except (LookupError, ValueError):
        raise MapError(file.path("encoding"), f"there is no text encoding {name!r}") from None


def _number_form(section: _Section) -> NumberForm:
    with section, section.section("currencies") as currencies:
        codes = {sign: currencies.text(sign) for sign in currencies.names()}
        negative = frozenset(section.texts("negative"))
        try:
            return NumberForm(section.text("decimal", "."), section.text("thousands", ""), negative, codes)
        except ValueError as error:
            raise MapError(section.name, str(error)) from None


def _time_form(section: _Section) -> TimeForm:
    name = section.text("zone", "UTC")
    try:
        zone = ZoneInfo(name)
    except (OSError, ValueError, LookupError):
        raise MapError(section.path("zone"), f"this machine has no time zone {name!r}") from None
    try:
        return TimeForm(
            zone,
            formats=section.texts("formats", "iso"),
            gap=section.text("gap", "reject"),
            ambiguous=section.text("ambiguous", "earlier"),
        )
    except ValueError as error:
        raise MapError(section.name, str(error)) from None


def _clean_ups(texts: _Section, columns: _Section, used_by: Iterable[str]) -> dict[str, CleanUp]:
    strip, empty = texts.flag("strip", default=True), frozenset(texts.texts("empty"))
    clean = dict.fromkeys(used_by, CleanUp(strip=strip, empty=empty))
    for name in columns.names():
        if name not in clean:
            raise MapError(columns.path(name), "no event uses this column")
        with columns.section(name) as column:
            clean[name] = CleanUp(
                strip=column.flag("strip", default=strip),
                cut_prefix=column.text("cut_prefix", ""),
                cut_suffix=column.text("cut_suffix", ""),
                empty=empty.union(column.texts("empty")),
                default=column.text("default", ""),
                fill_down=column.flag("fill_down", default=False),
            )
    return clean


def _event_map(event: _Section, compiler: "_Compiler") -> EventMap:
    with event, event.section("data") as data, data.section("extra") as extra:
        is_view = event.is_text("type", VIEW)
        has_amount = "amount" in data or not (is_view or event.is_text("type", VOID))
        compiler.money = set()
        return EventMap(
            when=compiler.tests(event, "when"),
            amount=compiler.money_amount(data.text("amount"), data.path("amount")) if has_amount else None,
            time=compiler.time(event) if "time" in event else None,
            envelope={name: compiler.value(event, name, compiler.text) for name in ENVELOPE},
            data={
                name: compiler.value(data, name, compiler.maker(name))
                for name in ("currency", "commission_rate", "commission", "kind", STATEMENT, *DETAILS, *OF_CORRECTIONS)
                if name in data or (name == "currency" and not is_view)
            },
            extra={name: compiler.value(extra, name, compiler.text) for name in extra.names()},
            money=frozenset(compiler.money),
        )


def _line_map(line: _Section, compiler: "_Compiler") -> LineMap:
    with line:
        return LineMap(
            when=compiler.tests(line, "when"),
            booked_on=compiler.day(line, "date"),
            amount=compiler.money_amount(line.text("amount"), line.path("amount")),
            texts={
                name: compiler.value(line, name, compiler.text)
                for name in (CURRENCY, *OPTIONAL)
                if name in line or name == CURRENCY
            },
        )


def _provider_line_map(line: _Section, compiler: "_Compiler") -> ProviderLineMap:
    with line, line.section("match") as match, line.section("sale") as sale:
        kind = line.text("kind")
        if kind not in KINDS:
            raise MapError(line.path("kind"), f"must be one of {', '.join(KINDS)}")
        if not match.names():
            raise MapError(match.name, "must name a field of the ledger's lines, such as order_id")
        if "amount" not in line and "fee" not in line:
            raise MapError(line.path("amount"), "is missing: a line has an amount, a fee, or both")
        compiler.money = set()
        return ProviderLineMap(
            when=compiler.tests(line, "when"),
            kind=kind,
            name=compiler.value(line, "name", compiler.text),
            amount=compiler.money_amount(line.text("amount"), line.path("amount")) if "amount" in line else None,
            fee=compiler.number(line.text("fee"), line.path("fee")) if "fee" in line else None,
            time=compiler.time(line) if "time" in line else None,
            texts={
                name: compiler.value(line, name, compiler.text)
                for name in (CURRENCY, "fee_currency", "agency")
                if name in line or name == CURRENCY
            },
            match=_fields_of_ledger(match, compiler),
            sale=_fields_of_ledger(sale, compiler),
            money=frozenset(compiler.money),
        )


def _fields_of_ledger(section: _Section, compiler: "_Compiler") -> dict[str, Value]:
    """Return the values of a section by field of the ledger's lines, in the order of the fields."""
    found = {}
    if EXTRA in section:
        with section.section(EXTRA) as extra:
            found = {f"{EXTRA}.{name}": compiler.value(extra, name, compiler.text) for name in extra.names()}
    for name in section.names():
        if name not in MATCHED_FIELDS:
            raise MapError(section.path(name), f"is no field to match: {', '.join(MATCHED_FIELDS)}, {EXTRA}.NAME")
        found[name] = compiler.value(section, name, compiler.text)
    return dict(sorted(found.items()))


def _provider_map(provider: str, fee_field: str, lines: list[ProviderLineMap]) -> ProviderMap:
    """Return the whole map; raise `MapError` if a kind is matched by different fields."""
    match: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(lines, 1):
        names = tuple(line.match)
        if match.setdefault(line.kind, names) != names:
            expected = ", ".join(match[line.kind])
            raise MapError(
                f"provider_line[{number}].match", f"must have the fields of the other {line.kind}: {expected}"
            )
    for number, line in enumerate(lines, 1):
        if line.sale and tuple(line.sale) != match.get("sale"):
            expected = ", ".join(match.get("sale", ())) or "none, as the map has no sale"
            raise MapError(f"provider_line[{number}].sale", f"must have the fields by which sales match: {expected}")
    return ProviderMap(provider, fee_field, lines, match)


def _total_map(total: _Section, compiler: "_Compiler") -> TotalMap:
    with total, total.section("sums") as sums:
        if not sums.names():
            raise MapError(sums.name, "must name a column of the totals and the formula that it sums up")
        return TotalMap(
            when=compiler.tests(total, "when"),
            sums={
                column: (
                    compiler.number(f"{{{column}}}", sums.path(column)),
                    compiler.number(sums.text(column), sums.path(column)),
                )
                for column in sums.names()
            },
        )


def _always(_: object) -> bool:
    return True


class _Compiler:
    """Compiles the texts of events. Records the entry of the map that uses each column, and the columns of money."""

    def __init__(self, numbers: NumberForm, times: TimeForm) -> None:
        self._numbers = numbers
        self._times = times
        self.used_by: dict[str, str] = {}
        self.money: set[str] = set()

    def text(self, text: str, field: str) -> Callable[[Cells], str]:
        return self._compiled(field, template, text)

    def number(self, text: str, field: str) -> Callable[[Cells], Decimal]:
        return self._compiled(field, formula, text, self._numbers)

    def money_amount(self, text: str, field: str) -> Callable[[Cells], Decimal]:
        number = self.number(text, field)
        self.money |= formula(text, self._numbers).columns
        return number

    def maker(self, name: str) -> Callable[[str, str], Callable[[Cells], str]]:
        """Return the method that compiles a field of the data to text."""
        if name not in NUMBERS:
            return self.text
        number = self.money_amount if name in MONEY else self.number

        def make(text: str, field: str) -> Callable[[Cells], str]:
            value = number(text, field)
            return lambda cells: money.plain(value(cells))

        return make

    def time(self, event: _Section) -> Callable[[Cells, Decimal], datetime]:
        field = event.path("time")
        text = self.value(event, "time", self.text)
        days_before = self.number(event.text("days_before", "0"), event.path("days_before"))

        def value(cells: Cells, amount: Decimal) -> datetime:
            local, days = text(cells, amount), days_before(cells)
            try:
                return self._times.utc(local, days)
            except CellError as error:
                raise CellError(f"{field}: {error}") from None

        return value

    def day(self, section: _Section, key: str) -> Callable[[Cells], date]:
        field = section.path(key)
        text = self.text(section.text(key), field)

        def value(cells: Cells) -> date:
            try:
                return self._times.utc(text(cells)).astimezone(self._times.zone).date()
            except CellError as error:
                raise CellError(f"{field}: {error}") from None

        return value

    def value(self, section: _Section, key: str, make: Callable[[str, str], Callable[[Cells], str]]) -> Value:
        """Compile a field: one text for all rows, or a list of cases of which the first match applies."""
        given, field = section.take(key), section.path(key)
        if isinstance(given, str):
            text = make(section.decided(key, given), field)
            return lambda cells, _: text(cells)
        if not isinstance(given, list):
            raise MapError(field, "must be text in quotes, or a list of cases")
        cases = [self._case(_Section(case, f"{field}[{n}]"), make) for n, case in enumerate(given, 1)]

        def first(cells: Cells, amount: Decimal) -> str:
            for row_matches, amount_matches, text in cases:
                if row_matches(cells) and amount_matches(amount):
                    return text(cells)
            raise EmptyCellError(f"{field}: no case matches")

        return first

    def _case(
        self, case: _Section, make: Callable[[str, str], Callable[[Cells], str]]
    ) -> tuple[Callable[[Cells], bool], Callable[[Decimal], bool], Callable[[Cells], str]]:
        with case:
            text = make(case.text("is"), case.path("is"))
            row_matches = self.test(case)
            try:
                return row_matches, amount_test(case.text("amount")) if "amount" in case else _always, text
            except ValueError as error:
                raise MapError(case.path("amount"), str(error)) from None

    def tests(self, section: _Section, key: str) -> Callable[[Cells], bool]:
        """Compile the condition of a row: one test of a column, or a list of tests that must all be true."""
        given, field = section.take(key, {}), section.path(key)
        if not isinstance(given, list):
            with _Section(given, field) as one:
                return self.test(one)
        tests = []
        for n, each in enumerate(given, 1):
            with _Section(each, f"{field}[{n}]") as one:
                tests.append(self.test(one))
        return lambda cells: all(test(cells) for test in tests)

    def test(self, section: _Section) -> Callable[[Cells], bool]:
        """Compile `column` with one of `equals`, `prefix`, `matches`; without a column every row passes."""
        if "column" not in section:
            return _always
        column = section.text("column")
        operations = [key for key in ("equals", "prefix", "matches") if key in section]
        if len(operations) != 1:
            raise MapError(section.name, "a column needs one of equals, prefix, matches")
        return self._compiled(section.name, cell_test, column, operations[0], section.text(operations[0]))

    def _compiled(
        self, field: str, make: Callable[P, CellExpression[T]], *args: P.args, **kwargs: P.kwargs
    ) -> Callable[[Cells], T]:
        try:
            expression = make(*args, **kwargs)
        except ValueError as error:
            raise MapError(field, str(error)) from None
        for column in sorted(expression.columns - {ROW}):
            self.used_by.setdefault(column, field)

        def value(cells: Cells) -> T:
            try:
                return expression.value(cells)
            except CellError as error:
                raise type(error)(f"{field}: {error}") from None

        return value
