"""Appending segments and voids, and looking them up: retries, failed conditions and lost responses."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from quarterhour.aws.retries import ATTEMPTS
from quarterhour.aws.workers import Workers
from quarterhour.ledger.postings.segments import segment_item, void_item
from quarterhour.ledger.recording.plan import (
    Found,
    NewSegment,
    PlannedSegment,
    RecordingRequest,
    new_segment,
    plan_segments,
)
from quarterhour.ledger.recording.segment_store import SegmentStore
from quarterhour.ledger.recording.settings import Phase
from quarterhour.model import clock
from quarterhour.model.clock import ManualClock
from quarterhour.model.quarter_hours import QuarterHour
from tests.support.builders import (
    AT,
    QUARTER_HOUR,
    claim,
    event,
    settings,
    utc,
)
from tests.support.clocks import Waits
from tests.support.script import Scripted, service_error

TIMEOUT = ReadTimeoutError(endpoint_url="table")
THROTTLED = service_error("ProvisionedThroughputExceededException")
TAKEN: dict[str, Any] = {}


def new_store(client: Scripted) -> SegmentStore:
    """Return the store of a process that has appended nothing yet."""
    stub: Any = client
    return SegmentStore(stub, "Ledger", "Entity", Workers(1))


def store(client: Scripted) -> SegmentStore:
    """Return the store of a process that has appended to the quarter-hours of the tests before."""
    made, earlier = new_store(client), [segment("x"), segment("x", at=utc("01:46:30"))]
    answers, client.answers = client.answers, [TAKEN]
    made.append(earlier, always)
    client.answers, client.calls = answers, []
    return made


def planned(*ids: str, at: datetime = AT) -> PlannedSegment:
    """Return a segment of some sales."""
    sold = [event(id_) for id_ in ids]
    (made,) = plan_segments([(claim(one, at), one) for one in sold], RecordingRequest("r", at, settings()), at)
    return made


def segment(*ids: str, at: datetime = AT) -> NewSegment:
    return whole(planned(*ids, at=at))


def whole(made: PlannedSegment, *indexes: int) -> NewSegment:
    """Return a segment with the claims at some indexes, by default all."""
    claims = [made.claims[index] for index in indexes] or made.claims
    return new_segment(made, [(one, event(one.identity.id)) for one in claims])


def stored(of: NewSegment) -> dict[str, Any]:
    return segment_item(of.key, len(of.claims), of.events)


def taken(by: dict[str, Any]) -> ClientError:
    """Return the error of a put whose key has an item."""
    return service_error("ConditionalCheckFailedException", Item=by)


def always(_: QuarterHour) -> bool:
    return True


def open_now(hands: ManualClock) -> Callable[[QuarterHour], bool]:
    return lambda quarter_hour: settings().phase(quarter_hour, hands.now()) is Phase.OPEN


pytestmark = pytest.mark.usefixtures("hands")


# ---------------------------------------------------------------- marks


MARK = "put_item", {"TableName": "Entity", "Item": {"pk": {"S": "CONTROL"}, "sk": {"S": "recorded#202610230130"}}}


def test_a_quarter_hour_is_marked_before_a_process_first_appends_to_it_and_only_then() -> None:
    client = Scripted(TAKEN)
    made = new_store(client)
    made.append([segment("a"), segment("b")], always)
    assert [(operation, request["TableName"]) for operation, request in client.calls] == [
        ("put_item", "Entity"),
        ("put_item", "Ledger"),
        ("put_item", "Ledger"),
    ]
    assert client.calls[0] == MARK
    client.calls.clear()
    made.append([segment("c"), segment("d", at=utc("01:46:30"))], always)
    assert [request["Item"].get("sk", {}).get("S") for _, request in client.calls] == [
        "recorded#202610230145",
        None,
        None,
    ]


@pytest.mark.parametrize("error", [THROTTLED, TIMEOUT])
def test_nothing_is_appended_to_a_quarter_hour_that_cannot_be_marked(error: Exception) -> None:
    client = Scripted(error)
    made = new_store(client)
    assert made.append([segment("a")], always) == set()
    assert client.calls == [MARK] * ATTEMPTS
    client.answers, client.calls = [error, TAKEN], []
    assert made.append([segment("a")], always) == set(segment("a").claims)
    assert client.calls[:2] == [MARK] * 2
    assert len(client.calls) == 3


def test_a_mark_that_can_never_succeed_raises_an_error() -> None:
    with pytest.raises(ClientError, match="AccessDenied"):
        new_store(Scripted(service_error("AccessDeniedException"))).append([segment("a")], always)


def test_a_closing_quarter_hour_is_not_marked(hands: ManualClock) -> None:
    client = Scripted(TAKEN)
    hands.advance_to(utc("01:46:25"))
    assert new_store(client).append([segment("a")], open_now(hands)) == set()
    assert client.calls == []


# ---------------------------------------------------------------- appends


def test_a_segment_is_put_once_on_the_condition_that_its_key_has_no_item() -> None:
    client = Scripted(TAKEN)
    made = segment("a", "b")
    assert store(client).append([made], always) == set(made.claims)
    ((operation, request),) = client.calls
    assert operation == "put_item"
    assert request == {
        "TableName": "Ledger",
        "Item": stored(made),
        "ConditionExpression": "attribute_not_exists(quarter_hour)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


@pytest.mark.parametrize("error", [THROTTLED, TIMEOUT, service_error("InternalServerError", 500)])
def test_an_append_that_failed_temporarily_is_sent_again(error: Exception) -> None:
    client = Scripted(error, TAKEN)
    made = segment("a", "b")
    assert store(client).append([made], always) == set(made.claims)
    assert len(client.calls) == 2


def test_an_append_whose_response_was_lost_is_found_by_its_repetition() -> None:
    made = segment("a", "b")
    assert store(Scripted(TIMEOUT, taken(stored(made)))).append([made], always) == set(made.claims)


def test_an_append_behind_a_void_appends_nothing() -> None:
    made = segment("a", "b")
    assert store(Scripted(taken(void_item(made.key)))).append([made], always) == set()


def test_of_a_segment_that_is_there_with_other_postings_only_its_own_count() -> None:
    made = planned("a", "b", "c")
    every, others = whole(made), whole(made, 0, 2)
    found = store(Scripted(taken(stored(others)))).append([every], always)
    assert {every.claims[key].identity.id for key in found} == {"a", "c"}


def test_a_segment_that_cannot_be_read_is_not_called_recorded() -> None:
    made = segment("a")
    broken = {**stored(made), "count": {"N": "2"}}
    assert store(Scripted(taken(broken))).append([made], always) == set()


def test_an_append_waits_longer_after_each_attempt_and_not_when_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("random.SystemRandom.uniform", lambda _generator, _least, most: most)
    throttled: list[Any] = [THROTTLED, TIMEOUT, service_error("InternalServerError", 500)]
    for failed in range(len(throttled) + 1):
        waits = Waits()
        with clock.using(waits):
            store(Scripted(*throttled[:failed], TAKEN)).append([segment("a")], always)
        assert len(waits.waited) == failed
        assert waits.waited == sorted(set(waits.waited))
        assert all(waited > 0 for waited in waits.waited)


def test_an_append_is_given_up_after_some_attempts() -> None:
    client = Scripted(THROTTLED)
    assert store(client).append([segment("a")], always) == set()
    assert len(client.calls) == ATTEMPTS


def test_an_append_that_can_never_succeed_raises_an_error() -> None:
    with pytest.raises(ClientError, match="AccessDenied"):
        store(Scripted(service_error("AccessDeniedException"))).append([segment("a")], always)


def test_no_append_and_no_void_is_sent_to_a_closing_quarter_hour(hands: ManualClock) -> None:
    client = Scripted(TAKEN)
    hands.advance_to(utc("01:46:25"))
    absent = list(planned("a").claims)
    assert store(client).append([segment("a")], open_now(hands)) == set()
    assert store(client).fence(absent, open_now(hands)) == Found([], [], absent)
    assert client.calls == []


def test_no_append_is_sent_again_after_its_quarter_hour_is_closing(hands: ManualClock) -> None:
    def throttle_until_the_quarter_hour_closes(_: dict[str, Any]) -> dict[str, Any]:
        hands.advance_to(utc("01:46:25"))
        raise THROTTLED

    client = Scripted(throttle_until_the_quarter_hour_closes, TAKEN)
    assert store(client).append([segment("a")], open_now(hands)) == set()
    assert len(client.calls) == 1


def test_segments_of_an_open_quarter_hour_are_appended_though_others_are_of_a_closing_one(hands: ManualClock) -> None:
    hands.advance_to(utc("01:46:30"))
    late = segment("new", at=hands.now())
    client = Scripted(TAKEN)
    assert store(client).append([segment("a"), late], open_now(hands)) == set(late.claims)
    assert len(client.calls) == 1


# ---------------------------------------------------------------- looking up


def test_claims_of_one_segment_are_looked_up_with_one_key() -> None:
    made = planned("a", "b", "c")
    item = stored(whole(made))
    client = Scripted({"Responses": {"Ledger": [item]}})
    assert store(client).look_up(made.claims) == Found(list(made.claims), [], [])
    ((_, request),) = client.calls
    assert len(request["RequestItems"]["Ledger"]["Keys"]) == 1
    assert request["RequestItems"]["Ledger"]["ConsistentRead"] is True


def test_a_void_passes_over_each_claim_of_its_segment() -> None:
    made = planned("a", "b")
    found = store(Scripted({"Responses": {"Ledger": [void_item(made.key)]}})).look_up(made.claims)
    assert found == Found([], list(made.claims), [])


def test_claims_of_a_segment_that_cannot_be_read_wait() -> None:
    made = planned("a")
    broken = {**stored(whole(made)), "count": {"N": "2"}}
    assert store(Scripted({"Responses": {"Ledger": [broken]}})).look_up(made.claims) == Found([], [], [])


def test_a_void_is_put_once_for_all_claims_of_a_segment() -> None:
    made = planned("a", "b")
    client = Scripted(TAKEN)
    assert store(client).fence(made.claims, always) == Found([], list(made.claims), [])
    assert [request["Item"] for _, request in client.calls] == [void_item(made.key)]


@pytest.mark.parametrize("first_try", [TIMEOUT, service_error("InternalServerError", 500)])
def test_a_void_whose_response_was_lost_is_found_by_its_repetition(first_try: Exception) -> None:
    made = planned("a")
    client = Scripted(first_try, taken(void_item(made.key)))
    assert store(client).fence(made.claims, always) == Found([], list(made.claims), [])


def test_a_void_that_comes_too_late_finds_the_segment() -> None:
    made = planned("a", "b")
    item = stored(whole(made))
    assert store(Scripted(taken(item))).fence(made.claims, always) == Found(list(made.claims), [], [])


def test_claims_stay_absent_whose_void_cannot_be_put() -> None:
    made = planned("a")
    assert store(Scripted(THROTTLED)).fence(made.claims, always) == Found([], [], list(made.claims))


@pytest.mark.parametrize("error", [service_error("ConditionalCheckFailedException"), None])
def test_the_control_items_are_written_once_by_the_first_process(error: Exception | None) -> None:
    client = Scripted(error or {})
    store(client).prepare(3, QUARTER_HOUR.previous)
    assert [operation for operation, _ in client.calls] == ["update_item", "put_item"]
