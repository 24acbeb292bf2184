"""The embedded engine answers as moto does: the same random operations on both, compared answer by answer."""

import copy
import io
import json
import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError
from moto import mock_aws
from moto.dynamodb.models.dynamo_type import DynamoType, Item

from quarterhour_tools.bucket import Bucket
from quarterhour_tools.emulator.direct import EmbeddedBucket
from quarterhour_tools.emulator.embedded import adjusted
from quarterhour_tools.emulator.engines import Engine

MOTO = Engine("moto")
PARTITIONS = ["a", "b", "c"]
SORTS = [f"{n:02d}" for n in range(8)]
GROUPS = ["red", "green"]


@contextmanager
def engine(*, fast: bool) -> Iterator[Any]:
    with ExitStack() as stack:
        stack.enter_context(mock_aws(config={"core": {"mock_credentials": False}}))
        if fast:
            stack.enter_context(adjusted)
        client = MOTO.dynamodb()
        for name, ranged in (("ranged", True), ("hashed", False)):
            keys: Any = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]
            attributes = ["pk", "sk", "group"] if ranged else ["pk", "group"]
            client.create_table(
                TableName=name,
                KeySchema=keys if ranged else keys[:1],
                AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in attributes],
                BillingMode="PAY_PER_REQUEST",
                StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
                GlobalSecondaryIndexes=[
                    {
                        "IndexName": "by_group",
                        "KeySchema": [{"AttributeName": "group", "KeyType": "HASH"}],
                        "Projection": {"ProjectionType": "ALL"},
                    }
                ],
            )
        yield client


def key(draw: random.Random, table: str) -> dict[str, Any]:
    keys = {"pk": {"S": draw.choice(PARTITIONS)}, "sk": {"S": draw.choice(SORTS)}}
    return keys if table == "ranged" else {"pk": {"S": keys["pk"]["S"] + keys["sk"]["S"]}}


def item(draw: random.Random, table: str) -> dict[str, Any]:
    # A binary value takes moto's own way through the request.
    binary = {"bytes": {"B": b"\x00\xff"}} if draw.random() < 0.3 else {}
    values: dict[str, Any] = {
        **key(draw, table),
        "n": {"N": str(draw.randint(0, 9))},
        "text": {"S": draw.choice(["", "a", "ü"])},
        "more": {"M": {"list": {"L": [{"N": "1"}, {"NULL": True}]}, "flag": {"BOOL": False}, **binary}},
        "set": {"SS": ["x", "y"]},
    }
    if draw.random() < 0.7:
        values["group"] = {"S": draw.choice(GROUPS)}
    return values


def condition(draw: random.Random) -> dict[str, Any]:
    return draw.choice(
        [{}, {}, {"ConditionExpression": "attribute_not_exists(pk)"}, {"ConditionExpression": "attribute_exists(pk)"}]
    )


def update(draw: random.Random, table: str) -> dict[str, Any]:
    expression, names, values = draw.choice(
        [
            ("SET #g = :g ADD n :one", {"#g": "group"}, {":g": {"S": draw.choice(GROUPS)}, ":one": {"N": "1"}}),
            ("REMOVE #g", {"#g": "group"}, None),
            ("ADD #s :z", {"#s": "set"}, {":z": {"SS": ["z"]}}),
            ("SET more.flag = :t", None, {":t": {"BOOL": True}}),
        ]
    )
    request = {"TableName": table, "Key": key(draw, table), "UpdateExpression": expression, **condition(draw)}
    if names:
        request["ExpressionAttributeNames"] = names
    if values:
        request["ExpressionAttributeValues"] = values
    return request


