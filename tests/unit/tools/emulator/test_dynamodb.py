"""The embedded DynamoDB: what the comparison with DynamoDB Local cannot show.

``tests/contract/test_engine.py`` compares random operations with DynamoDB Local's.
"""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from quarterhour.model.clock import ManualClock, using
from quarterhour_tools.emulator.dynamodb.calls import DynamoDB
from quarterhour_tools.emulator.dynamodb.errors import CallError, InvalidCallError
from quarterhour_tools.emulator.engines import open_engine

NOW = datetime(2026, 10, 23, 1, 30, tzinfo=UTC)
S = "S"


def table(name: str = "ranged", *, ranged: bool = True) -> dict[str, Any]:
    keys = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]
    return {
        "TableName": name,
        "KeySchema": keys if ranged else keys[:1],
        "AttributeDefinitions": [{"AttributeName": one, "AttributeType": S} for one in ("pk", "sk", "group")],
        "BillingMode": "PAY_PER_REQUEST",
        "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        "GlobalSecondaryIndexes": [
            {
                "IndexName": "by_group",
                "KeySchema": [{"AttributeName": "group", "KeyType": "HASH"}],
                "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["n"]},
            }
        ],
    }


@pytest.fixture
def dynamodb() -> DynamoDB:
    engine = DynamoDB("us-east-1", "123456789012")
    engine.call("CreateTable", table())
    engine.call("CreateTable", table("hashed", ranged=False))
    return engine


def item(pk: str, sk: str = "1", **more: Any) -> dict[str, Any]:
    return {"pk": {S: pk}, "sk": {S: sk}, **more}


def put(dynamodb: DynamoDB, one: dict[str, Any], name: str = "ranged", **more: Any) -> dict[str, Any]:
    return dynamodb.call("PutItem", {"TableName": name, "Item": one, **more})


def found(dynamodb: DynamoDB, condition: str, **values: str) -> list[str]:
    answer = dynamodb.call(
        "Query",
        {
            "TableName": "ranged",
            "KeyConditionExpression": f"pk = :p AND {condition}",
            "ExpressionAttributeValues": {":p": {S: "a"}, **{f":{name}": {S: one} for name, one in values.items()}},
        },
    )
    return [one["sk"][S] for one in answer["Items"]]


def test_a_query_follows_every_change_of_its_partition(dynamodb: DynamoDB) -> None:
    for sort in ("b2", "a1", "c"):
        put(dynamodb, item("a", sort))
    assert found(dynamodb, "sk BETWEEN :low AND :high", low="a", high="b2") == ["a1", "b2"]
    for sort in ("b1", "b", "a1", "bé", "b\U0010ffff"):
        put(dynamodb, item("a", sort))
    assert found(dynamodb, "begins_with(sk, :start)", start="b") == ["b", "b1", "b2", "bé", "b\U0010ffff"]
    dynamodb.call("DeleteItem", {"TableName": "ranged", "Key": item("a", "b1")})
    put(dynamodb, item("a", "b0"))
    assert found(dynamodb, "sk BETWEEN :low AND :high", low="b0", high="b2") == ["b0", "b2"]
    assert found(dynamodb, "sk < :one", one="b") == ["a1"]
    assert found(dynamodb, "sk > :one", one="b2") == ["bé", "b\U0010ffff", "c"]


def test_an_index_holds_its_projection_of_the_items_that_have_its_key(dynamodb: DynamoDB) -> None:
    put(dynamodb, item("a", group={S: "red"}, n={"N": "1"}, text={S: "hidden"}))
    put(dynamodb, item("b", text={S: "in no group"}))
    query = {
        "TableName": "ranged",
        "IndexName": "by_group",
        "KeyConditionExpression": "#g = :g",
        "ExpressionAttributeNames": {"#g": "group"},
        "ExpressionAttributeValues": {":g": {S: "red"}},
    }
    assert dynamodb.call("Query", query)["Items"] == [item("a", group={S: "red"}, n={"N": "1"})]
    put(dynamodb, item("a", group={S: "green"}))
    assert dynamodb.call("Query", query)["Items"] == []


