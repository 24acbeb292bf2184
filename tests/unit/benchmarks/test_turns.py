"""Work side by side on a clock that moves while all of it waits."""

from datetime import UTC, datetime, timedelta

import pytest

from benchmarks.turns import Turns

START = datetime(2026, 10, 23, 1, 30, tzinfo=UTC)


def test_the_thread_that_wakes_first_has_the_turn() -> None:
    turns = Turns(START)
    course: list[tuple[str, float]] = []

    def work(name: str, *waits: float) -> None:
        for seconds in waits:
            turns.sleep(seconds)
            course.append((name, (turns.now() - START).total_seconds()))

    turns.run([lambda: work("a", 3, 3), lambda: work("b", 1, 1, 5), lambda: None])
    assert course == [("b", 1), ("b", 2), ("a", 3), ("a", 6), ("b", 7)]
    turns.sleep(2)
    assert turns.now() == START + timedelta(seconds=9)


def test_the_error_of_any_work_is_raised_when_all_has_ended() -> None:
    turns = Turns(START)
    done = []

    def fail() -> None:
        turns.sleep(1)
        raise ValueError("no more")

    def work() -> None:
        turns.sleep(2)
        done.append(turns.now())

    with pytest.raises(ValueError, match="no more"):
        turns.run([fail, work])
    assert done == [START + timedelta(seconds=2)]
