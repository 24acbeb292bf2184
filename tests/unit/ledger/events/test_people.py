"""Events that people record: payments and adjustments alone, from the source ``finance`` and under their name."""

from dataclasses import replace

import pytest

from quarterhour.ledger.events.event import Event, Rejection, Rerating
from quarterhour.ledger.events.people import SOURCE, sent_by
from quarterhour.ledger.events.rerating_ids import adjustment_id
from quarterhour.model.identifiers import Identity
from quarterhour.registry.settings.settings import Settings
from quarterhour.web.access import Role
from tests.support.builders import MACHINE, event, one_of_staff, payment, rejection, rerating
from tests.support.cases import cases
from tests.support.names import near

FAY = one_of_staff(Role.FINANCE)
ALONE = Settings()
BY_TWO = Settings(approvals=2)


def of(source: str, sent: Event) -> Event:
    return replace(sent, identity=Identity(source, sent.identity.id))


@pytest.mark.parametrize("sent", [payment(), event("a1", "adjustment.recorded", amount="-1.50")])
def test_a_person_records_payments_and_adjustments_under_their_name(sent: Event) -> None:
    sent = of("finance", sent)
    assert sent_by(FAY, sent, ALONE) == replace(sent, recorded_by="fay")


@pytest.mark.parametrize(
    ("sent", "waits"),
    [
        (payment(), False),
        (payment("p2", "-0.01"), True),
        (payment("p3", kind="bad_debt"), True),
        (event("a1", "adjustment.recorded", amount="-1.50"), True),
        (event("a2", "adjustment.recorded", amount="1.50"), True),
        (event("a3", "adjustment.recorded", amount="0", commission="-2.50"), True),
    ],
)
def test_where_two_people_must_agree_adjustments_and_payouts_need_approval(sent: Event, *, waits: bool) -> None:
    sent = of(SOURCE, sent)
    assert sent_by(FAY, sent, BY_TWO) == replace(sent, recorded_by="fay", needs_approval=waits)
    assert sent_by(FAY, sent, ALONE) == replace(sent, recorded_by="fay")
    assert sent_by(MACHINE, sent, BY_TWO) is sent


@cases("source", ["shop", *near(SOURCE)])
def test_a_person_cannot_take_a_source_that_a_shop_can_use(source: str) -> None:
    refused = sent_by(FAY, of(source, payment()), BY_TWO)
    assert isinstance(refused, Rejection)
    assert [(one.field, one.expected) for one in refused.problems] == [("source", "of people 'finance'")]
    assert (refused.source, refused.id) == (source, "p1")


@pytest.mark.parametrize(
    ("sent", "fields"),
    [
        (event(), ["type"]),
        (event("r1", "sale.refunded", amount="-1"), ["type"]),
    ],
)
def test_a_person_records_nothing_else(sent: Event, fields: list[str]) -> None:
    refused = sent_by(FAY, of(SOURCE, sent), BY_TWO)
    assert isinstance(refused, Rejection)
    assert [one.field for one in refused.problems] == fields


@pytest.mark.parametrize("item", [event(), of(SOURCE, payment()), rejection()])
def test_what_a_machine_sends_and_what_is_rejected_stays_as_it_is(item: Event | Rejection) -> None:
    assert sent_by(MACHINE, item, BY_TWO) is item
    if isinstance(item, Rejection):
        assert sent_by(FAY, item, BY_TWO) is item


UPLOADED = [
    (event(), True),
    (event("r1", "sale.refunded", amount="-1"), True),
    (event("a1", "adjustment.recorded", amount="1"), True),
    (payment(), False),
    (payment("p2", "-0.01"), True),
]


@pytest.mark.parametrize(("sent", "waits"), UPLOADED)
def test_a_person_records_all_types_from_a_source_that_is_open_to_uploads(sent: Event, *, waits: bool) -> None:
    uploads = frozenset({"till", "stripe"})
    sent = of("till", sent)
    assert sent_by(FAY, sent, Settings(upload_sources=uploads)) == replace(sent, recorded_by="fay")
    by_two = sent_by(FAY, sent, Settings(approvals=2, upload_sources=uploads))
    assert by_two == replace(sent, recorded_by="fay", needs_approval=waits)
    for source in ("shop", *near("till")):
        refused = sent_by(FAY, of(source, sent), Settings(upload_sources=uploads))
        assert isinstance(refused, Rejection)
        assert refused.problems[-1].expected == "of people 'finance' or 'stripe' or 'till'"


def test_a_person_rerates_under_their_name_and_with_the_id_of_a_re_rating_of_that_event() -> None:
    sent = rerating()
    sold = sent.linked_to
    assert sold
    fitting = replace(
        sent,
        identity=Identity(sold.source, adjustment_id(sold, 2)),
        details={**sent.details, "rerating": Rerating("rate-card:42", 3, "fay").text},
    )
    assert sent_by(FAY, fitting, ALONE) == replace(fitting, recorded_by="fay")
    assert sent_by(FAY, fitting, BY_TWO) == replace(fitting, recorded_by="fay", needs_approval=True)
    other = Identity(sold.source, "another sale")
    for id_ in ("r1", adjustment_id(other, 2), f"x{fitting.identity.id}", fitting.identity.id.replace("-2-", "-x-")):
        refused = sent_by(FAY, replace(fitting, identity=Identity(sold.source, id_)), ALONE)
        assert isinstance(refused, Rejection)
        assert [one.field for one in refused.problems] == ["id"]
    refused = sent_by(replace(FAY, name="bob"), fitting, ALONE)
    assert isinstance(refused, Rejection)
    assert [(one.field, one.expected) for one in refused.problems] == [("data.rerating.by", "of you 'bob'")]
