"""All reading requests: their parameters, their tokens, and the refusal of bad ones."""

import base64
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest

from quarterhour.aws.retries import with_retries
from quarterhour.model.errors import UnavailableError
from quarterhour.web.paging import request_name, write_token
from quarterhour_tools.emulator.authorizer import MACHINE
from tests.support.cases import cases
from tests.support.requests import account
from tests.support.system import World, opened

DAY = {"from_": "2026-10-23", "to": "2026-10-24"}
PAGED: dict[str, dict[str, Any]] = {
    account(part="quarter-hours"): DAY,
    account(part="days"): {"from_": "2026-10-01", "to": "2026-11-01"},
    account(part="snapshots"): {"layer": "1h", "from_": "2026-10-23", "to": "2026-10-26"},
    "/windows/1h/2026-10-23T01:00:00Z": {},
    "/reports": {},
    "/events": DAY,
}
SPANS = [account(part="quarter-hours"), account(part="days"), "/events"]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """A system with three entries of each paged listing."""
    with opened() as world:
        for number in range(3):
            world.sell("1.00")
            world.sell("1.00", agency=f"agency {number}")
            world.pass_time(minutes=15)
        world.pass_time(minutes=15)
        world.report()
        for _ in range(3):
            world.pass_time(days=1)
            world.sell("1.00")
            world.drain()
            world.report()
        yield world


@cases("path", PAGED)
@cases("limit", [1, 2, 3])
def test_the_pages_together_hold_what_one_large_page_holds(world: World, path: str, limit: int) -> None:
    whole = world.read(path, **PAGED[path], limit=1000)
    assert whole["next"] is None
    assert len(whole["items"]) >= 3
    assert world.all(path, **PAGED[path], limit=limit) == whole["items"]
    assert world.all(path, **PAGED[path]) == whole["items"]


@pytest.mark.parametrize("path", PAGED)
def test_the_last_page_is_the_last_though_it_is_full(world: World, path: str) -> None:
    whole = world.read(path, **PAGED[path], limit=1000)["items"]
    pages = list(world.pages(path, **PAGED[path], limit=len(whole)))
    assert [item for page in pages for item in page["items"]] == whole
    if path != "/events":
        assert len(pages) == 1


@cases("path", PAGED)
@cases("limit", ["0", "1001", "-1", "1.5", "", "ten", "1e2", "٣", "1,1", "99999999999999999999"])
def test_a_limit_out_of_range_is_refused(world: World, path: str, limit: str) -> None:
    problem = world.refused(path, **PAGED[path], limit=limit)
    assert (problem["field"], problem["expected"]) == ("limit", "a whole number from 1 to 1000")


@pytest.mark.parametrize("path", PAGED)
def test_an_unknown_parameter_is_refused(world: World, path: str) -> None:
    problem = world.refused(path, **PAGED[path], offset=3)
    assert (problem["field"], problem["problem"]) == ("offset", "is not known here")
    assert "limit" in problem["expected"]


@cases("path", SPANS)
@cases(
    ("parameters", "field", "problem"),
    [
        ({"to": "2026-10-24"}, "from", "is missing"),
        ({"from_": "2026-10-23"}, "to", "is missing"),
        ({"from_": "2026-10-24", "to": "2026-10-23"}, "from", "is after to"),
        ({"from_": "", "to": "2026-10-23"}, "from", "is ''"),
        ({"from_": "today", "to": "2026-10-23"}, "from", "is 'today'"),
        ({"from_": "20261023", "to": "2026-10-24"}, "from", "is '20261023'"),
        ({"from_": "2026-W43-5", "to": "2026-10-24"}, "from", "is '2026-W43-5'"),
        ({"from_": "2026-10-23", "to": "2026-02-30"}, "to", "is '2026-02-30'"),
        ({"from_": "2026-10-23", "to": "2026-10-23T01:30:00"}, "to", "is '2026-10-23T01:30:00'"),
        ({"from_": "2026-10-23", "to": "2026-10-23T01:30:00 02:00"}, "to", "is '2026-10-23T01:30:00 02:00'"),
        ({"from_": "0001-01-01", "to": "2026-10-23"}, "from", "is '0001-01-01'"),
        ({"from_": "2026-10-23", "to": "9999-12-31"}, "to", "is '9999-12-31'"),
        ({"from_": "2026-10-23", "to": "٢٠٢٦-10-23"}, "to", "is '\\u0662\\u0660\\u0662\\u0666-10-23'"),
    ],
)
def test_an_invalid_span_is_refused_by_its_field(
    world: World, path: str, parameters: dict[str, Any], field: str, problem: str
) -> None:
    refusal = world.refused(path, **parameters)
    assert (refusal["field"], refusal["problem"]) == (field, problem)