def transaction(draw: random.Random) -> dict[str, Any]:
    operations = []
    for _ in range(draw.randint(1, 4)):
        table = draw.choice(["ranged", "hashed"])
        made: dict[str, Any] = draw.choice(
            [
                {"Put": {"TableName": table, "Item": item(draw, table), **condition(draw)}},
                {"Update": update(draw, table)},
                {"Delete": {"TableName": table, "Key": key(draw, table), **condition(draw)}},
                {
                    "ConditionCheck": {
                        "TableName": table,
                        "Key": key(draw, table),
                        "ConditionExpression": "attribute_exists(pk)",
                    }
                },
            ]
        )
        for operation in made.values():
            operation["ReturnValuesOnConditionCheckFailure"] = "ALL_OLD"
        operations.append(made)
    return {"TransactItems": operations}


def query(draw: random.Random) -> dict[str, Any]:
    table = draw.choice(["ranged", "hashed"])
    more: dict[str, Any] = {"ScanIndexForward": draw.random() < 0.5}
    if draw.random() < 0.5:
        more["Limit"] = draw.randint(1, 4)
    if draw.random() < 0.5:
        return {
            "TableName": table,
            "IndexName": "by_group",
            "KeyConditionExpression": "#g = :g",
            "ExpressionAttributeNames": {"#g": "group"},
            "ExpressionAttributeValues": {":g": {"S": draw.choice(GROUPS)}},
            **more,
        }
    values = {":p": key(draw, table)["pk"]}
    if table == "ranged" and draw.random() < 0.7:
        low, high = draw.choice(SORTS), draw.choice(SORTS)
        condition, bounds = draw.choice(
            [
                ("sk BETWEEN :from AND :to", {":from": {"S": low}, ":to": {"S": high}}),
                ("begins_with(sk, :from)", {":from": {"S": low[:1]}}),
                ("sk = :from", {":from": {"S": low}}),
                ("sk >= :from", {":from": {"S": low}}),
            ]
        )
        return {
            "TableName": table,
            "KeyConditionExpression": f"pk = :p AND {condition}",
            "ExpressionAttributeValues": {**values, **bounds},
            "ConsistentRead": True,
            **more,
        }
    return {"TableName": table, "KeyConditionExpression": "pk = :p", "ExpressionAttributeValues": values, **more}


def operations(seed: int, number: int) -> list[tuple[str, dict[str, Any]]]:
    draw = random.Random(seed)  # noqa: S311 - reproducible, no secret
    made: list[tuple[str, dict[str, Any]]] = []
    for _ in range(number):
        table = draw.choice(["ranged", "hashed"])
        kind = draw.choice(
            ["put", "update", "delete", "get", "transact", "transact", "query", "query", "batch", "batch_get", "scan"]
        )
        if kind == "put":
            request = {"TableName": table, "Item": item(draw, table), "ReturnValues": "ALL_OLD", **condition(draw)}
            made.append(("put_item", {**request, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}))
        elif kind == "update":
            made.append(("update_item", {**update(draw, table), "ReturnValues": "ALL_NEW"}))
        elif kind == "delete":
            made.append(("delete_item", {"TableName": table, "Key": key(draw, table), "ReturnValues": "ALL_OLD"}))
        elif kind == "get":
            made.append(("get_item", {"TableName": table, "Key": key(draw, table), "ConsistentRead": True}))
        elif kind == "transact":
            made.append(("transact_write_items", transaction(draw)))
        elif kind == "query":
            made.append(("query", query(draw)))
        elif kind == "batch":
            items = {str(key(draw, "ranged")): item(draw, "ranged") for _ in range(3)}
            unique = {str((one["pk"], one["sk"])): one for one in items.values()}
            made.append(
                (
                    "batch_write_item",
                    {"RequestItems": {"ranged": [{"PutRequest": {"Item": one}} for one in unique.values()]}},
                )
            )
        elif kind == "batch_get":
            keys = {str(one): one for one in (key(draw, table) for _ in range(3))}
            made.append(("batch_get_item", {"RequestItems": {table: {"Keys": list(keys.values())}}}))
            made.append(
                ("transact_get_items", {"TransactItems": [{"Get": {"TableName": table, "Key": key(draw, table)}}]})
            )
        else:
            made.append(("scan", {"TableName": table, "ReturnConsumedCapacity": "TOTAL"}))
    return made


