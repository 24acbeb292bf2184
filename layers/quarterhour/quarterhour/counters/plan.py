"""Planning of counter updates, pure: stream records to groups of postings, groups to changes of counters.

- A group holds the postings of one account and one quarter-hour. One transaction counts it.
- The watermark of a shard is the sequence number of its last counted record. The quarter-hour's counter holds those of
  all shards, so they move with its totals or not at all.
- Records at or below the watermark of their own shard are dropped: an earlier delivery has counted them.
- A period's counter is written with those of the group that adds to it. The quarter-hour's counter keeps what it added
  to other periods than its own month, so that repairs can compare each quarter-hour by period.
- New customers are added to their counts in the same transaction (``distinct``).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import groupby
from typing import Any, Final

from quarterhour.aws.entity import LATEST, Key, window_index
from quarterhour.aws.streams import Poison, Record, is_insert, new_image, sequence
from quarterhour.counters.keys import (
    day_key,
    latest_key,
    partition_sk,
    period_key,
    quarter_hour_key,
    quarter_hour_of,
    quarter_hour_sk,
    shard_name,
)
from quarterhour.ledger.posting import Posting
from quarterhour.model.clock import iso_millis
from quarterhour.model.identifiers import Account, Partition
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import PeriodTotals, Totals, add_up, total

MOST_PERIODS: Final = 90
"""The most periods of a group: with the other counters and two counts of customers, a transaction holds 100 items."""

Counter = dict[str, Any]
"""A counter item in plain values."""


@dataclass(frozen=True, slots=True)
class StreamPosting:
    """A posting with its sequence number in the stream, padded."""

    seq: str
    posting: Posting


@dataclass(frozen=True, slots=True)
class Group:
    """The postings of a batch that one transaction counts: of one account and one quarter-hour, of any shards."""

    account: Account
    quarter_hour: QuarterHour
    postings: tuple[StreamPosting, ...]

    @property
    def keys(self) -> tuple[Key, ...]:
        """The keys of the counters that the group changes."""
        return counter_keys(self.account, self.quarter_hour, self.periods)

    @property
    def periods(self) -> set[Period]:
        """The periods of the postings."""
        return {one.posting.period for one in self.postings}

    @property
    def partitions(self) -> set[Partition]:
        """The ledger partitions of the postings."""
        return {one.posting.partition for one in self.postings}


def counter_keys(account: Account, quarter_hour: QuarterHour, periods: Iterable[Period] = ()) -> tuple[Key, ...]:
    """Return the keys of the counters of an account and a quarter-hour: quarter-hour, lifetime, day, periods."""
    of_periods = (period_key(account, period) for period in sorted(periods))
    return quarter_hour_key(account, quarter_hour), latest_key(account), day_key(account, quarter_hour.day), *of_periods


def group(records: Iterable[Record]) -> tuple[list[Group], list[Poison]]:
    """Group a batch by account and quarter-hour, each group in the order of the stream; return groups and poison.

    Poison is a record that can never be counted. Records other than inserts of ledger items are skipped.
    """
    postings: dict[tuple[Account, QuarterHour], list[StreamPosting]] = {}
    poison = []
    for record in filter(is_insert, records):
        try:
            posting = Posting.of(new_image(record))
        except ValueError as error:
            poison.append(Poison(record, str(error)))
            continue
        of = posting.account, posting.partition.quarter_hour
        postings.setdefault(of, []).append(StreamPosting(sequence(record), posting))
    groups = [
        Group(account, quarter_hour, tuple(part))
        for (account, quarter_hour), some in postings.items()
        for part in _by_most_periods(sorted(some, key=lambda one: one.seq))
    ]
    return groups, poison


def _by_most_periods(postings: Iterable[StreamPosting]) -> Iterator[list[StreamPosting]]:
    """Cut postings in the order of the stream, so that no part has more than ``MOST_PERIODS`` periods."""
    part: list[StreamPosting] = []
    periods: set[Period] = set()
    for one in postings:
        if len(periods) == MOST_PERIODS and one.posting.period not in periods:
            yield part
            part, periods = [], set()
        part.append(one)
        periods.add(one.posting.period)
    yield part


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
class CounterChange:
    """A counter to be written, and the version that the stored one must have (``None``: it must not exist)."""

    values: Counter
    version: Decimal | None


@dataclass(frozen=True, slots=True)
class Addition:
    """New customers to be added to a count.

    ``tally``: the attribute in which the quarter-hour's counter keeps how many it added. ``expires``: the count's
    expiry in epoch seconds.
    """

    counter: Key
    tally: str
    customers: int
    expires: int | None


CounterWrite = CounterChange | Addition
"""One write of the transaction that counts a group."""


def watermark(partition: Partition, stored: Mapping[str, Counter]) -> str:
    """Return the sequence number of the last counted record of a partition; empty if none is counted.

    ``stored``: the counters by sort key. A ``seq`` is the watermark of the whole counter: of a quarter-hour that was
    repaired, or of a partition that 0.1.0 counted.
    """
    quarter_hour = stored.get(quarter_hour_sk(partition.quarter_hour), {})
    of_shard = quarter_hour.get("watermarks", {}).get(shard_name(partition), "")
    older = stored.get(partition_sk(partition), {})
    return str(max(of_shard, quarter_hour.get("seq", ""), older.get("seq", "")))


def by_quarter_hour(counters: Iterable[Mapping[str, Any]]) -> Iterator[tuple[QuarterHour, Totals]]:
    """Add up the counters of each quarter-hour, 0.1.0's of its partitions too; they must be ordered by key."""
    for quarter_hour, some in groupby(counters, key=lambda values: quarter_hour_of(values["sk"])):
        yield quarter_hour, total(map(Totals.of, some))


