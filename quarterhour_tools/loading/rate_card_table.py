"""A table of rates, for `quarterhour rate-cards`: a CSV file with a line for each charge of a rule of a rate card."""

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from quarterhour.file_formats.csv.errors import FileError
from quarterhour.model import exact_json, instants, texts
from quarterhour.model.charges import COMMISSION
from quarterhour.model.clock import iso_exact
from quarterhour.model.errors import FieldProblem
from quarterhour.model.fields import printable
from quarterhour.registry.documents.keys import (
    AGENCY_NAME,
    DEFAULT_RATE_CARD,
    GROUP,
    RATE_CARD,
    group_rate_card_name,
    is_agency,
    is_rate_card,
    rate_card_name,
)
from quarterhour.registry.rate_cards.rate_card import RateCard, read_rate_card
from quarterhour.web.parameters import MOMENT
from quarterhour_tools.csv.file import TextFile, open_text
from quarterhour_tools.errors import ToolError
from quarterhour_tools.output import counted

MOST: Final = 200_000
"""The most lines of a table; they are in memory."""

_WHOSE: Final = ("agency", "group")
_SPAN: Final = ("valid_from", "valid_to")
_LISTS: Final = ("category", "location", "product")
_CONDITIONS: Final = (*_LISTS, "currency")
_CHARGE: Final = "charge"
_TEXTS: Final = ("percent", "fixed", "fixed_per", "minimum", "maximum", "of", "refund", "amount", "per", "part_months")
_DECIMALS: Final = "decimals"
_TIERS: Final = "tiers"
_OF_TIERS: Final = {"tiers_per": ("per", "month"), "tiers_of": ("of", "account"), "tiers_mode": ("mode", "graduated")}
"""The columns of tiers: the name of each in the rate card, and its value if the column is empty."""
COLUMNS: Final = (*_WHOSE, *_SPAN, *_CONDITIONS, _CHARGE, *_TEXTS, _DECIMALS, _TIERS, *_OF_TIERS)
_OR: Final = "|"
_EQUALS: Final = "="
_TIERS_EXPECTED: Final = "each tier's start and percentage, such as 0=12 10000=10"
_PLACE: Final = re.compile(r"content\.(?:rules\[(\d+)\](?:\.charges\[(\d+)\])?)?\.?(.*)", re.ASCII)
_LONGEST_SHOWN: Final = 200


class BadRateLine(NamedTuple):
    """A line that is no part of a rate card, and why."""

    number: int
    problem: str


@dataclass(slots=True)
class TableRateCard:
    """A rate card in a table: its document, its content, and the line of each charge of each rule."""

    document: str
    content: dict[str, Any]
    lines: list[list[int]] = field(default_factory=list)

    def line_of(self, problem: FieldProblem) -> BadRateLine:
        """Return the line that a problem of the content is about, the first one if it is about all of them."""
        found = _PLACE.fullmatch(problem.field)
        rule, charge, name = found.groups() if found else (None, None, problem.field)
        of_rule = self.lines[int(rule or 0)]
        words = f"{name} {problem.problem}".strip()
        return BadRateLine(of_rule[int(charge or 0)], f"{words}: expected {problem.expected}")


@dataclass(slots=True)
class RateCardTable:
    """The rate cards of a table, and its bad lines."""

    rate_cards: list[TableRateCard] = field(default_factory=list)
    bad: list[BadRateLine] = field(default_factory=list)


def read(name: str, start: str | None = None) -> RateCardTable:
    """Return the rate cards of a table; ``start`` is the instant from which those without ``valid_from`` are in force.

    Raises ``ToolError`` if the file cannot be read to its end, or has other columns.
    """
    try:
        with open_text(name, None) as file:
            return _table(_rows(file), start)
    except OSError as error:
        raise ToolError(f"{name}: {error.strerror}") from error
    except (FileError, csv.Error) as error:
        raise ToolError(f"{name}: {error}") from error


def _rows(file: TextFile) -> Iterator[tuple[int, Mapping[str, str] | BadRateLine]]:
    """Yield the cells of each line that are not empty, by column, with the line's number."""
    lines = file.texts()
    first = next(lines, "")
    delimiter = ";" if first.count(";") > first.count(",") else ","
    columns = [one.strip().lower() for one in next(csv.reader([first], delimiter=delimiter), [])]
    _check(columns)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    for cells in reader:
        number = reader.line_num + 1
        if number > MOST:
            raise FileError(f"has more than {MOST:,} lines: split the file")
        if len(cells) != len(columns):
            if cells:
                yield number, BadRateLine(number, f"has {counted(len(cells), 'cell')}: expected {len(columns)}")
            continue
        given = {name: texts.one_form(cell.strip()) for name, cell in zip(columns, cells, strict=True)}
        if any(given.values()):
            yield number, {name: cell for name, cell in given.items() if cell}
    if file.problem:
        raise FileError(f"cannot be read to its end: {file.problem}")


