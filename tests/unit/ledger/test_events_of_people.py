"""Events that people record: payments and adjustments alone, from the source ``finance`` and under their name."""

from dataclasses import replace

import pytest

from quarterhour.ledger.event import Event, Rejection
from quarterhour.ledger.events_of_people import SOURCE, sent_by
from quarterhour.model.identifiers import Identity
from quarterhour.web.access import Role
from tests.support.builders import MACHINE, event, one_of_staff, payment, rejection, rerating
from tests.support.names import near

FAY = one_of_staff(Role.FINANCE)


def of(source: str, sent: Event) -> Event:
    return replace(sent, identity=Identity(source, sent.identity.id))


@pytest.mark.parametrize("sent", [payment(), event("a1", "adjustment.recorded", amount="-1.50")])
def test_a_person_records_payments_and_adjustments_under_their_name(sent: Event) -> None:
    sent = of("finance", sent)
    assert sent_by(FAY, sent, needs_two=False) == replace(sent, recorded_by="fay")


@pytest.mark.parametrize(
    ("sent", "waits"),
    [
        (payment(), False),
        (payment("p2", "-0.01"), True),
        (event("a1", "adjustment.recorded", amount="-1.50"), True),
        (event("a2", "adjustment.recorded", amount="1.50"), True),
        (event("a3", "adjustment.recorded", amount="0", commission="-2.50"), True),
    ],
)
def test_where_two_people_must_agree_adjustments_and_payouts_need_approval(sent: Event, *, waits: bool) -> None:
    sent = of(SOURCE, sent)
    assert sent_by(FAY, sent, needs_two=True) == replace(sent, recorded_by="fay", needs_approval=waits)
    assert sent_by(FAY, sent, needs_two=False) == replace(sent, recorded_by="fay")
    assert sent_by(MACHINE, sent, needs_two=True) is sent


@pytest.mark.parametrize("source", ["shop", *near(SOURCE)])
def test_a_person_cannot_take_a_source_that_a_shop_can_use(source: str) -> None:
    refused = sent_by(FAY, of(source, payment()), needs_two=True)
    assert isinstance(refused, Rejection)
    assert [(one.field, one.expected) for one in refused.problems] == [("source", "of people 'finance'")]
    assert (refused.source, refused.id) == (source, "p1")


@pytest.mark.parametrize(
    ("sent", "fields"),
    [
        (event(), ["type"]),
        (event("r1", "sale.refunded", amount="-1"), ["type"]),
        (rerating(), ["data.rerating"]),
    ],
)
def test_a_person_records_nothing_else(sent: Event, fields: list[str]) -> None:
    refused = sent_by(FAY, of(SOURCE, sent), needs_two=True)
    assert isinstance(refused, Rejection)
    assert [one.field for one in refused.problems] == fields


@pytest.mark.parametrize("item", [event(), of(SOURCE, payment()), rejection()])
def test_what_a_machine_sends_and_what_is_rejected_stays_as_it_is(item: Event | Rejection) -> None:
    assert sent_by(MACHINE, item, needs_two=True) is item
    if isinstance(item, Rejection):
        assert sent_by(FAY, item, needs_two=True) is item
