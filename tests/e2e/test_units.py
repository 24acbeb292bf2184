"""The units that the cost of a month is computed from: metered again, they are the same."""

import pytest

from benchmarks.units import measure, stored_units


@pytest.mark.slow
def test_the_handlers_cost_the_units_that_the_pages_are_computed_from() -> None:
    assert measure() == stored_units(), "python -m benchmarks.cost --measure --write meters them and writes the pages"
