"""Rerating: the differences to another rate card are posted once, and their total is exact."""

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.ledger.event import Event, read_event
from quarterhour.ledger.plan import Claim, ledger_values
from quarterhour.ledger.pricing import has_price_of_sale, price_of
from quarterhour.ledger.rerate import Rerated, adjustment_id, rerated
from quarterhour.model import money
from quarterhour.rate_cards.plan import InForce
from quarterhour.rate_cards.rate_card import RateCard
from tests.support.builders import AT, event, linked_of, terms, void
from tests.unit.rate_cards.builders import categories, places, rate_card, rate_cards

START, END = AT - timedelta(hours=1), AT + timedelta(hours=1)
OLD, NEW = rate_card({"percent": "10"}), rate_card({"percent": "20"})


class Book:
    """A ledger in memory, with the claims of its sales."""

    def __init__(self, old: RateCard = OLD) -> None:
        self._in_force = InForce("rate-card:42", 1, old)
        self._claims: dict[str, Claim] = {}
        self.facts: list[dict[str, str]] = []

    def record(self, sent: Event, at: datetime = AT) -> None:
        """Record an event by the old rate card."""
        if sent.linked_to and sent.linked_to.id in self._claims and has_price_of_sale(sent):
            sale = self._claims[sent.linked_to.id]
            planned = linked_of(sent, sale, at)
            self._claims[sale.identity.id] = planned.after
            claim = planned.claim
        else:
            claim = Claim.of(sent, at, terms(), price_of(sent, [self._in_force], Decimal("0.25")))
            self._claims[sent.identity.id] = claim
        self.facts.append(ledger_values(claim.content(sent), claim))

    def rerate(self, to: RateCard = NEW, start: datetime = START, end: datetime = END) -> list[Rerated]:
        return rerated(self.facts, to, start, end)

    def post(self, to: RateCard = NEW) -> list[dict[str, Any]]:
        """Rerate, and record the adjustments."""
        posted = [one.adjustment() for one in self.rerate(to) if one.difference]
        for one in posted:
            sent = read_event(one)
            assert isinstance(sent, Event), sent
            self.record(sent, AT + timedelta(hours=2))
        return posted

    def commission(self) -> Decimal:
        return sum((Decimal(one["commission"]) for one in self.facts), Decimal(0))


def refund(id_: str, amount: str, of: str = "order-1") -> Event:
    return event(id_, "sale.refunded", amount=amount, refers_to=of)


def test_an_adjustment_has_a_commission_without_an_amount_and_is_linked_to_its_sale() -> None:
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
            "amount": "0",
            "currency": "GBP",
            "commission": "10.00",
            "refers_to": "order-1",
            "category": "books",
            "order_id": "7",
            "location": "GB#London",
        },
    }
    assert book.commission() == 20


def test_a_second_run_posts_nothing_and_a_run_by_the_old_rate_card_posts_the_reverse() -> None:
    book = Book()
    book.record(event(amount="100"))
    assert len(book.post()) == 1
    assert book.post() == []
    (back,) = book.post(OLD)
    assert (back["id"], back["data"]["commission"]) == (adjustment_id(event().identity, 2), "-10.00")
    assert book.commission() == 10


def test_the_next_run_posts_the_adjustments_that_an_interrupted_run_did_not() -> None:
    book = Book()
    for number in range(4):
        book.record(event(f"s{number}", amount="100"))
    first, *_ = (one.adjustment() for one in book.rerate())
    sent = read_event(first)
    assert isinstance(sent, Event)
    book.record(sent)
    assert [one["data"]["refers_to"] for one in book.post()] == ["s1", "s2", "s3"]


def test_a_sale_is_rerated_with_its_refunds_whenever_they_were_recorded() -> None:
    book = Book()
    book.record(event(amount="100"))
    book.record(refund("r1", "-25"))
    book.record(refund("r2", "-75"), END + timedelta(days=3))
    (one,) = book.rerate(rate_card({"percent": "10", "currency": "GBP", "fixed": "5"}))
    assert {one.paid, one.due, one.difference} == {Decimal(0)}
    book = Book()
    book.record(event(amount="100"))
    book.record(refund("r1", "-25"))
    (one,) = book.rerate(rate_card({"percent": "10", "currency": "GBP", "fixed": "5"}))
    assert (one.paid, one.due) == (Decimal("7.5"), Decimal("11.25"))


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
    book = Book()
    book.record(sent)
    assert book.rerate(rate_card({"percent": "20", "category": "books"})) == []


def test_only_events_recorded_in_the_span_are_rerated() -> None:
    book = Book()
    for minutes in (-60, -61, 59, 60):
        book.record(event(f"s{minutes}"), AT + timedelta(minutes=minutes))
    assert [one.identity.id for one in book.rerate()] == ["s-60", "s59"]


def test_an_adjustment_by_another_sender_does_not_count_as_paid() -> None:
    book = Book()
    book.record(event(amount="100"))
    book.record(event("goodwill", "adjustment.recorded", amount="0", commission="-3", refers_to="order-1"))
    book.record(event("rerate-1-x", "adjustment.recorded", amount="0", commission="-3", refers_to="order-1"))
    (posted,) = book.post()
    assert posted["data"]["commission"] == "10.00"


@given(
    old=rate_cards,
    new=rate_cards,
    sold=st.lists(st.tuples(st.decimals(0, 10**4, places=2), categories, places, st.integers(0, 1000)), max_size=8),
)
def test_after_a_run_every_sale_has_paid_its_commission_by_the_new_rate_card_less_its_refunds(
    old: RateCard, new: RateCard, sold: list[tuple[Decimal, str, str, int]]
) -> None:
    book = Book(old)
    expected = Decimal(0)
    for number, (amount, category, place, part) in enumerate(sold):
        more = {name: text for name, text in {"category": category, "location": place}.items() if text}
        sent = event(f"s{number}", amount=amount, **more)
        book.record(sent)
        back = (amount * part / 1000).quantize(Decimal("0.01"))
        book.record(refund(f"r{number}", money.plain(money.negated(back)), f"s{number}"))
    for one in book.rerate(new):
        amount = Decimal(one.facts["amount"])
        assert 0 <= one.due <= (one.price.commission(amount) or 0)
        expected += one.difference
    before = book.commission()
    book.post(new)
    assert book.commission() == before + expected
    assert book.post(new) == []


def test_a_voided_sale_has_nothing_left_to_charge() -> None:
    book = Book()
    book.record(event(amount="100"))
    book.record(void(), AT + timedelta(minutes=1))
    assert [one.difference for one in book.rerate()] == [0]


def test_a_void_of_a_rerated_sale_is_corrected_by_the_next_run() -> None:
    book = Book()
    book.record(event(amount="100"))
    assert [one["data"]["commission"] for one in book.post()] == ["10.00"]
    book.record(void(), AT + timedelta(hours=3))
    book.post()
    assert sum(Decimal(facts["commission"]) for facts in book.facts) == 0
