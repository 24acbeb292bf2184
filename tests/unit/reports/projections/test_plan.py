"""Sales by location: totals at every level of the locations."""

from datetime import date
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from quarterhour.model.totals import Totals
from quarterhour.reports.projections.plan import by_level, cut_at, levels, sales
from tests.support.builders import currencies, names

locations = st.lists(names, min_size=1, max_size=4).map("#".join)


@given(st.dictionaries(st.tuples(locations, currencies), st.integers(1, 9), max_size=12), st.integers(1, 5))
def test_sales_add_up_at_every_level(sold: dict[tuple[str, str], int], level: int) -> None:
    totals = {key: Totals(events, Decimal(events)) for key, events in sold.items()}
    items = sorted(sales(date(2026, 10, 23), "2026-10-23T0130-0230", totals), key=lambda values: str(values["sk"]))
    found = list(by_level(items, level))
    expected: dict[tuple[str, str], int] = {}
    for (location, currency), events in sold.items():
        expected[cut_at(location, level), currency] = expected.get((cut_at(location, level), currency), 0) + events
    assert {
        (one.location, currency): totals.events for one in found for currency, totals in one.totals.items()
    } == expected
    assert len({one.location for one in found}) == len(found), "each location is returned once"


def test_a_location_with_fewer_levels_stays_whole() -> None:
    assert [cut_at("BR#SP#campinas", level) for level in (1, 2, 3, 9)] == [
        "BR",
        "BR#SP",
        "BR#SP#campinas",
        "BR#SP#campinas",
    ]
    assert [levels(one) for one in ("", "BR", "BR#SP")] == [0, 1, 2]
