"""Tax by tax point: each date is taxed by the profile that is valid then, and rounded once for each tax."""

from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.registry.agencies.agency import EXEMPT, OUTSIDE_SCOPE, REVERSE_CHARGE, STANDARD, TaxProfile, TaxRate
from quarterhour.statements.document.tax import Taxable, TaxNames, TaxRow, TaxSpan, base_and_tax, taxed
from quarterhour.statements.drafts.figures import AccountSums, Kind, Sum

STANDARD_21 = TaxProfile(STANDARD, Decimal(21))
REVERSE = TaxProfile(REVERSE_CHARGE)
OCTOBER = date(2026, 10, 1)


def october(day: int) -> date:
    return OCTOBER + timedelta(days=day - 1)


def from_days(**starts: TaxProfile | None) -> Callable[[date], TaxProfile | None]:
    """Return the profiles that begin on days of October: ``d15=…`` on the 15th."""
    begins = sorted((october(int(name[1:])), profile) for name, profile in starts.items())

    def profile_at(day: date) -> TaxProfile | None:
        return next((profile for start, profile in reversed(begins) if start <= day), None)

    return profile_at


def rows(commissions: dict[int, str], currency: str = "EUR", **starts: TaxProfile | None) -> list[TaxRow]:
    by_day = {Taxable(october(day)): Decimal(commission) for day, commission in commissions.items()}
    return taxed(by_day, currency, from_days(**starts))


@pytest.mark.parametrize(
    ("profile", "tax"),
    [
        (TaxProfile(STANDARD, Decimal(20)), "0.20"),
        (TaxProfile(STANDARD, Decimal("7.7")), "0.08"),
        (REVERSE, "0.00"),
        (TaxProfile(EXEMPT), "0.00"),
        (TaxProfile(OUTSIDE_SCOPE), "0.00"),
        (None, "0.00"),
    ],
)
def test_tax_is_the_profile_s_percentage_of_the_rounded_commission(profile: TaxProfile | None, tax: str) -> None:
    (row,) = rows({1: "1.00"}, d1=profile)
    assert (row.scheme, str(row.base), str(row.tax)) == (profile.scheme if profile else None, "1.00", tax)


def test_a_profile_that_changes_on_the_first_of_the_next_month_changes_nothing() -> None:
    """F1: two sales of 100 at 10 % in October."""
    (row,) = rows({10: "10", 25: "10"}, d1=STANDARD_21, d32=REVERSE)
    assert (row.base, row.tax) == (Decimal("20.00"), Decimal("4.20"))


def test_a_profile_that_changes_within_a_month_taxes_each_sale_by_its_date() -> None:
    """F2: sales of 100 at 10 % on 5 and 25 October, reverse charge from 15 October on."""
    found = rows({5: "10", 25: "10"}, d1=STANDARD_21, d15=REVERSE)
    assert [(row.scheme, row.base, row.tax) for row in found] == [
        (STANDARD, Decimal("10.00"), Decimal("2.10")),
        (REVERSE_CHARGE, Decimal("10.00"), Decimal("0.00")),
    ]
    assert base_and_tax(found) == (Decimal("20.00"), Decimal("2.10"))


def test_a_correction_gives_back_the_tax_of_its_sale() -> None:
    """F3: a sale of 1,000 at 10 % in October, voided after the profile has become reverse charge."""
    found = rows({12: "-100", 45: "7"}, d1=STANDARD_21, d46=REVERSE)
    assert [(row.base, row.tax) for row in found] == [(Decimal("-93.00"), Decimal("-19.53"))]
    found = rows({12: "-100", 50: "7"}, d1=STANDARD_21, d46=REVERSE)
    assert [(row.base, row.tax) for row in found] == [
        (Decimal("-100.00"), Decimal("-21.00")),
        (Decimal("7.00"), Decimal("0.00")),
    ]


def test_a_profile_that_changes_back_and_forth_is_one_row_with_several_spans() -> None:
    found = rows({2: "1.005", 3: "1", 12: "2", 13: "1", 28: "1.002"}, d1=STANDARD_21, d10=REVERSE, d20=STANDARD_21)
    assert [(row.scheme, str(row.base), str(row.tax)) for row in found] == [
        (STANDARD, "3.01", "0.63"),  # 3.007, rounded once
        (REVERSE_CHARGE, "3.00", "0.00"),
    ]
    assert [row.tax_points for row in found] == [
        (TaxSpan(october(2), october(3)), TaxSpan(october(28), october(28))),
        (TaxSpan(october(12), october(13)),),
    ]


