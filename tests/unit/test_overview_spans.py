"""The spans that the overview compares: where they begin and end, and what of them is kept."""

from datetime import UTC, date, datetime, timedelta

import pytest

from quarterhour.counters.plan import Retention
from quarterhour.counters.spans import Spans, calendar_spans, day_spans
from tests.support.cases import cases

KEPT = Retention(timedelta(days=35), timedelta(days=800))


def at(text: str) -> datetime:
    """Return the instant of a text such as 2026-11-25 14:37."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def bounds(spans: Spans) -> list[str]:
    """Return where both spans begin and end, as texts."""
    return [value for value in spans.body().values() if isinstance(value, str)]


@cases(
    ("name", "now", "expected"),
    [
        ("week", "2026-11-25 14:37", "2026-11-23T00:00 2026-11-25T14:45 2026-11-16T00:00 2026-11-18T14:45"),
        ("week", "2026-11-23 00:00", "2026-11-23T00:00 2026-11-23T00:15 2026-11-16T00:00 2026-11-16T00:15"),
        ("week", "2026-11-29 23:59", "2026-11-23T00:00 2026-11-30T00:00 2026-11-16T00:00 2026-11-23T00:00"),
        ("month", "2026-11-25 14:37", "2026-11-01T00:00 2026-11-25T14:45 2026-10-01T00:00 2026-10-25T14:45"),
        ("month", "2026-01-02 00:15", "2026-01-01T00:00 2026-01-02T00:30 2025-12-01T00:00 2025-12-02T00:30"),
        ("month", "2026-03-31 09:00", "2026-03-01T00:00 2026-03-31T09:15 2026-02-01T00:00 2026-03-01T00:00"),
        ("quarter", "2026-11-25 14:37", "2026-10-01T00:00 2026-11-25T14:45 2026-07-01T00:00 2026-08-25T14:45"),
        ("quarter", "2026-02-10 14:37", "2026-01-01T00:00 2026-02-10T14:45 2025-10-01T00:00 2025-11-10T14:45"),
        ("year", "2026-11-25 14:37", "2026-01-01T00:00 2026-11-25T14:45 2025-01-01T00:00 2025-11-25T14:45"),
        ("year", "2024-12-31 23:50", "2024-01-01T00:00 2025-01-01T00:00 2023-01-01T00:00 2024-01-01T00:00"),
    ],
)
def test_a_range_is_compared_with_the_one_before_up_to_the_same_point(name: str, now: str, expected: str) -> None:
    assert bounds(calendar_spans(name, at(now))) == [f"{one}:00Z" for one in expected.split()]


def test_there_is_no_other_range() -> None:
    with pytest.raises(ValueError, match="decade"):
        calendar_spans("decade", at("2026-11-25 14:37"))


@pytest.mark.parametrize(
    ("first", "end", "expected"),
    [
        ("2026-11-03", "2026-11-10", "2026-11-03T00:00 2026-11-10T00:00 2026-10-27T00:00 2026-11-03T00:00"),
        ("2026-11-20", "2026-11-30", "2026-11-20T00:00 2026-11-25T14:45 2026-11-10T00:00 2026-11-15T14:45"),
        ("2026-12-01", "2026-12-03", "2026-12-01T00:00 2026-12-01T00:00 2026-11-29T00:00 2026-11-29T00:00"),
    ],
)
def test_days_are_compared_with_as_many_days_before_them(first: str, end: str, expected: str) -> None:
    spans = day_spans(date.fromisoformat(first), date.fromisoformat(end), at("2026-11-25 14:37"))
    assert bounds(spans) == [f"{one}:00Z" for one in expected.split()]


def test_without_the_quarter_hours_of_the_last_day_both_spans_end_at_the_midnight_before() -> None:
    now = at("2026-11-25 14:37")
    spans = calendar_spans("quarter", now)
    assert bounds(spans.kept(KEPT, now)) == [
        "2026-10-01T00:00:00Z", "2026-11-25T00:00:00Z", "2026-07-01T00:00:00Z", "2026-08-25T00:00:00Z"
    ]  # fmt: skip
    assert bounds(spans.kept(Retention(timedelta(days=93), KEPT.day), now)) == bounds(spans)
    month = calendar_spans("month", now)
    assert month.kept(KEPT, now) == month
    for hours, whole in ((31 * 24 + 14, True), (31 * 24 + 15, False)):
        kept = month.kept(Retention(timedelta(hours=hours), KEPT.day), now)
        assert (kept.before.end == at("2026-10-25")) is whole, "the day's first quarter-hour ends at 00:15"


def test_a_span_whose_days_have_expired_is_not_complete() -> None:
    now = at("2026-11-25 14:37")
    spans = calendar_spans("month", now)
    kept = [spans.kept(Retention(KEPT.quarter_hour, timedelta(days=days)), now) for days in (54, 55)]
    assert [one.body()["before_complete"] for one in kept] == [False, True]
