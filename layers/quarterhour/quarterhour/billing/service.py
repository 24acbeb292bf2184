"""Billing the orders of a batch of entity records: gather their items, plan, post to the ledger."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from quarterhour.aws.parking import Parking, Unparked
from quarterhour.aws.streams import Poison, Record, failures
from quarterhour.aws.telemetry import Metric, count
from quarterhour.aws.workers import Workers
from quarterhour.billing.plan import Bill, batches, bills, events, is_open, refusal
from quarterhour.ledger.event import Event, Rejection
from quarterhour.ledger.service import Recorder
from quarterhour.model import clock
from quarterhour.model.errors import UnavailableError
from quarterhour.orders.store import OrderStore

LINES_AT_ONCE: Final = 500
"""Of how many lines orders are posted together."""


class Biller:
    """Posts each item of an order once when it is paid, and its refund once when it is cancelled after that."""

    def __init__(self, store: OrderStore, recorder: Recorder, parking: Parking, workers: Workers) -> None:
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
            behind = {bill.header.order for bill in failed}
            failed += [bill for bill in some if bill.header.order in behind]
            late, refused = self._post([bill for bill in some if bill.header.order not in behind], request_id, until)
            self._parking.park(refused)
            failed += late
        count(Metric.BILLS_FAILED, len(failed))
        return failures(records, [bill.seq for bill in failed])

    def unpark(self, request_id: str, seconds: float) -> Unparked:
        """Bill the orders that are parked, within so many seconds; those that still cannot be billed stay.

        Of each all that it owes by now is posted, as what it owed before may never have been.
        """
        until = clock.now() + timedelta(seconds=seconds)

        def post(record: Record) -> bool:
            try:
                due = Bill.all_of(record)
            except ValueError:
                return False
            # Where the ledger may have forgotten the sales, they would be posted twice.
            if not due or not self._recorder.remembers(due[0].paid_at):
                return False
            late, refused = self._post(due, request_id, until)
            return not (late or refused)

        return self._parking.replay(post, lambda: clock.now() < until)

    def _post(self, due: Sequence[Bill], request_id: str, until: datetime) -> tuple[list[Bill], list[Poison]]:
        """Post bills; return those that have to come again, and those that the ledger will never take."""
        seconds = (until - clock.now()).total_seconds()
        if seconds <= 0:
            return list(due), []
        try:
            gathered = self._workers.map(self._gather, due)
            told = [event for some in gathered if not isinstance(some, Poison) for event in some]
            outcomes = iter(self._recorder.record(told, request_id, seconds))
        except UnavailableError:
            return list(due), []
        late, refused = [], []
        for bill, some in zip(due, gathered, strict=True):
            if isinstance(some, Poison):
                refused.append(some)
                continue
            own = list(islice(outcomes, len(some)))
            if is_open(own):
                late.append(bill)
            elif reason := refusal(own):
                refused.append(Poison(bill.record, reason))
        return late, refused

    def _gather(self, bill: Bill) -> list[Event | Rejection] | Poison:
        """Read the items of an order, and return what the ledger is told of it."""
        try:
            return events(bill, self._store.items(bill.header.order))
        except (ValueError, KeyError) as error:
            return Poison(bill.record, f"the order cannot be billed: {error!r}")