def answers(
    client: Any,
    made: list[tuple[str, dict[str, Any]]],
    *,
    fast: bool,
) -> list[Any]:
    """Run operations; return each one's answer, and at the end the tables and their streams."""
    given: list[Any] = []
    for name, request in copy.deepcopy(made):
        try:
            answer = getattr(client, name)(**request)
        except ClientError as error:
            answer = error.response
        given.append(without_ids(answer))
    embedded: Any = MOTO.streams()
    streams = embedded if fast else embedded.plain
    for table in ("ranged", "hashed"):
        given.append(without_ids(client.scan(TableName=table)))
        arn = client.describe_table(TableName=table)["Table"]["LatestStreamArn"]
        shard = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"][0]["ShardId"]
        iterator = streams.get_shard_iterator(StreamArn=arn, ShardId=shard, ShardIteratorType="TRIM_HORIZON")[
            "ShardIterator"
        ]
        given.append([without_ids(record) for record in streams.get_records(ShardIterator=iterator)["Records"]])
    return given


def without_ids(answer: Any) -> Any:
    if isinstance(answer, dict):
        # What hangs on the time of day, and the size of a stream record: moto's is that of its JSON, time included.
        left_out = {"ResponseMetadata", "eventID", "ApproximateCreationDateTime", "SizeBytes"}
        return {name: without_ids(value) for name, value in answer.items() if name not in left_out}
    return [without_ids(value) for value in answer] if isinstance(answer, list) else answer


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_every_answer_item_and_stream_record_is_as_with_plain_moto(seed: int) -> None:
    made = operations(seed, 120)
    with engine(fast=False) as client:
        plain = answers(client, made, fast=False)
    with engine(fast=True) as client:
        fast = answers(client, made, fast=True)
    assert fast == plain
    codes = [answer.get("Error", {}).get("Code") for answer in plain if isinstance(answer, dict)]
    assert "TransactionCanceledException" in codes


def test_every_answer_about_an_object_is_as_with_plain_moto() -> None:
    given: list[Any] = []
    for fast in (False, True):
        with engine(fast=fast):
            given.append(about_objects(MOTO.s3()))
    plain, fast_ones = given
    assert fast_ones == plain
    assert {one["Error"]["Code"] for one in plain if "Error" in one} == {
        "PreconditionFailed",
        "NoSuchKey",
        "NoSuchBucket",
        "404",
    }


def about_messages(sqs: Any, events: Any) -> list[Any]:
    """Send messages in every state to a queue, some by a bus; return what is received, and what the queue counts."""
    url = sqs.create_queue(QueueName="all")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    for name, target in (("plain", {}), ("made", {"InputTransformer": {"InputTemplate": '{"only": <detail>}'}})):
        events.put_rule(Name=name, EventPattern=json.dumps({"detail-type": [name]}))
        events.put_targets(Rule=name, Targets=[{"Id": "queue", "Arn": arn, **target}])
    at = datetime(2026, 10, 23, 1, 30, tzinfo=UTC)
    entries = [
        {"Source": "shop", "DetailType": kind, "Detail": json.dumps({"name": "tea", "n": [1.5, None]}), "Time": at}
        for kind in ("plain", "made", "other")
    ]
    assert events.put_events(Entries=entries)["FailedEntryCount"] == 0
    for number in range(4):
        sqs.send_message(QueueUrl=url, MessageBody=f"late {number}", DelaySeconds=600 * (number % 2))
    found = [
        sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=60).get("Messages", [])
        for _ in range(2)
    ]
    done = [{"Id": "1", "ReceiptHandle": found[0][0]["ReceiptHandle"]}, {"Id": "2", "ReceiptHandle": "none"}]
    deleted = sqs.delete_message_batch(QueueUrl=url, Entries=done)
    sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=found[0][1]["ReceiptHandle"], VisibilityTimeout=0)
    counts = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
    bodies = [[json.loads(one["Body"]) if "{" in one["Body"] else one["Body"] for one in some] for some in found]
    for body in bodies[0]:
        if isinstance(body, dict):
            body.pop("id", None)
    numbers = {name: value for name, value in counts.items() if name.startswith("Approximate")}
    return [bodies, [len(deleted[name]) for name in ("Successful", "Failed")], numbers]


