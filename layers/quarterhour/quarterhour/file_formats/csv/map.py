"""Compiles the map of `quarterhour csv` from TOML into functions of a row. `docs/csv.md` describes the map."""

import codecs
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import resources
from typing import Final
from zoneinfo import ZoneInfo

from quarterhour.file_formats.csv.cells import CleanUp, TimeForm
from quarterhour.file_formats.csv.compiler import Compiler
from quarterhour.file_formats.csv.errors import MapError
from quarterhour.file_formats.csv.event_map import EventMap, event_map
from quarterhour.file_formats.csv.line_map import LineMap, line_map
from quarterhour.file_formats.csv.numbers import NumberForm
from quarterhour.file_formats.csv.provider_map import EXTRA, ProviderMap, provider_line_map, provider_map
from quarterhour.file_formats.csv.sections import Section
from quarterhour.file_formats.csv.table import DELIMITERS, FileForm
from quarterhour.file_formats.csv.total_map import TotalMap, total_map
from quarterhour.model.fields import NAME, is_name

FEE_FIELDS: Final = frozenset({"commission"})
_MOST_HEADER: Final = 1000
_SHIPPED: Final = resources.files("quarterhour.file_formats.csv") / "maps"


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
            event_map(Section(table, f"event[{n}]"), compiler) for n, table in enumerate(tables, 1)
        ],
    )


def load_line_map(text: str) -> CsvMap:
    """Return the map of a TOML text to the lines of a bank; raise `MapError` as `load_map` does."""
    top = _top(text)
    table = top.take("line")
    return _csv_map(top, line_of=lambda compiler: line_map(Section(table, "line"), compiler))


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
        provider_of=lambda compiler: provider_map(
            provider,
            fee_field,
            [provider_line_map(Section(one, f"provider_line[{n}]"), compiler) for n, one in enumerate(tables, 1)],
        ),
    )


def _top(text: str) -> "Section":
    try:
        return Section(tomllib.loads(text), "")
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise MapError("map", f"is not TOML: {error}") from None


def _csv_map(
    top: "Section",
    *,
    events_of: Callable[[Compiler], list[EventMap]] = lambda _: [],
    line_of: Callable[[Compiler], LineMap | None] = lambda _: None,
    provider_of: Callable[[Compiler], ProviderMap | None] = lambda _: None,
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
        compiler = Compiler(numbers, times)
        events, line, provider = events_of(compiler), line_of(compiler), provider_of(compiler)
        total = total_map(top.section("total"), compiler) if "total" in top else None
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
    return FileForm(encoding, delimiter, quote or None, file.texts("columns"), header)


def _encoding(name: str, file: Section) -> str:
    try:
        "".encode(name)  # codecs that do not convert text to bytes, such as rot13, are not encodings
        return codecs.lookup(name).name
    except (LookupError, ValueError):
        raise MapError(file.path("encoding"), f"there is no text encoding {name!r}") from None


def _number_form(section: Section) -> NumberForm:
    with section, section.section("currencies") as currencies:
        codes = {sign: currencies.text(sign) for sign in currencies.names()}
        negative = frozenset(section.texts("negative"))
        try:
            return NumberForm(section.text("decimal", "."), section.text("thousands", ""), negative, codes)
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
        )
    except ValueError as error:
        raise MapError(section.name, str(error)) from None


def _clean_ups(texts: Section, columns: Section, used_by: Iterable[str]) -> dict[str, CleanUp]:
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
