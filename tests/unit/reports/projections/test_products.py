"""Sales by product: items of a run, and what they hold."""

from datetime import date
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from quarterhour.aws.items import to_item
from quarterhour.model.totals import Totals
from quarterhour.reports.product_figures import Product, ProductFigures, SaleAmounts
from quarterhour.reports.projections.keys import currency_of, products_of
from quarterhour.reports.projections.products import MARKETPLACE, ROWS_A_CHUNK, product_items, rows_of
from tests.support.builders import currencies, names

DAY = date(2026, 10, 23)
LARGEST = Decimal("1" * 38)


def sold(events: int) -> ProductFigures:
    return ProductFigures(
        Totals(events, Decimal(events)), SaleAmounts(Decimal(events), Decimal(events), "2026", Decimal(events))
    )


@given(st.dictionaries(st.tuples(names, currencies, names, names), st.integers(1, 9), min_size=1, max_size=9))
def test_a_run_has_its_sales_by_product_of_each_agency_and_of_the_marketplace(run: dict[Product, int]) -> None:
    items = list(product_items(DAY, "2026-10-23T0130-0230", {product: sold(n) for product, n in run.items()}))
    for agency in {agency for agency, *_ in run} | {MARKETPLACE}:
        found = [
            (currency_of(item["sk"]), category, product, one.totals.events)
            for item in items
            if products_of(DAY, agency).holds(item["sk"])
            for category, product, one in rows_of(item)
        ]
        expected: dict[tuple[str, ...], int] = {}
        for (of, *product), events in run.items():
            if agency in {of, MARKETPLACE}:
                expected[tuple(product)] = expected.get(tuple(product), 0) + events
        assert {tuple(product): events for *product, events in found} == expected
        assert len(found) == len(expected), "each product is returned once"


def test_an_item_of_the_longest_names_and_figures_fits_into_the_table() -> None:
    amounts = SaleAmounts(LARGEST, LARGEST, "2026-10-23T01:30:12.345Z.4JzHX4k3uVijmhMx.0001", LARGEST)
    one = ProductFigures(Totals(10**9, LARGEST, -LARGEST, LARGEST), amounts)
    run = {
        ("42", "GBP", chr(0x4E00 + n) * 200, "".join(chr(0x4E00 + n * 37 + k) for k in range(200))): one
        for n in range(ROWS_A_CHUNK + 1)
    }
    items = [item for item in product_items(DAY, "run", run) if item["sk"].startswith("42")]
    assert len(items) == 2
    assert max(len(to_item(item)["packed"]["S"]) for item in items) < 400_000
