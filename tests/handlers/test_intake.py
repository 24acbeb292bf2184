"""The queue, the bus and the inbox: each message and each file has a clear outcome, and nothing is recorded twice."""

import gzip
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from quarterhour.intake import chunks, inbox, store
from quarterhour.intake.inbox import InboxIntake
from quarterhour.intake.keys import result_key
from quarterhour.intake.service import Seconds
from quarterhour.ledger.recording.outcomes import Verdict
from quarterhour.ledger.recording.service import Recorder
from quarterhour.model.errors import UnavailableError
from quarterhour_tools.emulator.queue_pump import QueuePump
from tests.support.events import rerating, sale
from tests.support.intake import PARAMETERS, in_queue, ndjson, parked, put_on_bus, results, send, totals, upload
from tests.support.system import World, opened
from tests.unit.registry.rate_cards.builders import content


@pytest.fixture
def world() -> Iterator[World]:
    """The system with its intake."""
    with opened(PARAMETERS) as world:
        yield world


def drain(world: World, **span: float) -> None:
    """Let time pass, and deliver all messages and stream records."""
    world.clock.advance(timedelta(**span))
    world.drain()


TILL = """
[[event]]
id = "{order}"
source = "till"
type = "sale.recorded"
subject = "{shop}"
[event.data]
amount = "{total}"
currency = "GBP"
[settings]
shop = "the agency"
"""
"""A map."""

# ---------------------------------------------------------------- queue and bus


def test_an_event_comes_in_every_form_and_is_recorded_once(world: World) -> None:
    one = sale("one", "1")
    of_bus = {
        "version": "0",
        "id": "x",
        "detail-type": "quarterhour.event",
        "source": "shop",
        "detail": sale("bus", "4"),
    }
    for body in (one, [sale("two", "2"), sale("three", "3")], of_bus, one, [one, one]):
        send(world, body)
    put_on_bus(world, sale("put", "5"))
    put_on_bus(world, sale("other", "100"), detail_type="another matter")
    drain(world)
    assert totals(world) == (5, "15")
    assert parked(world) == []


def test_of_ten_messages_the_bad_one_is_parked_alone_with_its_reason(world: World) -> None:
    for number in range(9):
        send(world, sale(f"s{number}", "1"))
    send(world, [sale("s9", "1"), sale("s0", "1.50"), sale("s10", "ten"), sale("s11", "1", currency="pounds")])
    drain(world)
    assert totals(world) == (10, "10")
    conflict, *rejected = parked(world)
    assert (conflict[0], conflict[2]) == ("conflict", 1)
    assert "recorded before with other content" in conflict[1]
    assert [(verdict, index, reason.partition(":")[0]) for verdict, reason, index in rejected] == [
        ("rejected", 2, "data.amount is 'ten'"),
        ("rejected", 3, "data.currency is 'pounds'"),
    ]
    (event,) = [one["record"]["event"] for one in in_queue(world, "IntakeParkedQueue") if one["record"]["index"] == 2]
    assert event == sale("s10", "ten"), "the content is whole"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (" ", "body is not JSON"),
        ("no JSON", "body is not JSON"),
        ("[]", "body is an empty list"),
        ("17", "is not a JSON object"),
        ('{"a": 1, "a": 2}', "the key 'a' appears twice"),
        ("[" * 50_000, "nested too deeply"),
        ('{"specversion": "1.0", "id": NaN}', "source is missing"),
        ('"' + "é" * 131_000 + '"', "is not a JSON object"),
    ],
)
def test_a_message_that_is_no_event_is_parked(world: World, body: str, reason: str) -> None:
    send(world, body)
    drain(world)
    ((verdict, why, index),) = parked(world)
    assert (verdict, index) == ("rejected", 0)
    assert reason in why


def test_a_message_of_256_kb_is_recorded_whole(world: World) -> None:
    events = [sale(f"s{number}", "1", extra={"note": "x" * 150}) for number in range(830)]
    body = json.dumps(events)
    assert 250_000 < len(body) <= 262_144
    send(world, body)
    drain(world)
    assert totals(world) == (830, "830")


def test_what_is_unavailable_comes_again_and_is_parked_once_it_is_not(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "record", unavailable)
        send(world, [sale("a", "1"), {}])
        send(world, sale("b", "2"))
        drain(world)
        assert parked(world) == []
        drain(world, days=2)
    assert totals(world) == (0, "")
    drain(world, seconds=301)
    assert totals(world) == (2, "3")
    assert len(parked(world)) == 1


