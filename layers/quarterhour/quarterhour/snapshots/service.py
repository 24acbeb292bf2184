"""Keeping the snapshots of a batch of entity records: plan, apply."""

from collections.abc import Sequence

from quarterhour.aws.parking import Parking
from quarterhour.aws.streams import Record, failures
from quarterhour.aws.telemetry import Metric, count
from quarterhour.aws.workers import Workers
from quarterhour.model.errors import UnavailableError
from quarterhour.snapshots.layers import Layer
from quarterhour.snapshots.plan import Snapshot, snapshots
from quarterhour.snapshots.store import SnapshotStore


class SnapshotWriter:
    """Keeps the newest state of each window, whatever the order and number of deliveries."""

    def __init__(self, store: SnapshotStore, parking: Parking, layers: Sequence[Layer], workers: Workers) -> None:
        self._store = store
        self._parking = parking
        self._layers = layers
        self._workers = workers

    def apply(self, records: Sequence[Record]) -> dict[str, list[dict[str, str]]]:
        """Keep the snapshots of a batch and tell Lambda from where on to deliver again."""
        kept, poison = snapshots(records, self._layers)
        self._parking.park(poison)
        done = self._workers.map(self._keep, kept)
        failed = [snapshot.seq for snapshot, ok in zip(kept, done, strict=True) if not ok]
        count(Metric.SNAPSHOTS_FAILED, len(failed))
        return failures(records, failed)

    def replay(self, record: Record) -> bool:
        """Keep the snapshots of a record that was parked; ``False`` where it still cannot be applied."""
        kept, poison = snapshots([record], self._layers)
        return not poison and all(self._workers.map(self._keep, kept))

    def _keep(self, snapshot: Snapshot) -> bool:
        try:
            self._store.keep(snapshot.values)
        except UnavailableError:
            return False
        return True