def by_quarter_hour_and_period(
    counters: Iterable[Mapping[str, Any]],
) -> Iterator[tuple[QuarterHour, PeriodTotals]]:
    """Add up the counters of each quarter-hour by period, as ``by_quarter_hour`` does."""
    for quarter_hour, some in groupby(counters, key=lambda values: quarter_hour_of(values["sk"])):
        sums: PeriodTotals = {}
        for values in some:
            others = other_periods(values)
            own = Totals.of(values) - total(others.values())
            add_up(sums, [(Period.of(quarter_hour.day), own), *others.items()])
        yield quarter_hour, {period: totals for period, totals in sums.items() if totals != Totals()}


def other_periods(counter: Mapping[str, Any]) -> PeriodTotals:
    """Return what a quarter-hour's counter has added to other periods than its own month in UTC."""
    return {Period.parse(text): Totals.of(values) for text, values in counter.get("periods", {}).items()}


def lacks_watermark(group_: Group, stored: Mapping[str, Counter]) -> bool:
    """Return whether the stored counters lack the watermark of a shard, so that 0.1.0 may have counted the shard."""
    return not all(watermark(partition, stored) for partition in group_.partitions)


def uncounted(group_: Group, stored: Mapping[str, Counter]) -> Group:
    """Return a group without the postings that are counted, given the stored counters by sort key."""
    counted = {partition: watermark(partition, stored) for partition in group_.partitions}
    new = tuple(one for one in group_.postings if one.seq > counted[one.posting.partition])
    return replace(group_, postings=new)


def group_changes(
    group_: Group, stored: Mapping[str, Counter], additions: Sequence[Addition], retention: Retention
) -> list[CounterWrite]:
    """Return the changes that count a group of which nothing is counted, with the new customers that it brings."""
    delta: PeriodTotals = {}
    for one in group_.postings:
        so_far = delta.get(one.posting.period, Totals())
        delta[one.posting.period] = so_far.plus(
            one.posting.amount, one.posting.commission, is_payment=one.posting.is_payment
        )
    before = stored.get(quarter_hour_sk(group_.quarter_hour), {}).get("watermarks", {})
    moved = {shard_name(one.posting.partition): one.seq for one in group_.postings}
    return quarter_hour_changes(
        group_.account,
        group_.quarter_hour,
        stored,
        delta,
        additions,
        counted={"watermarks": before | moved},
        last_updated=iso_millis(max(one.posting.recorded_at for one in group_.postings)),
        retention=retention,
    )


def quarter_hour_changes(  # noqa: PLR0913 - all that the counters hold
    account: Account,
    quarter_hour: QuarterHour,
    stored: Mapping[str, Counter],
    delta: PeriodTotals,
    additions: Sequence[Addition] = (),
    *,
    counted: Mapping[str, Any],
    last_updated: str,
    retention: Retention,
) -> list[CounterWrite]:
    """Return the changes that add a difference to a quarter-hour's counters, and new customers to their counts.

    ``delta``: the difference by period. ``counted``: the watermarks after the change: ``watermarks`` by shard, or one
    ``seq`` for all shards.
    """
    of_quarter_hour, latest, day = counter_keys(account, quarter_hour)
    until = quarter_hour.end
    updated = max(last_updated, stored.get(LATEST, {}).get("last_updated", ""))
    index = window_index(LATEST, latest["pk"])
    before = stored.get(of_quarter_hour["sk"], {})
    tallies = {one.tally: before.get(one.tally, 0) + one.customers for one in additions if one.customers}
    expiry = {"expires_at": epoch(until + retention.quarter_hour)}
    own = Period.of(quarter_hour.day)
    others = add_up(other_periods(before), ((period, one) for period, one in delta.items() if period != own))
    split = {str(period): one.as_dict() for period, one in others.items() if one != Totals()}
    periods = {"periods": split} if split or "periods" in before else {}
    whole = total(delta.values())
    return [
        counter_change(of_quarter_hour, stored, whole, {**counted, **tallies, **periods, **expiry}),
        counter_change(latest, stored, whole, {"last_updated": updated, **index}),
        counter_change(day, stored, whole, {"expires_at": epoch(until + retention.day)}),
        *(counter_change(period_key(account, period), stored, one, {}) for period, one in sorted(delta.items())),
        *(one for one in additions if one.customers),
    ]


def counter_change(key: Key, stored: Mapping[str, Counter], delta: Totals, more: dict[str, Any]) -> CounterChange:
    """Return the change that adds a difference to a counter and increments its version; ``more`` replaces the rest."""
    before = stored.get(key["sk"], {})
    version = before.get("version")
    totals = (Totals.of(before) if before else Totals()) + delta
    return CounterChange(
        {**before, **key, **totals.as_dict(), "version": (version or _NO_VERSION) + 1, **more}, version
    )


def epoch(instant: datetime) -> int:
    """Return an instant as a TTL attribute: whole seconds since 1970."""
    return int(instant.timestamp())


_NO_VERSION: Final = Decimal(0)
