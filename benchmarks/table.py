"""The table that the benchmarks print: budget, measured, verdict."""

from collections.abc import Iterable
from dataclasses import dataclass

MET = "met"
MISSED = "MISSED"


@dataclass(frozen=True, slots=True)
class Line:
    """One measurement; ``verdict`` is empty without a budget. ``notes`` say how it was measured."""

    what: str
    measured: str
    budget: str = ""
    verdict: str = ""
    notes: tuple[str, ...] = ()


def at_most(limit: float, measured: float) -> str:
    """Return the verdict for a measurement with an upper limit."""
    return MET if measured <= limit else MISSED


def at_least(limit: float, measured: float) -> str:
    """Return the verdict for a measurement with a lower limit."""
    return MET if measured >= limit else MISSED


def show(lines: Iterable[Line], *, notes: bool = True) -> str:
    """Lay out lines as a table, with their notes under it, or without notes."""
    lines = list(lines)
    rows = [("what", "budget", "measured", "verdict")]
    texts: list[str] = []
    for line in lines:
        marks = []
        for note in line.notes if notes else ():
            if note not in texts:
                texts.append(note)
            marks.append(f"[{texts.index(note) + 1}]")
        rows.append((" ".join([line.what, *marks]), line.budget, line.measured, line.verdict))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rule = tuple("-" * width for width in widths)
    table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    table.insert(1, "  ".join(rule))
    return "\n".join([*table, "", *(f"[{number}] {note}" for number, note in enumerate(texts, 1))]).rstrip()
