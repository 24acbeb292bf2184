"""Planning of recording, pure: which event to claim and to append, and the next step of a claim without its event.

A claim whose event was not appended is moved only when its quarter-hour is final: then no append to it can be in
flight.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from quarterhour.ledger.claims import Claim, Claimed
from quarterhour.ledger.event import Event
from quarterhour.ledger.settings import Phase, RecordingSettings
from quarterhour.model import clock
from quarterhour.model.identifiers import Identity


def first_of_each(events: Iterable[Event]) -> list[Event]:
    """Return the first event of each identity, which is the one to claim."""
    firsts: dict[Identity, Event] = {}
    for event in events:
        firsts.setdefault(event.identity, event)
    return list(firsts.values())


def claimed_events(events: Iterable[Event], claims: Mapping[Identity, Claimed]) -> dict[Identity, Event]:
    """Return the event to append for each claimed identity: one whose content is the claimed one."""
    return {
        event.identity: claimed.claim.content(event)
        for event in events
        if (claimed := claims.get(event.identity)) and claimed.claim.digest == event.digest
    }


@dataclass(frozen=True, slots=True)
class RecordingRequest:
    """A request's id, and the instant at which work on it must end."""

    id: str
    until: datetime

    def in_time(self) -> bool:
        """Return whether there is time left."""
        return clock.now() < self.until


@dataclass(frozen=True, slots=True)
class NextStep:
    """The claims of absent events by their next step: append, move first, or wait until the quarter-hour is final."""

    append: list[Claim]
    move: list[Claim]
    wait: list[Claim]


def next_step(absent: Iterable[Claim], now: datetime, settings: RecordingSettings) -> NextStep:
    """Return the next step of each claim whose event is absent from the ledger, by the phase of its quarter-hour."""
    step = NextStep([], [], [])
    by_phase = {Phase.OPEN: step.append, Phase.FINAL: step.move, Phase.CLOSING: step.wait}
    for claim in absent:
        by_phase[settings.phase(claim.partition.quarter_hour, now)].append(claim)
    return step
