"""Other ways to record events: what people write with boto3, or take from a library.

Each records the events of a request's body in the tables of a deployment. ``speed`` times them on the made-up AWS.
``conduct`` meters them on the embedded engine, and sends events again after each possible crash.

Arguments: ``speed`` and the number of rounds, or ``conduct``, with the environment of the ingest function.
"""

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import boto3
from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent_function,
)
from botocore.exceptions import ClientError
from botocore.handlers import BUILTIN_HANDLERS

from benchmarks.functions import Context, load
from benchmarks.made_up import Ledger, MadeUp
from benchmarks.recording import batch, request
from benchmarks.timing import by_default, in_turns
from benchmarks.writing import System, system
from quarterhour.aws import clients
from quarterhour.aws.items import binary
from quarterhour.ledger.postings.segments import postings_of
from quarterhour_tools.emulator.http_api import Request

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

Record = Callable[[str], object]
"""Records the events of a request's body."""
Way = Callable[["DynamoDBClient", Mapping[str, str]], Record]
"""Makes a way to record events with a client, in tables by their logical names."""

PEERS_TABLE: Final = "PeersTable"
"""Where Powertools keeps what it has done."""
OWN: Final = "Quarterhour"
_CRASHED_EVENTS: Final = 26
"""More than one call of 25."""
_AT_A_TIME: Final = 25
_QUARTER_HOUR_SECONDS: Final = 900


