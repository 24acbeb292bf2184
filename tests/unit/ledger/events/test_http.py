"""Recording over HTTP: request bodies and responses."""

import base64
import json
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.ledger.events.event import Event, Rejection, read_event
from quarterhour.ledger.events.http import BATCH, LINES, MAX_BATCH, MAX_BODY, ONE, read_request
from quarterhour.ledger.recording.outcomes import Outcome, Verdict
from quarterhour.ledger.recording.response import response_parts, status_of
from quarterhour.model.errors import (
    FieldProblem,
    MalformedError,
    NotFoundError,
    RequestError,
    TooLargeError,
    UnavailableError,
    UnsupportedMediaTypeError,
)
from quarterhour.web import http
from tests.support.cases import cases
from tests.support.events import sale

if TYPE_CHECKING:
    from quarterhour.ledger.recording.api import Receipt

SALE = read_event(sale())
DATA = json.dumps(sale()["data"]).encode()
HEADERS = {f"ce_{name}": str(value) for name, value in sale().items() if name != "data"}
RECORDED, DUPLICATE, CONFLICT, REJECTED, UNAVAILABLE, HELD = Verdict


def sent(content_type: str, body: bytes, **headers: str) -> list[Event | Rejection]:
    """Return the events of a request; a header's name has _ for -."""
    others = {name.replace("_", "-"): value for name, value in headers.items()}
    return read_request({"content-type": content_type, **others}, body).events


@cases(
    ("content_type", "body", "status"),
    [
        ("", "{}", 415),
        ("application/json", "{}", 415),
        ("text/plain", "{}", 415),
        ("application/cloudevents", "{}", 415),
        ("application/cloudevents+xml", "<event/>", 415),
        ("application/cloudevents-batch", "[]", 415),
        ("application/vnd.shop+json", "{}", 415),
        ("application/xml", "<event/>", 415),
        (f"{LINES}; charset=utf-16", "{}", 415),
        (LINES, "", 400),
        (LINES, "\n\r\n \n", 400),
        (LINES, "{}\n" * 501, 413),
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
        sent(content_type, body.encode())
    assert refused.value.status == status
    assert refused.value.detail


@pytest.mark.parametrize(
    "body", [b'{"id": "\xff"}', b"\xfe\xff\x00{\x00}", b'{"id": "\xed\xa0\x80"}', b"\xef\xbb\xbf{}"]
)
def test_a_body_that_is_not_utf_8_is_refused(body: bytes) -> None:
    with pytest.raises(MalformedError, match="the body is not JSON"):
        sent(ONE, body)


def test_the_error_of_a_refused_body_names_the_expectation() -> None:
    with pytest.raises(MalformedError, match=f"send it as {BATCH}".replace("+", r"\+")):
        sent(ONE, b"[]")
    with pytest.raises(MalformedError, match=f"send a single event as {ONE}".replace("+", r"\+")):
        sent(BATCH, b"{}")
    with pytest.raises(TooLargeError, match="holds 501 events; send at most 500"):
        sent(BATCH, json.dumps([0] * 501).encode())


@pytest.mark.parametrize(
    "parameters",
    ["", ";charset=utf-8", "; charset=UTF-8", '; charset="utf-8"', "; charset=utf-8; odata=x", "; odata=x"],
)
def test_content_types_may_have_parameters_and_any_case(parameters: str) -> None:
    one = json.dumps(sale()).encode()
    assert sent(f"Application/CloudEvents+JSON{parameters}", one) == [SALE]
    assert sent(f"{BATCH}{parameters}", b"[%s]" % one) == [SALE]
    assert sent(f"Application/X-NDJSON{parameters}", one) == [SALE]
    assert sent(f"Application/JSON{parameters}", DATA, **HEADERS) == [SALE]


def test_a_batch_may_hold_500_items() -> None:
    assert len(sent(BATCH, json.dumps([None] * MAX_BATCH).encode())) == 500


# ---------------------------------------------------------------- lines


@cases("kind", ["application/x-ndjson", "application/ndjson", "application/jsonl"])
@cases("end", [b"\n", b"\r\n", b" \n\n\t\r\n"])
@cases(("start", "last"), [(b"", b""), (b"\xef\xbb\xbf", b"\n"), (b"\r\n", b"\r\n\n")])
def test_each_line_is_an_event_and_blank_lines_are_skipped(kind: str, end: bytes, start: bytes, last: bytes) -> None:
    events = [sale(str(number)) for number in range(3)]
    body = start + end.join(json.dumps(one).encode() for one in events) + last
    assert sent(kind, body) == [read_event(one) for one in events]


def test_each_event_has_the_number_of_its_line() -> None:
    one = json.dumps(sale()).encode()
    assert read_request({"content-type": LINES}, b"\n%s\n\n \r\n{\n%s" % (one, one)).lines == (2, 5, 6)
    assert read_request({"content-type": ONE}, one).lines == ()


def test_a_character_that_unicode_calls_a_line_break_ends_no_line() -> None:
    event = sale(product="tea") | {"note": "a\u2028b\u2029c"}
    assert sent(LINES, json.dumps(event, ensure_ascii=False).encode()) == [read_event(event)]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"{", "Expecting property name enclosed in double quotes: character 2 of the line"),
        (b'{"id": "a"', "Expecting ',' delimiter: character 11 of the line"),
        (b"{} {}", "Extra data: character 4 of the line"),
        (b'{"id": 1, "id": 2}', "the key 'id' appears twice"),
        (b'{"id": "\xff"}', "byte 9 of the line is not UTF-8"),
        (b"\xef\xbb\xbf{}", "Expecting value: character 1 of the line"),
        (b"[" * 200_000, "nested too deeply"),
        (b"amount=1", "Expecting value"),
    ],
)
def test_a_line_that_is_not_json_is_rejected_alone(line: bytes, problem: str) -> None:
    one = json.dumps(sale()).encode()
    first, bad, last = sent(LINES, b"%s\n%s\n%s" % (one, line, one))
    assert (first, last) == (SALE, SALE)
    assert isinstance(bad, Rejection)
    assert (bad.source, bad.id) == (None, None)
    assert bad.problems[0].problem.startswith(f"is not JSON: {problem}")


