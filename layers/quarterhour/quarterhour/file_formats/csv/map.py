"""Compiles the map of `quarterhour csv` from TOML into functions of a row. `docs/csv.md` describes the map."""

import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any, Final
from zoneinfo import ZoneInfo

from quarterhour.file_formats.csv.cells import Cells, CleanUp, TimeForm
from quarterhour.file_formats.csv.compiler import CURRENCY, Compiler
from quarterhour.file_formats.csv.encodings import encoding_named
from quarterhour.file_formats.csv.errors import MapError
from quarterhour.file_formats.csv.event_map import EventMap, event_map
from quarterhour.file_formats.csv.line_map import LineMap, line_map
from quarterhour.file_formats.csv.lookups import Lookup, read_lookups
from quarterhour.file_formats.csv.numbers import NumberForm
from quarterhour.file_formats.csv.provider_map import (
    CHARGES,
    EXTRA,
    ProviderMap,
    is_fee_field,
    provider_line_map,
    provider_map,
    provider_of_events,
)
from quarterhour.file_formats.csv.row_map import AmountMap, ExclusionMap, counters, exclusion_maps, row_map
from quarterhour.file_formats.csv.sections import Section
from quarterhour.file_formats.csv.shares import SharesMap, shares_map
from quarterhour.file_formats.csv.table import DELIMITERS, FileForm
from quarterhour.file_formats.csv.total_map import TotalMap, total_map
from quarterhour.model.charges import COMMISSION
from quarterhour.model.fields import NAME, is_name
from quarterhour.model.texts import one_form

BY_ROW: Final = (
    "the ids hold the number of the row, so a file with a row more or less gives sales that are recorded another id: "
    "number equal rows by [counters], or write never_changes = true in [file] if no file of this map ever changes"
)
"""What to say of a map by which a file must never change."""
_MOST_HEADER: Final = 1000
_LIKE: Final = "like"
_SHIPPED: Final = resources.files("quarterhour.file_formats.csv") / "maps"


@dataclass(frozen=True, slots=True)
class CsvMap:
    """A whole map: the form of the file, and the events of a row, the line of a bank, or the lines of a provider.

    For each column in use, `clean` has its clean-up, and `used_by` the entry of the map that uses it, if the file must
    have it. `settings` are the values that a command line gives, with what each means; `values` are those that the map
    gives itself. `tested` are the columns that decide about a row. `exclusions` are tried before events and lines.
    `counters` return the cells of a row in which the rows that are counted together are equal, and `keys` those of
    which a column is the key. `shares` are columns
    with a row's share of its order's amounts. `row` is what each row adds to the sums of the file, if the map says it;
    else `figures` are the different amounts of its events or lines.
    `languages` are the maps for the other languages of `file.names`. `items` leads to the rows in a payload of JSON.
    """

    file: FileForm
    numbers: NumberForm
    zone: ZoneInfo
    settings: dict[str, str]
    values: dict[str, str]
    clean: dict[str, CleanUp]
    used_by: dict[str, str]
    lookups: dict[str, Lookup]
    exclusions: list[ExclusionMap]
    tested: list[str]
    events: list[EventMap]
    line: LineMap | None
    provider: ProviderMap | None
    total: TotalMap | None
    counters: dict[str, Callable[[Cells], list[str]]]
    keys: dict[str, Callable[[Cells], list[str]]]
    shares: SharesMap | None
    row: AmountMap | None
    figures: list[AmountMap]
    languages: "tuple[CsvMap, ...]" = ()
    items: str = ""

    @property
    def must_not_change(self) -> str:
        """Why a file of this map must never change; the empty text if it may, or if the map says that it never does."""
        return BY_ROW if any(one.by_row for one in self.events) and not self.file.never_changes else ""

    def of_language(self, language: int) -> "CsvMap":
        """Return the map for the files of a language: the number that `Table` has."""
        return (self, *self.languages)[language]

    def exclusion_of(self, cells: Cells) -> ExclusionMap | None:
        """Return the first rule that leaves a row out; `None` if none does."""
        return next((one for one in self.exclusions if one.when(cells)), None)


