"""The result of a file of the inbox: how far it was read, what became of its events, and the first problems."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any, Final, NamedTuple, Self

from quarterhour.intake.messages import PARKED
from quarterhour.ledger.recording.outcomes import Outcome
from quarterhour.model.errors import in_words

MAX_PROBLEMS: Final = 100
"""The most problems that a result lists; the others are counted."""
_LONGEST_REASON: Final = 500


class FileStatus(StrEnum):
    """What became of a file as a whole."""

    READING = "reading"
    DONE = "done"
    FAILED = "failed"
    REPLACED = "replaced"


class Problem(NamedTuple):
    """The problem of an event or a row: its line, the verdict, the event's identity if it has one, and the reason."""

    line: int
    verdict: str
    source: str | None
    id: str | None
    reason: str

    @classmethod
    def of(cls, line: int, outcome: Outcome) -> Self:
        """Return the problem of an event that was not recorded."""
        return cls(line, outcome.verdict.value, outcome.source, outcome.id, in_words(outcome.problems))


@dataclass(frozen=True, slots=True)
class FileVersion:
    """One content of a file, and its upload: a file that is uploaded again is read again."""

    key: str
    etag: str
    upload: str


@dataclass(frozen=True, slots=True)
class FileResult:
    """The result of a file so far.

    ``part``: the number of parts that are done. ``offset``: the bytes of content that they have read. ``line``: the
    number of lines before it. ``place``: what a CSV file needs to go on there. ``rows``: what became of the rows of a
    CSV file. ``left_out``: the number of problems that are not listed. ``before_first_period``: how many events were
    recorded that count before the first period, and so are on no statement.
    """

    file: FileVersion
    status: FileStatus
    began_at: str
    ended_at: str | None = None
    reason: str | None = None
    part: int = 0
    offset: int = 0
    line: int = 0
    place: str | None = None
    counts: dict[str, int] | None = None
    rows: Mapping[str, Any] | None = None
    problems: tuple[Problem, ...] = ()
    left_out: int = 0
    before_first_period: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether the whole file was read, and each of its events is recorded, a duplicate or held."""
        return self.status is FileStatus.DONE and not self.problems

    def plus(self, outcomes: Sequence[Outcome], problems: Iterable[Problem]) -> Self:
        """Return the result with the outcomes of more events, and the problems of more events and rows."""
        counts = Counter(self.counts or {})
        counts.update(outcome.verdict.value for outcome in outcomes)
        more = list(problems)
        counts[BAD_ROW] += sum(one.verdict == BAD_ROW for one in more)
        shown = [one._replace(reason=one.reason[:_LONGEST_REASON]) for one in more[: MAX_PROBLEMS - len(self.problems)]]
        return replace(
            self,
            counts={name: number for name, number in counts.items() if number},
            problems=(*self.problems, *shown),
            left_out=self.left_out + len(more) - len(shown),
            before_first_period=self.before_first_period + sum(one.before is not None for one in outcomes),
        )

    def as_json(self) -> bytes:
        """Return the content of the result's object."""
        values = {**asdict(self), "counts": self.counts or {}}
        values["problems"] = [one._asdict() for one in self.problems]
        return (json.dumps({**values.pop("file"), **values}, indent=2) + "\n").encode()

    @classmethod
    def parse(cls, content: bytes) -> Self:
        """Return the result of an object's content."""
        values: dict[str, Any] = json.loads(content)
        file = FileVersion(*(values.pop(name) for name in ("key", "etag", "upload")))
        problems = tuple(Problem(**one) for one in values.pop("problems"))
        return cls(file, FileStatus(values.pop("status")), problems=problems, **values)


BAD_ROW: Final = "bad row"
"""The verdict on a row of which no event could be made."""


def problems_of(lines: Sequence[int], outcomes: Sequence[Outcome]) -> list[Problem]:
    """Return the problems of the events that can never be recorded as they are, each with its line."""
    return [Problem.of(line, one) for line, one in zip(lines, outcomes, strict=True) if one.verdict in PARKED]
