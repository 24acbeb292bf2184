"""Sales by product and category: the figures of the sealed lines, by route and in the run's file."""

import csv
import io
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from quarterhour.proof.reports import verify
from quarterhour.reports import lines, product_figures
from quarterhour.reports.keys import part_of_lines
from quarterhour.reports.lines import read_lines
from quarterhour.reports.projections import queries
from tests.support.cases import cases
from tests.support.events import refund
from tests.support.requests import post, verdicts
from tests.support.system import World, opened

DAY = {"from_": "2026-10-23", "to": "2026-10-24"}
SOLD: tuple[tuple[str, dict[str, str]], ...] = (
    ("8.00", {"product": "A-7", "category": "tea"}),
    ("12.50", {"product": "A-7", "category": "tea"}),
    ("3.00", {"product": "=B", "category": "tea"}),
    ("9.00", {"product": "A-7", "category": "tea", "agency": "43"}),
    ("1.00", {"product": "C", "currency": "EUR"}),
    ("2.00", {}),
)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """The system after two runs of a day over nine shards: sales, a refund of one, a payment and a page view."""
    with opened({"LedgerShards": 9}) as world:
        for number, (amount, more) in enumerate(SOLD):
            facts = {"agency": "42", **more}
            world.sell(amount, facts.pop("agency"), **facts)
            world.pass_time(minutes=4 if number == 2 else 1)
        assert verdicts(post(world, [refund("r1", "-4.00", "e1")])) == ["recorded"]
        world.pass_time(hours=1)
        report(world)
        world.sell("7.25", "42", product="A-7", category="tea")
        world.pass_time(hours=1)
        report(world)
        yield world


def report(world: World) -> None:
    """Run the report with all its parts."""
    world.report()
    world.drain()


def sealed(world: World) -> list[dict[str, str]]:
    """Return all sealed lines."""
    found = []
    for key in sorted(filter(part_of_lines, world.stack.bucket.keys())):
        with world.stack.bucket.open(key) as file:
            found += list(read_lines(file))
    return sorted(found, key=lambda one: one["position"])


def added(some: list[dict[str, str]]) -> dict[str, Any]:
    """Return the figures of some lines, added up here."""
    sales = [Decimal(one["amount"]) for one in some if one["type"] == "sale.recorded"]
    return {
        "events": len(some),
        "net": sum(Decimal(one["amount"]) for one in some),
        "commission": sum(Decimal(one["commission"]) for one in some),
        "lowest": min(sales),
        "highest": max(sales),
        "latest": sales[-1],
    }


def shown(one: dict[str, Any]) -> dict[str, Any]:
    return {name: Decimal(one[name]) for name in ("events", "net", "commission", "lowest", "highest", "latest")}


@cases("agency", ["42", "43", None])
@cases(("by", "column"), [("product", "product"), ("category", "category"), ("day", None)])
@cases("limit", [1, 100])
def test_the_figures_are_those_of_the_sealed_lines(
    world: World, agency: str | None, by: str, column: str | None, limit: int
) -> None:
    found = world.all("/sales", **DAY, by=by, limit=limit, **({"agency": agency} if agency else {}))
    groups: dict[tuple[str | None, str], list[dict[str, str]]] = {}
    for one in sealed(world):
        if agency in {None, one["agency"]}:
            groups.setdefault(((one[column] or None) if column else None, one["currency"]), []).append(one)
    expected = {key: added(some) for key, some in groups.items()}
    assert {
        (one.get(column or ""), each["currency"]): shown(each) for one in found for each in one["sales"]
    } == expected
    assert [one.get(column or "") or "" for one in found] == sorted({name or "" for name, _ in groups})
    assert {one["day"] for one in found} == {"2026-10-23"}


def test_a_page_reads_a_bounded_number_of_items_and_keeps_a_bounded_number_of_names(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = world.all("/sales", from_="2026-10-20", to="2026-12-24")
    monkeypatch.setattr(queries, "ITEMS_A_PAGE", 1)
    monkeypatch.setattr(queries, "_MOST_NAMES", 1)
    assert world.all("/sales", from_="2026-10-20", to="2026-12-24", limit=1) == whole
    assert [one["product"] for one in whole] == [None, "=B", "A-7", "C"]


def test_the_runs_file_has_the_same_figures_and_verify_proves_it(world: World) -> None:
    (key, _) = (key for key in world.stack.bucket.keys() if key.endswith("products.csv"))  # noqa: SIM118 - no dict
    with world.stack.bucket.open(key) as file:
        rows = list(csv.DictReader(io.StringIO(file.read().decode(), newline="")))
    assert [(row["agency"], row["category"], row["product"], row["events"], row["net"]) for row in rows] == [
        ("42", "", "C", "1", "1.00"),
        ("42", "", "", "1", "2.00"),
        ("42", "tea", "", "1", "-4.00"),
        ("42", "tea", "'=B", "1", "3.00"),
        ("42", "tea", "A-7", "2", "20.50"),
        ("43", "tea", "A-7", "1", "9.00"),
    ]
    assert verify(world.stack.bucket.open, world.stack.bucket.keys()).proven


def test_a_run_of_too_many_products_adds_up_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (product_figures, lines):
        monkeypatch.setattr(module, "MOST_PRODUCTS", 2)
    with opened() as world:
        for product in ("a", "b", "c", "d", "a"):
            world.sell("1.00", product=product)
            world.pass_time(seconds=1)
        world.pass_time(hours=1)
        world.report()
        found = {one["product"] or one["others"]: one["sales"][0]["events"] for one in world.all("/sales", **DAY)}
        assert found == {"a": 2, "b": 1, True: 2}
        assert world.all("/sales", **DAY, by="day")[0]["sales"][0]["events"] == 5
        assert verify(world.stack.bucket.open, world.stack.bucket.keys()).proven
