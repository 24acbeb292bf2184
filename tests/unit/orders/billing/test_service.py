"""Billing a batch: what is posted, what is delivered again, and what is parked; without AWS."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest

from quarterhour.aws.entity import Values
from quarterhour.aws.parking import Unparked
from quarterhour.aws.streams import Poison, Record
from quarterhour.aws.telemetry import logger
from quarterhour.aws.workers import Workers
from quarterhour.ledger.events.event import Event, Rejection
from quarterhour.ledger.recording.outcomes import Outcome, Verdict
from quarterhour.model import clock
from quarterhour.model.clock import ManualClock
from quarterhour.model.errors import FieldProblem, UnavailableError
from quarterhour.orders.billing.service import Biller
from tests.support.builders import AT
from tests.support.orders import change, header, item, order, stored

SECONDS = 20.0


class Ledger:
    """Stands in for the recorder: keeps the events of each call, and returns verdicts, ``RECORDED`` by default."""

    def __init__(self, hands: ManualClock) -> None:
        self.calls: list[list[str]] = []
        self.requests: list[tuple[str, float]] = []
        self.verdicts: dict[str, Verdict] = {}
        self.down = False
        self.takes = timedelta(0)
        self.known_since = datetime.min.replace(tzinfo=AT.tzinfo)
        self._hands = hands

    def record(self, items: Sequence[Event | Rejection], request_id: str, seconds: float) -> list[Outcome]:
        self.calls.append([str(one.identity.id) if isinstance(one, Event) else f"bad {one.id}" for one in items])
        self.requests.append((request_id, seconds))
        self._hands.advance(self.takes)
        if self.down:
            raise UnavailableError("the tables are down")
        return [self._outcome(one) for one in items]

    def _outcome(self, one: Event | Rejection) -> Outcome:
        if isinstance(one, Rejection):
            return Outcome(one.source, one.id, Verdict.REJECTED, problems=one.problems)
        verdict = self.verdicts.get(one.identity.id, Verdict.RECORDED)
        problems = () if verdict is Verdict.RECORDED else (FieldProblem("id", "was in the way", "another"),)
        return Outcome(one.identity.source, one.identity.id, verdict, problems=problems)

    def remembers(self, at: datetime) -> bool:
        return at >= self.known_since

    @property
    def posted(self) -> list[str]:
        return [id_ for call in self.calls for id_ in call]


class Orders:
    """The items of orders, in memory; those of an order that is ``lost`` cannot be read."""

    def __init__(self) -> None:
        self.stored: dict[str, list[Values]] = {}
        self.lost: set[str] = set()

    def items(self, name: str) -> list[Values]:
        if name in self.lost:
            raise UnavailableError("the table is down")
        return self.stored[name]


class Lot:
    """The queue of parked records: what is parked in it, and what is replayed from it, each once."""

    def __init__(self) -> None:
        self.parked: list[Poison] = []
        self.waiting: list[Record] = []
        self.begun: list[bool] = []

    def park(self, poison: Iterable[Poison]) -> None:
        self.parked += poison

    def replay(
        self, appliers: Mapping[str, Callable[[Record], bool]], in_time: Callable[[], bool]
    ) -> dict[str, Unparked]:
        ((by, apply),) = appliers.items()
        applied = kept = 0
        for one in self.waiting:
            self.begun.append(in_time())
            if self.begun[-1] and apply(one):
                applied += 1
            else:
                kept += 1
        return {by: Unparked(applied, kept)}


class Desk:
    """A biller with all that it needs in memory."""

    def __init__(self, hands: ManualClock) -> None:
        self.hands = hands
        self.ledger = Ledger(hands)
        self.orders = Orders()
        self.lot = Lot()
        self.again: dict[str, int] = {}
        doubles: tuple[Any, Any, Any] = (self.orders, self.ledger, self.lot)
        self._biller = Biller(*doubles, Workers(1))

    def became(self, seq: int, name: str, *statuses: str, lines: int = 1, **changed: object) -> Record:
        """Return the record of an order's change, and keep its items."""
        one = order(*(item(**changed) for _ in range(lines)), order=name)
        self.orders.stored[name] = stored(one)
        return change(seq, header(one, *statuses))

    def paid(self, seq: int, name: str, lines: int = 1, **changed: object) -> Record:
        return self.became(seq, name, "open", "paid", lines=lines, **changed)

    def cancelled(self, seq: int, name: str) -> Record:
        return self.became(seq, name, "open", "paid", "cancelled")

    def bill(self, *records: Record, seconds: float = SECONDS) -> list[str]:
        """Bill a batch; return the sequence number from which it is to be delivered again, or nothing."""
        answer = self._biller.apply(records, "request-1", seconds)
        return [one["itemIdentifier"] for one in answer["batchItemFailures"]]

    def unpark(self, *records: Record, seconds: float = SECONDS) -> tuple[int, int]:
        """Bill what is parked; return how many records were applied, and how many kept."""
        self.lot.waiting = list(records)
        result = self._biller.unpark("request-1", seconds)
        return result.applied, result.kept

    @property
    def reasons(self) -> list[str]:
        return [one.reason for one in self.lot.parked]


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    hands = ManualClock(AT)
    with clock.using(hands):
        made = Desk(hands)
        monkeypatch.setattr(logger, "warning", lambda _, **about: made.again.update(about))
        yield made


