"""Held events: their reservation, and the item that keeps their content."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.aws.items import from_item, to_item
from quarterhour.ledger.events.event import Event
from quarterhour.ledger.keys import HELD, HeldStatus, agency_partition, held_identity_of, held_key, held_partitions
from quarterhour.ledger.recording.held_event import HeldEvent, HeldReason, Hold, Release, held_values, waits_for
from quarterhour.model.errors import HeldItemError
from tests.support.builders import AT, amounts, event, identities, instants, payment


def held(of: Event, at: datetime = AT) -> HeldEvent:
    return HeldEvent.of(Hold.of(of, HeldReason.UNKNOWN_SALE), at)


def stored(one: HeldEvent) -> dict[str, object]:
    return from_item(to_item(held_values(one)))


@st.composite
def events(draw: st.DrawFn) -> Event:
    """A refund or a sale with everything that an event can have."""
    own = draw(
        st.fixed_dictionaries({}, optional={"customer": st.just("Zo\u00eb"), "extra": st.just({"a": [1, None]})})
    )
    when = draw(st.none() | instants)
    if draw(st.booleans()):
        one = event("r1", "sale.refunded", amount=-abs(draw(amounts(12))), refers_to="order-1", **own)
        return replace(one, rest=draw(st.booleans()), time=when)
    rate = draw(st.sampled_from([{}, {"commission_rate": "0.10"}, {"commission": "-1.250"}]))
    by = draw(st.none() | st.just("fay"))
    return replace(
        event("a1", "adjustment.recorded", amount=draw(amounts(12)), **own, **rate), time=when, recorded_by=by
    )


@given(events(), instants)
def test_a_held_event_is_read_back_as_it_was_sent(one: Event, at: datetime) -> None:
    found = HeldEvent.parse(stored(held(one, at)))
    assert found == held(one, at)
    assert found.to_record == one
    assert found.event.digest == one.digest


def test_an_event_needs_its_approval_until_it_is_approved_whatever_else_it_waits_for() -> None:
    recorded = replace(event("a1", "adjustment.recorded", amount="-1"), recorded_by="fay")
    waiting = HeldEvent.of(Hold.of(recorded, HeldReason.NEEDS_APPROVAL), AT)
    assert HeldEvent.parse(stored(waiting)).to_record == replace(recorded, needs_approval=True)
    decision = {"by": "bob", "at": "2026-10-23T01:45:00.000Z", "reason": "checked"}
    approved = HeldEvent.parse({**stored(waiting), "approved": decision})
    assert approved.to_record == replace(recorded, approved_by="bob")
    later = replace(approved, reason=HeldReason.UNREGISTERED_AGENCY)
    assert (later.needs_two, later.to_record) == (True, replace(recorded, approved_by="bob"))
    waived = Release("olga", "2026-10-23T02:00:00.000Z", "it registers", HeldReason.UNREGISTERED_AGENCY)
    both = replace(later, released=waived)
    assert both.to_record == replace(recorded, approved_by="bob", without_registration=True)


@pytest.mark.parametrize(
    ("sent", "field"),
    [(event("a1", "adjustment.recorded", amount="1"), "type"), (payment("p1", "-1"), "data.amount")],
)
def test_what_waits_for_a_second_person_says_so_and_names_nobody(sent: Event, field: str) -> None:
    problem = waits_for(replace(sent, recorded_by="fay"), HeldReason.NEEDS_APPROVAL)
    assert (problem.field, problem.expected.partition(";")[0]) == (field, "the approval of another person of finance")
    assert "fay" not in problem.problem


@given(identities)
def test_the_key_of_a_held_event_is_that_of_its_identity(identity: object) -> None:
    key = held_key(identity)  # type: ignore[arg-type] # any identity
    assert (held_identity_of(key), key["pk"].startswith(HELD)) == (identity, True)


def test_a_held_event_is_in_the_index_of_all_by_age_and_in_that_of_its_agency() -> None:
    values = stored(held(event("r1", "sale.refunded", amount="-1", refers_to="order-1")))
    assert values["gsi1pk"] in held_partitions(HeldStatus.HELD)
    assert values["gsi2pk"] == agency_partition(HeldStatus.HELD, "42")
    assert values["gsi1sk"] == values["gsi2sk"]
    assert str(values["gsi1sk"]).startswith("2026-10-23T01:30:12.345Z#")


@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=2, unique=True))
def test_older_held_events_come_first(seconds: list[int]) -> None:
    start = datetime(2026, 10, 23, tzinfo=UTC)
    first, second = (held(event(), start + timedelta(seconds=one)).place for one in sorted(seconds))
    assert first < second


def test_two_events_of_one_millisecond_have_places_of_their_own() -> None:
    assert held(event("a")).place != held(event("b")).place


@pytest.mark.parametrize(
    "changed",
    [
        {"amount": "-2"},
        {"amount": "much"},
        {"digest": "other"},
        {"reason": "hunger"},
        {"details": None},
        {"status": None},
        {"released": {"by": "ann"}},
        {"approved": {"by": "ann"}},
        {"problems": ["none"]},
    ],
    ids=repr,
)
def test_an_item_that_is_not_what_was_held_is_not_readable(changed: dict[str, object]) -> None:
    values = stored(held(event("r1", "sale.refunded", amount="-1", refers_to="order-1")))
    with pytest.raises(HeldItemError, match=r"HELD#held#\d 2026-10-23T01:30:12\.345Z#\S+ \(gsi1pk, gsi1sk\)"):
        HeldEvent.parse({**values, **changed})
