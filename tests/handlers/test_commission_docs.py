"""Every example of docs/commission.md, recorded under its rate card, is charged what the page says."""

import json
import re
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest

from quarterhour.model.periods import Period
from tests.handlers.test_statement_runs import Marketplace
from tests.handlers.test_taxes import AMSTERDAM, STANDARD_21, agency
from tests.support.agencies import ANYWHERE
from tests.support.events import by_sign, refund, void
from tests.support.requests import account, post
from tests.support.system import World, opened

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


@pytest.mark.parametrize("example", [one for one in EXAMPLES if "registered" not in one], ids=str)
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


@pytest.mark.parametrize("example", [one for one in EXAMPLES if "registered" in one], ids=str)
def test_an_example_of_a_month_is_charged_on_the_statement_what_the_page_says(example: dict[str, Any]) -> None:
    with opened({**AMSTERDAM, "time_zone": "UTC"}, start=datetime(2026, 10, 20, tzinfo=UTC)) as world:
        shop = Marketplace(world)
        shop.write("/documents/owner", ANYWHERE)
        shop.write("/agencies/42", agency("42", STANDARD_21, f"{example['registered']}T00:00:00Z"))
        shop.write("/documents/rate-card:42", {"valid_from": "2026-10-01T00:00:00Z", "rules": example["rules"]})
        record(world, example["events"])
        shop.until(datetime(2026, 11, 5, tzinfo=UTC))
        shop.watch()
        (row,) = shop.statement(Period.parse(PERIOD), "42")["taxes"]
    assert {one["name"]: one["amount"] for one in row["charges"]} == example["charged"]