@cases("path", [account(part="quarter-hours"), "/events"])
@cases(
    "instant",
    [
        "2026-10-23T24:00:00Z",
        "2026-10-23T23:59:60Z",
        "2026-10-23T01:30Z",
        "0001-01-01T00:00:00+02:00",
        "9999-12-31T23:59:59-02:00",
    ],
)
def test_a_text_that_is_not_an_instant_is_refused(world: World, path: str, instant: str) -> None:
    assert world.refused(path, from_=instant, to="2026-10-24")["field"] == "from"


def test_a_parameter_that_is_sent_twice_is_refused(world: World) -> None:
    response = world.stack.invoke(
        "read",
        {
            "version": "2.0",
            "routeKey": "GET /events",
            "rawPath": "/events",
            "rawQueryString": "from=2026-10-23&from=2026-10-24&to=2026-10-25",
            "queryStringParameters": {"from": "2026-10-23,2026-10-24", "to": "2026-10-25"},
            "headers": {},
            "requestContext": {
                "http": {"method": "GET", "path": "/events"},
                "stage": "$default",
                "requestId": "r",
                "authorizer": MACHINE,
            },
        },
    )
    assert response["statusCode"] == 400


# ---------------------------------------------------------------- tokens


def token(world: World, path: str) -> str:
    """Return the token for the second page of one item."""
    return str(world.read(path, **PAGED[path], limit=1)["next"])


@pytest.mark.parametrize("path", PAGED)
def test_a_token_consists_of_url_characters(world: World, path: str) -> None:
    assert set(token(world, path)) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


@pytest.mark.parametrize("path", PAGED)
def test_a_token_of_another_request_is_refused(world: World, path: str) -> None:
    for other in PAGED.keys() - {path}:
        assert world.refused(path, **PAGED[path], next=token(world, other))["field"] == "next"


@pytest.mark.parametrize(
    ("path", "changed"),
    [
        (account(part="quarter-hours"), {"to": "2026-10-25"}),
        (account(part="days"), {"from_": "2026-10-02"}),
        (account(part="snapshots"), {"layer": "5m"}),
        ("/events", {"agency": "42"}),
    ],
)
def test_a_token_is_bound_to_the_parameters(world: World, path: str, changed: dict[str, str]) -> None:
    assert world.refused(path, **{**PAGED[path], **changed}, next=token(world, path))["field"] == "next"


def test_a_token_is_bound_to_the_account(world: World) -> None:
    path = account(part="quarter-hours")
    assert world.refused(account("agency 1", part="quarter-hours"), **DAY, next=token(world, path))["field"] == "next"
    path = account(part="snapshots")
    assert world.refused(path, layer="1h", date="2026-10-23", next=token(world, path))["field"] == "next"


@pytest.mark.parametrize("path", PAGED)
def test_the_limit_may_change_from_page_to_page(world: World, path: str) -> None:
    whole = world.read(path, **PAGED[path], limit=1000)["items"]
    assert world.read(path, **PAGED[path], limit=999, next=token(world, path))["items"] == whole[1:]


@cases("path", PAGED)
@cases(
    "forged",
    [
        "",
        "x",
        "====",
        "AAAA",
        "A" * 16,
        "A" * 17,
        "A" * 4000,
        "+/+/",
        "ü",
        "\x00",
        "\n",
        base64.urlsafe_b64encode(b"\x00" * 12 + b"latest").decode(),
        base64.urlsafe_b64encode(b"\xff" * 40).decode(),
        base64.urlsafe_b64encode(b'{"pk": {"S": "ACCOUNT#42#GBP"}, "sk": {"S": "latest"}}').decode(),
    ],
)
def test_a_forged_token_is_refused(world: World, path: str, forged: str) -> None:
    problem = world.refused(path, **PAGED[path], next=forged)
    assert (problem["field"], problem["problem"]) == ("next", "is not a token of this request")


