"""Schedule expressions: valid ones, invalid ones, and their firings."""

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.reports.schedule.expression import (
    LONGEST,
    SHORTEST,
    Cron,
    Expression,
    ExpressionError,
    FixedRate,
    parse,
    upcoming,
)
from tests.support.cases import cases


def at(hour: int, minute: int = 0, day: int = 23, month: int = 10) -> datetime:
    return datetime(2026, month, day, hour, minute, tzinfo=UTC)


FRIDAY = at(1, 31)

instants = st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1)).map(lambda naive: naive.replace(tzinfo=UTC))  # noqa: DTZ001


# ---------------------------------------------------------------- valid expressions


@cases(
    ("text", "fires"),
    [
        ("cron(0 * * * ? *)", [at(2), at(3), at(4)]),
        ("cron(0/15 * * * ? *)", [at(1, 45), at(2), at(2, 15)]),
        ("cron(*/30 * * * ? *)", [at(2), at(2, 30), at(3)]),
        ("cron(5/20 * * * ? *)", [at(1, 45), at(2, 5), at(2, 25)]),
        ("cron(10-50/20 2 * * ? *)", [at(2, 10), at(2, 30), at(2, 50)]),
        ("cron(45,15,30 1,2 * * ? *)", [at(1, 45), at(2, 15), at(2, 30)]),
        ("cron(0 8 * * ? *)", [at(8), at(8, day=24), at(8, day=25)]),
        ("cron(00 08 */1 1-12 ? 1970-2199)", [at(8), at(8, day=24), at(8, day=25)]),
        ("cron(0 0/6 ? JAN-DEC * */1)", [at(6), at(12), at(18)]),
        ("cron(0 6-18/6,23 ? * 1-7 *)", [at(6), at(12), at(18)]),
        ("cron(30 8 ? * MON-FRI *)", [at(8, 30), at(8, 30, day=26), at(8, 30, day=27)]),
        ("cron(0 8 ? * TUE,SAT *)", [at(8, day=24), at(8, day=27), at(8, day=31)]),
        ("cron(0 8 ? * 1,4 *)", [at(8, day=25), at(8, day=28), at(8, day=1, month=11)]),
        ("cron(0 0 ? * SUN *)", [at(0, day=25), at(0, day=1, month=11), at(0, day=8, month=11)]),
        ("cron(0 0 1,10,19,28 * ? *)", [at(0, day=28), at(0, day=1, month=11), at(0, day=10, month=11)]),
        ("cron(59 23 1/7 * ? *)", [at(23, 59, day=29), at(23, 59, day=1, month=11), at(23, 59, day=8, month=11)]),
    ],
)
def test_a_cron_fires_when_aws_would(text: str, fires: list[datetime]) -> None:
    assert list(islice(upcoming(parse(text), FRIDAY), 3)) == fires


@pytest.mark.parametrize(
    ("text", "period"),
    [
        ("rate(15 minutes)", timedelta(minutes=15)),
        ("rate(100 minutes)", timedelta(minutes=100)),
        ("rate(1 hour)", timedelta(hours=1)),
        ("rate(36 hours)", timedelta(hours=36)),
        ("rate(1 day)", timedelta(days=1)),
        ("rate(9 days)", timedelta(days=9)),
        ("rate(216 hours)", timedelta(days=9)),
        ("rate(12960 minutes)", timedelta(days=9)),
    ],
)
def test_a_rate_has_its_period(text: str, period: timedelta) -> None:
    assert parse(text) == FixedRate(period)


def test_a_rate_counts_from_when_it_was_set() -> None:
    hourly = parse("rate(1 hour)")
    assert hourly.after(FRIDAY) == at(2)
    assert hourly.after(FRIDAY, since=at(0, 40)) == at(1, 40)
    assert hourly.after(at(1, 40), since=at(0, 40)) == at(2, 40)
    assert hourly.after(at(0, 40), since=at(0, 40)) == at(1, 40)


# ---------------------------------------------------------------- invalid expressions

NO_SCHEDULE = "is neither a rate nor a cron of six fields"
TOO_OFTEN = "at least 15 minutes between two firings"
TOO_SELDOM = "at most 9 days between two"


