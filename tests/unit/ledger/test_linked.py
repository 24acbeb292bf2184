"""Linked refunds: together never more than the sale, at the commission rate of the sale."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.ledger.event import Event, Rejection
from quarterhour.ledger.linked import LinkedClaim, linked_claim
from quarterhour.ledger.plan import Claim
from tests.support.builders import AT, amounts, claim, event, terms

SALE = claim(event(amount="12.50", commission_rate="0.25"))


def refund(id_: str = "r1", amount: object = "-2.50", **changed: object) -> Event:
    return event(id_, "sale.refunded", amount=amount, refers_to="order-1", **changed)


def against(sale: Claim | None, of: Event) -> LinkedClaim | Rejection:
    return linked_claim(of, sale, AT, terms())


def left_of(sale: Claim) -> Decimal:
    assert sale.refundable is not None
    return sale.refundable.left


@given(sold=amounts(12).map(abs), amounts_=st.lists(amounts(12).map(lambda amount: -abs(amount)), max_size=10))
def test_refunds_never_exceed_their_sale(sold: Decimal, amounts_: list[Decimal]) -> None:
    sale = claim(event(amount=sold))
    taken: list[Decimal] = []
    for i, amount in enumerate(amounts_):
        planned = against(sale, refund(str(i), amount))
        fits = sum(map(Fraction, [sold, *taken, amount])) >= 0
        assert isinstance(planned, LinkedClaim) == fits
        if isinstance(planned, LinkedClaim):
            assert planned.before == sale
            sale = planned.after
            taken.append(amount)
    assert Fraction(left_of(sale)) == Fraction(sold) + sum(map(Fraction, taken))


@given(sold=amounts(12).map(abs), part=amounts(12).map(abs), requested=amounts(12).map(abs))
def test_a_refund_of_the_rest_is_of_the_amount_left_and_never_more_than_its_own(
    sold: Decimal, part: Decimal, requested: Decimal
) -> None:
    sale = claim(event(amount=sold))
    before = against(sale, refund("part", -part))
    if isinstance(before, LinkedClaim):
        sale = before.after
    left = left_of(sale)
    sent = refund("rest", -requested)
    planned = against(sale, replace(sent, rest=True))
    assert isinstance(planned, LinkedClaim)
    taken = planned.claim.content(sent).amount
    assert taken == -min(left, requested)
    assert left_of(planned.after) == left + taken
    assert planned.claim.digest == sent.digest, "what is asked for, however much is left"
    assert (planned.claim.amount is None) == (requested <= left), "a whole refund's claim is as any other's"


def test_a_refund_has_the_commission_rate_of_its_sale_and_not_the_default() -> None:
    planned = against(SALE, refund())
    assert isinstance(planned, LinkedClaim)
    assert planned.claim.price.commission_rate == Decimal("0.25")
    assert (left_of(planned.before), left_of(planned.after)) == (Decimal("12.50"), Decimal("10.00"))


@pytest.mark.parametrize("rate", ["0.25", "0.250", None])
def test_a_refund_may_name_the_commission_rate_of_its_sale(rate: str | None) -> None:
    assert isinstance(against(SALE, refund(commission_rate=rate)), LinkedClaim)


@pytest.mark.parametrize(
    ("sale", "of", "field", "problem", "expected"),
    [
        (None, refund(), "data.refers_to", "is no recorded sale of this source", "the id of the sale, sent before"),
        (
            claim(event(type_="adjustment.recorded")),
            refund(),
            "data.refers_to",
            "is an event that is no sale",
            "the id of a sale",
        ),
        (SALE, refund(currency="EUR"), "data.refers_to", "is a sale of another account", "42#GBP, as it was sold"),
        (
            SALE,
            refund(commission_rate="0.1"),
            "data.commission_rate",
            "is 0.1, the sale's was 0.25",
            "none, as a refund has the commission rate of its sale",
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
def test_a_refund_that_its_sale_does_not_allow_is_rejected_with_the_reason(
    sale: Claim | None, of: Event, field: str, problem: str, expected: str
) -> None:
    planned = against(sale, of)
    assert isinstance(planned, Rejection)
    assert (planned.source, planned.id) == ("shop", "r1")
    assert [(one.field, one.problem, one.expected) for one in planned.problems] == [(field, problem, expected)]