def test_every_answer_about_messages_is_as_with_plain_moto() -> None:
    given: list[Any] = []
    for fast in (False, True):
        with engine(fast=fast):
            given.append(about_messages(MOTO.sqs(), MOTO.events()))
    plain, fast_ones = given
    assert fast_ones == plain
    bodies, deleted, numbers = plain
    assert [len(some) for some in bodies] == [4, 0]
    assert bodies[0][0]["detail"] == {"name": "tea", "n": [1.5, None]}
    assert (deleted, numbers["ApproximateNumberOfMessagesNotVisible"]) == ([1, 1], "2")


def test_text_of_an_event_that_looks_like_a_template_stays_as_it_is() -> None:
    with engine(fast=True):
        sqs, events = MOTO.sqs(), MOTO.events()
        url = sqs.create_queue(QueueName="all")["QueueUrl"]
        arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        events.put_rule(Name="all", EventPattern='{"source": ["shop"]}')
        events.put_targets(Rule="all", Targets=[{"Id": "queue", "Arn": arn}])
        detail = '{"name": "<id> <time>"}'
        events.put_events(Entries=[{"Source": "shop", "DetailType": "sale", "Detail": detail}])
        (message,) = sqs.receive_message(QueueUrl=url)["Messages"]
    assert json.loads(message["Body"])["detail"] == json.loads(detail)


def test_a_query_follows_every_change_of_its_partition() -> None:
    def found(condition: str, **values: str) -> list[str]:
        answer = client.query(
            TableName="ranged",
            KeyConditionExpression=f"pk = :p AND {condition}",
            ExpressionAttributeValues={":p": {"S": "a"}, **{f":{name}": {"S": one} for name, one in values.items()}},
        )
        return [one["sk"]["S"] for one in answer["Items"]]

    def put(*sorts: str) -> None:
        for sort in sorts:
            client.put_item(TableName="ranged", Item={"pk": {"S": "a"}, "sk": {"S": sort}})

    with engine(fast=True) as client:
        put("b2", "a1", "c")
        assert found("sk BETWEEN :low AND :high", low="a", high="b2") == ["a1", "b2"]
        put("b1", "b", "a1", "bé", "b\U0010ffff")
        assert found("begins_with(sk, :start)", start="b") == ["b", "b1", "b2", "bé", "b\U0010ffff"]
        client.delete_item(TableName="ranged", Key={"pk": {"S": "a"}, "sk": {"S": "b1"}})
        put("b0")
        assert found("sk BETWEEN :low AND :high", low="b0", high="b2") == ["b0", "b2"]
        assert found("sk = :one", one="b1") == []
        assert found("sk = :one", one="b0") == ["b0"]


def test_the_emulator_reads_the_objects_that_s3_returns() -> None:
    with engine(fast=True):
        s3: Any = MOTO.s3()
        s3.create_bucket(Bucket="sealed")
        for key_, body in (("b/2", b"two"), ("b/10", b"ten"), ("a b/ü", b""), ("gone", b"gone")):
            s3.put_object(Bucket="sealed", Key=key_, Body=body)
        s3.delete_object(Bucket="sealed", Key="gone")
        embedded, over_http = EmbeddedBucket("sealed"), Bucket(s3, "sealed")
        assert embedded.keys() == over_http.keys() == ["a b/ü", "b/10", "b/2"]
        for key_ in embedded.keys():  # noqa: SIM118 - no dict
            assert embedded.open(key_).read() == over_http.open(key_).read()
        for bucket in (embedded, over_http):
            with pytest.raises(FileNotFoundError, match="gone"):
                bucket.open("gone")


