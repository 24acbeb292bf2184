"""The meter on real clients: requests to the embedded engine, and what DynamoDB would charge for them."""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.exceptions import ClientError

from benchmarks.metering import Bill, Meter, Tables, reads
from quarterhour.aws.tables import ItemUpdate, insert_items_request, update_items_request
from quarterhour_tools.emulator.engines import EMBEDDED, open_engine

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

TABLE = "things"
ABSENT = "attribute_not_exists(pk)"


class Metered:
    """A client with a meter on it; each of its calls answers what it cost."""

    def __init__(self, client: "DynamoDBClient", plain: "DynamoDBClient") -> None:
        self._client = client
        self.meter = Meter(Tables(plain))
        self.meter.attach(client)

    def bill(self, operation: str, **request: object) -> Bill:
        call = getattr(self._client, operation)
        with suppress(ClientError):
            call(**request)
        return self.meter.take()

    def writes(self, operation: str, **request: object) -> float:
        bill = self.bill(operation, **request)
        assert bill.calls.total() == 1
        assert not bill.reads
        return bill.write_units

    def reads(self, operation: str, **request: object) -> float:
        bill = self.bill(operation, **request)
        assert bill.calls.total() == 1
        assert not bill.writes
        return bill.read_units


@pytest.fixture
def things() -> Iterator[Metered]:
    with open_engine(EMBEDDED) as engine:
        plain = engine.dynamodb()
        plain.create_table(
            TableName=TABLE,
            KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "group")],
            GlobalSecondaryIndexes=[
                {
                    "IndexName": "by_group",
                    "KeySchema": [{"AttributeName": "group", "KeyType": "HASH"}],
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
            BillingMode="PAY_PER_REQUEST",
        )
        yield Metered(engine.own_dynamodb(), plain)


def key(number: int) -> dict[str, Any]:
    return {"pk": {"S": "a"}, "sk": {"S": f"{number:02d}"}}


def thing(number: int, kib: float = 0.1, **more: object) -> dict[str, Any]:
    return {**key(number), "x": {"S": "x" * int(kib * 1024 - 50)}, **more}


def put(number: int, kib: float, **more: object) -> dict[str, Any]:
    return {"Put": {"TableName": TABLE, "Item": thing(number, kib), **more}}


GROUP_RED: dict[str, Any] = {"group": {"S": "red"}}


def test_a_put_costs_its_size_and_an_overwriting_one_what_is_larger(things: Metered) -> None:
    assert things.writes("put_item", TableName=TABLE, Item=thing(1, 2.5)) == 3
    assert things.writes("put_item", TableName=TABLE, Item=thing(1, 0.5)) == 3
    assert things.writes("put_item", TableName=TABLE, Item=thing(1, 0.5)) == 1


def test_a_failed_condition_costs_what_stands_there(things: Metered) -> None:
    things.writes("put_item", TableName=TABLE, Item=thing(1, 2.5))
    assert things.writes("put_item", TableName=TABLE, Item=thing(1), ConditionExpression=ABSENT) == 3
    absent = {"TableName": TABLE, "Key": key(2), "ConditionExpression": "attribute_exists(pk)"}
    assert things.writes("delete_item", **absent) == 1


def test_an_update_costs_the_whole_item_and_the_entry_that_it_changes(things: Metered) -> None:
    things.writes("put_item", TableName=TABLE, Item=thing(1, 2.5, **GROUP_RED))
    update = {
        "TableName": TABLE,
        "Key": key(1),
        "UpdateExpression": "SET #name = :value",
        "ExpressionAttributeNames": {"#name": "group"},
    }
    assert things.writes("update_item", **update, ExpressionAttributeValues={":value": {"S": "blue"}}) == 3 + 6
    assert things.writes("update_item", **update, ExpressionAttributeValues={":value": {"S": "blue"}}) == 3
    assert things.writes("delete_item", TableName=TABLE, Key=key(1)) == 3 + 3


def test_a_batch_costs_the_sum_of_its_items(things: Metered) -> None:
    entries = [{"PutRequest": {"Item": thing(number, 1.5, **GROUP_RED)}} for number in range(3)]
    assert things.writes("batch_write_item", RequestItems={TABLE: entries}) == 3 * (2 + 2)
    deletion = [{"DeleteRequest": {"Key": key(0)}}, {"PutRequest": {"Item": thing(9)}}]
    assert things.writes("batch_write_item", RequestItems={TABLE: deletion}) == (2 + 2) + 1


def test_what_a_batch_leaves_unprocessed_costs_nothing(things: Metered) -> None:
    entries = [{"PutRequest": {"Item": thing(number)}} for number in range(3)]

    def leave(parsed: dict[str, Any], **_: object) -> None:
        parsed["UnprocessedItems"] = {TABLE: entries[1:]}

    things._client.meta.events.register_first("after-call.dynamodb.BatchWriteItem", leave)
    assert things.writes("batch_write_item", RequestItems={TABLE: entries}) == 1


def test_a_transaction_costs_double_its_index_entries_too(things: Metered) -> None:
    grouped = {"Put": {"TableName": TABLE, "Item": thing(3, **GROUP_RED)}}
    check = {"ConditionCheck": {"TableName": TABLE, "Key": key(4), "ConditionExpression": ABSENT}}
    assert things.writes("transact_write_items", TransactItems=[put(1, 0.1), put(2, 1.5), grouped, check]) == 2 * 6


def test_a_cancelled_transaction_costs_double_what_stands_there(things: Metered) -> None:
    things.writes("put_item", TableName=TABLE, Item=thing(1, 2.5))
    actions = [put(1, 0.1, ConditionExpression=ABSENT), put(2, 1.5)]
    assert things.writes("transact_write_items", TransactItems=actions) == 2 * (3 + 1)


def test_each_statement_of_a_batch_costs_by_itself_and_a_duplicate_costs_what_is_stored(things: Metered) -> None:
    assert things.writes("batch_execute_statement", **insert_items_request(TABLE, [thing(1, 2.5), thing(2)])) == 3 + 1
    again = insert_items_request(TABLE, [thing(1), thing(3, 1.5)])
    again["Statements"] += insert_items_request(TABLE, [{"pk": {"S": "a"}, "sk": {"N": "1"}}])["Statements"]
    assert things.writes("batch_execute_statement", **again) == 3 + 2


def test_an_update_by_statement_costs_what_is_larger_and_a_refused_one_what_is_stored(things: Metered) -> None:
    things.writes("put_item", TableName=TABLE, Item={**thing(1, 2.5), "version": {"N": "1"}})
    smaller = ItemUpdate({"pk": "a", "sk": "01"}, {"x": {"S": "small"}, "version": {"N": "2"}}, 1)
    absent = ItemUpdate({"pk": "a", "sk": "02"}, {"version": {"N": "2"}}, 1)
    request = update_items_request(TABLE, [smaller, absent])
    assert things.writes("batch_execute_statement", **request) == 3 + 1
    assert things.writes("batch_execute_statement", **request) == 1 + 1, "the item is small by now"


def test_a_call_that_is_refused_counts_and_costs_nothing(things: Metered) -> None:
    assert things.writes("put_item", TableName=TABLE, Item={"pk": {"S": "a"}, "sk": {"N": "1"}}) == 0


def test_a_read_costs_its_item_and_a_stale_one_half(things: Metered) -> None:
    things.writes("put_item", TableName=TABLE, Item=thing(1, 5))
    assert things.reads("get_item", TableName=TABLE, Key=key(1), ConsistentRead=True) == 2
    assert things.reads("get_item", TableName=TABLE, Key=key(1)) == 1
    assert things.reads("get_item", TableName=TABLE, Key=key(2), ConsistentRead=True) == 1
    assert things.reads("get_item", TableName=TABLE, Key=key(2)) == 0.5


def test_a_query_rounds_the_sum_and_a_batch_each_of_its_items(things: Metered) -> None:
    for number in range(5):
        things.writes("put_item", TableName=TABLE, Item=thing(number, 1, **GROUP_RED))
    query = {
        "TableName": TABLE,
        "KeyConditionExpression": "pk = :pk",
        "ExpressionAttributeValues": {":pk": {"S": "a"}},
    }
    assert things.reads("query", **query, ConsistentRead=True) == 2
    assert things.reads("query", **query) == 1
    assert things.reads("query", **query, ConsistentRead=True, Limit=4) == 1
    by_group = {
        "TableName": TABLE,
        "IndexName": "by_group",
        "KeyConditionExpression": "#group = :group",
        "ExpressionAttributeNames": {"#group": "group"},
        "ExpressionAttributeValues": {":group": {"S": "red"}},
    }
    assert things.reads("query", **by_group) == 1
    assert things.reads("scan", TableName=TABLE, ConsistentRead=True) == 2
    keys = [key(number) for number in range(7)]
    requested = {TABLE: {"Keys": keys, "ConsistentRead": True}}
    assert things.reads("batch_get_item", RequestItems=requested) == 7
    assert things.reads("batch_get_item", RequestItems={TABLE: {"Keys": keys}}) == 3.5


def test_keys_that_a_batch_leaves_unread_cost_nothing() -> None:
    requested = {"RequestItems": {TABLE: {"Keys": [key(1), key(2), key(3)], "ConsistentRead": True}}}
    answer = {"Responses": {TABLE: [thing(1, 5)]}, "UnprocessedKeys": {TABLE: {"Keys": [key(3)]}}}
    assert reads("BatchGetItem", requested, answer) == [(TABLE, 2 + 1)]


def test_a_transaction_reads_at_double(things: Metered) -> None:
    things.writes("put_item", TableName=TABLE, Item=thing(1, 5))
    gets = [{"Get": {"TableName": TABLE, "Key": key(number)}} for number in (1, 2)]
    assert things.reads("transact_get_items", TransactItems=gets) == 2 * (2 + 1)


def test_a_filtered_read_is_refused_as_its_answer_does_not_tell_its_cost(things: Metered) -> None:
    with pytest.raises(ValueError, match="filter or projection"):
        things.reads("scan", TableName=TABLE, FilterExpression="attribute_exists(pk)")
    with pytest.raises(ValueError, match="filter or projection"):
        things.reads("scan", TableName=TABLE, Select="COUNT")


def test_every_client_made_while_the_meter_is_installed_is_metered_and_no_other() -> None:
    with open_engine(EMBEDDED) as engine:
        meter = Meter(Tables(engine.dynamodb()))
        with meter.installed():
            within = boto3.Session("local", "local", region_name="us-east-1").client("sqs")
        within.list_queues()
        engine.sqs().list_queues()
    assert meter.take().calls == {"sqs.ListQueues": 1}


def test_bills_add_up_by_table_and_by_call() -> None:
    one, other = Bill(Counter(a=1), {"T": 1}, {"T": 2}), Bill(Counter(a=1, b=2), {"U": 3}, {"T": 4, "U": 5})
    assert one + other == Bill(Counter(a=2, b=2), {"T": 1, "U": 3}, {"T": 6, "U": 5})
    assert one + Bill() == one
