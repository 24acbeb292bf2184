"""Rerating: every sale pays what its rate card in force charges for what is left of it, exactly."""

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.ledger.events.event import Event, Rejection, Rerating, read_event
from quarterhour.ledger.events.rerating_ids import adjustment_id
from quarterhour.ledger.reading.explanation import commission_matches
from quarterhour.ledger.recording.claims import Claim
from quarterhour.ledger.recording.linked import LinkedClaim
from quarterhour.ledger.recording.plan import ledger_values
from quarterhour.ledger.recording.pricing import has_terms_of_sale, terms_of
from quarterhour.ledger.rerating.plan import Rerated, ReratingRequest, rerated
from quarterhour.model import exact_json, money
from quarterhour.registry.rate_cards.charge import Pricing
from quarterhour.registry.rate_cards.plan import InForce
from quarterhour.registry.rate_cards.rate_card import RateCard
from tests.support.builders import AT, alone, event, linked_to, rerating, settings, void
from tests.unit.registry.rate_cards.builders import categories, places, rate_card, rate_cards

START, END = AT - timedelta(hours=1), AT + timedelta(hours=1)
OLD, NEW = rate_card({"percent": "10"}), rate_card({"percent": "20"})
WITH_A_FEE = rate_card({"currency": "GBP", "charges": [{"name": "commission", "percent": "10", "fixed": "5"}]})
OWN = "rate-card:42"


def request(version: int = 2) -> ReratingRequest:
    return ReratingRequest(Rerating(OWN, version, "ann"), "new contract")


def as_sent(posted: dict[str, Any]) -> Event:
    """Return an event as the API reads it."""
    read = read_event(exact_json.parse(exact_json.write(posted)))
    assert isinstance(read, Event), read
    return read


class Book:
    """A ledger in memory, with the claims of its sales. Sales are charged by the first version of the rate card."""

    def __init__(self, *versions: RateCard) -> None:
        self.versions = {(OWN, number): one for number, one in enumerate(versions or (OLD, NEW), 1)}
        self.claims: dict[str, Claim] = {}
        self.facts: list[dict[str, str]] = []

    def record(self, sent: Event, at: datetime = AT) -> Rejection | None:
        """Record an event; return its rejection if its sale does not allow it."""
        if sent.linked_to and has_terms_of_sale(sent):
            sale = self.claims[sent.linked_to.id]
            (facts,) = [one for one in self.facts if one["id"] == sent.linked_to.id]
            planned = linked_to(sent, sale, at, self.versions, **facts)
            if isinstance(planned, Rejection):
                return planned
            assert isinstance(planned, LinkedClaim)
            self.claims[sale.identity.id] = planned.after
            claim = planned.claim
        else:
            in_force = InForce(OWN, 1, self.versions[OWN, 1])
            claim = alone(Claim.of(sent, at, settings(), terms_of(sent, [in_force], Decimal("0.25"))))
            self.claims[sent.identity.id] = claim
        self.facts.append(ledger_values(claim.content(sent), claim))
        return None

    def rerate(self, version: int = 2, start: datetime = START, end: datetime = END) -> list[Rerated]:
        return rerated(self.facts, self.versions[OWN, version], (start, end), lambda _: Pricing(), lambda _: {})

    def post(self, version: int = 2) -> list[dict[str, Any]]:
        """Rerate, and record the adjustments, which must have the commissions that were shown for them."""
        changed = [one for one in self.rerate(version) if one.is_changed]
        posted = [one.adjustment(request(version)) for one in changed]
        for one, sent in zip(changed, posted, strict=True):
            assert self.record(as_sent(sent), AT + timedelta(hours=2)) is None
            assert Decimal(self.facts[-1]["commission"]) == one.difference
        return posted

    def commission(self, *ids: str) -> Decimal:
        """Return the commission of all events, or of some."""
        return sum((Decimal(one["commission"]) for one in self.facts if not ids or one["id"] in ids), Decimal(0))


def refund(id_: str, amount: str, of: str = "order-1") -> Event:
    return event(id_, "sale.refunded", amount=amount, refers_to=of)


def test_an_adjustment_names_rate_card_version_operator_and_reason_and_is_linked_to_its_sale() -> None:
    book = Book()
    book.record(event(amount="100", category="books", location="GB#London", order_id="7", quantity="2", customer="ann"))
    (posted,) = book.post()
    assert posted == {
        "specversion": "1.0",
        "source": "shop",
        "id": adjustment_id(event().identity, 1),
        "type": "adjustment.recorded",
        "subject": "42",
        "data": {
            "currency": "GBP",
            "refers_to": "order-1",
            "reason": "new contract",
            "category": "books",
            "order_id": "7",
            "location": "GB#London",
            "rerating": {"rate_card": "rate-card:42", "version": 2, "by": "ann"},
        },
    }
    recorded = book.facts[-1]
    assert (recorded["commission"], recorded["commission_rate"], recorded["amount"]) == ("10.00", "0.20", "0")
    assert (recorded["terms"], recorded["arithmetic"]) == ("rerating", "due=20.00 paid=10.00")
    assert recorded["rerating"] == '{"by":"ann","rate_card":"rate-card:42","version":2}'


def test_a_second_run_posts_nothing_and_a_run_by_the_old_rate_card_posts_the_reverse() -> None:
    book = Book()
    book.record(event(amount="100"))
    assert len(book.post()) == 1
    assert book.post() == []
    (back,) = book.post(1)
    assert back["id"] == adjustment_id(event().identity, 2)
    assert book.commission() == 10


