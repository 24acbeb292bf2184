"""What `quarterhour payments` says of a whole file: its statements, and its sums by currency and outcome."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from rich import box
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from quarterhour.model.fields import printable
from quarterhour.statements.receivables.matching import LineOutcome
from quarterhour_tools.output import counted, print_table

WHEN: Final = "when"
"""The outcome of the rows that ``when`` of a map leaves out."""
OUTCOMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        LineOutcome.CERTAIN: "certain",
        LineOutcome.REVIEW: "to review",
        LineOutcome.RECORDED: "recorded before",
        LineOutcome.NO_PAYMENT: "without a match",
        LineOutcome.NOT_BOOKED: "excluded: not booked yet",
        LineOutcome.REPEATED: "excluded: in a statement that the file repeats",
        LineOutcome.BAD: "bad rows",
        WHEN: "excluded: by `when` of the map",
    }
)
"""What becomes of lines, in words."""
_LONGEST: Final = 40


def show_sums(console: Console, found: Mapping[str, Any]) -> None:
    """Print the statements of a file, those that an earlier file had, and the sums of its lines."""
    if found["statements"]:
        columns = [Column(one, justify="right") for one in ("opening", "lines", "moved", "closing")]
        table = Table("statement", "account", "", *columns, box=box.SIMPLE, padding=(0, 1, 0, 0))
        for one in found["statements"]:
            names = (one["number"] or str(one["statement"]), one["account"], one["currency"])
            figures = (one["opening"], f"{one['lines']:,}", one["amount"], one["closing"])
            table.add_row(*(Text(printable(text, _LONGEST)) for text in (*names, *figures)))
        print_table(console, table)
    for one in found["statements"]:
        if said := _said(one):
            number = f" ({printable(one['number'], _LONGEST)})" if one["number"] else ""
            console.print(f"statement {one['statement']}{number} {said}")
    table = Table(
        "currency",
        "",
        Column("lines", justify="right"),
        Column("amount", justify="right"),
        box=box.SIMPLE,
        padding=(0, 1, 0, 0),
    )
    for one in found["sums"]:
        for part in one["outcomes"]:
            outcome = OUTCOMES.get(part["outcome"]) or f"excluded: {printable(part['outcome'], _LONGEST)}"
            table.add_row(one["currency"], outcome, f"{part['lines']:,}", part["amount"])
        table.add_row(one["currency"], "in the file", f"{one['lines']:,}", one["amount"])
    if found["sums"]:
        print_table(console, table)
    if found["unread"]:
        console.print(f"{counted(found['unread'], 'bad row')} without an amount that can be read")


def _said(statement: Mapping[str, Any]) -> str:
    """Return what a statement has in common with another one of the file, or of an earlier file."""
    if statement["repeats"]:
        return f"is statement {statement['repeats']} again: its lines are excluded"
    if statement["recorded"]:
        of = counted(statement["lines"], "line")
        return f"overlaps an earlier file: {statement['recorded']:,} of its {of} recorded before"
    return ""
