"""Sending events as a shop does, and looking at what stands in the tables, the streams and the queues afterwards."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from local.delivery import lambda_record
from local.engines import REGION
from local.faults import Faults, Spec
from local.http_api import Request, Response
from tests.handlers.world import World, opened

ONE = "application/cloudevents+json"
BATCH = "application/cloudevents-batch+json"

Cloud = dict[str, Any]


def sale(id_: str = "order-1", amount: object = "12.50", type_: str = "sale.recorded", **data: object) -> Cloud:
    """Return a CloudEvent."""
    return {
        "specversion": "1.0",
        "id": id_,
        "source": "shop",
        "type": type_,
        "subject": "42",
        "data": {"amount": amount, "currency": "GBP", **data},
    }


def refund(id_: str, amount: str, of: str = "order-1", **data: object) -> Cloud:
    """Return a CloudEvent of a refund that is linked to a sale."""
    return sale(id_, amount, "sale.refunded", refers_to=of, **data)


def post(world: World, body: object, content_type: str | None = None) -> Response:
    """Send one event or a list of them; bytes and text are sent as they are."""
    content = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
    kind = content_type if content_type is not None else BATCH if isinstance(body, list) else ONE
    headers = (("Content-Type", kind),) if kind else ()
    return world.stack.request(Request("POST", "/events", headers=headers, body=content))


def verdicts(answer: Response) -> list[str]:
    """Return the verdict of each item."""
    return [item["verdict"] for item in answer.json()["items"]]


def receipt(answer: Response, index: int = 0) -> dict[str, str]:
    """Return an item's receipt."""
    found: dict[str, str] = answer.json()["items"][index]["receipt"]
    return found


# ---------------------------------------------------------------- what stands where


def items(world: World, table: str) -> list[dict[str, Any]]:
    """Return all items of a table; attribute values without their types, as all are text or numbers."""
    pages = world.stack.dynamodb.get_paginator("scan").paginate(TableName=world.stack.ref(table))
    found = [item for page in pages for item in page["Items"]]
    return [{name: next(iter(value.values())) for name, value in item.items()} for item in found]


def ledger(world: World) -> list[dict[str, str]]:
    """Return the events in the ledger, in the order of their positions."""
    return sorted(items(world, "LedgerTable"), key=lambda item: str(item["position"]))


def entity(world: World, sk: str, pk: str = "ACCOUNT#42#GBP") -> dict[str, Any]:
    """Return an item of the Entity table."""
    (found,) = [item for item in items(world, "EntityTable") if (item["pk"], item["sk"]) == (pk, sk)]
    return found


def parked(world: World, queue: str) -> list[dict[str, Any]]:
    """Take what waits in a queue."""
    answer = world.stack.engine.sqs().receive_message(QueueUrl=world.stack.ref(queue), MaxNumberOfMessages=10)
    return [json.loads(message["Body"]) for message in answer.get("Messages", [])]


def stream(world: World, table: str) -> list[dict[str, Any]]:
    """Return all records of a table's stream, as Lambda hands them over."""
    client = world.stack.engine.streams()
    arn = world.stack.dynamodb.describe_table(TableName=world.stack.ref(table))["Table"]["LatestStreamArn"]
    (shard,) = client.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    iterator = client.get_shard_iterator(StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON")
    records = client.get_records(ShardIterator=iterator["ShardIterator"])["Records"]
    return [lambda_record(one, arn, REGION, world.clock.now()) for one in records]


def redeploy(world: World, function: str, **environment: str) -> None:
    """Deploy a function with other values in its environment."""
    old = world.stack.functions[function]
    world.stack.functions[function] = replace(old, environment={**old.environment, **environment})
    world.stack.cold_start(function)


def deliver(world: World, function: str, records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Hand records to a function, and return the positions that it names as failed."""
    answer = world.stack.invoke(function, {"Records": list(records)})
    return [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]


def number(record: Mapping[str, Any]) -> str:
    """Return a record's sequence number as it was delivered."""
    return str(record["dynamodb"]["SequenceNumber"])


@contextmanager
def faulty(spec: str = "") -> Iterator[tuple[World, Faults]]:
    """Deploy the system with faults at hand, which strike while they are at work."""
    with Faults(Spec.parse(spec)).installed() as faults, opened() as world:
        yield world, faults