def test_a_changed_rate_is_another_row_and_a_rate_written_otherwise_is_not() -> None:
    found = rows(
        {1: "1", 2: "1", 3: "1"},
        d1=STANDARD_21,
        d2=TaxProfile(STANDARD, Decimal("21.0")),
        d3=TaxProfile(STANDARD, Decimal(19)),
    )
    assert [(str(row.key.percent), str(row.base)) for row in found] == [("21", "2.00"), ("19", "1.00")]


def test_dates_without_a_profile_are_a_row_of_their_own() -> None:
    found = rows({1: "1", 5: "1"}, d3=REVERSE)
    assert [(row.scheme, row.as_dict()["note"]) for row in found] == [
        (None, "No tax profile."),
        (REVERSE_CHARGE, "Reverse charge: the recipient of the service accounts for the VAT."),
    ]


# ---------------------------------------------------------------- several rates for one agency

FEES = {"chargeback_fee": TaxRate(OUTSIDE_SCOPE), "listing_fee": TaxRate(STANDARD, Decimal(9))}
BOOKS = {"books": TaxRate(STANDARD, Decimal(9))}
SEVERAL = STANDARD_21._replace(by_kind=FEES, by_category=BOOKS)


@pytest.mark.parametrize(
    ("kind", "category", "rate"),
    [
        ("", "", TaxRate(STANDARD, Decimal(21))),
        ("other_fee", "toys", TaxRate(STANDARD, Decimal(21))),
        ("", "books", TaxRate(STANDARD, Decimal(9))),
        ("chargeback_fee", "", TaxRate(OUTSIDE_SCOPE)),
        ("chargeback_fee", "books", TaxRate(OUTSIDE_SCOPE)),
    ],
)
def test_a_line_is_taxed_by_its_kind_or_else_by_its_category_or_else_as_all_others(
    kind: str, category: str, rate: TaxRate
) -> None:
    assert SEVERAL.rate_of(kind, category) == rate


def test_a_chargeback_fee_is_outside_the_scope_of_the_tax_on_all_else() -> None:
    """S7: a commission of 10.00 and a chargeback fee of 15.00 on one day."""
    charged = {Taxable(october(5)): Decimal(10), Taxable(october(5), "chargeback_fee"): Decimal(15)}
    found = taxed(charged, "EUR", lambda _: SEVERAL)
    assert [(row.scheme, str(row.base), str(row.tax)) for row in found] == [
        (STANDARD, "10.00", "2.10"),
        (OUTSIDE_SCOPE, "15.00", "0.00"),
    ]
    assert [row.as_dict()["tax_points"] for row in found] == [
        [{"from": "2026-10-05", "to": "2026-10-05"}],
        [{"from": "2026-10-05", "to": "2026-10-05", "kind": "chargeback_fee"}],
    ]


def test_what_is_named_apart_and_taxed_alike_is_one_row_that_is_rounded_once() -> None:
    charged = {
        Taxable(october(5), "listing_fee"): Decimal("1.004"),
        Taxable(october(6), "", "books"): Decimal("1.004"),
        Taxable(october(8), "", "books"): Decimal(2),
    }
    (row,) = taxed(charged, "EUR", lambda _: SEVERAL)
    assert (str(row.base), str(row.tax)) == ("4.01", "0.36")  # 4.008, rounded once
    assert row.tax_points == (
        TaxSpan(october(5), october(5), "listing_fee"),
        TaxSpan(october(6), october(8), "", "books"),
    )


def test_each_charge_is_rounded_once_and_their_sum_is_the_base() -> None:
    charged = {
        Taxable(october(5), charge="payment fee"): Decimal("0.335"),
        Taxable(october(5)): Decimal("1.004"),
        Taxable(october(8), charge="payment fee"): Decimal("0.33"),
    }
    (row,) = taxed(charged, "EUR", lambda _: STANDARD_21)
    assert [tuple(map(str, one)) for one in row.charges] == [
        ("commission", "1.004", "1.00"),
        ("payment fee", "0.665", "0.66"),
    ]
    assert (str(row.base), str(row.tax)) == ("1.66", "0.35")
    assert row.tax_points == (TaxSpan(october(5), october(8)),)
    assert dict(row.rests)[row.rate, "payment fee"].base == Decimal("0.005")


