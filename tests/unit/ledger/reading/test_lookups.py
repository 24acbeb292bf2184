"""The lookups: in which sealed quarter-hours an order or a customer has events."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from quarterhour.aws.items import to_item
from quarterhour.ledger.reading.lookups import LOOKED_UP, MAX_VALUES, marks, quarter_hours_of, ranges
from quarterhour.model.identifiers import Identity, Position
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour_tools.emulator.dynamodb.sizes import item_size
from tests.support.builders import QUARTER_HOUR, names

ITEM_LIMIT = 400 * 1024


def first_of(quarter_hour: QuarterHour, number: int = 0) -> str:
    """Return a position of a quarter-hour."""
    return str(Position.of(Identity("shop", str(number)).hash, quarter_hour.start + timedelta(seconds=number)))


@given(st.dictionaries(st.integers(0, 20_000), st.sets(names, min_size=1, max_size=5), max_size=8), names)
def test_a_value_is_found_in_exactly_its_quarter_hours_by_a_range_a_month(
    sealed: dict[int, set[str]], other: str
) -> None:
    quarter_hours = {number: QuarterHour(QUARTER_HOUR.start + number * timedelta(minutes=15)) for number in sealed}
    for attribute in LOOKED_UP:
        items = [
            item
            for number, values in sealed.items()
            for item in marks(attribute, values, quarter_hours[number], first_of(quarter_hours[number]))
        ]
        for value in {other, *(value for values in sealed.values() for value in values)}:
            first, last = QUARTER_HOUR, QuarterHour(QUARTER_HOUR.start + timedelta(days=240))
            read = [
                item
                for one in ranges(attribute, value, first, last)
                for item in items
                if item["pk"] == one.pk and one.low <= item["sk"] <= one.high
            ]
            expected = sorted(quarter_hours[number] for number, values in sealed.items() if value in values)
            assert quarter_hours_of(value, read) == expected


def test_the_ranges_of_a_value_are_one_for_each_month() -> None:
    first, last = (
        QuarterHour.at(datetime(2026, 11, 30, 23, tzinfo=UTC)),
        QuarterHour.at(datetime(2027, 2, 1, tzinfo=UTC)),
    )
    assert [one.pk[:-2] for one in ranges("order_id", "1001", first, last)] == [
        f"BY-ORDER#{month}" for month in ("2026-11", "2026-12", "2027-01", "2027-02")
    ]


def test_an_item_fits_into_the_table_however_many_values_a_quarter_hour_has() -> None:
    values = [f"order-{number}" for number in range(64 * MAX_VALUES + 64 * 200)]
    items = list(marks("order_id", values, QUARTER_HOUR, first_of(QUARTER_HOUR)))
    assert len({(one["pk"], one["sk"]) for one in items}) == len(items)
    assert max(item_size(to_item(one)) for one in items) < ITEM_LIMIT
