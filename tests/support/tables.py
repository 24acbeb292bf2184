"""What stands in the tables, the streams and the queues, and functions that are fed by hand."""

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from decimal import Decimal
from typing import Any

from quarterhour.aws.items import binary, bytes_of
from quarterhour.ledger.postings.segments import postings_of, segment_of
from quarterhour_tools.emulator.delivery import lambda_record
from quarterhour_tools.emulator.direct import REGION
from tests.support.counted import counters, scan
from tests.support.counted import let_windows_leave as all_leave
from tests.support.system import World


def items(world: World, table: str) -> list[dict[str, Any]]:
    """Return all items of a table; attribute values without their types, as all are text or numbers."""
    pages = world.stack.dynamodb.get_paginator("scan").paginate(TableName=world.stack.ref(table))
    found = [item for page in pages for item in page["Items"]]
    return [{name: next(iter(value.values())) for name, value in item.items()} for item in found]


def ledger(world: World) -> list[dict[str, str]]:
    """Return the events in the ledger, in the order of their positions."""
    pages = world.stack.dynamodb.get_paginator("scan").paginate(TableName=world.stack.ref("LedgerTable"))
    return sorted(
        (posting for page in pages for item in page["Items"] for posting in postings_in(item)),
        key=lambda posting: posting["position"],
    )


def postings_in(item: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the postings in a ledger item that boto3 has read: it decodes binary values."""
    as_json = {name: binary(value["B"]) if isinstance(value.get("B"), bytes) else value for name, value in item.items()}
    return postings_of(as_json)


def entity(world: World, sk: str, pk: str = "ACCOUNT#42#GBP") -> dict[str, Any]:
    """Return an item of the Entity table."""
    (found,) = [item for item in items(world, "EntityTable") if (item["pk"], item["sk"]) == (pk, sk)]
    return found


def all_counters(world: World) -> dict[tuple[str, str], dict[str, Any]]:
    """Return all counters by ``pk`` and ``sk``, as if all windows had left; numbers are text."""
    found = counters(scan(world.stack.dynamodb, world.stack.ref("EntityTable")))
    return {
        place: {name: str(value) if isinstance(value, int | Decimal) else value for name, value in values.items()}
        for place, values in found.items()
    }


def counter(world: World, sk: str, pk: str = "ACCOUNT#42#GBP") -> dict[str, Any]:
    """Return a counter, as if its window had left; numbers are text."""
    return all_counters(world)[pk, sk]


def let_windows_leave(world: World) -> None:
    """Let all windows of all accounts leave, as if each were over."""
    all_leave(world.stack.dynamodb, world.stack.ref("EntityTable"))


def change_counter(world: World, sk: str, pk: str = "ACCOUNT#42#GBP", **values: dict[str, str]) -> None:
    """Change what was counted, by hand, once its window has left."""
    let_windows_leave(world)
    table, key = world.stack.ref("EntityTable"), {"pk": {"S": pk}, "sk": {"S": sk}}
    item = world.stack.dynamodb.get_item(TableName=table, Key=key)["Item"]
    world.stack.dynamodb.put_item(TableName=table, Item={**item, **values})


def lose_counter(world: World, sk: str, pk: str = "ACCOUNT#42#GBP") -> None:
    """Delete a counter by hand, once its window has left."""
    let_windows_leave(world)
    table, key = world.stack.ref("EntityTable"), {"pk": {"S": pk}, "sk": {"S": sk}}
    world.stack.dynamodb.delete_item(TableName=table, Key=key)


def parked(world: World, queue: str) -> list[dict[str, Any]]:
    """Take what waits in a queue."""
    answer = world.stack.engine.sqs().receive_message(QueueUrl=world.stack.ref(queue), MaxNumberOfMessages=10)
    return [json.loads(message["Body"]) for message in answer.get("Messages", [])]


def stream(world: World, table: str) -> list[dict[str, Any]]:
    """Return copies of all records of a table's stream, as Lambda hands them over."""
    client = world.stack.engine.streams()
    arn = world.stack.dynamodb.describe_table(TableName=world.stack.ref(table))["Table"]["LatestStreamArn"]
    (shard,) = client.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    iterator = client.get_shard_iterator(StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON")
    records = client.get_records(ShardIterator=iterator["ShardIterator"])["Records"]
    return [lambda_record(deepcopy(one), arn, REGION, world.clock.now()) for one in records]


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


def put_postings(world: World, *postings: dict[str, str]) -> None:
    """Put the segment that holds these postings alone into the ledger, in place of an existing one."""
    item: dict[str, Any] = segment_of(postings)
    item["events"] = {"B": bytes_of(item["events"])}
    world.stack.dynamodb.put_item(TableName=world.stack.ref("LedgerTable"), Item=item)
