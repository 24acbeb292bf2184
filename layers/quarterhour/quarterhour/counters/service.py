"""Counts batches of ledger records: read the counters, plan the changes, write them; retry after a conflict."""

from collections.abc import Sequence

from quarterhour.aws.parking import Parking
from quarterhour.aws.retries import optimistically
from quarterhour.aws.streams import Record, failures
from quarterhour.aws.telemetry import Metric, count, logger
from quarterhour.aws.workers import Workers
from quarterhour.counters.distinct import additions, first_places, marker_sets
from quarterhour.counters.plan import (
    Addition,
    Group,
    Retention,
    by_account,
    group,
    group_changes,
    lacks_watermark,
    uncounted,
)
from quarterhour.counters.store import CounterStore
from quarterhour.model.errors import UnavailableError


class CounterUpdater:
    """Counts each ledger record exactly once, however often and in whatever batches it is delivered."""

    def __init__(self, store: CounterStore, parking: Parking, retention: Retention, workers: Workers) -> None:
        self._store = store
        self._parking = parking
        self._retention = retention
        self._workers = workers

    def apply(self, records: Sequence[Record]) -> dict[str, list[dict[str, str]]]:
        """Count a batch; return the records from which on Lambda must deliver again.

        A group that fails does not stop the others. Their watermarks make a repeated delivery harmless.
        """
        groups, poison = group(records)
        self._parking.park(poison)
        # Accounts in parallel, the groups of one account in turn: they would conflict at its lifetime totals.
        failed = [seq for some in self._workers.map(self._apply_in_turn, by_account(groups)) for seq in some]
        count(Metric.GROUPS_FAILED, len(failed))
        return failures(records, failed)

    def _apply_in_turn(self, groups: Sequence[Group]) -> list[str]:
        """Count the groups of one account; return the first sequence number of each that failed.

        A group is not counted after an earlier one of its quarter-hour failed: their watermarks are the same.
        """
        failed: list[Group] = []
        for one in groups:
            if one.quarter_hour in {other.quarter_hour for other in failed} or not self._apply(one):
                failed.append(one)
        return [one.postings[0].seq for one in failed]

    def _apply(self, one: Group) -> bool:
        def attempt() -> None:
            stored = self._store.read(one.keys)
            if lacks_watermark(one, stored):
                # Read after the lifetime: 0.1.0 moves both in one transaction, so this write fails if it does so now.
                stored = {**self._store.read_partitions(one.account, one.quarter_hour), **stored}
            new = uncounted(one, stored)
            if new.postings:
                self._store.write(group_changes(new, stored, self._mark_customers(new), self._retention))

        try:
            optimistically(attempt, str(one.quarter_hour))
        except UnavailableError:
            logger.warning("group not counted, to be delivered again", quarter_hour=str(one.quarter_hour))
            return False
        return True

    def _mark_customers(self, new: Group) -> list[Addition]:
        """Set the markers of customers that have none, and return the new customers that the group brings."""
        places = first_places(new)
        sets = marker_sets(new.account, new.quarter_hour.day, places, self._retention)
        return additions(new, sets, self._store.mark(sets, places))
