"""Counting a batch of ledger records: gather the counters, plan, apply; again where somebody else was faster."""

from collections.abc import Sequence

from quarterhour.aws.parking import Parking
from quarterhour.aws.retries import optimistically
from quarterhour.aws.streams import Record, failures
from quarterhour.aws.telemetry import Metric, count, logger
from quarterhour.aws.workers import Workers
from quarterhour.counters.distinct import sightings
from quarterhour.counters.plan import Group, Retention, by_account, changes, group
from quarterhour.counters.store import CounterStore
from quarterhour.model.errors import UnavailableError


class CounterUpdater:
    """Counts each ledger record exactly once, however often and however cut it is delivered."""

    def __init__(self, store: CounterStore, parking: Parking, retention: Retention, workers: Workers) -> None:
        self._store = store
        self._parking = parking
        self._retention = retention
        self._workers = workers

    def apply(self, records: Sequence[Record]) -> dict[str, list[dict[str, str]]]:
        """Count a batch and tell Lambda from where on to deliver again.

        A group that fails does not stop the others: its watermark has not moved, theirs make a repetition harmless.
        """
        groups, poison = group(records)
        self._parking.park(poison)
        # Accounts side by side, the groups of one in turn: they would only get into each other's way at its totals.
        failed = [seq for some in self._workers.map(self._apply_in_turn, by_account(groups)) for seq in some]
        count(Metric.GROUPS_FAILED, len(failed))
        return failures(records, failed)

    def _count_customers(self, one: Group) -> None:
        # Before the watermark moves: a crash in between delivers the group again, which then finds its markers.
        customers = {step.posting.customer for step in one.steps if step.posting.customer}
        for sighting in sightings(one.account, one.partition.quarter_hour.day, customers, self._retention):
            self._store.count_missing(sighting)

    def _apply_in_turn(self, groups: Sequence[Group]) -> list[str]:
        """Apply the groups of one account; return the first sequence number of each that failed."""
        return [one.steps[0].seq for one in groups if not self._apply(one)]

    def _apply(self, one: Group) -> bool:
        def attempt() -> None:
            self._count_customers(one)
            planned = changes(one, self._store.read(one.keys), self._retention)
            if planned:
                self._store.write(planned)

        try:
            optimistically(attempt, str(one.partition))
        except UnavailableError:
            logger.warning("group not counted, to be delivered again", partition=str(one.partition))
            return False
        return True
