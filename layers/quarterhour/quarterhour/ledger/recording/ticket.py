"""Tickets: what has become of the events of one identity in a request, from their admission to the answer."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum, auto
from itertools import islice
from typing import assert_never

from quarterhour.ledger.events.event import Event, Rejection
from quarterhour.ledger.recording.claims import Claim, Claimed
from quarterhour.ledger.recording.held_event import Held, HeldReason, Hold, Reservation
from quarterhour.ledger.recording.plan import PlannedSegment, RecordingRequest, plan_segments
from quarterhour.ledger.recording.pricing import CommissionTerms, can_be_unlinked
from quarterhour.model.identifiers import Identity
from quarterhour.registry.rate_cards.plan import RateCards
from quarterhour.registry.rate_cards.rate_card import RateCard

Result = Claimed | Held | Rejection
"""What has become of an event: its valid claim, its reservation, or why it cannot be recorded."""


def result_of(existing: Claim | Reservation) -> Claimed | Held:
    """Return the result for an event whose identity has a claim or a reservation of an earlier request."""
    return Claimed(existing, fresh=False) if isinstance(existing, Claim) else Held(existing)


class Way(Enum):
    """How an event is claimed, in the order in which the events of a request are."""

    ALONE = auto()
    """By itself: it refers to no sale."""
    LINKED = auto()
    """Together with the claim of the sale that it refers to."""
    RELEASED = auto()
    """By itself, without its reference: an operator has released it, and its sale is still unknown."""


@dataclass(slots=True)
class Ticket:
    """The events of one identity in a request, and what has become of them so far.

    ``events``: in the order of the request. ``admitted``: those of them that need not wait. ``hold``: the first of them
    that must. ``event``: the one that is claimed now, with its own ``terms`` or the ``rate_card`` that it names if it
    is a re-rating, and the ``groups`` of agencies for that. ``rejections``: by the digests of events, as another one of
    the identity may be recorded. ``segments``: those that the request has planned for the event. ``recorded``: the
    claim whose event is in the ledger.
    """

    event: Event
    events: list[Event]
    admitted: list[Event]
    hold: Hold | None = None
    terms: CommissionTerms | None = None
    rate_card: RateCard | None = None
    groups: RateCards | None = None
    claimed: Claimed | None = None
    held: Held | None = None
    rejections: dict[str, Rejection] = field(default_factory=dict)
    segments: tuple[PlannedSegment, ...] = ()
    recorded: Claim | None = None

    @property
    def identity(self) -> Identity:
        """The identity of the events."""
        return self.event.identity

    def choose(self, way: Way) -> bool:
        """Take the first event that is to be claimed in this way, and is not rejected; return whether there is one."""
        if self.claimed:
            return False
        self.terms = self.rate_card = None
        if way is Way.RELEASED:
            return self._is_released
        is_linked = way is Way.LINKED
        for event in self.admitted:
            if (event.linked_to is not None) is is_linked and not self._has_rejected(event):
                self.event = event
                return True
        return False

    def _has_rejected(self, event: Event) -> bool:
        return bool(self.rejections) and event.digest in self.rejections

    @property
    def _is_released(self) -> bool:
        """Whether the event is to be recorded without its reference: a void or a re-rating would say nothing then.

        A refund of a running total may be more than is left of the one sale that it names.
        """
        event, held = self.event, self.held
        if held is None or held.reservation.reason is not HeldReason.UNKNOWN_SALE:
            return False
        if held.problems and not event.is_running_total:
            return False
        return event.without_sale and event.linked_to is not None and can_be_unlinked(event) and self._admits(event)

    def _admits(self, event: Event) -> bool:
        return any(one is event for one in self.admitted)

    @property
    def is_rejected(self) -> bool:
        """Whether the event is rejected, and no other one of the identity is claimed or held."""
        return self.rejection_of(self.event) is not None

    def rejection_of(self, event: Event) -> Rejection | None:
        """Return the rejection of an event, unless another one of the identity is claimed or held."""
        if not self.rejections or self.claimed or self.held:
            return None
        return self.rejections.get(event.digest)

    def put(self, result: Result | None) -> None:
        """Take the result for the event; ``None`` if nothing could be written for it now."""
        match result:
            case Claimed():
                self.claimed = result
            case Held():
                self.held = result
            case Rejection():
                self.rejections[self.event.digest] = result
            case None:
                pass
            case _:
                assert_never(result)

    @property
    def claim(self) -> Claim:
        """The valid claim; raises ``ValueError`` if there is none."""
        if self.claimed is None:
            raise ValueError(f"{self.identity} is not claimed")
        return self.claimed.claim

    def bear(self, fees: Collection[str] | None) -> None:
        """Take which fees of its order the event bears, by name; ``None`` if it is in none that has any."""
        if self.claimed and fees is not None:
            claim = self.claimed.claim
            terms = claim.terms.bearing(fees, claim.content(self.event).amount)
            self.claimed = replace(self.claimed, claim=claim._replace(terms=terms))

    def choose_claimed(self) -> bool:
        """Take the event that has the claimed content; return whether there is one."""
        if self.claimed is None:
            return False
        is_of = self.claimed.claim.is_of
        if not is_of(self.event):
            self.event = next(filter(is_of, self.events), self.event)
            return is_of(self.event)
        return True

    def segment_of(self, claim: Claim) -> PlannedSegment | None:
        """Return the segment of a claim; ``None`` if this request has not planned it.

        A claim of an earlier try of this request is fresh, too, but is in another segment.
        """
        return next((segment for segment in self.segments if segment.holds(claim)), None)


def placed(planned: Sequence[tuple[Ticket, Claim]], request: RecordingRequest, now: datetime) -> list[Claim]:
    """Return claims of the events of tickets with their places in segments, which the tickets keep."""
    segments = plan_segments([(claim, ticket.event) for ticket, claim in planned], request, now)
    rest = iter(planned)
    for segment in segments:
        for ticket, _ in islice(rest, len(segment.claims)):
            ticket.segments = (*ticket.segments, segment)
    return [claim for segment in segments for claim in segment.claims]


def tickets_of(events: Iterable[Event]) -> dict[Identity, Ticket]:
    """Return a ticket for each identity of some events, none of which need wait."""
    tickets: dict[Identity, Ticket] = {}
    for event in events:
        ticket = tickets.get(event.identity)
        if ticket is None:
            events_ = [event]
            tickets[event.identity] = Ticket(event, events_, events_)
        else:
            ticket.events.append(event)
    return tickets
