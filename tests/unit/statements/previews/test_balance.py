"""Balances and previews, pure: every line is either in a closing balance or unbilled."""

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from quarterhour.model import money
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import Totals
from quarterhour.registry.agencies.agency import EXEMPT, STANDARD, TaxProfile
from quarterhour.statements.document.amounts import Amounts
from quarterhour.statements.listing import Document
from quarterhour.statements.previews.balance import (
    Balance,
    Billed,
    Carried,
    OpenPeriod,
    Preview,
    not_drafted,
    of_periods,
    previews,
)
from tests.support import stored_statements as stored
from tests.support.builders import amounts

VAT = TaxProfile(STANDARD, Decimal(20))
OCTOBER = Period(2026, 10)
BOUND = QuarterHour.parse("202611040000")


def totals(commission: str, payments: str = "0", gross: str = "0", refunds: str = "0") -> Totals:
    return Totals(1, Decimal(gross), Decimal(refunds), Decimal(commission), Decimal(payments))


AT = datetime(2026, 12, 31, tzinfo=UTC)


def item(period: Period, *documents: Document) -> dict[str, Any]:
    """Return the item of a statement with these documents."""
    values = [replace(one, period=period).as_dict() for one in documents]
    return {"period": str(period), "bound": str(BOUND), "documents": values}


def document(number: str, release: int, closing: str, day: int, **more: str) -> Document:
    """Return a document over three lines that a release of a day in November makes."""
    one = stored.document(number=number, closing=closing, **more)
    return replace(one, release=release, planned_at=f"2026-11-{day:02d}T10:00:00.000Z", lines=3)


def cancelling(one: Document, release: int, day: int) -> Document:
    """Return the document that cancels another one, and leaves nothing to be paid."""
    return replace(document("C-000001", release, "0.00", day), cancels=one.number)


def sealed(period: Period, closing: str, commission: str, payments: str = "0", **more: str) -> Billed:
    """Return what an account was billed with one statement."""
    one = document("S-000001", 1, closing, 5, commission_exact=commission, payments=payments, **more)
    return billed(item(period, one), last=last_item(1, **{f"m{period.month:02d}": 1}))


def last_item(release: int, **revisions: int) -> dict[str, Any]:
    """Return the item with the last document; ``revisions``: by month, such as ``m10``."""
    return {"release": release, "revisions": {f"2026-{month[1:]}": number for month, number in revisions.items()}}


def billed(*statements: dict[str, Any], last: dict[str, Any] | None = None, at: datetime = AT) -> Billed:
    return Billed.of(statements, last, at)


def balance(found: Billed, counted: Totals, *, collected: bool = False, percent: int = 0) -> Balance:
    """Return the balance of an account in GBP whose only open period has what is counted and not billed."""
    rest = counted - found.charged
    month = OpenPeriod(date(2026, 12, 31), rest, rest.net if collected else money.ZERO)
    profile = TaxProfile(STANDARD, Decimal(percent))
    return Balance.of(found.closing, previews([month], found.ends, "GBP", lambda _: profile))


def test_before_the_first_statement_everything_is_unbilled() -> None:
    assert balance(Billed(), totals("12.345", "2")).amount == Decimal("10.34")


def test_after_a_statement_the_rest_is_rounded_and_taxed_as_its_own_statement_will_be() -> None:
    found = balance(sealed(OCTOBER, "10.81", "12.345", "4"), totals("13.455", "5"), percent=20)
    assert (found.commission, found.tax, found.payments) == (Decimal("1.11"), Decimal("0.22"), Decimal(1))
    assert found.amount == Decimal("11.14")  # 10.81 + 1.11 + 0.22 - 1


def test_a_late_line_of_a_sealed_period_is_unbilled_until_the_next_statement() -> None:
    counted = of_periods({OCTOBER: totals("3"), OCTOBER.next: totals("2")}, OCTOBER)
    assert balance(sealed(OCTOBER, "1.00", "1"), counted).amount == Decimal("5.00")


