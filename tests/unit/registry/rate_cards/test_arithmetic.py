"""The arithmetic of a commission: exact, within its bounds, and the same when read back from its text."""

from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.model import money
from quarterhour.registry.rate_cards import arithmetic
from quarterhour.registry.rate_cards.arithmetic import Arithmetic, Charge, ChargePart, Named, PricingStep, Share
from quarterhour.registry.rate_cards.charge import Pricing, Sold
from quarterhour.registry.rate_cards.rate_card import Rule
from tests.support.builders import amounts
from tests.support.cases import cases
from tests.unit.registry.rate_cards.builders import any_sold, rules

AMOUNT = st.decimals(0, 10**6, places=3)


def charged(how: Arithmetic) -> Decimal | None:
    found = arithmetic.charges([ChargePart("commission", how)])
    return found and found.commission


def of_rule(rule: Rule, sold: Sold) -> Charge:
    (entry,) = rule.entries(sold, Pricing())
    assert isinstance(entry.how, Charge)
    return entry.how


def steps(text: str) -> list[tuple[str, str]]:
    return [(step.name, money.plain(step.gives)) for _, step in arithmetic.steps(arithmetic.read(text))]


@cases(
    ("text", "commission"),
    [
        ("percent=12.5 of=125.00", "15.62500"),
        ("percent=12.5 of=125.00 fixed=0.30 items=2", "16.22500"),
        ("percent=12.5 of=125.00 fixed=0.30 items=2 least=0.50 most=15.00", "15.00"),
        ("percent=1 of=10 fixed=0.00 items=1 least=0.50", "0.50"),
        ("percent=12.5 of=-125.00 fixed=0.30 items=2 least=0.50 most=15.00", "-15.00"),
        ("percent=1 of=-10 least=0.50", "-0.50"),
        ("percent=10 of=-100 fixed=0.30 items=2", "-10.60"),
        ("percent=0 of=100 fixed=0.30 items=0 most=9", "0.00"),
        ("share=5.30 of=10.00 before=2.00 after=6.00", "-2.12000000"),
        ("share=1.00 of=3.00 before=0.00 after=1.00", "-0.33333333"),
        ("share=1.00 of=3.00 before=1.00 after=2.00", "-0.33333333"),
        ("share=1.00 of=3.00 before=2.00 after=3.00", "-0.33333334"),
        ("share=0.30 of=0 before=0 after=0", "0"),
        ("named=-1.25", "-1.25"),
    ],
)
def test_a_text_gives_its_commission(text: str, commission: str) -> None:
    read = arithmetic.read(text)
    found = arithmetic.charges(read)
    assert found is not None
    assert money.plain(found.amounts["commission"]) == commission
    assert arithmetic.write(read) == text


def test_every_step_is_yielded_with_its_result() -> None:
    assert steps("percent=12.5 of=125.00 fixed=0.30 items=2 least=0.50 most=15.00") == [
        ("percent", "15.62500"),
        ("fixed", "0.60"),
        ("sum", "16.22500"),
        ("minimum", "16.22500"),
        ("maximum", "15.00"),
    ]
    assert list(Charge(Decimal("12.5"), Decimal("125.00")).steps()) == [
        PricingStep("percent", "12.5 % of 125.00", Decimal("15.62500"))
    ]
    assert [name for name, _ in steps("share=5.30 of=10.00 before=2.00 after=6.00")] == ["after", "before", "refund"]


@pytest.mark.parametrize(
    "text", ["", "percent", "percent=x of=1", "of=1 percent=1", "percent=1", "share=1 of=1", "named=1 of=2", "rate=1"]
)
def test_a_text_that_is_no_arithmetic_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no arithmetic"):
        arithmetic.read(text)


@given(rules(), any_sold)
def test_a_charge_is_exact_within_its_bounds_and_is_read_back_from_its_text(rule: Rule, sold: Sold) -> None:
    charge = of_rule(rule, sold)
    found, terms = charged(charge), rule.charges[0]
    assert found is not None
    exact = Fraction(terms.percent) * abs(Fraction(sold.amount)) / 100
    if sold.items is not None:
        exact += Fraction(terms.fixed or 0) * Fraction(sold.items)
        if terms.minimum is not None:
            exact = max(exact, Fraction(terms.minimum))
        if terms.maximum is not None:
            exact = min(exact, Fraction(terms.maximum))
            assert abs(found) <= terms.maximum
    assert abs(Fraction(found)) == exact
    assert found == 0 or (found < 0) == (sold.amount < 0)
    assert arithmetic.read(arithmetic.write([ChargePart("commission", charge)])) == [ChargePart("commission", charge)]


@given(rules(), any_sold)
def test_a_refund_of_a_whole_sale_refunds_its_whole_commission(rule: Rule, sold: Sold) -> None:
    back = Sold(money.negated(sold.amount), sold.currency, sold.items, sold.category, sold.location)
    there, again = (charged(of_rule(rule, one)) for one in (sold, back))
    assert there is not None
    assert again is not None
    assert there == money.negated(again) or sold.amount == 0


@given(sold=AMOUNT, commission=AMOUNT, parts=st.lists(st.integers(0, 1000), max_size=8))
def test_refunds_never_exceed_the_commission_and_refund_all_of_it_with_the_whole_amount(
    sold: Decimal, commission: Decimal, parts: list[int]
) -> None:
    """Whatever the parts, and wherever they are cut off."""
    bounds = sorted({Decimal(0), sold, *(min(sold, sold * part / 1000) for part in parts)})
    taken = Fraction(0)
    for before, after in pairwise(bounds):
        found = charged(Share(commission, sold, before, after))
        assert found is not None
        assert found <= 0
        taken -= Fraction(found)
        due = Fraction(commission) * Fraction(after) / Fraction(sold)
        assert 0 <= due - taken < Fraction(1, 10**arithmetic.FEWEST_PLACES)
    assert taken == (Fraction(commission) if sold else 0)


@given(commission=amounts().map(abs), sold=amounts().map(abs), share=st.integers(0, 100))
def test_a_share_needs_no_more_digits_than_a_commission_may_have(
    commission: Decimal, sold: Decimal, share: int
) -> None:
    after = money.part(sold, Decimal(share), Decimal(100), money.places(sold))
    assert charged(Share(commission, sold, Decimal(0), after)) is not None


@given(amounts())
def test_a_named_commission_is_kept_exactly(amount: Decimal) -> None:
    named = Named(amount)
    assert charged(named) == amount
    assert arithmetic.read(arithmetic.write([ChargePart("commission", named)])) == [ChargePart("commission", named)]


@pytest.mark.parametrize(
    "arithmetic_",
    [
        Charge(Decimal("12.5"), Decimal("1" * 38)),
        Charge(Decimal(1), Decimal(1), Decimal("0." + "1" * 37), Decimal("9" * 38)),
        Charge(Decimal("0.0000000001"), Decimal("1" + "0" * 30 + ".0000001"), Decimal("9" * 38), Decimal("9" * 38)),
    ],
)
def test_a_commission_of_more_than_38_digits_is_none(arithmetic_: Arithmetic) -> None:
    assert charged(arithmetic_) is None
