"""Linked refunds: together never more than the sale, at the commission rate of the sale."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.ledger.events.event import Event, Rejection
from quarterhour.ledger.recording.claim_items import claim_item, claim_of
from quarterhour.ledger.recording.claims import Claim
from quarterhour.ledger.recording.held_event import Held, HeldReason, Hold, Reservation
from quarterhour.ledger.recording.linked import Gathered, LinkedClaim, in_rounds, plan_linked
from quarterhour.ledger.recording.plan import ledger_values
from quarterhour.ledger.recording.pricing import CommissionTerms, has_terms_of_sale
from quarterhour.ledger.recording.remaining import Left, Parts, linked_terms
from quarterhour.model.clock import iso_millis
from quarterhour.model.identifiers import Identity
from tests.support.builders import AT, amounts, claim, event, linked_of, linked_to, settings, taken_back, void
from tests.support.cases import cases
from tests.support.names import near

SALE = claim(event(amount="12.50", commission_rate="0.25"))


def refund(id_: str = "r1", amount: object = "-2.50", **changed: object) -> Event:
    return event(id_, "sale.refunded", amount=amount, **{"refers_to": "order-1", **changed})


def against(sale: Claim, of: Event) -> LinkedClaim | Rejection:
    return linked_to(of, sale)


def planned(sent: Event, sale: Claim | Reservation | None, *existing: Reservation) -> object:
    """Return what becomes of an event, from the current claims or reservations of its sale and of itself."""
    known = {one.identity: one for one in (sale, *existing) if one}
    own = {"recorded_at": iso_millis(AT), "tax_point": AT.date().isoformat()}
    facts = {SALE.identity: {"type": "sale.recorded", "amount": "12.50", **own}}
    terms = {} if has_terms_of_sale(sent) else {sent.identity: CommissionTerms(Decimal("0.1"), "default")}
    return plan_linked([sent], Gathered(known, facts, terms), AT, settings())[sent.identity]


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
    assert planned.claim.is_of(sent), "what is asked for, however much is left"
    assert (planned.claim.amount is None) == (requested <= left), "a whole refund's claim is as any other's"


def test_a_refund_has_the_commission_rate_of_its_sale_and_not_the_default() -> None:
    planned = against(SALE, refund())
    assert isinstance(planned, LinkedClaim)
    assert planned.claim.terms.commission_rate == Decimal("0.25")
    assert (left_of(planned.before), left_of(planned.after)) == (Decimal("12.50"), Decimal("10.00"))


@pytest.mark.parametrize("rate", ["0.25", "0.250", None])
def test_a_refund_may_name_the_commission_rate_of_its_sale(rate: str | None) -> None:
    assert isinstance(against(SALE, refund(commission_rate=rate)), LinkedClaim)


@pytest.mark.parametrize(
    ("sale", "of", "field", "problem", "expected"),
    [
        (SALE, refund(currency="EUR"), "data.refers_to", "is a sale of another account", "a sale of 42#EUR"),
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
    sale: Claim, of: Event, field: str, problem: str, expected: str
) -> None:
    planned = against(sale, of)
    assert isinstance(planned, Rejection)
    assert (planned.source, planned.id) == ("shop", "r1")
    assert [(one.field, one.problem, one.expected) for one in planned.problems] == [(field, problem, expected)]


# ---------------------------------------------------------------- held refunds


@pytest.mark.parametrize("sent", [refund(), void(), event("a1", "adjustment.recorded", refers_to="order-1")])
@pytest.mark.parametrize("sale", [None, Reservation.of(event(), HeldReason.UNREGISTERED_AGENCY)])
def test_a_correction_is_held_while_its_sale_is_unknown_or_held(sale: Reservation | None, sent: Event) -> None:
    assert planned(sent, sale) == Hold.of(sent, HeldReason.UNKNOWN_SALE)


def test_a_void_is_held_while_the_refund_that_it_takes_back_is_held() -> None:
    held = Reservation.of(event("order-1", "sale.refunded", amount="-1", refers_to="r9"), HeldReason.NEEDS_APPROVAL)
    assert planned(void(), held) == Hold.of(void(), HeldReason.UNKNOWN_SALE)
    assert isinstance(planned(refund(), held), Rejection)


@pytest.mark.parametrize("sent", [refund(), void(), event("a1", "adjustment.recorded", refers_to="order-1")])
@pytest.mark.parametrize(
    ("reservation", "problem"),
    [
        (
            Reservation.of(void("order-1", "r9"), HeldReason.UNKNOWN_SALE),
            "is a held event, and no sale",
        ),
        (
            replace(Reservation.of(event(), HeldReason.UNREGISTERED_AGENCY), discarded="sent twice"),
            "was discarded by an operator",
        ),
    ],
)
def test_a_correction_of_a_held_event_that_is_no_sale_and_of_a_discarded_sale_is_rejected(
    sent: Event, reservation: Reservation, problem: str
) -> None:
    found = planned(sent, reservation)
    assert isinstance(found, Rejection)
    assert [(one.field, one.problem) for one in found.problems] == [("data.refers_to", problem)]


@pytest.mark.parametrize("sent", [refund("c1"), void("c1"), event("c1", "adjustment.recorded", refers_to="order-1")])
def test_a_correction_of_a_held_event_that_refers_back_to_it_is_rejected_as_a_circle(sent: Event) -> None:
    back = Reservation.of(event("order-1", "sale.refunded", amount="-1", refers_to="c1"), HeldReason.UNKNOWN_SALE)
    found = planned(sent, back)
    assert isinstance(found, Rejection)
    assert [one.problem for one in found.problems] == ["refers back to this event"]


def test_a_correction_of_a_sale_that_is_not_in_the_ledger_yet_is_neither_claimed_nor_held() -> None:
    gathered = Gathered({SALE.identity: SALE}, {}, {})
    assert plan_linked([refund()], gathered, AT, settings()) == {}


def test_an_adjustment_of_commission_alone_waits_for_the_facts_of_what_it_corrects() -> None:
    """It may correct a refund without a sale, which its claim does not tell."""
    other = SALE._replace(refundable=None)
    waiting = event("a1", "adjustment.recorded", amount="0", commission="-1", refers_to="order-1")
    gathered = Gathered({SALE.identity: other}, {}, {waiting.identity: CommissionTerms(Decimal(0), "event")})
    assert plan_linked([waiting], gathered, AT, settings()) == {}
    (rejected,) = plan_linked([refund()], gathered, AT, settings()).values()
    assert isinstance(rejected, Rejection)


RESERVED = Reservation.of(refund(), HeldReason.UNKNOWN_SALE)


def planned_again(sale: Claim | None, reservation: Reservation = RESERVED) -> object:
    return planned(refund(), sale, reservation)


def test_a_held_refund_replaces_its_reservation_once_its_sale_is_known() -> None:
    planned = linked_to(refund(), SALE)
    assert isinstance(planned, LinkedClaim)
    assert planned_again(SALE) == replace(planned, was_held=True)


def test_a_held_refund_stays_held_while_its_sale_is_unknown() -> None:
    assert planned_again(None) == Held(RESERVED)


def test_a_held_refund_that_its_sale_does_not_allow_stays_held_with_the_reason() -> None:
    found = planned_again(claim(event(amount="1")))
    assert isinstance(found, Held)
    assert [one.problem for one in found.problems] == ["is -2.50, more than is left of the sale"]


@pytest.mark.parametrize("sale", [None, claim(event(amount="1"))])
def test_a_refund_held_for_its_agency_waits_for_its_sale_once_the_agency_is_registered(sale: Claim | None) -> None:
    found = planned_again(sale, Reservation.of(refund(), HeldReason.UNREGISTERED_AGENCY))
    assert isinstance(found, Held)
    assert found.reservation == RESERVED
    assert [one.field for one in found.problems] == ([] if sale is None else ["data.amount"])


@pytest.mark.parametrize(
    "reservation", [replace(RESERVED, discarded="sent twice"), Reservation.of(refund(amount="-1"), RESERVED.reason)]
)
def test_a_discarded_refund_and_another_content_do_not_replace_the_reservation(reservation: Reservation) -> None:
    assert planned_again(SALE, reservation) == Held(reservation)


def names(rounds: list[list[Event]]) -> list[list[str]]:
    return [[one.identity.id for one in some] for some in rounds]


def test_refunds_of_one_sale_are_in_rounds_of_their_own_and_those_that_refer_to_another_come_after_it() -> None:
    first, second, other = refund("a"), refund("b"), refund("c", refers_to="order-2")
    of_a, of_later = refund("d", refers_to="a"), refund("e", refers_to="f")
    later = refund("f", refers_to="order-3")
    rounds = in_rounds([first, second, other, of_a, of_later, later], {})
    assert names(rounds) == [["a", "c", "f"], ["b", "d", "e"]]


def test_of_refunds_that_refer_to_each_other_the_later_one_comes_after_the_earlier() -> None:
    assert names(in_rounds([refund("a", refers_to="b"), refund("b", refers_to="a")], {})) == [["a"], ["b"]]


def test_a_void_of_a_refund_is_in_the_rounds_of_the_sale_and_comes_after_the_refund() -> None:
    back, again = void("v", "a"), refund("b")
    assert names(in_rounds([refund("a"), back, again], {})) == [["a"], ["v"], ["b"]]
    assert names(in_rounds([back, again, refund("a")], {})) == [["a"], ["v"], ["b"]]
    recorded = {Identity("shop", "a"): SALE.identity}
    assert names(in_rounds([back, again], recorded)) == [["v"], ["b"]]
    assert names(in_rounds([void("v", "c"), again], recorded)) == [["v", "b"]]


# ---------------------------------------------------------------- voids


@given(sold=amounts(12).map(abs), part=amounts(12).map(abs))
def test_a_void_takes_back_the_amount_and_the_commission_that_are_left(sold: Decimal, part: Decimal) -> None:
    sale = claim(event(amount=sold, commission_rate="0.25"))
    back = Decimal(0)
    if isinstance(refunded := against(sale, refund(amount=-part)), LinkedClaim):
        sale, back = refunded.after, refunded.claim.content(refund(amount=-part)).amount
    planned = linked_to(void(), sale, amount=str(sold))
    if sold and not left_of(sale):
        assert isinstance(planned, Rejection)
        return
    assert isinstance(planned, LinkedClaim)
    voided = planned.claim.content(void())
    assert Fraction(voided.amount) == -Fraction(sold) - Fraction(back)
    assert planned.claim.terms.commission(voided.amount) == voided.amount * Decimal("0.25")
    assert planned.after.refundable is not None
    assert left_of(planned.after) == 0
    assert planned.after.voided == void().identity
    assert planned.claim.is_of(void()), "however much is left"


def voided_sale() -> Claim:
    return linked_of(void("v0"), SALE).after


@pytest.mark.parametrize(
    ("sale", "sent", "problem"),
    [
        (voided_sale(), void(), "was voided before, by shop#v0"),
        (voided_sale(), refund(), "was voided, by shop#v0"),
        (voided_sale(), refund(amount="0"), "was voided, by shop#v0"),
        (linked_of(refund(amount="-12.50"), SALE).after, void(), "was refunded whole, so nothing is left to void"),
        (SALE, void(currency="EUR"), "is a sale of another account"),
        (SALE, void(agency="7"), "is a sale of another account"),
    ],
)
def test_a_void_or_a_refund_that_the_sale_does_not_allow_is_rejected(sale: Claim, sent: Event, problem: str) -> None:
    planned = linked_to(sent, sale, amount="12.50")
    assert isinstance(planned, Rejection)
    assert [(one.field, one.problem) for one in planned.problems] == [("data.refers_to", problem)]


@cases("type_", ["sale.voided", "sale.refunded", "adjustment.recorded", "payment.recorded", "view.recorded"])
@cases("sent", [void(), refund(), event("a1", "adjustment.recorded", refers_to="order-1")])
def test_only_a_sale_can_be_referred_to_and_a_refund_by_a_void(type_: str, sent: Event) -> None:
    other = SALE._replace(refundable=None)
    if (sent.type, type_) == ("sale.voided", "sale.refunded"):
        return
    planned = linked_to(sent, other, type=type_)
    assert isinstance(planned, Rejection)
    what = "no sale and no refund" if sent.type == "sale.voided" and type_ != "payment.recorded" else "no sale"
    assert [(one.field, one.problem) for one in planned.problems] == [("data.refers_to", f"is {what}, but {type_}")]


def test_a_correction_of_a_payment_is_rejected_with_what_corrects_payments() -> None:
    planned = linked_to(void(), SALE._replace(refundable=None), type="payment.recorded")
    assert isinstance(planned, Rejection)
    assert planned.problems[0].expected == "a payment of the opposite sign"


@given(sold=amounts(12).map(abs), parts=st.lists(amounts(12).map(lambda amount: -abs(amount)), min_size=1, max_size=6))
def test_what_is_taken_back_is_left_again_and_charged_as_if_the_refund_had_never_been(
    sold: Decimal, parts: list[Decimal]
) -> None:
    """Whatever shares of a fixed fee were cut off: only what is given back in the end counts."""
    fees = CommissionTerms(Decimal("0.07"), "card 1", f"percent=7 of={sold:f} fixed=0.11 items=1")
    sale = claim(event(amount=sold))._replace(terms=fees)
    commissions = Decimal(0)
    for number, amount in enumerate(parts):
        refunded = against(sale, refund(str(number), amount))
        if not isinstance(refunded, LinkedClaim):
            continue
        before, sale = left_of(sale), refunded.after
        given_back = refunded.claim.terms.commission(amount)
        assert given_back is not None
        commissions += given_back
        if amount and number % 2:
            back = taken_back(void(str(-number), str(number)), refunded, str(amount))
            sale = back.after
            assert back.claim.amount == -amount
            assert left_of(sale) == before
            charged = back.claim.terms.commission(-amount)
            assert charged == -given_back
            commissions += charged
    alone_ = linked_terms(fees, Parts(sold), Left(sold), Left(left_of(sale)))
    assert commissions == alone_.commission(left_of(sale) - sold)


def test_the_cancellation_of_an_order_whose_sale_was_voided_gives_back_nothing_more() -> None:
    planned = linked_to(replace(refund(amount="-12.50"), rest=True), voided_sale())
    assert isinstance(planned, LinkedClaim)
    assert planned.claim.amount == 0


@pytest.mark.parametrize("sale", [SALE, voided_sale()])
def test_an_adjustment_that_refers_to_a_sale_has_a_price_of_its_own_and_leaves_the_sale(sale: Claim) -> None:
    sent = event("a1", "adjustment.recorded", amount="0", commission="-1", refers_to="order-1")
    planned = linked_to(sent, sale)
    assert isinstance(planned, LinkedClaim)
    assert (planned.claim.terms.commission(sent.amount), planned.before, planned.after) == (Decimal(-1), sale, sale)


UNLINKED: Final = {"type": "sale.refunded", "agency": "42", "currency": "GBP", "terms": "card 3"}
"""The facts of a refund without a sale, priced by a rate card."""


def adjusted(facts: dict[str, str], **changed: object) -> LinkedClaim | Rejection:
    sent = event("a1", "adjustment.recorded", **{"amount": "0", "refers_to": "order-1", **changed})
    return linked_to(sent, SALE._replace(refundable=None), AT, None, **facts)


@pytest.mark.parametrize("amount", ["0", "0.00"])
@pytest.mark.parametrize("terms", ["card 3", "card 3 rate-card:group/eu", "default"])
def test_an_adjustment_corrects_only_the_commission_of_an_unlinked_refund(amount: str, terms: str) -> None:
    planned = adjusted({**UNLINKED, "terms": terms}, amount=amount, commission="-1")
    assert isinstance(planned, LinkedClaim)
    assert planned.claim.terms.commission(Decimal(amount)) == Decimal(-1)


@cases(
    ("facts", "changed"),
    [
        (UNLINKED, {"commission": "-1", "amount": "0.01"}),
        (UNLINKED, {"commission": "-1", "amount": "-5.00"}),
        (UNLINKED, {}),
        ({**UNLINKED, "terms": "event"}, {"commission": "-1"}),
        ({**UNLINKED, "agency": "43"}, {"commission": "-1"}),
        ({**UNLINKED, "currency": "EUR"}, {"commission": "-1"}),
        *(({**UNLINKED, "agency": agency}, {"commission": "-1"}) for agency in near("42")),
    ],
)
def test_an_adjustment_of_more_than_the_commission_of_an_unlinked_refund_is_rejected(
    facts: dict[str, str], changed: dict[str, str]
) -> None:
    planned = adjusted(facts, **changed)
    assert isinstance(planned, Rejection)
    assert [(one.field, one.problem) for one in planned.problems] == [
        ("data.refers_to", "is no sale, but sale.refunded")
    ]


def test_an_adjustment_of_another_account_is_rejected() -> None:
    sent = event("a1", "adjustment.recorded", amount="0", currency="EUR", refers_to="order-1")
    planned = linked_to(sent, SALE)
    assert isinstance(planned, Rejection)
    assert planned.problems[0].expected == "a sale of 42#EUR", "people of the agency may read it"


# ---------------------------------------------------------------- the category and the kind of what is corrected

ADJUSTED: Final = "adjustment.recorded"


def recorded(sent: Event, facts: dict[str, str], sale: Claim = SALE) -> dict[str, str]:
    """Return the ledger's attributes of a correction, by its claim as it is stored."""
    claimed = linked_of(sent, sale, AT, None, **facts).claim
    stored = claim_of(claim_item(claimed, "r1"))
    assert stored == claimed
    values = ledger_values(stored.content(sent), stored)
    assert values == ledger_values(claimed.content(sent), claimed)
    return {name: values[name] for name in ("category", "kind") if name in values}


