"""Sales by location: written once in any number of attempts, and read at any level, day by day, page by page."""

from datetime import date, datetime, timedelta
from decimal import Decimal

import pytest

from quarterhour.model.totals import Totals
from quarterhour.reports.projections import queries
from quarterhour.reports.projections.api import LocationSales
from quarterhour.reports.projections.plan import sales
from quarterhour.reports.projections.queries import LocationQueries
from quarterhour.web.paging import Paging
from tests.contract.metered import Metered, Record, cost, metered
from tests.contract.storage import Storage

DAY = timedelta(days=1)
Sold = dict[tuple[str, str], Totals]


@pytest.fixture(scope="module")
def desk(storage: Storage) -> Metered:
    return metered(storage)


def sold(amount: str, events: int = 1) -> Totals:
    return Totals(events, Decimal(amount), Decimal(0), Decimal("0.10"))


MORNING: Sold = {
    ("BR#SP#sao paulo", "BRL"): sold("10.00", 2),
    ("BR#SP#campinas", "BRL"): sold("5"),
    ("BR#SP#campinas", "USD"): sold("7"),
    ("BR#RJ#rio de janeiro", "BRL"): sold("1"),
    ("BR", "BRL"): sold("0.50"),
    ("BR#SP", "BRL"): sold("0.25"),
    ("BR#SPX#sao paulo", "BRL"): sold("400"),
    ("GB#London", "GBP"): sold("3"),
    ("GB", "GBP"): sold("2"),
    ("GBX#nowhere", "GBP"): sold("900"),
}
EVENING: Sold = {
    ("BR#SP#campinas", "BRL"): sold("20"),
    ("BR#SP#são paulo/maua", "BRL"): sold("30"),
    ("GB#London#Soho", "GBP"): sold("4"),
}


@pytest.fixture
def day(desk: Metered, at: datetime) -> date:
    """A day with two runs; each was written twice, as after a crash."""
    for run, places in (("0930-1030", MORNING), ("1830-1930", EVENING)):
        for _ in range(2):
            write_sales(desk, at.date(), run, places)
    return at.date()


def write_sales(desk: Metered, day: date, run: str, places: Sold) -> None:
    desk.storage.reports.projections.write(sales(day, f"{day.isoformat()}T{run}", places))


def read(desk: Metered, place: str, level: int, span: tuple[date, date], limit: int = 100) -> list[LocationSales]:
    found: list[LocationSales] = []
    token = None
    while True:
        paging = Paging.of("request", limit, token)
        body = paging.body(LocationQueries(desk.storage.entities).sales(place, level, span, paging))
        assert len(body["items"]) <= limit
        found += body["items"]
        token = body["next"]
        if token is None:
            return found


def seen(items: list[LocationSales]) -> dict[str, dict[str, str]]:
    """Return what was sold at each location, net, by currency."""
    return {one["location"]: {some["currency"]: some["net"] for some in one["sales"]} for one in items}


@pytest.mark.parametrize("limit", [1, 2, 100])
@pytest.mark.parametrize(
    ("place", "level", "found"),
    [
        ("", 1, {"BR": {"BRL": "466.75", "USD": "7"}, "GB": {"GBP": "9"}, "GBX": {"GBP": "900"}}),
        ("BR", 1, {"BR": {"BRL": "466.75", "USD": "7"}}),
        (
            "BR",
            2,
            {
                "BR": {"BRL": "0.50"},
                "BR#RJ": {"BRL": "1"},
                "BR#SP": {"BRL": "65.25", "USD": "7"},
                "BR#SPX": {"BRL": "400"},
            },
        ),
        ("BR#SP", 2, {"BR#SP": {"BRL": "65.25", "USD": "7"}}),
        (
            "BR#SP",
            3,
            {
                "BR#SP": {"BRL": "0.25"},
                "BR#SP#campinas": {"BRL": "25", "USD": "7"},
                "BR#SP#sao paulo": {"BRL": "10.00"},
                "BR#SP#são paulo/maua": {"BRL": "30"},
            },
        ),
        ("BR#SP#campinas", 3, {"BR#SP#campinas": {"BRL": "25", "USD": "7"}}),
        ("BR#SP#campinas", 9, {"BR#SP#campinas": {"BRL": "25", "USD": "7"}}),
        ("GB#London", 2, {"GB#London": {"GBP": "7"}}),
        ("GB#London", 3, {"GB#London": {"GBP": "3"}, "GB#London#Soho": {"GBP": "4"}}),
        ("FR", 1, {}),
    ],
)
def test_the_sales_of_a_location_include_all_locations_below_it(  # noqa: PLR0913, PLR0917 - the figures of one case
    desk: Metered, day: date, place: str, level: int, found: dict[str, dict[str, str]], limit: int
) -> None:
    items = read(desk, place, level, (day, day + DAY), limit)
    assert seen(items) == found
    assert len(items) == len(found)
    assert {one["day"] for one in items} <= {day.isoformat()}


