"""The maps of every row of a file: what it adds to the file's sums, which rules exclude it, and its counters."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from quarterhour.file_formats.csv.cells import Cells
from quarterhour.file_formats.csv.compiler import CURRENCY, ROW, Compiler, Value
from quarterhour.file_formats.csv.errors import MapError
from quarterhour.file_formats.csv.sections import Section
from quarterhour.model import money
from quarterhour.model.texts import is_visible

LONGEST_RULE: Final = 100
"""The most characters of the name of a rule."""


@dataclass(frozen=True, slots=True)
class AmountMap:
    """An amount of money of a row, and its currency."""

    amount: Callable[[Cells], Decimal]
    currency: Value


@dataclass(frozen=True, slots=True)
class ExclusionMap:
    """The `[[exclude]]` of a map: rows for which `when` is true make nothing, under the name of this rule."""

    rule: str
    when: Callable[[Cells], bool]


def row_map(row: Section, compiler: Compiler) -> AmountMap:
    """Return the map of `[row]`: what each row adds to the sums of the file, by cases if the amount is a list."""
    with row:
        amount = compiler.value(row, "amount", compiler.maker("quantity"))
        return AmountMap(
            lambda cells: Decimal(amount(cells, money.ZERO)),
            compiler.value(row, CURRENCY, compiler.text),
        )


def exclusion_maps(tables: object, compiler: Compiler) -> list[ExclusionMap]:
    """Return the maps of `[[exclude]]`; raise `MapError` if one is invalid."""
    if not isinstance(tables, list):
        raise MapError("exclude", "must be written as [[exclude]]")
    found = []
    for number, table in enumerate(tables, 1):
        with Section(table, f"exclude[{number}]") as exclude:
            if "rules" in exclude:
                found += _listed(exclude, compiler)
                continue
            rule = rule_name(exclude, "rule")
            if not exclude.peek("when"):
                raise MapError(exclude.path("when"), "is missing: a rule says which rows it excludes")
            found.append(ExclusionMap(rule, compiler.tests(exclude, "when")))
    return found


def rule_name(section: Section, key: str) -> str:
    """Return the name of a rule; raise `MapError` if it is none."""
    rule = section.text(key)
    if not rule or not is_visible(rule) or len(rule) > LONGEST_RULE:
        raise MapError(section.path(key), f"must be 1 to {LONGEST_RULE} printable characters")
    return rule


def _listed(exclude: Section, compiler: Compiler) -> list[ExclusionMap]:
    """Return one rule for each text of a column that an `[[exclude]]` lists; the text is the rule's name."""
    column, rules = exclude.text("column"), exclude.texts("rules")
    if not rules or not all(is_visible(rule) and 0 < len(rule) <= LONGEST_RULE for rule in rules):
        raise MapError(exclude.path("rules"), f"must be texts of 1 to {LONGEST_RULE} printable characters")
    test = {"column": column}
    return [ExclusionMap(rule, compiler.test(Section(test | {"equals": rule}, exclude.name))) for rule in rules]


def counters(section: Section, compiler: Compiler) -> dict[str, Callable[[Cells], list[str]]]:
    """Return the columns of `[counters]` and `[keys]`, with the cells of the columns that each names.

    A counter numbers the rows that are equal in these columns; a key is a short text for what they hold.
    """
    found = {}
    with section:
        for name in section.names():
            columns = section.texts(name)
            if name == ROW or not columns:
                raise MapError(section.path(name), f"must name columns, and be another name than {ROW}")
            found[name] = _cells_of([compiler.cell(column, section.path(name)) for column in columns])
    return found


def _cells_of(columns: Iterable[Callable[[Cells], str]]) -> Callable[[Cells], list[str]]:
    read = list(columns)
    return lambda cells: [column(cells) for column in read]
