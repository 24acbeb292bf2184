"""The event index, by source and by agency: the ledger keys of events, written when a quarter-hour is sealed.

Orders and customers are in the lookups beside it. A chunk is an item of the Entity table with the keys of many events
of one source, or of one agency. Its content depends only on the events of its quarter-hour, so sealing the quarter-hour
again writes the same chunks.
"""

from collections.abc import Iterable, Iterator, Mapping
from heapq import heappop, heappush
from itertools import islice
from typing import Any, Final

from quarterhour.aws.entity import Range
from quarterhour.ledger.postings.segments import MAX_POSTINGS, LedgerKey
from quarterhour.ledger.reading.lookups import LOOKED_UP, marks
from quarterhour.model.clock import iso_millis, parse_iso
from quarterhour.model.identifiers import ITEM_POSITION_LENGTH, MAX_SHARDS, SEPARATOR, Position
from quarterhour.model.quarter_hours import QuarterHour

MAX_PENDING: Final = 32 << 20
"""Bytes of memory, about, for the keys that wait to be written."""
MAX_CHUNK: Final = 12_000
"""The most characters of the keys of a chunk: 480 segments of one posting, or thousands of postings in larger ones."""

INDEXED: Final[Mapping[str, str]] = {"agency": "AGENCY#", "source": "SOURCE#"}
"""The attributes of an event by which the index finds it, each with the prefix of its chunks' partition keys.

A query that names both uses the first.
"""