def damaged(record: Record) -> Record:
    """Return a change of an order whose history is lost."""
    image = {**record["dynamodb"]["NewImage"], "history": {"L": []}}
    return {**record, "dynamodb": {**record["dynamodb"], "NewImage": image}}


# ---------------------------------------------------------------- a batch


def test_each_item_of_each_due_order_is_posted_in_the_order_of_the_stream(desk: Desk) -> None:
    records = [desk.paid(2, "b", lines=2), desk.became(3, "c", "open"), desk.paid(1, "a"), desk.cancelled(4, "d")]
    assert desk.bill(*records) == []
    assert desk.ledger.calls == [["a:1", "b:1", "b:2", "d:1:refund"]]
    assert desk.ledger.requests == [("request-1", SECONDS)]
    assert (desk.lot.parked, desk.again) == ([], {})


def test_a_refund_is_posted_after_its_sale_and_never_in_one_request(desk: Desk) -> None:
    assert desk.bill(desk.paid(1, "a"), desk.cancelled(2, "a")) == []
    assert desk.ledger.calls == [["a:1"], ["a:1:refund"]]


def test_up_to_500_lines_are_posted_in_one_request(desk: Desk) -> None:
    assert desk.bill(desk.paid(1, "a", lines=499), desk.paid(2, "b"), desk.paid(3, "c")) == []
    assert [len(call) for call in desk.ledger.calls] == [500, 1]


def test_an_unavailable_bill_is_delivered_again_and_nothing_is_parked(desk: Desk) -> None:
    desk.ledger.verdicts = {"b:2": Verdict.UNAVAILABLE}
    assert desk.bill(desk.paid(1, "a"), desk.paid(2, "b", lines=2), desk.paid(3, "c")) == ["2"]
    assert desk.ledger.posted == ["a:1", "b:1", "b:2", "c:1"]
    assert (desk.reasons, desk.again) == ([], {"orders": 1})


def test_the_refund_of_an_order_that_could_not_be_billed_waits_for_it_and_other_orders_do_not(desk: Desk) -> None:
    desk.ledger.verdicts = {"a:1": Verdict.UNAVAILABLE}
    records = [desk.paid(1, "a"), desk.paid(2, "b"), desk.cancelled(3, "a"), desk.cancelled(4, "b")]
    assert desk.bill(*records) == ["1"]
    assert desk.ledger.posted == ["a:1", "b:1", "b:1:refund"]
    assert desk.again == {"orders": 2}