def unavailable(*_: object) -> None:
    raise UnavailableError("DynamoDB did not answer in time")


def test_a_queue_that_delivers_again_for_days_records_and_rejects_the_same(world: World) -> None:
    url = world.stack.ref("IntakeQueue")
    arn = "arn:aws:sqs:us-east-1:123456789012:" + url.rpartition("/")[2]
    body = json.dumps([sale("a", "1"), sale("b", "2"), sale("bad", "ten")])
    record = {"messageId": "m", "body": body, "eventSourceARN": arn}
    for _ in range(6):
        assert world.stack.invoke("intake", {"Records": [record]}) == {"batchItemFailures": []}
        drain(world, hours=20)
    assert totals(world) == (2, "3")
    refused = in_queue(world, "IntakeParkedQueue")
    assert {(one["record"]["message"], one["record"]["index"]) for one in refused} == {("m", 2)}, "one event"


def test_a_parked_event_is_recorded_by_the_operator_once_its_cause_is_fixed(world: World) -> None:
    send(world, sale("s", "10"))
    drain(world)
    send(world, [rerating("r", "s", version=1), {"no": "event", "number": 1.50}])
    drain(world)
    assert len(parked(world)) == 2
    world.write("/documents/rate-card:42", content({"percent": "20"}))
    assert world.stack.invoke("intake", {}) == {"intake": {"applied": 1, "kept": 1}}
    assert len(parked(world)) == 1
    world.drain()
    assert world.read("/accounts/42/GBP")["commission"] == "2.00"


