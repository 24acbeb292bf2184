"""Events of the orders' source: what other senders may send of it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.ledger.events.event import Event, Rejection
from quarterhour.model.identifiers import Identity
from quarterhour.orders.events import SOURCE, refund, sale, unreserved
from quarterhour.orders.keys import MAX_ITEMS
from tests.support.builders import event, names, rejection
from tests.support.names import near


def of(source: str, id_: str, sent: Event) -> Event:
    return replace(sent, identity=Identity(source, id_))


ADJUSTMENT = event("a1", "adjustment.recorded", amount="0", commission="-1")


@given(names, st.integers(1, MAX_ITEMS))
def test_nobody_takes_the_identity_of_an_event_that_billing_can_post(order: str, line: int) -> None:
    sold = sale(order, line, {"agency": "42", "amount": "10.00"}, currency="GBP")
    for billed in (sold, refund(sold, "2026-10-23T01:30:00Z")):
        for sent in (event(), ADJUSTMENT):
            refused = unreserved(of(billed["source"], billed["id"], sent))
            assert isinstance(refused, Rejection)


def test_nobody_sends_a_sale_of_the_orders_source() -> None:
    refused = unreserved(of(SOURCE, "anything", event()))
    assert isinstance(refused, Rejection)
    assert refused.problems[0].field == "source"


@pytest.mark.parametrize("source", near(SOURCE))
def test_a_similar_source_is_of_its_sender(source: str) -> None:
    sent = of(source, "1001:1", event())
    assert unreserved(sent) is sent


@pytest.mark.parametrize(
    "id_",
    [
        *("1001", "1001:", ":1", "1001:0", "1001:01", "1001:-1", "1001:1.0", f"1001:{MAX_ITEMS + 1}", "1001:\u0661"),
        *("1001:1:refunds", "1001:1:REFUND", "1001:1:refund ", "1001:1refund", "1001:1:refund:refund", "1001:refund"),
    ],
)
def test_an_id_that_billing_never_posts_is_free_for_corrections(id_: str) -> None:
    sent = of(SOURCE, id_, ADJUSTMENT)
    assert unreserved(sent) is sent


def test_a_rejection_stays_as_it_is() -> None:
    item = rejection()
    assert unreserved(item) is item
