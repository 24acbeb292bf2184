"""DynamoDB's published sizing rules: bytes of an item, units of a read or write, entries of an index."""

from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Self

if TYPE_CHECKING:
    from quarterhour_tools.emulator.dynamodb.values import Item

WRITE_BYTES: Final = 1024
READ_BYTES: Final = 4096
STORED_BYTES: Final = 100
"""Bytes that storage adds to an item or an index entry."""
_CONTAINER: Final = 3
_ELEMENT: Final = 1


def item_size(item: "Item") -> int:
    """Return an item's bytes: names and values, without what only storage adds."""
    return sum(_text(name) + _value(value) for name, value in item.items())


def write_units(size: int) -> int:
    """Return the units of a write of so many bytes; one of nothing (a failed condition) costs one."""
    return max(1, _rounded_up(size, WRITE_BYTES))


def read_units(size: int, *, consistent: bool) -> float:
    """Return the units of a read of so many bytes; one that finds nothing costs as the smallest item."""
    units = max(1, _rounded_up(size, READ_BYTES))
    return units if consistent else units / 2


def keys_of(described: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the keys of a table or an index, the hash key first."""
    by_kind = {one["KeyType"]: one["AttributeName"] for one in described["KeySchema"]}
    return tuple(by_kind[kind] for kind in ("HASH", "RANGE") if kind in by_kind)


@dataclass(frozen=True, slots=True)
class Index:
    """A secondary index: its keys, and the attributes that it holds (``None``: all)."""

    keys: tuple[str, ...]
    projected: frozenset[str] | None = None

    @classmethod
    def of(cls, described: Mapping[str, Any], table_keys: Iterable[str]) -> Self:
        """Return the index that a CreateTable request describes."""
        keys, projection = keys_of(described), described["Projection"]
        if projection["ProjectionType"] == "ALL":
            return cls(keys)
        return cls(keys, frozenset({*table_keys, *keys, *projection.get("NonKeyAttributes", [])}))

    def entry(self, item: "Item | None") -> "Item | None":
        """Return the index's entry for an item, ``None`` without an entry."""
        if item is None or not all(key in item for key in self.keys):
            return None
        return {name: value for name, value in item.items() if self.projected is None or name in self.projected}

    def write_units(self, before: "Item | None", after: "Item | None") -> int:
        """Return the cost of a write at the index: nothing for an unchanged entry, two writes for a moved one."""
        old, new = self.entry(before), self.entry(after)
        if old == new:
            return 0
        if old and new and any(old[key] != new[key] for key in self.keys):
            return write_units(item_size(old)) + write_units(item_size(new))
        return write_units(max(item_size(old or {}), item_size(new or {})))


def item_write_units(before: "Item | None", after: "Item | None", indexes: Iterable[Index]) -> int:
    """Return the cost of replacing an item: the larger of both items, and the changed index entries."""
    table = write_units(max(item_size(before or {}), item_size(after or {})))
    return table + sum(index.write_units(before, after) for index in indexes)


def _value(value: dict[str, Any]) -> int:
    ((kind, content),) = value.items()
    if kind not in _SIZES:
        raise ValueError(f"{kind!r} is no type of DynamoDB's")
    return _SIZES[kind](content)


def _text(text: str) -> int:
    return len(text.encode())


def _number(text: str) -> int:
    """One byte, and one more for every two digits between the zeros at both ends, and one for a minus."""
    number = Decimal(text)
    digits = "".join(map(str, number.as_tuple().digits)).strip("0")
    return 1 + _rounded_up(len(digits), 2) + (number < 0)


def _rounded_up(size: int, step: int) -> int:
    return -(-size // step)


def _binary(content: bytes | str) -> int:
    """Return the length of a binary value; our clients have it as base64."""
    return len(b64decode(content) if isinstance(content, str) else content)


def _one(_: object) -> int:
    return 1


_SIZES: Final[Mapping[str, Callable[[Any], int]]] = {
    "S": _text,
    "N": _number,
    "B": _binary,
    "BOOL": _one,
    "NULL": _one,
    "SS": lambda texts: sum(map(_text, texts)),
    "NS": lambda numbers: sum(map(_number, numbers)),
    "BS": lambda binaries: sum(map(len, binaries)),
    "L": lambda values: _CONTAINER + sum(_ELEMENT + _value(one) for one in values),
    "M": lambda values: _CONTAINER + sum(_ELEMENT + _text(name) + _value(one) for name, one in values.items()),
}
