"""A table: its items by key, the order of its partitions and indexes, and its stream."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from operator import itemgetter
from typing import Any, Final, NamedTuple

from quarterhour_tools.emulator.dynamodb.errors import InvalidCallError
from quarterhour_tools.emulator.dynamodb.sizes import Index, item_size, item_write_units, keys_of
from quarterhour_tools.emulator.dynamodb.stream import Stream
from quarterhour_tools.emulator.dynamodb.values import Item, Sortable, Value, normal_item, sortable

Key = tuple[Sortable, Sortable]
"""The place of an item: its partition, and its place there; that is ``""`` in a table without a range key."""

LARGEST_ITEM: Final = 400 << 10
_MOST_BYTES: Final = (2048, 1024)
"""The most bytes of a hash key and of a range key."""
_INVALID: Final = "One or more parameter values were invalid: "
_EMPTY: Final = "The AttributeValue for a key attribute cannot contain an empty string value."
_NOT_VALID: Final = "One or more parameter values are not valid. "


class StoredItem(NamedTuple):
    """A stored item, and its bytes."""

    item: Item
    size: int


class Range(NamedTuple):
    """A condition on the range key: an operator of a key condition, and its values."""

    operator: str
    values: tuple[Sortable, ...]


@dataclass(slots=True)
class IndexOrder:
    """A secondary index: for each hash key, the places of its items by range key."""

    name: str
    index: Index
    orders: dict[Sortable, list[tuple[Sortable, Key]]] = field(default_factory=dict)

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of its keys."""
        return self.index.keys

    def entry(self, item: Item) -> tuple[Sortable, Sortable] | None:
        """Return hash and range of an item's entry; ``None`` if the index does not hold it."""
        if any(name not in item for name in self.keys):
            return None
        first, *rest = (sortable(item[name]) for name in self.keys)
        return first, rest[0] if rest else ""

    def shown(self, item: Item) -> Item:
        """Return what the index holds of an item."""
        projected = self.index.projected
        return item if projected is None else {name: value for name, value in item.items() if name in projected}


