"""The threads' keys in the Entity table and its index, built and parsed only here."""

from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import Final, Self

from quarterhour.aws.entity import Key
from quarterhour.model.identifiers import SEPARATOR, base58_prefix

THREADS: Final = f"THREAD{SEPARATOR}"
"""The prefix of the partition keys of all messages."""
CLAIMS: Final = f"MESSAGE{SEPARATOR}"
CLAIM: Final = "claim"
THREAD_SHARDS: Final = 4
"""The number of partitions over which a thread's users are spread; each takes 1,000 writes a second."""

_LOWEST: Final = "0"
"""Sorts before every instant; no key can be empty."""
_HIGHEST: Final = "~"
"""Sorts after every character that can follow an instant or a part of one."""
_CLAIM_LENGTH: Final = 22
_SUFFIX_LENGTH: Final = 8


class SubjectKind(StrEnum):
    """The kinds of subject that a thread can have."""

    ORDERS = "orders"
    LINES = "lines"
    """The lines of reports, which are events, each named ``<source>#<id>``."""
    REPORTS = "reports"
    AGENCIES = "agencies"
    STATEMENTS = "statements"
    """Each named ``<agency>#<currency>#<period>``."""


@dataclass(frozen=True, slots=True)
class Thread:
    """The thread about one subject, such as ``orders`` and ``1001``."""

    kind: SubjectKind
    subject: str

    @property
    def partitions(self) -> list[str]:
        """The partition keys of all the thread's messages."""
        return [f"{THREADS}{self.kind}{SEPARATOR}{self.subject}{SEPARATOR}{one}" for one in range(THREAD_SHARDS)]

    def partition(self, user: str) -> str:
        """Return the partition key of a user's messages: users are spread, a user's messages stay together."""
        return self.partitions[sha256(user.encode()).digest()[0] % THREAD_SHARDS]


@dataclass(frozen=True, slots=True)
class MessageKey:
    """The sort key of a message: its user, its instant, and a suffix that distinguishes messages of a millisecond."""

    user: str
    at: str
    suffix: str

    @classmethod
    def of(cls, user: str, at: str, claim: str) -> Self:
        """Return the key of the message that has a claim of this hash."""
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
        """Return the key of a sort key's text; raise ``ValueError`` if it is no message's."""
        user, at, suffix = sk.split(SEPARATOR)
        return cls(user, at, suffix)


def claim_hash(thread: Thread, user: str, id_: str) -> str:
    """Return the hash that identifies a user's message of this id in a thread, for ever."""
    identity = SEPARATOR.join((thread.kind, thread.subject, user, id_))
    return base58_prefix(sha256(identity.encode()).digest(), _CLAIM_LENGTH)


def claim_key(hash_: str) -> Key:
    """Return the key of a message's claim."""
    return {"pk": f"{CLAIMS}{hash_}", "sk": CLAIM}


def bounds_by_user(user: str, period: str) -> tuple[str, str]:
    """Return the lowest and the highest sort key of a user's messages in a period; an empty period is all time."""
    low = f"{user}{SEPARATOR}{period}"
    return low, low + _HIGHEST


def bounds_by_time(period: str) -> tuple[str, str]:
    """Return the lowest and the highest sort key in the index of all messages in a period."""
    return period or _LOWEST, period + _HIGHEST
