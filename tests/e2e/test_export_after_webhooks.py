"""A shop's webhooks and its export file, in any order, are one history: the command line sends what never arrived."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest

from quarterhour.file_formats.webhooks.delivery import Provider
from quarterhour.model import exact_json
from quarterhour_tools.cli import main
from quarterhour_tools.emulator.faults import Faults, Spec
from tests.e2e.test_send import serving
from tests.support.connections import call, connect, deliver, state
from tests.support.shop_year import VENDORS, Year
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
@pytest.mark.parametrize("seed", [4, 9])
def test_deliveries_at_once_while_calls_fail_come_to_what_was_sold_and_the_file_changes_nothing(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    year = Year(seed, orders=25)
    export = tmp_path / "orders_export.csv"
    export.write_text(year.export, "utf-8")
    bodies = [payload.encode() for _, payload in year.deliveries * 2]
    year.random.shuffle(bodies)
    spec = Spec.parse(f"throttle=0.05,reset-before=0.02,reset-after=0.05,statements-after=0.05,seed={seed}")
    with Faults(spec).installed() as faults, opened({"Intake": "queue"}) as world:
        connect(world, provider=Provider.SHOPIFY, agency={"field": "vendor"})
        take(world, year.deliveries[0][1])  # the function is loaded once, by one thread
        with faults.at_work(), ThreadPoolExecutor(6) as threads:
            statuses = list(threads.map(lambda body: deliver(world, body, provider=Provider.SHOPIFY).status, bodies))
        assert {*statuses} <= {200, 503}
        for body in bodies:  # as the provider does after a 503
            take(world, body.decode())
        world.stack.invoke("watch", {})
        call(world, "POST", "/connections/shop/parked")
        world.drain()
        assert state(world)["parked"] == 0
        assert net(world) == expected(year)
        with serving(world) as url:
            code, sent = run(capsys, "send", export, "--map", "shopify_orders", "--url", url)
        assert (code, sent["duplicate"]) == (0, sent["sent"])
        assert net(world) == expected(year)


def test_the_file_finds_agencies_as_the_connection_does_by_their_external_ids(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    connect(world, provider=Provider.SHOPIFY, agency={"external_id": "vendor"})
    for agency, vendor in zip(("oak", "elm"), VENDORS, strict=False):
        content = {"seen": 0, "content": {"external_ids": {"shopify": [vendor]}}}
        assert call(world, "PUT", f"/agencies/{agency}", content).status == 201
    year = Year(3, orders=20)
    export = tmp_path / "orders_export.csv"
    export.write_text(year.export, "utf-8")
    send = ("send", export, "--map", "shopify_orders", "--url")
    with serving(world) as url:
        code, first = run(capsys, *send, url)
        assert code == 1, "one vendor is not registered"
        assert {one["agency"] for one in ledger(world)} == {"oak", "elm"}
        content = {"seen": 0, "content": {"external_ids": {"shopify": [VENDORS[2]]}}}
        assert call(world, "PUT", "/agencies/ash", content).status == 201
        code, second = run(capsys, *send, url, "--receipts", tmp_path / "again")
    assert (code, second["duplicate"], second["conflict"]) == (0, first["recorded"], 0)
    for _, payload in year.deliveries:
        take(world, payload)
    world.stack.invoke("watch", {})
    names = dict(zip(("oak", "elm", "ash"), VENDORS, strict=True))
    assert {names[agency]: amount for agency, amount in net(world).items()} == expected(year)


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
