"""Quarter-hours."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given

from quarterhour.model.quarter_hours import LENGTH, QuarterHour, span
from tests.support.builders import instants, quarter_hours
from tests.support.cases import cases


@given(instants)
def test_a_quarter_hour_contains_its_instants(instant: datetime) -> None:
    quarter_hour = QuarterHour.at(instant)
    assert quarter_hour.start <= instant < quarter_hour.end
    assert quarter_hour.start.minute in {0, 15, 30, 45}
    assert quarter_hour.end - quarter_hour.start == LENGTH


@pytest.mark.parametrize(
    ("instant", "name"),
    [
        ("2026-10-23T01:29:59.999999+00:00", "202610230115"),
        ("2026-10-23T01:30:00+00:00", "202610230130"),
        ("2026-10-23T01:44:59.999999+00:00", "202610230130"),
        ("2026-10-23T23:59:59+00:00", "202610232345"),
        ("2024-02-29T12:00:00+00:00", "202402291200"),
        ("2026-10-23T00:10:00+05:45", "202610221815"),  # an offset of 5:45
        ("2026-10-23T00:10:00-09:37", "202610230945"),
    ],
)
def test_a_quarter_hour_is_named_by_its_start_in_utc(instant: str, name: str) -> None:
    assert str(QuarterHour.at(datetime.fromisoformat(instant))) == name


@given(quarter_hours)
def test_a_quarter_hour_is_parsed_back_from_its_name(quarter_hour: QuarterHour) -> None:
    assert QuarterHour.parse(str(quarter_hour)) == quarter_hour


@given(one=quarter_hours, other=quarter_hours)
def test_names_of_quarter_hours_sort_like_time(one: QuarterHour, other: QuarterHour) -> None:
    assert (one < other) == (str(one) < str(other))


@given(quarter_hours)
def test_quarter_hours_follow_each_other_without_a_gap(quarter_hour: QuarterHour) -> None:
    assert quarter_hour.next.start == quarter_hour.end
    assert quarter_hour.next.previous == quarter_hour


@cases(
    "name",
    [
        "",
        "202610230131",  # not a multiple of 15 minutes
        "20261023013",
        "20261023010",
        "2026102301300",
        "202613010000",
        "202602290000",
        "202610232400",
        " 202610230130",
        "202610230130 ",
        "２０２６１０２３０１３０",  # noqa: RUF001 - digits, but not ASCII
        "202610230130#00",
        "2026-10-23T01:30",
    ],
)
def test_a_text_that_does_not_name_a_quarter_hour_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        QuarterHour.parse(name)


def test_a_day_has_96_quarter_hours() -> None:
    day = list(span(QuarterHour.parse("202610230000"), QuarterHour.parse("202610232345")))
    assert len(day) == 96
    assert day == sorted(day)
    assert day[-1].end == datetime(2026, 10, 24, tzinfo=UTC)


def test_a_span_that_ends_before_it_begins_is_empty() -> None:
    assert list(span(QuarterHour.parse("202610230015"), QuarterHour.parse("202610230000"))) == []


def test_the_hour_that_daylight_saving_repeats_has_eight_quarter_hours() -> None:
    summer, winter = timezone(timedelta(hours=1)), timezone(timedelta(0))
    half_past_one = datetime(2026, 10, 25, 1, 30, tzinfo=summer)
    assert str(QuarterHour.at(half_past_one)) == "202610250030"
    assert str(QuarterHour.at(half_past_one.replace(tzinfo=winter))) == "202610250130"
