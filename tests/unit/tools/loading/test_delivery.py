"""A batch is sent until each of its lines has a final verdict, whatever the server does."""

import io
import json
from collections.abc import Sequence
from typing import Any

import pytest
from quarterhour_client import Result
from quarterhour_client.plan import Answer, Waiting, request_body

from quarterhour_tools.loading.delivery import Batch, Delivery, StoppedError, batches
from quarterhour_tools.loading.ndjson import Lines
from tests.support.cases import cases
from tests.support.fake_api import FAULTS, FakeApi, Time, answer, in_turn


def event(number: int, **more: Any) -> dict[str, Any]:
    return {"id": f"e{number}", **more}


def batch_of(*events: Any) -> Batch:
    (batch,) = batches(Lines(io.BytesIO(b"".join(json.dumps(one).encode() + b"\n" for one in events))))
    return batch


def deliver(api: FakeApi, batch: Batch, time: Time | None = None, give_up_after: float = 300) -> dict[int, Result]:
    time = time or Time()
    return Delivery(api.post, give_up_after, seconds=time.seconds, wait=time.wait, chance=lambda: 0.5).deliver(batch)


def verdicts(items: dict[int, Result]) -> list[str]:
    return [one.verdict.value for _, one in sorted(items.items())]


# ---------------------------------------------------------------- batches


def test_a_batch_has_at_most_500_lines_and_4_mb_and_never_a_line_that_is_not_json() -> None:
    large = json.dumps({"id": "é" * 100_000}, ensure_ascii=False).encode()
    content = b"\n".join([*[b"{}"] * 1100, b"no json", *[large] * 45])
    found = list(batches(Lines(io.BytesIO(content))))
    assert [line.number for batch in found for line in batch.lines] == list(range(1, 1147))
    assert max(len(batch.lines) for batch in found) == 500
    assert max(len(request_body(batch.events)) for batch in found) <= 4_000_000
    assert {number: one.verdict.value for batch in found for number, one in batch.rejected.items()} == {
        1101: "rejected"
    }


def test_an_event_has_its_own_identity_if_it_has_one_at_all() -> None:
    found = batch_of({"source": "shop", "id": "a"}, {"source": 1, "id": None}, [], "text")
    assert [(one.seq, one.source, one.id) for one in found.events] == [
        (1, "shop", "a"),
        (2, "", ""),
        (3, "", ""),
        (4, "", ""),
    ]


# ---------------------------------------------------------------- delivery


@cases("fault", FAULTS)
def test_one_fault_of_any_kind_changes_no_verdict_but_recorded_to_duplicate(fault: str) -> None:
    api = FakeApi(in_turn(fault))
    found = verdicts(deliver(api, batch_of(event(1), event(2), event(2, more=1), [], event(3))))
    expected = ["recorded", "recorded", "conflict", "rejected", "recorded"]
    assert [one.replace("duplicate", "recorded") for one in found] == expected
    assert set(api.recorded) == {"e1", "e2", "e3"}


def test_the_server_chooses_how_long_it_is_left_alone() -> None:
    deliver(FakeApi(in_turn("429", "429", "500")), batch_of(event(1)), time := Time())
    assert time.waits == [7.25, 7.5, 1.0]


def test_only_what_is_unavailable_is_sent_again() -> None:
    api = FakeApi(in_turn("half unavailable", "half unavailable"))
    assert verdicts(deliver(api, batch_of(*map(event, range(8))))) == ["recorded"] * 8
    assert api.requests == [8, 4, 2]


def test_lines_that_repeat_a_key_are_rejected_once_their_request_is_refused() -> None:
    api = FakeApi()
    twice = b'{"id": "e1", "id": "e2"}'
    content = b"\n".join([b'{"id": "a"}', twice, b'{"id": "b"}', twice, b'{"id": "c"}'])
    (batch,) = batches(Lines(io.BytesIO(content)))
    found = deliver(api, batch)
    assert verdicts(found) == ["recorded", "rejected", "recorded", "rejected", "recorded"]
    assert found[2].problems[0].problem == "is not JSON: the key 'id' appears twice in one object"
    assert api.requests == [3]


def test_an_event_that_the_api_does_not_take_is_found_among_others_and_rejected() -> None:
    api = FakeApi()

    def post(events: Sequence[Waiting]) -> Answer:
        if b'"e5"' in request_body(events):
            content = {"errors": [{"field": "body", "problem": "is not JSON", "expected": "JSON"}]}
            return answer(400, content, **{"content-type": "application/problem+json"})
        return api.post(events)

    time = Time()
    found = Delivery(post, 300, seconds=time.seconds, wait=time.wait).deliver(batch_of(*map(event, range(8))))
    assert verdicts(found) == [*["recorded"] * 5, "rejected", "recorded", "recorded"]
    assert found[6].problems[0].problem == "is not JSON"
    assert time.waits == []


@pytest.mark.parametrize("fault", ["401", "403", "404", "bare 413"])
def test_a_server_that_refuses_the_sender_ends_sending_at_once(fault: str) -> None:
    api, time = FakeApi(lambda: fault), Time()
    delivery = Delivery(api.post, 300, seconds=time.seconds, wait=time.wait)
    with pytest.raises(StoppedError):
        delivery.deliver(batch_of(event(1), event(2)))
    assert delivery.ended
    assert fault.removeprefix("bare ") in delivery.ended
    assert ("credentials" if fault in {"401", "403"} else "is this the address") in delivery.ended
    assert time.waits == []
    with pytest.raises(StoppedError):
        delivery.deliver(batch_of(event(1)))


@pytest.mark.parametrize("fault", ["lost request", "lost answer", "429", "500", "503", "HTML", "half an answer"])
def test_a_fault_for_ever_ends_when_it_is_time_to_give_up(fault: str) -> None:
    messages: list[str] = []
    api, time = FakeApi(lambda: fault), Time()
    delivery = Delivery(api.post, 300, messages.append, seconds=time.seconds, wait=time.wait, chance=lambda: 0.5)
    found = delivery.deliver(batch_of(event(1), event(2)))
    assert verdicts(found) == ["unavailable", "unavailable"]
    assert 300 <= time.now < 340
    assert delivery.ended == "no line got a verdict for 300 seconds: nothing more was sent"
    (message,) = messages
    assert message.startswith("POST /events ")
    assert message.endswith("; trying again, up to 300 seconds without progress")


def test_a_line_that_nothing_helps_is_left_while_others_get_through() -> None:
    time = Time()
    delivery: Delivery

    def post(events: Sequence[Waiting]) -> Answer:
        if b'"e1"' in request_body(events):
            time.now += 1
            delivery.note_progress()  # as another thread's batch would
            return answer(500, {"message": "Internal Server Error"})
        return FakeApi().post(events)

    delivery = Delivery(post, 300, seconds=time.seconds, wait=time.wait)
    assert verdicts(delivery.deliver(batch_of(event(1)))) == ["unavailable"]
    assert delivery.ended is None
    assert len(time.waits) == 9
