"""docs/api.md: every request on the page is sent, and gets the response on the page."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quarterhour_tools.emulator.http_api import Request
from quarterhour_tools.emulator.stack import TEMPLATE
from tests.support.system import World, opened

PAGE = TEMPLATE.parent / "docs" / "api.md"
EXAMPLE = re.compile(r"```http\n(?P<method>[A-Z]+) (?P<target>\S+)\n```\n+```json\n(?P<answer>.*?)\n```", re.DOTALL)
ORDER = re.compile(r"## `POST /orders`\n.*?```json\n(.*?)\n```", re.DOTALL)
"""The body of an order that the page shows."""
ELLIPSIS = "…"
TEXT = Path(PAGE).read_text("utf-8")
EXAMPLES = [(match["target"], json.loads(match["answer"])) for match in EXAMPLE.finditer(TEXT)]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """The system of the examples: two shops' agencies on the morning of 23 October 2026."""
    with opened({"BaseCurrency": "EUR"}) as world:
        order = ORDER.search(TEXT)
        assert order
        headers = (("content-type", "application/json"),)
        assert world.stack.request(Request("POST", "/orders", headers=headers, body=order[1].encode())).status == 201
        for as_of, units in (("2026-10-22T14:15:00Z", "0.8705"), ("2026-10-23T01:30:00Z", "0.8712")):
            rate = {"units_per_base": units, "source": "ECB", "as_of": as_of}
            sent = Request("PUT", "/exchange-rates/GBP", headers=headers, body=json.dumps(rate).encode())
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
        world.stack.request(Request("PUT", "/schedule", headers=headers, body=json.dumps(body).encode()))
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


@pytest.mark.parametrize(("target", "answer"), EXAMPLES, ids=[target for target, _ in EXAMPLES])
def test_an_example_gets_the_response_on_the_page(world: World, target: str, answer: Any) -> None:
    path, _, query = target.partition("?")
    response = world.stack.request(Request("GET", path, query))
    assert like(answer, response.json()), json.dumps(response.json(), indent=1, ensure_ascii=False)
    assert response.status == (answer["status"] if "title" in answer else 200)


def test_every_route_has_its_section_and_an_example(world: World) -> None:
    sections = set(re.findall(r"^## `(\w+ \S+)`", TEXT, re.MULTILINE))
    functions = world.stack.functions
    assert sections <= {f"{route.method} {route.path}" for one in functions.values() for route in one.routes}
    routes = {route.path for route in functions["api"].routes}
    assert {f"GET {route}" for route in routes} <= sections
    patterns = [re.compile(re.sub(r"\{\w+\}", "[^/]+", route)) for route in routes]
    paths = [target.partition("?")[0] for target, _ in EXAMPLES]
    assert [one.pattern for one in patterns if not any(map(one.fullmatch, paths))] == []
