"""Counting, the pure part: stream records to groups, a group and the stored counters to new counters."""

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
    """One posting, at its place in the stream (a padded sequence number)."""

    seq: str
    posting: Posting


@dataclass(frozen=True, slots=True)
class Group:
    """The postings of a batch that one transaction applies: of one account, from one ledger partition."""

    account: Account
    partition: Partition
    steps: tuple[StreamPosting, ...]

    @property
    def keys(self) -> tuple[Key, Key, Key]:
        """The counters that the group changes."""
        return counter_keys(self.account, self.partition)


def counter_keys(account: Account, partition: Partition) -> tuple[Key, Key, Key]:
    """Return the counters that a posting of an account in a partition changes: quarter-hour, lifetime, day."""
    return quarter_hour_key(account, partition), latest_key(account), day_key(account, partition.quarter_hour.day)


def group(records: Iterable[Record]) -> tuple[list[Group], list[Poison]]:
    """Sort a batch into groups, in the order of the stream; what no version could ever count is poison.

    Anything but a first write of a ledger item is no event and left out.
    """
    steps: dict[tuple[Account, Partition], list[StreamPosting]] = {}
    poison = []
    for record in filter(is_insert, records):
        try:
            posting = Posting.of(new_image(record))
        except ValueError as error:
            poison.append(Poison(record, str(error)))
            continue
        steps.setdefault((posting.account, posting.partition), []).append(StreamPosting(sequence(record), posting))
    groups = [
        Group(account, partition, tuple(sorted(some, key=lambda step: step.seq)))
        for (account, partition), some in steps.items()
    ]
    return groups, poison


def by_account(groups: Iterable[Group]) -> list[list[Group]]:
    """Sort groups by their account, each account's in the order that they came."""
    sorted_: dict[Account, list[Group]] = {}
    for one in groups:
        sorted_.setdefault(one.account, []).append(one)
    return list(sorted_.values())


@dataclass(frozen=True, slots=True)
class Retention:
    """How long quarter-hour and day counters are kept; the first outlives the stream's 24 hours by far."""

    quarter_hour: timedelta
    day: timedelta


@dataclass(frozen=True, slots=True)
class Change:
    """A counter as it is to be written, and the version that it must still have (``None``: it must not exist)."""

    values: Counter
    version: Decimal | None


def changes(group_: Group, stored: Mapping[str, Counter], retention: Retention) -> list[Change]:
    """Return the counters after the group, given those stored under their sort keys; nothing where all was applied.

    The quarter-hour counter is the watermark: records at or before its ``seq`` have been counted.
    """
    quarter_hour, _, _ = group_.keys
    applied = stored.get(quarter_hour["sk"], {}).get("seq", "")
    steps = [step for step in group_.steps if step.seq > applied]
    if not steps:
        return []
    delta = Totals()
    for step in steps:
        delta = delta.plus(step.posting.amount, step.posting.commission)
    last = max(step.posting.recorded_at for step in steps)
    return moved(
        group_.account,
        group_.partition,
        stored,
        delta,
        seq=steps[-1].seq,
        last_updated=iso_millis(last),
        retention=retention,
    )


def moved(  # noqa: PLR0913 - the whole of what three counters hold
    account: Account,
    partition: Partition,
    stored: Mapping[str, Counter],
    delta: Totals,
    *,
    seq: str,
    last_updated: str,
    retention: Retention,
) -> list[Change]:
    """Return the three counters of a partition with a difference added, and the watermark at ``seq``."""
    quarter_hour, latest, day = counter_keys(account, partition)
    until = partition.quarter_hour.end
    updated = max(last_updated, stored.get(LATEST, {}).get("last_updated", ""))
    index = window_index(LATEST, latest["pk"])
    return [
        changed(quarter_hour, stored, delta, {"seq": seq, "expires_at": epoch(until + retention.quarter_hour)}),
        changed(latest, stored, delta, {"last_updated": updated, **index}),
        changed(day, stored, delta, {"expires_at": epoch(until + retention.day)}),
    ]


def changed(key: Key, stored: Mapping[str, Counter], delta: Totals, more: dict[str, Any]) -> Change:
    """Return a counter with a difference added, one version on."""
    before = stored.get(key["sk"])
    version = before["version"] if before else None
    totals = (Totals.of(before) if before else Totals()) + delta
    return Change({**key, **totals.as_dict(), "version": (version or _NONE) + 1, **more}, version)


def epoch(instant: datetime) -> int:
    """Return an instant as TTL attributes have it: whole seconds since 1970."""
    return int(instant.timestamp())


_NONE: Final = Decimal(0)