class Table:
    """The items of a table. ``described`` is what created it: a CreateTable request."""

    def __init__(self, described: Mapping[str, Any], region: str, account: str) -> None:
        self.described = described
        self.name: str = described["TableName"]
        self.arn = f"arn:aws:dynamodb:{region}:{account}:table/{self.name}"
        self.keys = keys_of(described)
        self.types = {one["AttributeName"]: one["AttributeType"] for one in described["AttributeDefinitions"]}
        self.indexes = {
            one["IndexName"]: IndexOrder(one["IndexName"], Index.of(one, self.keys))
            for one in described.get("GlobalSecondaryIndexes", [])
        }
        self.lifetime = ""
        """The attribute that says when an item expires, in seconds of the epoch; empty: none does."""
        stream = described.get("StreamSpecification", {})
        self.stream = (
            Stream(self.name, region, account, stream["StreamViewType"]) if stream.get("StreamEnabled") else None
        )
        self.rows: dict[Key, StoredItem] = {}
        self._orders: dict[Sortable, list[Sortable]] = {}
        self._sorted: list[Key] | None = None
        self._sized = [one.index for one in self.indexes.values()]

    @property
    def size(self) -> int:
        """The bytes of all items."""
        return sum(row.size for row in self.rows.values())

    # ------------------------------------------------------------ keys

    def key(self, values: Mapping[str, Value]) -> Key:
        """Return the place that a key names; raise ``InvalidCallError`` if it is not a key of this table."""
        if values.keys() != set(self.keys):
            raise InvalidCallError("The provided key element does not match the schema")
        return self.place(values)

    def place(self, item: Mapping[str, Value]) -> Key:
        """Return the place of an item; raise ``InvalidCallError`` if its key is missing or invalid."""
        parts = []
        for name, most in zip(self.keys, _MOST_BYTES, strict=False):
            if name not in item:
                raise InvalidCallError(f"{_INVALID}Missing the key {name} in the item")
            ((kind, content),) = item[name].items()
            if kind != self.types[name]:
                raise InvalidCallError(
                    f"{_INVALID}Type mismatch for key {name} expected: {self.types[name]} actual: {kind}"
                )
            if not content:
                raise InvalidCallError(f"{_NOT_VALID}{_EMPTY} Key: {name}")
            if item_size({"": item[name]}) > most:
                raise InvalidCallError(f"{_INVALID}Size of the key {name} has exceeded the maximum of {most} bytes")
            parts.append(sortable(item[name]))
        return parts[0], parts[1] if len(parts) > 1 else ""

    def key_of(self, item: Item) -> Item:
        """Return the key of an item, as attributes."""
        return {name: item[name] for name in self.keys}

    def checked(self, item: Mapping[str, Value]) -> StoredItem:
        """Return an item as it is stored; raise ``InvalidCallError`` if it is too large or an index refuses it."""
        found = normal_item(item)
        for index in self.indexes.values():
            for name in index.keys:
                if name in found:
                    self._check_index_key(index, name, found[name])
        size = item_size(found)
        if size > LARGEST_ITEM:
            raise InvalidCallError("Item size has exceeded the maximum allowed size")
        return StoredItem(found, size)

    def _check_index_key(self, index: IndexOrder, name: str, value: Value) -> None:
        ((kind, content),) = value.items()
        if kind != self.types[name]:
            raise InvalidCallError(
                f"{_INVALID}Type mismatch for Index Key {name} Expected: {self.types[name]} Actual: {kind} "
                f"IndexName: {index.name}"
            )
        if not content:
            raise InvalidCallError(
                f"{_NOT_VALID}A value specified for a secondary index key is not supported. {_EMPTY} "
                f"IndexName: {index.name}, IndexKey: {name}"
            )

    # ------------------------------------------------------------ writes

    def write(self, place: Key, after: StoredItem | None, *, expired: bool = False) -> None:
        """Replace, insert or delete the item at a place; a write that changes nothing leaves no record."""
        before = self.rows.get(place)
        if after is None:
            if before is None:
                return
            del self.rows[place]
            order = self._orders[place[0]]
            del order[bisect_left(order, place[1])]
            self._sorted = None
        else:
            self.rows[place] = after
            if before is None:
                insort(self._orders.setdefault(place[0], []), place[1])
                self._sorted = None
        old, new = before and before.item, after and after.item
        for index in self.indexes.values():
            _move(index, place, old, new)
        if self.stream and old != new:
            self.stream.add(self.key_of(new or old or {}), old, new, expired=expired)

    def write_units(self, before: Item | None, after: Item | None) -> int:
        """Return the write units of replacing an item, its index entries included."""
        return item_write_units(before, after, self._sized)

    def expire(self, now: float) -> int:
        """Delete the items whose time to live is over, as DynamoDB does within days; return their number."""
        over = [
            place
            for place, row in self.rows.items()
            if self.lifetime in row.item and Decimal(row.item[self.lifetime].get("N", "Infinity")) <= now
        ]
        for place in over:
            self.write(place, None, expired=True)
        return len(over)

    # ------------------------------------------------------------ reads

    def partition(
        self, partition: Sortable, bounds: Range | None, start: Item | None, *, forward: bool
    ) -> Iterator[StoredItem]:
        """Yield the rows of a partition within bounds, after ``start``, in their order."""
        order = self._orders.get(partition, [])
        after = start and self.place(start)[1]
        for one in _selected(order, bounds, after, None, forward=forward):
            yield self.rows[partition, one]

    def indexed(
        self, index: IndexOrder, partition: Sortable, bounds: Range | None, start: Item | None, *, forward: bool
    ) -> Iterator[StoredItem]:
        """Yield the rows that an index holds under a hash key, in its order."""
        order = index.orders.get(partition, [])
        after = None
        if start:
            entry = index.entry(start)
            after = (entry[1] if entry else "", self.place(start))
        for _, place in _selected(order, bounds, after, itemgetter(0), forward=forward):
            yield self.rows[place]

    def all_rows(self, start: Item | None) -> Iterator[StoredItem]:
        """Yield all rows after ``start``, in the order of their keys."""
        if self._sorted is None:
            self._sorted = sorted(self.rows)
        low = bisect_right(self._sorted, self.place(start)) if start else 0
        return (self.rows[place] for place in self._sorted[low:])


def _move(index: IndexOrder, place: Key, before: Item | None, after: Item | None) -> None:
    """Keep an index's order with the item of a place."""
    old, new = before and index.entry(before), after and index.entry(after)
    if old == new:
        return
    if old:
        entries = index.orders[old[0]]
        del entries[bisect_left(entries, (old[1], place))]
        if not entries:
            del index.orders[old[0]]
    if new:
        insort(index.orders.setdefault(new[0], []), (new[1], place))


def _selected(
    order: Sequence[Any], bounds: Range | None, after: object, of: Callable[[Any], Any] | None, *, forward: bool
) -> Iterator[Any]:
    """Yield the members of an order that bounds select, behind ``after`` in the direction of reading.

    ``of`` returns what the bounds compare of a member.
    """
    low, high = _span(order, bounds, of) if bounds else (0, len(order))
    if after is not None:
        if forward:
            low = max(low, bisect_right(order, after))
        else:
            high = min(high, bisect_left(order, after))
    return iter(order[low:high] if forward else order[low:high][::-1])


def _span(order: Sequence[Any], bounds: Range, of: Callable[[Any], Any] | None) -> tuple[int, int]:
    first, last = bounds.values[0], bounds.values[-1]
    match bounds.operator:
        case "=" | "BETWEEN":
            return bisect_left(order, first, key=of), bisect_right(order, last, key=of)
        case "<":
            return 0, bisect_left(order, first, key=of)
        case "<=":
            return 0, bisect_right(order, first, key=of)
        case ">":
            return bisect_right(order, first, key=of), len(order)
        case ">=":
            return bisect_left(order, first, key=of), len(order)
        case _:
            length = len(first)  # type: ignore[arg-type] # begins_with is for texts and bytes
            plain = of or (lambda one: one)
            start = bisect_left(order, first, key=of)
            return start, bisect_right(order, first, start, key=lambda one: plain(one)[:length])
