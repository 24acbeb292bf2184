"""Timelines: the version of a document in force at an instant, which is the newest of the valid ones."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from quarterhour.model.clock import iso_exact, parse_iso


class Start(NamedTuple):
    """A version of a document, and the instant from which it is in force."""

    version: int
    valid_from: datetime


Timeline = tuple[Start, ...]
"""The versions of a document that are ever in force, in rising order of version and instant; each ends at the next."""


def timeline_of(latest: Mapping[str, Any]) -> Timeline:
    """Return the timeline stored with the latest version of a document."""
    return tuple(Start(int(version), parse_iso(valid_from)) for version, valid_from in latest["timeline"])


def timeline_values(timeline: Timeline) -> list[list[Any]]:
    """Return the timeline as it is stored."""
    return [[start.version, iso_exact(start.valid_from)] for start in timeline]


def with_start(timeline: Sequence[Start], new: Start) -> Timeline:
    """Return the timeline with a new version, without the versions that start at its start or later."""
    return (*(start for start in timeline if start.valid_from < new.valid_from), new)


def version_at(timeline: Sequence[Start], at: datetime) -> int | None:
    """Return the version in force at an instant, or ``None`` before the first."""
    return next((start.version for start in reversed(timeline) if start.valid_from <= at), None)