def load_map(text: str) -> CsvMap:
    """Return the map of a TOML text; raise `MapError` with the name of the entry if it is invalid."""
    return _in_languages(_content(text), _map_of_events)


def _map_of_events(top: Section) -> CsvMap:
    tables = top.take("event", [])
    if not isinstance(tables, list) or not tables:
        raise MapError("event", "at least one [[event]] is needed")
    return _csv_map(
        top,
        events_of=lambda compiler: [
            event_map(Section(table, f"event[{n}]"), compiler) for n, table in enumerate(tables, 1)
        ],
    )


def load_line_map(text: str) -> CsvMap:
    """Return the map of a TOML text to the lines of a bank; raise `MapError` as `load_map` does."""
    return _in_languages(_content(text, without="event"), _map_of_lines)


def _map_of_lines(top: Section) -> CsvMap:
    table = top.take("line")
    return _csv_map(top, line_of=lambda compiler: line_map(Section(table, "line"), compiler))


def load_provider_map(text: str, name: str = "") -> CsvMap:
    """Return the map of a TOML text to the lines of a payment provider; raise `MapError` as `load_map` does.

    The lines of a map of events are its events. `name` is the provider of such a map.
    """
    content = _content(text)
    if "event" in content and "provider_line" not in content:
        return _in_languages(content, lambda top: _lines_of_events(top, name))
    return _in_languages(_content(text, without="event"), _map_of_provider)


def _lines_of_events(top: Section, name: str) -> CsvMap:
    if not is_name(name):
        raise MapError("provider", f"is {name!r}, the name of the map, and must be {NAME}")
    csv_map = _map_of_events(top)
    return replace(csv_map, provider=provider_of_events(name, csv_map.events))


def _map_of_provider(top: Section) -> CsvMap:
    provider, fee_field = top.text("provider"), top.text("fee_field", f"{EXTRA}.fee")
    if not is_name(provider):
        raise MapError("provider", f"must be {NAME}")
    if not is_fee_field(fee_field):
        raise MapError("fee_field", f"must be {COMMISSION}, {CHARGES}.NAME or {EXTRA}.NAME")
    tables = top.take("provider_line", [])
    if not isinstance(tables, list) or not tables:
        raise MapError("provider_line", "at least one [[provider_line]] is needed")
    return _csv_map(
        top,
        provider_of=lambda compiler: provider_map(
            provider,
            fee_field,
            [provider_line_map(Section(one, f"provider_line[{n}]"), compiler) for n, one in enumerate(tables, 1)],
        ),
    )