def test_what_was_brought_forward_is_in_the_closing_balance_alone() -> None:
    found = sealed(OCTOBER, "107.20", "6", brought_forward="100")
    assert balance(found, totals("106")).amount == Decimal("107.20")


def test_what_a_draft_brings_forward_is_unbilled_and_untaxed() -> None:
    amounts_ = Amounts(
        Decimal("101.00"), Decimal(100), money.ZERO, Decimal(6), Decimal("6.00"), Decimal("1.20"), money.ZERO
    )
    found = Balance.of(Decimal("1.00"), [Preview(Totals(), amounts_, [])])
    assert (found.commission, found.tax) == (Decimal("106.00"), Decimal("1.20"))
    assert found.amount == amounts_.closing == Decimal("108.20")


def test_the_last_statement_counts_whatever_their_order() -> None:
    october = document("S-000001", 1, "1.00", 5, commission_exact="1")
    november = document("S-000002", 2, "3.00", 6, commission_exact="2")
    both = billed(item(OCTOBER.next, november), item(OCTOBER, october), last=last_item(2, m11=1))
    assert both.last == replace(november, period=OCTOBER.next)
    assert both.bound == BOUND
    assert sorted(both.with_statement) == [OCTOBER, OCTOBER.next]
    assert balance(both, totals("3")).amount == Decimal("3.00")


def test_documents_count_from_their_releases_on_and_a_cancelled_statement_charges_nothing() -> None:
    first = document("S-000001", 1, "12.00", 5, commission_exact="10", payments="4")
    again = document("S-000002", 3, "10.00", 7, commission_exact="10")
    october = item(OCTOBER, first, cancelling(first, 2, 6), again)
    last = last_item(3, m10=3)

    def at(day: int) -> tuple[object, ...]:
        found = billed(october, last=last, at=datetime(2026, 11, day, 12, tzinfo=UTC))
        sums = found.charged
        return found.last.number if found.last else None, found.closing, sums.commission, sums.events, sums.payments

    assert at(4) == (None, 0, 0, 0, 0)
    assert at(5) == ("S-000001", 12, 10, 3, 4)
    assert at(6) == ("C-000001", 0, 0, 0, 4)
    assert at(7) == ("S-000002", 10, 10, 3, 4)


def test_the_documents_of_a_release_count_together() -> None:
    made = document("S-000001", 1, "1.00", 5)
    october, november = item(OCTOBER, made), item(OCTOBER.next, document("S-000002", 2, "3.00", 6))
    cancelled = cancelling(made, 2, 6)
    last = last_item(2, m10=2, m11=1)
    assert billed(october, november, last=last).with_statement == {OCTOBER}, "the cancellation is not written yet"
    assert billed(october, last=last).closing == 1
    october = item(OCTOBER, made, cancelled)
    complete = billed(october, november, last=last)
    assert (list(complete.with_statement), complete.closing) == ([OCTOBER.next], Decimal(3)), (
        "a release cancels before it states"
    )
    assert billed(october, november, last=last_item(1, m10=1)).closing == 1, "the last document was read before"


def test_lines_that_came_after_the_bound_of_their_drafts_are_in_none() -> None:
    counted = Totals(5, Decimal(100), Decimal(-10), Decimal(9), Decimal(4))
    drafted = Totals(3, Decimal(70), Decimal(0), Decimal(7), Decimal(1))
    assert not_drafted(counted, drafted) == Totals(2, Decimal(20), Decimal(0), Decimal(2), Decimal(3))
    assert not_drafted(drafted, counted) == Totals(-2, Decimal(0), Decimal(-20), Decimal(-2), Decimal(-3))


@given(st.lists(st.tuples(amounts(), amounts(), amounts()), min_size=1, max_size=6), amounts())
def test_a_balance_is_the_closing_balance_of_the_last_preview(
    lines: list[tuple[Decimal, Decimal, Decimal]], closing: Decimal
) -> None:
    months = [
        OpenPeriod(date(2026, 12, 31), totals(str(one), str(paid), str(gross)), part)
        for (one, paid, gross), part in zip(lines, [money.ZERO, Decimal("1.005")] * 3, strict=False)
    ]
    found = list(previews(months, Carried(closing), "GBP", lambda _: VAT))
    assert Balance.of(closing, found).amount == found[-1].amounts.closing


