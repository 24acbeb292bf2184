"""API Gateway's conversions: requests to events, results to responses."""

import base64
from datetime import UTC, datetime
from typing import Any

import pytest

from quarterhour_tools.emulator.authorizer import MACHINE
from quarterhour_tools.emulator.http_api import LARGEST_ANSWER, Request, Response, event, path_parameters, response
from quarterhour_tools.emulator.template import Route

NOW = datetime(2026, 10, 23, 1, 30, tzinfo=UTC)
ACCOUNT = Route("GET", "/accounts/{agency}/{currency}")


@pytest.mark.parametrize(
    ("path", "parameters"),
    [
        ("/accounts/42/GBP", {"agency": "42", "currency": "GBP"}),
        ("/accounts/a%2Fb%20%C3%BC/GBP", {"agency": "a/b ü", "currency": "GBP"}),
        ("/accounts/42", None),
        ("/accounts//GBP", None),
        ("/accounts/42/GBP/days", None),
        ("/other/42/GBP", None),
    ],
)
def test_a_path_is_split_before_it_is_decoded(path: str, parameters: dict[str, str] | None) -> None:
    assert path_parameters(ACCOUNT, path) == parameters


def made(**request: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {"method": "GET", "path": "/accounts/a%20b/GBP", **request}
    return event(ACCOUNT, {"agency": "a b", "currency": "GBP"}, Request(**fields), MACHINE, NOW)


def test_an_event_is_of_payload_format_2() -> None:
    got = made(query="last=3&x=1&x=a%26b&empty=", headers=(("Host", "here"), ("Accept", "a"), ("accept", "b")))
    assert got["version"] == "2.0"
    assert got["routeKey"] == "GET /accounts/{agency}/{currency}"
    assert got["rawPath"] == "/accounts/a b/GBP"
    assert got["rawQueryString"] == "last=3&x=1&x=a%26b&empty="
    assert got["queryStringParameters"] == {"last": "3", "x": "1,a&b", "empty": ""}
    assert got["headers"] == {"host": "here", "accept": "a,b"}
    assert got["pathParameters"] == {"agency": "a b", "currency": "GBP"}
    assert got["requestContext"]["http"]["method"] == "GET"
    assert got["requestContext"]["authorizer"] == MACHINE
    assert got["requestContext"]["requestId"] != made()["requestContext"]["requestId"]
    assert got["requestContext"]["time"] == "23/Oct/2026:01:30:00 +0000"
    assert "body" not in got
    assert "cookies" not in got


def test_without_a_query_there_are_no_query_parameters() -> None:
    assert "queryStringParameters" not in made()


def test_cookies_are_separate_from_the_headers() -> None:
    got = made(headers=(("Cookie", "a=1; b=2"),))
    assert got["cookies"] == ["a=1", "b=2"]
    assert got["headers"] == {}


@pytest.mark.parametrize("kind", ["application/json", "application/cloudevents+json; charset=utf-8", "text/csv"])
def test_a_body_of_text_goes_as_it_is(kind: str) -> None:
    got = made(body='{"ü": 1}'.encode(), headers=(("content-type", kind),))
    assert (got["body"], got["isBase64Encoded"]) == ('{"ü": 1}', False)


@pytest.mark.parametrize(("kind", "body"), [("image/png", b"abc"), ("", b"abc"), ("application/json", b"\xff\x00")])
def test_any_other_body_goes_in_base64(kind: str, body: bytes) -> None:
    got = made(body=body, headers=(("content-type", kind),))
    assert (base64.b64decode(got["body"]), got["isBase64Encoded"]) == (body, True)


def test_an_answer_becomes_a_response() -> None:
    answer = {"statusCode": 207, "headers": {"Retry-After": 5}, "body": "ü"}
    assert response(answer) == Response(207, {"retry-after": "5"}, "ü".encode())
    assert response({"statusCode": 204}) == Response(204)
    assert response({"statusCode": 200, "body": "AP8=", "isBase64Encoded": True}).body == b"\x00\xff"


def test_an_answer_that_is_too_large_for_lambda_is_an_error() -> None:
    def answered(body: str) -> Response:
        return response({"statusCode": 200, "body": body})

    largest = "ж" * ((LARGEST_ANSWER - len(b'{"statusCode": 200, "body": ""}')) // 2)
    assert answered(largest).status == 200
    assert answered(largest + "жж").status == 500
    assert answered(largest[:-10] + '"' * 20).status == 500


def test_an_answer_without_status_is_itself_the_body() -> None:
    assert response({"a": 1}) == Response(200, {"content-type": "application/json"}, b'{"a": 1}')


@pytest.mark.parametrize(
    ("path", "parameters"),
    [
        ("/accounts", {"proxy": "accounts"}),
        ("/accounts/a%20b/GBP", {"proxy": "accounts/a b/GBP"}),
        ("/accounts/a%2Fb/GBP", {"proxy": "accounts/a/b/GBP"}),
        ("/", None),
    ],
)
def test_a_greedy_variable_takes_all_remaining_parts(path: str, parameters: dict[str, str] | None) -> None:
    assert path_parameters(Route("GET", "/{proxy+}"), path) == parameters
