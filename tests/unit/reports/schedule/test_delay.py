"""The delay of the reports as the API shows it."""

from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.reports.schedule.plan import ON_TIME, Delay, shown_delay


def test_nothing_is_late_before_the_first_event() -> None:
    assert shown_delay(None, ON_TIME) == {
        "sealed_until": None,
        "delay_seconds": 0,
        "delay_firings": 0,
        "late": False,
    }


def test_reports_are_late_from_two_firings_on() -> None:
    def late(firings: float) -> bool:
        return bool(shown_delay(QuarterHour.parse("202610230130"), Delay(7200, firings))["late"])

    assert [late(firings) for firings in (0, 1.999, 2, 40)] == [False, False, True, True]
