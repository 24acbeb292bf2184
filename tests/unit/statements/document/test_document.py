"""The document of a statement: its tax, its parties, its terms, and its figures in the base currency."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from quarterhour.model.clock import iso_millis
from quarterhour.model.identifiers import Account
from quarterhour.model.money import Rounding
from quarterhour.model.periods import Calendar, time_zone
from quarterhour.registry.agencies.agency import OUTSIDE_SCOPE, REVERSE_CHARGE, STANDARD, Agency, TaxProfile, TaxRate
from quarterhour.registry.owner import Owner
from quarterhour.statements.document.statement import Statement
from quarterhour.statements.document.tax import Taxable, TaxNames
from quarterhour.statements.drafts.figures import AccountSums, BaseFigures, Kind, LastRate, Sum
from quarterhour.statements.listing import STATEMENT_DOCUMENT, SealedObject
from quarterhour.statements.parties import Parties
from quarterhour.statements.plan import StatementSettings
from quarterhour.statements.remainders import NOTHING
from tests.support.statement_plans import NOVEMBER, PLANNED_AT, plan

STANDARD_21, REVERSE = TaxProfile(STANDARD, Decimal(21)), TaxProfile(REVERSE_CHARGE)
ZONE = "Europe/Amsterdam"
AMSTERDAM = StatementSettings(Calendar(time_zone(ZONE), first_period=NOVEMBER), ZONE, "abc")
FILE = SealedObject("0" * 64, 100)


def statement(profile_at: Callable[[datetime], TaxProfile | None], *days: str) -> Statement:
    """Return a statement of a sale of 100 at 10 % on each day."""
    sums = AccountSums()
    for day in days:
        sums.add((Kind.SALES, False), day, ("default", "0.10"), day, Sum(1, Decimal(100), Decimal(10)))
    agency = Agency(datetime(2026, 1, 1, tzinfo=UTC))
    parties = Parties(Owner(), agency, lambda at: agency._replace(tax=profile_at(at)))
    made = Statement(plan(settings=AMSTERDAM), Account("42", "EUR"), sums, parties, iso_millis(PLANNED_AT))
    return replace(made, number="S-000001", kind=STATEMENT_DOCUMENT)


def changing(since: datetime) -> Callable[[datetime], TaxProfile | None]:
    """Return the profiles of an agency: standard, and reverse charge from an instant on."""
    return lambda at: REVERSE if at >= since else STANDARD_21


def document(of: Statement) -> dict[str, Any]:
    return of.content([], FILE)


def taxes(of: Statement) -> list[tuple[str, str]]:
    return [(row["scheme"], row["tax"]) for row in document(of)["taxes"]]


def test_a_tax_point_has_the_profile_that_is_valid_at_the_start_of_its_day_in_the_zone() -> None:
    midnight, minute_later = datetime(2026, 11, 14, 23, tzinfo=UTC), datetime(2026, 11, 14, 23, 1, tzinfo=UTC)
    sold = ("2026-11-14", "2026-11-15")
    assert taxes(statement(changing(midnight), *sold)) == [("standard", "2.10"), ("reverse_charge", "0.00")]
    assert taxes(statement(changing(minute_later), *sold)) == [("standard", "4.20")]


def test_a_profile_that_names_kinds_is_not_applied_without_the_kinds_of_the_lines() -> None:
    by_kind = STANDARD_21._replace(by_kind={"chargeback_fee": TaxRate(OUTSIDE_SCOPE)})
    without = statement(lambda _: by_kind, "2026-11-14")
    assert without.names == TaxNames(frozenset({"chargeback_fee"}))
    with pytest.raises(ValueError, match="the tax of 42#EUR depends on the kinds and categories of its lines"):
        document(without)
    fee = {Taxable(date(2026, 11, 14), "chargeback_fee"): Decimal(10)}
    assert taxes(replace(without, named=fee)) == [("outside_scope", "0.00")]


def test_the_parties_are_those_of_the_last_instant_of_the_period() -> None:
    assert plan(settings=AMSTERDAM).parties_at == datetime(2026, 11, 30, 22, 59, 59, 999_999, tzinfo=UTC)


def test_a_tax_point_without_a_profile_is_taxed_at_nothing() -> None:
    later = datetime(2026, 11, 9, 23, tzinfo=UTC)
    missing = document(statement(lambda at: STANDARD_21 if at >= later else None, "2026-11-09", "2026-11-10"))
    assert [(row["scheme"], row["base"], row["tax"]) for row in missing["taxes"]] == [
        (None, "10.00", "0.00"),
        ("standard", "10.00", "2.10"),
    ]
    assert (missing["commission"], missing["tax"]) == ("20.00", "2.10")


def test_a_cancellation_and_a_new_statement_name_the_statement_before_them() -> None:
    taxed = statement(lambda _: STANDARD_21, "2026-11-10")
    cancelled = {"number": "S-000001", "document": "statement", "issued_on": "2026-12-04", "carried": NOTHING.as_dict()}
    reversed_ = replace(taxed, number="C-000001", kind="credit_note", sums=taxed.sums.reversed(), cancels=cancelled)
    shown = document(reversed_)
    assert (shown["cancels"], shown["replaces"], shown["due_on"]) == (cancelled, None, None)
    assert (shown["commission"], shown["tax"], shown["closing"]) == ("-10.00", "-2.10", "-12.10")
    again = document(replace(taxed, number="S-000002", replaces="S-000001"))
    assert (again["cancels"], again["replaces"], again["closing"]) == (None, "S-000001", "12.10")


def test_a_statement_is_issued_on_the_business_date_of_its_run_and_due_after_the_owners_payment_days() -> None:
    taxed = statement(lambda _: STANDARD_21, "2026-11-10")
    late = replace(taxed, at="2026-12-04T23:30:00.000Z")  # in Amsterdam the 5th
    for days, due_on in ((None, "2027-01-04"), (14, "2026-12-19"), (0, "2026-12-05")):
        of = replace(late, parties=replace(late.parties, owner=Owner(payment_days=days, iban="NL91ABNA0417164300")))
        shown = document(of)
        assert (shown["issued_on"], shown["due_on"]) == ("2026-12-05", due_on)
        assert (shown["payment_days"], shown["owner"]["iban"]) == (30 if days is None else days, "NL91ABNA0417164300")


def test_a_statement_without_a_debt_is_not_due() -> None:
    assert document(statement(lambda _: STANDARD_21))["due_on"] is None


def test_a_statement_is_in_the_language_of_its_agency_and_in_english_without_one() -> None:
    taxed = statement(lambda _: STANDARD_21, "2026-11-10")
    agency = Agency(datetime(2026, 1, 1, tzinfo=UTC), language="nl")
    assert document(replace(taxed, parties=replace(taxed.parties, agency=agency)))["language"] == "nl"
    assert document(replace(taxed, parties=replace(taxed.parties, agency=None)))["language"] == "en"


def test_the_customer_of_a_statement_has_the_iban_of_its_registration() -> None:
    taxed = statement(lambda _: STANDARD_21, "2026-11-10")
    agency = Agency(datetime(2026, 1, 1, tzinfo=UTC), iban="NL91 ABNA 0417 1643 00")
    assert document(replace(taxed, parties=replace(taxed.parties, agency=agency)))["customer"]["iban"] == agency.iban
    assert document(replace(taxed, parties=replace(taxed.parties, agency=None)))["customer"]["iban"] is None


# ---------------------------------------------------------------- in the base currency

GAP = ["202611010130"]


def in_base(*missing: str) -> Any:
    """Return the figures in the base currency of a statement whose other lines are worth 8.931 euros."""
    sums = AccountSums(base=BaseFigures(net=Fraction("8.931"), commission=Fraction("0.89"), missing=set(missing)))
    planned, parties = plan(settings=replace(AMSTERDAM, base="EUR")), Parties(Owner(), None, lambda _: None)
    return document(Statement(planned, Account("42", "GBP"), sums, parties, iso_millis(PLANNED_AT)))["base"]


CONVERTED = {"currency": "EUR", "net": "8.93", "commission": "0.89", "payments": "0.00"}


def test_with_all_exchange_rates_every_line_is_converted() -> None:
    assert in_base() == {**CONVERTED, "missing": []}


def test_what_can_be_converted_is_shown_beside_the_quarter_hours_without_an_exchange_rate() -> None:
    assert in_base(*GAP) == {**CONVERTED, "missing": GAP}


AS_OF = "2026-11-30T15:00:00.000Z"
RATE = LastRate(is_in_period=True, quarter_hour="202611302345", units=Decimal("0.8"), source="ecb", as_of=AS_OF)


def tax_in(currency: str, base: str, figures: BaseFigures | None, rounding: Rounding = Rounding.HALF_EVEN) -> Any:
    """Return ``tax_in`` of a commission of 10 with 21 % tax, and a payment of 0.50."""
    made = statement(lambda _: STANDARD_21, "2026-11-05")
    made.sums.parts[Kind.PAYMENTS, False] = Sum(1, Decimal("0.50"))
    made.sums.base = figures
    planned = replace(made.plan, base=base, rounding=rounding)
    return document(replace(made, plan=planned, account=Account("42", currency)))["tax_in"]


def test_the_tax_of_a_statement_in_a_foreign_currency_is_shown_in_the_issuer_s_too() -> None:
    """10.00 and 2.10 USD at 0.8 for one EUR: 2.625 is half a cent."""
    published = {"exchange_rate_source": "ecb", "exchange_rate_as_of": AS_OF}
    others = {"brought_forward": "0.00", "proceeds": "0.00", "payments": "0.62"}
    row = {"base": "12.50", "tax": "2.62"}
    expected = {"currency": "EUR", "exchange_rate": "0.8", **published, **row, "rows": [row], **others}
    assert tax_in("USD", "EUR", BaseFigures(rate=RATE)) == expected
    up = {**row, "tax": "2.63"}
    assert tax_in("USD", "EUR", BaseFigures(rate=RATE), Rounding.HALF_UP) == {
        **expected,
        **up,
        "rows": [up],
        "payments": "0.63",
    }


def test_rows_in_the_issuer_s_currency_add_up_to_the_totals() -> None:
    """10.00 and 10.00 at 3 are 3.33 each, and their total is 6.67: the first of the largest has a cent more."""
    made = statement(lambda day: STANDARD_21 if day.day < 10 else REVERSE, "2026-11-05", "2026-11-15")
    made.sums.base = BaseFigures(rate=RATE._replace(units=Decimal(3)))
    shown = document(replace(made, plan=replace(made.plan, base="EUR"), account=Account("42", "USD")))["tax_in"]
    assert (shown["base"], shown["tax"]) == ("6.67", "0.70")
    assert shown["rows"] == [{"base": "3.34", "tax": "0.70"}, {"base": "3.33", "tax": "0.00"}]


@pytest.mark.parametrize(
    ("currency", "base", "figures"),
    [
        ("USD", "", None),
        ("USD", "EUR", None),
        ("USD", "EUR", BaseFigures(missing={"202611050000"})),
        ("EUR", "EUR", BaseFigures(rate=RATE._replace(units=Decimal(1)))),
        ("XXX", "EUR", BaseFigures(rate=RATE._replace(units=Decimal(1)))),
    ],
    ids=["no base currency", "no lines", "no rate", "the base currency", "no currency"],
)
def test_tax_is_in_one_currency_without_another_or_a_rate(
    currency: str, base: str, figures: BaseFigures | None
) -> None:
    assert tax_in(currency, base, figures) is None
