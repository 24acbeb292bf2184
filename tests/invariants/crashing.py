"""A death at every AWS call of something, before and after its effect, and what must hold after each."""

from collections.abc import Callable

from quarterhour_tools.emulator.faults import Kind
from tests.invariants.trial import Trial

DEATHS = (Kind.KILL_BEFORE, Kind.KILL_AFTER)
CHECKED_EVERY = 8

Step = Callable[[Trial], None]
Record = Callable[[str, object], None]


def each_call(place: Trial, prepare: Step, act: Step, recover: Step) -> int:
    """Do something once in peace to count its calls, then once for each call and death. Returns the crash points."""
    prepare(place)
    before = len(place.faults.calls)
    act(place)
    calls = len(place.faults.calls) - before
    recover(place)
    place.drain()
    for point in range(calls * len(DEATHS)):
        prepare(place)
        place.faults.arm(DEATHS[point % len(DEATHS)], point // len(DEATHS))
        act(place)
        recover(place)
        place.drain()
        if point % CHECKED_EVERY == 0:
            place.check()
    place.check()
    assert len(place.faults.struck) == calls * len(DEATHS), "a crash point was not reached"
    return calls * len(DEATHS)
