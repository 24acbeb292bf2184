"""Counting, the pure part: stream records to groups, a group and the stored counters to new counters."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from quarterhour.clock import iso_millis
from quarterhour.counters.keys import account_pk, day_key, latest_key, quarter_key
from quarterhour.entity import LATEST, Key, window_index
from quarterhour.ledger.keys import Account, Partition
from quarterhour.ledger.posting import Posting
from quarterhour.streams import Poison, Record, is_insert, new_image, sequence
from quarterhour.totals import Totals

Counter = dict[str, Any]
"""A counter item in plain values."""


@dataclass(frozen=True, slots=True)
class Step:
    """One posting, at its place in the stream (a padded sequence number)."""

    seq: str
    posting: Posting


@dataclass(frozen=True, slots=True)
class Group:
    """The postings of a batch that one transaction applies: of one account, from one ledger partition."""

    account: Account
    partition: Partition
    steps: tuple[Step, ...]

    @property
    def day(self) -> date:
        """The day that the postings count for, UTC."""
        return self.partition.quarter.start.date()

    @property
    def keys(self) -> tuple[Key, Key, Key]:
        """The counters that the group changes: quarter-hour, lifetime, day."""
        return (
            quarter_key(self.account, self.partition),
            latest_key(self.account),
            day_key(self.account, self.day),
        )


def group(records: Iterable[Record]) -> tuple[list[Group], list[Poison]]:
    """Sort a batch into groups, in the order of the stream; what no version could ever count is poison.

    Anything but a first write of a ledger item is no event and left out.
    """
    steps: dict[tuple[Account, Partition], list[Step]] = {}
    poison = []
    for record in filter(is_insert, records):
        try:
            posting = Posting.of(new_image(record))
        except ValueError as error:
            poison.append(Poison(record, str(error)))
            continue
        steps.setdefault((posting.account, posting.partition), []).append(Step(sequence(record), posting))
    groups = [
        Group(account, partition, tuple(sorted(some, key=lambda step: step.seq)))
        for (account, partition), some in steps.items()
    ]
    return groups, poison


@dataclass(frozen=True, slots=True)
class Retention:
    """How long quarter-hour and day counters are kept; the first outlives the stream's 24 hours by far."""

    quarter: timedelta
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
    quarter, latest, day = group_.keys
    applied = stored.get(quarter["sk"], {}).get("seq", "")
    steps = [step for step in group_.steps if step.seq > applied]
    if not steps:
        return []
    delta = Totals()
    for step in steps:
        delta = delta.plus(step.posting.amount, step.posting.commission)
    last = max(step.posting.recorded_at for step in steps)
    until = group_.partition.quarter.end
    return [
        _change(quarter, stored, delta, {"seq": steps[-1].seq, "expires_at": epoch(until + retention.quarter)}),
        _change(
            latest,
            stored,
            delta,
            {
                "last_updated": max(iso_millis(last), stored.get(LATEST, {}).get("last_updated", "")),
                **window_index(LATEST, account_pk(group_.account)),
            },
        ),
        _change(day, stored, delta, {"expires_at": epoch(until + retention.day)}),
    ]


def _change(key: Key, stored: Mapping[str, Counter], delta: Totals, more: dict[str, Any]) -> Change:
    before = stored.get(key["sk"])
    version = before["version"] if before else None
    totals = (Totals.of(before) if before else Totals()) + delta
    return Change({**key, **totals.as_dict(), "version": (version or _NONE) + 1, **more}, version)


def epoch(instant: datetime) -> int:
    """Return an instant as TTL attributes have it: whole seconds since 1970."""
    return int(instant.timestamp())


_NONE: Final = Decimal(0)
