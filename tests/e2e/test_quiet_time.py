"""Replays over time without events: the clock jumps over firings, and leaves the bytes that all of them leave."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest

from quarterhour_tools.emulator.stack import Stack, open_stack
from quarterhour_tools.replay.replay import Replay, replaying
from quarterhour_tools.replay.timeline import Timeline
from tests.e2e.sales import START, day, event, lines
from tests.support.events import Cloud as Event

DAY = 24 * 60.0
CONTROL = {"pk": {"S": "CONTROL"}, "sk": {"S": "checkpoint"}}


@contextmanager
def replay(*, statements: bool = False, **parameters: str | int) -> Iterator[tuple[Replay, Stack]]:
    with (
        open_stack("embedded", parameters, virtual=True, settings={"grace_days": 0}) as stack,
        replaying(stack, statements=statements) as tested,
    ):
        yield tested, stack


def _counted(invoke: Callable[..., Any], invoked: Counter[str]) -> Callable[..., Any]:
    def call(name: str, *more: Any) -> Any:
        invoked[name] += 1
        return invoke(name, *more)

    return call


def left(events: Iterable[Event], **options: Any) -> tuple[dict[str, bytes], Mapping[str, Any], int]:
    """Replay events; return every object, the checkpoint, and how often the report function ran."""
    with replay(**options) as (tested, stack):
        invoked = Counter[str]()
        with pytest.MonkeyPatch.context() as counting:
            counting.setattr(stack, "invoke", _counted(stack.invoke, invoked))
            tested.play(lines(events))
            assert tested.finish().verified
        objects = {}
        for key in stack.bucket.keys():  # noqa: SIM118 - no dict
            with stack.bucket.open(key) as file:
                objects[key] = file.read()
        checkpoint = stack.dynamodb.get_item(TableName=stack.ref("EntityTable"), Key=CONTROL)["Item"]
        return objects, checkpoint, invoked["report"]


def sparse(*days: float) -> list[Event]:
    """Make a busy day, and sales so many days later, at another time of the day each."""
    return [*day(), *(event(1000 + number, at * DAY + 7 * number) for number, at in enumerate(days))]


@pytest.mark.parametrize(
    ("events", "options"),
    [
        pytest.param(sparse(0.4, 2, 2.02, 5), {}, id="hourly", marks=pytest.mark.slow),
        pytest.param(sparse(0.4, 2), {"ReportRate": "rate(15 minutes)"}, id="each quarter-hour"),
        pytest.param(sparse(0.4, 3, 15), {"ReportRate": "cron(30 3 ? * MON,THU *)"}, id="cron"),
        pytest.param(sparse(0.4, 2, 2.02), {"LedgerShards": 9}, id="in parts", marks=pytest.mark.slow),
        pytest.param(
            sparse(2, 10, 40),
            {"statements": True, "ReportRate": "rate(6 hours)"},
            id="statements",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_jumps_leave_the_same_bytes_as_each_firing(
    events: list[Event], options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    jumped, at, few = left(events, **options)
    monkeypatch.setattr(Timeline, "_skip", lambda *_: None)
    played, checkpoint, many = left(events, **options)
    assert few < many
    assert sorted(jumped) == sorted(played)
    assert jumped == played
    assert at == checkpoint


def test_a_year_without_events_takes_a_few_firings() -> None:
    objects, _, few = left([event(1), event(2, 365 * DAY)])
    assert few < 12
    assert len([key for key in objects if key.endswith("manifest.json")]) == 2


@pytest.mark.slow
def test_a_year_without_events_has_its_months_sealed() -> None:
    objects, _, few = left([event(1), event(2, 365 * DAY)], statements=True)
    manifests = [key for key in objects if key.startswith("statements/") and key.endswith("manifest.json")]
    assert len(manifests) == 13
    assert few < 40


def test_what_is_recorded_right_after_a_jump_is_reported_by_the_next_firing() -> None:
    with replay() as (tested, stack):
        tested.play(lines([event(1), event(2, 30 * DAY)]))
        tested.timeline.advance(START + timedelta(days=30, minutes=80))
        assert "ledger/dt=2026-11-22/quarter=0800/lines.csv.gz" in stack.bucket.keys()  # noqa: SIM118 - no dict
        assert tested.finish().verified
