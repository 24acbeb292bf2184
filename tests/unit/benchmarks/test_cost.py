"""What a million events cost: the operations page shows what the estimate gives, and its parts add up."""

from decimal import Decimal

from benchmarks.cost import EVENTS, READ, WRITE, Shape, estimate, month, months, shards, snapshots, strangers, table
from quarterhour_tools.emulator.stack import TEMPLATE
from quarterhour_tools.emulator.template import Template
from tests.support.repository import ROOT

PAGE = (ROOT / "docs" / "operations.md").read_text("utf-8")


def dollars(shape: Shape) -> dict[str, Decimal]:
    return {line.what: line.dollars for line in estimate(shape)}


def test_the_operations_page_shows_the_estimate() -> None:
    assert table(Shape()) in PAGE
    alone = sum(dollars(Shape(batch=1)).values())
    assert f"One event a request instead of 500 makes it ${alone:.2f}" in PAGE


def test_the_benchmarks_page_shows_the_months() -> None:
    assert months() in (ROOT / "docs" / "benchmarks.md").read_text("utf-8")


def test_the_deployment_page_shows_what_the_template_costs() -> None:
    page = " ".join((ROOT / "docs" / "deployment.md").read_text("utf-8").split())
    template = Template.load(TEMPLATE)
    assert " ".join(snapshots(template).split()) in page, "python -m benchmarks.cost --template prints it"
    assert f"cost at most ${strangers(template):,.0f} a month" in page, "python -m benchmarks.cost --template prints it"


def test_a_month_costs_what_its_millions_cost_and_what_it_costs_without_events() -> None:
    (five, ten) = ({line.what: line.dollars for line in month(millions, 100)} for millions in (5, 10))
    (fifteen,) = ({line.what: line.dollars for line in month(15, 100)},)
    assert {what: fifteen[what] - ten[what] for what in ten} == {what: ten[what] - five[what] for what in ten}
    assert ten["DynamoDB writes and reads"] == 10 * sum(
        dollars(Shape())[what] for what in ("recording", "counters and snapshots", "reports")
    )


def test_only_a_ledger_of_more_than_eight_shards_is_sealed_in_parts() -> None:
    transitions = {
        millions: next(line.dollars for line in month(millions, 500) if line.what == "Step Functions")
        for millions in (5_000, 10_000)
    }
    assert [shards(one) for one in transitions] == [8, 16]
    assert [bool(one) for one in transitions.values()] == [False, True]


def test_units_are_paid_by_the_million() -> None:
    parts = dollars(Shape(new_customers=Decimal(1)))
    assert parts["recording"] == 2 * EVENTS * WRITE == Decimal("1.25")
    assert parts["reports"] == Decimal("0.068") * EVENTS * READ
    assert parts["new customers"] == Decimal("1.275")


def test_only_what_depends_on_requests_grows_with_them() -> None:
    batched, alone = dollars(Shape()), dollars(Shape(batch=1))
    grown = {what for what in batched if alone[what] > batched[what]}
    assert grown == {"HTTP API", "Lambda, requests", "Lambda, compute", "logs"}
    assert alone["HTTP API"] == 500 * batched["HTTP API"]


def test_more_reports_cost_puts_and_invocations_alone() -> None:
    hourly, quarterly = dollars(Shape()), dollars(Shape(reports=2880))
    assert {what for what in hourly if quarterly[what] != hourly[what]} == {"S3", "Lambda, requests", "logs"}
