"""The identities of the events that billing posts for orders: what other senders may send of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.ledger.events.billed import MAX_ITEMS, SOURCE, reserved
from quarterhour.ledger.events.event import Event, Rejection, read_event
from quarterhour.model.identifiers import Identity
from quarterhour.orders.events import refund
from quarterhour.orders.events import sale as billed_sale
from tests.support.builders import names
from tests.support.cases import cases
from tests.support.events import adjustment, sale
from tests.support.names import near

FACTS = {"agency": "42", "amount": "10.00"}


@given(names, st.integers(1, MAX_ITEMS))
def test_nobody_takes_the_identity_of_an_event_that_billing_posts(order: str, line: int) -> None:
    sold = billed_sale(order, line, FACTS, currency="GBP")
    for billed in (sold, refund(sold, "2026-10-23T01:30:00Z")):
        for is_sale in (True, False):
            assert reserved(Identity(billed["source"], billed["id"]), is_sale=is_sale)


@pytest.mark.parametrize("sent", [sale(), adjustment("a1", "-1")])
def test_what_takes_the_identity_of_an_orders_event_is_rejected(sent: dict[str, object]) -> None:
    refused = read_event({**sent, "source": SOURCE, "id": "1001:1"})
    assert isinstance(refused, Rejection)
    assert (refused.source, refused.id, len(refused.problems)) == (SOURCE, "1001:1", 1)


def test_billing_alone_makes_events_of_orders() -> None:
    sold = billed_sale("1001", 1, FACTS, currency="GBP")
    for billed in (sold, refund(sold, "2026-10-23T01:30:00Z")):
        assert isinstance(read_event(billed, billed=True), Event)
        assert isinstance(read_event(billed), Rejection)


def test_nobody_sends_a_sale_of_the_orders_source() -> None:
    problem = reserved(Identity(SOURCE, "anything"), is_sale=True)
    assert problem
    assert problem.field == "source"


@cases("source", near(SOURCE))
def test_a_similar_source_is_of_its_sender(source: str) -> None:
    assert reserved(Identity(source, "1001:1"), is_sale=True) is None


@cases(
    "id_",
    [
        *("1001", "1001:", ":1", "1001:0", "1001:01", "1001:-1", "1001:1.0", f"1001:{MAX_ITEMS + 1}", "1001:\u0661"),
        *("1001:1:refunds", "1001:1:REFUND", "1001:1:refund ", "1001:1refund", "1001:1:refund:refund", "1001:refund"),
    ],
)
def test_an_id_that_billing_never_posts_is_free_for_corrections(id_: str) -> None:
    assert reserved(Identity(SOURCE, id_), is_sale=False) is None
