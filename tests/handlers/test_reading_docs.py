"""docs/api.md: every request on the page is sent, and gets the response on the page."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from quarterhour_tools.emulator.http_api import Request
from quarterhour_tools.emulator.stack import TEMPLATE
from tests.handlers.desk import send
from tests.support.events import Cloud, payment, refund, sale
from tests.support.requests import post, verdicts
from tests.support.stored_statements import LAST_HOUR
from tests.support.system import World, opened

PAGE = TEMPLATE.parent / "docs" / "api.md"
EXAMPLE = re.compile(
    r"```http\n(?P<method>[A-Z]+) (?P<target>\S+)\n```\n+"
    r"(?:```json\n(?P<body>[^`]+)\n```\n+)?```json\n(?P<answer>[^`]+)\n```"
)
OF_STATEMENTS = re.compile(r"/(periods|statements|disputes)\b|/accounts/[^?]+/balance")
"""The targets of the examples from the days after October was stated."""
ORDER = re.compile(r"## `POST /orders`\n.*?```json\n(.*?)\n```", re.DOTALL)
"""The body of an order that the page shows."""
ELLIPSIS = "…"
TEXT = Path(PAGE).read_text("utf-8")
EXAMPLES = [match.groups() for match in EXAMPLE.finditer(TEXT)]
DESCRIBED = (
    "/agencies",
    "/agencies/{agency}",
    "/documents",
    "/documents/{document}",
    "/documents/{document}/metadata",
    "/documents/{document}/permissions",
    "/documents/{document}/versions",
    "/documents/{document}/versions/{version}",
    "/threads/{kind}/{subject}/messages",
)
"""The reading routes that the page shows without an example of a request."""
HEADERS = (("content-type", "application/json"),)


@contextmanager
def selling() -> Iterator[World]:
    """Open the system with two shops' agencies on the morning of 23 October 2026."""
    with opened({"BaseCurrency": "EUR"}) as world:
        order = ORDER.search(TEXT)
        assert order
        assert world.stack.request(Request("POST", "/orders", headers=HEADERS, body=order[1].encode())).status == 201
        for as_of, units in (("2026-10-22T14:15:00Z", "0.8705"), ("2026-10-23T01:30:00Z", "0.8712")):
            rate = {"units_per_base": units, "source": "ECB", "as_of": as_of}
            sent = Request("PUT", "/exchange-rates/GBP", headers=HEADERS, body=json.dumps(rate).encode())
            assert world.stack.request(sent).status == 201
        world.sell("120.00", customer="c-1", order_id="1001")
        world.pass_time(minutes=2)
        world.sell("80.50", customer="c-2", order_id="1002", location="GB#London")
        world.pass_time(minutes=15)
        world.sell("-20.00", refers_to="e0", order_id="1001")
        world.sell("15.00", agency="Nord & Süd", currency="EUR", location="GB#London#Soho")
        world.pass_time(minutes=20)
        world.report()
        body = {"expression": "cron(0,30 6-20 ? * MON-FRI *)", "reason": "quiet nights"}
        world.stack.request(Request("PUT", "/schedule", headers=HEADERS, body=json.dumps(body).encode()))
        rules = {"valid_from": "2026-10-01T00:00:00Z", "rules": [{"percent": "8", "category": "books"}]}
        assert send(world, "PUT", "/documents/rate-card:42", {"seen": 0, "content": rules}).status == 201
        yield world