def about_objects(s3: Any) -> list[Any]:
    """Write and read objects; return each call's answer."""
    s3.create_bucket(Bucket="sealed")
    name = {"Bucket": "sealed", "Key": "ledger/dt=2026-10-23/a b.csv"}
    given = []
    for call, request in (
        (s3.put_object, {**name, "Body": b"once", "IfNoneMatch": "*", "Metadata": {"sha256": "ab"}}),
        (s3.put_object, {**name, "Body": b"twice", "IfNoneMatch": "*"}),
        (s3.put_object, {**name, "Body": io.BytesIO(b"twice"), "IfNoneMatch": "*"}),
        (s3.put_object, {**name, "Key": "ledger/ü", "Body": io.BytesIO(b"a file"), "ContentType": "text/csv"}),
        (s3.put_object, {**name, "Key": "ledger/own", "Body": b"own", "ChecksumAlgorithm": "SHA256"}),
        (s3.put_object, {**name, "Key": "ledger/none", "Bucket": "none", "Body": b"lost"}),
        (s3.get_object, {**name, "Key": "ledger/ü"}),
        (s3.get_object, {**name, "Key": "ledger/own"}),
        (s3.get_object, name),
        (s3.get_object, {**name, "Range": "bytes=1-2"}),
        (s3.head_object, name),
        (s3.get_object, {**name, "Key": "ledger/none"}),
        (s3.head_object, {**name, "Key": "ledger/none"}),
        (s3.get_object, {**name, "Bucket": "none"}),
        (s3.delete_object, name),
        (s3.get_object, name),
    ):
        try:
            answer = call(**request)
        except ClientError as error:
            answer = error.response
        if "Body" in answer:
            answer["Body"] = answer["Body"].read()
        given.append(
            {name: value for name, value in answer.items() if name not in {"ResponseMetadata", "LastModified"}}
        )
    return given


def test_a_failed_transaction_leaves_items_indexes_and_stream_unchanged() -> None:
    with engine(fast=True) as client:
        red = {"pk": {"S": "a"}, "sk": {"S": "1"}, "group": {"S": "red"}, "n": {"N": "1"}}
        client.put_item(TableName="ranged", Item=red)
        by_group = {
            "TableName": "ranged",
            "IndexName": "by_group",
            "KeyConditionExpression": "#g = :g",
            "ExpressionAttributeNames": {"#g": "group"},
        }
        assert client.query(**by_group, ExpressionAttributeValues={":g": {"S": "red"}})["Items"] == [red]
        change = {
            "TableName": "ranged",
            "Key": {"pk": {"S": "a"}, "sk": {"S": "1"}},
            "UpdateExpression": "SET #g = :g ADD n :one",
            "ExpressionAttributeNames": {"#g": "group"},
            "ExpressionAttributeValues": {":g": {"S": "green"}, ":one": {"N": "1"}},
        }
        fails = {"TableName": "hashed", "Key": {"pk": {"S": "none"}}, "ConditionExpression": "attribute_exists(pk)"}
        new = {"TableName": "ranged", "Item": {"pk": {"S": "b"}, "sk": {"S": "1"}, "group": {"S": "red"}}}
        with pytest.raises(client.exceptions.TransactionCanceledException):
            client.transact_write_items(TransactItems=[{"Update": change}, {"Put": new}, {"ConditionCheck": fails}])

        assert client.scan(TableName="ranged")["Items"] == [red]
        assert client.query(**by_group, ExpressionAttributeValues={":g": {"S": "red"}})["Items"] == [red]
        assert client.query(**by_group, ExpressionAttributeValues={":g": {"S": "green"}})["Items"] == []