def test_the_next_run_posts_the_adjustments_that_an_interrupted_run_did_not() -> None:
    book = Book()
    for number in range(4):
        book.record(event(f"s{number}", amount="100"))
    first, *_ = (one.adjustment(request()) for one in book.rerate())
    sent = as_sent(first)
    book.record(sent)
    assert [one["data"]["refers_to"] for one in book.post()] == ["s1", "s2", "s3"]


def test_a_sale_is_rerated_with_its_refunds_whenever_they_were_recorded() -> None:
    book = Book(OLD, WITH_A_FEE)
    book.record(event(amount="100"))
    book.record(refund("r1", "-25"))
    book.record(refund("r2", "-75"), END + timedelta(days=3))
    (one,) = book.rerate()
    assert {one.paid, one.due, one.difference} == {Decimal(0)}
    book = Book(OLD, WITH_A_FEE)
    book.record(event(amount="100"))
    book.record(refund("r1", "-25"))
    (one,) = book.rerate()
    assert (one.paid, one.due) == (Decimal("7.5"), Decimal("11.25"))


@pytest.mark.parametrize("back", [void("back"), refund("back", "-100")])
def test_a_rerated_sale_gives_back_what_it_was_charged_in_the_end_and_a_second_run_posts_nothing(back: Event) -> None:
    book = Book(OLD, WITH_A_FEE)
    book.record(event(amount="100"))
    book.post()
    book.record(back)
    assert (book.commission("back"), book.commission()) == (Decimal(-15), Decimal(0))
    assert book.post() == []


@pytest.mark.parametrize(
    "sent",
    [
        event(commission_rate="0.1"),
        event(type_="adjustment.recorded", amount="0", commission="5"),
        event(category="toys"),
        replace(event(category="books"), time=datetime.fromisoformat("2026-09-30T12:00:00Z")),
    ],
    ids=["named its rate", "named its commission", "not covered", "before the card is valid"],
)
def test_an_event_that_the_rate_card_does_not_price_is_not_rerated(sent: Event) -> None:
    book = Book(OLD, rate_card({"percent": "20", "category": "books"}))
    book.record(sent)
    assert book.rerate() == []
    refused = book.record(rerating(version=2))
    assert refused
    assert refused.problems[0].field in {"data.refers_to", "data.rerating"}


def test_only_events_recorded_in_the_span_are_rerated() -> None:
    book = Book()
    for minutes in (-60, -61, 59, 60):
        book.record(event(f"s{minutes}"), AT + timedelta(minutes=minutes))
    assert [one.identity.id for one in book.rerate()] == ["s-60", "s59"]


def test_an_adjustment_by_another_sender_does_not_count_as_paid_but_their_rerating_does() -> None:
    book = Book()
    book.record(event(amount="100"))
    book.record(event("goodwill", "adjustment.recorded", amount="0", commission="-3", refers_to="order-1"))
    book.record(event("rerate-1-x", "adjustment.recorded", amount="0", commission="-3", refers_to="order-1"))
    (one,) = book.rerate()
    assert one.difference == 10
    book.record(rerating(version=2))
    assert book.post() == []


def test_a_refund_without_a_sale_is_rerated_like_a_sale() -> None:
    book = Book()
    loose = event("r", "sale.refunded", amount="-50")
    book.record(loose)
    assert [one["data"]["refers_to"] for one in book.post()] == ["r"]
    assert book.post() == []
    assert book.commission() == -10


# ---------------------------------------------------------------- the law

steps = st.lists(
    st.one_of(
        st.tuples(st.just("refund"), st.integers(1, 1000)),
        st.tuples(st.just("void"), st.just(0)),
        st.tuples(st.just("rerate"), st.integers(1, 3)),
    ),
    max_size=8,
)


def charged(sale: Claim, amount: Decimal, left: Decimal) -> Fraction:
    """Return what the terms in force charges for what is left, computed in fractions."""
    terms = sale.terms_in_force
    if not terms.arithmetic:
        return Fraction(terms.commission_rate) * Fraction(left)
    whole = terms.commission(amount)
    assert whole is not None
    unit = 10 ** max(8, money.places(whole))
    back = Fraction(whole) * (Fraction(amount) - Fraction(left)) / Fraction(amount) if amount else Fraction(0)
    return Fraction(whole) - Fraction(int(back * unit), unit)


@given(
    versions=st.tuples(rate_cards, rate_cards, rate_cards),
    amount=st.decimals(0, 10**4, places=2),
    category=categories,
    place=places,
    steps=steps,
)
def test_whatever_happens_to_a_sale_it_has_paid_what_its_rate_card_in_force_charges_for_what_is_left(
    versions: tuple[RateCard, RateCard, RateCard],
    amount: Decimal,
    category: str,
    place: str,
    steps: list[tuple[str, int]],
) -> None:
    book = Book(*versions)
    book.record(
        event(amount=amount, **{name: text for name, text in (("category", category), ("location", place)) if text})
    )
    left = amount
    for number, (step, part) in enumerate(steps):
        if step == "refund":
            back = (amount * part / 1000).quantize(Decimal("0.01"))
            refused = book.record(refund(f"r{number}", money.plain(money.negated(back))))
            left -= 0 if refused else back
        elif step == "void":
            refused = book.record(void(f"v{number}"))
            left = left if refused else Decimal(0)
        else:
            before = book.claims["order-1"].terms_in_force
            refused = book.record(rerating(f"rr{number}", version=part))
            if refused and refused.problems[0].field == "data.rerating":
                assert book.claims["order-1"].terms_in_force == before, "a refused re-rating changes nothing"
            assert refused or book.claims["order-1"].terms_in_force != before
        assert Fraction(book.commission()) == charged(book.claims["order-1"], amount, left)
    assert all(map(commission_matches, book.facts))
