"""Planning of recording: the next steps of claims without an event."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.ledger.recording.plan import next_step
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
