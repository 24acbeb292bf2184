"""The identifiers of the ledger, whose keys are built and parsed only here: identity, partition, position, account."""

from bisect import bisect_right
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Final, NamedTuple, Self

from quarterhour.model.clock import iso_millis, parse_iso, truncated
from quarterhour.model.quarter_hours import QuarterHour

SEPARATOR: Final = "#"
MAX_SHARDS: Final = 64
_SUFFIX_LENGTH: Final = 16
_INDEX_LENGTH: Final = 4
MAX_INDEX: Final = 10**_INDEX_LENGTH - 1
"""The highest index of a posting in its segment that a position can name."""
ITEM_POSITION_LENGTH: Final = len("2026-10-23T01:30:12.345Z.") + _SUFFIX_LENGTH
"""The length of the position of a ledger item."""
POSITION_LENGTH: Final = ITEM_POSITION_LENGTH + 1 + _INDEX_LENGTH
"""The length of the position of a posting."""
_BASE58: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_POWERS: Final = tuple(len(_BASE58) ** exponent for exponent in range(90))
"""Powers of 58 up to the largest digest of 64 bytes."""


def base58_prefix(digest: bytes, length: int) -> str:
    """Return the first characters of a digest in base58: short, and without characters that look alike."""
    number = int.from_bytes(digest)
    zeros = len(digest) - len(digest.lstrip(b"\0"))  # base58 writes each of these bytes as its first character
    behind = zeros + bisect_right(_POWERS, number) - length
    number //= _POWERS[max(behind, 0)]
    text = ""
    while number:
        number, digit = divmod(number, len(_BASE58))
        text = _BASE58[digit] + text
    return (_BASE58[0] * zeros + text)[:length]


class Identity(NamedTuple):
    """The permanent identity of an event: its source, and its id within the source."""

    source: str
    id: str

    def __str__(self) -> str:
        """Return the key, ``<source>#<id>``."""
        return f"{self.source}{SEPARATOR}{self.id}"

    @classmethod
    def parse(cls, key: str) -> Self:
        """Parse ``<source>#<id>``."""
        source, id_ = key.split(SEPARATOR)
        return cls(source, id_)

    @property
    def hash(self) -> bytes:
        """The SHA-256 of the key."""
        return sha256(str(self).encode()).digest()


@dataclass(frozen=True, slots=True, order=True)
class Partition:
    """A partition of the ledger, ``202610230130#03``: one shard of one quarter-hour."""

    quarter_hour: QuarterHour
    shard: int

    def __str__(self) -> str:
        """Return the key."""
        return f"{self.quarter_hour}{SEPARATOR}{self.shard:02d}"

    @classmethod
    def parse(cls, key: str) -> Self:
        """Parse ``<YYYYMMDDHHMM>#<shard>``; raise ``ValueError`` for any other text."""
        quarter_hour, shard = key.split(SEPARATOR)
        partition = cls(QuarterHour.parse(quarter_hour), int(shard))
        if str(partition) != key or partition.shard < 0:
            raise ValueError(f"{key!r} is not a partition")
        return partition

    @classmethod
    def of(cls, digest: bytes, recorded_at: datetime, shards: int) -> Self:
        """Return the partition of an item that is recorded at this instant; its hash decides the shard."""
        return cls(QuarterHour.at(recorded_at), int.from_bytes(digest[:8]) % shards)


@dataclass(frozen=True, slots=True)
class Position:
    """The place of an item or of a posting in its partition.

    A segment has the sort key ``2026-10-23T01:30:12.345Z.<16 base58 of a hash>``: the hash of the request that made
    it. A posting has the position of its segment and its ``index`` there: ``….0017``.
    """

    recorded_at: datetime
    suffix: str
    index: int | None = None

    def __str__(self) -> str:
        """Return the key; the texts sort by time, then by suffix, then by index."""
        text = f"{iso_millis(self.recorded_at)}.{self.suffix}"
        return text if self.index is None else f"{text}.{self.index:0{_INDEX_LENGTH}d}"

    def __lt__(self, other: "Position") -> bool:
        """Return whether this position comes first: in the order of the texts."""
        return str(self) < str(other)

    @property
    def of_item(self) -> "Position":
        """The position of the item that holds the posting."""
        return self if self.index is None else Position(self.recorded_at, self.suffix)

    def at(self, index: int) -> "Position":
        """Return the position of the posting with this index in the segment."""
        return Position(self.recorded_at, self.suffix, index)

    @classmethod
    def parse(cls, key: str) -> Self:
        """Parse a position; raise ``ValueError`` for any other text."""
        item, index = key[:ITEM_POSITION_LENGTH], key[ITEM_POSITION_LENGTH + 1 :]
        instant, millis, suffix = item.split(".")
        position = cls(parse_iso(f"{instant}.{millis}"), suffix, int(index) if index.isdecimal() else None)
        if len(suffix) != _SUFFIX_LENGTH or str(position) != key or (position.index or 0) > MAX_INDEX:
            raise ValueError(f"{key!r} is not a position")
        return position

    @classmethod
    def of(cls, digest: bytes, recorded_at: datetime) -> Self:
        """Return the position of an item that is recorded at this instant, which is cut to the millisecond.

        ``digest``: the hash of the request.
        """
        return cls(truncated(recorded_at), position_suffix(digest))


def position_suffix(digest: bytes) -> str:
    """Return the suffix of a position, from a hash."""
    return base58_prefix(digest, _SUFFIX_LENGTH)


def item_position(position: str) -> str:
    """Return the position of the item that holds a posting, from the text of the posting's position."""
    return position[:ITEM_POSITION_LENGTH]


@dataclass(frozen=True, slots=True, order=True)
class Account:
    """An agency's account in one currency: ``42#GBP``. An account never mixes currencies."""

    agency: str
    currency: str

    def __str__(self) -> str:
        """Return the key."""
        return f"{self.agency}{SEPARATOR}{self.currency}"

    @classmethod
    def parse(cls, key: str) -> Self:
        """Parse ``<agency>#<currency>``."""
        agency, currency = key.split(SEPARATOR)
        return cls(agency, currency)
