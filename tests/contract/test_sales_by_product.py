"""Sales by product: written once in any number of attempts, read day by day; what both cost."""

from datetime import date, datetime, timedelta
from decimal import Decimal
from hashlib import sha256

import pytest

from quarterhour.model.totals import Totals
from quarterhour.reports.product_figures import ProductFigures, ProductTotals, SaleAmounts
from quarterhour.reports.projections.products import By, product_items
from quarterhour.reports.projections.queries import ProductQueries
from quarterhour.web.paging import Paging
from tests.contract.metered import Metered, Record, cost, metered
from tests.contract.storage import Storage

DAY = timedelta(days=1)


@pytest.fixture(scope="module")
def desk(storage: Storage) -> Metered:
    return metered(storage)


def sold(number: int) -> ProductFigures:
    """Return what one sale sold, with figures that compress no better than real ones."""
    digest = sha256(str(number).encode()).hexdigest()
    amount = Decimal(int(digest[:4], 16)).scaleb(-2)
    position = f"2026-10-23T01:{number % 60:02d}:12.{number % 1000:03d}Z.{digest[:16]}.{number % 500:04d}"
    return ProductFigures(Totals(1, amount, Decimal(0), amount / 10), SaleAmounts(amount, amount, position, amount))


def run_of(own: str, agencies: int, products: int) -> ProductTotals:
    """Return a run in which each agency sold each of its products once."""
    return {
        (f"{own}{agency}", "EUR", f"category {number % 9}", f"{number * 7919 % 90000 + 10000}"): sold(
            agency * products + number
        )
        for agency in range(agencies)
        for number in range(products)
    }


def write(desk: Metered, day: date, run: str, products: ProductTotals) -> None:
    desk.storage.reports.projections.write(product_items(day, f"{day.isoformat()}T{run}", products))


def test_a_run_is_written_once_and_the_runs_of_a_day_are_added_up(desk: Metered, own: str, at: datetime) -> None:
    day, products = at.date(), run_of(own, 1, 3)
    for run in ("0930-1030", "0930-1030", "1030-1130"):
        write(desk, day, run, products)
    paging = Paging.of("request", 100, None)
    span = (day - DAY, day + 40 * DAY)
    page = ProductQueries(desk.storage.entities).sales(f"{own}0", By.PRODUCT, span, paging)
    assert page.after, "a page reads 31 days"
    assert [one["sales"][0]["events"] for one in page.items] == [2, 2, 2]
    (by_day,) = ProductQueries(desk.storage.entities).sales(f"{own}0", By.DAY, (day, day + DAY), paging).items
    gross = sum((one.totals.gross for one in products.values()), Decimal(0)) * 2
    assert (by_day["sales"][0]["events"], Decimal(by_day["sales"][0]["gross"])) == (6, gross)


@pytest.mark.parametrize(("agencies", "products", "most"), [(300, 1, 1.01), (300, 5, 0.21), (10, 400, 0.06)])
def test_the_cost_of_a_run_follows_from_its_agencies_and_products(  # noqa: PLR0913, PLR0917 - the figures of one case
    desk: Metered, own: str, at: datetime, record_property: Record, agencies: int, products: int, most: float
) -> None:
    run = run_of(own, agencies, products)
    bill = desk.bill(lambda: write(desk, at.date() + products * DAY, "0930-1030", run))
    record_property(f"write {len(run)} products of {agencies} agencies", cost(bill))
    assert bill.write_units / len(run) <= most
    assert bill.read_units == 0
