"""Timelines: which version of a document is in force at an instant, the newest of those that are valid then."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from quarterhour.model.clock import iso_exact, parse_iso


class Start(NamedTuple):
    """From when on a version of a card can be in force."""

    version: int
    valid_from: datetime


Timeline = tuple[Start, ...]
"""The versions of a card that are in force at some time, rising in both; each until the next one starts."""


def timeline_of(latest: Mapping[str, Any]) -> Timeline:
    """Read the timeline from the latest version of a card's document."""
    return tuple(Start(int(version), parse_iso(valid_from)) for version, valid_from in latest["timeline"])


def timeline_values(timeline: Timeline) -> list[list[Any]]:
    """Return the timeline as it is stored."""
    return [[start.version, iso_exact(start.valid_from)] for start in timeline]


def with_start(timeline: Sequence[Start], new: Start) -> Timeline:
    """Return the timeline with a new version, which takes the place of all that would start at its start or later."""
    return (*(start for start in timeline if start.valid_from < new.valid_from), new)


def version_at(timeline: Sequence[Start], at: datetime) -> int | None:
    """Return the version in force at an instant; ``None`` before the first."""
    return next((start.version for start in reversed(timeline) if start.valid_from <= at), None)
