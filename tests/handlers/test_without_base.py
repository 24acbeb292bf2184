"""A deployment without base currency."""

import json
from collections.abc import Iterator

import pytest

from tests.handlers.test_exchange_rates import enter, put
from tests.support.system import World, opened


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """The system after a run, with a rate that nobody uses."""
    with opened() as world:
        enter(world, "0.8")
        world.sell("8.00")
        world.pass_time(minutes=17)
        world.report()
        yield world


def test_a_report_has_no_base_currency(world: World) -> None:
    (run,) = world.read("/reports")["items"]
    manifest = json.dumps(world.read(f"/reports/{run['run']}")["manifest"])
    assert "base" not in manifest
    assert "rates" not in manifest
    with world.stack.bucket.open("reports/2026/10/23/0130-0145/summary.csv") as file:
        assert file.readline().rstrip().endswith(b"commission,commission_rounded_half_even,payments,charges")


def test_exchange_rates_are_stored_without_a_base_currency(world: World) -> None:
    assert world.read("/exchange-rates/GBP")["base"] is None
    assert enter(world, "1", "EUR")["base"] is None


@pytest.mark.parametrize(
    ("base", "problem"), [("EUR", "base is EUR: expected none, as the set"), ("ZZZ", "base is 'ZZZ': expected an ISO")]
)
def test_a_rate_that_names_a_base_currency_is_refused(world: World, base: str, problem: str) -> None:
    answer = put(world, "CHF", {"units_per_base": "0.9", "source": "ECB", "base": base})
    assert (answer.status, answer.json()["detail"][: len(problem)]) == (400, problem)
    assert world.missing("/exchange-rates/CHF")
