"""docs/api.md: every request in it is sent, and answers what stands there."""

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


def like(wanted: Any, found: Any) -> bool:
    """Tell whether an answer is the one shown, where an ellipsis stands for any text, or any more fields."""
    match wanted, found:
        case dict(), dict():
            more = wanted.keys() >= {ELLIPSIS}
            return (more or wanted.keys() == found.keys()) and all(
                name in found and like(value, found[name]) for name, value in wanted.items() if name != ELLIPSIS
            )
        case list(), list():
            return len(wanted) == len(found) and all(map(like, wanted, found))
        case str(), str() if ELLIPSIS in wanted:
            return re.fullmatch(re.escape(wanted).replace(ELLIPSIS, ".*"), found) is not None
        case _:
            return bool(wanted == found)


@pytest.mark.parametrize(("target", "answer"), EXAMPLES, ids=[target for target, _ in EXAMPLES])
def test_an_example_answers_what_stands_there(world: World, target: str, answer: Any) -> None:
    path, _, query = target.partition("?")
    found = world.stack.request(Request("GET", path, query))
    assert like(answer, found.json()), json.dumps(found.json(), indent=1, ensure_ascii=False)
    assert found.status == (answer["status"] if "title" in answer else 200)


def test_every_route_has_its_section_and_an_example(world: World) -> None:
    sections = set(re.findall(r"^## `(\w+ \S+)`", TEXT, re.MULTILINE))
    functions = world.stack.functions
    assert sections <= {f"{route.method} {route.path}" for one in functions.values() for route in one.routes}
    routes = {route.path for route in functions["api"].routes}
    assert {f"GET {route}" for route in routes} <= sections
    patterns = [re.compile(re.sub(r"\{\w+\}", "[^/]+", route)) for route in routes]
    paths = [target.partition("?")[0] for target, _ in EXAMPLES]
    assert [one.pattern for one in patterns if not any(map(one.fullmatch, paths))] == []
