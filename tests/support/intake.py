"""A system that takes events in by its queue, its bus and its inbox."""

import json
from collections.abc import Iterable
from typing import Any, Final

from tests.support.events import Cloud
from tests.support.system import World

PARAMETERS: Final = {"Intake": "queue-and-bus"}


def send(world: World, body: Any) -> None:
    """Send a message to the queue: a text, or a value as JSON."""
    text = body if isinstance(body, str) else json.dumps(body)
    world.stack.engine.sqs().send_message(QueueUrl=world.stack.ref("IntakeQueue"), MessageBody=text)


def put_on_bus(world: World, event: Cloud, detail_type: str = "quarterhour.event") -> None:
    """Put an event on the bus."""
    entry = {"EventBusName": "default", "Source": "shop", "DetailType": detail_type, "Detail": json.dumps(event)}
    assert world.stack.engine.events().put_events(Entries=[entry])["FailedEntryCount"] == 0


def upload(world: World, key: str, content: bytes) -> None:
    """Upload a file to the inbox bucket."""
    world.stack.engine.s3().put_object(Bucket=world.stack.ref("InboxBucket"), Key=key, Body=content)


def ndjson(events: Iterable[Cloud]) -> bytes:
    """Return events as NDJSON."""
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def results(world: World) -> dict[str, Any]:
    """Return the results of the files by their keys."""
    s3, bucket = world.stack.engine.s3(), world.stack.ref("InboxBucket")
    listed = s3.list_objects_v2(Bucket=bucket, Prefix="results/").get("Contents", [])
    contents = [json.loads(s3.get_object(Bucket=bucket, Key=one["Key"])["Body"].read()) for one in listed]
    return {one["key"]: one for one in contents}


def in_queue(world: World, logical: str) -> list[Any]:
    """Return the JSON of all messages of a queue, and show them again."""
    sqs, url = world.stack.engine.sqs(), world.stack.ref(logical)
    found: list[Any] = []
    while some := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=60).get("Messages", []):
        found += some
    for one in found:
        sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=one["ReceiptHandle"], VisibilityTimeout=0)
    return [json.loads(one["Body"]) for one in found]


def parked(world: World) -> list[tuple[str, str, int]]:
    """Return verdict, reason and place of each parked event."""
    found = in_queue(world, "IntakeParkedQueue")
    return sorted((one["record"]["verdict"], one["reason"], one["record"]["index"]) for one in found)


def totals(world: World) -> tuple[int, str]:
    """Return the events and the gross amount of all accounts in pounds."""
    accounts = [one for one in world.all("/accounts") if one["currency"] == "GBP"]
    return sum(one["events"] for one in accounts), ", ".join(one["gross"] for one in accounts)
