"""Timelines: the version of a document in force at an instant, which is the newest of the valid ones."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from quarterhour.model.clock import iso_exact, parse_iso


class Start(NamedTuple):
    """A version of a document, the instant from which it is in force, and the label of its content, such as a group."""

    version: int
    valid_from: datetime
    label: str = ""


Timeline = tuple[Start, ...]
"""The versions of a document that are ever in force, in rising order of version and instant; each ends at the next."""


def timeline_of(latest: Mapping[str, Any]) -> Timeline:
    """Return the timeline stored with the latest version of a document."""
    return tuple(Start(int(version), parse_iso(since), *label) for version, since, *label in latest["timeline"])


def timeline_values(timeline: Timeline) -> list[list[Any]]:
    """Return the timeline as it is stored."""
    return [[start.version, iso_exact(start.valid_from), *([start.label] if start.label else [])] for start in timeline]


def with_start(timeline: Sequence[Start], new: Start) -> Timeline:
    """Return the timeline with a new version, without the versions that start at its start or later."""
    return (*(start for start in timeline if start.valid_from < new.valid_from), new)


def start_at(timeline: Sequence[Start], at: datetime) -> Start | None:
    """Return the start of the version in force at an instant, or ``None`` before the first."""
    return next((start for start in reversed(timeline) if start.valid_from <= at), None)


def version_at(timeline: Sequence[Start], at: datetime) -> int | None:
    """Return the version in force at an instant, or ``None`` before the first."""
    start = start_at(timeline, at)
    return None if start is None else start.version
