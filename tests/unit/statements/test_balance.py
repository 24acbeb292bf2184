"""Balances and previews, pure: every line is either in a closing balance or unbilled."""

from datetime import date
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from quarterhour.agencies.agency import EXEMPT, STANDARD, TaxProfile
from quarterhour.model import money
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import Totals, total
from quarterhour.statements.balance import Balance, OpenPeriod, StatementSummary, Unbilled, of_periods, previews
from quarterhour.statements.figures import Amounts
from tests.support.builders import amounts
from tests.support.stored_statements import listed, plan_of

VAT = TaxProfile(STANDARD, Decimal(20))
UNTAXED = TaxProfile(EXEMPT)
OCTOBER = Period(2026, 10)


def totals(commission: str, payments: str = "0", gross: str = "0", refunds: str = "0") -> Totals:
    return Totals(1, Decimal(gross), Decimal(refunds), Decimal(commission), Decimal(payments))


def sealed(period: Period, closing: str, commission: str, payments: str = "0", **more: Any) -> StatementSummary:
    figures = {"brought_forward": "0", "net": "0", **more}
    found = listed(closing=closing, commission_exact=commission, payments=payments, **figures)
    item = found.as_item(period, QuarterHour.parse("202611040000"))
    return StatementSummary.of(item)


def balance(found: Unbilled, profile: TaxProfile = UNTAXED, collects: str = "agency") -> Balance:
    """Return the balance of what is unbilled."""
    months = [OpenPeriod(period.next.first_day, one, collects) for period, one in found.periods.items()]
    return Balance.of(found.closing, previews(months, found.closing, "GBP", lambda _: profile))


def test_before_the_first_statement_everything_is_unbilled() -> None:
    found = Unbilled.of([], {OCTOBER: totals("12.34", "2")}, OCTOBER)
    assert (found.last, balance(found).amount) == (None, Decimal("10.34"))


def test_after_a_statement_the_rest_is_rounded_and_taxed_as_its_own_statement_will_be() -> None:
    october = sealed(OCTOBER, "10.81", "12.345", "4")
    counted = {OCTOBER: totals("12.345", "4"), OCTOBER.next: totals("1.105", "1")}
    found = balance(Unbilled.of([october], counted, OCTOBER.next), VAT)
    assert found == Balance(Decimal("10.81"), Decimal("1.10"), Decimal("0.22"), Decimal(0), Decimal(1))
    assert found.amount == Decimal("11.13")


def test_each_open_period_is_rounded_and_taxed_by_itself() -> None:
    counted = {OCTOBER: totals("0.125"), OCTOBER.next: totals("0.125")}
    found = balance(Unbilled.of([], counted, OCTOBER), VAT)
    assert (found.commission, found.tax, found.amount) == (Decimal("0.24"), Decimal("0.04"), Decimal("0.28"))


def test_a_late_line_of_a_sealed_period_is_unbilled_until_the_next_statement() -> None:
    counted = {OCTOBER: totals("3"), OCTOBER.next: totals("2")}
    found = Unbilled.of([sealed(OCTOBER, "1.00", "1")], counted, OCTOBER.next)
    assert (list(found.periods), balance(found).amount) == ([OCTOBER.next], Decimal("5.00"))


def test_what_was_brought_forward_is_in_the_closing_balance_alone() -> None:
    october = sealed(OCTOBER, "107.20", "6", brought_forward="100")
    assert balance(Unbilled.of([october], {OCTOBER: totals("106")}, OCTOBER.next)).amount == Decimal("107.20")


def test_the_last_statement_counts_whatever_their_order() -> None:
    both = [sealed(OCTOBER.next, "3.00", "2"), sealed(OCTOBER, "1.00", "1")]
    found = Unbilled.of(both, {OCTOBER: totals("3")}, OCTOBER.next.next)
    assert (found.last, balance(found).amount) == (both[0], Decimal("3.00"))


@given(st.dictionaries(st.integers(1, 12), st.tuples(amounts(), amounts()), max_size=6), st.integers(1, 12))
def test_what_is_unbilled_in_all_periods_is_what_is_counted_and_on_no_statement(
    lines: dict[int, tuple[Decimal, Decimal]], first: int
) -> None:
    counted = {Period(2026, month): totals(str(one), str(paid)) for month, (one, paid) in lines.items()}
    statements = [sealed(Period(2025, 12), "1.00", "7", "3")]
    found = Unbilled.of(statements, counted, Period(2026, first))
    assert total(found.periods.values()) == total(counted.values()) - statements[0].charged
    assert min(found.periods) == Period(2026, first)
    assert Unbilled.as_of(statements, total(counted.values()), OCTOBER).periods == {
        OCTOBER: total(found.periods.values())
    }


