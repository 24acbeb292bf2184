"""The figures of a statement."""

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.model.money import Rounding
from quarterhour.registry.agencies.agency import STANDARD, TaxProfile
from quarterhour.statements.document.amounts import Amounts, proceeds
from quarterhour.statements.document.tax import Taxable, taxed
from quarterhour.statements.drafts.figures import (
    MAX_TERMS,
    AccountSums,
    BaseFigures,
    Kind,
    LastRate,
    Sum,
    kind_of,
)

STANDARD_20 = TaxProfile(STANDARD, Decimal(20))


def some(amount: str, commission: str = "0", lines: int = 1) -> Sum:
    return Sum(lines, Decimal(amount), Decimal(commission))


def sums_of(**kinds: tuple[str, str]) -> AccountSums:
    sums = AccountSums()
    for kind, figures in kinds.items():
        sums.add((Kind(kind), False), "2026-11-03", ("card 1", "0.1"), "2026-11-03", some(*figures))
    return sums


def amounts_of(sums: AccountSums, profile: TaxProfile | None, currency: str = "GBP", *, opening: str = "0") -> Amounts:
    """Return the amounts of sums that are all taxed by one profile."""
    return Amounts.of(
        sums, Decimal(opening), taxed({Taxable(date(2026, 11, 30)): sums.commission}, currency, lambda _: profile)
    )


def test_what_a_line_is_depends_on_its_type_and_kind() -> None:
    assert kind_of("sale.recorded", "", "sale") is Kind.SALES
    assert kind_of("sale.voided", "", "sale") is Kind.VOIDS
    assert kind_of("sale.refunded", "", "sale") is Kind.REFUNDS
    assert kind_of("sale.voided", "", "refund") is Kind.REFUNDS, "it takes a refund back"
    assert kind_of("adjustment.recorded", "", "event") is Kind.ADJUSTMENTS
    assert kind_of("adjustment.recorded", "opening", "event") is Kind.BROUGHT_FORWARD
    assert kind_of("payment.recorded", "", "payment") is Kind.PAYMENTS
    assert kind_of("view.recorded", "", "event") is Kind.OTHER


def test_the_last_exchange_rate_in_the_period_counts_and_without_one_the_last_after_it() -> None:
    early, late, after, later = (
        LastRate(is_in_period, quarter_hour, Decimal(units), "ecb", "2026-10-31T15:00:00.000Z")
        for is_in_period, quarter_hour, units in (
            (True, "202611010000", "0.7"),
            (True, "202611302345", "0.8"),
            (False, "202612010000", "0.9"),
            (False, "202612020000", "1.0"),
        )
    )
    base = BaseFigures()
    for seen, kept in ((None, None), (after, after), (later, later), (early, early), (after, early), (late, late)):
        base += BaseFigures(rate=seen)
        assert base.rate == kept
        assert BaseFigures.of(base.as_list()) == base
    base += BaseFigures(rate=early)
    assert base.rate == late


def test_net_that_the_marketplace_collects_is_rounded_once_and_taken_from_what_the_agency_owes() -> None:
    assert not any(proceeds(Decimal(0), "EUR", Rounding.HALF_UP))
    for net, currency, rounding, amount, rest in (
        ("100.005", "EUR", Rounding.HALF_UP, "100.01", "-0.005"),
        ("100.005", "EUR", Rounding.HALF_EVEN, "100.00", "0.005"),
        ("100.5", "JPY", Rounding.HALF_UP, "101", "-0.5"),
    ):
        assert tuple(map(str, proceeds(Decimal(net), currency, rounding))) == (amount, rest)
    sums = sums_of(sales=("100.005", "10"), payments=("-80", "0"))
    found = Amounts.of(sums, Decimal(5), [], proceeds(sums.net, "EUR", Rounding.HALF_EVEN))
    assert (found.proceeds, found.closing) == (Decimal("100.00"), Decimal("-15.00"))


