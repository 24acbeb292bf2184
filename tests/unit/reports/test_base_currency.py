"""Conversion to the base currency: exact, rounded once, with a note where an exchange rate is missing."""

import csv
import io
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.aws.items import from_item, to_item
from quarterhour.model import money
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.model.totals import Totals
from quarterhour.registry.exchange_rates.exchange_rate import ExchangeRate
from quarterhour.reports.base_currency import (
    Pins,
    convert,
    converted_rows,
    foreign_currencies,
    pins_as_list,
    pins_of,
)
from quarterhour.reports.manifest import summary
from quarterhour.reports.plan import PartTotals, RunTotals, SummaryTotals
from tests.support.builders import AT, QUARTER_HOUR, amounts

EUR = "EUR"
OCTOBER = Period(2026, 10)


def rate(units: str) -> ExchangeRate:
    return ExchangeRate(Decimal(units), "ECB", EUR, AT)


def sold(
    currency: str, gross: str, refunds: str = "0", commission: str = "0", period: Period = OCTOBER
) -> SummaryTotals:
    return {(Account("42", currency), period): Totals(1, Decimal(gross), Decimal(refunds), Decimal(commission))}


def paid(currency: str, payments: str) -> SummaryTotals:
    return {(Account("42", currency), OCTOBER): Totals(1, payments=Decimal(payments))}


def rows(*quarter_hours: tuple[SummaryTotals, Pins], base: str = EUR) -> list[dict[str, str]]:
    """Return the summary of quarter-hours that follow each other."""
    totals, pinned = RunTotals.of([]), {}
    quarter_hour = QUARTER_HOUR
    for tally, pins in quarter_hours:
        totals.rows[quarter_hour] = {}
        totals.add(quarter_hour, PartTotals(tally))
        pinned[quarter_hour] = pins
        quarter_hour = quarter_hour.next
    conversion = convert(base, totals.rows, lambda one, *_: pinned[one])
    written = summary(totals, conversion).decode()
    return list(csv.DictReader(io.StringIO(written, newline="")))


def shown(row: Mapping[str, str]) -> tuple[str, ...]:
    figures = (row[f"{name}_in_base_rounded_half_even"] for name in ("gross", "refunds", "net", "commission"))
    return (row["base_currency"], *figures, row["base_note"])


def test_each_quarter_hour_is_converted_at_its_own_exchange_rate() -> None:
    (row,) = rows(
        (sold("GBP", "100", "-20", "10"), {"GBP": rate("0.8")}),
        (sold("GBP", "100", "0", "10"), {"GBP": rate("0.5")}),
    )
    assert shown(row) == ("EUR", "325.00", "-25.00", "300.00", "32.50", "")
    assert (row["gross"], row["net"], row["commission"]) == ("200", "180", "20"), "its own currency stays exact"


def test_payments_are_converted_as_every_figure() -> None:
    payment = paid("GBP", "100.005"), {"GBP": rate("0.8")}
    (row,) = rows(payment)
    assert (row["payments"], row["payments_in_base_rounded_half_even"]) == ("100.005", "125.01")
    assert (row["gross_in_base_rounded_half_even"], row["net_in_base_rounded_half_even"]) == ("0.00", "0.00")


def test_only_the_sum_is_rounded() -> None:
    """A third of a cent, three times, is a cent; each of them rounded would be nothing."""
    third = (sold("GBP", "0.01"), {"GBP": rate("3")})
    (row,) = rows(third, third, third)
    assert row["gross_in_base_rounded_half_even"] == "0.01"


@pytest.mark.parametrize(
    ("gross", "units", "base", "rounded"),
    [
        ("0.025", "1", "EUR", "0.02"),
        ("0.035", "1", "EUR", "0.04"),
        ("-0.025", "1", "EUR", "-0.02"),
        ("0.005", "2", "EUR", "0.00"),
        ("-0.001", "1", "EUR", "0.00"),
        ("2.5", "1", "JPY", "2"),
        ("0.0025", "1", "KWD", "0.002"),
        ("1", "3", "EUR", "0.33"),
        ("99999999999999999999999999999999999.99", "0.01", "EUR", "9999999999999999999999999999999999999.00"),
    ],
)
def test_a_figure_is_rounded_half_even_to_the_minor_unit_of_the_base(
    gross: str, units: str, base: str, rounded: str
) -> None:
    tally = sold("GBP", gross) if not gross.startswith("-") else sold("GBP", "0", gross)
    (row,) = rows((tally, {"GBP": rate(units)}), base=base)
    assert row["net_in_base_rounded_half_even"] == rounded


