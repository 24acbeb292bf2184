"""Money: exact decimals of at most 38 digits."""

from decimal import Decimal
from fractions import Fraction
from functools import reduce
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.model import money
from quarterhour.model.totals import RunningTotals, Totals
from tests.support.builders import amounts
from tests.support.cases import cases

NINES = "9" * 38


@cases(
    ("text", "written"),
    [
        ("0", "0"),
        ("1.50", "1.50"),
        ("-1.50", "-1.50"),
        ("007.10", "7.10"),
        (NINES, NINES),
        ("-" + NINES, "-" + NINES),
        ("0." + "0" * 36 + "1", "0." + "0" * 36 + "1"),
        ("9" * 36 + ".99", "9" * 36 + ".99"),
        ("-0", "0"),
        ("-0.00", "0.00"),
    ],
)
def test_a_decimal_string_is_parsed_exactly_and_keeps_its_scale(text: str, written: str) -> None:
    value = money.parse_decimal(text)
    assert value is not None
    assert money.plain(value) == written


@pytest.mark.parametrize(
    ("number", "written"),
    [
        ("12.50", "12.50"),
        ("1E+3", "1000"),
        ("-1.5e2", "-150"),
        ("1E+37", "1" + "0" * 37),
        ("1E-37", "0." + "0" * 36 + "1"),
        ("0E+999999", "0"),
        ("-0E-2", "0.00"),
        ("0.1", "0.1"),
    ],
)
def test_a_json_number_with_any_exponent_is_parsed_exactly(number: str, written: str) -> None:
    value = money.parse_decimal(Decimal(number))
    assert value is not None
    assert money.plain(value) == written


@cases(
    "value",
    [
        "1" + "0" * 38,
        "0." + "0" * 37 + "1",
        "9" * 37 + ".99",
        "0" * 60,
        Decimal("1E+38"),
        Decimal("1E-38"),
        Decimal("1.0E-37"),
        Decimal("1" * 39),
        Decimal("1E+999999"),
        Decimal("1E-999999"),
        Decimal("0E-38"),
    ],
)
def test_a_number_of_more_than_38_digits_is_not_money(value: object) -> None:
    assert money.parse_decimal(value) is None


@cases(
    "value",
    [
        "",
        " 1",
        "1 ",
        "1\n",
        "+1",
        "--1",
        "1e3",
        ".5",
        "1.",
        "1,5",
        "1_000",
        "0x1",
        "NaN",
        "Infinity",
        "٣",  # a digit, but not ASCII
        Decimal("NaN"),
        Decimal("Infinity"),
        Decimal("-Infinity"),
        Decimal("sNaN"),
        None,
        True,
        1,
        1.5,
        [],
        {},
    ],
)
def test_a_value_that_is_not_a_plain_decimal_is_not_money(value: object) -> None:
    assert money.parse_decimal(value) is None


@given(amounts())
def test_a_formatted_amount_is_parsed_back_digit_for_digit(amount: Decimal) -> None:
    for value in (money.parse_decimal(money.plain(amount)), money.parse_decimal(amount)):
        assert value is not None
        assert value.as_tuple() == amount.as_tuple()


def _unscaled(value: Decimal) -> int:
    return int("".join(map(str, value.as_tuple().digits)))


def _scale(value: Decimal) -> int:
    return -int(value.as_tuple().exponent)


@given(left=amounts(20), right=amounts(20))
def test_a_product_is_exact_or_refused(left: Decimal, right: Decimal) -> None:
    product = money.times(left, right)
    digits, scale = abs(_unscaled(left) * _unscaled(right)), _scale(left) + _scale(right)
    if max(len(str(digits)), scale + 1) > 38:
        assert product is None
    else:
        assert product is not None
        assert (abs(_unscaled(product)), _scale(product)) == (digits, scale)
        assert Fraction(product) == Fraction(left) * Fraction(right)


@pytest.mark.parametrize(
    ("amount", "rate", "product"),
    [
        ("12.50", "0.10", "1.2500"),
        ("-12.50", "0.125", "-1.56250"),
        (NINES, "1", NINES),
        (NINES, "0.1", "9" * 37 + ".9"),
        (NINES, "0.11", None),
        ("0." + "0" * 18 + "1", "0." + "0" * 17 + "1", "0." + "0" * 36 + "1"),
        ("0." + "0" * 18 + "1", "0." + "0" * 18 + "1", None),
        ("0.00", "0.10", "0.0000"),
        ("-12.50", "0", "0.00"),
    ],
)
def test_a_commission_is_the_exact_product_or_none_within_38_digits(
    amount: str, rate: str, product: str | None
) -> None:
    got = money.times(Decimal(amount), Decimal(rate))
    assert (None if got is None else money.plain(got)) == product


@given(st.lists(amounts(), max_size=20), st.randoms(use_true_random=False))
def test_a_sum_is_exact_and_its_text_does_not_depend_on_the_order(summands: list[Decimal], random: Random) -> None:
    total = money.total(summands)
    assert Fraction(total) == sum(map(Fraction, summands))
    random.shuffle(summands)
    assert money.plain(money.total(summands)) == money.plain(total)


def test_a_sum_of_amounts_far_apart_in_scale_loses_nothing() -> None:
    total = money.add(Decimal(NINES), Decimal("0." + "0" * 36 + "1"))
    assert money.plain(total) == NINES + "." + "0" * 36 + "1"


