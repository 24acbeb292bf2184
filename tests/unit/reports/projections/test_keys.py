"""The keys of sales by location: which locations hold another."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.reports.projections.keys import below, location_of, read_location, sales_key
from tests.support.builders import currencies, names

locations = st.lists(names, min_size=1, max_size=4).map("#".join)
days = st.dates(date(2000, 1, 1), date(2999, 12, 31))


@given(days, locations, currencies)
def test_a_location_is_parsed_from_its_key(day: date, location: str, currency: str) -> None:
    key = sales_key(day, location, currency, "2026-10-23T0130-0230")
    assert location_of(key["sk"]) == (location, currency)


@given(days, locations, locations)
def test_a_location_holds_itself_and_all_locations_below_it(day: date, location: str, at: str) -> None:
    key = sales_key(day, location, "EUR", "2026-10-23T0130-0230")
    range_ = below(day, at)
    inside = location == at or location.startswith(f"{at}#")
    assert (key["pk"] == range_.pk and range_.low <= key["sk"] <= range_.high) == inside
    whole = below(day, "")
    assert whole.low <= key["sk"] <= whole.high


@pytest.mark.parametrize("bad", ["", "#", "GB#", "#GB", "GB##London", "a\nb", "x" * 201])
def test_a_malformed_location_is_refused(bad: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        read_location(bad)
