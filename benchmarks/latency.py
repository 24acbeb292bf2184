"""Times requests by the clock on a made-up AWS whose every call takes 5 ms, in a separate process.

Argument: what to time (one of ``REQUESTS``), and the number of rounds. The environment is that of the function.
"""

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import redirect_stdout
from dataclasses import asdict, dataclass
from datetime import timedelta
from heapq import heappop, heappush
from pathlib import Path
from time import perf_counter, process_time, sleep
from typing import TYPE_CHECKING, Any, Final, TypeVar
from unittest.mock import patch

from benchmarks.assumptions import CALL_SECONDS
from benchmarks.functions import ROOT, Context, Handler, load
from benchmarks.made_up import NEWEST, Json, Ledger, MadeUp
from benchmarks.orders import TIMED_ITEMS, body
from benchmarks.recording import batch, request
from quarterhour.aws import resources
from quarterhour.ledger.events.event import Event, read_event
from quarterhour.ledger.postings.segments import SegmentKey, packed, segment_item
from quarterhour.ledger.recording.claim_items import claim_item
from quarterhour.ledger.recording.claims import Claim
from quarterhour.ledger.recording.plan import ledger_values
from quarterhour.ledger.recording.pricing import CommissionTerms
from quarterhour.ledger.recording.settings import RecordingSettings
from quarterhour.model.clock import ManualClock, using
from quarterhour.model.identifiers import Identity, Partition, Position

if TYPE_CHECKING:
    from botocore.awsrequest import AWSPreparedRequest, AWSResponse

T = TypeVar("T")
R = TypeVar("R")

REFUND: Final = "refund-"

_AT: Final = NEWEST.end + timedelta(minutes=10)
_LEDGER: Final = Ledger(1, 2000, shards=4, accounts=5, events_a_segment=500)
_RECORDS: Final = 500


class Row:
    """The number of calls that have to wait for each other, up to the call that is made now."""

    def __init__(self) -> None:
        self.length = 0


class Distant(MadeUp):
    """A made-up AWS with time between a call and its response; it knows every sale and no refund."""

    def __init__(self, row: Row) -> None:
        super().__init__(_LEDGER)
        self.seconds = 0.0
        self.calls = 0
        self._segments: dict[str, Json] = {}
        self._row = row

    def _answer(self, request: "AWSPreparedRequest", event_name: str, **more: object) -> "AWSResponse":
        self._row.length += 1
        self.calls += 1
        sleep(self.seconds)
        return super()._answer(request, event_name, **more)

    def _BatchGetItem(self, request: Json) -> Json:  # noqa: N802 - the operation's name
        ((table, requested),) = request["RequestItems"].items()
        keys = requested["Keys"]
        if "event" in keys[0]:
            sales = [Identity.parse(key["event"]["S"]) for key in keys if REFUND not in key["event"]["S"]]
            return {"Responses": {table: [self._claim(sale) for sale in sales]}}
        if "position" in keys[0]:
            return {"Responses": {table: [self._segments[key["position"]["S"]] for key in keys]}}
        return super()._BatchGetItem(request)

    def _Query(self, request: Json) -> Json | bytes:  # noqa: N802 - the operation's name
        of_ledger = "quarter_hour" in request["KeyConditionExpression"]
        return super()._Query(request) if of_ledger else {"Items": [], "Count": 0, "ScannedCount": 0}

    def _claim(self, sale: Identity) -> Json:
        """Return the item of a sale's claim; keep that of its segment, in which it is alone."""
        event = read_event(batch(int(sale.id.rpartition("-")[2]))[0] | {"id": sale.id})
        if not isinstance(event, Event) or event.commission_rate is None:
            raise TypeError(event)
        settings = RecordingSettings(1, event.commission_rate, timedelta(hours=1), timedelta(), None)
        made = Claim.of(event, _AT, settings, CommissionTerms(event.commission_rate, "event"))
        key = SegmentKey(Partition.of(sale.hash, _AT, _LEDGER.shards), Position.of(sale.hash, _AT))
        claim = made.placed(key, 0)
        self._segments[str(key.position)] = segment_item(key, 1, packed([ledger_values(event, claim)]))
        return claim_item(claim, "earlier")