def test_a_rejected_bill_is_parked_with_the_reason_and_the_others_are_posted(desk: Desk) -> None:
    desk.ledger.verdicts = {"a:2": Verdict.CONFLICT}
    refused = desk.paid(1, "a", lines=2)
    assert desk.bill(refused, desk.paid(2, "b")) == []
    assert [(one.record, one.reason) for one in desk.lot.parked] == [(refused, "a:2: id was in the way")]
    assert desk.ledger.posted == ["a:1", "a:2", "b:1"]
    assert desk.again == {}


def test_orders_are_billed_though_the_queue_of_parked_records_does_not_answer(desk: Desk) -> None:
    def fail(poison: Iterable[Poison]) -> None:
        raise UnavailableError(f"SQS did not answer in time for {len(list(poison))} records")

    desk.lot.park = fail  # type: ignore[method-assign]
    with pytest.raises(UnavailableError, match="1 records"):
        desk.bill(damaged(desk.paid(1, "a")), desk.paid(2, "b"))
    assert desk.ledger.posted == ["b:1"]


def test_an_order_that_is_partly_unavailable_is_delivered_again_before_it_is_parked(desk: Desk) -> None:
    desk.ledger.verdicts = {"a:1": Verdict.CONFLICT, "a:2": Verdict.UNAVAILABLE}
    assert desk.bill(desk.paid(1, "a", lines=2)) == ["1"]
    assert desk.lot.parked == []


def test_outcomes_are_assigned_to_their_orders(desk: Desk) -> None:
    desk.ledger.verdicts = {"b:1": Verdict.CONFLICT, "c:2": Verdict.UNAVAILABLE}
    records = [desk.paid(1, "a", lines=3), desk.paid(2, "b"), desk.paid(3, "c", lines=2), desk.paid(4, "d")]
    assert desk.bill(*records) == ["3"]
    assert [one.record for one in desk.lot.parked] == [records[1]]


def test_an_order_with_the_wrong_items_is_parked_and_the_outcomes_of_the_others_still_match(desk: Desk) -> None:
    desk.ledger.verdicts = {"c:1": Verdict.UNAVAILABLE}
    records = [desk.paid(1, "a"), desk.paid(2, "b", lines=2), desk.paid(3, "c")]
    desk.orders.stored["b"].pop()
    assert desk.bill(*records) == ["3"]
    (poison,) = desk.lot.parked
    assert poison.record == records[1]
    assert "the order cannot be billed" in poison.reason
    assert "1 items where 2 should be" in poison.reason
    assert desk.ledger.posted == ["a:1", "c:1"]


def test_an_order_with_an_item_that_lacks_a_field_is_parked(desk: Desk) -> None:
    record = desk.cancelled(1, "a")
    del desk.orders.stored["a"][0]["amount"]
    assert desk.bill(record) == []
    assert [one.record for one in desk.lot.parked] == [record]


def test_an_order_with_an_item_that_is_no_event_is_parked_with_what_is_wrong(desk: Desk) -> None:
    record = desk.paid(1, "a")
    desk.orders.stored["a"][0]["amount"] = "much"
    assert desk.bill(record) == []
    assert desk.ledger.posted == ["bad a:1"]
    assert "data.amount" in desk.reasons[0]


def test_a_change_that_can_never_be_read_is_parked_and_the_others_are_billed(desk: Desk) -> None:
    broken = damaged(desk.paid(1, "a"))
    assert desk.bill(broken, desk.paid(2, "b")) == []
    assert [one.record for one in desk.lot.parked] == [broken]
    assert desk.ledger.posted == ["b:1"]


def test_while_the_ledger_is_unavailable_a_whole_batch_is_delivered_again(desk: Desk) -> None:
    desk.ledger.down = True
    assert desk.bill(desk.paid(1, "a"), desk.paid(2, "b")) == ["1"]
    assert (desk.reasons, desk.again) == ([], {"orders": 2})