@pytest.mark.parametrize(
    ("operation", "request_", "named"),
    [
        ("ExportTableToPointInTime", {}, "ExportTableToPointInTime"),
        ("PutItem", {"TableName": "ranged", "Item": item("a"), "Expected": {}}, "Expected"),
        ("Query", {"TableName": "ranged", "KeyConditions": {}}, "KeyConditions"),
        ("GetItem", {"TableName": "ranged", "Key": item("a"), "ProjectionExpression": "a.b"}, "a.b"),
        ("UpdateItem", {"TableName": "ranged", "Key": item("a"), "ReturnValues": "UPDATED_OLD"}, "UPDATED_OLD"),
    ],
)
def test_what_the_engine_does_not_know_is_an_error_that_names_it(
    dynamodb: DynamoDB, operation: str, request_: dict[str, Any], named: str
) -> None:
    put(dynamodb, item("a"))
    with pytest.raises(NotImplementedError, match=named):
        dynamodb.call(operation, request_)


@pytest.mark.parametrize(
    ("one", "problem"),
    [
        ({"pk": {S: "a"}}, "Missing the key sk"),
        ({"pk": {S: "a"}, "sk": {"N": "1"}}, "Type mismatch for key sk"),
        (item(""), "empty string value. Key: pk"),
        (item("a" * 2049), "exceeded"),
        (item("a", group={"N": "1"}), "Type mismatch for Index Key group"),
        (item("a", group={S: ""}), "IndexKey: group"),
        (item("a", text={S: "x" * (400 << 10)}), "Item size has exceeded"),
        (item("a", n={"N": "1" * 39}), "38 significant digits"),
        (item("a", n={"N": "one"}), "numeric value"),
        (item("a", n={"N": "1E+126"}), "overflow"),
        (item("a", some={"SS": []}), "empty"),
        (item("a", some={"SS": ["x", "x"]}), "duplicates"),
        (item("a", some={"X": "1"}), "X"),
    ],
)
def test_an_item_that_dynamodb_refuses_is_refused(dynamodb: DynamoDB, one: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidCallError, match=problem):
        put(dynamodb, one)
    assert dynamodb.call("Scan", {"TableName": "ranged"})["Items"] == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("status = :v", "reserved keyword: status"),
        ("n = :v AND", "Syntax error"),
        ("n = = :v", "Syntax error"),
        ("n = :v extra", "Syntax error"),
        ("n ? :v", "Syntax error"),
        ("attribute_exists(n, :v)", "Incorrect number of operands"),
        ("n = :v OR m = :missing", "not defined: :missing"),
        ("#n = :v", "not defined: #n"),
        ("m = n", "unused in expressions: keys: {:v}"),
    ],
)
def test_a_condition_that_dynamodb_refuses_is_refused(dynamodb: DynamoDB, text: str, problem: str) -> None:
    with pytest.raises(InvalidCallError, match=problem):
        put(dynamodb, item("a"), ConditionExpression=text, ExpressionAttributeValues={":v": {"N": "1"}})


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ("SET pk = :v", "part of the key"),
        ("SET n = :v, n = :v", "overlap"),
        ("SET m.a = :v REMOVE m", "overlap"),
        ("SET n = :v SET m = :v", "Syntax error"),
        ("SET n = lower(:v)", "Invalid function name"),
        ("ADD n.a :v", "invalid for update"),
    ],
)
def test_an_update_that_dynamodb_refuses_is_refused(dynamodb: DynamoDB, change: str, problem: str) -> None:
    put(dynamodb, item("a", n={"N": "1"}))
    values = {":v": {"N": "1"}}
    request = {"TableName": "ranged", "Key": item("a"), "UpdateExpression": change, "ExpressionAttributeValues": values}
    with pytest.raises(InvalidCallError, match=problem):
        dynamodb.call("UpdateItem", request)