def test_net_is_the_sum_of_what_was_sold_and_payments_are_no_part_of_it() -> None:
    sums = sums_of(
        sales=("100", "10"),
        voids=("-20", "-2"),
        refunds=("-5.5", "-0.55"),
        adjustments=("1", "0.1"),
        payments=("30", "0"),
        brought_forward=("0", "4.005"),
    )
    amounts = amounts_of(sums, STANDARD_20, opening="2.50")
    assert amounts.net == Decimal("75.5")
    assert (amounts.commission_exact, amounts.commission, amounts.tax) == (
        Decimal("7.55"),
        Decimal("7.55"),
        Decimal("1.51"),
    )
    assert (amounts.opening, amounts.payments) == (Decimal("6.505"), Decimal(30))
    assert amounts.closing == Decimal("6.505") + Decimal("7.55") + Decimal("1.51") - 30


@pytest.mark.parametrize(
    ("exact", "currency", "rounded"),
    [
        ("0.005", "GBP", "0.00"),
        ("0.015", "GBP", "0.02"),
        ("2.5", "JPY", "2"),
        ("3.5", "JPY", "4"),
        ("0.0005", "BHD", "0.000"),
    ],
)
def test_commission_is_rounded_half_to_even_to_the_minor_unit(exact: str, currency: str, rounded: str) -> None:
    amounts = amounts_of(sums_of(sales=("10", exact)), None, currency)
    assert str(amounts.commission) == rounded


def test_many_lines_are_rounded_once() -> None:
    sums = AccountSums()
    for _ in range(3):
        sums.add((Kind.SALES, False), "2026-11-03", ("", "0.1"), "2026-11-03", some("0.04", "0.004"))
    assert amounts_of(sums, None).commission == Decimal("0.01")


def test_terms_beyond_those_listed_are_counted() -> None:
    first, second = AccountSums(), AccountSums()
    for number in range(MAX_TERMS + 2):
        first.add((Kind.SALES, False), "2026-11-03", ("event", f"0.{number}"), "", some("1", "0.1", lines=3))
        second.add((Kind.SALES, False), "2026-11-04", ("event", f"0.{MAX_TERMS + 1 - number}"), "", some("1", "0.1"))
    sums = AccountSums()
    sums += first
    sums += second
    assert (len(sums.terms), sums.further_terms) == (MAX_TERMS, 8)
    assert {one.lines for one in sums.terms.values()} == {4}, "the sums of the terms that are listed are complete"


Parts = list[tuple[tuple[Kind, bool], str, tuple[str, str], str, Sum]]
decimals = st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-10_000, max_value=10_000)
figures = st.builds(Sum, st.integers(1, 5), decimals, decimals)
entries = st.lists(
    st.tuples(
        st.tuples(st.sampled_from(Kind), st.booleans()),
        st.sampled_from(["2026-11-01", "2026-11-02", ""]),
        st.tuples(st.sampled_from(["card 1", "event"]), st.sampled_from(["0.1", "0.2"])),
        st.sampled_from(["2026-10-31", "2026-11-01"]),
        figures,
    ),
    max_size=12,
)


def added(parts: Parts) -> AccountSums:
    sums = AccountSums()
    for part in parts:
        sums.add(*part)
    return sums


@given(entries, st.integers(0, 12))
def test_sums_of_parts_add_up_to_the_sums_of_all(parts: Parts, at: int) -> None:
    together = added(parts[:at])
    together += added(parts[at:])
    assert together == added(parts)
    assert together.lines == sum(one.lines for *_, one in parts)


@given(entries)
def test_stored_sums_are_the_sums(parts: Parts) -> None:
    sums = added(parts)
    sums.base = BaseFigures(missing={"202611010130"})
    sums.base.add(Kind.SALES, Decimal(1), Decimal("0.1"), Decimal("1.3"))
    assert AccountSums.of(sums.as_dict()) == sums
