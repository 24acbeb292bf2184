"""Planning of recording: which events claim and are appended, and the next steps of claims without an event."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.ledger.recording.claims import Claimed
from quarterhour.ledger.recording.plan import claimed_events, first_of_each, next_step
from quarterhour.ledger.recording.settings import Phase
from tests.support.builders import claim, event, instants, settings, utc

MICROSECOND = timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("now", "needs"),
    [
        (utc("01:30:30"), "fence"),
        (utc("01:46:25") - MICROSECOND, "fence"),
        (utc("01:46:25"), "wait"),
        (utc("01:47:00") - MICROSECOND, "wait"),
        (utc("01:47:00"), "move"),
    ],
)
def test_a_claim_without_its_event_is_fenced_waits_or_moves_by_the_phase_of_its_quarter_hour(
    now: datetime, needs: str
) -> None:
    absent = claim()
    step = next_step([absent], now, settings())
    assert {name: getattr(step, name) for name in ("fence", "wait", "move")} == {
        "fence": [],
        "wait": [],
        "move": [],
        needs: [absent],
    }


@given(st.lists(instants, max_size=10), instants)
def test_each_claim_has_exactly_one_next_step(made: list[datetime], now: datetime) -> None:
    absent = [claim(event(str(i)), at) for i, at in enumerate(made)]
    step = next_step(absent, now, settings())
    assert sorted([*step.fence, *step.move, *step.wait], key=str) == sorted(absent, key=str)
    assert all(settings().phase(one.partition.quarter_hour, now) is Phase.FINAL for one in step.move)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["1", "2"])), max_size=8))
def test_the_first_event_of_an_identity_is_the_one_that_claims(sent: list[tuple[str, str]]) -> None:
    items = [event(id_, amount=amount) for id_, amount in sent]
    firsts = first_of_each(items)
    assert [one.identity for one in firsts] == list(dict.fromkeys(item.identity for item in items))
    assert all(items[[item.identity for item in items].index(one.identity)] is one for one in firsts)


OTHER = event(amount="99.00")


def test_only_the_claimed_content_is_appended() -> None:
    claims = {OTHER.identity: Claimed(claim(OTHER), fresh=False)}
    assert claimed_events([event(), OTHER], claims) == {OTHER.identity: OTHER}
    assert claimed_events([event()], claims) == {}
    assert claimed_events([event()], {}) == {}
