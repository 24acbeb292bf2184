"""Planning of billing, pure: stream records to bills, and bills to ledger events.

An event's identity is made of order and line, so the ledger detects events that are posted again.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Self

from quarterhour.aws.entity import Values
from quarterhour.aws.items import from_item
from quarterhour.aws.streams import Poison, Record, new_image, sequence
from quarterhour.ledger.events.event import Event, Rejection, read_event
from quarterhour.ledger.recording.outcomes import Outcome, Verdict
from quarterhour.model.clock import parse_iso
from quarterhour.orders.events import refund, sale
from quarterhour.orders.keys import HEADER, ORDERS, line_of
from quarterhour.orders.plan import CANCELLED, DUE, PAID, OrderHeader, facts


@dataclass(frozen=True, slots=True)
class Bill:
    """An order that has become due: to be billed or, with ``cancelled_at``, to be refunded.

    ``header`` is the order's header after the change.
    """

    header: OrderHeader
    paid_at: datetime
    cancelled_at: str | None
    record: Record

    @property
    def seq(self) -> str:
        """The record's sequence number, padded."""
        return sequence(self.record)

    @classmethod
    def all_of(cls, record: Record) -> list[Self]:
        """Return all bills of an order so far: the sale first, then the refund.

        The list is empty for an order that was not paid. Raises ``ValueError`` if the record holds no order.
        """
        try:
            header = OrderHeader.of(from_item(new_image(record)))
            since = {entry.status: entry.at for entry in header.history}  # an order is in each status at most once
            if next(reversed(since), None) != header.status:
                raise ValueError(f"the history does not end with {header.status!r}")
            if PAID not in since:
                return []
            sold = cls(header, parse_iso(since[PAID]), None, record)
            return [sold, replace(sold, cancelled_at=since[CANCELLED])] if CANCELLED in since else [sold]
        except (KeyError, TypeError) as error:
            raise ValueError(f"the order lacks {error}") from error


def bills(records: Iterable[Record]) -> tuple[list[Bill], list[Poison]]:
    """Return the bills that a batch makes due, in the order of the stream, and poison.

    Poison is a record that can never be billed.
    """
    due, poison = [], []
    for record in filter(_is_change_of_order, records):
        try:
            of_order = Bill.all_of(record)
        except ValueError as error:
            poison.append(Poison(record, str(error)))
        else:
            # Only the last: an earlier change has made the others due.
            due += [bill for bill in of_order[-1:] if bill.header.status in DUE]
    return sorted(due, key=lambda bill: bill.seq), poison


def _is_change_of_order(record: Record) -> bool:
    keys = record["dynamodb"]["Keys"]
    if record.get("eventName") != "MODIFY" or not (keys["pk"]["S"].startswith(ORDERS) and keys["sk"]["S"] == HEADER):
        return False
    # An order whose customer is forgotten changes, too; what `quarterhour bill` sends has no earlier image.
    before, after = (record["dynamodb"].get(image, {}).get("status") for image in ("OldImage", "NewImage"))
    return before is None or before != after


def batches(due: Iterable[Bill], max_lines: int) -> Iterator[list[Bill]]:
    """Yield bills, in their order, in batches of at most ``max_lines`` lines.

    A bill with more lines is a batch of one. A batch holds at most one bill of each order.
    """
    batch: list[Bill] = []
    for bill in due:
        lines = sum(one.header.lines for one in batch) + bill.header.lines
        if batch and (lines > max_lines or bill.header.order in {one.header.order for one in batch}):
            yield batch
            batch = []
        batch.append(bill)
    if batch:
        yield batch


def events(bill: Bill, items: Sequence[Values]) -> list[Event | Rejection]:
    """Return the events of a bill; raise ``ValueError`` if the order has another number of items."""
    if len(items) != bill.header.lines:
        raise ValueError(f"the order has {len(items)} items where {bill.header.lines} should be")
    return [_event(bill, item) for item in items]


def _event(bill: Bill, item: Values) -> Event | Rejection:
    header = bill.header
    sold = sale(
        header.order,
        line_of(item["sk"]),
        facts(item),
        currency=header.currency,
        customer=header.customer,
        placed_at=header.placed_at,
    )
    if bill.cancelled_at is None:
        return read_event(sold, billed=True)
    refunded = read_event(refund(sold, bill.cancelled_at), billed=True)
    # Partial refunds may exist, or be posted at this moment: the ledger refunds the rest.
    return replace(refunded, rest=True) if isinstance(refunded, Event) else refunded


def is_incomplete(outcomes: Iterable[Outcome]) -> bool:
    """Return whether some event of a bill could not be written, so that the bill must be posted again."""
    return any(outcome.verdict is Verdict.UNAVAILABLE for outcome in outcomes)


def refusal(outcomes: Iterable[Outcome]) -> str:
    """Return the events of a bill that the ledger rejects, with the reasons; empty if it accepts all."""
    refused = [one for one in outcomes if one.verdict in {Verdict.REJECTED, Verdict.CONFLICT}]
    return "; ".join(f"{one.id}: {problem.field} {problem.problem}" for one in refused for problem in one.problems)
