"""Offsets from UTC: RFC 3339 allows 00:00 to 23:59, wherever an instant can be sent."""

import pytest

from quarterhour.ledger.events.event import Rejection, read_event
from quarterhour.model import instants
from quarterhour.model.errors import InvalidError
from quarterhour.orders.order import read_order
from quarterhour.registry.rate_cards.rate_card import RateCard, read_rate_card
from quarterhour.web.parameters import INSTANT, MOMENT, Parameters
from tests.support.builders import sale
from tests.support.orders import body

SENT = [f"2026-10-23T01:30:00{offset}" for offset in ("+00:60", "-00:60", "+24:00", "-24:00")]


@pytest.mark.parametrize("sent", SENT)
def test_the_time_of_an_event_has_an_offset_of_rfc_3339(sent: str) -> None:
    read = read_event(sale(time=sent))
    assert isinstance(read, Rejection)
    assert [(one.field, one.problem) for one in read.problems] == [("time", f"is '{sent}'")]


@pytest.mark.parametrize("sent", SENT)
def test_the_instant_at_which_an_order_was_placed_has_an_offset_of_rfc_3339(sent: str) -> None:
    with pytest.raises(InvalidError) as refused:
        read_order(body(placed_at=sent))
    assert [(one.field, one.problem) for one in refused.value.problems] == [("placed_at", f"is '{sent}'")]


@pytest.mark.parametrize("sent", SENT)
def test_the_instant_from_which_a_rate_card_is_valid_has_an_offset_of_rfc_3339(sent: str) -> None:
    read = read_rate_card({"valid_from": sent, "rules": [{"percent": "10"}]})
    assert not isinstance(read, RateCard)
    assert [(one.field, one.problem) for one in read] == [("content.valid_from", f"is '{sent}'")]


@pytest.mark.parametrize("sent", SENT)
def test_the_instants_of_a_query_have_an_offset_of_rfc_3339(sent: str) -> None:
    query = Parameters("/", {"at": sent})
    for expected, parse in ((INSTANT, instants.instant), (MOMENT, instants.moment)):
        with pytest.raises(InvalidError) as refused:
            query.required("at", expected, parse)
        assert [(one.field, one.problem) for one in refused.value.problems] == [("at", f"is '{sent}'")]
