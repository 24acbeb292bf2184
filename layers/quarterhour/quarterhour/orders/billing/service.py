"""Bills the orders of a batch of entity records: read their items, plan the events, post them to the ledger."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

from quarterhour.aws.parking import Parking, Unparked
from quarterhour.aws.streams import Poison, Record, failures
from quarterhour.aws.telemetry import logger
from quarterhour.aws.workers import Workers
from quarterhour.ledger.events.event import Event, Rejection
from quarterhour.ledger.recording.service import Recorder
from quarterhour.model import clock
from quarterhour.model.errors import UnavailableError
from quarterhour.orders.billing.plan import Bill, batches, bills, events, is_incomplete, refusal
from quarterhour.orders.store import OrderStore

BY: Final = "billing"
"""The name under which orders are parked."""
LINES_AT_ONCE: Final = 500
"""The most lines of orders that are posted together."""


class Biller:
    """Posts a sale of each item once when an order is paid, and its refund once when the order is cancelled."""

    def __init__(self, store: OrderStore, recorder: Recorder, parking: Parking, workers: Workers) -> None:
        self._store = store
        self._recorder = recorder
        self._parking = parking
        self._workers = workers

    def apply(self, records: Sequence[Record], request_id: str, seconds: float) -> dict[str, list[dict[str, str]]]:
        """Bill a batch within so many seconds; return the records from which on Lambda must deliver again.

        An order that fails does not stop the others: the ledger detects events that are posted again.
        """
        until = clock.now() + timedelta(seconds=seconds)
        due, poison = bills(records)
        failed: list[Bill] = []
        for some in batches(due, LINES_AT_ONCE):
            # A refund must not be posted before its sale: the ledger would reject the refund for good.
            blocked = {bill.header.order for bill in failed}
            failed += [bill for bill in some if bill.header.order in blocked]
            postable = [bill for bill in some if bill.header.order not in blocked]
            unposted, rejected = self._post(postable, request_id, until)
            poison += rejected
            failed += unposted
        self._parking.park(poison)
        if failed:
            logger.warning("to be delivered again", orders=len(failed))
        return failures(records, [bill.seq for bill in failed])

    def unpark(self, request_id: str, seconds: float) -> Unparked:
        """Bill the parked orders within so many seconds; those that still cannot be billed stay parked.

        All bills of an order so far are posted, as earlier ones may never have been.
        """
        until = clock.now() + timedelta(seconds=seconds)

        def post(record: Record) -> bool:
            try:
                due = Bill.all_of(record)
            except ValueError:
                return False
            # Where the ledger may have forgotten the identities of the sales, they would be posted twice.
            if not due or not self._recorder.remembers(due[0].paid_at):
                return False
            unposted, rejected = self._post(due, request_id, until)
            return not (unposted or rejected)

        return self._parking.replay({BY: post}, lambda: clock.now() < until)[BY]

    def _post(self, due: Sequence[Bill], request_id: str, until: datetime) -> tuple[list[Bill], list[Poison]]:
        """Post bills; return those that must be posted again, and those that the ledger rejects."""
        seconds = (until - clock.now()).total_seconds()
        if seconds <= 0:
            return list(due), []
        try:
            gathered = self._workers.map(self._gather, due)
            to_post = [event for some in gathered if not isinstance(some, Poison) for event in some]
            outcomes = iter(self._recorder.record(to_post, request_id, seconds))
        except UnavailableError:
            return list(due), []
        unposted, rejected = [], []
        for bill, some in zip(due, gathered, strict=True):
            if isinstance(some, Poison):
                rejected.append(some)
                continue
            of_bill = list(islice(outcomes, len(some)))
            if is_incomplete(of_bill):
                unposted.append(bill)
            elif reason := refusal(of_bill):
                rejected.append(Poison(bill.record, reason))
        return unposted, rejected

    def _gather(self, bill: Bill) -> list[Event | Rejection] | Poison:
        """Read the items of an order, and return the events of its bill."""
        try:
            return events(bill, self._store.items(bill.header.order))
        except (ValueError, KeyError) as error:
            return Poison(bill.record, f"the order cannot be billed: {error!r}")
