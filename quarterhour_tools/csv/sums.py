"""What became of the rows of a file, in words: a line for each kind of rows with its sums, then the counts."""

from collections.abc import Iterator

from quarterhour.file_formats.csv.summary import FileSummary, RowSums
from quarterhour.model import money
from quarterhour.model.fields import printable
from quarterhour_tools.output import counted


def lines_of(summary: FileSummary) -> Iterator[str]:
    """Yield the lines."""
    yield from sums_of_rows(summary, "events")
    whole = summary.file
    excluded = whole.rows - summary.converted.rows - summary.bad.rows
    counts = [counted(whole.rows, "row"), counted(summary.events, "event")]
    counts += [f"{excluded:,} excluded"] if excluded else []
    counts += [counted(summary.bad.rows, "bad row")]
    counts += [f"{counted(summary.problems, 'problem')} of the file"] if summary.problems else []
    yield ", ".join(counts)


def sums_of_rows(summary: FileSummary, made: str) -> Iterator[str]:
    """Yield the sums of each kind of rows, of which some became what is ``made``, and of the file."""
    if summary.excluded or summary.bad.rows:
        yield f"{made}: {_sums(summary.converted)}"
        for rule, sums in summary.excluded.items():
            yield printable(f"excluded, {rule}: {_sums(sums)}")
        if summary.bad.rows:
            yield f"bad: {_sums(summary.bad)}"
    yield f"file: {_sums(summary.file)}"


def _sums(sums: RowSums) -> str:
    amounts = [f"{money.plain(amount)} {currency}" for currency, amount in sorted(sums.amounts.items())]
    unread = [f"{sums.unread:,} without an amount that can be read"] if sums.unread else []
    return ", ".join([counted(sums.rows, "row"), *amounts, *unread])
