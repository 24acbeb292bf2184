"""When a schedule fires."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local.errors import LocalError
from local.schedule import Rate


def at(hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 10, 23, hour, minute, tzinfo=UTC)


@pytest.mark.parametrize(
    ("expression", "instant", "fires"),
    [
        ("rate(1 hour)", at(1, 30), at(2)),
        ("rate(1 hour)", at(2), at(3)),
        ("rate(15 minutes)", at(1, 44), at(1, 45)),
        ("rate(6 hours)", at(7), at(12)),
        ("rate(1 day)", at(7), datetime(2026, 10, 24, tzinfo=UTC)),
    ],
)
def test_it_fires_at_multiples_of_its_period(expression: str, instant: datetime, fires: datetime) -> None:
    assert Rate.parse(expression).after(instant) == fires


@given(st.integers(1, 5000), st.datetimes(min_value=datetime(1990, 1, 1), max_value=datetime(2100, 1, 1)))  # noqa: DTZ001
def test_it_fires_once_in_each_period_and_never_now(minutes: int, naive: datetime) -> None:
    rate = Rate(timedelta(minutes=minutes))
    instant = naive.replace(tzinfo=UTC)
    first = rate.after(instant)
    assert instant < first <= instant + rate.period
    assert rate.after(first) == first + rate.period


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "1 hour",
        "rate(1 hours)",
        "rate(2 hour)",
        "rate(0 hours)",
        "rate(1.5 hours)",
        "cron(0 * * * ? *)",
        "rate(1 hour) ",
    ],
)
def test_what_is_no_rate_is_refused_and_the_message_shows_one(expression: str) -> None:
    with pytest.raises(LocalError, match=r"rate\(1 hour\)"):
        Rate.parse(expression)
