"""An event source mapping at work, with a fake stream."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from quarterhour_tools.emulator.filters import parse_filters
from quarterhour_tools.emulator.pump import Pump
from quarterhour_tools.emulator.template import StreamMapping

START = datetime(2026, 10, 23, 1, 30, tzinfo=UTC)
LETTERS = "arn:aws:sqs:us-east-1:1:letters"


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


class ExpiredError(Exception):
    pass


class TrimmedError(Exception):
    pass


class Stream:
    """The Streams API: shards with their parents, whether each is closed, and what was written to them."""

    meta = SimpleNamespace(region_name="us-east-1")
    exceptions = SimpleNamespace(ExpiredIteratorException=ExpiredError, TrimmedDataAccessException=TrimmedError)

    def __init__(self) -> None:
        self.shards: dict[str, list[dict[str, Any]]] = {"first": []}
        self.parents: dict[str, str] = {}
        self.closed: set[str] = set()
        self.iterators_live = True
        self.trimmed = False
        self.looks = 0
        self.page = 1000
        self._number = 0

    def write(self, *names: str, shard: str = "first", kind: str = "INSERT") -> None:
        for name in names:
            self._number += 1
            change = {
                "SequenceNumber": f"{self._number:05d}",
                "SizeBytes": 600_000 // self.page,
                "Keys": {"pk": {"S": name}},
            }
            self.shards[shard].append({"eventID": name, "eventName": kind, "dynamodb": change})

    def split(self, parent: str, child: str) -> None:
        self.closed.add(parent)
        self.shards[child] = []
        self.parents[child] = parent

    def describe_stream(self, **_: str) -> dict[str, Any]:
        self.looks += 1
        shards = [{"ShardId": name, "ParentShardId": self.parents.get(name, "")} for name in self.shards]
        return {"StreamDescription": {"Shards": shards}}

    def get_shard_iterator(self, *, ShardId: str, SequenceNumber: str = "", **_: str) -> dict[str, str]:  # noqa: N803 - as in boto3
        return {"ShardIterator": f"new:{ShardId}:{SequenceNumber}"}

    def get_records(self, *, ShardIterator: str, **_: int) -> dict[str, Any]:  # noqa: N803 - as in boto3
        made, shard, last = ShardIterator.split(":")
        if made == "old" and not self.iterators_live:
            raise ExpiredError
        if made == "old" and self.trimmed:
            raise TrimmedError
        coming = [record for record in self.shards[shard] if record["dynamodb"]["SequenceNumber"] > last]
        page = coming[: self.page]
        last = page[-1]["dynamodb"]["SequenceNumber"] if page else last
        ends = shard in self.closed and len(page) == len(coming)
        return {"Records": page, **({} if ends else {"NextShardIterator": f"old:{shard}:{last}"})}


class Queue:
    """The queue of dead letters."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def get_queue_url(self, *, QueueName: str) -> dict[str, str]:  # noqa: N803 - as in boto3
        return {"QueueUrl": QueueName}

    def send_message(self, *, QueueUrl: str, MessageBody: str) -> None:  # noqa: N803 - as in boto3
        assert QueueUrl == "letters"
        self.messages.append(MessageBody)


class Function:
    """A function that keeps its batches, and fails as configured."""

    def __init__(self, fails: Callable[[list[str]], Any] = lambda _: None) -> None:
        self.batches: list[list[str]] = []
        self._fails = fails

    def __call__(self, event: dict[str, Any]) -> Any:
        names = [record["dynamodb"]["Keys"]["pk"]["S"] for record in event["Records"]]
        self.batches.append(names)
        answer = self._fails(names)
        if isinstance(answer, Exception):
            raise answer
        numbers = {r["dynamodb"]["Keys"]["pk"]["S"]: r["dynamodb"]["SequenceNumber"] for r in event["Records"]}
        return {"batchItemFailures": [{"itemIdentifier": numbers[answer]}]} if answer else None


def pump(stream: Stream, function: Function, queue: Queue | None = None, **settings: Any) -> Pump:
    rules: dict[str, Any] = {
        "stream": "arn:stream",
        "batch_size": 3,
        "window": timedelta(seconds=5),
        "filters": parse_filters([{"Pattern": '{"eventName":["INSERT"]}'}]),
        "bisect": True,
        "retries": 2,
        "record_age": None,
        "reports_failures": True,
        "dead_letters": LETTERS,
    }
    clients: Any = (stream, queue or Queue())
    return Pump(StreamMapping(**{**rules, **settings}), "arn:function", function, *clients)


def run(pump: Pump, seconds: float = 0) -> datetime | None:
    pump.read(after(seconds))
    pump.deliver(after(seconds))
    return pump.due()


def test_records_wait_for_the_window_that_the_first_of_them_opens() -> None:
    stream, function = Stream(), Function()
    tested = pump(stream, function)
    stream.write("a")
    assert run(tested) == after(5)
    stream.write("b")
    assert run(tested, 3) == after(5)
    assert function.batches == []
    assert run(tested, 5) is None
    assert function.batches == [["a", "b"]]


