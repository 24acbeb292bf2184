"""The phases of a quarter-hour, and settings under which a late append would be lost."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.ledger.recording.settings import SAFETY, Phase
from quarterhour.model.errors import SettingsError
from quarterhour.model.quarter_hours import QuarterHour
from tests.support.builders import QUARTER_HOUR, instants, settings, utc

MICROSECOND = timedelta(microseconds=1)


@pytest.mark.parametrize(
    ("now", "phase"),
    [
        (utc("01:30:00"), Phase.OPEN),
        (utc("01:45:00"), Phase.OPEN),
        # 120 s of grace, less the 30 s an ingest may live and the 5 s of safety.
        (utc("01:46:25") - MICROSECOND, Phase.OPEN),
        (utc("01:46:25"), Phase.CLOSING),
        (utc("01:47:00") - MICROSECOND, Phase.CLOSING),
        (utc("01:47:00"), Phase.FINAL),
        (utc("23:59:59"), Phase.FINAL),
    ],
)
def test_a_quarter_hour_is_open_then_closing_then_final(now: datetime, phase: Phase) -> None:
    assert settings().phase(QUARTER_HOUR, now) is phase


@given(
    issued=instants,
    now=st.timedeltas(timedelta(0), timedelta(hours=2)),
    grace=st.integers(0, 3600),
    longest_run=st.integers(0, 900),
)
def test_an_ingest_that_appends_to_an_open_quarter_hour_has_ended_when_the_quarter_hour_is_final(
    issued: datetime, now: timedelta, grace: int, longest_run: int
) -> None:
    try:
        agreed = settings(grace=timedelta(seconds=grace), longest_run=timedelta(seconds=longest_run))
    except SettingsError:
        return
    quarter_hour = QuarterHour.at(issued)
    later = issued + now
    if agreed.phase(quarter_hour, issued) is Phase.OPEN and agreed.phase(quarter_hour, later) is Phase.FINAL:
        assert later >= issued + agreed.longest_run + SAFETY


@given(st.timedeltas(timedelta(0), timedelta(minutes=15) - MICROSECOND))
def test_a_quarter_hour_is_open_during_its_quarter_hour(into: timedelta) -> None:
    assert settings(grace=timedelta(seconds=35)).phase(QUARTER_HOUR, QUARTER_HOUR.start + into) is Phase.OPEN


@pytest.mark.parametrize("grace", [0, 30, 34])
def test_a_grace_in_which_an_ingest_could_still_write_is_refused(grace: int) -> None:
    with pytest.raises(SettingsError, match=f"a grace of {grace} s is too short: 35 s at least"):
        settings(grace=timedelta(seconds=grace))
    assert settings(grace=timedelta(seconds=35)).grace == timedelta(seconds=35)
