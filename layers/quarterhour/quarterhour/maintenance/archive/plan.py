"""Planning of the archive, pure: which month is due, why it must wait, and which items a sealed file replaces."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import islice
from typing import Any, Final, NamedTuple

from quarterhour.aws.items import Item
from quarterhour.ledger.postings.segments import (
    PostingValues,
    archived_item,
    count_of,
    is_archived,
    item_key_of,
    key_of,
    place,
    postings_of,
)
from quarterhour.model.errors import SealedFileError
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.reports.keys import Part
from quarterhour.reports.lines import Line, posting_of
from quarterhour.reports.plan import Plan, Proof, SealedFile, sealed_of

AT_A_TIME: Final = 1000
"""How many items are replaced between two looks at the time that is left."""


def last_due(now: datetime, months: int) -> QuarterHour:
    """Return the last quarter-hour that is due: that of the month before the last ``months`` whole months, in UTC."""
    month = Period.of(now.date())
    for _ in range(months + 1):
        month = month.previous
    return QuarterHour.last_of(month.last_day)


def due_since(month: Period, months: int) -> date:
    """Return the day from which a month is due."""
    for _ in range(months + 1):
        month = month.next
    return month.first_day


def days_late(through: QuarterHour, now: datetime, months: int) -> int:
    """Return for how many days a month has been due of which not all is archived; 0 if none is due.

    ``through``: the last quarter-hour that is archived.
    """
    late = now.date() - due_since(Period.of(through.next.day), months)
    return max(late, timedelta()).days


def unsealed(month: Period, sealed_through: QuarterHour | None) -> str | None:
    """Return why a month must wait for the reports; ``None`` if all of it is sealed."""
    if sealed_through is None or sealed_through < QuarterHour.last_of(month.last_day):
        return f"{month} is not sealed to its end"
    return None


def unproven(run: Mapping[str, Any]) -> str | None:
    """Return why the quarter-hours of a run must wait for their proof; ``None`` if all are verified."""
    wanting = {name: proof for name, proof in run["proofs"].items() if proof != Proof.VERIFIED.value}
    return next((f"the proof of {name} is {proof}" for name, proof in sorted(wanting.items())), None)


class PartFile(NamedTuple):
    """A part of a run that has lines, and its sealed file."""

    part: Part
    sealed: SealedFile


def sealed_parts(plan: Plan, run: Mapping[str, Any], manifest: Mapping[str, Any]) -> list[PartFile]:
    """Return the parts of a run that have lines; raise ``SealedFileError`` if its manifest names other files."""
    files = [file for entry in manifest["quarter_hours"] for file in entry["files"]]
    named = {file["key"]: (file["sha256"], file["size"]) for file in files}
    parts = [PartFile(*one) for one in zip(plan.all_parts, sealed_of(plan, run["sealed"]), strict=True)]
    with_lines = [one for one in parts if one.sealed.lines]
    if named != {one.part.lines_key: (one.sealed.sha256, one.sealed.size) for one in with_lines}:
        raise SealedFileError(f"the manifest of the run {plan.run} names other files than the run has sealed")
    return with_lines


def checked(part: Part, items: Iterable[Item], lines: Iterable[Line]) -> Iterator[tuple[Item, Item | None]]:
    """Yield each ledger item of a part with the archived item that replaces it.

    ``lines``: those of the sealed file. ``None`` replaces an item that is archived already, a void, and an item with a
    value that its lines do not hold. Raises ``SealedFileError`` if items and lines are not those of the same postings.
    """
    rest = iter(lines)
    for item in items:
        of_file = [posting_of(line) for line in islice(rest, count_of(item))]
        postings = None if is_archived(item) else postings_of(item)
        if not (_are_in(item, of_file) if postings is None else _are_of(postings, of_file)):
            raise SealedFileError(f"{part.lines_key} does not hold the postings of the ledger item {place(item)}")
        is_whole = bool(postings) and postings == of_file
        yield item, archived_item(item, len(of_file), part.number) if is_whole else None
    if next(rest, None) is not None:
        raise SealedFileError(f"{part.lines_key} holds lines that are not in the ledger")


def _are_in(item: Item, of_file: Sequence[PostingValues]) -> bool:
    """Return whether the postings of lines are as many as those of an archived item, and in it."""
    key = item["quarter_hour"]["S"], item["position"]["S"]
    return len(of_file) == count_of(item) and all(item_key_of(one) == key for one in of_file)


def _are_of(postings: Sequence[PostingValues], of_file: Sequence[PostingValues]) -> bool:
    """Return whether lines are of these postings: the keys, and every value that both have, are the same."""
    return len(postings) == len(of_file) and all(
        key_of(one) == key_of(line) and all(one.get(name, value) == value for name, value in line.items())
        for one, line in zip(postings, of_file, strict=True)
    )


def replacements(pairs: Iterable[tuple[Item, Item | None]]) -> Iterator[Sequence[Item]]:
    """Yield the archived items, some at a time."""
    found = (archived for _, archived in pairs if archived)
    while some := list(islice(found, AT_A_TIME)):
        yield some