class InTurn:
    """Workers that make their calls one after the other, and count those that would have to wait."""

    row: Row

    def __init__(self, count: int) -> None:
        self._count = count

    def map(self, call: Callable[[T], R], arguments: Iterable[T]) -> list[R]:
        """Make each call as soon as a worker is free."""
        free = [self.row.length] * self._count
        results = []
        for argument in arguments:
            self.row.length = heappop(free)
            results.append(call(argument))
            heappush(free, self.row.length)
        self.row.length = max(free)
        return results

    def start(self, call: Callable[[], R]) -> Callable[[], R]:
        """Make a call beside those that follow."""
        begun = self.row.length
        result = call()
        ended, self.row.length = self.row.length, begun

        def wait() -> R:
            self.row.length = max(self.row.length, ended)
            return result

        return wait


# ---------------------------------------------------------------- requests


def _sample(name: str) -> dict[str, Any]:
    sample: dict[str, Any] = json.loads((ROOT / "events" / f"{name}.json").read_text("utf-8"))
    return sample


def _refunds() -> list[dict[str, Any]]:
    """Return 500 linked refunds of 500 sales."""
    sales = batch(0, commission_rate=None)
    return [
        {
            **sale,
            "id": f"{REFUND}{sale['id']}",
            "type": "sale.refunded",
            "data": {"amount": "-1.50", "currency": "EUR", "refers_to": sale["id"]},
        }
        for sale in sales
    ]


_stream = Ledger(1, 100 * _RECORDS, accounts=5, events_a_segment=_RECORDS).stream(1)
"""Batches of a segment with 100 events of each account."""


REQUESTS: Final[Mapping[str, Callable[[], dict[str, Any]]]] = {
    "one event": lambda: request(batch(0)[:1]),
    "events": lambda: request(batch(0)),
    "refunds": lambda: request(_refunds()),
    "order": lambda: {**_sample("write-order"), "body": json.dumps(body(1, TIMED_ITEMS))},
    "read": lambda: _sample("read-account"),
    "stream batch": lambda: next(_stream),
    "report": dict,
}


def _succeeds(response: dict[str, Any]) -> bool:
    """Return whether a request was carried out; a read may find nothing."""
    if "counts" in response.get("body", ""):
        return list(json.loads(response["body"])["counts"]) == ["recorded"]
    return response.get("statusCode", 200) in {200, 201, 404} and not response.get("batchItemFailures")


@dataclass(frozen=True, slots=True)
class Timed:
    """The shortest of some rounds: milliseconds by the clock and of CPU, and calls, of these in a row."""

    wall: float
    cpu: float
    calls: int
    in_a_row: int


def measure(what: str, rounds: int) -> Timed:
    """Time a request after another one, as a function that has started does."""
    row = Row()
    aws = Distant(row)
    with aws.installed():

        def run(handler: Handler) -> tuple[float, float]:
            event = REQUESTS[what]()
            aws.reset()
            aws.calls = row.length = 0
            began, used = perf_counter(), process_time()
            response = handler(event, Context(what))
            took = perf_counter() - began, process_time() - used
            if not _succeeds(response):
                raise ValueError(response)
            return took

        InTurn.row = row
        with patch.object(resources, "Workers", InTurn):
            counted = load()
            run(counted)
            run(counted)
        calls, in_a_row = aws.calls, row.length
        handler = load()
        run(handler)
        aws.seconds = CALL_SECONDS
        wall, cpu = min(run(handler) for _ in range(rounds))
    return Timed(wall * 1000, cpu * 1000, calls, in_a_row)


def main() -> None:
    """Measure and print."""
    _, what, rounds = sys.argv
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere), using(ManualClock(_AT)):
        timed = measure(what, int(rounds))
    print(json.dumps(asdict(timed)))


if __name__ == "__main__":
    main()