@pytest.mark.parametrize("limit", [1, 100])
def test_days_follow_each_other(desk: Metered, own: str, at: datetime, limit: int) -> None:
    place, day = f"{own}#{limit}", at.date()
    for days, run, amount in ((0, "0930-1030", "3"), (0, "1030-1130", "4"), (1, "0930-1030", "11"), (35, "1", "5")):
        write_sales(desk, day + days * DAY, run, {(place, "GBP"): sold(amount)})
    items = read(desk, place, 2, (day - DAY, day + 40 * DAY), limit)
    assert [(one["day"], one["sales"][0]["net"], one["sales"][0]["events"]) for one in items] == [
        (day.isoformat(), "7", 2),
        ((day + DAY).isoformat(), "11", 1),
        ((day + 35 * DAY).isoformat(), "5", 1),
    ]
    assert read(desk, place, 2, (day, day), limit) == []


def test_a_page_adds_up_a_bounded_number_of_items(desk: Metered, day: date, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "ITEMS_A_PAGE", 3)
    assert seen(read(desk, "BR", 3, (day, day + DAY))) == {
        "BR": {"BRL": "0.50"},
        "BR#RJ#rio de janeiro": {"BRL": "1"},
        "BR#SP": {"BRL": "0.25"},
        "BR#SP#campinas": {"BRL": "25", "USD": "7"},
        "BR#SP#sao paulo": {"BRL": "10.00"},
        "BR#SP#são paulo/maua": {"BRL": "30"},
        "BR#SPX#sao paulo": {"BRL": "400"},
    }


def test_sales_by_location_cost_at_most_one_write_unit_an_event(
    desk: Metered, own: str, at: datetime, record_property: Record
) -> None:
    """The dearest case is an event alone at its location; a thousand events at ten locations cost ten units."""
    run = f"{at.date().isoformat()}T0930-1030"
    for events, places in ((50, 50), (1000, 10)):
        found = {
            (f"{own}#{'x' * 150}#{number}", "EUR"): sold("123456789012.50", events // places)
            for number in range(places)
        }
        bill = desk.bill(lambda found=found: desk.storage.reports.projections.write(sales(at.date(), run, found)))  # type: ignore[misc]
        assert (bill.write_units, bill.read_units) == (places, 0)
        assert bill.calls == {"dynamodb.BatchWriteItem": -(-places // 25)}
        record_property(f"write the sales of {events} events at {places} places", cost(bill))


def test_reading_a_place_costs_what_is_stored_below_it(desk: Metered, day: date, record_property: Record) -> None:
    everything = LocationQueries(desk.storage.entities)
    for place, units in (("BR#SP", 0.5), ("", 0.5)):
        bill = desk.bill(
            lambda place=place: everything.sales(place, 2, (day, day + DAY), Paging.of("request", 100, None))  # type: ignore[misc]
        )
        assert (bill.read_units, bill.calls.total()) == (units, 1)
        record_property(f"sales of a day at {place or 'all places'}", cost(bill))
    bill = desk.bill(lambda: everything.sales("GB", 1, (day, day + 31 * DAY), Paging.of("request", 100, None)))
    assert (bill.read_units, bill.calls.total()) == (15.5, 31)
    record_property("sales of 31 days at a place", cost(bill))
