"""Every example of docs/commission.md, recorded under its rate card, is charged what the page says."""

import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.events import by_sign, refund, void
from tests.support.requests import account, post
from tests.support.system import World

PAGE: Final = Path(__file__).parents[2] / "docs" / "commission.md"
EXAMPLES: Final = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)]
PERIOD: Final = "2026-10"


def test_the_page_has_an_example_for_each_of_its_rules() -> None:
    parts = re.split(r"^## ", PAGE.read_text("utf-8"), flags=re.MULTILINE)
    assert [part.partition("\n")[0] for part in parts if "```json" not in part] == ["A table of rates\n".strip()]
    assert len(PAGE.read_text("utf-8").splitlines()) <= 150


def record(world: World, events: list[dict[str, Any]]) -> None:
    """Record the events of an example: sales, refunds without a sale, linked refunds, and voids."""
    for number, one in enumerate(events):
        rest = dict(one)
        id_, of_refund, of_void = (rest.pop(name, None) for name in ("id", "refunds", "voids"))
        id_ = id_ or f"e{number}"
        if of_void:
            event = void(id_, of_void)
        elif of_refund:
            event = refund(id_, rest.pop("amount"), of_refund, **rest)
        else:
            event = by_sign(id_, rest.pop("amount"), **rest)
        (item,) = post(world, event).json()["items"]
        assert item["verdict"] == "recorded", item


def charged(period: dict[str, Any]) -> dict[str, Decimal]:
    """Return what a period is charged so far, by the names of charges."""
    found = {name: Decimal(amount) for name, amount in period.get("charges", {}).items()}
    found = found or {"commission": Decimal(period["commission"])}
    for one in period.get("tiers", []):
        found[one["name"]] = found.get(one["name"], Decimal()) + Decimal(one["commission"])
    assert sum(found.values()) == Decimal(period.get("charged", period["commission"]))
    return found


@pytest.mark.parametrize("example", [one for one in EXAMPLES if "events" in one], ids=str)
def test_an_example_is_charged_what_the_page_says(world: World, example: dict[str, Any]) -> None:
    world.write("/documents/rate-card:42", {"valid_from": "2026-10-01T00:00:00Z", "rules": example["rules"]})
    record(world, example["events"])
    world.drain()
    (period,) = world.all(account("42", "GBP", "periods"))
    assert period["period"] == PERIOD
    assert charged(period) == {name: Decimal(amount) for name, amount in example["charged"].items()}
    if "percent" in example:
        (tiers,) = period["tiers"]
        assert tiers["percent"] == example["percent"]
        assert tiers["missing"] == example.get("missing")