@pytest.mark.parametrize("path", PAGED)
def test_a_token_with_one_character_changed_is_refused(world: World, path: str) -> None:
    genuine = token(world, path)
    for at in range(len(genuine)):
        other = "B" if genuine[at] == "A" else "A"
        assert world.refused(path, **PAGED[path], next=genuine[:at] + other + genuine[at + 1 :])["field"] == "next"
    assert world.refused(path, **PAGED[path], next=genuine + "A")["field"] == "next"
    assert world.refused(path, **PAGED[path], next=genuine + "=")["field"] == "next"
    assert world.refused(path, **PAGED[path], next=genuine[:-1])["field"] == "next"


def forged(path: str, *place: str) -> str:
    """Return a token that the API never returned, with a correct checksum."""
    values = {name.rstrip("_"): value for name, value in PAGED[path].items()}
    return write_token(place, request_name(quote(path), values))


BAD_PLACES: dict[str, list[tuple[str, ...]]] = {
    account(part="quarter-hours"): [
        ("202610222345",),
        ("202610240015",),
        ("QUARTER#202610230130#00",),
        ("202610230130", ""),
        ("202610230131",),
        ("",),
    ],
    account(part="days"): [("2026-09-30",), ("2026-11-02",), ("latest",), ("2026-10-02", "x"), ("",)],
    account(part="snapshots"): [
        ("1h#2026-10-22T23:00:00Z",),
        ("1h#2026-10-26T00:00:00Z",),
        ("5m#2026-10-23T01:00:00Z",),
        ("latest",),
        ("1h#",),
        ("1h#2026-10-23T01:00:00Z", "x"),
        (f"1h#2026-10-23T01:00:00Z{'x' * 1002}",),
        ("",),
    ],
    "/windows/1h/2026-10-23T01:00:00Z": [
        ("RUN",),
        ("ACCOUNT#42",),
        ("ACCOUNT#42#GBP#x",),
        ("ACCOUNT##GBP",),
        (f"ACCOUNT#{'x' * 201}#GBP",),
        (f"ACCOUNT#{'🎉' * 200}#{'🎉' * 200}",),
        ("0", "ACCOUNT#42#GBP"),
        ("",),
    ],
    "/reports": [("../x",), ("pending",), ("2026-10-23T0130-0145/",), ("2026-10-23T0130-0145", "x"), ("",)],
    "/events": [
        ("202610222345", ""),
        ("202610240015", ""),
        ("209901010000", ""),
        ("202610230130",),
        ("202610230131", ""),
        ("202610230130#00", ""),
        ("202610230130", "x"),
        ("202610230130", "2026-10-22T23:59:59.999Z.1111111111111111"),
        ("202610230130", "2026-10-23T01:45:00.000Z.1111111111111111"),
        ("202610230130", "2026-10-23T01:30:00.000Z"),
        ("", ""),
    ],
}


@pytest.mark.parametrize("path", PAGED)
def test_a_token_whose_place_is_not_in_the_request_is_refused(world: World, path: str) -> None:
    for place in BAD_PLACES[path]:
        assert world.refused(path, **PAGED[path], next=forged(path, *place))["field"] == "next"


@pytest.mark.parametrize(
    ("path", "place"),
    [
        (account(part="quarter-hours"), ("202610230145",)),
        (account(part="days"), ("2026-10-23",)),
        (account(part="snapshots"), ("1h#2026-10-23T01:30:00Z",)),
        ("/windows/1h/2026-10-23T01:00:00Z", ("ACCOUNT#nobody#EUR",)),
        ("/reports", ("2026-10-24T0000-2400",)),
        ("/events", ("202610230130", "2026-10-23T01:30:00.000Z.zzzzzzzzzzzzzzzz")),
    ],
)
def test_a_forged_token_can_at_most_skip_items(world: World, path: str, place: tuple[str, ...]) -> None:
    whole = world.read(path, **PAGED[path])["items"]
    rest = world.read(path, **PAGED[path], next=forged(path, *place))["items"]
    assert rest == whole[len(whole) - len(rest) :]
    assert 0 < len(rest) < len(whole) or path.startswith("/windows")


# ---------------------------------------------------------------- errors


def test_an_unavailable_table_is_a_503(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def unavailable(_call: object, what: str) -> None:
        raise UnavailableError(f"{what} did not response in time")

    assert with_retries is not unavailable
    monkeypatch.setattr("quarterhour.aws.tables.with_retries", unavailable)
    response = world.get("/reports")
    assert (response.status, response.headers["retry-after"]) == (503, "5")
    assert response.json()["title"] == "Unavailable"
