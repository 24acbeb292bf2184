"""A shop's webhooks and its export file, in any order, are one history: the command line sends what never arrived."""

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest

from quarterhour.file_formats.webhooks.delivery import Provider
from quarterhour.model import exact_json
from quarterhour_tools.cli import main
from tests.e2e.test_send import serving
from tests.support.connections import connect, deliver, state
from tests.support.shop_year import Year
from tests.support.system import World, opened
from tests.support.tables import ledger

LOST: Final = 3
"""How many orders never arrive."""


@pytest.fixture
def world() -> Iterator[World]:
    with opened({"Intake": "queue"}) as deployed:
        connect(deployed, provider=Provider.SHOPIFY, agency={"field": "vendor"})
        yield deployed


def take(world: World, payload: str) -> None:
    """Deliver a payload, signed."""
    assert deliver(world, payload.encode(), provider=Provider.SHOPIFY).status == 200


def net(world: World) -> dict[str, Decimal]:
    sums: dict[str, Decimal] = {}
    for one in ledger(world):
        sums[one["agency"]] = sums.get(one["agency"], Decimal(0)) + Decimal(one["amount"])
    return sums


def expected(year: Year) -> dict[str, Decimal]:
    return {vendor: Decimal(cents).scaleb(-2) for vendor, cents in year.net.items()}


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, Any]:
    code = main([*map(str, arguments), "--json"])
    captured = capsys.readouterr()
    assert captured.out, captured.err
    return code, json.loads(captured.out)


@pytest.mark.slow
@pytest.mark.parametrize("before", [True, False])
def test_the_export_file_before_and_after_the_webhooks_changes_nothing(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str], *, before: bool
) -> None:
    year = Year(3, orders=30)
    export = tmp_path / "orders_export.csv"
    export.write_text(year.export, "utf-8")
    deliveries = [payload for _, payload in year.deliveries * 2]
    year.random.shuffle(deliveries)
    half = len(deliveries) // 2 if before else len(deliveries)
    for payload in deliveries[:half]:
        take(world, payload)
    with serving(world) as url:
        code, sent = run(capsys, "send", export, "--map", "shopify_orders", "--url", url)
    for payload in deliveries[half:]:
        take(world, payload)
    assert (code, sent["conflict"], sent["rejected"]) == (0, 0, 0)
    assert before or sent["duplicate"] == sent["sent"], "all have arrived"
    found = state(world)
    assert (found["parked"], found["delivered"]) == (0, len(deliveries))
    world.stack.invoke("watch", {})  # posts what was held
    assert net(world) == expected(year)


@pytest.mark.slow
def test_reconciling_a_connection_says_which_orders_never_arrived_and_sends_them(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    year = Year(5, orders=20)
    export = tmp_path / "orders_export.csv"
    export.write_text(year.export, "utf-8")
    payloads = [exact_json.parse(payload) for _, payload in year.deliveries]
    cancelled = {one["id"] for one in payloads if one.get("cancelled_at")}
    paid = [one for one in payloads if one.get("financial_status") == "paid" and one["id"] not in cancelled]
    lost = list({one["id"]: one["name"].removeprefix("#") for one in paid}.items())[:LOST]
    for (_, payload), parsed in zip(year.deliveries, payloads, strict=True):
        if not {parsed.get("id"), parsed.get("order_id")} & dict(lost).keys():
            take(world, payload)
    before = len(ledger(world))
    with serving(world) as url:
        command = ("reconcile", export, "--connection", "shop", "--url", url)
        code, tried = run(capsys, *command, "--dry-run")
        assert (code, tried["sent"], len(ledger(world))) == (1, {}, before)
        code, found = run(capsys, *command)
        assert (code, found["missing"]) == (0, tried["missing"])
        assert {one["order"] for one in found["missing"]} == {*dict(lost).values()}
        assert found["sent"].keys() == {"recorded"}
        assert len(ledger(world)) == before + found["sent"]["recorded"]
        code, again = run(capsys, *command)
        assert (code, again["missing"], again["sent"]) == (0, [], {})
