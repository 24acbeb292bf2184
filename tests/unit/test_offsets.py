"""Offsets from UTC: RFC 3339 allows 00:00 to 23:59, wherever an instant can be sent."""

from collections.abc import Callable, Sequence

import pytest

from quarterhour.ledger.events.event import Rejection, read_event
from quarterhour.model import instants
from quarterhour.model.errors import FieldProblem, InvalidError
from quarterhour.orders.order import read_order
from quarterhour.registry.rate_cards.rate_card import RateCard, read_rate_card
from quarterhour.web.parameters import INSTANT, MOMENT, Parameters
from tests.support.builders import sale
from tests.support.orders import body


def of_event(sent: str) -> Sequence[FieldProblem]:
    read = read_event(sale(time=sent))
    assert isinstance(read, Rejection)
    return read.problems


def of_rate_card(sent: str) -> Sequence[FieldProblem]:
    read = read_rate_card({"valid_from": sent, "rules": [{"percent": "10"}]})
    assert not isinstance(read, RateCard)
    return read


def raised(read: Callable[[], object]) -> Sequence[FieldProblem]:
    with pytest.raises(InvalidError) as refused:
        read()
    return refused.value.problems


FIELDS: dict[str, Callable[[str], Sequence[FieldProblem]]] = {
    "time": of_event,
    "placed_at": lambda sent: raised(lambda: read_order(body(placed_at=sent))),
    "content.valid_from": of_rate_card,
    "at": lambda sent: raised(lambda: Parameters("/", {"at": sent}).required("at", INSTANT, instants.instant)),
    "on": lambda sent: raised(lambda: Parameters("/", {"on": sent}).required("on", MOMENT, instants.moment)),
}


@pytest.mark.parametrize("field", FIELDS)
def test_an_instant_has_an_offset_of_rfc_3339(field: str) -> None:
    for offset in ("+00:60", "-00:60", "+24:00", "-24:00"):
        sent = f"2026-10-23T01:30:00{offset}"
        assert [(one.field, one.problem) for one in FIELDS[field](sent)] == [(field, f"is '{sent}'")]
