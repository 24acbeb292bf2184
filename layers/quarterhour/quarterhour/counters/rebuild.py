"""Rebuilding counters from the sealed ledger, the pure part: what the ledger says, and what a counter lacks of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Final

from quarterhour.counters.keys import day_key, latest_key, quarter_key
from quarterhour.counters.plan import Change, Counter, Retention, changed, epoch, moved
from quarterhour.entity import LATEST, Key, window_index
from quarterhour.ledger.keys import Account, Partition
from quarterhour.quarters import Quarter
from quarterhour.streams import SEQUENCE_DIGITS
from quarterhour.totals import Totals

EVERYTHING: Final = "9" * SEQUENCE_DIGITS
"""The watermark of a partition that was counted from the ledger as a whole: whatever the stream brings is in it."""


@dataclass(slots=True)
class Truth:
    """What the sealed ledger holds of an account; partitions only as far back as their counters are kept."""

    lifetime: Totals = field(default_factory=Totals)
    days: dict[date, Totals] = field(default_factory=dict)
    partitions: dict[Partition, Totals] = field(default_factory=dict)
    customers: dict[date, set[str]] = field(default_factory=dict)

    def add(self, partition: Partition, line: Mapping[str, str], kept_from: Quarter) -> None:
        """Add a sealed line."""
        amount, commission = Decimal(line["amount"]), Decimal(line["commission"])
        day = partition.quarter.day
        self.lifetime = self.lifetime.plus(amount, commission)
        self.days[day] = self.days.get(day, Totals()).plus(amount, commission)
        if partition.quarter >= kept_from:
            self.partitions[partition] = self.partitions.get(partition, Totals()).plus(amount, commission)
        if line["customer"]:
            self.customers.setdefault(day, set()).add(line["customer"])


def truths(lines: Iterable[Mapping[str, str]], only: Account | None, kept_from: Quarter) -> dict[Account, Truth]:
    """Add up sealed lines by account, of one account or (``None``) of all."""
    found: dict[Account, Truth] = {} if only is None else {only: Truth()}
    for line in lines:
        account = Account(line["agency"], line["currency"])
        if only in {None, account}:
            partition = Partition.parse(line["quarter_hour"])
            found.setdefault(account, Truth()).add(partition, line, kept_from)
    return found


def partition_fix(
    account: Account, partition: Partition, truth: Totals, stored: Mapping[str, Counter], retention: Retention
) -> list[Change]:
    """Return the counters with what the partition's own lacks or has too much; nothing where it is right.

    All three move by the difference in one transaction, and the watermark to the end: what the stream still brings
    of the partition is in the truth.
    """
    before = stored.get(quarter_key(account, partition)["sk"])
    counted = Totals.of(before) if before else Totals()
    if counted == truth:
        return []
    return moved(account, partition, stored, truth - counted, seq=EVERYTHING, last_updated="", retention=retention)


def lifetime_fix(
    account: Account, truth: Totals, unsealed: Totals, stored: Mapping[str, Counter], last_updated: str
) -> list[Change]:
    """Return the lifetime counter as the ledger has it: what is sealed, and what was counted of the rest."""
    key = latest_key(account)
    updated = max(last_updated, stored.get(LATEST, {}).get("last_updated", ""))
    return _fix(key, truth + unsealed, stored, {"last_updated": updated, **window_index(LATEST, key["pk"])})


def day_fix(
    account: Account, day: date, truth: Totals, stored: Mapping[str, Counter], retention: Retention
) -> list[Change]:
    """Return the day's counter as the ledger has it."""
    expires = epoch(Quarter.last_of(day).end + retention.day)
    return _fix(day_key(account, day), truth, stored, {"expires_at": expires})


def _fix(key: Key, right: Totals, stored: Mapping[str, Counter], more: Mapping[str, object]) -> list[Change]:
    before = stored.get(key["sk"])
    counted = Totals.of(before) if before else Totals()
    return [] if counted == right else [changed(key, stored, right - counted, dict(more))]


def of_day(unsealed: Iterable[tuple[Partition, Totals]], day: date | None) -> Totals:
    """Add up the counters of unsealed partitions, of one day or (``None``) of all."""
    return sum((totals for partition, totals in unsealed if day in {None, partition.quarter.day}), Totals())
