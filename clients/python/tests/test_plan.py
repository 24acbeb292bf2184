"""The verdict table: what an answer means, what fits in a request, how long to wait."""

import json
from datetime import datetime, timezone
from typing import Any

import pytest
from clients.python.tests.support import made, numbered

from quarterhour_client import Problem, Verdict, event
from quarterhour_client.plan import (
    Answer,
    Refused,
    Retry,
    Split,
    Verdicts,
    batches,
    meaning,
    pause,
    request_body,
    seconds_of,
)

NOW = datetime(2026, 10, 23, 1, 30, tzinfo=timezone.utc)
TWO = numbered([made(1), made(2)])
PROBLEM = {"field": "data.amount", "problem": "is 'x'", "expected": "a decimal"}


def answer(status: int, content: Any = None, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, named, json.dumps(content).encode())


def items(*verdicts: str) -> dict[str, Any]:
    return {"items": [{"index": at, "verdict": verdict, "errors": [PROBLEM]} for at, verdict in enumerate(verdicts)]}


@pytest.mark.parametrize(
    ("verdict", "stored", "parked"),
    [
        ("recorded", True, False),
        ("duplicate", True, False),
        ("held", True, False),
        ("conflict", False, True),
        ("rejected", False, True),
        ("unavailable", False, False),
    ],
)
def test_each_verdict_is_stored_parked_or_sent_again(verdict: str, *, stored: bool, parked: bool) -> None:
    found = meaning(answer(207, items(verdict, "recorded")), TWO, NOW)
    assert isinstance(found, Verdicts)
    assert (found.results[0].verdict.is_stored, found.results[0].verdict.is_parked) == (stored, parked)


def test_results_have_the_identity_that_was_sent_with_receipts_and_reasons() -> None:
    content = {
        "items": [
            {"index": 0, "source": None, "id": None, "verdict": "rejected", "errors": [PROBLEM]},
            {"index": 1, "verdict": "held", "held": {"reason": "unknown_sale", "problems": [PROBLEM]}},
        ]
    }
    found = meaning(answer(207, content), TWO, NOW)
    assert isinstance(found, Verdicts)
    rejected, held = found.results
    assert (rejected.id, rejected.problems) == ("order-1:1", (Problem("data.amount", "is 'x'", "a decimal"),))
    assert (held.id, held.verdict, held.held) == ("order-2:1", Verdict.HELD, "unknown_sale")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (answer(503, items("unavailable", "unavailable"), retry_after="2"), Verdicts),
        (answer(503, {"message": "Service Unavailable"}, retry_after="7"), Retry),
        (answer(500), Retry),
        (answer(502), Retry),
        (answer(504), Retry),
        (answer(429, retry_after="3"), Retry),
        (answer(408), Retry),
        (answer(413, {"errors": [PROBLEM]}), Split),
        (answer(413, "too large"), Split),
        (answer(400, "bad"), Split),
        (answer(202, {"items": []}), Retry),
        (answer(202, items("recorded")), Retry),
        (answer(202, items("recorded", "new-verdict")), Retry),
        (answer(200, "<html>a captive portal"), Retry),
        (answer(401), Refused),
        (answer(403, {"message": "Missing Authentication Token"}), Refused),
        (answer(404), Refused),
        (answer(405), Refused),
        (answer(415), Refused),
        (answer(302), Refused),
    ],
)
def test_each_status_means_verdicts_another_try_halves_or_a_refusal(given: Answer, expected: type) -> None:
    assert type(meaning(given, TWO, NOW)) is expected


def test_a_single_event_is_rejected_by_the_problems_of_the_api_and_by_no_others() -> None:
    assert meaning(answer(400, {"errors": [PROBLEM]}), TWO[:1], NOW) == Split((Problem(*PROBLEM.values()),))
    assert isinstance(meaning(answer(400, "a proxy's page"), TWO[:1], NOW), Refused)
    assert isinstance(meaning(answer(413, "a proxy's page"), TWO[:1], NOW), Split)


ITEM = {"index": 0, "verdict": "recorded"}


@pytest.mark.parametrize(
    "content",
    [
        {},
        [],
        None,
        {"items": {}},
        {"items": [ITEM, ITEM]},
        {"items": [{**ITEM, "index": 1}]},
        {"items": [{**ITEM, "verdict": []}]},
        {"items": [{**ITEM, "verdict": "rejected", "errors": "none"}]},
        {"items": [{**ITEM, "verdict": "held", "held": 1}]},
        {"items": ["recorded"]},
    ],
)
def test_an_answer_of_another_shape_is_no_verdict(content: Any) -> None:
    assert isinstance(meaning(answer(202, content), TWO[:1], NOW), Retry)


@pytest.mark.parametrize("status", [200, 202, 207, 409, 422, 503])
def test_verdicts_count_with_any_status(status: int) -> None:
    found = meaning(answer(status, items("recorded", "recorded"), retry_after="2"), TWO, NOW)
    assert isinstance(found, Verdicts)
    assert (found.results[0].verdict, found.after) == (Verdict.RECORDED, 2)


def test_the_answers_of_another_order_are_no_verdicts() -> None:
    swapped = {"items": list(reversed(items("recorded", "rejected")["items"]))}
    assert isinstance(meaning(answer(207, swapped), TWO, NOW), Retry)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("", 0),
        ("5", 5),
        ("soon", 0),
        ("-1", 0),
        ("nan", 0),
        ("9" * 400, 999_999_999),
        ("Fri, 23 Oct 2026 01:30:09 GMT", 9),
        ("Fri, 23 Oct 2020 01:30 GMT", 0),
    ],
)
def test_retry_after_is_seconds_or_a_date(header: str, seconds: float) -> None:
    assert seconds_of(header, NOW) == seconds


def test_pauses_have_full_jitter_double_and_are_bounded_and_follow_retry_after() -> None:
    assert [pause(attempt, 0, 1) for attempt in (1, 2, 3, 8, 99)] == [0.5, 1, 2, 60, 60]
    assert pause(3, 0, 0) == 0
    assert pause(3, 7, 0.5) == 8


def test_a_batch_has_at_most_500_events_and_4_000_000_bytes() -> None:
    small = numbered([made(number) for number in range(1001)])
    assert [len(batch) for batch in batches(small)] == [500, 500, 1]
    large = numbered(
        [
            event(source="s", id=str(n), type="view.recorded", agency="p", data={"list": ["x" * 1_500_000]})
            for n in range(3)
        ]
    )
    assert [len(batch) for batch in batches(large)] == [2, 1]
    assert all(len(request_body(batch)) <= 4_000_000 for batch in batches(large))
    edge = numbered([event(source="s", id="1", type="v", agency="p", data={"list": ["x" * (4_000_000 - 150)]})])
    assert [len(batch) for batch in batches([*edge, *small[:1]])] == [1, 1]