def test_a_line_of_a_megabyte_and_a_body_of_lines_have_the_limits_of_a_batch() -> None:
    long = json.dumps(sale(extra={"note": "x" * 1_000_000})).encode()
    ((field, problem),) = (
        (one.field, one.problem)
        for event in sent(LINES, long)
        if isinstance(event, Rejection)
        for one in event.problems
    )
    assert (field, problem) == ("data.extra", "has 1000011 bytes as JSON")
    with pytest.raises(TooLargeError, match=f"has {MAX_BODY + 1} bytes; send at most {MAX_BODY}"):
        sent(LINES, b"\n" * (MAX_BODY + 1))


# ---------------------------------------------------------------- binary mode


def test_an_event_in_binary_mode_is_the_one_in_structured_mode() -> None:
    assert sent("application/json", DATA, **HEADERS) == [SALE]
    more = {**HEADERS, "ce_traceparent": "00-1", "ce_dataschema": "urn:x:y", "ce_time": "2026-10-23T01:30:00Z"}
    structured = {**sale(), "traceparent": "00-1", "dataschema": "urn:x:y", "time": "2026-10-23T01:30:00Z"}
    assert sent("application/vnd.shop+json", DATA, **more) == [read_event(structured)]


@cases(
    ("encoded", "text"),
    [
        ("Euro%20%E2%82%AC%20%F0%9F%98%80", "Euro € 😀"),
        ("%e2%82%ac", "€"),
        ("%41%42", "AB"),
        ("100%25", "100%"),
        ("%2525", "%25"),
        ("a+b", "a+b"),
        ("a b", "a b"),
        ('"a b"', "a b"),
        (r'"say \"hi\" \\"', r'say "hi" \ '.strip()),
        ('"%20%25"', " %"),
        ('a"b"', 'a"b"'),
        ('"', '"'),
        ("", ""),
    ],
)
def test_a_header_is_unquoted_then_percent_decoded_once(encoded: str, text: str) -> None:
    (event,) = sent("application/json", DATA, **HEADERS, ce_note=encoded)
    assert isinstance(event, Event)
    assert json.loads(event.attributes or "") == {"note": text}


ENCODING = "printable ASCII, with any other character and % as percent-encoded UTF-8"
BAD_HEADERS = {
    "a % alone": ("ce_note", "100%", "ce-note", "has a % without two hexadecimal digits", ENCODING),
    "half a code": ("ce_note", "a%2", "ce-note", "has a % without two hexadecimal digits", ENCODING),
    "no hexadecimal digits": ("ce_note", "%zz", "ce-note", "has a % without two hexadecimal digits", ENCODING),
    "no UTF-8": ("ce_note", "%FF", "ce-note", "is not percent-encoded UTF-8", ENCODING),
    "an overlong code": ("ce_note", "%C0%A0", "ce-note", "is not percent-encoded UTF-8", ENCODING),
    "half a surrogate pair": ("ce_note", "%ED%A0%80", "ce-note", "is not percent-encoded UTF-8", ENCODING),
    "not ASCII": ("ce_subject", "Zoë", "ce-subject", "has a character that is not percent-encoded", ENCODING),
    "a line break": ("ce_note", "a\r\nce-id: b", "ce-note", "has a character that is not percent-encoded", ENCODING),
    "the data": ("ce_data", "{}", "ce-data", "is given", "the data as the body"),
    "its content type": ("ce_datacontenttype", "text/xml", "ce-datacontenttype", "is given", "the header content-type"),
}