def test_a_full_batch_does_not_wait() -> None:
    stream, function = Stream(), Function()
    stream.write(*"abcdefg")
    assert run(pump(stream, function)) == after(5)
    assert function.batches == [["a", "b", "c"], ["d", "e", "f"]]


def test_a_batch_may_be_delivered_in_parts_in_its_order() -> None:
    stream, function = Stream(), Function()
    own = pump(stream, function, batch_size=5, window=timedelta(0))
    stream.write("a", "b", "c", "d", "e", "f", "g")
    own.read(START)
    while own.deliver_next(START, 2):
        pass
    assert function.batches == [["a", "b"], ["c", "d"], ["e"], ["f", "g"]]


def test_a_part_that_fails_is_tried_again_before_the_rest_of_its_batch() -> None:
    failures = iter(["b"])
    stream, function = Stream(), Function(lambda names: next(failures, None) if "b" in names else None)
    own = pump(stream, function, batch_size=5, window=timedelta(0), reports_failures=True)
    stream.write("a", "b", "c")
    own.read(START)
    while own.deliver_next(START, 2):
        pass
    assert function.batches == [["a", "b"], ["b"], ["c"]]


def test_records_that_no_filter_matches_are_skipped() -> None:
    stream, function = Stream(), Function()
    stream.write("a", kind="MODIFY")
    assert run(pump(stream, function)) is None


def test_delivery_continues_at_the_lowest_failed_record() -> None:
    stream, function = Stream(), Function(lambda names: "b" if names == ["a", "b", "c"] else None)
    stream.write(*"abc")
    run(pump(stream, function))
    assert function.batches == [["a", "b", "c"], ["b", "c"]]


def test_a_function_that_raises_gets_halves_and_the_poisonous_record_ends_as_a_dead_letter(
    capsys: pytest.CaptureFixture[str],
) -> None:
    stream, queue = Stream(), Queue()
    function = Function(lambda names: ValueError("poison") if "b" in names else None)
    tested = pump(stream, function, queue)
    stream.write(*"abc")
    assert run(tested) == after(1)
    stream.write("d")
    assert run(tested, 1) == after(3)
    run(tested, 3)
    run(tested, 8)
    assert function.batches == [["a", "b", "c"], ["a"], ["b", "c"], ["b"], ["b"], ["b"], ["c"], ["d"]]
    assert [message.count("00002") for message in queue.messages] == [2]
    assert "gave up 1 records: RetryAttemptsExhausted" in capsys.readouterr().err


def test_records_that_wait_too_long_for_their_turn_are_given_up() -> None:
    stream, queue = Stream(), Queue()
    function = Function(lambda _: ValueError("down"))
    tested = pump(stream, function, queue, retries=None, record_age=timedelta(seconds=30), batch_size=1)
    stream.write("a")
    for second in range(60):
        run(tested, second)
    assert "RecordAgeExceeded" in queue.messages[0]
    assert tested.due() is None


def test_a_stream_is_read_to_its_end_whatever_the_size_of_an_answer() -> None:
    stream, function = Stream(), Function()
    stream.page = 2
    stream.write(*"abcdefg")
    run(pump(stream, function, batch_size=7))
    assert function.batches == [list("abcdefg")]


def test_an_expired_iterator_is_replaced_after_the_last_record() -> None:
    stream, function = Stream(), Function()
    tested = pump(stream, function, window=timedelta())
    stream.write("a")
    run(tested)
    stream.iterators_live = False
    stream.write("b")
    run(tested, 1)
    assert function.batches == [["a"], ["b"]]


def test_a_trimmed_iterator_of_an_empty_shard_is_replaced() -> None:
    stream, function = Stream(), Function()
    tested = pump(stream, function)
    run(tested)
    stream.write("a")
    stream.trimmed = True
    run(tested, 1)
    stream.trimmed = False
    run(tested, 6)
    assert function.batches == [["a"]]


def test_records_that_were_trimmed_before_they_were_read_are_an_error() -> None:
    stream, function = Stream(), Function()
    tested = pump(stream, function)
    stream.write("a")
    run(tested)
    stream.trimmed = True
    with pytest.raises(TrimmedError):
        run(tested, 1)


def test_a_shard_begins_when_its_parent_is_read_and_delivered() -> None:
    downs = iter([ValueError("down"), ValueError("down")])
    stream, function = Stream(), Function(lambda _: next(downs, None))
    tested = pump(stream, function, window=timedelta())
    stream.write("a")
    stream.split("first", "second")
    stream.write("b", shard="second")
    for second in range(5):
        run(tested, second)
    assert function.batches == [["a"], ["a"], ["a"], ["b"]]


def test_shards_are_listed_at_the_start_and_after_one_has_ended() -> None:
    stream = Stream()
    tested = pump(stream, Function())
    run(tested, 0)
    run(tested, 1)
    assert stream.looks == 1
    stream.split("first", "second")
    for second in range(2, 9):
        run(tested, second)
    assert stream.looks == 2
