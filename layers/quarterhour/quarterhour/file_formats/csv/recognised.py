"""Recognises the file of a provider by its columns, and names the map that comes with the tools for it."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import Any, Final, NamedTuple

from quarterhour.file_formats.csv.errors import MapError
from quarterhour.file_formats.csv.events import MappedEvent, converted
from quarterhour.file_formats.csv.lines import FileLine
from quarterhour.file_formats.csv.map import CsvMap, load_map, shipped_map, shipped_maps
from quarterhour.file_formats.csv.proposal import Answer, MapEntry, Proposal, quoted
from quarterhour.file_formats.csv.table import BadRow, read_table

_ROWS: Final = 2000
"""The rows by which maps of the same columns differ."""
_CURRENCY: Final = "currency"
_SAMPLE_VALUES: Final = {_CURRENCY: "EUR", "zone": "UTC"}
_SAMPLE_VALUE: Final = "42"


class Recognised(NamedTuple):
    """A map whose columns a file has, and what it makes of the first rows with `values` for its settings."""

    name: str
    map: CsvMap
    values: dict[str, str]
    header: list[str]
    rows: int
    events: list[MappedEvent]
    bad: list[BadRow]


def recognised(lines: Sequence[FileLine]) -> list[Recognised]:
    """Return the maps that read a file best, one of those that read it alike; none if most rows are bad for each."""
    found = [one for name in shipped_maps() if (one := _tried(name, lines))]
    fitting = [one for one in found if len(one.bad) * 2 <= one.rows]
    fewest = min((len(one.bad) for one in fitting), default=0)
    best: list[Recognised] = []
    for one in fitting:
        if len(one.bad) == fewest and all(_bodies(one) != _bodies(other) for other in best):
            best.append(one)
    return best


def _bodies(found: Recognised) -> list[Any]:
    return [one.body for one in found.events]


def proposed(found: Sequence[Recognised]) -> Proposal:
    """Return the proposal that is a map which comes with the tools, or a question if several read the file."""
    names = [quoted(one.name) for one in found]
    first = found[0]
    proposal = Proposal(shipped=[one.name for one in found])
    like = MapEntry("", "like", names[0])
    if len(found) > 1:
        ways = " or ".join(proposal.shipped)
        question = f"Which map is it: {ways}? The rows fit each; docs/csv.md tells them apart."
        like = MapEntry.open("", "like", question, names)
    what = (shipped_map(first.name) or "").partition("\n")[0].removeprefix("# ").partition(". ")[0]
    proposal.add(
        [Answer.of(like, certain=f"it has the columns of a map that comes with the tools, --map {first.name}: {what}")]
    )
    for name, meaning in first.map.settings.items():
        question = f"What is {name!r}: {meaning}? Write it here, or give --set {name}=..."
        answer = quoted(first.values[name])
        proposal.add([Answer.of(MapEntry.open("[values]", name, question, [answer]))])
    bad = "; ".join(f"line {one.line}: {one.reason}" for one in first.bad[:3])
    parts = [one.rule for one in first.map.events if one.rule]
    rules = ", ".join(dict.fromkeys([*(one.rule for one in first.map.exclusions), *parts]))
    proposal.add([Answer.of(check=f"it leaves rows out by the rules: {rules}" if rules else "")])
    proposal.add([Answer.of(check=f"bad rows of the first {first.rows:,}: {len(first.bad)}; {bad}" if bad else "")])
    proposal.unused = [one for one in dict.fromkeys(first.header) if one and one not in first.map.clean]
    return proposal


@cache
def _loaded(name: str) -> CsvMap:
    return load_map(shipped_map(name) or "")


def _tried(name: str, lines: Sequence[FileLine]) -> Recognised | None:
    csv_map = _loaded(name)
    try:
        table = read_table(lines, csv_map.file, csv_map.used_by)
    except MapError:
        return None
    rows = list(islice(table.rows, _ROWS))
    found = []
    for currency in _currencies(csv_map):
        values = {one: (_SAMPLE_VALUES | {_CURRENCY: currency}).get(one, _SAMPLE_VALUE) for one in csv_map.settings}
        outcomes = list(converted(replace(table, rows=iter(rows)), csv_map, values, whole=False))
        made = [event for one in outcomes for event in one.events]
        bad = [BadRow(one.line, one.bad) for one in outcomes if one.bad]
        found.append(Recognised(name, csv_map, values, table.header, len(rows), made, bad))
    return min(found, key=lambda one: len(one.bad))


def _currencies(csv_map: CsvMap) -> list[str]:
    """Return the currencies to try for a file: if the map asks for one, those that the signs of its amounts name."""
    named = [code for codes in csv_map.numbers.currencies.values() for code in codes.split()]
    return list(dict.fromkeys(named)) if named and _CURRENCY in csv_map.settings else [_SAMPLE_VALUES[_CURRENCY]]
