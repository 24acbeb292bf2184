"""Billing the orders of a batch of entity records: gather their items, plan, post to the ledger."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from quarterhour import aws, clock
from quarterhour.errors import UnavailableError
from quarterhour.ledger.event import Event, Rejection
from quarterhour.ledger.recorder import Recorder
from quarterhour.orders.bills import Bill, batches, bills, events, is_open, refusal
from quarterhour.orders.store import OrderStore
from quarterhour.streams import Parking, Poison, Record, failures
from quarterhour.telemetry import Metric, count

LINES_AT_ONCE: Final = 500
"""Of how many lines orders are posted together."""


class Biller:
    """Posts each item of an order once when it is paid, and its refund once when it is cancelled after that."""

    def __init__(self, store: OrderStore, recorder: Recorder, parking: Parking, workers: aws.Workers) -> None:
        self._store = store
        self._recorder = recorder
        self._parking = parking
        self._workers = workers

    def apply(self, records: Sequence[Record], request_id: str, seconds: float) -> dict[str, list[dict[str, str]]]:
        """Bill a batch within so many seconds, and tell Lambda from where on to deliver again.

        An order that fails does not stop the others: what was posted of any is known by its identity.
        """
        until = clock.now() + timedelta(seconds=seconds)
        due, poison = bills(records)
        self._parking.park(poison)
        failed: list[Bill] = []
        for some in batches(due, LINES_AT_ONCE):
            # A refund must not go before its sale, which would be refused for good.
            behind = {bill.order for bill in failed}
            failed += [bill for bill in some if bill.order in behind]
            failed += self._post([bill for bill in some if bill.order not in behind], request_id, until)
        count(Metric.BILLS_FAILED, len(failed))
        return failures(records, [bill.seq for bill in failed])

    def _post(self, due: Sequence[Bill], request_id: str, until: datetime) -> list[Bill]:
        """Post bills, and park what the ledger will never take; return those that have to come again."""
        seconds = (until - clock.now()).total_seconds()
        if seconds <= 0:
            return list(due)
        try:
            gathered = self._workers.map(self._gather, due)
            told = [events_ for events_ in gathered if not isinstance(events_, Poison)]
            outcomes = iter(self._recorder.record([event for some in told for event in some], request_id, seconds))
        except UnavailableError:
            return list(due)
        failed = []
        for bill, events_ in zip(due, gathered, strict=True):
            if isinstance(events_, Poison):
                self._parking.park([events_])
                continue
            own = [next(outcomes) for _ in events_]
            if is_open(own):
                failed.append(bill)
            elif refused := refusal(own):
                self._parking.park([Poison(bill.record, refused)])
        return failed

    def _gather(self, bill: Bill) -> list[Event | Rejection] | Poison:
        """Read the items of an order, and return what the ledger is told of it."""
        try:
            return events(bill, self._store.items(bill.order))
        except (ValueError, KeyError) as error:
            return Poison(bill.record, f"the order cannot be billed: {error!r}")