def test_transactions_of_several_threads_take_effect_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    add = {"TableName": "hashed", "UpdateExpression": "ADD n :one", "ExpressionAttributeValues": {":one": {"N": "1"}}}
    missing = {"TableName": "hashed", "Key": {"pk": {"S": "none"}}, "ConditionExpression": "attribute_exists(pk)"}
    fails: Any = {"ConditionCheck": missing}
    with engine(fast=True) as client, ThreadPoolExecutor(8) as threads:

        def transact(number: int) -> None:
            counted: Any = {"Update": {**add, "Key": {"pk": {"S": str(number % 8)}}}}
            with suppress(client.exceptions.TransactionCanceledException):
                client.transact_write_items(TransactItems=[counted, fails] if number % 16 < 8 else [counted])

        monkeypatch.setattr(DynamoType, "__deepcopy__", yielding(vars(DynamoType)["__deepcopy__"]))
        list(threads.map(transact, range(160)))

        counts = {one["pk"]["S"]: one["n"]["N"] for one in client.scan(TableName="hashed")["Items"]}
        assert counts == {str(number): "10" for number in range(8)}


def yielding(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that first lets the other threads run."""

    def yields(*arguments: Any) -> Any:
        time.sleep(0)
        return method(*arguments)

    return yields


def test_an_item_beyond_the_largest_is_refused_as_by_moto() -> None:
    big = {"pk": {"S": "a"}, "sk": {"S": "1"}, "text": {"S": "x" * 410_000}}
    for fast in (False, True):
        with engine(fast=fast) as client, pytest.raises(ClientError, match="Item size has exceeded"):
            client.put_item(TableName="ranged", Item=big)


def test_records_that_all_readers_have_read_are_forgotten_and_later_ones_are_not() -> None:
    with engine(fast=True) as client:
        client.put_item(TableName="hashed", Item={"pk": {"S": "before"}})
        arn = client.describe_table(TableName="hashed")["Table"]["LatestStreamArn"]
        first, start = records(arn)
        MOTO.forget_records([arn])
        client.put_item(TableName="hashed", Item={"pk": {"S": "after"}})

        again, _ = records(arn, start)
        assert [one["dynamodb"]["Keys"] for one in first] == [{"pk": {"S": "before"}}]
        assert [one["dynamodb"]["Keys"] for one in again] == [{"pk": {"S": "after"}}]
        assert [one["dynamodb"]["Keys"] for one in records(arn)[0]] == [{"pk": {"S": "after"}}]
        numbers = [int(one["dynamodb"]["SequenceNumber"]) for one in (*first, *again)]
        assert numbers == sorted(set(numbers))
        _, unused = records(arn)
        for _ in range(200):
            _, start = records(arn, start)
        MOTO.forget_records([arn])
        with pytest.raises(ClientError, match="ExpiredIteratorException"):
            records(arn, unused)


def records(arn: str, iterator: str = "") -> tuple[list[Any], str]:
    """Return the records after an iterator, or all that the stream holds, and the next iterator."""
    streams = MOTO.streams()
    if not iterator:
        (shard,) = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
        iterator = streams.get_shard_iterator(
            StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
        )["ShardIterator"]
    answer = streams.get_records(ShardIterator=iterator)
    return list(answer["Records"]), answer["NextShardIterator"]


def test_moto_is_left_as_it_was_and_remembers_no_copies_meanwhile() -> None:
    plain = vars(Item)["__init__"]
    with engine(fast=True) as client:
        client.put_item(TableName="hashed", Item={"pk": {"S": "a"}})
        assert len(vars(Item)["instances_tracked"]) == 0
        with adjusted:
            assert vars(Item)["__init__"] is not plain
        assert vars(Item)["__init__"] is not plain
    assert vars(Item)["__init__"] is plain