def test_a_transaction_with_a_token_takes_effect_once_within_ten_minutes(dynamodb: DynamoDB) -> None:
    add = {"TableName": "hashed", "Key": {"pk": {S: "a"}}, "UpdateExpression": "ADD n :one"}
    one = {"Update": {**add, "ExpressionAttributeValues": {":one": {"N": "1"}}}}
    request = {"TransactItems": [one], "ClientRequestToken": "t"}

    def counted() -> str:
        return str(dynamodb.call("GetItem", {"TableName": "hashed", "Key": {"pk": {S: "a"}}})["Item"]["n"]["N"])

    with using(ManualClock(NOW)):
        dynamodb.call("TransactWriteItems", request)
        dynamodb.call("TransactWriteItems", request)
        assert counted() == "1"
        with pytest.raises(CallError, match="token"):
            dynamodb.call(
                "TransactWriteItems", {**request, "TransactItems": [{"Delete": add | {"Key": {"pk": {S: "b"}}}}]}
            )
    with using(ManualClock(NOW + timedelta(minutes=11))):
        dynamodb.call("TransactWriteItems", request)
        assert counted() == "2"


def test_a_batch_returns_what_goes_beyond_16_megabytes_as_unprocessed(dynamodb: DynamoDB) -> None:
    for number in range(45):
        put(dynamodb, item("a", f"{number:02d}", text={S: "x" * 380_000}))
    keys = [item("a", f"{number:02d}") for number in range(45)]
    answer = dynamodb.call("BatchGetItem", {"RequestItems": {"ranged": {"Keys": keys}}})
    left = answer["UnprocessedKeys"]["ranged"]["Keys"]
    assert len(answer["Responses"]["ranged"]) + len(left) == 45
    assert len(left) == 1


def test_pages_end_at_one_megabyte_and_go_on_behind_it(dynamodb: DynamoDB) -> None:
    for number in range(10):
        put(dynamodb, item("a", f"{number}", text={S: "x" * 300_000}))
    request = {
        "TableName": "ranged",
        "KeyConditionExpression": "pk = :p",
        "ExpressionAttributeValues": {":p": {S: "a"}},
    }
    pages, start = [], None
    while True:
        page = dynamodb.call("Query", {**request, **({"ExclusiveStartKey": start} if start else {})})
        pages.append([one["sk"][S] for one in page["Items"]])
        start = page.get("LastEvaluatedKey")
        if not start:
            break
    assert pages == [["0", "1", "2"], ["3", "4", "5"], ["6", "7", "8"], ["9"]]


def test_capacity_follows_the_published_rules_of_sizes(dynamodb: DynamoDB) -> None:
    large = item("a", text={S: "x" * 3000}, group={S: "red"}, n={"N": "1"})
    used = {"ReturnConsumedCapacity": "TOTAL"}
    assert put(dynamodb, large, **used)["ConsumedCapacity"]["CapacityUnits"] == 3 + 1  # the index holds little of it
    get = {"TableName": "ranged", "Key": item("a"), **used}
    assert dynamodb.call("GetItem", get)["ConsumedCapacity"]["CapacityUnits"] == 0.5
    consistent = dynamodb.call("GetItem", {**get, "ConsistentRead": True})
    assert consistent["ConsumedCapacity"]["CapacityUnits"] == 1
    write = {"TransactItems": [{"Put": {"TableName": "hashed", "Item": {"pk": {S: "a"}}}}], **used}
    assert dynamodb.call("TransactWriteItems", write)["ConsumedCapacity"][0]["CapacityUnits"] == 2


def stream(dynamodb: DynamoDB, name: str, iterator: str = "") -> tuple[list[Any], str]:
    """Return the records after an iterator, or all that the stream holds, and the next iterator."""
    arn = dynamodb.call("DescribeTable", {"TableName": name})["Table"]["LatestStreamArn"]
    (shard,) = dynamodb.call("DescribeStream", {"StreamArn": arn})["StreamDescription"]["Shards"]
    place = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
    iterator = iterator or dynamodb.call("GetShardIterator", place)["ShardIterator"]
    answer = dynamodb.call("GetRecords", {"ShardIterator": iterator})
    return list(answer["Records"]), answer["NextShardIterator"]


