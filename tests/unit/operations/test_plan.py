"""The state of the operation as the API shows it."""

from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.operations.plan import QueueDepth, shown
from quarterhour.schedule.plan import ON_TIME, Delay


def test_nothing_is_late_before_the_first_event() -> None:
    assert shown([], None, ON_TIME)["reports"] == {
        "sealed_until": None,
        "delay_seconds": 0,
        "delay_firings": 0,
        "late": False,
    }


def test_reports_are_late_from_two_firings_on() -> None:
    def late(firings: float) -> bool:
        return bool(shown([], QuarterHour.parse("202610230130"), Delay(7200, firings))["reports"]["late"])

    assert [late(firings) for firings in (0, 1.999, 2, 40)] == [False, False, True, True]


def test_each_queue_has_its_messages() -> None:
    depths = [QueueDepth("counters-parked", 2, 1), QueueDepth("report-dead-letters", 0, 0)]
    assert shown(depths, None, ON_TIME)["queues"] == [
        {"queue": "counters-parked", "waiting": 2, "in_flight": 1},
        {"queue": "report-dead-letters", "waiting": 0, "in_flight": 0},
    ]