# ---------------------------------------------------------------- inbox


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each part of a file be one chunk, as if the time of the function were up."""
    monkeypatch.setattr(inbox, "ENOUGH_SECONDS", 1000)


EVENTS = [sale(f"f{number}", "1") for number in range(1234)]


@pytest.mark.usefixtures("in_parts")
@pytest.mark.parametrize("packed", [False, True])
def test_a_file_is_recorded_in_parts_and_has_a_result(world: World, packed: bool) -> None:  # noqa: FBT001
    lines = ndjson(EVENTS) + b"\n  \nno JSON\n" + json.dumps(sale("f0", "2")).encode()
    key = f"inbox/shop one/day+1.ndjson{'.gz' if packed else ''}"
    upload(world, key, gzip.compress(lines[:50_000]) + gzip.compress(lines[50_000:]) if packed else lines)
    drain(world)
    result = results(world)[key]
    assert (result["status"], result["part"], result["line"]) == ("done", 3, 1238)
    assert result["counts"] == {"recorded": 1234, "rejected": 1, "conflict": 1}
    assert [(one["line"], one["verdict"], one["id"]) for one in result["problems"]] == [
        (1237, "rejected", None),
        (1238, "conflict", "f0"),
    ]
    assert totals(world) == (1234, "1234")
    assert parked(world) == [], "the result has the reasons"


def test_a_file_that_comes_twice_adds_nothing(world: World) -> None:
    upload(world, "inbox/a.ndjson", ndjson(EVENTS))
    drain(world)
    for key in ("inbox/a.ndjson", "inbox/b.jsonl"):
        upload(world, key, ndjson(EVENTS))
    drain(world)
    assert totals(world) == (1234, "1234")
    assert {one["status"]: one["counts"] for one in results(world).values()} == {"done": {"duplicate": 1234}}


STRIPE = b"""Type,ID,Created (UTC),Amount,Currency,Description\ncharge,ch_1,2026-10-20 10:00,12.50,gbp,Tea\n"""


@pytest.mark.usefixtures("in_parts")
def test_a_csv_file_is_converted_by_the_map_that_its_key_names(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "_PART", 400)
    upload(world, "maps/till.toml", TILL.encode())
    rows = ["order,total", *(f"o{number},1.25" for number in range(300)), "bad,much", "o300,1.25"]
    upload(world, "inbox/till/shop=7/october.csv", "\r\n".join(rows).encode())
    drain(world)
    result = results(world)["inbox/till/shop=7/october.csv"]
    assert (result["status"], result["counts"], result["line"]) == ("done", {"recorded": 301, "bad row": 1}, 303), (
        result
    )
    assert result["part"] > 3
    assert [(one["line"], one["verdict"]) for one in result["problems"]] == [(302, "bad row")]
    assert totals(world) == (301, "376.25")


def test_a_map_whose_ids_hold_the_row_takes_files_that_never_change(world: World) -> None:
    toml = "[file]\nnever_changes = true\n" + TILL.replace("{order}", "{order}:{row}")
    upload(world, "maps/till.toml", toml.encode())
    upload(world, "inbox/till/shop=7/october.csv", b"order,total\no1,1.25\no1,1.25\n")
    drain(world)
    assert results(world)["inbox/till/shop=7/october.csv"]["counts"] == {"recorded": 2}


@pytest.mark.parametrize(
    ("key", "body", "reason"),
    [
        ("inbox/a.xlsx", b"x", "the key does not tell the form of the file"),
        ("inbox/a.csv", b"a,b\n", "the key names no map for the CSV file"),
        ("inbox/none/a.csv", b"a,b\n", "there is no map none: upload it as maps/none.toml"),
        (
            "inbox/by_row/a.csv",
            b"order,total\no1,1.25\n",
            "the map by_row is not used here: the ids hold the number of",
        ),
        ("inbox/stripe/a.csv", b"a,b\n", "the map stripe asks for agency: write inbox/stripe/NAME=VALUE/FILE"),
        ("inbox/stripe/agency=42/a.csv", b"a,b\n1,2\n", "the file has no column"),
        ("inbox/a.ndjson.gz", b"no gzip", "is not a whole gzip file"),
        ("inbox/a.ndjson.gz", gzip.compress(ndjson(EVENTS))[:-400], "the gzip file is cut off"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(world: World, key: str, body: bytes, reason: str) -> None:
    upload(world, "maps/by_row.toml", TILL.replace("{order}", "{order}:{row}").encode())
    upload(world, key, body)
    drain(world)
    result = results(world)[key]
    assert result["status"] == "failed"
    assert reason in result["reason"]


def test_the_result_of_a_file_counts_what_is_before_the_first_period() -> None:
    with opened({**PARAMETERS, "first_period": "2026-10"}) as world:
        early = {**sale("early", "1"), "time": "1970-01-01T00:00:00Z"}
        upload(world, "inbox/a.ndjson", ndjson([early, {**early, "id": "other"}, sale("now", "1")]))
        drain(world)
        (result,) = results(world).values()
        assert (result["counts"], result["before_first_period"]) == ({"recorded": 3}, 2)


def test_a_file_whose_key_is_as_long_as_a_key_may_be_has_a_result_of_its_own() -> None:
    results = set()
    for name in ("ü" * 500 + "ab.ndjson", "ü" * 500 + "cd.ndjson"):
        key = f"inbox/{name}"
        assert len(key.encode()) in range(1010, 1025)
        found = result_key(key, "0" * 36)
        assert len(found.encode()) <= 1024
        assert found.startswith("results/ü")
        results.add(found)
    assert len(results) == 2
    assert result_key("inbox/a.ndjson", "0") == "results/a.ndjson/0.json"


@pytest.mark.parametrize(
    ("name", "whole", "found"),
    [
        ("a.ndjson.gz", gzip.compress(ndjson(EVENTS)), ("failed", "the gzip file is cut off")),
        ("a.ndjson", ndjson(EVENTS), ("done", "is not JSON")),
    ],
)
def test_a_file_that_was_cut_off_says_so_and_is_completed_by_the_whole_file(
    world: World, name: str, whole: bytes, found: tuple[str, str]
) -> None:
    key = f"inbox/{name}"
    upload(world, key, whole[:-400])
    drain(world)
    result = results(world)[key]
    assert result["status"] == found[0]
    assert found[1] in str(result["reason"] or result["problems"][0]["reason"])
    upload(world, key, whole)
    drain(world)
    assert totals(world) == (1234, "1234")


@pytest.mark.usefixtures("in_parts")
def test_a_file_that_is_replaced_while_it_is_read_is_noticed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    record, later = Recorder.record, ndjson([sale("new", "5")])

    def replacing(*given: object) -> object:
        if later and not results(world):
            upload(world, "inbox/a.ndjson", later)
        return record(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(Recorder, "record", replacing)
    upload(world, "inbox/a.ndjson", ndjson(EVENTS))
    drain(world)
    s3, bucket = world.stack.engine.s3(), world.stack.ref("InboxBucket")
    listed = s3.list_objects_v2(Bucket=bucket, Prefix="results/inbox/a.ndjson".replace("inbox/", ""))["Contents"]
    found = [json.loads(s3.get_object(Bucket=bucket, Key=one["Key"])["Body"].read()) for one in listed]
    assert sorted((one["status"], one["counts"]["recorded"]) for one in found) == [("done", 1), ("replaced", 500)]
    assert totals(world) == (501, "505")


@pytest.mark.usefixtures("in_parts")
def test_a_part_that_cannot_be_recorded_now_is_recorded_later(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    record, calls = Recorder.record, list[int]()

    def failing(*given: object) -> object:
        calls.append(1)
        if len(calls) in {1, 3}:
            raise UnavailableError("DynamoDB did not answer in time")
        return record(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(Recorder, "record", failing)
    upload(world, "inbox/a.ndjson", ndjson(EVENTS))
    for _ in range(4):
        drain(world, seconds=301)
    assert results(world)["inbox/a.ndjson"]["counts"] == {"recorded": 1234}
    assert totals(world) == (1234, "1234")


def test_a_file_of_bad_lines_has_a_bounded_result(world: World) -> None:
    upload(world, "inbox/bad.ndjson", b"bad\n" * 20_000 + b"x" * (chunks.LONGEST_LINE + 1) + ndjson(EVENTS[:1]))
    drain(world)
    result = results(world)["inbox/bad.ndjson"]
    assert (result["counts"], len(result["problems"]), result["left_out"]) == ({"rejected": 20_001}, 100, 19_901)


def test_a_line_without_an_end_is_not_read_to_its_end(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "_LONGEST_DROPPED", 1 << 20)
    upload(world, "inbox/one.ndjson", ndjson(EVENTS[:1]) + b"x" * (2 << 20))
    drain(world)
    result = results(world)["inbox/one.ndjson"]
    assert (result["status"], result["reason"]) == (
        "failed",
        "a line has more than 1,048,576 bytes: write one event a line",
    )


def test_a_gzip_file_that_holds_too_much_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MAX_UNPACKED", 10_000)
    upload(world, "inbox/bomb.ndjson.gz", gzip.compress(b"\n" * 1_000_000))
    drain(world)
    result = results(world)["inbox/bomb.ndjson.gz"]
    assert (result["status"], result["reason"].partition(":")[0]) == ("failed", "holds more than 10,000 bytes")


@pytest.mark.parametrize(
    ("key", "line"), [("inbox/bomb.ndjson.gz", b" \n"), ("inbox/till/shop=7/bomb.csv.gz", b"\r\n")]
)
def test_a_file_that_unpacks_to_blank_lines_is_refused_after_the_first_of_them(
    world: World, key: str, line: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MAX_UNPACKED", 3 << 20)
    upload(world, "maps/till.toml", TILL.encode())
    begin = ndjson(EVENTS[:1]) if "ndjson" in key else b"order,total\no1,1.25\n"
    upload(world, key, gzip.compress(begin + line * (5 << 20)))
    drain(world)
    result = results(world)[key]
    assert (result["status"], result["reason"]) == (
        "failed",
        "has more than 1,048,576 bytes of blank lines together: leave them out",
    )


def test_a_message_that_names_no_file_ends_among_the_dead_letters(world: World) -> None:
    sqs, url = world.stack.engine.sqs(), world.stack.ref("InboxQueue")
    other = {"Records": [{"eventName": "ObjectCreated:Put", "s3": {"bucket": {"name": "other"}, "object": {}}}]}
    for body in ({"Event": "s3:TestEvent"}, {"what": "?"}, other):
        sqs.send_message(QueueUrl=url, MessageBody=json.dumps(body))
    with pytest.MonkeyPatch.context() as patch:
        for pump in world.stack.pumps:
            if isinstance(pump, QueuePump):
                patch.setattr(pump, "limits", replace(pump.limits, receives=2))
        for _ in range(3):
            drain(world, seconds=301)
    assert in_queue(world, "IntakeDeadLetterQueue") == [{"what": "?"}, other]
    assert results(world) == {}


def test_a_notification_that_comes_again_reads_nothing_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    upload(world, "inbox/a.ndjson", ndjson(EVENTS[:3]))
    taken = list[str]()
    take = InboxIntake.take

    def keeping(self: InboxIntake, body: str, request_id: str, seconds: Seconds) -> None:
        if "TestEvent" not in body:
            taken.append(body)
        take(self, body, request_id, seconds)

    monkeypatch.setattr(InboxIntake, "take", keeping)
    drain(world)
    before = results(world)
    world.stack.engine.sqs().send_message(QueueUrl=world.stack.ref("InboxQueue"), MessageBody=taken[0])
    drain(world, hours=1)
    assert len(taken) == 2
    assert results(world) == before
    assert before["inbox/a.ndjson"]["counts"] == {Verdict.RECORDED.value: 3}
