"""Balances and previews, pure: every line is either in a closing balance or unbilled."""

from datetime import date
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from quarterhour.agencies.agency import EXEMPT, STANDARD, TaxProfile
from quarterhour.model import money
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import Totals
from quarterhour.statements.balance import Balance, StatementSummary, of_periods, previews
from quarterhour.statements.figures import Amounts
from tests.support.builders import amounts
from tests.support.stored_statements import listed, plan_of

VAT = TaxProfile(STANDARD, Decimal(20))
OCTOBER = Period(2026, 10)


def totals(commission: str, payments: str = "0", gross: str = "0", refunds: str = "0") -> Totals:
    return Totals(1, Decimal(gross), Decimal(refunds), Decimal(commission), Decimal(payments))


def sealed(period: Period, closing: str, commission: str, payments: str = "0", opening: str = "0") -> StatementSummary:
    found = listed(closing=closing, commission_exact=commission, payments=payments, brought_forward=opening)
    item = found.as_item(period, QuarterHour.parse("202611040000"))
    return StatementSummary.of(item)


def test_before_the_first_statement_everything_is_unbilled() -> None:
    found = Balance.of([], totals("12.345", "2"), Totals())
    assert (found.last, found.amount) == (None, Decimal("10.345"))


def test_after_a_statement_its_rounding_and_tax_count_and_the_rest_is_exact() -> None:
    october = sealed(OCTOBER, "10.81", "12.345", "4")
    found = Balance.of([october], totals("13.445", "5"), Totals())
    assert (found.unbilled.commission, found.unbilled.payments) == (Decimal("1.100"), Decimal(1))
    assert found.amount == Decimal("10.910")


def test_a_late_line_of_a_sealed_period_is_unbilled_until_the_next_statement() -> None:
    counted = of_periods({OCTOBER: totals("3"), OCTOBER.next: totals("2")}, OCTOBER)
    assert Balance.of([sealed(OCTOBER, "1.00", "1")], counted, Totals()).amount == Decimal("5.00")


def test_what_was_brought_forward_is_in_the_closing_balance_alone() -> None:
    october = sealed(OCTOBER, "107.20", "6", opening="100")
    assert Balance.of([october], totals("106"), Totals()).amount == Decimal("107.20")


def test_the_last_statement_counts_whatever_their_order() -> None:
    both = [sealed(OCTOBER.next, "3.00", "2"), sealed(OCTOBER, "1.00", "1")]
    found = Balance.of(both, totals("3"), Totals())
    assert (found.last, found.amount) == (both[0], Decimal("3.00"))


@given(st.lists(st.tuples(amounts(), amounts()), max_size=6), amounts(), amounts())
def test_a_past_balance_is_the_present_one_without_what_was_recorded_since(
    lines: list[tuple[Decimal, Decimal]], commission: Decimal, payments: Decimal
) -> None:
    counted = Totals()
    for one, paid in lines:
        counted += totals(str(one), str(paid))
    later = totals(str(commission), str(payments))
    assert Balance.of([], counted + later, later).amount == Balance.of([], counted, Totals()).amount


def test_periods_of_before_the_first_one_get_no_statements() -> None:
    counted = {OCTOBER.previous: totals("5"), OCTOBER: totals("1")}
    assert of_periods(counted, OCTOBER).commission == 1
    assert of_periods(counted, None).commission == 6


def preview(months: list[Totals], closing: str, currency: str, profile: TaxProfile | None) -> Amounts:
    """Return the amounts of the last of some months."""
    dated = zip((date(2026, 9 + month, 30) for month in range(3)), months, strict=False)
    *_, last = previews(dated, Decimal(closing), currency, lambda _: profile)
    return last.amounts


def test_a_preview_rounds_and_taxes_as_the_statement_will() -> None:
    found = preview([totals("12.345", "4", "100", "-1.5")], "1.00", "GBP", VAT)
    assert (found.opening, found.net, found.commission_exact) == (Decimal(1), Decimal("98.5"), Decimal("12.345"))
    assert (found.commission, found.tax, found.closing) == (Decimal("12.34"), Decimal("2.47"), Decimal("11.81"))


def test_a_preview_rounds_half_up_where_statements_do() -> None:
    months = [(date(2026, 9, 30), totals("1.025"))]
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
    october, november = previews(
        zip(profiles, [totals("10"), totals("10")], strict=True), money.ZERO, "GBP", profiles.get
    )
    assert (october.amounts.tax, november.amounts.tax) == (Decimal("2.00"), Decimal("0.00"))
    assert [row.scheme for row in november.taxes] == ["exempt"]


def test_the_period_of_a_statement_orders_it_before_its_number() -> None:
    assert sealed(OCTOBER, "1", "1") < sealed(OCTOBER.next, "0", "0")
    assert sealed(OCTOBER, "1", "1").bound == QuarterHour.parse("202611040000") == plan_of().bound
