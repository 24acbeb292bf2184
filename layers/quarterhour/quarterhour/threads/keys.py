"""The discussions' keys in the Entity table and its index, built and parsed here alone."""

from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Final, Self

import base58

from quarterhour.aws.entity import Key
from quarterhour.model.identifiers import SEPARATOR

THREADS: Final = f"THREAD{SEPARATOR}"
"""What the partition keys of all messages begin with."""
CLAIMS: Final = f"MESSAGE{SEPARATOR}"
CLAIM: Final = "claim"
THREAD_SHARDS: Final = 4
"""Over how many partitions the users of a thread are spread: each takes 1,000 writes a second."""

_BEFORE: Final = "0"
"""What sorts before every instant; no key can be empty."""
_BEHIND: Final = "~"
"""What sorts behind all that can follow an instant, or a part of one."""
_CLAIM_LENGTH: Final = 22
_SUFFIX_LENGTH: Final = 8


class Kind(StrEnum):
    """What can be discussed."""

    ORDERS = "orders"
    LINES = "lines"
    """Of statements: the events, each named ``<source>#<id>``."""
    REPORTS = "reports"


@dataclass(frozen=True, slots=True)
class Thread:
    """The discussion of one thing: ``orders``, ``1001``."""

    kind: Kind
    subject: str

    @property
    def partitions(self) -> list[str]:
        """The partitions that together hold the thread."""
        return [f"{THREADS}{self.kind}{SEPARATOR}{self.subject}{SEPARATOR}{one}" for one in range(THREAD_SHARDS)]

    def partition(self, user: str) -> str:
        """Return the partition of a user's messages: a hot thread is spread, a user's messages stay together."""
        return self.partitions[sha256(user.encode()).digest()[0] % THREAD_SHARDS]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a message stands: whose it is, when it was written, and what tells two of one millisecond apart."""

    user: str
    at: str
    suffix: str

    @classmethod
    def of(cls, user: str, at: str, claim: str) -> Self:
        """Return the place of the message that a claim of this hash is for."""
        return cls(user, at, claim[:_SUFFIX_LENGTH])

    @property
    def by_user(self) -> str:
        """The sort key: ``ann#2026-10-23T01:30:12.345Z#4JzHX4k3``."""
        return SEPARATOR.join((self.user, self.at, self.suffix))

    @property
    def by_time(self) -> str:
        """The sort key in the index: ``2026-10-23T01:30:12.345Z#ann#4JzHX4k3``."""
        return SEPARATOR.join((self.at, self.user, self.suffix))

    @classmethod
    def parse(cls, sk: str) -> Self:
        """Read the sort key; raise ``ValueError`` where it is no message's."""
        user, at, suffix = sk.split(SEPARATOR)
        return cls(user, at, suffix)


def claim_hash(thread: Thread, user: str, id_: str) -> str:
    """Return what a user's message of this id in a thread is known by, for ever."""
    identity = SEPARATOR.join((thread.kind, thread.subject, user, id_))
    return base58.b58encode(sha256(identity.encode()).digest()).decode()[:_CLAIM_LENGTH]


def claim_key(hash_: str) -> Key:
    """Return the key of a message's claim."""
    return {"pk": f"{CLAIMS}{hash_}", "sk": CLAIM}


def bounds_by_user(user: str, period: str) -> tuple[str, str]:
    """Return between which sort keys a user's messages of a period stand; an empty period is all time."""
    low = f"{user}{SEPARATOR}{period}"
    return low, low + _BEHIND


def bounds_by_time(period: str) -> tuple[str, str]:
    """Return between which sort keys of the index everybody's messages of a period stand."""
    return period or _BEFORE, period + _BEHIND