def test_a_charge_that_a_profile_names_is_taxed_at_its_own_rate() -> None:
    profile = STANDARD_21._replace(by_charge={"payment fee": TaxRate(EXEMPT)}, by_kind=FEES)
    charged = {
        Taxable(october(5)): Decimal(2),
        Taxable(october(5), charge="payment fee"): Decimal(1),
        Taxable(october(5), "listing_fee", charge="payment fee"): Decimal(4),
    }
    found = taxed(charged, "EUR", lambda _: profile)
    assert [(row.scheme, str(row.key.percent), str(row.base)) for row in found] == [
        (STANDARD, "21", "2.00"),
        (EXEMPT, "0", "1.00"),
        (STANDARD, "9", "4.00"),
    ]
    assert found[1].as_dict()["tax_points"] == [{"from": "2026-10-05", "to": "2026-10-05", "charge": "payment fee"}]


def test_a_category_that_a_later_profile_names_no_more_is_taxed_as_all_others_then() -> None:
    charged = {Taxable(october(day), "", "books"): Decimal(1) for day in (5, 15, 25)}
    found = taxed(charged, "EUR", from_days(d1=SEVERAL, d10=STANDARD_21, d20=SEVERAL))
    assert [(row.key.percent, row.base) for row in found] == [(Decimal(9), Decimal(2)), (Decimal(21), Decimal(1))]
    assert found[0].tax_points == (
        TaxSpan(october(5), october(5), "", "books"),
        TaxSpan(october(25), october(25), "", "books"),
    )


def test_the_names_of_profiles_are_those_of_all_of_them() -> None:
    assert TaxNames.by([None, STANDARD_21, SEVERAL, REVERSE]) == TaxNames(
        frozenset({"chargeback_fee", "listing_fee"}), frozenset({"books"})
    )
    assert not any(TaxNames.by([None, STANDARD_21]))


# ---------------------------------------------------------------- laws

PROFILES = (STANDARD_21, TaxProfile(STANDARD, Decimal(9)), REVERSE, TaxProfile(EXEMPT), None)
decimals = st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-10_000, max_value=10_000)
lines = st.lists(st.tuples(st.integers(1, 40), decimals), max_size=30)
starts = st.dictionaries(st.integers(1, 40).map("d{}".format), st.sampled_from(PROFILES), max_size=6)


def collected(some: list[tuple[int, Decimal]]) -> AccountSums:
    """Return the sums of lines, each with its day and its commission."""
    sums = AccountSums()
    for day, commission in some:
        one = Sum(1, Decimal(0), commission)
        sums.add((Kind.SALES, False), "2026-10-31", ("", ""), october(day).isoformat(), one)
    return sums


@given(lines, starts, st.randoms(use_true_random=False), st.integers(0, 30))
def test_taxes_are_independent_of_order_and_of_cutting_and_add_up(
    some: list[tuple[int, Decimal]], begins: dict[str, TaxProfile | None], random: object, cut: int
) -> None:
    profile_at = from_days(**begins)

    def of(sums: AccountSums) -> list[TaxRow]:
        return taxed(
            {Taxable(date.fromisoformat(day)): one.commission for day, one in sums.tax_points.items()},
            "EUR",
            profile_at,
        )

    found = of(collected(some))
    shuffled = list(some)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    together = AccountSums.of(collected(shuffled[:cut]).as_dict())
    together += collected(shuffled[cut:])
    assert of(together) == found

    exact = {row: Fraction(0) for row in found}
    for day, commission in some:
        (row,) = (row for row in found if any(one.first <= october(day) <= one.last for one in row.tax_points))
        profile = profile_at(october(day))
        assert (row.scheme, row.key.percent) == ((profile.scheme, profile.percent) if profile else (None, 0))
        exact[row] += Fraction(commission)
    cent = Fraction(1, 100)
    for row, base in exact.items():
        percent = row.key.percent if row.scheme == STANDARD else Decimal(0)
        assert abs(Fraction(row.base) - base) <= cent / 2
        assert abs(Fraction(row.tax) - Fraction(row.base) * Fraction(percent) / 100) <= cent / 2
    commission, tax = base_and_tax(found)
    assert abs(Fraction(commission) - sum(exact.values())) <= len(found) * cent / 2
    assert tax == sum((row.tax for row in found), Decimal(0))