def test_a_batch_whose_items_cannot_be_read_is_delivered_again(desk: Desk) -> None:
    records = [desk.paid(1, "a"), desk.paid(2, "b")]
    desk.orders.lost = {"b"}
    assert desk.bill(*records) == ["1"]
    assert (desk.ledger.calls, desk.reasons) == ([], [])


def test_each_batch_gets_the_time_that_is_left_and_none_begins_without(desk: Desk) -> None:
    desk.ledger.takes = timedelta(seconds=8)
    records = [desk.paid(seq, f"o{seq}", lines=500) for seq in (1, 2, 3, 4)]
    assert desk.bill(*records, seconds=20) == ["4"]
    assert [seconds for _, seconds in desk.ledger.requests] == [20, 12, 4]
    assert desk.again == {"orders": 1}


@pytest.mark.parametrize(("takes", "again"), [(19.999, []), (20, ["2"])])
def test_a_batch_begins_while_any_time_is_left(desk: Desk, takes: float, again: list[str]) -> None:
    desk.ledger.takes = timedelta(seconds=takes)
    assert desk.bill(desk.paid(1, "a", lines=500), desk.paid(2, "b"), seconds=20) == again
    assert len(desk.ledger.calls) == 2 - len(again)


# ---------------------------------------------------------------- what is parked


def test_a_parked_order_is_billed_and_removed_from_the_queue(desk: Desk) -> None:
    assert desk.unpark(desk.paid(1, "a", lines=2), desk.paid(2, "b")) == (2, 0)
    assert desk.ledger.calls == [["a:1", "a:2"], ["b:1"]]
    assert desk.ledger.requests == [("request-1", SECONDS)] * 2


@pytest.mark.parametrize("statuses", [("open", "paid", "cancelled"), ("open", "paid", "shipped", "cancelled")])
def test_sale_and_refund_of_a_parked_cancelled_order_are_posted(desk: Desk, statuses: tuple[str, ...]) -> None:
    assert desk.unpark(desk.became(1, "a", *statuses)) == (1, 0)
    assert desk.ledger.posted == ["a:1", "a:1:refund"]


@pytest.mark.parametrize("verdict", [Verdict.UNAVAILABLE, Verdict.REJECTED, Verdict.CONFLICT])
def test_an_order_that_still_cannot_be_billed_stays_parked(desk: Desk, verdict: Verdict) -> None:
    desk.ledger.verdicts = {"a:1": verdict}
    assert desk.unpark(desk.paid(1, "a"), desk.paid(2, "b")) == (1, 1)
    assert desk.ledger.posted == ["a:1", "b:1"]
    assert desk.lot.parked == []


def test_a_record_without_a_bill_stays_parked(desk: Desk) -> None:
    assert desk.unpark(damaged(desk.paid(1, "a")), desk.became(2, "b", "open")) == (0, 2)
    assert desk.ledger.calls == []


def test_an_order_whose_sales_the_ledger_may_have_forgotten_stays_parked(desk: Desk) -> None:
    paid_at = AT + timedelta(minutes=1)
    desk.ledger.known_since = paid_at + timedelta(milliseconds=1)
    assert desk.unpark(desk.cancelled(1, "a")) == (0, 1)
    assert desk.ledger.calls == []
    desk.ledger.known_since = paid_at.replace(microsecond=0)
    assert desk.unpark(desk.cancelled(1, "a")) == (1, 0)


def test_records_stay_parked_where_time_runs_out(desk: Desk) -> None:
    desk.ledger.takes = timedelta(seconds=10)
    records = [desk.paid(seq, name) for seq, name in enumerate("abc")]
    assert desk.unpark(*records, seconds=20) == (2, 1)
    assert desk.lot.begun == [True, True, False]
    assert [seconds for _, seconds in desk.ledger.requests] == [20, 10]
