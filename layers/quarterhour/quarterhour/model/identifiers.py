"""The identifiers of the ledger, whose keys are built and parsed only here: identity, partition, position, account."""

from bisect import bisect_right
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from typing import Final, Self

from quarterhour.model.clock import iso_millis, parse_iso, truncated
from quarterhour.model.quarter_hours import QuarterHour

SEPARATOR: Final = "#"
MAX_SHARDS: Final = 64
_SUFFIX_LENGTH: Final = 16
POSITION_LENGTH: Final = len("2026-10-23T01:30:12.345Z.") + _SUFFIX_LENGTH
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


@dataclass(frozen=True)
class Identity:
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

    @cached_property
    def hash(self) -> bytes:
        """The SHA-256 of the key, which determines the shard and the suffix of the position."""
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
    def of(cls, identity: Identity, recorded_at: datetime, shards: int) -> Self:
        """Return the partition of an event that is recorded at this instant."""
        return cls(QuarterHour.at(recorded_at), int.from_bytes(identity.hash[:8]) % shards)


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """The sort key of an event in its partition: ``2026-10-23T01:30:12.345Z.<16 base58 of the identity's hash>``."""

    recorded_at: datetime
    suffix: str

    def __str__(self) -> str:
        """Return the key; the texts sort by time, then by suffix."""
        return f"{iso_millis(self.recorded_at)}.{self.suffix}"

    @classmethod
    def parse(cls, key: str) -> Self:
        """Parse a position; raise ``ValueError`` for any other text."""
        instant, millis, suffix = key.split(".")
        position = cls(parse_iso(f"{instant}.{millis}"), suffix)
        if len(suffix) != _SUFFIX_LENGTH or str(position) != key:
            raise ValueError(f"{key!r} is not a position")
        return position

    @classmethod
    def of(cls, identity: Identity, recorded_at: datetime) -> Self:
        """Return the position of an event that is recorded at this instant, which is cut to the millisecond."""
        instant = truncated(recorded_at)
        return cls(instant, base58_prefix(identity.hash, _SUFFIX_LENGTH))


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
