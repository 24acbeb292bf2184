"""Segments, pure: the ledger items that hold the postings of a request, and the one reader of all ledger items.

A segment holds up to ``MAX_POSTINGS`` postings as compressed JSON: a list of values for each name, as the values of one
name are alike. The position of a posting is that of the segment and its index there. A void is a segment without
postings: it keeps every other segment from getting its key.

Nothing outside ``ledger/`` knows how postings are stored: all others get them as text by name.

An archived item keeps its key and its count. Its postings are in the sealed file of its quarter-hour alone.
"""

import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from quarterhour.aws.items import Item, binary, bytes_of
from quarterhour.model.errors import LedgerItemError
from quarterhour.model.identifiers import ITEM_POSITION_LENGTH, Identity, Partition, Position, item_position
from quarterhour.model.schema import SCHEMA, check_schema

MAX_POSTINGS: Final = 500
"""The most postings of a segment."""
MAX_BYTES: Final = 64 << 10
"""The most bytes of a segment's postings, compressed; a single posting may have more."""
_ARCHIVED: Final = "archived"
"""What an archived item has as its ``schema``: so no reader takes it for a segment without postings."""
_LARGEST_POSTING: Final = 400 << 10
"""Bytes of JSON that a posting can have at most."""
_LARGEST_UNPACKED: Final = 8 << 20
_LEVEL: Final = 1
_OF_KEY: Final = frozenset({"quarter_hour", "position", "recorded_at"})
"""The values of a posting that follow from the key of its segment."""
_IDENTITY: Final = frozenset({"source", "id"})
_NAMES: Final = frozenset({"quarter_hour", "position", "schema", "count", "events"})
_SUFFIXES: Final = [f".{index:04d}" for index in range(MAX_POSTINGS)]
"""What the position of a posting has behind that of its segment, by index."""
_INSTANT: Final = len("2026-10-23T01:30:12.345Z")

LedgerKey = tuple[str, str]
"""The key of a posting: its partition and its position."""
PostingValues = dict[str, str]
"""A posting: its attributes as text by name, with ``quarter_hour``, ``position`` and ``recorded_at``."""


@dataclass(frozen=True, slots=True)
class SegmentKey:
    """The key of a segment: its partition and its position."""

    partition: Partition
    position: Position

    @property
    def values(self) -> dict[str, str]:
        """The attributes of the key."""
        return {"quarter_hour": str(self.partition), "position": str(self.position)}


# ---------------------------------------------------------------- writing


def packed(postings: Iterable[Mapping[str, str] | None]) -> bytes:
    """Return the postings of a segment, compressed; ``None`` in the place of an index that no posting has."""
    return zlib.compress(_text(postings), _LEVEL)


def _text(postings: Iterable[Mapping[str, str] | None]) -> bytes:
    rows = [posting or {} for posting in postings]
    names = [name for name in dict.fromkeys(chain.from_iterable(rows)) if name not in _OF_KEY]
    columns = {name: [row.get(name) for row in rows] for name in names}
    return json.dumps(columns, ensure_ascii=False, separators=(",", ":")).encode()


def segment_item(key: SegmentKey, count: int, events: bytes) -> Item:
    """Return the item of a segment with ``count`` postings that ``packed`` returned."""
    return {**void_item(key), "count": {"N": str(count)}, "events": binary(events)}


def void_item(key: SegmentKey) -> Item:
    """Return the item of a void."""
    return {
        **{name: {"S": value} for name, value in key.values.items()},
        "count": {"N": "0"},
        "schema": {"S": str(SCHEMA)},
    }


def archived_item(item: Item, count: int, part: int | None) -> Item:
    """Return what is kept of an item whose ``count`` postings are in a sealed file.

    ``part``: the number of that file, if the quarter-hour has several.
    """
    key = {name: item[name] for name in ("quarter_hour", "position")}
    of_part = {} if part is None else {"part": {"N": str(part)}}
    return {**key, "count": {"N": str(count)}, "schema": {"S": _ARCHIVED}, **of_part}


def parts(postings: Sequence[Mapping[str, str]]) -> Iterator[tuple[Sequence[Mapping[str, str]], bytes]]:
    """Cut postings into those of one segment each, in their order; yield each part with its bytes."""
    for start in range(0, len(postings), MAX_POSTINGS):
        yield from _halves(postings[start : start + MAX_POSTINGS])


def _halves(postings: Sequence[Mapping[str, str]]) -> Iterator[tuple[Sequence[Mapping[str, str]], bytes]]:
    text = _text(postings)
    events = zlib.compress(text, _LEVEL)
    if (len(events) <= MAX_BYTES and len(text) <= _LARGEST_UNPACKED) or len(postings) == 1:
        yield postings, events
        return
    middle = len(postings) // 2
    yield from _halves(postings[:middle])
    yield from _halves(postings[middle:])


# ---------------------------------------------------------------- reading


def postings_of(item: Item) -> list[PostingValues]:
    """Return the postings that a ledger item holds, in the order of their positions: of a void, none.

    Raises ``LedgerItemError``, which names partition and position, for an item that cannot be read.
    """
    try:
        return _postings(item)
    except (ValueError, KeyError, TypeError, RecursionError, zlib.error) as error:
        raise LedgerItemError(place(item), error) from error


def is_archived(item: Item) -> bool:
    """Return whether the postings of a ledger item are in a sealed file, and no longer in the item."""
    return bool(item.get("schema") == {"S": _ARCHIVED})


def part_of(item: Item) -> int | None:
    """Return the number of the sealed file that holds the postings of an archived item; ``None`` for the only one."""
    return int(item["part"]["N"]) if "part" in item else None