@cases(
    ("amount", "currency", "rounded"),
    [
        ("0.125", "EUR", "0.12"),
        ("0.135", "EUR", "0.14"),
        ("-0.125", "EUR", "-0.12"),
        ("-0.135", "EUR", "-0.14"),
        ("0.1250000000000000000000000000001", "EUR", "0.13"),
        ("1", "EUR", "1.00"),
        ("0.5", "JPY", "0"),
        ("1.5", "JPY", "2"),
        ("2.5", "JPY", "2"),
        ("0.0005", "KWD", "0.000"),
        ("0.0015", "KWD", "0.002"),
        ("0.00005", "CLF", "0.0000"),
        ("0.00015", "CLF", "0.0002"),
        ("-0.001", "EUR", "0.00"),
        (NINES + "." + "9" * 37, "GBP", "1" + "0" * 38 + ".00"),
    ],
)
def test_a_statement_rounds_half_to_even_at_the_currencys_minor_unit(amount: str, currency: str, rounded: str) -> None:
    assert money.plain(money.on_statement(Decimal(amount), currency)) == rounded


@pytest.mark.parametrize(
    ("amount", "currency", "rounded"),
    [
        ("1.025", "EUR", "1.03"),
        ("-1.025", "EUR", "-1.03"),
        ("1.0249", "EUR", "1.02"),
        ("1.035", "EUR", "1.04"),
        ("0.5", "JPY", "1"),
        ("-2.5", "JPY", "-3"),
        ("0.0005", "KWD", "0.001"),
        ("-0.004", "EUR", "0.00"),
    ],
)
def test_a_statement_can_round_half_away_from_0(amount: str, currency: str, rounded: str) -> None:
    found = money.on_statement(Decimal(amount), currency, money.Rounding.HALF_UP)
    assert money.plain(found) == rounded


@given(st.lists(st.tuples(amounts(), amounts())))
def test_totals_split_sales_from_refunds_by_the_sign_of_the_amount(postings: list[tuple[Decimal, Decimal]]) -> None:
    totals = Totals()
    for amount, commission in postings:
        totals = totals.plus(amount, commission)
    assert totals.events == len(postings)
    assert Fraction(totals.gross) == sum(Fraction(amount) for amount, _ in postings if amount >= 0)
    assert Fraction(totals.refunds) == sum(Fraction(amount) for amount, _ in postings if amount < 0)
    assert Fraction(totals.commission) == sum(Fraction(commission) for _, commission in postings)
    assert Fraction(totals.net) == sum(Fraction(amount) for amount, _ in postings)
    assert Totals.of(totals.as_dict()) == totals


@given(one=st.lists(amounts(), max_size=5), other=st.lists(amounts(), max_size=5))
def test_totals_added_and_subtracted_again_are_the_same_to_the_last_digit(
    one: list[Decimal], other: list[Decimal]
) -> None:
    def totals(of: list[Decimal]) -> Totals:
        return reduce(lambda sums, amount: sums.plus(amount, amount), of, Totals())

    assert totals(one + other) - totals(other) == totals(one)


@given(sold=st.lists(amounts()), paid=st.lists(amounts()))
def test_payments_are_a_sum_of_their_own(sold: list[Decimal], paid: list[Decimal]) -> None:
    sales, totals, running = Totals(), Totals(), RunningTotals()
    for amount in sold:
        sales = sales.plus(amount, amount)
        totals = totals.plus(amount, amount)
        running.add(amount, amount)
    for amount in paid:
        totals = totals.plus(amount, Decimal(0), is_payment=True)
        running.add(amount, Decimal(0), is_payment=True)
    assert Fraction(totals.payments) == sum(map(Fraction, paid))
    assert (totals.gross, totals.refunds, totals.net) == (sales.gross, sales.refunds, sales.net)
    assert (totals.commission, totals.events) == (sales.commission, len(sold) + len(paid))
    assert running.totals() == totals == Totals.of(totals.as_dict())
    assert (totals - sales).payments == totals.payments
    assert totals.without_payments() == {**sales.without_payments(), "events": totals.events}


def test_totals_that_were_stored_before_there_were_payments_have_payments_of_0() -> None:
    assert Totals.of(Totals(2, Decimal(5)).without_payments()) == Totals(2, Decimal(5))


def test_an_amount_of_zero_counts_as_a_sale() -> None:
    assert Totals().plus(Decimal("0.00"), Decimal(0)).as_dict()["gross"] == "0.00"
    assert Totals().plus(Decimal("0.00"), Decimal(0)).as_dict()["refunds"] == "0"


@given(one=st.lists(amounts()), other=st.lists(amounts()))
def test_totals_of_two_parts_are_the_totals_of_the_whole(one: list[Decimal], other: list[Decimal]) -> None:
    def totals(of: list[Decimal]) -> Totals:
        return reduce(lambda sums, amount: sums.plus(amount, amount), of, Totals())

    assert (totals(one) + totals(other)).as_dict() == totals(one + other).as_dict()


@pytest.mark.parametrize("number", ["1E+999999999999", "-1E+2000", "1E-999999999999", "0E-999999999999"])
def test_a_number_whose_text_would_fill_the_memory_is_not_written(number: str) -> None:
    with pytest.raises(ValueError, match="too many digits without exponent"):
        money.plain(Decimal(number))
