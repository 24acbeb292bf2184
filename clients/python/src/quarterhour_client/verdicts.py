"""The outcome of each event: a verdict of the server, with its receipt or its reasons."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping


class Verdict(str, Enum):
    """What the server has made of an event."""

    RECORDED = "recorded"
    DUPLICATE = "duplicate"
    HELD = "held"
    CONFLICT = "conflict"
    REJECTED = "rejected"
    UNAVAILABLE = "unavailable"

    __hash__ = str.__hash__  # an enumeration's own is written in Python, and each event is counted by its verdict

    @property
    def is_stored(self) -> bool:
        """Whether the server has the event: it need not be sent again."""
        return self in _STORED

    @property
    def is_parked(self) -> bool:
        """Whether the event waits for a person: sent again unchanged, it would have the same verdict."""
        return self in _PARKED


_STORED = frozenset({Verdict.RECORDED, Verdict.DUPLICATE, Verdict.HELD})
_PARKED = frozenset({Verdict.CONFLICT, Verdict.REJECTED})


class Problem(NamedTuple):
    """What is wrong with a field, and what is expected there."""

    field: str
    problem: str
    expected: str


class Result(NamedTuple):
    """The outcome of an event.

    ``receipt`` is where the ledger has it; ``held`` is what a held event waits for; ``problems`` are the reasons of
    any other verdict, and of a held one. ``before_first_period`` is the first month with statements, if the event is
    recorded and counts before it: it is on no statement.
    """

    source: str
    id: str
    verdict: Verdict
    receipt: Mapping[str, Any] | None = None
    held: str | None = None
    problems: tuple[Problem, ...] = ()
    before_first_period: str | None = None