@given(st.lists(st.tuples(amounts(), amounts(12).filter(lambda units: units > 0)), min_size=1, max_size=5))
def test_the_sum_is_exact_at_any_exchange_rates(quarter_hours: list[tuple[Decimal, Decimal]]) -> None:
    exact = sum((Fraction(amount) / Fraction(units) for amount, units in quarter_hours), Fraction(0))
    row: tuple[Account, Period] = Account("42", "GBP"), OCTOBER
    tallies = []
    quarter_hour = QUARTER_HOUR
    for amount, units in quarter_hours:
        tally = {row: Totals().plus(amount, Decimal(0))}
        tallies.append((quarter_hour, tally, {"GBP": ExchangeRate(units, "ECB", EUR, AT)}))
        quarter_hour = quarter_hour.next
    found = converted_rows(tallies, EUR)[row]
    assert found.figures[2] == exact
    rounded = found.rounded(EUR)
    assert rounded
    assert abs(Fraction(rounded[2]) - exact) <= Fraction(1, 200)


def test_the_base_currency_and_no_currency_need_no_exchange_rate() -> None:
    tally = {**sold("EUR", "12.345", "0", "1.005"), **sold("XXX", "0")}
    assert foreign_currencies(tally, EUR) == []
    euros, views = rows((tally, {}))
    assert shown(euros) == ("EUR", "12.34", "0.00", "12.34", "1.00", "")
    assert shown(views) == ("EUR", "0.00", "0.00", "0.00", "0.00", "")


def test_without_an_exchange_rate_the_columns_are_empty_and_a_note_names_it() -> None:
    good = (sold("GBP", "100"), {"GBP": rate("0.8")})
    bad = ({**sold("GBP", "100"), **sold("USD", "5")}, {"GBP": None, "USD": rate("1.1")})
    pounds, dollars = rows(good, bad, bad)
    note = "no rate of GBP at the end of 202610230145 202610230200"
    assert shown(pounds) == ("EUR", "", "", "", "", note), "never a sum of those that could be converted"
    assert shown(dollars) == ("EUR", "9.09", "0.00", "9.09", "0.00", "")
    assert pounds["gross"] == "300"


def test_each_period_is_converted_and_rounded_alone() -> None:
    """Half a cent in each month is nothing, though both make a cent."""
    both = {**sold("GBP", "0.005"), **sold("GBP", "0.005", period=Period(2026, 9))}, {"GBP": rate("1")}
    figures = [(row["period"], row["gross_in_base_rounded_half_even"]) for row in rows(both)]
    assert figures == [("2026-09", "0.00"), ("2026-10", "0.00")]


def test_without_a_base_currency_the_summary_has_no_columns_for_it() -> None:
    header = summary(RunTotals.of([])).decode().splitlines()[0]
    assert header.endswith("commission,commission_rounded_half_even,payments,charges")


def test_pinned_exchange_rates_are_parsed_as_they_were_stored() -> None:
    pins = {"USD": rate("1.10"), "GBP": None}
    stored = from_item(to_item({"rates": pins_as_list(pins)}))["rates"]
    assert pins_of(stored, EUR) == pins
    assert pins_as_list(pins) == [
        {"currency": "GBP", "units_per_base": None},
        {"currency": "USD", "units_per_base": "1.10", "source": "ECB", "as_of": "2026-10-23T01:30:12.345Z"},
    ]


half_units = st.integers(-10_000, 10_000).map(lambda number: Decimal(number).scaleb(-4))


@given(amounts() | half_units, st.sampled_from(["EUR", "JPY", "KWD"]), st.sampled_from(money.Rounding))
def test_a_decimal_is_rounded_as_on_a_statement(amount: Decimal, currency: str, rounding: money.Rounding) -> None:
    found = money.rounded(Fraction(amount), currency, rounding)
    assert str(found) == str(money.on_statement(amount, currency, rounding))
