"""Recording over HTTP: request bodies and responses."""

import base64
import json
from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.ledger.http import BATCH, MAX_BATCH, ONE, read_items, response_parts, status_of
from quarterhour.ledger.plan import Outcome, Verdict
from quarterhour.model.errors import (
    FieldProblem,
    MalformedError,
    NotFoundError,
    RequestError,
    TooLargeError,
    UnavailableError,
)
from quarterhour.web import http

RECORDED, DUPLICATE, CONFLICT, REJECTED, UNAVAILABLE, HELD = Verdict


@pytest.mark.parametrize(
    ("content_type", "body", "status"),
    [
        ("", "{}", 415),
        ("application/json", "{}", 415),
        ("text/plain", "{}", 415),
        ("application/cloudevents", "{}", 415),
        ("application/cloudevents+xml", "<event/>", 415),
        (f"{ONE}; charset=latin-1", "{}", 415),
        (f"{ONE}; charset=utf-16", "{}", 415),
        (ONE, "", 400),
        (ONE, "no JSON", 400),
        (ONE, "{", 400),
        (ONE, '{"id": 1, "id": 2}', 400),
        (ONE, "[" * 200_000, 400),
        (ONE, "[]", 400),
        (ONE, "[{}]", 400),
        (BATCH, "", 400),
        (BATCH, "{}", 400),
        (BATCH, "null", 400),
        (BATCH, '"[]"', 400),
        (BATCH, "[]", 400),
        (BATCH, f"[{','.join(['{}'] * 501)}]", 413),
    ],
)
def test_an_invalid_body_is_refused(content_type: str, body: str, status: int) -> None:
    with pytest.raises(RequestError) as refused:
        read_items(content_type, body.encode())
    assert refused.value.status == status
    assert refused.value.detail


@pytest.mark.parametrize(
    "body", [b'{"id": "\xff"}', b"\xfe\xff\x00{\x00}", b'{"id": "\xed\xa0\x80"}', b"\xef\xbb\xbf{}"]
)
def test_a_body_that_is_not_utf_8_is_refused(body: bytes) -> None:
    with pytest.raises(MalformedError, match="the body is not JSON"):
        read_items(ONE, body)


def test_the_error_of_a_refused_body_names_the_expectation() -> None:
    with pytest.raises(MalformedError, match=f"send it as {BATCH}".replace("+", r"\+")):
        read_items(ONE, b"[]")
    with pytest.raises(MalformedError, match=f"send a single event as {ONE}".replace("+", r"\+")):
        read_items(BATCH, b"{}")
    with pytest.raises(TooLargeError, match="holds 501 events; send at most 500"):
        read_items(BATCH, json.dumps([0] * 501).encode())


@pytest.mark.parametrize(
    "parameters",
    ["", ";charset=utf-8", "; charset=UTF-8", '; charset="utf-8"', "; charset=utf-8; odata=x", "; odata=x"],
)
def test_content_types_may_have_parameters_and_any_case(parameters: str) -> None:
    assert read_items(f"Application/CloudEvents+JSON{parameters}", b'{"id": "a"}') == [{"id": "a"}]
    assert read_items(f"{BATCH}{parameters}", b'[{"id": "a"}, 5]') == [{"id": "a"}, 5]


def test_a_batch_may_hold_500_items() -> None:
    assert len(read_items(BATCH, json.dumps([None] * MAX_BATCH).encode())) == 500


# ---------------------------------------------------------------- the response


@pytest.mark.parametrize(
    ("verdicts", "status"),
    [
        ({RECORDED}, 202),
        ({DUPLICATE}, 202),
        ({RECORDED, DUPLICATE}, 202),
        ({HELD}, 202),
        ({RECORDED, HELD}, 202),
        ({HELD, REJECTED}, 207),
        ({CONFLICT}, 409),
        ({REJECTED}, 422),
        ({REJECTED, CONFLICT}, 422),
        ({UNAVAILABLE}, 503),
        ({UNAVAILABLE, REJECTED}, 207),
        ({UNAVAILABLE, CONFLICT}, 207),
    ],
)
def test_the_status_summarizes_the_verdicts_of_all_items(verdicts: set[Verdict], status: int) -> None:
    assert status_of(verdicts) == status


