"""Counters as earlier releases wrote them: 0.2.0 four items a quarter-hour, 0.1.0 an item a partition among them."""

from collections.abc import Iterable, Mapping
from typing import Any

from quarterhour.aws.entity import LATEST, Key
from quarterhour.counters.keys import (
    day_key,
    latest_key,
    partition_key,
    partition_sk,
    period_key,
    quarter_hour_key,
    quarter_hour_sk,
    shard_name,
)
from quarterhour.counters.plan import Addition, CounterChange, Group, NewCustomers, Retention, epoch
from quarterhour.counters.windows import Counter, other_periods
from quarterhour.model.clock import iso_millis
from quarterhour.model.identifiers import Account, Partition
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import PeriodTotals, Totals, add_up, total
from quarterhour.snapshots.keys import window_index

Changes = list[CounterChange | Addition]


def periods_of(group: Group) -> set[Period]:
    """Return the periods of a group's postings."""
    return {one.posting.period for one in group.postings}


def older_keys(account: Account, quarter_hour: QuarterHour, periods: Iterable[Period] = ()) -> list[Key]:
    """Return the keys of the counters that 0.2.0 wrote: quarter-hour, lifetime, day, periods."""
    of_periods = (period_key(account, period) for period in sorted(periods))
    return [
        quarter_hour_key(account, quarter_hour),
        latest_key(account),
        day_key(account, quarter_hour.day),
        *of_periods,
    ]


def in_own_month(quarter_hour: QuarterHour, totals: Totals) -> PeriodTotals:
    """Return totals of a quarter-hour that count in its own month."""
    return {Period.of(quarter_hour.day): totals}


def keys_in_own_month(account: Account, quarter_hour: QuarterHour) -> list[Key]:
    """Return the keys of the counters that 0.2.0 wrote of events that count in the month of their quarter-hour."""
    return older_keys(account, quarter_hour, [Period.of(quarter_hour.day)])


def counter_change(key: Key, stored: Mapping[str, Counter], delta: Totals, more: dict[str, Any]) -> CounterChange:
    """Return the change by which 0.1.0 and 0.2.0 added a difference to a counter; ``more`` replaces the rest."""
    before = stored.get(key["sk"], {})
    version = before.get("version")
    totals = (Totals.of(before) if before else Totals()) + delta
    values = {**before, **key, **totals.as_dict(), "version": int(version or 0) + 1, **more}
    return CounterChange(values, None if version is None else int(version))


def changes_of_0_2_0(  # noqa: PLR0913 - all that the counters hold
    account: Account,
    quarter_hour: QuarterHour,
    stored: Mapping[str, Counter],
    delta: PeriodTotals,
    customers: Iterable[NewCustomers] = (),
    *,
    counted: Mapping[str, Any],
    last_updated: str,
    retention: Retention,
) -> Changes:
    """Return the changes by which 0.2.0 added a difference to a quarter-hour's counters, and new customers."""
    of_quarter_hour, latest, day = older_keys(account, quarter_hour)
    new = [one for one in customers if one.customers]
    updated = max(last_updated, stored.get(LATEST, {}).get("last_updated", ""))
    index = window_index(LATEST, latest["pk"])
    before = stored.get(of_quarter_hour["sk"], {})
    tallies = {one.tally: int(before.get(one.tally, 0)) + one.customers for one in new}
    expiry = {"expires_at": epoch(quarter_hour.end + retention.quarter_hour)}
    own = Period.of(quarter_hour.day)
    others = add_up(other_periods(before), ((period, one) for period, one in delta.items() if period != own))
    split = {str(period): one.as_dict() for period, one in others.items() if one != Totals()}
    periods = {"periods": split} if split or "periods" in before else {}
    whole = total(delta.values())
    return [
        counter_change(of_quarter_hour, stored, whole, {**counted, **tallies, **periods, **expiry}),
        counter_change(latest, stored, whole, {"last_updated": updated, **index}),
        counter_change(day, stored, whole, {"expires_at": epoch(quarter_hour.end + retention.day)}),
        *(counter_change(period_key(account, period), stored, one, {}) for period, one in sorted(delta.items())),
        *(Addition(one.counter, one.customers, None) for one in new),
    ]


