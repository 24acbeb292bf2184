"""The clock."""

from datetime import UTC, datetime, timedelta, timezone
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.model import clock
from quarterhour.model.clock import ManualClock, SystemClock, iso_millis, iso_seconds, parse_iso
from tests.support.builders import AT, instants


@given(start=instants, moves=st.lists(instants, min_size=1))
def test_a_manual_clock_never_goes_backwards(start: datetime, moves: list[datetime]) -> None:
    manual = ManualClock(start)
    shown = []
    for instant in moves:
        manual.advance_to(instant)
        shown.append(manual.now())
    assert shown == list(accumulate(moves, max, initial=start))[1:]


def test_waiting_does_not_move_a_manual_clock_but_advancing_does() -> None:
    manual = ManualClock(AT)
    manual.sleep(3600)
    assert manual.now() == AT
    manual.advance(timedelta(minutes=15))
    assert manual.now() == AT + timedelta(minutes=15)


def test_a_manual_clock_returns_utc_for_a_start_of_any_offset() -> None:
    kathmandu = timezone(timedelta(hours=5, minutes=45))
    manual = ManualClock(AT.astimezone(kathmandu))
    assert manual.now().isoformat() == AT.isoformat()


def test_the_clock_is_replaced_for_the_length_of_a_block_even_if_it_fails() -> None:
    def fail_under_a_manual_clock() -> None:
        with clock.using(ManualClock(AT)):
            assert clock.now() == AT
            raise LookupError

    with pytest.raises(LookupError):
        fail_under_a_manual_clock()
    assert clock.now() != AT


def test_clocks_nest() -> None:
    later = AT + timedelta(days=1)
    with clock.using(ManualClock(AT)):
        with clock.using(ManualClock(later)):
            assert clock.now() == later
        assert clock.now() == AT


def test_the_system_clock_returns_the_time_in_utc_and_waits() -> None:
    before = datetime.now(UTC)
    SystemClock().sleep(0.01)
    current = SystemClock().now()
    assert current.utcoffset() == timedelta(0)
    assert timedelta(seconds=0.01) <= current - before < timedelta(seconds=10)


@given(one=instants, other=instants)
def test_formatted_instants_sort_like_time(one: datetime, other: datetime) -> None:
    earlier, later = sorted([one, other])
    assert iso_millis(earlier) <= iso_millis(later)
    assert iso_seconds(earlier) <= iso_seconds(later)


@given(instants)
def test_an_instant_is_parsed_back_from_its_text_to_the_millisecond(instant: datetime) -> None:
    assert instant - parse_iso(iso_millis(instant)) < timedelta(milliseconds=1)
    assert parse_iso(iso_millis(instant)) <= instant


def test_an_instant_of_another_offset_is_formatted_in_utc() -> None:
    assert iso_millis(parse_iso("2026-10-23T03:30:12.345678+02:00")) == "2026-10-23T01:30:12.345Z"
    assert iso_seconds(parse_iso("2026-10-22T20:00:12-05:30")) == "2026-10-23T01:30:12Z"


@pytest.mark.parametrize(
    "text",
    [
        "2026-10-23T01:30:00",  # without an offset
        "2026-10-23",
        "2026-13-01T00:00:00Z",
        "2026-10-23T25:00:00Z",
        "0001-01-01T00:00:00+01:00",  # before the first year
        "9999-12-31T23:59:59-01:00",  # after the last
        "yesterday",
        "",
    ],
)
def test_a_text_that_is_not_an_instant_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_iso(text)
