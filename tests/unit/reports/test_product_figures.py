"""What was sold of products: adding up in any order and grouping, and the bound of the products that are named."""

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.model import money
from quarterhour.reports import product_figures
from quarterhour.reports.product_figures import OTHERS, ProductFigures, RunningFigures, SaleAmounts, add_products
from tests.support.builders import amounts

if TYPE_CHECKING:
    from quarterhour.reports.product_figures import Product

events = st.lists(st.tuples(amounts(), st.integers(0, 9999)), min_size=3, max_size=9, unique_by=lambda one: one[1])


def sold_in(some: list[tuple[Decimal, int]]) -> ProductFigures:
    """Return what some sales at positions of the ledger sold."""
    running = RunningFigures()
    for amount, place in some:
        running.add(amount, amount, f"2026-10-23T01:30:12.345Z.4JzHX4k3uVijmhMx.{place:04d}")
    return ProductFigures(running.totals(is_payment=False), running.amounts())


@given(events, st.integers(1, 8), st.integers(1, 8))
def test_sums_of_parts_are_those_of_all_in_any_order_and_grouping(
    every: list[tuple[Decimal, int]], cut: int, other: int
) -> None:
    first, second = sorted((cut % (len(every) - 1) + 1, other % (len(every) - 1) + 1))
    parts = [part for part in (every[:first], every[first:second], every[second:]) if part]
    one, two, three = [*map(sold_in, parts), ProductFigures()][:3]
    whole = (one + two) + three
    assert whole.as_list() == (one + (two + three)).as_list() == (three + one + two).as_list()
    assert whole.as_list() == sold_in(every).as_list() == sold_in(every[::-1]).as_list()
    amounts_ = whole.amounts
    assert amounts_
    assert amounts_.lowest == min(amount for amount, _ in every)
    assert amounts_.highest == max(amount for amount, _ in every)
    assert amounts_.latest == max(every, key=lambda one: one[1])[0]
    assert whole.totals.net == money.total(amount for amount, _ in every)
    assert ProductFigures.of(whole.as_list()) == whole


def test_equal_amounts_of_different_scale_give_the_same_text_in_either_order() -> None:
    amounts_ = [SaleAmounts(one, one, str(one), one) for one in (Decimal("1.0"), Decimal("1.00"))]
    one, other = amounts_[0] + amounts_[1], amounts_[1] + amounts_[0]
    assert (str(one.lowest), str(one.highest)) == (str(other.lowest), str(other.highest)) == ("1.00", "1.0")


def test_products_beyond_the_bound_count_as_others_and_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(product_figures, "MOST_PRODUCTS", 2)
    sums: dict[Product, ProductFigures] = {}
    one = sold_in([(Decimal("1.50"), 1)])
    add_products(sums, [(("42", "GBP", "tea", name), one) for name in ("a", "b", "c", "a", "d")])
    assert {name: int(found.totals.events) for (*_, name), found in sums.items()} == {"a": 2, "b": 1, OTHERS: 2}
