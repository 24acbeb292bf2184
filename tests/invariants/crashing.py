"""Lets functions die before each of their AWS calls and after the last one, and checks the invariants after each."""

from collections.abc import Callable, Sequence
from itertools import count

from quarterhour_tools.emulator.engines import EMBEDDED
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


def crash_points(
    calls: Sequence[int], *, loses_responses: bool = False, in_turns: bool = False
) -> list[tuple[int, FaultKind]]:
    """Return where something may die at calls that it makes one after the other: before each, and after the last.

    What a death after any other one leaves is what a death before the next one leaves. With ``loses_responses``, the
    response of each may be lost, too; ``in_turns``: one of both faults at each call.
    """
    kinds = _kinds(loses_responses=loses_responses)
    at = (lambda call: [kinds[call % len(kinds)]]) if in_turns else (lambda _: kinds)
    return [*((call, kind) for call in calls for kind in at(call)), (calls[-1], FaultKind.KILL_AFTER)]


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

        Of more than ``FEW`` points, and on DynamoDB Local, the faults take turns from one call to the next.
        """
        prepare(place)
        before = len(place.faults.calls)
        act(place)
        calls = range(len(place.faults.calls) - before)
        points = crash_points(calls, loses_responses=loses_responses)
        if place.engine != EMBEDDED or len(points) > FEW:
            points = crash_points(calls, loses_responses=loses_responses, in_turns=True)
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

        def attempt(fault: FaultKind, after: int) -> tuple[bool, int]:
            """Return whether the fault struck, and the number of calls."""
            prepare(place)
            place.faults.arm(fault, after)
            struck, before = len(place.faults.struck), len(place.faults.calls)
            act(place)
            calls = len(place.faults.calls) - before
            has_struck = fault in {one for _, one in place.faults.struck[struck:]}
            place.faults.disarm()
            recover(place)
            return has_struck, calls

        points, calls, kinds = 0, 0, _kinds(loses_responses=loses_responses)
        for number, fault in enumerate(kinds):
            for after in count(first) if place.engine == EMBEDDED else count(first + number, len(kinds)):
                has_struck, calls = attempt(fault, after)
                if not has_struck:  # It had ended before.
                    break
                points += 1
            place.drain()
            place.check()
        has_struck, _ = attempt(FaultKind.KILL_AFTER, calls - 1)
        points += has_struck
        place.drain()
        place.check()
        self.survived(what, points)

    def survived(self, what: str, points: int) -> None:
        """Record a number of crash points for the summary of the test run."""
        self._record(what, f"{points} crash points tried, 0 violations")
