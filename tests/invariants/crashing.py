"""Lets functions die before each of their AWS calls and after the last one, and checks the invariants after each."""

from collections.abc import Callable, Sequence
from itertools import count

from quarterhour_tools.emulator.engines import MOTO
from quarterhour_tools.emulator.faults import FaultKind
from tests.invariants.trial import Trial

CHECKED_EVERY = 40
FEW = 60
"""The most crash points of which all are tried; with more, each call has one fault."""

Step = Callable[[Trial], None]
Record = Callable[[str, object], None]


class Numbers:
    """Numbers attempts from 1, for ids that no other attempt has: a call returns the next one, ``last`` is kept."""

    def __init__(self) -> None:
        self.last = 0

    def __call__(self) -> int:
        self.last += 1
        return self.last


def crash_points(calls: Sequence[int], *, loses_responses: bool = False) -> list[tuple[int, FaultKind]]:
    """Return where something may die at calls that it makes one after the other: before each, and after the last.

    What a death after any other one leaves is what a death before the next one leaves. With ``loses_responses``, the
    response of each may be lost, too.
    """
    kinds = _kinds(loses_responses=loses_responses)
    return [*((call, kind) for call in calls for kind in kinds), (calls[-1], FaultKind.KILL_AFTER)]


def _kinds(*, loses_responses: bool) -> list[FaultKind]:
    return [FaultKind.KILL_BEFORE, FaultKind.RESET_AFTER] if loses_responses else [FaultKind.KILL_BEFORE]


class Crashes:
    """Lets something die at its AWS calls, and records how many crash points it has survived."""

    def __init__(self, record: Record) -> None:
        self._record = record

    def at_each_call(  # noqa: PLR0913 - the steps of a trial
        self,
        what: str,
        place: Trial,
        prepare: Step,
        act: Step,
        recover: Step,
        *,
        loses_responses: bool = False,
    ) -> None:
        """Run ``act`` once without a fault to count its calls, then once for each of its ``crash_points``.

        If responses may be lost, and there are more than ``FEW`` points or the engine is DynamoDB Local, the faults
        take turns from one call to the next.
        """
        prepare(place)
        before = len(place.faults.calls)
        act(place)
        points = crash_points(range(len(place.faults.calls) - before), loses_responses=loses_responses)
        if loses_responses and not (place.engine == MOTO and len(points) <= FEW):
            points = [one for number, one in enumerate(points) if (number + one[0]) % 2 == 0 or one == points[-1]]
        recover(place)
        place.drain()
        for number, (call, fault) in enumerate(points):
            prepare(place)
            place.faults.arm(fault, call)
            act(place)
            recover(place)
            place.drain()
            if number % CHECKED_EVERY == 0:
                place.check()
        place.check()
        assert len(place.faults.struck) == len(points), "a crash point was not reached"
        self.survived(what, len(points))

    def at_each_later_call(  # noqa: PLR0913 - the steps of a trial
        self,
        what: str,
        place: Trial,
        prepare: Step,
        act: Step,
        recover: Step,
        *,
        loses_responses: bool = False,
        first: int = 1,
    ) -> None:
        """Do something again and again, with a fault at each of its calls from ``first`` on, until none is left.

        For what has another number of calls each time. ``prepare`` may arm another fault, or an action, before those.
        On DynamoDB Local the faults take turns from one call to the next.
        """
        calls = 0

        def reached(fault: FaultKind, after: int) -> bool:
            nonlocal calls
            prepare(place)
            place.faults.arm(fault, after)
            struck, before = len(place.faults.struck), len(place.faults.calls)
            act(place)
            calls = len(place.faults.calls) - before
            is_reached = fault in {one for _, one in place.faults.struck[struck:]}
            place.faults.disarm()
            recover(place)
            return is_reached

        points, kinds = 0, _kinds(loses_responses=loses_responses)
        for number, fault in enumerate(kinds):
            for after in count(first) if place.engine == MOTO else count(first + number, len(kinds)):
                if not reached(fault, after):  # It had ended before.
                    break
                points += 1
            place.drain()
            place.check()
        points += reached(FaultKind.KILL_AFTER, calls - 1)
        place.drain()
        place.check()
        self.survived(what, points)

    def survived(self, what: str, points: int) -> None:
        """Record a number of crash points for the summary of the test run."""
        self._record(what, f"{points} crash points tried, 0 violations")
