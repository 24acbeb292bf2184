"""The log of each source: where its events stand in the ledger, noted a quarter-hour at a time and not with each event.

A chunk, an item of the Entity table, names the places of many events of one source. What it holds follows from its
quarter-hour's events alone: however often that is sealed, the log says the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from quarterhour.aws.entity import Range
from quarterhour.model.clock import iso_millis, parse_iso
from quarterhour.model.identifiers import Position
from quarterhour.model.quarter_hours import QuarterHour

MOST_WAITING: Final = 5000
"""Places that wait to be noted: about 150 KB, which one chunk can hold."""

Place = tuple[str, str]
"""The key of an event in the ledger: its partition and its position."""

_SOURCES: Final = "SOURCE#"
_QUARTER: Final = len("202610230130")
_HOUR: Final = len("2026-10-23T01:")
"""How much of a partition, and of a position, is the same for all of a quarter-hour."""
_SHARD: Final = len("#03")
_INSTANT: Final = len("2026-10-23T01:30:00.000Z")
_BETWEEN: Final = " "


class SourceIndex:
    """Collects where the events of a quarter-hour are, by source, in the order of their positions.

    ``take`` empties it, before it needs much room: whenever it ``is_full``, and at the end of the quarter-hour.
    """

    def __init__(self) -> None:
        self._waiting: dict[str, list[Place]] = {}
        self._count = 0

    def add(self, event: Mapping[str, str]) -> None:
        """Add an event; all events come from one quarter-hour."""
        self._waiting.setdefault(event["source"], []).append((event["quarter_hour"], event["position"]))
        self._count += 1

    @property
    def is_full(self) -> bool:
        """Whether as many places wait as one chunk can hold."""
        return self._count >= MOST_WAITING

    def take(self) -> list[dict[str, Any]]:
        """Remove and return the chunks of all places that wait, as attributes of the Entity table."""
        chunks = [chunk(source, places) for source, places in self._waiting.items()]
        self._waiting, self._count = {}, 0
        return chunks


def chunk(source: str, places: Sequence[Place]) -> dict[str, Any]:
    """Return the attributes of a chunk: places of one source in one quarter-hour, in the order of their positions."""
    _, first = places[0]
    told = _BETWEEN.join(partition[_QUARTER:] + position[_HOUR:] for partition, position in places)
    return {"pk": _SOURCES + source, "sk": first, "places": told}


def places_of(values: Mapping[str, Any]) -> Iterator[Place]:
    """Read the places that a chunk names."""
    first = values["sk"]
    quarter_hour = str(QuarterHour.at(Position.parse(first).recorded_at))
    for told in values["places"].split(_BETWEEN):
        yield quarter_hour + told[:_SHARD], first[:_HOUR] + told[_SHARD:]


def chunks_between(source: str, low: str, high: str) -> Range:
    """Return the chunks that can name positions between two, either of which may be an instant alone.

    A chunk stands at the first position that it names, and names none of another quarter-hour.
    """
    start = QuarterHour.at(parse_iso(low[:_INSTANT])).start
    return Range(_SOURCES + source, iso_millis(start), high, consistent=True)
