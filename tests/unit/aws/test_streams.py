"""Stream records: the response to Lambda about them, and parking."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.aws import streams
from quarterhour.aws.parking import Parking
from quarterhour.aws.streams import Poison
from quarterhour.model.errors import UnavailableError
from tests.support.builders import change_record, posting_item, record
from tests.support.script import Scripted, service_error


@pytest.mark.parametrize(
    "number", ["1", "000000000000000000001", "4421584500000000017450439092", "0" * 39 + "7", "9" * 40]
)
def test_a_failed_record_is_named_by_its_number_as_delivered(number: str) -> None:
    one = record(number, posting_item())
    answer = streams.failures([one], [streams.sequence(one)])
    assert answer == {"batchItemFailures": [{"itemIdentifier": number}]}


def test_a_batch_without_failures_returns_an_empty_list() -> None:
    assert streams.failures([record(1, posting_item())], []) == {"batchItemFailures": []}


@given(st.lists(st.integers(1, 10**39), min_size=1, unique=True), st.data())
def test_the_next_delivery_begins_with_the_lowest_failed_record(numbers: list[int], data: st.DataObject) -> None:
    records = [record(number, posting_item()) for number in numbers]
    failed = data.draw(st.lists(st.sampled_from(records), min_size=1))
    answer = streams.failures(records, map(streams.sequence, failed))
    lowest = min(int(one["dynamodb"]["SequenceNumber"]) for one in failed)
    assert answer == {"batchItemFailures": [{"itemIdentifier": str(lowest)}]}


@given(st.integers(0, 10**40 - 1), st.integers(0, 10**40 - 1))
def test_padded_sequence_numbers_compare_like_numbers(one: int, other: int) -> None:
    first, second = (streams.sequence(record(number, None)) for number in (one, other))
    assert (first < second) == (one < other)
    assert len(first) == streams.SEQUENCE_DIGITS


# ---------------------------------------------------------------- parking


@pytest.mark.usefixtures("hands")
def test_a_record_is_parked_with_its_content_and_the_reason() -> None:
    client: Any = Scripted({})
    bad = record(5, posting_item(amount="1" * 39))
    Parking(client, "queue-url", "counters").park([Poison(bad, "no amount")])
    ((operation, request),) = client.calls
    assert (operation, request["QueueUrl"]) == ("send_message_batch", "queue-url")
    (entry,) = request["Entries"]
    assert json.loads(entry["MessageBody"]) == {"by": "counters", "reason": "no amount", "record": bad}


@pytest.mark.usefixtures("hands")
def test_records_are_parked_ten_with_a_call_and_never_above_the_bytes_of_a_call() -> None:
    client: Any = Scripted({})
    small = [Poison(record(number, posting_item()), "bad") for number in range(23)]
    item = {**posting_item(), "text": {"S": "x" * 400_000}}
    large = [Poison(record(number, item), "bad") for number in range(23, 27)]
    Parking(client, "queue-url", "counters").park([*small, *large])
    batches = [[entry["MessageBody"] for entry in request["Entries"]] for _, request in client.calls]
    assert list(map(len, batches)) == [10, 10, 5, 2]
    assert all(sum(len(body.encode()) for body in batch) <= 1 << 20 for batch in batches)
    sent = [json.loads(body)["record"] for batch in batches for body in batch]
    assert sent == [one.record for one in [*small, *large]]
    assert all(
        len({entry["Id"] for entry in request["Entries"]}) == len(request["Entries"]) for _, request in client.calls
    )


LARGEST_ITEM = 400_000


@pytest.mark.usefixtures("hands")
@pytest.mark.parametrize("text", ["x" * LARGEST_ITEM, '"' * LARGEST_ITEM])
def test_an_item_of_any_size_is_parked_with_its_content(text: str) -> None:
    client: Any = Scripted({})
    bad = record(5, {**posting_item(), "text": {"S": text}})
    Parking(client, "queue-url", "counters").park([Poison(bad, "no amount")])
    ((_, request),) = client.calls
    assert json.loads(request["Entries"][0]["MessageBody"]) == {"by": "counters", "reason": "no amount", "record": bad}


@pytest.mark.usefixtures("hands")
@pytest.mark.parametrize(
    "attribute", [{"S": "é" * (LARGEST_ITEM // 2)}, {"L": [{"N": "1"}] * (LARGEST_ITEM // 3)}], ids=["text", "list"]
)
@pytest.mark.parametrize("reason", ["no amount", "\0" * LARGEST_ITEM], ids=["short", "long"])
def test_an_item_that_no_message_can_hold_is_parked_by_its_keys(attribute: Any, reason: str) -> None:
    client: Any = Scripted({})
    bad = change_record(5, posting_item(), {**posting_item(), "text": attribute}) | {"eventSourceARN": "the stream"}
    Parking(client, "queue-url", "counters").park([Poison(bad, reason)])
    ((_, request),) = client.calls
    body = json.loads(request["Entries"][0]["MessageBody"])
    change = {name: value for name, value in bad["dynamodb"].items() if name not in {"NewImage", "OldImage"}}
    assert body["record"] == {**bad, "dynamodb": change}
    assert change["Keys"]
    assert body["reason"].startswith(reason[:1_000])
    assert body["reason"].endswith("; the item is too large for this message, read it in the table by its keys")


@pytest.mark.usefixtures("hands")
def test_a_long_reason_takes_no_room_from_the_record() -> None:
    client: Any = Scripted({})
    schema = "é" * 100_000
    bad = record(5, {**posting_item(), "schema": {"S": schema}})
    Parking(client, "queue-url", "counters").park([Poison(bad, f"the schema {schema} is not known")])
    ((_, request),) = client.calls
    body = json.loads(request["Entries"][0]["MessageBody"])
    assert body["record"] == bad
    assert body["reason"].startswith("the schema éé")


@pytest.mark.usefixtures("hands")
def test_without_poison_nothing_is_sent() -> None:
    client: Any = Scripted({})
    Parking(client, "queue-url", "counters").park([])
    assert client.calls == []


@pytest.mark.usefixtures("hands")
def test_only_the_records_that_a_batch_did_not_take_are_sent_again() -> None:
    failed = {"Failed": [{"Id": "1", "SenderFault": False, "Code": "InternalError"}]}
    client: Any = Scripted(failed, failed, {"Successful": []})
    Parking(client, "queue-url", "counters").park(
        [Poison(record(number, posting_item()), "bad") for number in range(3)]
    )
    sent = [
        [json.loads(entry["MessageBody"])["record"]["dynamodb"]["SequenceNumber"] for entry in request["Entries"]]
        for _, request in client.calls
    ]
    assert sent == [["0", "1", "2"], ["1"], ["1"]]


@pytest.mark.usefixtures("hands")
def test_records_that_no_batch_takes_are_not_skipped() -> None:
    client: Any = Scripted({"Failed": [{"Id": "0", "SenderFault": True, "Code": "InvalidMessageContents"}]})
    with pytest.raises(UnavailableError, match="InvalidMessageContents"):
        Parking(client, "queue-url", "counters").park([Poison(record(5, posting_item()), "bad")])


@pytest.mark.usefixtures("hands")
def test_a_record_that_cannot_be_parked_is_not_skipped() -> None:
    client: Any = Scripted(service_error("ServiceUnavailable", 503))
    with pytest.raises(UnavailableError):
        Parking(client, "queue-url", "counters").park([Poison(record(5, posting_item()), "bad")])


@pytest.mark.usefixtures("hands")
def test_parking_is_retried() -> None:
    client: Any = Scripted(service_error("ThrottlingException"), {})
    Parking(client, "queue-url", "counters").park([Poison(record(5, posting_item()), "bad")])
    assert len(client.calls) == 2


def test_records_beyond_the_time_limit_stay_parked_and_are_counted() -> None:
    messages = [
        {"Body": json.dumps({"by": "counters", "record": number}), "ReceiptHandle": f"handle {number}"}
        for number in range(3)
    ]
    client: Any = Scripted({"Messages": messages}, {})
    time_left = iter([True, True, False, False, False])
    done = Parking(client, "queue-url", "counters").replay({"counters": lambda _: True}, lambda: next(time_left))
    assert done["counters"].as_dict() == {"applied": 1, "kept": 2}
    assert [request["ReceiptHandle"] for operation, request in client.calls if operation == "delete_message"] == [
        "handle 0"
    ]


@pytest.mark.usefixtures("hands")
@pytest.mark.parametrize(
    "answer", [service_error("AccessDenied"), service_error("ThrottlingException"), {"Failed": [{"Id": "0"}]}]
)
def test_a_record_that_cannot_be_made_visible_again_changes_no_result(answer: Any) -> None:
    """The alarm may turn OK for a while; the counts of the run, or the error that ended it, must not be lost."""
    messages = [{"Body": json.dumps({"by": "counters", "record": 1}), "ReceiptHandle": "handle 1"}]
    client: Any = Scripted({"Messages": messages}, {"Messages": []}, answer)
    done = Parking(client, "queue-url", "counters").replay({"counters": lambda _: False}, lambda: True)
    assert done["counters"].as_dict() == {"applied": 0, "kept": 1}

    def fail(_: object) -> bool:
        raise LookupError("the cause")

    failing: Any = Scripted({"Messages": messages}, answer)
    with pytest.raises(LookupError, match="the cause"):
        Parking(failing, "queue-url", "counters").replay({"counters": fail}, lambda: True)
