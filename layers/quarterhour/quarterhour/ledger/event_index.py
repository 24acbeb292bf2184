"""The event index, by source and by agency: the ledger keys of events, written when a quarter-hour is sealed.

A chunk is an item of the Entity table with the keys of many events of one source, or of one agency. Its content depends
only on the events of its quarter-hour, so sealing the quarter-hour again writes the same chunks.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import islice
from typing import Any, Final, Self

from quarterhour.aws.entity import Range
from quarterhour.model.clock import iso_millis, parse_iso
from quarterhour.model.identifiers import MAX_SHARDS, SEPARATOR, Position
from quarterhour.model.quarter_hours import QuarterHour

MAX_PENDING: Final = 32 << 20
"""Bytes of memory, about, for the keys that wait to be written."""
KEYS_A_CHUNK: Final = 500
"""The most keys of a chunk: 12 KB."""

LedgerKey = tuple[str, str]
"""The key of an event in the ledger: its partition and its position."""

INDEXED: Final[Mapping[str, str]] = {"source": "SOURCE#", "agency": "AGENCY#"}
"""The attributes of an event by which the index finds it, each with the prefix of its chunks' partition keys."""

_QUARTER_HOUR: Final = len("202610230130")
"""The length of the part of a partition that all events of a quarter-hour share."""
_HOUR: Final = len("2026-10-23T01:")
"""The length of the part of a position that all events of a quarter-hour share."""
_SHARD: Final = len("#03")
_INSTANT: Final = len("2026-10-23T01:30:00.000Z")
_PENDING_KEY: Final = len("330:12.345Z.4JzHX4k3uVijmhMx")
_KEY: Final = len("330123454JzHX4k3uVijmhMx")
_PENDING_EVENT: Final = 2 * _PENDING_KEY
_PENDING_NAME: Final = 250
"""Bytes of memory, about, for a source or an agency of which keys are pending."""
_DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"
_CODES: Final = {f"{SEPARATOR}{shard:02d}": digit for shard, digit in enumerate(_DIGITS[:MAX_SHARDS])}
"""One character for each shard, by the end of its partitions."""
_SHARDS: Final = {digit: shard for shard, digit in _CODES.items()}
_BETWEEN: Final = " "


class EventIndex:
    """Collects the ledger keys of a quarter-hour's events by source and by agency, in the order of positions.

    To limit its memory, call ``take`` whenever it ``is_full``, and at the end of the quarter-hour.
    """

    def __init__(self) -> None:
        self._sources: dict[str, bytearray] = {}
        self._agencies: dict[str, bytearray] = {}
        self._count = 0
        self._last: Mapping[str, str] = {}

    def add(self, event: Mapping[str, str]) -> None:
        """Add an event; all events between two calls of ``take`` belong to one quarter-hour."""
        # Packing all keys of a chunk at once takes half the CPU time of packing each.
        key = (_CODES[event["quarter_hour"][_QUARTER_HOUR:]] + event["position"][_HOUR:]).encode()
        source, agency = event["source"], event["agency"]
        if source in self._sources:
            self._sources[source] += key
        else:
            self._sources[source] = bytearray(key)
        if agency in self._agencies:
            self._agencies[agency] += key
        else:
            self._agencies[agency] = bytearray(key)
        self._count += 1
        self._last = event

    @property
    def is_full(self) -> bool:
        """Whether the pending keys take as much memory as they may."""
        names = len(self._sources) + len(self._agencies)
        return self._count * _PENDING_EVENT + names * _PENDING_NAME >= MAX_PENDING

    def take(self) -> Iterator[dict[str, Any]]:
        """Remove the pending keys, and yield their chunks as attributes of the Entity table."""
        if not self._count:
            return
        partition, position = self._last["quarter_hour"], self._last["position"]
        self._count = 0
        for attribute, pending in (("source", self._sources), ("agency", self._agencies)):
            while pending:
                name, keys = pending.popitem()
                for start in range(0, len(keys), KEYS_A_CHUNK * _PENDING_KEY):
                    some = keys[start : start + KEYS_A_CHUNK * _PENDING_KEY]
                    packed = some.replace(b"Z.", b"").replace(b":", b"").replace(b".", b"").decode()
                    yield _chunk(INDEXED[attribute] + name, partition[:_QUARTER_HOUR], position[:_HOUR], packed)


def _chunk(pk: str, quarter_hour: str, hour: str, packed: str) -> dict[str, Any]:
    _, first = _unpacked(packed[:_KEY], quarter_hour, hour)
    return {"pk": pk, "sk": first, "keys": packed}


def _unpacked(key: str, quarter_hour: str, hour: str) -> LedgerKey:
    return quarter_hour + _SHARDS[key[0]], f"{hour}{key[1:3]}:{key[3:5]}.{key[5:8]}Z.{key[8:]}"


def keys_in(values: Mapping[str, Any]) -> Iterator[LedgerKey]:
    """Yield the ledger keys that a chunk holds, also one that an earlier version wrote (``places``)."""
    first = values["sk"]
    quarter_hour = str(QuarterHour.at(Position.parse(first).recorded_at))
    if "places" in values:
        for place in values["places"].split(_BETWEEN):
            yield quarter_hour + place[:_SHARD], first[:_HOUR] + place[_SHARD:]
        return
    packed = values["keys"]
    for start in range(0, len(packed), _KEY):
        yield _unpacked(packed[start : start + _KEY], quarter_hour, first[:_HOUR])


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


def chunks_between(attribute: str, name: str, low: str, high: str) -> Range:
    """Return the range of the chunks that can hold positions from ``low`` to ``high``, each a position or an instant.

    ``attribute``: source or agency. The sort key of a chunk is its first position, and all its positions belong to one
    quarter-hour.
    """
    start = QuarterHour.at(parse_iso(low[:_INSTANT])).start
    return Range(INDEXED[attribute] + name, iso_millis(start), high, consistent=True)


@dataclass(frozen=True, slots=True)
class IndexedSpan:
    """The quarter-hours whose events are in the index of agencies, both included: all sealed since it began.

    The checkpoint keeps it. Quarter-hours that a version without that index sealed are outside.
    """

    first: QuarterHour
    last: QuarterHour

    def as_list(self) -> list[str]:
        """Return the span as plain values, to be stored."""
        return [str(self.first), str(self.last)]

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self | None:
        """Parse the span from the checkpoint's control item; ``None`` if no quarter-hour is in the index."""
        stored = values.get("agencies_indexed")
        return cls(*map(QuarterHour.parse, stored)) if stored else None