def test_recorded_and_unrecorded_items_together_give_status_207() -> None:
    bad = {CONFLICT, REJECTED, UNAVAILABLE}
    for size in range(1, 4):
        for others in combinations(bad, size):
            assert status_of({RECORDED, *others}) == 207
            assert status_of({DUPLICATE, *others}) == 207


@given(st.lists(st.sampled_from(Verdict), min_size=1))
def test_a_response_counts_each_verdict_and_keeps_the_order_of_the_items(verdicts: list[Verdict]) -> None:
    _, headers, body = response_parts([Outcome("shop", str(i), verdict) for i, verdict in enumerate(verdicts)])
    assert [item["verdict"] for item in body["items"]] == [verdict.value for verdict in verdicts]
    assert [(item["index"], item["id"]) for item in body["items"]] == [(i, str(i)) for i in range(len(verdicts))]
    assert body["counts"] == {one.value: verdicts.count(one) for one in Verdict if one in verdicts}
    assert ("retry-after" in headers) == (UNAVAILABLE in verdicts)


def test_a_response_has_the_receipt_or_the_problems_of_each_item() -> None:
    receipt = {"recorded_at": "2026-10-23T01:30:12.345Z", "partition": "202610230130#00", "position": "p"}
    _, _, body = response_parts(
        [
            Outcome("shop", "a", RECORDED, receipt),
            Outcome(None, None, REJECTED, problems=(FieldProblem("id", "is missing", "an id"),)),
        ]
    )
    assert body["items"] == [
        {"index": 0, "source": "shop", "id": "a", "verdict": "recorded", "receipt": receipt},
        {
            "index": 1,
            "source": None,
            "id": None,
            "verdict": "rejected",
            "errors": [{"field": "id", "problem": "is missing", "expected": "an id"}],
        },
    ]


# ---------------------------------------------------------------- HTTP API events and responses


@given(st.text(st.characters(codec="utf-8")), st.booleans())
def test_a_body_comes_through_as_text_or_as_base64(text: str, encoded: bool) -> None:  # noqa: FBT001 - drawn by Hypothesis
    body = base64.b64encode(text.encode()).decode() if encoded else text
    assert http.body_of({"body": body, "isBase64Encoded": encoded}) == text.encode()


@pytest.mark.parametrize("body", ["=", "abc", "a b=", "é", "e30=\n"])
def test_a_body_that_is_invalid_base64_is_malformed(body: str) -> None:
    with pytest.raises(MalformedError, match="not Base64"):
        http.body_of({"body": body, "isBase64Encoded": True})


def test_a_body_with_half_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(MalformedError):
        read_items(ONE, http.body_of({"body": '{"id": "\ud800"}'}))


@pytest.mark.parametrize("event", [{}, {"body": None}, {"body": ""}, {"headers": None}])
def test_a_request_without_body_or_headers_has_an_empty_one(event: dict[str, Any]) -> None:
    assert http.body_of(event) == b""
    assert http.header(event, "content-type") == ""


def test_an_error_becomes_a_response_with_problem_details() -> None:
    response = http.problem(
        NotFoundError("no account 42", FieldProblem("agency", "is '42'", "an agency that sold")), "r-1"
    )
    assert response["statusCode"] == 404
    assert response["headers"]["content-type"] == "application/problem+json"
    assert json.loads(response["body"]) == {
        "title": "Not found",
        "status": 404,
        "detail": "no account 42",
        "request_id": "r-1",
        "errors": [{"field": "agency", "problem": "is '42'", "expected": "an agency that sold"}],
    }


def test_only_temporary_errors_have_a_retry_after_header() -> None:
    assert http.problem(UnavailableError("throttled"), "r-1")["headers"]["retry-after"] == "5"
    assert "retry-after" not in http.problem(NotFoundError("gone"), "r-1")["headers"]


@pytest.mark.parametrize("name", ["content-type", "Content-Type", "CONTENT-TYPE"])
def test_a_header_is_found_in_any_case(name: str) -> None:
    assert http.header({"headers": {"accept": "x", name: ONE}}, "content-type") == ONE
    assert http.header({"headers": {name: ONE}}, "accept") == ""
    assert http.header({}, "accept") == ""
