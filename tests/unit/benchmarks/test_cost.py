"""What a million events cost: the operations page shows what the estimate gives, and its parts add up."""

from decimal import Decimal

from benchmarks.cost import EVENTS, READ, WRITE, Shape, estimate, table
from tests.support.repository import ROOT

PAGE = (ROOT / "docs" / "operations.md").read_text("utf-8")


def dollars(shape: Shape) -> dict[str, Decimal]:
    return {line.what: line.dollars for line in estimate(shape)}


def test_the_operations_page_shows_the_estimate() -> None:
    assert table(Shape()) in PAGE
    alone = sum(dollars(Shape(batch=1)).values())
    assert f"One event a request instead of 500 makes it ${alone:.2f}" in PAGE


def test_units_are_paid_by_the_million() -> None:
    parts = dollars(Shape(new_customers=Decimal(1)))
    assert parts["recording"] == 2 * EVENTS * WRITE == Decimal("1.25")
    assert parts["reports"] == Decimal("0.068") * EVENTS * READ
    assert parts["new customers"] == Decimal("2.55")


def test_only_what_depends_on_requests_grows_with_them() -> None:
    batched, alone = dollars(Shape()), dollars(Shape(batch=1))
    grown = {what for what in batched if alone[what] > batched[what]}
    assert grown == {"HTTP API", "Lambda, requests", "Lambda, compute", "logs"}
    assert alone["HTTP API"] == 500 * batched["HTTP API"]


def test_more_reports_cost_puts_and_invocations_alone() -> None:
    hourly, quarterly = dollars(Shape()), dollars(Shape(reports=2880))
    assert {what for what in hourly if quarterly[what] != hourly[what]} == {"S3", "Lambda, requests", "logs"}
