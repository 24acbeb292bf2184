"""Linked refunds: together never more than the sale, at the commission rate of the sale."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.ledger.event import Event, Rejection
from quarterhour.ledger.held_events import Held, HeldReason, Hold, Reservation
from quarterhour.ledger.linked import LinkedClaim, in_rounds, linked_claim, plan_linked
from quarterhour.ledger.plan import Claim
from tests.support.builders import AT, amounts, claim, event, terms

SALE = claim(event(amount="12.50", commission_rate="0.25"))


def refund(id_: str = "r1", amount: object = "-2.50", **changed: object) -> Event:
    return event(id_, "sale.refunded", amount=amount, **{"refers_to": "order-1", **changed})


def against(sale: Claim | Reservation | None, of: Event) -> LinkedClaim | Hold | Rejection:
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
        (
            claim(event(type_="adjustment.recorded")),
            refund(),
            "data.refers_to",
            "is an event that is no sale",
            "the id of a sale",
        ),
        (
            Reservation.of(event("order-1", "sale.refunded", amount="-1", refers_to="r1"), HeldReason.UNKNOWN_SALE),
            refund(),
            "data.refers_to",
            "is a held event, and no sale",
            "the id of a sale",
        ),
        (
            replace(Reservation.of(event(), HeldReason.UNREGISTERED_AGENCY), discarded="sent twice"),
            refund(),
            "data.refers_to",
            "was discarded by an operator",
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
    sale: Claim | Reservation, of: Event, field: str, problem: str, expected: str
) -> None:
    planned = against(sale, of)
    assert isinstance(planned, Rejection)
    assert (planned.source, planned.id) == ("shop", "r1")
    assert [(one.field, one.problem, one.expected) for one in planned.problems] == [(field, problem, expected)]


# ---------------------------------------------------------------- held refunds


@pytest.mark.parametrize("sale", [None, Reservation.of(event(), HeldReason.UNREGISTERED_AGENCY)])
def test_a_refund_is_held_while_its_sale_is_unknown_or_held(sale: Reservation | None) -> None:
    assert against(sale, refund()) == Hold.of(refund(), HeldReason.UNKNOWN_SALE)


RESERVED = Reservation.of(refund(), HeldReason.UNKNOWN_SALE)


def planned_again(sale: Claim | None, reservation: Reservation = RESERVED) -> object:
    known: list[Claim | Reservation] = [reservation, sale] if sale else [reservation]
    by_identity = {one.identity: one for one in known}
    return plan_linked({SALE.identity: refund()}, by_identity, AT, terms())[refund().identity]


def test_a_held_refund_replaces_its_reservation_once_its_sale_is_known() -> None:
    linked = linked_claim(refund(), SALE, AT, terms())
    assert isinstance(linked, LinkedClaim)
    assert planned_again(SALE) == replace(linked, was_held=True)


def test_a_held_refund_stays_held_while_its_sale_is_unknown() -> None:
    assert planned_again(None) == Held(RESERVED)


def test_a_held_refund_that_its_sale_does_not_allow_stays_held_with_the_reason() -> None:
    planned = planned_again(claim(event(amount="1")))
    assert isinstance(planned, Held)
    assert [one.problem for one in planned.problems] == ["is -2.50, more than is left of the sale"]


@pytest.mark.parametrize(
    "reservation", [replace(RESERVED, discarded="sent twice"), Reservation.of(refund(amount="-1"), RESERVED.reason)]
)
def test_a_discarded_refund_and_another_content_do_not_replace_the_reservation(reservation: Reservation) -> None:
    assert planned_again(SALE, reservation) == Held(reservation)


def test_refunds_of_one_sale_are_in_rounds_of_their_own_and_those_that_refer_to_another_come_after_it() -> None:
    first, second, other = refund("a"), refund("b"), refund("c", refers_to="order-2")
    of_a, of_later = refund("d", refers_to="a"), refund("e", refers_to="f")
    later = refund("f", refers_to="order-3")
    rounds = in_rounds([first, second, other, of_a, of_later, later])
    assert [[one.identity.id for one in some.values()] for some in rounds] == [["a", "c", "f"], ["b", "d", "e"]]


def test_of_refunds_that_refer_to_each_other_the_later_one_comes_after_the_earlier() -> None:
    rounds = in_rounds([refund("a", refers_to="b"), refund("b", refers_to="a")])
    assert [[one.identity.id for one in some.values()] for some in rounds] == [["a"], ["b"]]
