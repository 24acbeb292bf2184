"""What rounding leaves is carried on: what was sold and taken back whole comes to zero, in whatever months."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.model import money
from quarterhour.model.money import Rounding
from quarterhour.registry.agencies.agency import BY_AGENCY, BY_MARKETPLACE, REVERSE_CHARGE, STANDARD, TaxProfile
from quarterhour.statements.document.statement import Statement
from quarterhour.statements.document.tax import Taxable, taxed
from quarterhour.statements.remainders import NOTHING, Remainder, Remainders, rounded_with
from tests.support.chained_statements import VAT, cancellation, released, statement
from tests.support.laws import examples

if TYPE_CHECKING:
    from quarterhour.statements.listing import Document
    from tests.support.chained_statements import Line


def figures(of: Statement) -> tuple[str, ...]:
    """Return commission, tax and closing balance."""
    amounts = of.amounts
    return str(amounts.commission), str(amounts.tax), str(amounts.closing)


def test_a_sale_that_is_refunded_in_three_months_comes_to_zero() -> None:
    """1 % of 100.00 and 10 % tax, then thirds of both: the second refund takes the cent that the first has left."""
    last, found = None, []
    for line in (("100.00", "1.0000"), ("-33.33", "-0.3333"), ("-33.33", "-0.3333"), ("-33.34", "-0.3334")):
        of = statement([line], last)
        found.append(figures(of))
        last = released(of)
    assert found == [
        ("1.00", "0.10", "1.10"),
        ("-0.33", "-0.03", "0.74"),
        ("-0.34", "-0.04", "0.36"),
        ("-0.33", "-0.03", "0.00"),
    ]
    assert last is not None
    assert last.remainders.as_dict() == NOTHING.as_dict()


def test_proceeds_come_to_zero_too() -> None:
    last, found = None, []
    for amount in ("10.00", "-3.3333", "-3.3333", "-3.3334"):
        of = statement([(amount, "0")], last, collects=BY_MARKETPLACE)
        found.append(str(of.amounts.proceeds))
        last = released(of)
    assert found == ["10.00", "-3.33", "-3.34", "-3.33"]
    assert last is not None
    assert last.closing == 0


def test_a_remainder_is_never_charged_alone() -> None:
    """Half a cent is left. Neither a month without lines nor a sale that is voided at once charges it."""
    first = released(statement([("10.25", "1.025")], rounding=Rounding.HALF_UP))
    left = {"scheme": "standard", "percent": "10", "base": "-0.005", "tax": "0.003"}
    assert first.remainders.as_dict() == {"taxes": [left], "proceeds": "0"}
    for lines in ([], [("10.00", "1.00"), ("-10.00", "-1.00")]):
        of = statement(lines, first, rounding=Rounding.HALF_UP)
        assert figures(of) == ("0.00", "0.00", "1.13")
        assert of.remainders.as_dict() == first.remainders.as_dict()


def test_each_rate_has_its_own_remainder() -> None:
    first = released(statement([("10.00", "1.004")]))
    other = statement([("10.00", "1.004")], first, profile=TaxProfile(REVERSE_CHARGE))
    assert figures(other) == ("1.00", "0.00", "2.10")
    assert [row["base"] for row in other.remainders.as_dict()["taxes"]] == ["0.004", "0.004"]
    again = statement([("10.00", "1.004")], released(other))
    assert figures(again) == ("1.01", "0.10", "3.21")


def test_a_cancellation_reverses_what_its_statement_states_and_gives_its_remainder_back() -> None:
    """The second of three statements took a cent of the first one; its cancellation, made last, gives that back."""
    first = released(statement([("10.00", "1.004")]), 1)
    second = statement([("10.00", "1.004")], first)
    third = released(statement([("10.00", "1.004")], shown := released(second, 2)), 3)
    cancelled = cancellation(second, shown, third)
    assert (figures(second)[0], figures(cancelled)[:2]) == ("1.01", ("-1.01", "-0.10"))
    assert cancelled.remainders.of_rate((STANDARD, Decimal(10))).base == Decimal("0.008")
    again = replace(second, previous=None, before=cancelled.remainders)
    assert figures(again)[:2] == ("1.01", "0.10")
    assert again.remainders == third.remainders


@pytest.mark.parametrize("rounding", Rounding)
def test_a_tax_in_a_currency_without_decimals_stays_within_one_unit_of_its_base(rounding: Rounding) -> None:
    """5 JPY at 10 % leave half a yen; with it, the tax on the next would be a whole yen off, which BR-CO-17 forbids."""
    carried = Remainders({((STANDARD, Decimal(10)), "commission"): Remainder(money.ZERO, Decimal("0.5"))})
    for base, tax in (("110", "11"), ("100", "10"), ("-110", "-11"), ("114", "12"), ("101", "11")):
        (row,) = taxed({Taxable(date(2026, 11, 5)): Decimal(base)}, "JPY", lambda _: VAT, rounding, carried)
        assert str(row.tax) == tax
        assert row.rest == Decimal(base) / 10 - row.tax


# ---------------------------------------------------------------- the laws

CURRENCIES: Mapping[str, str] = {"EUR": "0.01", "JPY": "1", "KWD": "0.001"}
parts = st.lists(st.integers(1, 10**7), min_size=1, max_size=6)


@given(
    st.lists(st.tuples(st.integers(1, 10**7), parts), min_size=1, max_size=4),
    st.fixed_dictionaries(
        {
            "currency": st.sampled_from(sorted(CURRENCIES)),
            "rounding": st.sampled_from(Rounding),
            "collects": st.sampled_from([BY_AGENCY, BY_MARKETPLACE]),
            "profile": st.sampled_from(["0", "7", "7.7", "10", "19", "19.5"]).map(
                lambda percent: TaxProfile(STANDARD, Decimal(percent))
            ),
        }
    ),
    st.randoms(use_true_random=False),
)
@examples(150)
def test_what_was_sold_and_refunded_whole_comes_to_zero(
    sales: list[tuple[int, list[int]]], setting: dict[str, Any], order: Any
) -> None:
    """Each sale is refunded in parts, in months of any order; some statements are cancelled, and made again later."""
    lines: list[Line] = []
    for amount, shares in sales:
        whole = [Decimal(-amount * share) / 10**4 for share in shares]
        sold = -sum(whole)
        lines += [(str(sold), str(sold / 8)), *((str(part), str(part / 8)) for part in whole)]
    order.shuffle(lines)
    unit = Decimal(CURRENCIES[setting["currency"]])
    last: Document | None = None
    held: list[list[Line]] = []
    while lines or held:
        month = lines[: (number := order.randint(1, 3))] or held.pop()
        lines = lines[number:]
        of = statement(month, last, **setting)
        last = shown = released(of)
        _check_distance(of, unit)
        if lines and order.random() < 0.3:
            last = released(statement([lines.pop()], last, **setting))
            last = released(back := cancellation(of, shown, last))
            assert (back.amounts.commission, back.amounts.tax) == (-of.amounts.commission, -of.amounts.tax)
            assert back.amounts.proceeds == -of.amounts.proceeds
            held.append(month)
    assert last is not None
    assert last.closing == 0
    assert not any(any(one) for one in last.remainders.taxes.values())
    assert last.remainders.proceeds == 0


def _check_distance(of: Statement, unit: Decimal) -> None:
    """Check that EN 16931 takes each tax, and that a statement after its own kind leaves at most half a unit."""
    for row in of.taxes:
        exact = abs(row.base) * row.key.percent / 100
        assert abs(abs(row.tax) - money.on_statement(exact, "EUR", Rounding.HALF_UP)) < 1
        if row.base and row.charges[0].exact != row.base:
            assert abs(of.remainders.of_rate(row.rate).base) <= unit / 2


@given(st.decimals(-100, 100, places=4), st.decimals("-0.005", "0.005", places=4), st.sampled_from(Rounding))
def test_half_a_unit_is_the_most_that_is_left(exact: Decimal, remainder: Decimal, rounding: Rounding) -> None:
    found = rounded_with(exact, remainder, "EUR", rounding)
    assert abs(exact + remainder - found) <= Decimal("0.005")
    assert rounded_with(-exact, -remainder, "EUR", rounding) == -found