@cases(("name", "value", "field", "problem", "expected"), BAD_HEADERS.values(), ids=BAD_HEADERS)
def test_an_invalid_header_is_rejected_by_its_name(
    name: str, value: str, field: str, problem: str, expected: str
) -> None:
    (event,) = sent("application/json", DATA, **{**HEADERS, name: value})
    assert isinstance(event, Rejection)
    assert event.problems == (FieldProblem(field, problem, expected),)
    assert (event.source, event.id) == ("shop", "order-1")


@pytest.mark.parametrize(
    ("name", "value", "field", "problem"),
    [
        ("ce_note", "a%0D%0Ace-id:%20b", "note", "is 'a\\r\\nce-id: b'"),
        ("ce_note", "%00", "note", "is '\\x00'"),
        ("ce_trace_parent", "x", "trace-parent", "is not an attribute name"),
        ("ce_", "x", "", "is not an attribute name"),
        ("ce_specversion", "0.3", "specversion", "is '0.3'"),
        ("ce_specversion", "1.0,1.0", "specversion", "is '1.0,1.0'"),
        ("ce_id", "a#b", "id", "is 'a#b'"),
        ("ce_customer", "ann", "customer", "is a field of data"),
        ("ce_note", "x" * 8000, "attributes", "has 8011 bytes as JSON"),
    ],
)
def test_the_attributes_in_headers_have_the_rules_of_every_event(
    name: str, value: str, field: str, problem: str
) -> None:
    (event,) = sent("application/json", DATA, **{**HEADERS, name: value})
    assert isinstance(event, Rejection)
    assert [(one.field, one.problem) for one in event.problems] == [(field, problem)]


def sent_or_refused(headers: dict[str, str], body: bytes) -> list[Event | Rejection] | int:
    """Return the events of a request, or the status if it is refused."""
    try:
        return read_request(headers, body).events
    except RequestError as refused:
        return refused.status


@given(st.dictionaries(st.text(), st.text()), st.binary())
def test_any_headers_are_rejected_with_their_problems_and_any_data_that_is_not_json_is_refused(
    headers: dict[str, str], body: bytes
) -> None:
    attributes = {f"ce-{name}": value for name, value in headers.items()}
    for content in (DATA, body):
        found = sent_or_refused({"content-type": "application/json", **attributes, "ce-id": "1"}, content)
        assert found == 400 or (isinstance(found, list) and all(isinstance(one, Rejection) for one in found))
        assert content is body or found != 400


@given(st.binary())
def test_any_bytes_give_an_event_or_a_problem_for_each_filled_line(body: bytes) -> None:
    filled = [line for line in body.removeprefix(b"\xef\xbb\xbf").split(b"\n") if line.strip()]
    found = sent_or_refused({"content-type": LINES}, body)
    assert found == 400 if not filled else isinstance(found, list) and len(found) == len(filled)


def test_headers_without_the_required_attributes_are_rejected_by_field() -> None:
    (event,) = sent("application/json", DATA, ce_id="order-1")
    assert isinstance(event, Rejection)
    assert [one.field for one in event.problems] == ["specversion", "source", "type", "subject"]


def test_the_content_type_decides_the_mode_where_a_request_has_both() -> None:
    one = json.dumps(sale()).encode()
    other = {**HEADERS, "ce_id": "order-2", "ce_subject": "43", "ce_bad_name": "%"}
    assert sent(ONE, one, **other) == [SALE]
    assert sent(LINES, one, **other) == [SALE]


# ---------------------------------------------------------------- the response


@cases(
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
    receipt: Receipt = {"recorded_at": "2026-10-23T01:30:12.345Z", "partition": "202610230130#00", "position": "p"}
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


def test_the_response_to_lines_has_the_number_of_each_line() -> None:
    _, _, body = response_parts([Outcome("shop", "a", RECORDED), Outcome(None, None, REJECTED)], (2, 7))
    assert [(item["index"], item["line"]) for item in body["items"]] == [(0, 2), (1, 7)]
    _, _, body = response_parts([Outcome("shop", "a", RECORDED)])
    assert "line" not in body["items"][0]


# ---------------------------------------------------------------- HTTP API events and responses


@pytest.mark.parametrize("coding", ["gzip", "GZIP", "br", "deflate", "gzip, identity"])
def test_a_compressed_body_is_refused_unread(coding: str) -> None:
    with pytest.raises(UnsupportedMediaTypeError, match=r"the content-encoding is .*; send the body uncompressed"):
        http.body_of({"headers": {"Content-Encoding": coding}, "body": "!", "isBase64Encoded": True})


@pytest.mark.parametrize("coding", ["", "identity", " Identity "])
def test_a_body_may_say_that_it_is_not_compressed(coding: str) -> None:
    assert http.body_of({"headers": {"content-encoding": coding}, "body": "{}"}) == b"{}"


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
        sent(ONE, http.body_of({"body": '{"id": "\ud800"}'}))


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
