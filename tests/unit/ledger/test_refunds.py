"""Linked refunds: never more in sum than the sale, at the sale's rate."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.ledger.event import Event, Rejection
from quarterhour.ledger.plan import Claim, Refundable
from quarterhour.ledger.refunds import LinkedRefund, linked_refund
from tests.support.builders import AT, amounts, claim, event, terms

SALE = claim(event(amount="12.50", commission_rate="0.25"))


def refund(id_: str = "r1", amount: object = "-2.50", **changed: object) -> Event:
    return event(id_, "sale.refunded", amount=amount, refers_to="order-1", **changed)


def against(sale: Claim | None, of: Event) -> LinkedRefund | Rejection:
    return linked_refund(of, sale, AT, terms())


@given(sold=amounts(12).map(abs), wanted=st.lists(amounts(12).map(lambda amount: -abs(amount)), max_size=10))
def test_whatever_is_asked_back_what_is_refunded_never_exceeds_the_sale(sold: Decimal, wanted: list[Decimal]) -> None:
    sale = claim(event(amount=sold))
    taken: list[Decimal] = []
    for i, amount in enumerate(wanted):
        answer = against(sale, refund(str(i), amount))
        fits = sum(map(Fraction, [sold, *taken, amount])) >= 0
        assert isinstance(answer, LinkedRefund) == fits
        if isinstance(answer, LinkedRefund):
            assert sale.refundable is not None
            assert (answer.before, answer.sale) == (sale.refundable.left, sale)
            sale = replace(sale, refundable=Refundable(sale.refundable.account, answer.after))
            taken.append(amount)
    assert sale.refundable is not None
    assert Fraction(sale.refundable.left) == Fraction(sold) + sum(map(Fraction, taken))


@given(sold=amounts(12).map(abs), part=amounts(12).map(abs), asked=amounts(12).map(abs))
def test_a_refund_of_the_rest_takes_what_is_left_and_never_more_than_it_asks_for(
    sold: Decimal, part: Decimal, asked: Decimal
) -> None:
    sale = claim(event(amount=sold))
    before = against(sale, refund("part", -part))
    if isinstance(before, LinkedRefund):
        assert sale.refundable is not None
        sale = replace(sale, refundable=Refundable(sale.refundable.account, before.after))
    assert sale.refundable is not None
    left = sale.refundable.left
    sent = refund("rest", -asked)
    answer = against(sale, replace(sent, rest=True))
    assert isinstance(answer, LinkedRefund)
    taken = answer.claim.content(sent).amount
    assert taken == -min(left, asked)
    assert answer.after == left + taken
    assert answer.claim.digest == sent.digest, "what is asked for, however much is left"
    assert (answer.claim.amount is None) == (asked <= left), "a whole refund's claim is as any other's"


def test_a_refund_takes_the_rate_of_its_sale_and_not_the_owners() -> None:
    answer = against(SALE, refund())
    assert isinstance(answer, LinkedRefund)
    assert answer.claim.price.rate == Decimal("0.25")
    assert (answer.before, answer.after) == (Decimal("12.50"), Decimal("10.00"))


@pytest.mark.parametrize("rate", ["0.25", "0.250", None])
def test_a_refund_may_tell_the_rate_of_its_sale(rate: str | None) -> None:
    assert isinstance(against(SALE, refund(commission_rate=rate)), LinkedRefund)


@pytest.mark.parametrize(
    ("sale", "of", "field", "problem", "expected"),
    [
        (None, refund(), "data.refers_to", "is no recorded sale of this source", "the id of the sale, sent before"),
        (
            claim(event(type_="adjustment.recorded")),
            refund(),
            "data.refers_to",
            "is no recorded sale of this source",
            "the id of the sale, sent before",
        ),
        (SALE, refund(currency="EUR"), "data.refers_to", "is a sale of another account", "42#GBP, as it was sold"),
        (
            SALE,
            refund(commission_rate="0.1"),
            "data.commission_rate",
            "is 0.1, the sale's was 0.25",
            "none, as a refund takes the sale's rate",
        ),
        (
            SALE,
            refund(amount="-12.51"),
            "data.amount",
            "is -12.51, more than is left of the sale",
            "-12.50 at the most, as 12.50 is left",
        ),
        (
            claim(event(amount="1" * 38)),
            refund(amount="-2" + "0" * 37),
            "data.amount",
            f"is -2{'0' * 37}, more than is left of the sale",
            f"-{'1' * 38} at the most, as {'1' * 38} is left",
        ),
        (
            claim(event(amount="0.00")),
            refund(amount="-1"),
            "data.amount",
            "is -1, more than is left of the sale",
            "0.00 at the most, as 0.00 is left",
        ),
        (
            claim(event(amount="1", commission_rate="0.11")),
            refund(amount="-0." + "0" * 36 + "1"),
            "data.amount",
            "gives a commission of more than 38 digits",
            "fewer digits",
        ),
    ],
)
def test_a_refund_that_its_sale_does_not_allow_is_told_why(
    sale: Claim | None, of: Event, field: str, problem: str, expected: str
) -> None:
    answer = against(sale, of)
    assert isinstance(answer, Rejection)
    assert (answer.source, answer.id) == ("shop", "r1")
    assert [(one.field, one.problem, one.expected) for one in answer.problems] == [(field, problem, expected)]
