"""Periods: months in a time zone, cut-offs, and the period of an event, compared with a naive calendar."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.model.periods import Calendar, Period, day_in, start_of, time_zone
from tests.support.cases import cases

ZONES = [
    *("UTC", "Europe/London", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Kiritimati"),
    *("America/Sao_Paulo", "America/Havana", "Asia/Beirut"),  # clocks change at midnight
    "Pacific/Apia",  # has no 30 December 2011
]
SECOND = timedelta(seconds=1)
STEP = timedelta(minutes=15)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def calendar(zone: str = "UTC", grace_days: int = 3, first: str = "") -> Calendar:
    return Calendar(time_zone(zone), grace_days, Period.parse(first) if first else None)


def found(calendar_: Calendar, at: str, recorded_at: str) -> str:
    period, prior = calendar_.period_of(utc(at) if at else None, utc(recorded_at))
    return f"{period}{' prior' if prior else ''}"


# ---------------------------------------------------------------- months


@given(st.dates(date(1, 2, 1), date(9998, 12, 31)))
def test_a_period_is_read_back_from_its_text_and_has_neighbours(day: date) -> None:
    period = Period.of(day)
    assert Period.parse(str(period)) == period
    assert period.next.previous == period.previous.next == period
    assert period.previous < period < period.next
    assert str(period.previous) < str(period) < str(period.next)
    assert period.first_day == day.replace(day=1)
    assert (period.last_day.month, (period.next.first_day - period.last_day).days) == (day.month, 1)


@cases(
    "text", ["", "2026", "2026-11-01", "2026-1", "2026-00", "2026-13", " 2026-11", "2026-11\n", "٢٠٢٦-11", "20261-1"]
)
def test_another_text_is_no_period(text: str) -> None:
    with pytest.raises(ValueError, match="is not a month: write YYYY-MM"):
        Period.parse(text)


@pytest.mark.parametrize("name", ["", "Europe", "Europe/Atlantis", "/etc/passwd", "../UTC", "Europe/London\0", "É"])
def test_an_unknown_time_zone_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="no time zone"):
        time_zone(name)


# ---------------------------------------------------------------- examples


@pytest.mark.parametrize(
    ("at", "recorded_at", "period"),
    [
        ("2026-11-15T12:00", "2026-11-15T12:00", "2026-11"),
        ("", "2026-11-30T23:59:59.999", "2026-11"),
        ("", "2026-12-01T00:00", "2026-12"),
        # Late, before and at the cut-off of November.
        ("2026-11-30T23:59", "2026-12-03T23:59:59.999", "2026-11"),
        ("2026-11-30T23:59", "2026-12-04T00:00", "2026-12 prior"),
        # Later than that: the earliest month that is not cut off, which may itself be over.
        ("2026-09-30T12:00", "2026-12-03T12:00", "2026-11 prior"),
        ("1970-01-01T00:00", "2026-12-04T00:00", "2026-12 prior"),
        # Ahead of time.
        ("2026-12-01T00:00", "2026-11-30T23:59:59", "2026-11"),
        ("9998-12-31T23:59:59", "2026-11-30T12:00", "2026-11"),
    ],
)
def test_an_event_counts_in_its_month_until_the_cut_off(at: str, recorded_at: str, period: str) -> None:
    assert found(calendar(), at, recorded_at) == period


@pytest.mark.parametrize(
    ("zone", "at", "period"),
    [
        # Summer time ends in London on 25 October, after which local midnight is 00:00 UTC; before it is 23:00.
        ("Europe/London", "2026-10-31T23:59:59", "2026-10"),
        ("Europe/London", "2026-11-01T00:00:00", "2026-11"),
        ("Europe/London", "2026-09-30T22:59:59", "2026-09"),
        ("Europe/London", "2026-09-30T23:00:00", "2026-10"),
        ("America/New_York", "2026-12-01T04:59:59", "2026-11"),
        ("America/New_York", "2026-12-01T05:00:00", "2026-12"),
        ("Pacific/Kiritimati", "2026-10-31T09:59:59", "2026-10"),
        ("Pacific/Kiritimati", "2026-10-31T10:00:00", "2026-11"),
    ],
)
def test_the_month_is_the_local_one(zone: str, at: str, period: str) -> None:
    assert found(calendar(zone), at, at) == period


def test_the_cut_off_is_a_local_midnight() -> None:
    november, october = Period(2026, 11), Period(2026, 10)
    assert calendar("Europe/London").cut_off(Period(2026, 9)) == utc("2026-10-03T23:00")
    assert calendar("Europe/London").cut_off(october) == utc("2026-11-04T00:00")
    assert calendar("America/New_York", 0).cut_off(november) == utc("2026-12-01T05:00")
    # Clocks change on 1 November at 2 o'clock: the grace of one day has 25 hours.
    assert calendar("America/New_York", 0).cut_off(october) == utc("2026-11-01T04:00")
    assert calendar("America/New_York", 1).cut_off(october) == utc("2026-11-02T05:00")
    assert calendar("UTC", 40).cut_off(november) == utc("2027-01-10T00:00")


def test_a_day_begins_at_its_first_instant_in_the_zone() -> None:
    amsterdam = time_zone("Europe/Amsterdam")
    assert start_of(date(2026, 10, 25), amsterdam) == utc("2026-10-24T22:00")
    assert start_of(date(2026, 10, 26), amsterdam) == utc("2026-10-25T23:00")
    # Beirut skips midnight on 29 March 2026: the day begins at 1 o'clock.
    assert start_of(date(2026, 3, 29), time_zone("Asia/Beirut")) == utc("2026-03-28T22:00")


@given(st.sampled_from(ZONES), st.dates())
def test_every_date_has_a_beginning_and_a_tax_point_is_the_day_of_its_beginning(zone: str, day: date) -> None:
    begins = start_of(day, time_zone(zone))
    if (zone, day) != ("Pacific/Apia", date(2011, 12, 30)) and date.min < day < date.max:
        assert day_in(time_zone(zone), begins) == day


def test_before_the_first_period_an_event_counts_in_its_own_month_whenever_it_comes() -> None:
    with_first = calendar(first="2026-11")
    assert found(with_first, "2023-05-31T12:00", "2026-12-20T00:00") == "2023-05"
    assert found(with_first, "2026-10-31T23:59:59", "2026-12-20T00:00") == "2026-10"
    assert found(with_first, "2026-11-01T00:00", "2026-12-20T00:00") == "2026-12 prior"
    assert found(with_first, "", "2026-10-20T00:00") == "2026-10"
    # A sender's clock was ahead: no event is in a month that has not begun.
    assert found(with_first, "2026-11-01T00:00", "2026-10-31T23:59:59.999") == "2026-10"


# ---------------------------------------------------------------- laws, against a naive calendar


def naive_months() -> Iterator[tuple[int, int]]:
    yield from product(range(1979, 2042), range(1, 13))


def naive_cut_off(zone: str, grace_days: int, year: int, month: int) -> datetime:
    """Return the first quarter of an hour whose local date is at least so many days after the month."""
    after = date(year + month // 12, month % 12 + 1, 1) + timedelta(days=grace_days)
    instant = datetime(after.year, after.month, after.day, tzinfo=UTC) - timedelta(days=2)
    while instant.astimezone(time_zone(zone)).date() < after:
        instant += STEP
    return instant


def naive_period(
    zone: str, grace_days: int, first: tuple[int, int] | None, at: datetime | None, recorded_at: datetime
) -> tuple[str, bool]:
    """Follow the rules word for word, with a loop over all months."""
    local = (at or recorded_at).astimezone(time_zone(zone))
    month, prior = (local.year, local.month), False
    if first is None or month >= first:
        near = [
            one for one in naive_months() if -4 <= recorded_at.year * 12 + recorded_at.month - one[0] * 12 - one[1] < 6
        ]
        open_ = [one for one in near if naive_cut_off(zone, grace_days, *one) > recorded_at]
        if month < open_[0]:
            month, prior = open_[0], True
    local = recorded_at.astimezone(time_zone(zone))
    month = min(month, (local.year, local.month))
    return f"{month[0]}-{month[1]:02d}", prior


instants = st.datetimes(datetime(1980, 1, 1), datetime(2035, 12, 31), timezones=st.just(UTC))  # noqa: DTZ001 - Hypothesis wants naive bounds
first_periods = st.none() | st.tuples(st.integers(1980, 2036), st.integers(1, 12))


@given(
    zone=st.sampled_from(ZONES),
    grace_days=st.integers(0, 90),
    first=first_periods,
    recorded_at=instants,
    late=st.none()
    | st.timedeltas(timedelta(days=-60), timedelta(days=200))
    | st.timedeltas(timedelta(days=-9000), timedelta(days=9000)),
)
def test_the_period_is_that_of_a_naive_calendar(
    zone: str, grace_days: int, first: tuple[int, int] | None, recorded_at: datetime, late: timedelta | None
) -> None:
    at = None if late is None else recorded_at - late
    calendar_ = Calendar(time_zone(zone), grace_days, Period(*first) if first else None)
    period, prior = calendar_.period_of(at, recorded_at)
    assert (str(period), prior) == naive_period(zone, grace_days, first, at, recorded_at)


@given(
    zone=st.sampled_from(ZONES),
    grace_days=st.integers(0, 90),
    month=st.tuples(st.integers(1980, 2035), st.integers(1, 12)),
    around=st.integers(-3, 3),
)
def test_around_a_cut_off_and_a_month_s_end_the_period_is_that_of_a_naive_calendar(
    zone: str, grace_days: int, month: tuple[int, int], around: int
) -> None:
    calendar_ = calendar(zone, grace_days)
    cut_off, end = naive_cut_off(zone, grace_days, *month), naive_cut_off(zone, 0, *month)
    assert calendar_.cut_off(Period(*month)) == cut_off
    for recorded_at, at in product((cut_off + around * SECOND, end + around * SECOND), (end - SECOND, end, None)):
        period, prior = calendar_.period_of(at, recorded_at)
        assert (str(period), prior) == naive_period(zone, grace_days, None, at, recorded_at)


@given(st.sampled_from(ZONES), st.integers(0, 90), instants, instants)
def test_an_event_never_counts_in_a_month_that_is_cut_off_nor_in_one_to_come(
    zone: str, grace_days: int, at: datetime, recorded_at: datetime
) -> None:
    calendar_ = calendar(zone, grace_days)
    period, prior = calendar_.period_of(at, recorded_at)
    assert calendar_.cut_off(period) > recorded_at
    assert period <= calendar_.month_of(recorded_at)
    assert not prior or calendar_.month_of(at) < period


@given(st.sampled_from(ZONES), st.integers(0, 90), instants, st.lists(instants, min_size=2, max_size=2).map(sorted))
def test_a_claim_that_moves_never_goes_back_to_an_earlier_period(
    zone: str, grace_days: int, at: datetime, recorded: list[datetime]
) -> None:
    before, after = (calendar(zone, grace_days).period_of(at, recorded_at)[0] for recorded_at in recorded)
    assert before <= after


@given(st.sampled_from(ZONES), st.datetimes(timezones=st.just(UTC)), instants)
def test_every_time_that_an_event_may_have_has_a_period(zone: str, at: datetime, recorded_at: datetime) -> None:
    for time in (at, datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)):
        period, _ = calendar(zone, 3).period_of(time, recorded_at)
        assert period <= calendar(zone, 3).month_of(recorded_at)