def count_of(item: Item) -> int:
    """Return how many postings a ledger item has, archived or not."""
    return int(item["count"]["N"])


def unarchived_item(item: Item, postings: Sequence[PostingValues]) -> Item:
    """Return an archived item with its postings again, as it was before; they are in the order of their positions.

    Raises ``LedgerItemError`` if they are not as many as the item had.
    """
    if len(postings) != count_of(item):
        problem = ValueError(f"{len(postings)} of its {count_of(item)} postings are in the sealed file")
        raise LedgerItemError(place(item), problem)
    return segment_of(postings)


def segment_of(postings: Sequence[PostingValues]) -> Item:
    """Return the item of a segment that holds some of its postings alone, each at its index; they are in order."""
    rows: list[PostingValues | None] = []
    for posting in postings:
        index = int(posting["position"][ITEM_POSITION_LENGTH + 1 :])
        rows += [None] * (index - len(rows))
        rows.append(posting)
    partition, position = item_key_of(postings[0])
    return segment_item(SegmentKey(Partition.parse(partition), Position.parse(position)), len(postings), packed(rows))


def posting_at(item: Item, position: str) -> PostingValues | None:
    """Return the posting with a position that a ledger item holds; ``None`` if it holds none there.

    Raises as ``postings_of`` does.
    """
    return next((posting for posting in postings_of(item) if posting["position"] == position), None)


def identity_of(posting: Mapping[str, str]) -> Identity:
    """Return the identity of a posting's event."""
    return Identity(posting["source"], posting["id"])


def key_of(posting: Mapping[str, str]) -> LedgerKey:
    """Return the key of a posting."""
    return posting["quarter_hour"], posting["position"]


def key_of_item(key: LedgerKey) -> dict[str, str]:
    """Return the key of the ledger item that holds a posting."""
    partition, position = key
    return {"quarter_hour": partition, "position": item_position(position)}


def item_key_of(posting: Mapping[str, str]) -> LedgerKey:
    """Return the key of the ledger item that holds a posting."""
    return posting["quarter_hour"], item_position(posting["position"])


def place(item: Item) -> str:
    """Return partition and position of an item; ``?`` for what is missing."""
    return " ".join(str(item.get(name, {}).get("S", "?")) for name in ("quarter_hour", "position"))


def _postings(item: Item) -> list[PostingValues]:
    if is_archived(item):
        raise ValueError("it is archived: its postings are in the sealed file of its quarter-hour")
    schema = item["schema"].get("S", "")
    check_schema(int(schema) if schema.isdecimal() else schema)
    return list(_of_segment(item))


def _of_segment(item: Item) -> Iterator[PostingValues]:
    if unknown := item.keys() - _NAMES:
        raise ValueError(f"not of a segment: {', '.join(sorted(unknown))}")
    partition, position = item["quarter_hour"]["S"], item["position"]["S"]
    if str(Partition.parse(partition)) != partition or Position.parse(position).index is not None:
        raise ValueError("the key is not that of a segment")
    count = int(item["count"]["N"])
    rows = _unpacked(bytes_of(item["events"]), count) if count or "events" in item else []
    recorded_at = position[:_INSTANT]
    for index, row in enumerate(rows):
        if row is not None:
            row["quarter_hour"] = partition
            row["position"] = position + _SUFFIXES[index]
            row["recorded_at"] = recorded_at
            yield row


def _unpacked(events: bytes, count: int) -> list[PostingValues | None]:
    """Return the postings in the bytes of a segment by index; ``None`` for an index that no posting has.

    Raises ``ValueError`` or ``zlib.error`` for bytes that are no segment of so many postings.
    """
    if not 0 < count <= MAX_POSTINGS:
        raise ValueError(f"{count} postings in a segment")
    largest = min(count * _LARGEST_POSTING, _LARGEST_UNPACKED)
    stream = zlib.decompressobj()
    text = stream.decompress(events, largest)
    if not stream.eof or stream.unused_data:
        what = (
            f"more than {largest:,} bytes"
            if stream.unconsumed_tail
            else "bytes that are cut off, or followed by others"
        )
        raise ValueError(f"the segment holds {what}")
    columns: Any = json.loads(text.decode())  # what `loads` does to find the encoding takes a third of its time
    if not _are_columns(columns):
        raise ValueError("the segment holds other values than postings")
    rows = _rows(columns)
    if not all(map(_IDENTITY.issubset, filter(None, rows))):
        raise ValueError("the segment holds a posting without an identity")
    if len(rows) - rows.count(None) != count:
        raise ValueError(f"the segment holds {len(rows) - rows.count(None)} postings, and says {count}")
    return rows


def _are_columns(columns: Any) -> bool:  # noqa: ANN401 - JSON
    # All values at a time: a check of each would take as long as its parsing.
    if type(columns) is not dict or {*map(type, columns.values())} != {list} or not _OF_KEY.isdisjoint(columns):
        return False
    lengths = {*map(len, columns.values())}
    values = {*map(type, chain.from_iterable(columns.values()))}
    return len(lengths) == 1 and max(lengths) <= MAX_POSTINGS and values <= {str, type(None)}


def _rows(columns: Mapping[str, Sequence[str | None]]) -> list[PostingValues | None]:
    names, rows = tuple(columns), zip(*columns.values(), strict=True)
    if not any(None in column for column in columns.values()):
        return [dict(zip(names, row, strict=True)) for row in rows]
    return [{name: value for name, value in zip(names, row, strict=True) if value is not None} or None for row in rows]