_SOURCES: Final = "SOURCES"
"""The partition key of the list of sources."""
_FIRST: Final = " "
_LAST: Final = "\U0010ffff"
"""Before the first and after the last name; no name has a character like the last."""
_QUARTER_HOUR: Final = len("202610230130")
"""The length of the part of a partition that all events of a quarter-hour share."""
_HOUR: Final = len("2026-10-23T01:")
"""The length of the part of a position that all events of a quarter-hour share."""
_INSTANT: Final = len("2026-10-23T01:30:00.000Z")
_KEY: Final = len("330123454JzHX4k3uVijmhMx")
_INDEX: Final = 2
_PENDING_KEY: Final = 64
"""Bytes of memory, about, for the codes of a ledger item and of a posting that are pending."""
_PENDING_NAME: Final = 250
"""Bytes of memory, about, for a source or an agency of which keys are pending."""
_PENDING_VALUE: Final = 120
"""Bytes of memory, about, for an order or a customer that is pending."""
_DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"
_CODES: Final = {f"{SEPARATOR}{shard:02d}": digit for shard, digit in enumerate(_DIGITS[:MAX_SHARDS])}
"""One character for each shard, by the end of its partitions."""
_SHARDS: Final = {digit: shard for shard, digit in _CODES.items()}
_INDEX_CODES: Final = {f".{n:04d}": _DIGITS[n // len(_DIGITS)] + _DIGITS[n % len(_DIGITS)] for n in range(MAX_POSTINGS)}
"""Two characters for each index of a posting in its segment, by the end of its position."""
_INDEXES: Final = {code: index for index, code in _INDEX_CODES.items()}
_BETWEEN: Final = " "


class EventIndex:
    """Collects the ledger keys of a quarter-hour's events by source and by agency, in the order of positions.

    It also collects the orders and the customers of these events, for the lookups.

    To limit its memory, call ``take`` whenever it ``is_full``, and at the end of the quarter-hour. ``names``: all
    sources that were added.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        self._sources: dict[str, _Keys] = {}
        self._agencies: dict[str, _Keys] = {}
        self._looked_up: dict[str, set[str]] = {attribute: set() for attribute in LOOKED_UP}
        self._pending = 0
        self._first = ""
        self._last: Mapping[str, str] = {}
        self._item = self._code = ""

    def add(self, events: Iterable[Mapping[str, str]]) -> None:
        """Add events; all between two calls of ``take`` belong to one quarter-hour."""
        sources, agencies, looked_up = self._sources, self._agencies, self._looked_up.items()
        before = sum(len(values) for _, values in looked_up)
        item, code, partition = self._item, self._code, self._last.get("quarter_hour")
        for event in events:
            position = event["position"]
            if position[:ITEM_POSITION_LENGTH] != item or event["quarter_hour"] != partition:
                item, partition = position[:ITEM_POSITION_LENGTH], event["quarter_hour"]
                packed = item[_HOUR:].replace("Z.", "").replace(":", "").replace(".", "")
                code = f"{_BETWEEN}{_CODES[partition[_QUARTER_HOUR:]]}{packed}"
            index = _INDEX_CODES[position[ITEM_POSITION_LENGTH:]]
            for pending, name in ((sources, event["source"]), (agencies, event["agency"])):
                keys = pending.get(name)
                if keys is None:
                    keys = pending[name] = _Keys()
                    self._pending += _PENDING_NAME
                if keys.item is not code:
                    keys.item = code
                    keys.parts.append(code)
                    self._pending += _PENDING_KEY
                keys.parts.append(index)
            for attribute, values in looked_up:
                if attribute in event:
                    values.add(event[attribute])
            self._pending += _PENDING_KEY
            self._first = self._first or position
            self._last = event
        self._pending += _PENDING_VALUE * (sum(len(values) for _, values in looked_up) - before)
        self._item, self._code = item, code

    @property
    def is_full(self) -> bool:
        """Whether the pending keys take as much memory as they may."""
        return self._pending >= MAX_PENDING

    def take(self) -> Iterator[dict[str, Any]]:
        """Remove the pending keys and values, and yield their chunks as attributes of the Entity table."""
        self._pending = 0
        self.names |= self._sources.keys()
        first, self._first = self._first, ""
        for attribute, values in self._looked_up.items():
            if values:
                yield from marks(attribute, values, QuarterHour.at(Position.parse(first).recorded_at), first)
                values.clear()
        for attribute, pending in (("source", self._sources), ("agency", self._agencies)):
            while pending:
                name, keys = pending.popitem()
                for packed in _chunks("".join(keys.parts)):
                    quarter_hour, hour = self._last["quarter_hour"][:_QUARTER_HOUR], self._last["position"][:_HOUR]
                    _, begins = next(_unpacked(packed, quarter_hour, hour))
                    yield {"pk": INDEXED[attribute] + name, "sk": begins, "packed": packed}


def listed_sources(names: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the items of sources in the list of all sources: ``SOURCES``, ``shop``."""
    return ({"pk": _SOURCES, "sk": name} for name in sorted(names))


def all_sources() -> Range:
    """Return the range of the list of all sources, whose sort keys are their names."""
    return Range(_SOURCES, _FIRST, _LAST)


class _Keys:
    """The keys of one name: of each ledger item its code, then the codes of indexes. ``item``: the last one's."""

    __slots__ = ("item", "parts")

    def __init__(self) -> None:
        self.item = ""
        self.parts: list[str] = []


def _chunks(text: str) -> Iterator[str]:
    """Yield the keys in chunks, cut between two items."""
    start = len(_BETWEEN)
    while start < len(text):
        end = len(text)
        if end - start > MAX_CHUNK:
            end = max(text.rfind(_BETWEEN, start, start + MAX_CHUNK), text.find(_BETWEEN, start + _KEY))
            end = end if end > start else len(text)
        yield text[start:end]
        start = end + len(_BETWEEN)


def _unpacked(packed: str, quarter_hour: str, hour: str) -> Iterator[LedgerKey]:
    for item in packed.split(_BETWEEN):
        partition, position = _key_of(item, quarter_hour, hour)
        for at in range(_KEY, len(item), _INDEX):
            yield partition, position + _INDEXES[item[at : at + _INDEX]]


def _key_of(key: str, quarter_hour: str, hour: str) -> LedgerKey:
    return quarter_hour + _SHARDS[key[0]], f"{hour}{key[1:3]}:{key[3:5]}.{key[5:8]}Z.{key[8:_KEY]}"


def keys_in(values: Mapping[str, Any]) -> Iterator[LedgerKey]:
    """Return the ledger keys that a chunk holds."""
    first = values["sk"]
    quarter_hour = str(QuarterHour.at(Position.parse(first).recorded_at))
    return _unpacked(values["packed"], quarter_hour, first[:_HOUR])


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
