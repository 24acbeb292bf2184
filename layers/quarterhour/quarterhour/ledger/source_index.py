"""The index of each source: the ledger keys of its events, written when a quarter-hour is sealed.

A chunk is an item of the Entity table with the keys of many events of one source. Its content depends only on the
events of its quarter-hour, so sealing the quarter-hour again writes the same chunks.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from itertools import islice
from typing import Any, Final

from quarterhour.aws.entity import Range
from quarterhour.model.clock import iso_millis, parse_iso
from quarterhour.model.identifiers import Position
from quarterhour.model.quarter_hours import QuarterHour

MAX_PENDING: Final = 5000
"""Keys that wait to be written: about 150 KB, which one chunk can hold."""

LedgerKey = tuple[str, str]
"""The key of an event in the ledger: its partition and its position."""

_SOURCES: Final = "SOURCE#"
_QUARTER_HOUR: Final = len("202610230130")
"""The length of the part of a partition that all events of a quarter-hour share."""
_HOUR: Final = len("2026-10-23T01:")
"""The length of the part of a position that all events of a quarter-hour share."""
_SHARD: Final = len("#03")
_INSTANT: Final = len("2026-10-23T01:30:00.000Z")
_BETWEEN: Final = " "


class SourceIndex:
    """Collects the ledger keys of a quarter-hour's events by source, in the order of positions.

    To limit its memory, call ``take`` whenever it ``is_full``, and at the end of the quarter-hour.
    """

    def __init__(self) -> None:
        self._pending: defaultdict[str, list[LedgerKey]] = defaultdict(list)
        self._count = 0

    def add(self, event: Mapping[str, str]) -> None:
        """Add an event; all events between two calls of ``take`` belong to one quarter-hour."""
        self._pending[event["source"]].append((event["quarter_hour"], event["position"]))
        self._count += 1

    @property
    def is_full(self) -> bool:
        """Whether as many keys are pending as one chunk can hold."""
        return self._count >= MAX_PENDING

    def take(self) -> list[dict[str, Any]]:
        """Remove and return the chunks of all pending keys, as attributes of the Entity table."""
        chunks = [chunk(source, keys) for source, keys in self._pending.items()]
        self._pending.clear()
        self._count = 0
        return chunks


def chunk(source: str, keys: Sequence[LedgerKey]) -> dict[str, Any]:
    """Return the attributes of a chunk: keys of one source in one quarter-hour, in the order of positions."""
    _, first = keys[0]
    shortened = _BETWEEN.join(partition[_QUARTER_HOUR:] + position[_HOUR:] for partition, position in keys)
    return {"pk": _SOURCES + source, "sk": first, "places": shortened}


def keys_in(values: Mapping[str, Any]) -> Iterator[LedgerKey]:
    """Yield the ledger keys that a chunk holds."""
    first = values["sk"]
    quarter_hour = str(QuarterHour.at(Position.parse(first).recorded_at))
    for shortened in values["places"].split(_BETWEEN):
        yield quarter_hour + shortened[:_SHARD], first[:_HOUR] + shortened[_SHARD:]


def merged(chunks: Iterable[Mapping[str, Any]]) -> Iterator[LedgerKey]:
    """Yield the ledger keys of chunks in the order of positions; the chunks must be in the order of their keys.

    The chunks of one part of a quarter-hour follow each other, those of several parts overlap. So few are open at once.
    """
    opened: list[tuple[str, str, int, Iterator[LedgerKey]]] = []

    def open_next(number: int, keys: Iterator[LedgerKey]) -> None:
        for partition, position in islice(keys, 1):
            heappush(opened, (position, partition, number, keys))

    def rising(before: str | None) -> Iterator[LedgerKey]:
        while opened and (before is None or opened[0][0] < before):
            position, partition, number, keys = heappop(opened)
            yield partition, position
            open_next(number, keys)

    for number, values in enumerate(chunks):
        yield from rising(values["sk"])
        open_next(number, keys_in(values))
    yield from rising(None)


def chunks_between(source: str, low: str, high: str) -> Range:
    """Return the range of the chunks that can hold positions from ``low`` to ``high``, each a position or an instant.

    The sort key of a chunk is its first position, and all its positions belong to one quarter-hour.
    """
    start = QuarterHour.at(parse_iso(low[:_INSTANT])).start
    return Range(_SOURCES + source, iso_millis(start), high, consistent=True)
