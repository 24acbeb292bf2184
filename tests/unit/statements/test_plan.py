"""The plan of a statement run: which period is due, and which lines belong to it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.model.errors import ConflictError, InvalidError
from quarterhour.model.money import Rounding
from quarterhour.model.periods import Calendar, Period, time_zone
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.schema import UnknownSchemaError
from quarterhour.statements.plan import (
    LINES_OF_A_GROUP,
    Progress,
    StatementPlan,
    StatementSettings,
    check_request,
    due_period,
    read_period,
)
from tests.support.laws import examples
from tests.support.statement_plans import BOUND, NOVEMBER, PLANNED_AT, SETTINGS, checkpoint, plan

OCTOBER, DECEMBER = NOVEMBER.previous, NOVEMBER.next
BEGAN = datetime(2026, 9, 30, 12, tzinfo=UTC)


def test_a_stored_plan_is_the_plan() -> None:
    first = plan()
    assert StatementPlan.of(first.as_dict()) == first
    after = Progress(OCTOBER, OCTOBER, QuarterHour.parse("202611040000"), "a" * 64)
    second = plan(progress=after)
    assert StatementPlan.of(second.as_dict()) == second
    assert second.previous == ("2026-10", "a" * 64)
    half_up = plan(settings=replace(SETTINGS, rounding=Rounding.HALF_UP))
    assert StatementPlan.of(half_up.as_dict()).rounding is Rounding.HALF_UP


@pytest.mark.parametrize("schema", [0, 2, None])
def test_a_plan_of_another_schema_is_not_read(schema: int | None) -> None:
    with pytest.raises(UnknownSchemaError):
        StatementPlan.of({**plan().as_dict(), "schema": schema})


def test_more_lines_are_written_in_more_groups() -> None:
    assert plan(lines=LINES_OF_A_GROUP).groups == 1
    assert plan(lines=3 * LINES_OF_A_GROUP + 1).groups == 4


# ---------------------------------------------------------------- due


def due(progress: Progress, through: str, calendar: Calendar | None = None) -> Period | None:
    return due_period(progress, checkpoint(QuarterHour.parse(through)), calendar or Calendar(), lambda: BEGAN)


def test_a_period_is_due_once_its_cut_off_is_sealed() -> None:
    at_october = Progress(OCTOBER, OCTOBER)
    assert due(at_october, "202612032330") is None
    assert due(at_october, "202612032345") == NOVEMBER


def test_the_first_period_is_the_configured_one() -> None:
    calendar = Calendar(first_period=NOVEMBER)
    assert due(Progress(), "202611302345", calendar) is None
    assert due(Progress(), "202612032345", calendar) == NOVEMBER


@pytest.mark.parametrize("configured", [OCTOBER.previous, DECEMBER, None])
def test_once_a_period_is_sealed_the_first_one_is_fixed_and_no_month_is_left_out(configured: Period | None) -> None:
    at_october, calendar = Progress(OCTOBER, OCTOBER), Calendar(first_period=configured)
    assert due(at_october, "202612032345", calendar) == NOVEMBER
    assert plan(progress=at_october, settings=StatementSettings(calendar, "UTC", "abc")).first_period == OCTOBER


def test_without_a_configured_one_it_is_the_earliest_that_the_first_event_can_belong_to() -> None:
    assert due(Progress(), "202612032345") == Period(2026, 9)
    early = datetime(2026, 10, 2, tzinfo=UTC)
    assert due_period(Progress(), checkpoint(), Calendar(), lambda: early) == Period(2026, 9)
    later = datetime(2026, 10, 4, tzinfo=UTC)
    assert due_period(Progress(), checkpoint(), Calendar(), lambda: later) == OCTOBER


def test_nothing_is_due_before_anything_is_sealed() -> None:
    assert due_period(Progress(), checkpoint(), Calendar(), lambda: None) is None


def test_a_run_under_way_is_due_whatever_the_settings_are_now() -> None:
    under_way = Progress(NOVEMBER, None, None, "", plan())
    assert due(under_way, "202611010000", Calendar(grace_days=90)) == NOVEMBER


# ---------------------------------------------------------------- an operator's request


def refused(period: Period, progress: Progress, now: datetime = PLANNED_AT, first: Period | None = None) -> str:
    with pytest.raises(ConflictError) as raised:
        check_request(period, progress, Calendar(first_period=first), BEGAN, now)
    return str(raised.value)


def test_a_period_that_cannot_be_sealed_is_refused_with_the_reason() -> None:
    at_october = Progress(OCTOBER, OCTOBER)
    assert "open until its cut-off, 2027-01-04T00:00:00" in refused(DECEMBER, at_october)
    assert "sealed already" in refused(OCTOBER, at_october)
    assert "before 2026-11" in refused(OCTOBER, Progress(), first=NOVEMBER)
    assert "before 2026-09" in refused(Period(2026, 8), Progress())
    assert "seal 2026-10 first" in refused(NOVEMBER, Progress(Period(2026, 9), Period(2026, 9)))


def test_the_next_period_and_the_one_under_way_are_accepted() -> None:
    check_request(NOVEMBER, Progress(OCTOBER, OCTOBER), Calendar(), BEGAN, PLANNED_AT)
    under_way = Progress(NOVEMBER, None, None, "", plan())
    check_request(NOVEMBER, under_way, Calendar(grace_days=90), BEGAN, PLANNED_AT)


def test_a_request_names_a_month() -> None:
    assert read_period({"period": "2026-11"}) == NOVEMBER
    assert read_period({}) is None
    for text in ("2026-13", "november", 202611, None):
        with pytest.raises(InvalidError):
            read_period({"period": text})


# ---------------------------------------------------------------- the lines of a statement


class Deployed(NamedTuple):
    """The settings of a month: they may change between any two runs."""

    zone: str
    grace_days: int


ZONES = ("UTC", "Europe/London", "Pacific/Kiritimati", "America/Los_Angeles", "Asia/Kathmandu")
deployed = st.builds(Deployed, st.sampled_from(ZONES), st.integers(0, 40))
instants = st.datetimes(datetime(2026, 9, 28), datetime(2027, 2, 10)).map(lambda one: one.replace(tzinfo=UTC))  # noqa: DTZ001
business = st.none() | st.datetimes(datetime(2026, 6, 1), datetime(2027, 6, 1)).map(  # noqa: DTZ001
    lambda one: one.replace(tzinfo=UTC)
)


def calendar(settings: Deployed) -> Calendar:
    return Calendar(time_zone(settings.zone), settings.grace_days, OCTOBER)


def plans(settings: list[Deployed], delays: list[int]) -> list[StatementPlan]:
    """Return the plans of consecutive periods, each under its own settings and some time after its cut-off."""
    found: list[StatementPlan] = []
    progress = Progress()
    for number, (one, delay) in enumerate(zip(settings, delays, strict=True)):
        period = OCTOBER if number == 0 else found[-1].period.next
        cut_off = calendar(one).cut_off(period) + timedelta(hours=delay)
        bound = max([QuarterHour.at(cut_off), *(before.bound for before in found)])
        made = plan(period, progress, bound, StatementSettings(calendar(one), one.zone, "abc"))
        found.append(made)
        progress = Progress(made.first_period, period, bound, "a" * 64)
    return found


@pytest.mark.law
@examples(500)
@given(
    settings=st.lists(deployed, min_size=4, max_size=4),
    delays=st.lists(st.integers(0, 24 * 40), min_size=4, max_size=4),
    recorded_with=deployed,
    at=business,
    recorded_at=instants,
)
def test_a_line_is_on_the_first_statement_that_can_hold_it_and_on_no_other(
    settings: list[Deployed],
    delays: list[int],
    recorded_with: Deployed,
    at: datetime | None,
    recorded_at: datetime,
) -> None:
    """Whatever the zone and the days of grace are at each run, and when the line is recorded."""
    period, _ = calendar(recorded_with).period_of(at, recorded_at)
    quarter_hour = QuarterHour.at(recorded_at)
    runs = plans(settings, delays)
    read = [run for run in runs if run.since <= quarter_hour.day and quarter_hour <= run.bound]
    on = [run.period for run in read if run.is_prior(str(period), str(quarter_hour)) is not None]
    can = [run.period for run in runs if run.period >= period and quarter_hour <= run.bound]
    assert on == (can[:1] if period >= OCTOBER else [])


def test_a_line_is_of_the_period_of_a_prior_one_or_of_none() -> None:
    after = QuarterHour.parse("202611040000")
    november = plan(progress=Progress(OCTOBER, OCTOBER, after), settings=StatementSettings(Calendar(), "UTC", "abc"))
    assert november.is_prior("2026-11", "202611010000") is False
    assert november.is_prior("2026-12", "202612010000") is None
    assert november.is_prior("2026-10", "202611040000") is None
    assert november.is_prior("2026-10", "202611040015") is True
    assert november.is_prior("2026-09", "202611040015") is None
    assert november.bound == BOUND