def test_periods_of_before_the_first_one_get_no_statements() -> None:
    counted = {OCTOBER.previous: totals("5"), OCTOBER: totals("1")}
    assert of_periods(counted, OCTOBER).commission == 1
    assert of_periods(counted, None).commission == 6


def preview(months: list[Totals], closing: str, currency: str, profile: TaxProfile | None) -> Amounts:
    """Return the amounts of the last of some months."""
    dated = [OpenPeriod(date(2026, 9 + index, 30), month) for index, month in enumerate(months)]
    *_, last = previews(dated, Carried(Decimal(closing)), currency, lambda _: profile)
    return last.amounts


def test_a_preview_rounds_and_taxes_as_the_statement_will() -> None:
    found = preview([totals("12.345", "4", "100", "-1.5")], "1.00", "GBP", VAT)
    assert (found.opening, found.net, found.commission_exact) == (Decimal(1), Decimal("98.5"), Decimal("12.345"))
    assert (found.commission, found.tax, found.closing) == (Decimal("12.34"), Decimal("2.47"), Decimal("11.81"))


def test_a_preview_rounds_half_up_where_statements_do() -> None:
    months = [OpenPeriod(date(2026, 9, 30), totals("1.025"))]
    (found,) = previews(months, Carried(), "GBP", lambda _: VAT, money.Rounding.HALF_UP)
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
    october, november = previews(months, Carried(), "GBP", profiles.get)
    assert (october.amounts.tax, november.amounts.tax) == (Decimal("2.00"), Decimal("0.00"))
    assert [row.scheme for row in november.taxes] == ["exempt"]


def test_a_preview_of_an_agency_whose_sales_the_marketplace_collects_takes_them_from_what_it_owes() -> None:
    sold = totals("10.0005", "-50", "120.005", "-20")
    months = [OpenPeriod(date(2026, 10, 31), sold, sold.net), OpenPeriod(date(2026, 11, 20), sold)]
    first, second = previews(months, Carried(Decimal("5.00")), "EUR", lambda _: VAT)
    assert (first.amounts.commission, first.amounts.tax) == (Decimal("10.00"), Decimal("2.00"))
    assert (str(first.amounts.proceeds), first.amounts.closing) == ("100.00", Decimal("-33.00"))  # 100.005, half even
    assert (str(second.amounts.proceeds), second.amounts.closing) == ("0.00", Decimal("29.00"))


def test_a_balance_counts_the_sales_that_the_marketplace_collected_and_has_on_no_statement() -> None:
    found = sealed(OCTOBER, "-87.90", "10.0005", net="100.005")
    counted = totals("12.0005", "-87.90", "125.005", "-5")
    by_marketplace = balance(found, counted, collected=True)
    assert by_marketplace.proceeds == Decimal("20.00")
    assert by_marketplace.amount == Decimal("-18.00")  # -87.90 + 2.00 - 20.00 + 87.90
    by_agency = balance(found, counted)
    assert (by_agency.proceeds, by_agency.amount) == (Decimal(0), Decimal("2.00"))


def test_each_previewed_period_takes_up_what_rounding_left_before() -> None:
    """The commission of 1.004 leaves 0.004 each time, so that of the third month has the cent."""
    months = [
        OpenPeriod(date(2026, 9 + index, 30), totals("1.004", gross="10.004"), Decimal("10.004")) for index in range(3)
    ]
    found = list(previews(months, Carried(), "GBP", lambda _: VAT))
    assert [str(one.amounts.commission) for one in found] == ["1.00", "1.01", "1.00"]
    assert [str(one.amounts.proceeds) for one in found] == ["10.00", "10.01", "10.00"]
    carried = found[0].ends
    (second,) = previews(months[1:2], carried, "GBP", lambda _: VAT)
    assert second.amounts == found[1].amounts
    assert Balance.of(money.ZERO, found).amount == found[-1].ends.closing
