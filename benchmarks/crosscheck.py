"""Compares the meter with DynamoDB Local: random calls, with the cost according to each.

Single and batch operations only, and batches and queries of what is there: DynamoDB Local counts a transaction as one
action, nothing for what is not found, two units for a batch's deletion of nothing, and nothing for PartiQL.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from benchmarks.metering import Meter, Tables
from quarterhour_tools.emulator.engines import DYNAMODB_LOCAL, open_engine

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

TABLE: Final = "crosscheck"
_STABLE: Final = "ab"
"""The partitions from which nothing is deleted."""
_ALL: Final = "abc"
_SORTS: Final = "123456"
_CREATE: Final[dict[str, Any]] = {
    "TableName": TABLE,
    "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    "AttributeDefinitions": [{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "group")],
    "GlobalSecondaryIndexes": [
        {
            "IndexName": f"by_group_{projection.lower()}",
            "KeySchema": [{"AttributeName": "group", "KeyType": "HASH"}],
            "Projection": {"ProjectionType": projection},
        }
        for projection in ("ALL", "KEYS_ONLY")
    ],
    "BillingMode": "PAY_PER_REQUEST",
}


@dataclass(frozen=True, slots=True)
class Difference:
    """A call whose costs differ."""

    operation: str
    request: dict[str, Any]
    metered: float
    reported: float


def crosscheck(calls: int, seed: int = 1) -> list[Difference]:
    """Make random calls to DynamoDB Local, and return those whose metered cost differs.

    Raises ``ToolError`` if it is not available.
    """
    with open_engine(DYNAMODB_LOCAL) as engine:
        client = engine.own_dynamodb()
        client.create_table(**_CREATE)
        draw = random.Random(seed)  # noqa: S311 - to be repeated, not to be secret
        for key in _keys(_STABLE):
            client.put_item(TableName=TABLE, Item=_item(draw, key))
        plain = engine.dynamodb()
        meter = Meter(Tables(plain))
        meter.attach(client)
        compared = (_compare(client, meter, *call) for call in _calls(draw, calls))
        return [one for one in compared if one]


def _compare(client: "DynamoDBClient", meter: Meter, operation: str, request: dict[str, Any]) -> Difference | None:
    try:
        answer: dict[str, Any] = getattr(client, operation)(**request, ReturnConsumedCapacity="TOTAL")
    except ClientError as error:
        answer = dict(error.response)
    bill = meter.take()
    if "ConsumedCapacity" not in answer:  # a failed condition's cost is not returned
        return None
    capacity = answer["ConsumedCapacity"]
    reported = sum(one["CapacityUnits"] for one in (capacity if isinstance(capacity, list) else [capacity]))
    metered = bill.read_units + bill.write_units
    return None if metered == reported else Difference(operation, request, metered, reported)


def _calls(draw: random.Random, count: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield calls over few keys, so that they meet; sizes lie about the steps of both roundings."""
    for _ in range(count):
        consistent = draw.choice([True, False])
        yield draw.choice(
            [
                ("put_item", {"TableName": TABLE, "Item": _item(draw, _key(draw, _ALL))}),
                ("update_item", _update(draw)),
                ("delete_item", {"TableName": TABLE, "Key": _key(draw, _ALL.strip(_STABLE))}),
                ("batch_write_item", {"RequestItems": {TABLE: _entries(draw)}}),
                ("get_item", {"TableName": TABLE, "Key": _key(draw, _ALL), "ConsistentRead": consistent}),
                (
                    "batch_get_item",
                    {"RequestItems": {TABLE: {"Keys": _some(draw), "ConsistentRead": consistent}}},
                ),
                (
                    "query",
                    {
                        "TableName": TABLE,
                        "KeyConditionExpression": "pk = :pk",
                        "ExpressionAttributeValues": {":pk": {"S": draw.choice(_STABLE)}},
                        "ConsistentRead": consistent,
                        "Limit": draw.randint(1, 9),
                    },
                ),
                (
                    "query",
                    {
                        "TableName": TABLE,
                        "IndexName": f"by_group_{draw.choice(['all', 'keys_only'])}",
                        "KeyConditionExpression": "#group = :group",
                        "ExpressionAttributeNames": {"#group": "group"},
                        "ExpressionAttributeValues": {":group": {"S": draw.choice("xy")}},
                    },
                ),
                ("scan", {"TableName": TABLE, "ConsistentRead": consistent}),
            ]
        )


def _keys(partitions: str) -> list[dict[str, Any]]:
    return [{"pk": {"S": pk}, "sk": {"S": sk}} for pk in partitions for sk in _SORTS]


def _key(draw: random.Random, partitions: str) -> dict[str, Any]:
    return draw.choice(_keys(partitions))


def _some(draw: random.Random) -> list[dict[str, Any]]:
    return draw.sample(_keys(_STABLE), 6)


def _item(draw: random.Random, key: dict[str, Any]) -> dict[str, Any]:
    """Return an item of up to 9 KB with values of every type."""
    group = draw.choice([None, "x", "y"])
    return {
        **key,
        "text": {"S": "ü" * draw.choice([0, 100, 480, 500, 2000, 4500])},
        "number": {"N": str(draw.choice([0, 7, -12, 100, 12.25, 123456]))},
        "more": {"M": {"list": {"L": [{"BOOL": True}, {"NULL": True}, {"S": "a"}]}, "bytes": {"B": b"12345"}}},
        "set": {"SS": ["a", "bc"]},
        **({"group": {"S": group}} if group else {}),
    }


def _update(draw: random.Random) -> dict[str, Any]:
    """Return an update that changes a value, or an index's key."""
    name, value = draw.choice([("text", "ü" * draw.choice([0, 500, 1000])), ("group", draw.choice("xy"))])
    return {
        "TableName": TABLE,
        "Key": _key(draw, _ALL),
        "UpdateExpression": "SET #name = :value",
        "ExpressionAttributeNames": {"#name": name},
        "ExpressionAttributeValues": {":value": {"S": value}},
    }


def _entries(draw: random.Random) -> list[dict[str, Any]]:
    return [{"PutRequest": {"Item": _item(draw, key)}} for key in _some(draw)]
