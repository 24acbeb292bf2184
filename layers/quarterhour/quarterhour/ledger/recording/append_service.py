"""Appending claimed events to the ledger: those of this request, and those that an earlier one has left."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from quarterhour.aws.items import chunks
from quarterhour.ledger.recording.claim_store import ClaimStore
from quarterhour.ledger.recording.claims import Claim
from quarterhour.ledger.recording.plan import Found, PlannedSegment, RecordingRequest, new_segment, next_step
from quarterhour.ledger.recording.segment_store import SegmentStore
from quarterhour.ledger.recording.settings import SAFETY, Phase
from quarterhour.ledger.recording.ticket import Ticket, placed
from quarterhour.model import clock
from quarterhour.model.errors import UnavailableError
from quarterhour.model.quarter_hours import QuarterHour

_MOVED_TOGETHER: Final = 100
"""The most claims that are moved before their events are appended."""
_WAITS: Final = (0.1, 0.2, 0.3, 0.4)
"""The seconds between two looks for a segment that may be on its way, a second together."""

Members = list[tuple[PlannedSegment, list[Ticket]]]
"""Segments that the request has planned, each with the tickets whose valid claims are in it."""


@dataclass(frozen=True, slots=True)
class Appends:
    """Appends the claimed events that the ledger lacks."""

    claims: ClaimStore
    segments: SegmentStore

    def append(self, tickets: Iterable[Ticket], request: RecordingRequest) -> None:
        """Append the claimed events of tickets that are not in the ledger yet; put the claims of those that are then.

        An event whose claim another request has made, or an earlier try of this one, is looked up first. Its claim
        moves to a new segment if no append to its own can take effect any more.
        """
        own, known = _by_segment(one for one in tickets if one.recorded is None and one.choose_claimed())
        self._append(own, request)
        if not known:
            return
        by_identity = {ticket.identity: ticket for ticket in known}
        found = self._look_up([ticket.claim for ticket in known], request)
        for claim in found.posted:
            by_identity[claim.identity].recorded = claim
        for some in chunks(found.passed_over, _MOVED_TOGETHER):
            # What is moved is appended before more is moved, so that a retry that is short of time gets further.
            if request.in_time():
                moved, _ = _by_segment(self._moved([by_identity[claim.identity] for claim in some], request))
                self._append(moved, request)

    def _append(self, members: Members, request: RecordingRequest) -> None:
        """Append segments that this request has planned."""
        members = self._with_order_fees(members, request)
        segments = [new_segment(planned, [(one.claim, one.event) for one in tickets]) for planned, tickets in members]
        appended = self.segments.append(segments, partial(_may_append, request))
        for segment, (_, tickets) in zip(segments, members, strict=True):
            for key, ticket in zip(segment.claims, tickets, strict=True):
                if key in appended:
                    ticket.recorded = ticket.claim

    def _with_order_fees(self, members: Members, request: RecordingRequest) -> Members:
        """Decide which lines bear the fees of their orders; leave out those of which that cannot be decided now."""
        lines = [(one.claim, one.event) for _, some in members for one in some if one.claim.terms.in_order]
        if not lines:
            return members
        borne = self.claims.orders.register(lines, request.in_time)
        decided: Members = []
        for planned, tickets in members:
            kept = [one for one in tickets if not one.claim.terms.in_order or one.identity in borne]
            for ticket in kept:
                ticket.bear(borne.get(ticket.identity))
            if kept:
                decided.append((planned, kept))
        return decided

    def _moved(self, tickets: Sequence[Ticket], request: RecordingRequest) -> list[Ticket]:
        """Move the claims of tickets to new segments of now; return the tickets whose claims were moved."""
        now = clock.now()
        old = [ticket.claim for ticket in tickets]
        moved = [
            claim.moved(claim.content(ticket.event), now, request.settings)
            for ticket, claim in zip(tickets, old, strict=True)
        ]
        new = placed(list(zip(tickets, moved, strict=True)), request, now)
        written = {claim.identity: claim for claim in self.claims.move(list(zip(old, new, strict=True)))}
        for ticket in tickets:
            if ticket.claimed and (claim := written.get(ticket.identity)):
                ticket.claimed = replace(ticket.claimed, claim=claim)
        return [ticket for ticket in tickets if ticket.identity in written]

    def _look_up(self, known: list[Claim], request: RecordingRequest) -> Found:
        """Return which known claims have their event in the ledger, and which can never get it at their position."""
        # The clock is read before the table: a quarter-hour that is final now cannot get an append after the read.
        now = clock.now()
        try:
            found = self.segments.look_up(known)
        except UnavailableError:
            return Found([], [], known)
        step = next_step(found.absent, now, request.settings)
        fenced = self._fence(step.fence, request)
        return Found(
            found.posted + fenced.posted,
            found.passed_over + step.move + fenced.passed_over,
            step.wait + fenced.absent,
        )

    def _fence(self, absent: list[Claim], request: RecordingRequest) -> Found:
        """Wait for absent segments that may be on their way, then put voids in their places; return what is there."""
        found = Found([], [], absent)
        for seconds in _WAITS:
            younger = clock.now() - request.settings.longest_run - SAFETY
            if not request.in_time() or not any(one.position.recorded_at > younger for one in found.absent):
                break
            clock.sleep(seconds)
            with suppress(UnavailableError):  # the void then finds what is there
                found = _with(found, self.segments.look_up(found.absent))
        return _with(found, self.segments.fence(found.absent, partial(_may_append, request)))


def _may_append(request: RecordingRequest, quarter_hour: QuarterHour) -> bool:
    return request.in_time() and request.settings.phase(quarter_hour, clock.now()) is Phase.OPEN


def _by_segment(tickets: Iterable[Ticket]) -> tuple[Members, list[Ticket]]:
    """Return claimed tickets by the segments that this request has planned, and those whose claims are in no such."""
    members: dict[str, tuple[PlannedSegment, list[Ticket]]] = {}
    known: list[Ticket] = []
    for ticket in tickets:
        segment = ticket.segment_of(ticket.claim)
        if segment is None:
            known.append(ticket)
        else:
            members.setdefault(segment.key.position.suffix, (segment, []))[1].append(ticket)
    return list(members.values()), known


def _with(found: Found, later: Found) -> Found:
    """Return what was found of claims, and later of those that were absent."""
    return Found(found.posted + later.posted, found.passed_over + later.passed_over, later.absent)
