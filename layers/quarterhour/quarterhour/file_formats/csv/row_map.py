"""The maps of every row of a file: which rules exclude it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from quarterhour.file_formats.csv.cells import Cells
from quarterhour.file_formats.csv.compiler import Compiler
from quarterhour.file_formats.csv.errors import MapError
from quarterhour.file_formats.csv.sections import Section
from quarterhour.model.texts import is_visible

LONGEST_RULE: Final = 100
"""The most characters of the name of a rule."""


@dataclass(frozen=True, slots=True)
class ExclusionMap:
    """The `[[exclude]]` of a map: rows for which `when` is true make nothing, under the name of this rule."""

    rule: str
    when: Callable[[Cells], bool]


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
            rule = exclude.text("rule")
            if not rule or not is_visible(rule) or len(rule) > LONGEST_RULE:
                raise MapError(exclude.path("rule"), f"must be 1 to {LONGEST_RULE} printable characters")
            if not exclude.peek("when"):
                raise MapError(exclude.path("when"), "is missing: a rule says which rows it excludes")
            found.append(ExclusionMap(rule, compiler.tests(exclude, "when")))
    return found


def _listed(exclude: Section, compiler: Compiler) -> list[ExclusionMap]:
    """Return one rule for each text of a column that an `[[exclude]]` lists; the text is the rule's name."""
    column, rules = exclude.text("column"), exclude.texts("rules")
    if not rules or not all(is_visible(rule) and 0 < len(rule) <= LONGEST_RULE for rule in rules):
        raise MapError(exclude.path("rules"), f"must be texts of 1 to {LONGEST_RULE} printable characters")
    test = {"column": column}
    return [ExclusionMap(rule, compiler.test(Section(test | {"equals": rule}, exclude.name))) for rule in rules]