def test_records_that_all_readers_have_read_are_forgotten_and_later_ones_are_not(dynamodb: DynamoDB) -> None:
    arn = dynamodb.call("DescribeTable", {"TableName": "hashed"})["Table"]["LatestStreamArn"]
    put(dynamodb, {"pk": {S: "before"}}, "hashed")
    first, start = stream(dynamodb, "hashed")
    _, unused = stream(dynamodb, "hashed")
    dynamodb.forget_records([arn])
    put(dynamodb, {"pk": {S: "after"}}, "hashed")

    again, _ = stream(dynamodb, "hashed", start)
    assert [one["dynamodb"]["Keys"] for one in first] == [{"pk": {S: "before"}}]
    assert [one["dynamodb"]["Keys"] for one in again] == [{"pk": {S: "after"}}]
    assert [one["dynamodb"]["Keys"] for one in stream(dynamodb, "hashed")[0]] == [{"pk": {S: "after"}}]
    numbers = [int(one["dynamodb"]["SequenceNumber"]) for one in (*first, *again)]
    assert numbers == sorted(set(numbers))
    dynamodb.forget_records([arn])
    with pytest.raises(CallError, match="gone"):
        stream(dynamodb, "hashed", unused)


def test_a_write_that_changes_nothing_leaves_no_record(dynamodb: DynamoDB) -> None:
    for _ in range(2):
        put(dynamodb, {"pk": {S: "a"}, "n": {"N": "1.0"}}, "hashed")
    assert [one["eventName"] for one in stream(dynamodb, "hashed")[0]] == ["INSERT"]


def test_an_expired_item_is_deleted_with_a_record_that_names_the_service(dynamodb: DynamoDB) -> None:
    lifetime = {"AttributeName": "until", "Enabled": True}
    dynamodb.call("UpdateTimeToLive", {"TableName": "hashed", "TimeToLiveSpecification": lifetime})
    for name, until in (("old", 10), ("new", 30)):
        put(dynamodb, {"pk": {S: name}, "until": {"N": str(until)}}, "hashed")
    put(dynamodb, {"pk": {S: "for ever"}}, "hashed")
    assert dynamodb.tables["hashed"].expire(20) == 1
    record = stream(dynamodb, "hashed")[0][-1]
    assert (record["eventName"], record["userIdentity"]["principalId"]) == ("REMOVE", "dynamodb.amazonaws.com")
    assert record["dynamodb"]["OldImage"]["pk"] == {S: "old"}


def test_transactions_of_several_threads_take_effect_in_turn() -> None:
    add = {"TableName": "hashed", "UpdateExpression": "ADD n :one", "ExpressionAttributeValues": {":one": {"N": "1"}}}
    missing = {"TableName": "hashed", "Key": {"pk": {S: "none"}}, "ConditionExpression": "attribute_exists(pk)"}
    fails: Any = {"ConditionCheck": missing}
    with open_engine() as engine, ThreadPoolExecutor(8) as threads:
        client: Any = engine.dynamodb()
        client.create_table(**table("hashed", ranged=False))
        canceled = client.exceptions.TransactionCanceledException  # made once: threads at once would make several

        def transact(number: int) -> None:
            counted: Any = {"Update": {**add, "Key": {"pk": {S: str(number % 8)}}}}
            with suppress(canceled):
                client.transact_write_items(TransactItems=[counted, fails] if number % 16 < 8 else [counted])

        list(threads.map(transact, range(160)))
        counts = {one["pk"][S]: one["n"]["N"] for one in client.scan(TableName="hashed")["Items"]}
        assert counts == {str(number): "10" for number in range(8)}


def test_each_engine_begins_empty_and_one_within_another_shares_its_tables() -> None:
    with open_engine() as outer:
        outer.dynamodb().create_table(**table())
        with open_engine() as inner:
            assert inner.dynamodb().list_tables()["TableNames"] == ["ranged"]
    with open_engine() as engine, pytest.raises(ClientError, match="ResourceNotFound"):
        engine.dynamodb().describe_table(TableName="ranged")
