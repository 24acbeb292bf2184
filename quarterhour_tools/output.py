"""Text for a terminal: values from files and responses made safe, and numbers with their nouns."""

import json
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn
from rich.table import Table

_WIDEST: Final = 1_000_000


def counted(number: int, thing: str) -> str:
    """Return a number with its noun: ``1 line``, ``2,000 lines``."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def plain_console() -> Console:
    """Return the console of a command's result: a line stays one line, however narrow the terminal or the pipe."""
    return Console(highlight=False, markup=False, soft_wrap=True)


def print_table(console: Console, table: Table) -> None:
    """Print a table as wide as its cells, so that none is cut or folded; a narrow terminal breaks its lines."""
    width = console.measure(table, options=console.options.update(max_width=_WIDEST)).maximum
    Console(file=console.file, width=max(width, console.width), highlight=False, quiet=console.quiet).print(table)


def as_json(value: object) -> str:
    """Return JSON for people and programs, with each unprintable character of a string escaped."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    return "".join(one if one.isprintable() or one == "\n" else json.dumps(one)[1:-1] for one in text)


def progress_bar(console: Console) -> Progress:
    """Return a progress bar, which only a terminal shows; each of its tasks has a ``status``."""
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[status]}"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
