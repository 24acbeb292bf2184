"""Counting a batch while calls to the table fail."""

from collections import Counter as Counting
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from quarterhour.aws.entity import Key
from quarterhour.aws.retries import ATTEMPTS
from quarterhour.aws.streams import Poison
from quarterhour.aws.workers import Workers
from quarterhour.counters.distinct import Marker, MarkerSet, new_markers
from quarterhour.counters.plan import Addition, Counter, CounterChange, Retention
from quarterhour.counters.service import CounterUpdater
from quarterhour.model import clock
from quarterhour.model.errors import UnavailableError
from quarterhour.model.identifiers import Account, Identity, Position
from quarterhour.model.quarter_hours import QuarterHour
from tests.support.builders import AT, posting_item, record
from tests.support.clocks import Waits
from tests.support.script import cancelled, service_error

FASTER = cancelled(["ConditionalCheckFailed", "None", "None"])
THROTTLED = service_error("ThrottlingException")
TIMEOUT = ReadTimeoutError(endpoint_url="table")
LATEST = ("ACCOUNT#42#GBP", "latest")


class Counters:
    """The counters in memory; the writes of an account fail, in turn, as ``failing`` says, until nothing is left."""

    def __init__(self, **failing: Sequence[Exception]) -> None:
        self.failing = {account: list(errors) for account, errors in failing.items()}
        self.items: dict[tuple[str, str], Counter] = {}
        self.markers: dict[str, Marker] = {}
        self.customers: Counting[str] = Counting()
        self.reads = 0
        self.partition_reads = 0

    def read(self, keys: Sequence[Key]) -> Mapping[str, Counter]:
        self.reads += 1
        places = [(key["pk"], key["sk"]) for key in keys]
        return {sk: self.items[pk, sk] for pk, sk in places if (pk, sk) in self.items}

    def read_partitions(self, account: Account, quarter_hour: QuarterHour) -> Mapping[str, Counter]:
        self.partition_reads += 1
        of_quarter_hour = f"QUARTER#{quarter_hour}"
        found = self.items.items()
        return {sk: item for (pk, sk), item in found if pk == f"ACCOUNT#{account}" and sk.startswith(of_quarter_hour)}

    def mark(self, sets: Sequence[MarkerSet], places: Mapping[str, str]) -> Mapping[str, Marker]:
        self.markers = {one["pk"]: one for of in sets for one in new_markers(of, places, self.markers)} | self.markers
        return self.markers

    def write(self, planned: Sequence[CounterChange | Addition]) -> None:
        changes = [change.values for change in planned if isinstance(change, CounterChange)]
        _, agency, _ = changes[0]["pk"].split("#")
        if errors := self.failing.get(f"of_{agency}"):
            raise errors.pop(0)
        self.items |= {(values["pk"], values["sk"]): dict(values) for values in changes}
        for one in planned:
            if isinstance(one, Addition):
                self.customers[one.counter["sk"]] += one.customers


class Lot:
    """Takes what is parked."""

    def __init__(self) -> None:
        self.parked: list[Poison] = []

    def park(self, poison: Sequence[Poison]) -> None:
        self.parked += poison


def counting(counters: Counters) -> CounterUpdater:
    stub: Any = counters
    lot: Any = Lot()
    return CounterUpdater(stub, lot, Retention(timedelta(days=35), timedelta(days=800)), Workers(1))


def sold(seq: int, account: str = "42#GBP", **more: str) -> dict[str, Any]:
    at = AT + timedelta(milliseconds=seq)
    return record(seq, posting_item(account, position=str(Position.of(Identity("shop", str(seq)), at)), **more))


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> Iterator[Waits]:
    """Give a clock that keeps its pauses, each as long as it can become."""
    monkeypatch.setattr("random.SystemRandom.uniform", lambda _generator, _least, most: most)
    with clock.using(recording := Waits()):
        yield recording


def test_a_batch_is_counted_without_a_pause_where_no_call_fails(waits: Waits) -> None:
    counters = Counters()
    assert counting(counters).apply([sold(1), sold(2)]) == {"batchItemFailures": []}
    assert (counters.items[LATEST]["events"], counters.reads, waits.waited) == (2, 1, [])


def test_the_counters_of_partitions_are_read_once_for_a_shard_that_has_no_watermark_yet() -> None:
    counters = Counters()
    for seq in (1, 2, 3):
        counting(counters).apply([sold(seq)])
    assert (counters.items[LATEST]["events"], counters.reads, counters.partition_reads) == (3, 3, 1)


def test_a_customer_is_counted_with_the_record_that_set_the_marker_however_often_the_write_fails() -> None:
    counters = Counters(of_42=[FASTER] * (ATTEMPTS + 1))
    records = [sold(1), sold(2, customer="ann"), sold(3, customer="bob")]
    assert counting(counters).apply(records[:2]) == {"batchItemFailures": [{"itemIdentifier": "1"}]}
    assert (len(counters.markers), counters.customers.total()) == (2, 0)
    counting(counters).apply(records)
    counting(counters).apply(records)
    assert counters.customers == {"CUSTOMERS": 2, "CUSTOMERS#2026-10-23": 2}
    item = counters.items["ACCOUNT#42#GBP", "QUARTER#202610230130"]
    assert (item["new_customers"], item["new_customers_of_day"]) == (2, 2)


@pytest.mark.parametrize("error", [FASTER, THROTTLED, TIMEOUT])
def test_a_write_that_failed_temporarily_is_planned_again_after_longer_and_longer_pauses(
    waits: Waits, error: Exception
) -> None:
    counters = Counters(of_42=[error] * 3)
    assert counting(counters).apply([sold(1)]) == {"batchItemFailures": []}
    assert (counters.items[LATEST]["events"], counters.reads) == (1, 4)
    assert len(waits.waited) == 3
    assert waits.waited == sorted(set(waits.waited))
    assert all(waited > 0 for waited in waits.waited)


def test_a_group_that_keeps_failing_is_delivered_again_and_the_others_are_counted() -> None:
    counters = Counters(of_7=[FASTER] * ATTEMPTS)
    records = [sold(1), sold(2, "7#GBP"), sold(3), sold(4, "7#GBP")]
    assert counting(counters).apply(records) == {"batchItemFailures": [{"itemIdentifier": "2"}]}
    assert counters.items[LATEST]["events"] == 2
    assert counters.failing["of_7"] == []
    assert counting(counters).apply(records[1:]) == {"batchItemFailures": []}
    assert [counters.items[f"ACCOUNT#{agency}#GBP", "latest"]["events"] for agency in ("42", "7")] == [2, 2]


def test_a_group_whose_counters_cannot_be_read_is_given_up_at_once(waits: Waits) -> None:
    """The call has been tried, and waited for, as often as there is a point in it."""
    counters = Counters(of_42=[UnavailableError("busy")])
    assert counting(counters).apply([sold(1)]) == {"batchItemFailures": [{"itemIdentifier": "1"}]}
    assert (counters.reads, waits.waited) == (1, [])


@pytest.mark.parametrize(
    "error", [service_error("AccessDeniedException"), cancelled(["ValidationError", "None", "None"])]
)
def test_a_write_that_can_never_succeed_raises_an_error(waits: Waits, error: ClientError) -> None:
    counters = Counters(of_42=[error])
    with pytest.raises(ClientError):
        counting(counters).apply([sold(1)])
    assert (counters.items, waits.waited) == ({}, [])