def _check(columns: Sequence[str]) -> None:
    unknown = [one for one in columns if one not in COLUMNS]
    twice = [one for one in columns if columns.count(one) > 1]
    if unknown or twice or not {"percent", _TIERS, "amount"} & set(columns):
        shown = printable(", ".join(columns), _LONGEST_SHOWN)
        raise FileError(f"the columns are {shown}: expected percent, tiers or amount, and any of {', '.join(COLUMNS)}")


def _table(rows: Iterable[tuple[int, Mapping[str, str] | BadRateLine]], start: str | None) -> RateCardTable:
    table = RateCardTable()
    rate_cards: dict[str, TableRateCard] = {}
    for number, cells in rows:
        if isinstance(cells, BadRateLine):
            table.bad.append(cells)
            continue
        try:
            _add(rate_cards, number, cells, start)
        except ValueError as error:
            table.bad.append(BadRateLine(number, str(error)))
    for one in rate_cards.values():
        one.content["rules"] = [_shortened(rule) for rule in one.content["rules"]]
        read_ = read_rate_card(exact_json.parse(exact_json.canonical(one.content)))
        if isinstance(read_, RateCard):
            table.rate_cards.append(one)
        else:
            table.bad += map(one.line_of, read_)
    table.bad.sort()
    return table


def _add(rate_cards: dict[str, TableRateCard], number: int, cells: Mapping[str, str], start: str | None) -> None:
    """Add the charge of a line to its rule of its rate card; raise ``ValueError`` with what is wrong with the line."""
    document, charge = _document(cells), _charge(cells)
    span = {name: _instant(name, cells[name]) for name in _SPAN if name in cells}
    if start is not None:
        span.setdefault("valid_from", start)
    conditions = {name: _condition(name, cells[name]) for name in _CONDITIONS if name in cells}
    one = rate_cards.setdefault(document, TableRateCard(document, {**span, "rules": []}))
    if {name: text for name, text in one.content.items() if name in _SPAN} != span:
        raise ValueError(f"{' and '.join(_SPAN)} are others than in line {one.lines[0][0]}, of the same rate card")
    rules = one.content["rules"]
    for rule, lines in zip(rules, one.lines, strict=True):
        if {name: value for name, value in rule.items() if name in _CONDITIONS} == conditions:
            rule["charges"].append(charge)
            lines.append(number)
            return
    rules.append({**conditions, "charges": [charge]})
    one.lines.append([number])


def _shortened(rule: dict[str, Any]) -> dict[str, Any]:
    """Return a rule in its short form, if its only charge is a percentage that is the commission."""
    (first, *others) = rule["charges"]
    if others or first.keys() != {"name", "percent"} or first["name"] != COMMISSION:
        return rule
    return {**{name: value for name, value in rule.items() if name != "charges"}, "percent": first["percent"]}


def _document(cells: Mapping[str, str]) -> str:
    agency, group = (cells.get(name) for name in _WHOSE)
    if agency and group:
        raise ValueError("has an agency and a group: expected one of them, or neither for the rate card of all")
    if agency and not is_agency(agency):
        raise ValueError(f"agency is {printable(agency, _LONGEST_SHOWN)}: expected {AGENCY_NAME}")
    document = group_rate_card_name(group) if group else rate_card_name(agency) if agency else DEFAULT_RATE_CARD
    if group and not is_rate_card(document.removeprefix(RATE_CARD)):
        raise ValueError(f"group is {printable(group, _LONGEST_SHOWN)}: expected the name of a group after {GROUP}")
    return document


def _instant(name: str, cell: str) -> str:
    try:
        return iso_exact(instants.moment(cell))
    except ValueError as error:
        raise ValueError(f"{name} is {printable(cell, _LONGEST_SHOWN)}: expected {MOMENT}") from error


def _condition(name: str, cell: str) -> str | list[str]:
    several = [one.strip() for one in cell.split(_OR)] if name in _LISTS else [cell]
    return several if len(several) > 1 else cell


def _charge(cells: Mapping[str, str]) -> dict[str, Any]:
    charge: dict[str, Any] = {"name": cells.get(_CHARGE, COMMISSION)}
    charge |= {name: cells[name] for name in _TEXTS if name in cells}
    if _DECIMALS in cells:
        charge[_DECIMALS] = int(cells[_DECIMALS]) if cells[_DECIMALS].isdecimal() else cells[_DECIMALS]
    if _TIERS in cells:
        of = {name: cells.get(column, default) for column, (name, default) in _OF_TIERS.items()}
        charge[_TIERS] = {**of, "steps": list(_steps(cells[_TIERS]))}
    elif given := [column for column in _OF_TIERS if column in cells]:
        raise ValueError(f"{given[0]} is given without tiers: expected {_TIERS_EXPECTED}")
    return charge


def _steps(cell: str) -> Iterator[dict[str, str]]:
    for one in cell.split():
        start, equals, percent = one.partition(_EQUALS)
        if not (start and equals and percent):
            raise ValueError(f"tiers is {printable(cell, _LONGEST_SHOWN)}: expected {_TIERS_EXPECTED}")
        yield {"from": start, "percent": percent}