@cases(
    "text",
    [
        *("", "hourly", "1 hour", "rate()", "rate(hour)", "rate(1 week)", "rate(0 hours)", "rate(-15 minutes)"),
        *("rate(1.5 hours)", "rate(015 minutes)", "rate(1hour)", "rate(1  hour)", "rate( 1 hour)", "rate(1 hour) "),
        *(
            " rate(1 hour)",
            "Rate(1 hour)",
            "RATE(1 HOUR)",
            "rate(1 hour)\n",
            "rate(123456 minutes)",
            "rate(\u0661\u0665 minutes)",
        ),
        *("at(2026-10-23T01:30:00)", "cron()", "cron(0 8 * * ?)", "cron(0 8 * * ? * *)", "cron(0 0 8 * * ? *)"),
        *("0 8 * * ? *", "cron(0  8 * * ? *)", "cron( 0 8 * * ? *)", "cron(0 8 * * ? * )", "CRON(0 8 * * ? *)"),
        *("cron(0 8 * * ? *) ", "cron(0 8 * * ? *))", "cron(0\t8 * * ? *)"),
    ],
)
def test_an_invalid_schedule_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        parse(text)
    assert refused.value.problem == NO_SCHEDULE
    assert "rate(1 hour)" in refused.value.expected


@pytest.mark.parametrize(
    "text", ["rate(1 hours)", "rate(2 hour)", "rate(1 minutes)", "rate(15 minute)", "rate(1 days)"]
)
def test_a_unit_agrees_with_its_number(text: str) -> None:
    with pytest.raises(ExpressionError, match="1 hour, but 2 hours"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("rate(1 minute)", "fires again after 1 minute"),
        ("rate(14 minutes)", "fires again after 14 minutes"),
        ("cron(* * * * ? *)", "fires again after 1 minute"),
        ("cron(0/14 * * * ? *)", "fires again after 4 minutes"),
        ("cron(0/25 * * * ? *)", "fires again after 10 minutes"),
        ("cron(0,10 8 * * ? *)", "fires again after 10 minutes"),
        ("cron(0/5 0 ? * SUN *)", "fires again after 5 minutes"),
        ("cron(5,55 0,23 * * ? *)", "fires again after 10 minutes"),
    ],
)
def test_two_firings_lie_a_quarter_hour_apart_at_least(text: str, problem: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        parse(text)
    assert (refused.value.problem, refused.value.expected) == (problem, TOO_OFTEN)


def test_two_firings_over_midnight_may_be_close_where_no_two_days_follow_each_other() -> None:
    assert isinstance(parse("cron(0,55 0,23 ? * MON,WED *)"), Cron)
    with pytest.raises(ExpressionError, match="5 minutes"):
        parse("cron(0,55 0,23 ? * MON,TUE *)")
    with pytest.raises(ExpressionError, match="5 minutes"):
        parse("cron(0,55 0,23 1,8,15,22,31 * ? *)")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("rate(10 days)", "leaves 10 days without a report"),
        ("rate(217 hours)", "leaves 9 days and 60 minutes without a report"),
        ("cron(0 0 1 * ? *)", "leaves 31 days without a report"),
        ("cron(0 0 31 * ? *)", "leaves 61 days without a report"),
        ("cron(0 0 1,10,20 * ? *)", "leaves 12 days without a report"),
        ("cron(0 0 1,10,19,29 * ? *)", "leaves 10 days without a report"),
        ("cron(0 0 */10 * ? *)", "leaves 10 days without a report"),
    ],
)
def test_two_firings_lie_nine_days_apart_at_most(text: str, problem: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        parse(text)
    assert (refused.value.problem, refused.value.expected) == (problem, TOO_SELDOM)


@cases(
    ("text", "field", "part"),
    [
        *(("cron(60 8 * * ? *)", "minutes", "60"), ("cron(-1 8 * * ? *)", "minutes", "-1")),
        *(("cron(? 8 * * ? *)", "minutes", "?"), ("cron(0,,30 8 * * ? *)", "minutes", "")),
        *(("cron(5/ * * * ? *)", "minutes", "5/"), ("cron(/15 * * * ? *)", "minutes", "/15")),
        *(("cron(0/0 * * * ? *)", "minutes", "0/0"), ("cron(0/60 * * * ? *)", "minutes", "0/60")),
        *(("cron(50-10 * * * ? *)", "minutes", "50-10"), ("cron(0-10-20 * * * ? *)", "minutes", "0-10-20")),
        *(("cron(0/15/2 * * * ? *)", "minutes", "0/15/2"), ("cron(L * * * ? *)", "minutes", "L")),
        *(("cron(0 24 * * ? *)", "hours", "24"), ("cron(0 22-2 * * ? *)", "hours", "22-2")),
        *(("cron(0 8am * * ? *)", "hours", "8am"), ("cron(0 *-3 * * ? *)", "hours", "*-3")),
        *(("cron(0 8 0 * ? *)", "day-of-month", "0"), ("cron(0 8 32 * ? *)", "day-of-month", "32")),
        *(("cron(0 8 L * ? *)", "day-of-month", "L"), ("cron(0 8 3W * ? *)", "day-of-month", "3W")),
        *(("cron(0 8 1,L * ? *)", "day-of-month", "L"), ("cron(0 8 ?,1 * ? *)", "day-of-month", "?")),
        *(("cron(0 8 ? * 0 *)", "day-of-week", "0"), ("cron(0 8 ? * 8 *)", "day-of-week", "8")),
        *(("cron(0 8 ? * 6L *)", "day-of-week", "6L"), ("cron(0 8 ? * L *)", "day-of-week", "L")),
        *(("cron(0 8 ? * 2#1 *)", "day-of-week", "2#1"), ("cron(0 8 ? * mon *)", "day-of-week", "mon")),
        *(("cron(0 8 ? * MON/2 *)", "day-of-week", "MON/2"), ("cron(0 8 ? * FRI-MON *)", "day-of-week", "FRI-MON")),
        *(("cron(0 8 * 13 ? *)", "month", "13"), ("cron(0 8 * JAN ? *)", "month", "JAN")),
        *(("cron(0 8 * 2-12 ? *)", "month", "2-12"), ("cron(0 8 * 1/2 ? *)", "month", "1/2")),
        *(("cron(0 8 * ? ? *)", "month", "?"), ("cron(0 8 * MON ? *)", "month", "MON")),
        *(("cron(0 8 * * ? 2026)", "year", "2026"), ("cron(0 8 * * ? 2026-2199)", "year", "2026-2199")),
        *(("cron(0 8 * * ? 1969)", "year", "1969"), ("cron(0 8 * * ? ?)", "year", "?")),
        *(("cron(\u0660 8 * * ? *)", "minutes", "\\u0660"), ("cron(0 8 * * ? \u00e9)", "year", "\\xe9")),
    ],
)
def test_an_invalid_part_of_a_field_is_named_with_the_valid_ones(text: str, field: str, part: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        parse(text)
    assert refused.value.problem == f"has '{part}' as {field}"
    assert refused.value.expected


@pytest.mark.parametrize("days", ["* * *", "? * ?", "1,8,15,22,29 * MON", "* * MON-FRI"])
def test_days_are_those_of_the_month_or_of_the_week(days: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        parse(f"cron(0 8 {days} *)")
    assert refused.value.expected == "? as one of them, not both"


def test_an_expression_that_is_too_long_is_not_parsed() -> None:
    with pytest.raises(ExpressionError, match="at most 256"):
        parse(f"cron({','.join(['0'] * 1000)} 8 * * ? *)")


# ---------------------------------------------------------------- any expression


def field(low: int, high: int, *, steps: bool = True) -> st.SearchStrategy[str]:
    """Return a strategy for the texts of a field of a cron expression."""
    value = st.integers(low, high)
    spans = st.tuples(value, value).map(lambda pair: f"{min(pair)}-{max(pair)}")
    stepped = st.tuples(value.map(str) | spans | st.just("*"), st.integers(1, high)).map(
        lambda pair: "/".join(map(str, pair))
    )
    parts = st.one_of(value.map(str), spans, *([stepped] if steps else []))
    return st.just("*") | st.lists(parts, min_size=1, max_size=4).map(",".join)


days = st.one_of(field(1, 31).map(lambda days: f"{days} * ?"), field(1, 7, steps=False).map(lambda days: f"? * {days}"))
crons = st.builds("cron({} {} {} *)".format, field(0, 59), field(0, 23), days)
likely = st.builds(
    "cron({} {} {} *)".format,
    st.sampled_from(["0", "59", "0,30", "0/15", "7,22", "5/25", "0/14"]),
    st.sampled_from(["*", "0", "23", "0,23", "8-17", "0/5"]),
    days,
)


def every_firing(text: str, start: datetime, count: int) -> list[datetime]:
    """Return the firings of a cron expression in ``count`` days, computed day by day and minute by minute."""
    minutes, hours, month_days, _, week_days, _ = text.removeprefix("cron(").removesuffix(")").split(" ")
    today, weekdays = by_hand(month_days, 1, 31), by_hand(week_days, 1, 7)
    hour, minute = by_hand(hours, 0, 23), by_hand(minutes, 0, 59)
    times = [timedelta(minutes=number) for number in range(1440) if number // 60 in hour and number % 60 in minute]
    dates = [start + timedelta(days=number) for number in range(count)]
    firing = [date for date in dates if date.day in today and (date.weekday() + 1) % 7 + 1 in weekdays]
    return [date + time for date in firing for time in times]


def by_hand(text: str, low: int, high: int) -> set[int]:
    """Return the values of a field, computed independently."""
    found: set[int] = set()
    for part in text.replace("?", "*").split(","):
        span, _, step = part.partition("/")
        first, _, last = f"{low}-{high}".partition("-") if span == "*" else span.partition("-")
        end = int(last) if last else high if step else int(first)
        found |= {value for value in range(int(first), end + 1) if (value - int(first)) % int(step or 1) == 0}
    return found


@given(crons | likely, st.integers(0, 60))
def test_an_accepted_cron_fires_as_computed_by_hand(text: str, later: int) -> None:
    cron = accepted(text)
    if cron:
        start = datetime(2027, 1, 1, tzinfo=UTC) + timedelta(days=later)
        expected = every_firing(text, start, 40)
        assert list(islice(upcoming(cron, start - timedelta(minutes=1)), len(expected))) == expected
        assert cron.firings(start, start + timedelta(days=40, minutes=-1)) == len(expected) - (expected[0] == start)


@given(likely)
def test_a_cron_is_accepted_if_it_keeps_the_bounds_in_every_month(text: str) -> None:
    # To March 2028: all sequences of months, and February with 28 and with 29 days.
    firings = every_firing(text, datetime(2027, 1, 1, tzinfo=UTC), 430)
    gaps = [later - earlier for earlier, later in pairwise(firings)]
    assert bool(accepted(text)) == (min(gaps) >= SHORTEST and max(gaps) <= LONGEST)


def accepted(text: str) -> Expression | None:
    """Return the parsed expression; ``None`` if it is refused for its bounds."""
    try:
        return parse(text)
    except ExpressionError as error:
        if error.expected not in {TOO_OFTEN, TOO_SELDOM}:
            raise
        return None


@given(st.integers(15, 12960), instants, instants)
def test_a_rate_fires_once_per_period_and_always_in_the_future(
    minutes: int, instant: datetime, since: datetime
) -> None:
    rate = FixedRate(timedelta(minutes=minutes))
    first = rate.after(instant, since)
    assert instant < first <= instant + rate.period
    assert rate.after(first, since) == first + rate.period
    assert rate.firings(instant, instant + 3 * rate.period) == 3


@given(st.text(max_size=40) | st.text(alphabet="cronate() 0123456789*?/,-LW#MONFRI", max_size=40))
def test_any_other_text_is_refused_with_a_reason(text: str) -> None:
    with pytest.raises(ExpressionError) as refused:
        parse(text)
    assert refused.value.problem.isascii()
    assert refused.value.expected