COMMISSION: Final = {"amount": "0", "commission": "-1", "refers_to": "order-1"}


@pytest.mark.parametrize("named", [{}, {"category": "toys"}, {"category": "books"}])
@pytest.mark.parametrize(("of_sale", "category"), [({"category": "books"}, {"category": "books"}), ({}, {})])
def test_a_refund_and_a_void_have_the_category_of_their_sale_whatever_they_name(
    named: dict[str, str], of_sale: dict[str, str], category: dict[str, str]
) -> None:
    assert recorded(refund(**named), of_sale) == category
    assert recorded(void(**named), of_sale) == category


@pytest.mark.parametrize(
    ("sent", "category"),
    [
        (event("a1", ADJUSTED, **COMMISSION), {"category": "books"}),
        (event("a1", ADJUSTED, **COMMISSION, category="toys"), {"category": "toys"}),
        (event("a1", ADJUSTED, amount="5", commission_rate="0.1", refers_to="order-1"), {"category": "books"}),
        (event("a1", ADJUSTED, amount="5", refers_to="order-1"), {}),
        (event("a1", ADJUSTED, amount="5", refers_to="order-1", category="toys"), {"category": "toys"}),
    ],
    ids=["commission", "commission and category", "rate", "by a rate card", "by a rate card for its own category"],
)
def test_an_adjustment_has_its_own_category_or_that_of_its_sale_if_no_rate_card_prices_it(
    sent: Event, category: dict[str, str]
) -> None:
    assert recorded(sent, {"category": "books"}) == category


@pytest.mark.parametrize(("kind", "taken"), [("fee", {"kind": "fee"}), ("opening", {})])
def test_an_adjustment_of_a_fee_is_of_the_kind_of_the_fee_but_brings_no_balance_forward(
    kind: str, taken: dict[str, str]
) -> None:
    of_fee = {**UNLINKED, "type": ADJUSTED, "kind": kind}
    sale = SALE._replace(refundable=None)
    assert recorded(event("a1", ADJUSTED, **COMMISSION), of_fee, sale) == taken
    assert recorded(event("a1", ADJUSTED, **COMMISSION, kind="own"), of_fee, sale) == {"kind": "own"}


def test_a_refund_without_a_category_stores_nothing_more_for_a_sale_without_one() -> None:
    assert {"category", "kind"}.isdisjoint(claim_item(linked_of(refund(), SALE).claim, "r1"))
