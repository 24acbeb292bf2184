"""The units that the cost of a month is computed from: metered again, and against a stream of several accounts."""

from datetime import timedelta
from random import Random

import pytest

from benchmarks.cost import stream_units
from benchmarks.metering import Bill
from benchmarks.recording import batch
from benchmarks.traffic import SEED, Traffic, simulate, stream
from benchmarks.units import START, load_units, measure
from benchmarks.writing import system

HOURS = 2
FEW = Traffic(events=500_000, accounts=20, skew=1)


@pytest.mark.slow
def test_the_handlers_cost_the_units_that_the_pages_are_computed_from() -> None:
    assert measure() == load_units(), "python -m benchmarks.cost --measure --write meters them and writes the pages"


@pytest.mark.slow
def test_a_stream_costs_on_the_functions_what_is_estimated_for_it() -> None:
    """The accounts have entered windows before, so that they leave as many as they enter."""
    events = batch(0, FEW.accounts)
    paid, recorded = Bill(), 0
    with system(start=START - timedelta(minutes=1)) as one:
        one.record(events[: FEW.accounts])
        one.deliver()
        for number, some in enumerate(stream(FEW, HOURS, Random(SEED)), 1):  # noqa: S311 - the same stream in every run
            one.clock.advance_to(START + timedelta(seconds=some.second))
            one.record([{**events[account], "id": f"{number}-{account}"} for account in some.accounts])
            paid += one.deliver()
            recorded += some.events
    estimate = stream_units(simulate(FEW), load_units())
    expected = (estimate.counters + estimate.snapshots) / FEW.events
    assert paid.write_units / recorded == pytest.approx(expected, rel=0.05)
