"""Rebuilding counters from the sealed ledger, the pure part: what the ledger says, and what a counter lacks of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from functools import cache
from typing import Final

from quarterhour.aws.entity import LATEST, Key, window_index
from quarterhour.aws.streams import SEQUENCE_DIGITS
from quarterhour.counters.distinct import MARKERS_KEPT
from quarterhour.counters.keys import day_key, latest_key, quarter_hour_key
from quarterhour.counters.plan import Change, Counter, Retention, changed, epoch, moved
from quarterhour.model.identifiers import Account, Partition
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import Totals

EVERYTHING: Final = "9" * SEQUENCE_DIGITS
"""The watermark of a partition that was counted from the ledger as a whole: whatever the stream brings is in it."""
FINAL_AFTER: Final = MARKERS_KEPT - timedelta(days=1)
"""After a day's end: the stream brings nothing of it any more by then, and all of its markers still stand."""

_NOTHING: Final = Totals()


@dataclass(slots=True)
class Truth:
    """What the sealed lines of a day say of an account."""

    partitions: dict[Partition, Totals] = field(default_factory=dict)
    customers: set[str] = field(default_factory=set)

    @property
    def totals(self) -> Totals:
        """All partitions together."""
        return total(self.partitions.values())

    def add(self, partition: Partition, line: Mapping[str, str]) -> None:
        """Add a line."""
        before = self.partitions.get(partition, _NOTHING)
        self.partitions[partition] = before.plus(Decimal(line["amount"]), Decimal(line["commission"]))
        if line["customer"]:
            self.customers.add(line["customer"])


def truths(lines: Iterable[Mapping[str, str]], only: Account | None) -> dict[Account, Truth]:
    """Add up the sealed lines of a day by account, of one account or (``None``) of all."""
    partition = cache(Partition.parse)
    found: dict[Account, Truth] = {}
    for line in lines:
        account = Account(line["agency"], line["currency"])
        if only is None or account == only:
            if account not in found:
                found[account] = Truth()
            found[account].add(partition(line["quarter_hour"]), line)
    return found


def final_through(sealed_through: QuarterHour, now: datetime) -> QuarterHour:
    """Return how far no counter can change any more: what is sealed, of days that are over for long enough."""
    last_day = (now - FINAL_AFTER).date() - timedelta(days=1)
    return min(sealed_through, QuarterHour.last_of(last_day))


def lifetimes(
    runs: Iterable[tuple[datetime, Mapping[Account, Totals]]], only: Account | None, final: QuarterHour
) -> dict[Account, Totals]:
    """Add up runs, each its end and what it says of its accounts, as far as they are final.

    Of one account or (``None``) of all; those are named too of which nothing is final yet.
    """
    sums: dict[Account, Totals] = {} if only is None else {only: _NOTHING}
    for end, accounts in runs:
        for account, totals in accounts.items():
            if only is None or account == only:
                before = sums.get(account, _NOTHING)
                sums[account] = before + totals if end <= final.end else before
    return sums


def differing(truth: Mapping[Partition, Totals], counted: Mapping[Partition, Totals]) -> list[Partition]:
    """Return the partitions of which something else was counted than the ledger says."""
    partitions = sorted(truth.keys() | counted.keys())
    return [one for one in partitions if truth.get(one, _NOTHING) != counted.get(one, _NOTHING)]


def partition_fix(
    account: Account, partition: Partition, truth: Totals, stored: Mapping[str, Counter], retention: Retention
) -> list[Change]:
    """Return the counters with what the partition's own lacks or has too much; nothing where it is right.

    All three move by the difference in one transaction, and the watermark to the end: what the stream still brings
    of the partition is in the truth.
    """
    before = stored.get(quarter_hour_key(account, partition)["sk"])
    counted = Totals.of(before) if before else _NOTHING
    if counted == truth:
        return []
    return moved(account, partition, stored, truth - counted, seq=EVERYTHING, last_updated="", retention=retention)


def lifetime_fix(account: Account, truth: Totals, stored: Mapping[str, Counter], last_updated: str) -> list[Change]:
    """Return the lifetime counter as the ledger has it."""
    key = latest_key(account)
    updated = max(last_updated, stored.get(LATEST, {}).get("last_updated", ""))
    return _fix(key, truth, stored, {"last_updated": updated, **window_index(LATEST, key["pk"])})


def day_fix(
    account: Account, day: date, truth: Totals, stored: Mapping[str, Counter], retention: Retention
) -> list[Change]:
    """Return the day's counter as the ledger has it."""
    return _fix(day_key(account, day), truth, stored, {"expires_at": day_expires(day, retention)})


def day_expires(day: date, retention: Retention) -> int:
    """Return when what is kept of a day expires, as TTL attributes have it."""
    return epoch(QuarterHour.last_of(day).end + retention.day)


def _fix(key: Key, right: Totals, stored: Mapping[str, Counter], more: Mapping[str, object]) -> list[Change]:
    before = stored.get(key["sk"])
    counted = Totals.of(before) if before else _NOTHING
    return [] if counted == right else [changed(key, stored, right - counted, dict(more))]


def total(totals: Iterable[Totals]) -> Totals:
    """Add up totals."""
    return sum(totals, _NOTHING)