def test_periods_of_before_the_first_one_get_no_statements() -> None:
    counted = {OCTOBER.previous: totals("5"), OCTOBER: totals("1")}
    assert of_periods(counted, OCTOBER) == {OCTOBER: counted[OCTOBER]}
    assert of_periods(counted, None) == counted


def preview(months: list[Totals], closing: str, currency: str, profile: TaxProfile | None) -> Amounts:
    """Return the amounts of the last of some months."""
    dated = [OpenPeriod(date(2026, 9 + index, 30), month) for index, month in enumerate(months)]
    *_, last = previews(dated, Decimal(closing), currency, lambda _: profile)
    return last.amounts


def test_a_preview_rounds_and_taxes_as_the_statement_will() -> None:
    found = preview([totals("12.345", "4", "100", "-1.5")], "1.00", "GBP", VAT)
    assert (found.opening, found.net, found.commission_exact) == (Decimal(1), Decimal("98.5"), Decimal("12.345"))
    assert (found.commission, found.tax, found.closing) == (Decimal("12.34"), Decimal("2.47"), Decimal("11.81"))


def test_a_preview_rounds_half_up_where_statements_do() -> None:
    months = [OpenPeriod(date(2026, 9, 30), totals("1.025"))]
    (found,) = previews(months, money.ZERO, "GBP", lambda _: VAT, money.Rounding.HALF_UP)
    assert (found.amounts.commission, found.amounts.tax) == (Decimal("1.03"), Decimal("0.21"))


def test_a_preview_of_a_currency_without_minor_unit_has_none() -> None:
    found = preview([totals("12.5")], "0", "JPY", VAT)
    assert (str(found.commission), str(found.tax)) == ("12", "2")


def test_each_previewed_period_passes_its_closing_balance_on() -> None:
    found = preview([totals("1.005"), totals("2"), totals("0", "1")], "1.00", "GBP", TaxProfile(EXEMPT))
    assert (found.opening, found.closing) == (Decimal("4.00"), Decimal("3.00"))


def test_each_previewed_period_is_taxed_by_the_profile_of_its_own_date() -> None:
    profiles = {date(2026, 10, 31): VAT, date(2026, 11, 20): TaxProfile(EXEMPT)}
    months = [OpenPeriod(day, totals("10")) for day in profiles]
    october, november = previews(months, money.ZERO, "GBP", profiles.get)
    assert (october.amounts.tax, november.amounts.tax) == (Decimal("2.00"), Decimal("0.00"))
    assert [row.scheme for row in november.taxes] == ["exempt"]


def test_a_preview_of_an_agency_whose_sales_the_marketplace_collects_takes_them_from_what_it_owes() -> None:
    sold = totals("10.0005", "-50", "120.005", "-20")
    months = [OpenPeriod(date(2026, 10, 31), sold, "marketplace"), OpenPeriod(date(2026, 11, 20), sold)]
    first, second = previews(months, Decimal("5.00"), "EUR", lambda _: VAT)
    assert (first.amounts.commission, first.amounts.tax) == (Decimal("10.00"), Decimal("2.00"))
    assert (str(first.amounts.proceeds), first.amounts.closing) == ("100.00", Decimal("-33.00"))  # 100.005, half even
    assert (str(second.amounts.proceeds), second.amounts.closing) == ("0.00", Decimal("29.00"))


def test_a_balance_counts_the_sales_that_the_marketplace_collected_and_has_on_no_statement() -> None:
    october = sealed(OCTOBER, "-87.90", "10.0005", net="100.005")
    counted = {OCTOBER: totals("12.0005", "-87.90", "125.005", "-5")}
    unbilled = Unbilled.of([october], counted, OCTOBER.next)
    by_marketplace = balance(unbilled, collects="marketplace")
    assert by_marketplace.proceeds == Decimal("20.00")
    assert by_marketplace.amount == Decimal("-18.00")  # -87.90 + 2.00 - 20.00 + 87.90
    by_agency = balance(unbilled)
    assert (by_agency.proceeds, by_agency.amount) == (Decimal(0), Decimal("2.00"))


def test_the_period_of_a_statement_orders_it_before_its_number() -> None:
    assert sealed(OCTOBER, "1", "1") < sealed(OCTOBER.next, "0", "0")
    assert sealed(OCTOBER, "1", "1").bound == QuarterHour.parse("202611040000") == plan_of().bound
