"""A death at every AWS call of something, before and after its effect, and what must hold after each."""

from collections.abc import Callable
from itertools import count

from quarterhour_tools.emulator.faults import FaultKind
from tests.invariants.trial import Trial

DEATHS = (FaultKind.KILL_BEFORE, FaultKind.KILL_AFTER)
OR_A_LOST_RESPONSE = (*DEATHS, FaultKind.RESET_AFTER)
CHECKED_EVERY = 40

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

    def at_each_call(  # noqa: PLR0913, PLR0917 - the steps of a trial
        self,
        what: str,
        place: Trial,
        prepare: Step,
        act: Step,
        recover: Step,
        faults: tuple[FaultKind, ...] = DEATHS,
    ) -> None:
        """Do something once in peace to count its calls, then once for each call and fault."""
        prepare(place)
        before = len(place.faults.calls)
        act(place)
        points = (len(place.faults.calls) - before) * len(faults)
        recover(place)
        place.drain()
        for point in range(points):
            prepare(place)
            place.faults.arm(faults[point % len(faults)], point // len(faults))
            act(place)
            recover(place)
            place.drain()
            if point % CHECKED_EVERY == 0:
                place.check()
        place.check()
        assert len(place.faults.struck) == points, "a crash point was not reached"
        self.survived(what, points)

    def at_each_later_call(self, what: str, place: Trial, prepare: Step, act: Step, recover: Step) -> None:
        """Do something again and again, with a death at each call from the second one on, until none is left.

        ``prepare`` may arm a fault of the first call, which changes how many calls follow.
        """
        points = 0
        for death in DEATHS:
            for after in count(1):
                prepare(place)
                place.faults.arm(death, after)
                struck = len(place.faults.struck)
                act(place)
                died = death in {one for _, one in place.faults.struck[struck:]}
                place.faults.disarm()
                recover(place)
                if not died:  # It had ended before.
                    break
                points += 1
            place.drain()
            place.check()
        self.survived(what, points)

    def survived(self, what: str, points: int) -> None:
        """Record a number of crash points for the summary of the test run."""
        self._record(what, f"{points} crash points tried, 0 violations")
