"""Names in the path: any names of agencies, in any encoding of the path."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from quarterhour_tools.emulator.authorizer import MACHINE
from tests.support.cases import cases
from tests.support.requests import account
from tests.support.system import World, opened

AGENCIES = [
    "United Kingdom",
    "a/b%2F",
    "ünï",
    "100%",
    "%",
    "a+b&c=d;e",
    "a?b",
    '"quoted" \\ `back`',
    "“Süd” ™ 🎉",
    "..",
    "a//b/",
    "{agency}",
    "<agency>",
    "x" * 200,
    "🎉" * 200,
]
NO_AGENCIES = [" ", "42 ", " 42", "42#GBP", "#", "x" * 201, "x" * 5000, "a\nb", "\x00", ""]
ROUTE = "GET /accounts/{agency}/{currency}"


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """The system with two quarter-hours of each agency, and two agencies that differ by an encoding."""
    with opened() as world:
        for amount in ("1.00", "2.00"):
            for agency in AGENCIES:
                world.sell(amount, agency)
            world.pass_time(minutes=15)
        world.sell("4.00", "c/d")
        world.sell("8.00", "c%2Fd")
        world.drain()
        yield world


def invoked(world: World, key: str, path: str, parameters: dict[str, str], stage: str = "$default") -> Any:
    """Invoke the function as API Gateway does, and return the status and the body of the response."""
    method = key.partition(" ")[0] if " " in key else "GET"
    context = {"http": {"method": method, "path": path}, "stage": stage, "routeKey": key}
    event = {
        "version": "2.0",
        "routeKey": key,
        "rawPath": path,
        "rawQueryString": "",
        "headers": {},
        "requestContext": {"requestId": "r", "authorizer": MACHINE, **context},
        "isBase64Encoded": False,
    }
    response = world.stack.invoke("read", {**event, **({"pathParameters": parameters} if parameters else {})})
    return response["statusCode"], json.loads(response["body"])


@cases("agency", AGENCIES)
def test_any_agency_is_found_whether_its_name_is_encoded_once_or_twice(world: World, agency: str) -> None:
    encoded = quote(agency, safe="")
    decoded_by_the_gateway = invoked(
        world, ROUTE, f"/accounts/{agency}/GBP".partition("?")[0], {"agency": agency, "currency": "GBP"}
    )
    as_it_was_sent = invoked(world, ROUTE, f"/accounts/{encoded}/GBP", {"agency": encoded, "currency": "GBP"})
    of_a_server_without_routes = invoked(world, "$default", f"/accounts/{encoded}/GBP", {})
    for status, response in (decoded_by_the_gateway, as_it_was_sent, of_a_server_without_routes):
        assert (status, response["agency"], response["gross"]) == (200, agency, "3.00")


@cases("agency", AGENCIES)
def test_an_agencys_pages_follow_each_other(world: World, agency: str) -> None:
    quarter_hours = world.all(
        account(quote(agency, safe=""), part="quarter-hours"), from_="2026-10-23", to="2026-10-24", limit=1
    )
    assert [one["gross"] for one in quarter_hours] == ["1.00", "2.00"]


@cases("agency", NO_AGENCIES)
def test_an_account_of_an_invalid_agency_is_not_found(world: World, agency: str) -> None:
    status, response = invoked(world, ROUTE, "/accounts", {"agency": agency, "currency": "GBP"})
    assert (status, response["title"]) == (404, "Not found")
    status, response = invoked(world, ROUTE, "/accounts", {"agency": "c/d", "currency": agency})
    assert (status, response["title"]) == (404, "Not found")


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/accounts/%ff/GBP",
            "/accounts/42/%ed%a0%80",
            "/orders/a%ff",
            "/reports/a%ff",
        ),
        *(
            "/customers/a%ff/orders",
            "/documents/bad%25fe",
            "/threads/orders/a%ff/messages",
            "/events/shop/%ff/explain",
        ),
    ],
)
def test_a_path_that_is_not_utf_8_is_refused(world: World, path: str) -> None:
    """A lenient decoder would make one name of two, and a request could reach the wrong one."""
    response = world.get(path)
    assert (response.status, response.json()["title"]) == (400, "Invalid parameter")


def test_a_name_that_was_encoded_once_is_found_although_its_percent_sign_is_followed_by_digits(world: World) -> None:
    world.sell("3.00", "30%faster")
    world.drain()
    assert world.read("/accounts/30%25faster/GBP")["gross"] == "3.00"
    assert world.read("/accounts/30%2525faster/GBP")["gross"] == "3.00"


@pytest.mark.parametrize("agency", ["\ud800", "a\ufffd"])
def test_a_name_that_was_decoded_lossily_is_refused(world: World, agency: str) -> None:
    status, response = invoked(world, ROUTE, "/accounts", {"agency": agency, "currency": "GBP"})
    assert (status, response["title"]) == (400, "Invalid parameter")


def test_a_name_that_is_encoded_twice_is_not_confused_with_another(world: World) -> None:
    assert world.read(account(quote("c%2Fd", safe="")))["gross"] == "8.00"
    assert world.read(account(quote("c/d", safe="")))["gross"] == "4.00"
    assert world.get(account("c/d")).status == 404, "the gateway takes the slash for the end of the name"


def test_a_slash_that_is_encoded_twice_passes_the_gateway(world: World) -> None:
    status, response = invoked(world, ROUTE, "/accounts/a%2Fb%252F/GBP", {"agency": "a%2Fb%252F", "currency": "GBP"})
    assert (status, response["agency"]) == (200, "a/b%2F")


def test_a_stage_before_the_path_is_ignored(world: World) -> None:
    parameters = {"agency": "ünï", "currency": "GBP"}
    status, response = invoked(world, ROUTE, "/live/accounts/ünï/GBP", parameters, stage="live")
    assert (status, response["agency"]) == (200, "ünï")
    status, response = invoked(world, "GET /reports", "/live/reports", {}, stage="live")
    assert (status, response) == (200, {"items": [], "next": None})


@pytest.mark.parametrize(
    "path", ["/", "/account", "/accounts/ünï", "/accounts/ünï/GBP/weeks", "/reports/a/b", "/%", ""]
)
def test_an_unknown_route_is_not_found(world: World, path: str) -> None:
    status, response = invoked(world, "$default", path, {})
    assert (status, response["title"], response["detail"][:21]) == (404, "Not found", "there is no route GET")


def test_the_reading_function_has_no_writing_routes(world: World) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        status, response = invoked(world, f"{method} /reports", "/reports", {})
        assert (status, response["detail"]) == (404, f"there is no route {method} '/reports'")


def test_no_other_item_of_the_table_is_read_as_an_account(world: World) -> None:
    for agency, currency in (("CONTROL", "shards"), ("..", "latest"), ("RUN", "x"), ("GBP", "latest")):
        assert invoked(world, ROUTE, "/accounts", {"agency": agency, "currency": currency})[0] == 404