@contextmanager
def stated() -> Iterator[World]:
    """Open the system on 5 November 2026: October is stated for three agencies, and two have disputed a sale."""
    with opened(start=LAST_HOUR) as world:
        for number, (agency, vat) in enumerate((("42", "20"), ("43", "0"), ("44", "0")), 1):
            tax = {"scheme": "standard", "percent": vat}
            content = {"legal_name": f"Agency {agency}", "country": "GB", "tax": tax}
            assert send(world, "PUT", f"/agencies/{agency}", {"seen": 0, "content": content}).status == 201
            _record(world, sale(f"e-{number}", "100.05", agency=agency, commission_rate="0.125"))
        _record(world, sale("e-4", "80.00", agency="43", commission_rate="0.125"))
        _record(world, sale("e-5", "-0.02", "sale.refunded", commission_rate="0.125"), payment("p-1", "5"))
        world.drain()
        world.clock.advance_to(datetime(2026, 11, 4, 0, 20, tzinfo=UTC))
        world.report()
        assert world.stack.invoke("statements", {})["statements"] == 3
        for agency, disputed in (("43", "e-2"), ("44", "e-3")):
            body = {"source": "shop", "id": disputed, "reason": "this sale was returned"}
            assert send(world, "POST", f"/statements/{agency}/GBP/2026-10/disputes", body).status == 201
        world.clock.advance_to(datetime(2026, 11, 5, 10, 2, 31, 870_000, tzinfo=UTC))
        _record(world, sale("e-6", "10.00", commission_rate="0.125"), payment("p-2", "2.50"))
        _record(world, sale("e-7", "1.00", commission_rate="0.125"))
        _record(world, refund("r-1", "-100.05", of="e-3", agency="44"))
        world.drain()
        assert world.stack.invoke("watch", {})["disputes"]["resolved"] == 1
        yield world


def _record(world: World, *events: Cloud) -> None:
    assert set(verdicts(post(world, list(events)))) == {"recorded"}


@pytest.fixture(scope="module")
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    """The system of some examples: each has the clock to itself."""
    with request.param() as world:
        yield world


def like(expected: Any, response: Any) -> bool:
    """Return whether a response equals the expected one, in which an ellipsis matches any text or more fields."""
    match expected, response:
        case dict(), dict():
            more = expected.keys() >= {ELLIPSIS}
            return (more or expected.keys() == response.keys()) and all(
                name in response and like(value, response[name]) for name, value in expected.items() if name != ELLIPSIS
            )
        case list(), list():
            return len(expected) == len(response) and all(map(like, expected, response))
        case str(), str() if ELLIPSIS in expected:
            return re.fullmatch(re.escape(expected).replace(ELLIPSIS, ".*"), response) is not None
        case _:
            return bool(expected == response)


@pytest.mark.parametrize(
    ("world", "method", "target", "body", "answer"),
    [(stated if OF_STATEMENTS.match(example[1]) else selling, *example) for example in EXAMPLES],
    ids=[f"{method} {target}" for method, target, *_ in EXAMPLES],
    indirect=["world"],
)
def test_an_example_gets_the_response_on_the_page(
    world: World, method: str, target: str, body: str | None, answer: str
) -> None:
    path, _, query = target.partition("?")
    response = world.stack.request(Request(method, path, query, HEADERS if body else (), (body or "").encode()))
    expected = json.loads(answer)
    assert like(expected, response.json()), json.dumps(response.json(), indent=1, ensure_ascii=False)
    assert response.status == (expected["status"] if "title" in expected else 201 if method == "POST" else 200)


@pytest.mark.parametrize("world", [selling], indirect=True)
def test_every_route_has_its_section_and_an_example(world: World) -> None:
    sections = set(re.findall(r"^## `(\w+ \S+)`", TEXT, re.MULTILINE))
    answered = world.stack.answered_routes()
    assert sections <= {f"{route.method} {route.path}" for route in answered}
    routes = {route.path for route in answered if route.method == "GET"}
    assert {f"GET {route}" for route in routes} <= sections
    patterns = [re.compile(re.sub(r"\{\w+\}", "[^/]+", route)) for route in routes]
    paths = [target.partition("?")[0] for _, target, *_ in EXAMPLES]
    without = {one.pattern for one in patterns if not any(map(one.fullmatch, paths))}
    assert without == {re.sub(r"\{\w+\}", "[^/]+", route) for route in DESCRIBED}
