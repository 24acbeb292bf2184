"""A death at every AWS call of something, before and after its effect, and what must hold after each."""

from collections.abc import Callable
from itertools import count

from quarterhour_tools.emulator.engines import MOTO
from quarterhour_tools.emulator.faults import FaultKind
from tests.invariants.trial import Trial

DEATHS = (FaultKind.KILL_BEFORE, FaultKind.KILL_AFTER)
OR_A_LOST_RESPONSE = (*DEATHS, FaultKind.RESET_AFTER)
CHECKED_EVERY = 40
FEW = 60
"""So many crash points are all tried; of more, each call is tried with one fault."""

Step = Callable[[Trial], None]
Record = Callable[[str, object], None]


class Numbers:
    """Numbers attempts from 1, for ids that no other attempt has: a call returns the next one, ``last`` is kept."""

    def __init__(self) -> None:
        self.last = 0

    def __call__(self) -> int:
        self.last += 1
        return self.last


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
        faults: tuple[FaultKind, ...] = DEATHS,
    ) -> None:
        """Do something once in peace to count its calls, then once for each call and fault.

        Where that takes long, of many calls and on DynamoDB Local, the faults take turns from one call to the next.
        """
        prepare(place)
        before = len(place.faults.calls)
        act(place)
        calls, kinds = len(place.faults.calls) - before, len(faults)
        each = ((call, fault) for call in range(calls) for fault in range(kinds))
        is_quick = place.engine == MOTO and calls * kinds <= FEW
        turns = [one for one in each if is_quick or sum(one) % kinds == 0]
        points = len(turns)
        recover(place)
        place.drain()
        for point, (call, fault) in enumerate(turns):
            prepare(place)
            place.faults.arm(faults[fault], call)
            act(place)
            recover(place)
            place.drain()
            if point % CHECKED_EVERY == 0:
                place.check()
        place.check()
        assert len(place.faults.struck) == points, "a crash point was not reached"
        self.survived(what, points)

    def at_each_later_call(  # noqa: PLR0913 - the steps of a trial
        self,
        what: str,
        place: Trial,
        prepare: Step,
        act: Step,
        recover: Step,
        *,
        faults: tuple[FaultKind, ...] = DEATHS,
        first: int = 1,
    ) -> None:
        """Do something again and again, with a fault at each of its calls from ``first`` on, until none is left.

        For what has another number of calls each time. ``prepare`` may arm another fault, or an action, before those.
        On DynamoDB Local the faults take turns from one call to the next.
        """
        points, kinds = 0, len(faults)
        for number, fault in enumerate(faults):
            for after in count(first) if place.engine == MOTO else count(first + number, kinds):
                prepare(place)
                place.faults.arm(fault, after)
                struck = len(place.faults.struck)
                act(place)
                reached = fault in {one for _, one in place.faults.struck[struck:]}
                place.faults.disarm()
                recover(place)
                if not reached:  # It had ended before.
                    break
                points += 1
            place.drain()
            place.check()
        self.survived(what, points)

    def survived(self, what: str, points: int) -> None:
        """Record a number of crash points for the summary of the test run."""
        self._record(what, f"{points} crash points tried, 0 violations")
