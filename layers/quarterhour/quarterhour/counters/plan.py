"""Planning of counter updates, pure: stream records to groups of postings, groups to changes of counters."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from quarterhour.aws.entity import LATEST, Key, window_index
from quarterhour.aws.streams import Poison, Record, is_insert, new_image, sequence
from quarterhour.counters.keys import day_key, latest_key, quarter_hour_key
from quarterhour.ledger.posting import Posting
from quarterhour.model.clock import iso_millis
from quarterhour.model.identifiers import Account, Partition
from quarterhour.model.totals import Totals

Counter = dict[str, Any]
"""A counter item in plain values."""


@dataclass(frozen=True, slots=True)
class StreamPosting:
    """A posting with its sequence number in the stream, padded."""

    seq: str
    posting: Posting


@dataclass(frozen=True, slots=True)
class Group:
    """The postings of a batch that one transaction counts: of one account and one ledger partition."""

    account: Account
    partition: Partition
    postings: tuple[StreamPosting, ...]

    @property
    def keys(self) -> tuple[Key, Key, Key]:
        """The keys of the counters that the group changes."""
        return counter_keys(self.account, self.partition)


def counter_keys(account: Account, partition: Partition) -> tuple[Key, Key, Key]:
    """Return the keys of the counters of an account and a partition: quarter-hour, lifetime, day."""
    return quarter_hour_key(account, partition), latest_key(account), day_key(account, partition.quarter_hour.day)


def group(records: Iterable[Record]) -> tuple[list[Group], list[Poison]]:
    """Group a batch by account and partition, each group in the order of the stream; return groups and poison.

    Poison is a record that can never be counted. Records other than inserts of ledger items are skipped.
    """
    postings: dict[tuple[Account, Partition], list[StreamPosting]] = {}
    poison = []
    for record in filter(is_insert, records):
        try:
            posting = Posting.of(new_image(record))
        except ValueError as error:
            poison.append(Poison(record, str(error)))
            continue
        postings.setdefault((posting.account, posting.partition), []).append(StreamPosting(sequence(record), posting))
    groups = [
        Group(account, partition, tuple(sorted(some, key=lambda one: one.seq)))
        for (account, partition), some in postings.items()
    ]
    return groups, poison


def by_account(groups: Iterable[Group]) -> list[list[Group]]:
    """Return the groups of each account, in their order."""
    accounts: dict[Account, list[Group]] = {}
    for one in groups:
        accounts.setdefault(one.account, []).append(one)
    return list(accounts.values())


@dataclass(frozen=True, slots=True)
class Retention:
    """How long quarter-hour and day counters are kept; both far longer than the stream's 24 hours."""

    quarter_hour: timedelta
    day: timedelta


@dataclass(frozen=True, slots=True)
class Change:
    """A counter to be written, and the version that the stored one must have (``None``: it must not exist)."""

    values: Counter
    version: Decimal | None


def group_changes(group_: Group, stored: Mapping[str, Counter], retention: Retention) -> list[Change]:
    """Return the changes that count a group, given the stored counters by sort key; empty where all is counted.

    The quarter-hour counter is the watermark: records up to its ``seq`` have been counted.
    """
    quarter_hour, _, _ = group_.keys
    applied = stored.get(quarter_hour["sk"], {}).get("seq", "")
    new = [one for one in group_.postings if one.seq > applied]
    if not new:
        return []
    delta = Totals()
    for one in new:
        delta = delta.plus(one.posting.amount, one.posting.commission)
    last = max(one.posting.recorded_at for one in new)
    return partition_changes(
        group_.account,
        group_.partition,
        stored,
        delta,
        seq=new[-1].seq,
        last_updated=iso_millis(last),
        retention=retention,
    )


def partition_changes(  # noqa: PLR0913 - all that the three counters hold
    account: Account,
    partition: Partition,
    stored: Mapping[str, Counter],
    delta: Totals,
    *,
    seq: str,
    last_updated: str,
    retention: Retention,
) -> list[Change]:
    """Return the changes that add a difference to a partition's three counters and set the watermark to ``seq``."""
    quarter_hour, latest, day = counter_keys(account, partition)
    until = partition.quarter_hour.end
    updated = max(last_updated, stored.get(LATEST, {}).get("last_updated", ""))
    index = window_index(LATEST, latest["pk"])
    return [
        counter_change(quarter_hour, stored, delta, {"seq": seq, "expires_at": epoch(until + retention.quarter_hour)}),
        counter_change(latest, stored, delta, {"last_updated": updated, **index}),
        counter_change(day, stored, delta, {"expires_at": epoch(until + retention.day)}),
    ]


def counter_change(key: Key, stored: Mapping[str, Counter], delta: Totals, more: dict[str, Any]) -> Change:
    """Return the change that adds a difference to a counter and increments its version."""
    before = stored.get(key["sk"])
    version = before["version"] if before else None
    totals = (Totals.of(before) if before else Totals()) + delta
    return Change({**key, **totals.as_dict(), "version": (version or _NO_VERSION) + 1, **more}, version)


def epoch(instant: datetime) -> int:
    """Return an instant as a TTL attribute: whole seconds since 1970."""
    return int(instant.timestamp())


_NO_VERSION: Final = Decimal(0)