def watermark_of_0_2_0(partition: Partition, stored: Mapping[str, Counter]) -> str:
    """Return the watermark by which 0.2.0 dropped what was counted."""
    quarter_hour = stored.get(quarter_hour_sk(partition.quarter_hour), {})
    of_shard = quarter_hour.get("watermarks", {}).get(shard_name(partition), "")
    older = stored.get(partition_sk(partition), {})
    return str(max(of_shard, quarter_hour.get("seq", ""), older.get("seq", "")))


def group_changes_of_0_2_0(
    group: Group, stored: Mapping[str, Counter], customers: Iterable[NewCustomers], retention: Retention
) -> Changes:
    """Return the changes by which 0.2.0 counted a group; empty if all of it is counted."""
    counted = {partition: watermark_of_0_2_0(partition, stored) for partition in group.partitions}
    new = [one for one in group.postings if one.seq > counted[one.posting.partition]]
    if not new:
        return []
    delta: PeriodTotals = {}
    for one in new:
        so_far = delta.get(one.posting.period, Totals())
        delta[one.posting.period] = so_far.plus(
            one.posting.amount, one.posting.commission, is_payment=one.posting.is_payment
        )
    before = stored.get(quarter_hour_sk(group.quarter_hour), {}).get("watermarks", {})
    moved = {shard_name(one.posting.partition): one.seq for one in new}
    more: Any = {"counted": {"watermarks": before | moved}, "retention": retention}
    last = iso_millis(max(one.posting.recorded_at for one in new))
    return changes_of_0_2_0(group.account, group.quarter_hour, stored, delta, customers, last_updated=last, **more)


def changes_of_0_1_0(  # noqa: PLR0913 - all that the three counters hold
    account: Account,
    partition: Partition,
    stored: Mapping[str, Counter],
    delta: Totals,
    *,
    seq: str,
    last_updated: str,
    retention: Retention,
) -> list[CounterChange]:
    """Return the changes by which 0.1.0 added a difference to the three counters of a partition."""
    more: Any = {"counted": {}, "last_updated": last_updated, "retention": retention}
    in_month = {Period.of(partition.quarter_hour.day): delta}
    # 0.1.0 kept no totals of periods.
    _, *shared, _ = changes_of_0_2_0(account, partition.quarter_hour, stored, in_month, **more)
    watermark = {"seq": seq, "expires_at": epoch(partition.quarter_hour.end + retention.quarter_hour)}
    written = [counter_change(partition_key(account, partition), stored, delta, watermark), *shared]
    return [without_payments(change) for change in written if isinstance(change, CounterChange)]


def without_payments(change: CounterChange) -> CounterChange:
    """Return the change of a counter without payments, which 0.1.0 did not know."""
    values = {name: value for name, value in change.values.items() if name != "payments"}
    return CounterChange(values, change.version)


def group_changes_of_0_1_0(group: Group, stored: Mapping[str, Counter], retention: Retention) -> list[CounterChange]:
    """Return the changes by which 0.1.0 counted the postings of a group, which are of one partition."""
    (partition,) = group.partitions
    applied = stored.get(partition_key(group.account, partition)["sk"], {}).get("seq", "")
    new = [one for one in group.postings if one.seq > applied]
    delta = Totals()
    for one in new:
        delta = delta.plus(one.posting.amount, one.posting.commission)
    if not new:
        return []
    last = iso_millis(max(one.posting.recorded_at for one in new))
    more: Any = {"seq": new[-1].seq, "last_updated": last, "retention": retention}
    return changes_of_0_1_0(group.account, partition, stored, delta, **more)
