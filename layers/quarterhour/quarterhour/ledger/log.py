"""The log of each source: where its events stand in the ledger, noted a quarter-hour at a time and not with each event.

A chunk, an item of the Entity table, names the places of many events of one source. What it holds follows from its
quarter-hour's events alone: however often that is sealed, the log says the same.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from quarterhour.clock import iso_millis, parse_iso
from quarterhour.ledger.keys import Position
from quarterhour.quarters import Quarter
from quarterhour.reading import Range

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


class SourceLog:
    """Notes where events stand, each in turn of its position, and hands chunks on before they take much room."""

    def __init__(self, keep: Callable[[Sequence[dict[str, Any]]], None]) -> None:
        """Take what keeps chunks, given as the Entity table's attributes."""
        self._keep = keep
        self._waiting: dict[str, list[Place]] = {}
        self._count = 0

    def add(self, event: Mapping[str, str]) -> None:
        """Note an event; all come from one quarter-hour until ``flush`` is called."""
        self._waiting.setdefault(event["source"], []).append((event["quarter_hour"], event["position"]))
        self._count += 1
        if self._count == MOST_WAITING:
            self.flush()

    def flush(self) -> None:
        """Hand on all that waits."""
        if self._waiting:
            self._keep([chunk(source, places) for source, places in self._waiting.items()])
        self._waiting, self._count = {}, 0


def chunk(source: str, places: Sequence[Place]) -> dict[str, Any]:
    """Return the attributes of a chunk: places of one source in one quarter-hour, in the order of their positions."""
    _, first = places[0]
    told = _BETWEEN.join(partition[_QUARTER:] + position[_HOUR:] for partition, position in places)
    return {"pk": _SOURCES + source, "sk": first, "places": told}


def places_of(values: Mapping[str, Any]) -> Iterator[Place]:
    """Read the places that a chunk names."""
    first = values["sk"]
    quarter = str(Quarter.at(Position.parse(first).recorded_at))
    for told in values["places"].split(_BETWEEN):
        yield quarter + told[:_SHARD], first[:_HOUR] + told[_SHARD:]


def chunks_between(source: str, low: str, high: str) -> Range:
    """Return the chunks that can name positions between two, either of which may be an instant alone.

    A chunk stands at the first position that it names, and names none of another quarter-hour.
    """
    start = Quarter.at(parse_iso(low[:_INSTANT])).start
    return Range(_SOURCES + source, iso_millis(start), high, consistent=True)