def _content(text: str, *, without: str = "") -> dict[str, Any]:
    """Return the entries of a map, over those of the shipped map that it is `like`, of which one is left `without`."""
    try:
        content = tomllib.loads(one_form(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise MapError("map", f"is not TOML: {error}") from None
    if _LIKE not in content:
        return content
    like = Section(content, "").text(_LIKE)
    base = shipped_map(like)
    if base is None:
        raise MapError(_LIKE, f"must name a map that comes with the tools: {', '.join(shipped_maps())}")
    entries = {name: value for name, value in _content(base).items() if name != without}
    return _over(entries, {name: value for name, value in content.items() if name != _LIKE})


def _over(base: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of a map with those of another in their place; tables are joined, lists are replaced."""
    joined = dict(base)
    for name, value in other.items():
        below = joined.get(name)
        joined[name] = _over(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return joined


def _in_languages(content: dict[str, Any], compiled: Callable[[Section], CsvMap]) -> CsvMap:
    """Return a map with the maps for each of its `[languages]`, which differ in names of columns, numbers and times."""
    top = Section(content, "")
    languages, names = top.section("languages"), [_names(top.section("names"))]
    own = compiled(top)
    others = []
    for name in languages.names():
        with languages.section(name) as language:
            names.append(_names(language.section("names")))
            differing = {key: language.take(key) for key in ("numbers", "time") if key in language}
        entries = {key: value for key, value in _over(content, differing).items() if key not in {"languages", "names"}}
        try:
            others.append(compiled(Section(entries, "")))
        except MapError as error:
            raise error.under(f"languages.{name}") from None
    form = replace(own.file, names=tuple(names))
    return replace(own, file=form, languages=tuple(replace(one, file=form) for one in others))


def _names(section: Section) -> dict[str, tuple[str, ...]]:
    """Return the names that files give to the columns of the map."""
    with section:
        names = {column: section.texts_or_text(column) for column in section.names()}
    owners: dict[str, str] = {}
    for column, given in names.items():
        for name in given:
            if owners.setdefault(name, column) != column:
                raise MapError(section.path(column), f"{name!r} is already the name of {owners[name]}")
    return names


def _csv_map(
    top: Section,
    *,
    events_of: Callable[[Compiler], list[EventMap]] = lambda _: [],
    line_of: Callable[[Compiler], LineMap | None] = lambda _: None,
    provider_of: Callable[[Compiler], ProviderMap | None] = lambda _: None,
) -> CsvMap:
    with (
        top,
        top.section("file") as file,
        top.section("settings") as settings,
        top.section("text") as texts,
        top.section("columns") as columns,
    ):
        lookups = read_lookups(top.section("lookups"))
        compiler = _compiler(top, lookups)
        exclusions = exclusion_maps(top.take("exclude", []), compiler)
        events, line, provider = events_of(compiler), line_of(compiler), provider_of(compiler)
        tested = list(compiler.tested)
        total = total_map(top.section("total"), compiler) if "total" in top else None
        row = row_map(top.section("row"), compiler) if "row" in top else None
        counted, keys = (counters(top.section(name), compiler) for name in ("counters", "keys"))
        shares = shares_map(top.section("shares"), compiler)
        given = {name: settings.text(name) for name in settings.names()}
        known = _names_of(settings=given, counters=counted, keys=keys, shares=shares.columns if shares else ())
        values = _values(top.section("values"), given)
        used_by = {name: field for name, field in compiler.used_by.items() if name not in known}
        clean, optional = _clean_ups(texts, columns, used_by)
        return CsvMap(
            file=_file_form(file),
            numbers=compiler.numbers,
            zone=compiler.times.zone,
            settings=_missing_values(given, values, compiler, provider),
            values=values,
            clean=clean,
            used_by={column: field for column, field in used_by.items() if column not in optional},
            lookups={name: one for name, one in lookups.items() if one.column in clean},
            exclusions=exclusions,
            tested=[column for column in tested if column in used_by],
            events=events,
            line=line,
            provider=provider,
            total=total,
            counters=counted,
            keys=keys,
            shares=shares,
            row=row,
            figures=_figures(events, provider),
            items=_items(top.section("payload")),
        )


def _items(payload: Section) -> str:
    with payload:
        return payload.text("items", "")


def _missing_values(
    given: Mapping[str, str], values: Mapping[str, str], compiler: Compiler, provider: ProviderMap | None
) -> dict[str, str]:
    """Return the values for which a map asks, each with its meaning.

    The lines of a provider need not name the agency for which the map of events asks.
    """
    missing = (one for one in given if one not in values)
    return {one: given[one] for one in missing if one in compiler.used_by or not provider}


def _compiler(top: Section, lookups: Mapping[str, Lookup]) -> Compiler:
    """Return the compiler of a map's texts, with its forms of numbers and times."""
    with top.section("numbers") as numbers, top.section("time") as time:
        by_row = isinstance(time.peek("zone"), list) or "{" in str(time.peek("zone"))
        zone = Section({"zone": time.take("zone")} if by_row else {}, time.name)
        compiler = Compiler(_number_form(numbers), _time_form(time), lookups)
        if by_row:
            compiler.zone_by_row(zone, "zone")
    return compiler


def _names_of(**made: Iterable[str]) -> set[str]:
    """Return the columns that sections of a map make; raise `MapError` if two make one."""
    owners: dict[str, str] = {}
    for section, names in made.items():
        for name in names:
            if owners.setdefault(name, section) != section:
                raise MapError(f"{section}.{name}", f"is a name in [{owners[name]}], too")
    return set(owners)


def _values(section: Section, settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings whose values a map gives itself; one that is still open is left to the command line."""
    with section:
        for name in section.names():
            if name not in settings:
                raise MapError(section.path(name), "is no name in [settings]")
        return {name: section.text(name) for name in section.names() if not section.is_open(name)}


def _figures(events: list[EventMap], provider: ProviderMap | None) -> list[AmountMap]:
    """Return the amounts of events and lines, each formula once."""
    found = {one.formula: AmountMap(one.amount, one.data[CURRENCY]) for one in events if one.amount}
    for line in provider.lines if provider else ():
        if line.amount:
            found[line.formula] = AmountMap(line.amount, line.texts[CURRENCY])
    return list(found.values())


def shipped_maps() -> list[str]:
    """Return the names of the maps that come with Quarterhour."""
    return sorted(map_.name.removesuffix(".toml") for map_ in _SHIPPED.iterdir())


def shipped_map(name: str) -> str | None:
    """Return the text of a map that comes with Quarterhour; `None` if there is none of this name."""
    return (_SHIPPED / f"{name}.toml").read_text("utf-8") if name in shipped_maps() else None


def _file_form(file: Section) -> FileForm:
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
    never_changes = file.flag("never_changes", default=False)
    return FileForm(encoding, delimiter, quote or None, file.texts("columns"), header, never_changes=never_changes)


def _encoding(name: str, file: Section) -> str:
    found = encoding_named(name)
    if found is None:
        raise MapError(file.path("encoding"), f"there is no text encoding {name!r}")
    return found


def _number_form(section: Section) -> NumberForm:
    with section, section.section("currencies") as currencies:
        codes = {sign: currencies.text(sign) for sign in currencies.names()}
        negative, units = frozenset(section.texts("negative")), section.flag("minor_units", default=False)
        try:
            return NumberForm(section.text("decimal", "."), section.text("thousands", ""), negative, codes, units)
        except ValueError as error:
            raise MapError(section.name, str(error)) from None


def _time_form(section: Section) -> TimeForm:
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
            months=_months(section.section("months")),
        )
    except ValueError as error:
        raise MapError(section.name, str(error)) from None


def _months(section: Section) -> frozenset[tuple[str, int]]:
    with section:
        return frozenset((name, section.number(name) or 0) for name in section.names())


def _clean_ups(texts: Section, columns: Section, used_by: Iterable[str]) -> tuple[dict[str, CleanUp], set[str]]:
    """Return the clean-up of each column in use, and the columns that a file may lack."""
    strip, empty = texts.flag("strip", default=True), frozenset(texts.texts("empty"))
    clean = dict.fromkeys(used_by, CleanUp(strip=strip, empty=empty))
    optional = set()
    for name in columns.names():
        if name not in clean:
            raise MapError(columns.path(name), "no event uses this column")
        with columns.section(name) as column:
            if column.flag("optional", default=False):
                optional.add(name)
            is_text = isinstance(column.peek("fill_down"), str)
            clean[name] = CleanUp(
                strip=column.flag("strip", default=strip),
                cut_prefix=column.text("cut_prefix", ""),
                cut_suffix=column.text("cut_suffix", ""),
                empty=empty.union(column.texts("empty")),
                default=column.text("default", ""),
                fill_down=is_text or column.flag("fill_down", default=False),
                within=column.text("fill_down") if is_text else "",
            )
            if clean[name].within not in {"", *clean}:
                raise MapError(column.path("fill_down"), "must be true, false or a column in use")
    return clean, optional
