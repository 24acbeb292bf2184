"""Billing orders, the pure part: stream records to the orders that are due, and those to what the ledger is told.

An event's identity is made of order and line, so whatever is delivered again, or was posted in part, is known by it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Self

from quarterhour.aws.entity import Values
from quarterhour.aws.items import from_item
from quarterhour.aws.streams import Poison, Record, new_image, sequence
from quarterhour.ledger.event import Event, Rejection, read_event
from quarterhour.ledger.plan import Outcome, Verdict
from quarterhour.model.clock import parse_iso
from quarterhour.orders.events import refund, sale
from quarterhour.orders.keys import HEADER, ORDERS, line_of
from quarterhour.orders.plan import CANCELLED, DUE, PAID, OrderHeader, facts


@dataclass(frozen=True, slots=True)
class Bill:
    """An order that has become due: to be billed or, with ``cancelled_at``, to be refunded.

    ``header`` is the order as the change left it.
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
        """Return all that has become due of an order by now: the bill first, then the refund.

        The list is empty for an order that was not paid. Raises ``ValueError`` where the record holds no order.
        """
        try:
            header = OrderHeader.of(from_item(new_image(record)))
            since = {entry.status: entry.at for entry in header.history}  # none comes twice
            if next(reversed(since), None) != header.status:
                raise ValueError(f"the history does not end with {header.status!r}")
            if PAID not in since:
                return []
            sold = cls(header, parse_iso(since[PAID]), None, record)
            return [sold, replace(sold, cancelled_at=since[CANCELLED])] if CANCELLED in since else [sold]
        except (KeyError, TypeError) as error:
            raise ValueError(f"the order lacks {error}") from error


def bills(records: Iterable[Record]) -> tuple[list[Bill], list[Poison]]:
    """Return what a batch makes due, in the order of the stream; what no version could ever bill is poison."""
    found, poison = [], []
    for record in filter(_is_change_of_order, records):
        try:
            due = Bill.all_of(record)
        except ValueError as error:
            poison.append(Poison(record, str(error)))
        else:
            # What else is due of the order, a change before has made so.
            found += [bill for bill in due[-1:] if bill.header.status in DUE]
    return sorted(found, key=lambda bill: bill.seq), poison


def _is_change_of_order(record: Record) -> bool:
    keys = record["dynamodb"]["Keys"]
    return record.get("eventName") == "MODIFY" and keys["pk"]["S"].startswith(ORDERS) and keys["sk"]["S"] == HEADER


def batches(due: Iterable[Bill], most: int) -> Iterator[list[Bill]]:
    """Cut bills, in their order, into pieces of at most so many lines, but one bill, and of no order twice."""
    piece: list[Bill] = []
    for bill in due:
        lines = sum(one.header.lines for one in piece) + bill.header.lines
        if piece and (lines > most or bill.header.order in {one.header.order for one in piece}):
            yield piece
            piece = []
        piece.append(bill)
    if piece:
        yield piece


def events(bill: Bill, items: Sequence[Values]) -> list[Event | Rejection]:
    """Return what the ledger is told of a bill; raise ``ValueError`` where the items are not those of the order."""
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
        return read_event(sold)
    back = read_event(refund(sold, bill.cancelled_at))
    # A part of it may have been given back before, or is at this moment: the ledger knows what is left.
    return replace(back, rest=True) if isinstance(back, Event) else back


def is_open(outcomes: Iterable[Outcome]) -> bool:
    """Tell whether something of a bill could not be written now, so that it has to come again."""
    return any(outcome.verdict is Verdict.UNAVAILABLE for outcome in outcomes)


def refusal(outcomes: Iterable[Outcome]) -> str:
    """Return what the ledger will never take of a bill, and why; nothing where it took all."""
    refused = [one for one in outcomes if one.verdict in {Verdict.REJECTED, Verdict.CONFLICT}]
    return "; ".join(f"{one.id}: {problem.field} {problem.problem}" for one in refused for problem in one.problems)