def posting(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return a ledger item of an event, at the current instant, with its commission."""
    now = datetime.now(UTC)
    quarter_hour = datetime.fromtimestamp(now.timestamp() // _QUARTER_HOUR_SECONDS * _QUARTER_HOUR_SECONDS, UTC)
    data = event["data"]
    return {
        "quarter_hour": {"S": f"{quarter_hour:%Y%m%d%H%M}"},
        "position": {"S": f"{now.isoformat()}#{event['source']}#{event['id']}"},
        "source": {"S": event["source"]},
        "id": {"S": event["id"]},
        "type": {"S": event["type"]},
        "agency": {"S": event["subject"]},
        "currency": {"S": data["currency"]},
        "amount": {"S": data["amount"]},
        "commission_rate": {"S": data["commission_rate"]},
        "commission": {"S": str(Decimal(data["amount"]) * Decimal(data["commission_rate"]))},
        "recorded_at": {"S": now.isoformat()},
    }


def receipt(event: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a claim must hold to answer a retry, and to tell other content: the ledger key, price, and digest."""
    item = posting(event)
    digest = sha256(json.dumps(event, sort_keys=True).encode()).hexdigest()
    kept = ("quarter_hour", "position", "commission_rate", "amount", "currency", "agency")
    return {"digest": {"S": digest}, **{name: item[name] for name in kept}}


def batch_writes(client: "DynamoDBClient", tables: Mapping[str, str]) -> Record:
    """Write the events with BatchWriteItem, 25 at a time, without a check for earlier ones."""
    return lambda body: _write(client, tables["LedgerTable"], json.loads(body))


def _write(client: "DynamoDBClient", ledger: str, events: list[dict[str, Any]]) -> None:
    for first in range(0, len(events), _AT_A_TIME):
        puts: Any = [{"PutRequest": {"Item": posting(one)}} for one in events[first : first + _AT_A_TIME]]
        left: Any = {ledger: puts}
        while left:
            left = client.batch_write_item(RequestItems=left)["UnprocessedItems"]


def boto3_loop(client: "DynamoDBClient", tables: Mapping[str, str]) -> Record:
    """Claim each event with a conditional PutItem, then write the new ones with BatchWriteItem."""
    identity, ledger = tables["IdentityTable"], tables["LedgerTable"]

    def is_new(event: dict[str, Any]) -> bool:
        try:
            client.put_item(
                TableName=identity,
                Item={"event": {"S": f"{event['source']}#{event['id']}"}, **receipt(event)},
                ConditionExpression="attribute_not_exists(event)",
            )
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                raise
            return False
        return True

    return lambda body: _write(client, ledger, [one for one in json.loads(body) if is_new(one)])


def powertools(client: "DynamoDBClient", tables: Mapping[str, str]) -> Record:
    """Write each event with PutItem, in Powertools' idempotency with its persistence in DynamoDB."""
    config = IdempotencyConfig(event_key_jmespath="[source, id]")
    context: Any = _Ending("peers")
    config.register_lambda_context(context)
    store = DynamoDBPersistenceLayer(table_name=tables[PEERS_TABLE], boto3_client=client)

    @idempotent_function(data_keyword_argument="event", persistence_store=store, config=config)  # type: ignore[untyped-decorator]
    def write(*, event: dict[str, Any]) -> dict[str, str]:
        client.put_item(TableName=tables["LedgerTable"], Item=posting(event))
        return {"id": event["id"]}

    return lambda body: [write(event=event) for event in json.loads(body)]


class _Ending(Context):
    """A context whose invocation is about to end, so that the next one need not wait for what this one left."""

    def get_remaining_time_in_millis(self) -> int:
        return 0


LOOP: Final = "boto3: PutItem, BatchWriteItem"
WRITES: Final = "boto3: BatchWriteItem alone"
POWERTOOLS: Final = "Powertools' idempotency"
PEERS: Final[Mapping[str, Way]] = {LOOP: boto3_loop, POWERTOOLS: powertools, WRITES: batch_writes}

# ---------------------------------------------------------------- speed


def speed(rounds: int) -> dict[str, dict[str, float]]:
    """Return for each peer how many times as fast ours is, and the events per CPU second of both."""
    tables = {name: name for name in ("IdentityTable", "LedgerTable", PEERS_TABLE)}
    events = batch(0)
    body = json.dumps(events)
    sent = request(events)
    measured = {}
    with MadeUp(Ledger(1, 0)).installed():
        handler = load()

        def ours() -> None:
            answer = handler(sent, Context("ingest"))  # forgotten as soon as they are written, so new each time
            if json.loads(answer["body"])["counts"] != {"recorded": len(events)}:
                raise ValueError(answer["body"])

        for name, way in PEERS.items():
            record = by_default(way(boto3.client("dynamodb"), tables))
            timed = in_turns(partial(record, body), ours, rounds)
            theirs, own = (len(events) / min(column) for column in zip(*timed, strict=True))
            measured[name] = {"times": own / theirs, "rate": theirs, "own": own}
    return measured


# ---------------------------------------------------------------- calls, units, crashes


class DiedError(BaseException):
    """The process ended."""


class Death:
    """Ends the recording after a number of calls to DynamoDB: the last one takes effect, its answer is lost."""

    def __init__(self) -> None:
        self.calls_left: int | None = None

    @contextmanager
    def installed(self) -> Iterator["Death"]:
        """End what is made with clients that are made in the block."""
        hooks = [("before-call.dynamodb", self._before), ("after-call.dynamodb", self._after)]
        BUILTIN_HANDLERS.extend(hooks)
        clients.session.cache_clear()
        try:
            yield self
        finally:
            for hook in hooks:
                BUILTIN_HANDLERS.remove(hook)
            clients.session.cache_clear()

    def _before(self, **_: object) -> None:
        if self.calls_left == 0:
            raise DiedError

    def _after(self, **_: object) -> None:
        if self.calls_left is not None:
            self.calls_left -= 1
            self._before()


@dataclass(frozen=True, slots=True)
class Conduct:
    """What recording costs an event, and what becomes of events that are sent again."""

    calls: float
    write_units: float
    doubled: int
    """Events that a batch sent twice doubled."""
    events: int
    """Events in such a batch."""
    crashes: int
    """How many times recording ended, each time after one call more, before the batch was sent again."""
    crash_lost: int
    """The most events that one crash kept out of the ledger for ever."""
    crash_doubled: int
    """The most events that are in the ledger twice after one crash."""


def conduct() -> dict[str, Conduct]:
    """Return how each way behaves on the embedded engine, ours first."""
    with system() as one, Death().installed() as death:
        one.stack.dynamodb.create_table(
            TableName=PEERS_TABLE,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        )
        tables = {name: one.stack.ref(name) for name in ("IdentityTable", "LedgerTable")} | {PEERS_TABLE: PEERS_TABLE}
        found = {OWN: _conduct(one, death, "own", partial(_ours, one))}
        for number, (name, way) in enumerate(PEERS.items()):
            found[name] = _conduct(one, death, f"peer-{number}", partial(_started, way, tables))
    return found


def _started(way: Way, tables: Mapping[str, str]) -> Record:
    return way(boto3.client("dynamodb"), tables)


def _ours(one: System) -> Record:
    one.stack.cold_start("ingest")
    headers = (("content-type", "application/cloudevents-batch+json"),)
    return lambda body: one.stack.request(Request("POST", "/events", headers=headers, body=body.encode()))


def _conduct(one: System, death: Death, source: str, start: Callable[[], Record]) -> Conduct:
    record = start()
    record(_body(f"{source}-first"))
    one.meter.take()
    record(_body(f"{source}-metered", len(batch(0))))
    bill = one.meter.take()
    record(_body(f"{source}-twice"))
    record(_body(f"{source}-twice"))
    crashes = 0
    for calls in count(1):
        body = _body(f"{source}-crash-{calls}")
        death.calls_left = calls
        try:
            record(body)
        except DiedError:
            crashes = calls
        finally:
            ended, death.calls_left = death.calls_left, None
        record = start()
        record(body)
        if ended:
            break
    kept = _kept(one)
    crashed = [[kept[key] for key in _keys(f"{source}-crash-{number}")] for number in range(1, crashes + 1)]
    events = len(batch(0))
    return Conduct(
        calls=bill.calls.total() / events,
        write_units=bill.write_units / events,
        doubled=sum(kept[key] - 1 for key in _keys(f"{source}-twice")),
        events=_CRASHED_EVENTS,
        crashes=crashes,
        crash_lost=max(sum(not times for times in one) for one in crashed),
        crash_doubled=max(sum(times > 1 for times in one) for one in crashed),
    )


def _body(source: str, events: int = _CRASHED_EVENTS) -> str:
    return json.dumps([{**one, "source": source} for one in batch(0)[:events]])


def _keys(source: str) -> list[tuple[str, str]]:
    return [(source, one["id"]) for one in batch(0)[:_CRASHED_EVENTS]]


def _kept(one: System) -> Counter[tuple[str, str]]:
    pages = one.stack.dynamodb.get_paginator("scan").paginate(TableName=one.stack.ref("LedgerTable"))
    return Counter(one for page in pages for item in page["Items"] for one in _identities(item))


def _identities(item: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the source and id of each event in an item: of a segment, which boto3 has decoded, or of one event."""
    if "count" in item:
        content = {"events": binary(item["events"]["B"])} if "events" in item else {}
        yield from ((one["source"], one["id"]) for one in postings_of({**item, **content}))
    else:
        yield item["source"]["S"], item["id"]["S"]


# ---------------------------------------------------------------- the table


def comparison(timed: Mapping[str, Mapping[str, float]], behaved: Mapping[str, Mapping[str, float]]) -> str:
    """Return a table in Markdown of what ``speed`` and ``conduct`` found."""
    rates = {OWN: max(one["own"] for one in timed.values())} | {name: one["rate"] for name, one in timed.items()}
    rows = [
        f"| {name} | {rates[name]:,.0f} | {one['calls']:.2f} | {one['write_units']:.2f} | "
        f"{_harm(one['events'], doubled=one['doubled'])} | "
        f"{_harm(one['events'], lost=one['crash_lost'], doubled=one['crash_doubled'])} |"
        for name, one in behaved.items()
    ]
    head = ("way to record", "events a CPU second", "calls an event", "write units an event")
    titles = " | ".join((*head, "a batch sent twice", "a crash, then sent again"))
    return "\n".join([f"| {titles} |", "|---|---|---|---|---|---|", *rows])


def _harm(events: float, **counts: float) -> str:
    return ", ".join(f"{number:.0f} of {events:.0f} {what}" for what, number in counts.items() if number) or "exact"


def main() -> None:
    """Measure and print."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        what, *arguments = sys.argv[1:]
        if what == "speed":
            measured: Any = speed(*map(int, arguments))
        else:
            measured = {name: asdict(one) for name, one in conduct().items()}
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
