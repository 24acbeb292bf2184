"""Counters as 0.1.0 wrote them: an item a partition, with its totals and its watermark."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from quarterhour.counters.keys import partition_key
from quarterhour.counters.plan import (
    Addition,
    Counter,
    CounterChange,
    Group,
    Retention,
    counter_change,
    epoch,
    quarter_hour_changes,
)
from quarterhour.model.clock import iso_millis
from quarterhour.model.identifiers import Account, Partition
from quarterhour.model.totals import Totals
from tests.support.builders import in_own_month


def older_changes(  # noqa: PLR0913 - all that the three counters hold
    account: Account,
    partition: Partition,
    stored: Mapping[str, Counter],
    delta: Totals,
    *,
    seq: str,
    last_updated: str,
    retention: Retention,
) -> list[CounterChange | Addition]:
    """Return the changes by which 0.1.0 added a difference to the three counters of a partition."""
    more: Any = {"counted": {}, "last_updated": last_updated, "retention": retention}
    in_month = in_own_month(partition.quarter_hour, delta)
    # 0.1.0 kept no totals of periods.
    _, *shared, _ = quarter_hour_changes(account, partition.quarter_hour, stored, in_month, **more)
    watermark = {"seq": seq, "expires_at": epoch(partition.quarter_hour.end + retention.quarter_hour)}
    written = [counter_change(partition_key(account, partition), stored, delta, watermark), *shared]
    return [without_payments(change) for change in written if isinstance(change, CounterChange)]


def without_payments(change: CounterChange) -> CounterChange:
    """Return the change of a counter without payments, which 0.1.0 did not know."""
    return replace(change, values={name: value for name, value in change.values.items() if name != "payments"})


def older_group_changes(
    group: Group, stored: Mapping[str, Counter], retention: Retention
) -> list[CounterChange | Addition]:
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
    return older_changes(group.account, partition, stored, delta, **more)
