"""The snapshot writer: plans and writes the snapshots of a batch of entity records."""

from collections.abc import Sequence

from quarterhour.aws.entity import Values
from quarterhour.aws.parking import Parking
from quarterhour.aws.streams import Record, failures
from quarterhour.aws.telemetry import logger
from quarterhour.aws.workers import Workers
from quarterhour.model import clock
from quarterhour.model.errors import UnavailableError
from quarterhour.snapshots.layers import Layer
from quarterhour.snapshots.plan import snapshots, states_of_parked
from quarterhour.snapshots.store import SnapshotStore


class SnapshotWriter:
    """Writes the last state of each window that an entity leaves, whatever the order and number of deliveries."""

    def __init__(self, store: SnapshotStore, parking: Parking, layers: Sequence[Layer], workers: Workers) -> None:
        self._store = store
        self._parking = parking
        self._layers = layers
        self._workers = workers

    def apply(self, records: Sequence[Record]) -> dict[str, list[dict[str, str]]]:
        """Write the snapshots of a batch; return the response from which Lambda knows what to deliver again."""
        planned, poison = snapshots(records, self._layers, clock.now())
        written = self._workers.map(self._write, [snapshot.values for snapshot in planned])
        failed = [snapshot.seq for snapshot, ok in zip(planned, written, strict=True) if not ok]
        self._parking.park(poison)
        if failed:
            logger.warning("to be delivered again", snapshots=len(failed))
        return failures(records, failed)

    def unpark(self, record: Record) -> bool:
        """Write the states of a parked record; return whether it could be applied."""
        states = states_of_parked(record, self._layers, clock.now())
        return states is not None and all(self._workers.map(self._write, states))

    def _write(self, values: Values) -> bool:
        try:
            self._store.put(values)
        except UnavailableError:
            return False
        return True
