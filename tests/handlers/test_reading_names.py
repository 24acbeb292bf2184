"""Names in the path: whatever agencies are called, and however the path's encoding comes through."""

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from quarterhour_tools.emulator.authorizer import MACHINE
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
    " ",
    "x" * 200,
    "🎉" * 200,
]
NO_AGENCIES = ["42#GBP", "#", "x" * 201, "x" * 5000, "a\nb", "\x00", ""]
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
        world.settle()
        yield world


def asked(world: World, key: str, path: str, parameters: dict[str, str], stage: str = "$default") -> Any:
    """Invoke the function as API Gateway does, and return the status and what it answers."""
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
    answer = world.stack.invoke("api", {**event, **({"pathParameters": parameters} if parameters else {})})
    return answer["statusCode"], json.loads(answer["body"])


@pytest.mark.parametrize("agency", AGENCIES)
def test_any_agency_is_found_encoded_or_not(world: World, agency: str) -> None:
    encoded = quote(agency, safe="")
    decoded_by_the_gateway = asked(
        world, ROUTE, f"/accounts/{agency}/GBP".partition("?")[0], {"agency": agency, "currency": "GBP"}
    )
    as_it_was_sent = asked(world, ROUTE, f"/accounts/{encoded}/GBP", {"agency": encoded, "currency": "GBP"})
    of_a_server_without_routes = asked(world, "$default", f"/accounts/{encoded}/GBP", {})
    for status, answer in (decoded_by_the_gateway, as_it_was_sent, of_a_server_without_routes):
        assert (status, answer["agency"], answer["gross"]) == (200, agency, "3.00")


@pytest.mark.parametrize("agency", AGENCIES)
def test_an_agencys_pages_follow_each_other(world: World, agency: str) -> None:
    quarter_hours = world.all(account(agency, part="quarter-hours"), from_="2026-10-23", to="2026-10-24", limit=1)
    assert [one["gross"] for one in quarter_hours] == ["1.00", "2.00"]


@pytest.mark.parametrize("agency", NO_AGENCIES)
def test_what_can_be_no_agency_is_no_account_and_no_error(world: World, agency: str) -> None:
    status, answer = asked(world, ROUTE, "/accounts", {"agency": agency, "currency": "GBP"})
    assert (status, answer["title"]) == (404, "Not found")
    status, answer = asked(world, ROUTE, "/accounts", {"agency": "c/d", "currency": agency})
    assert (status, answer["title"]) == (404, "Not found")


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/accounts/%ff/GBP",
            "/accounts/a%25ff/GBP",
            "/accounts/42/%25ed%25a0%2580",
            "/orders/a%25ff",
            "/reports/a%ff",
        ),
        *(
            "/customers/a%ff/orders",
            "/documents/bad%25fe",
            "/threads/orders/a%25ff/messages",
            "/events/shop/%ff/explain",
        ),
    ],
)
def test_a_path_that_is_no_utf_8_is_refused(world: World, path: str) -> None:
    """Decoded loosely, two names would become one, and a request could reach the wrong one."""
    answer = world.get(path)
    assert (answer.status, answer.json()["title"]) == (400, "Invalid parameter")


@pytest.mark.parametrize("agency", ["\ud800", "a\ufffd"])
def test_a_name_that_was_decoded_with_a_loss_is_refused(world: World, agency: str) -> None:
    status, answer = asked(world, ROUTE, "/accounts", {"agency": agency, "currency": "GBP"})
    assert (status, answer["title"]) == (400, "Invalid parameter")


def test_a_name_that_is_encoded_twice_is_taken_for_no_other(world: World) -> None:
    assert world.read(account(quote("c%2Fd", safe="")))["gross"] == "8.00"
    assert world.read(account(quote("c/d", safe="")))["gross"] == "4.00"
    assert world.read(account("c/d"))["gross"] == "4.00"


def test_a_slash_comes_through_the_gateway_when_it_is_encoded_twice(world: World) -> None:
    status, answer = asked(world, ROUTE, "/accounts/a%2Fb%252F/GBP", {"agency": "a%2Fb%252F", "currency": "GBP"})
    assert (status, answer["agency"]) == (200, "a/b%2F")


def test_a_stage_in_the_path_is_no_part_of_it(world: World) -> None:
    parameters = {"agency": "ünï", "currency": "GBP"}
    status, answer = asked(world, ROUTE, "/live/accounts/ünï/GBP", parameters, stage="live")
    assert (status, answer["agency"]) == (200, "ünï")
    status, answer = asked(world, "GET /reports", "/live/reports", {}, stage="live")
    assert (status, answer) == (200, {"items": [], "next": None})


@pytest.mark.parametrize(
    "path", ["/", "/account", "/accounts/ünï", "/accounts/ünï/GBP/weeks", "/reports/a/b", "/%", ""]
)
def test_a_route_that_is_not_there_is_told(world: World, path: str) -> None:
    status, answer = asked(world, "$default", path, {})
    assert (status, answer["title"], answer["detail"][:21]) == (404, "Not found", "there is no route GET")


def test_nothing_can_be_written_here(world: World) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        status, answer = asked(world, f"{method} /reports", "/reports", {})
        assert (status, answer["detail"]) == (404, f"there is no route {method} '/reports'")


def test_no_other_item_of_the_table_is_read_as_an_account(world: World) -> None:
    for agency, currency in (("CONTROL", "shards"), ("..", "latest"), ("RUN", "x"), ("GBP", "latest")):
        assert asked(world, ROUTE, "/accounts", {"agency": agency, "currency": currency})[0] == 404
