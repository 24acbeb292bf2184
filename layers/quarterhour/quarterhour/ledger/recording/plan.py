"""Planning of recording, pure: which events to claim and to append, in which segments, and the next step of a claim.

A claim whose event is not in the ledger is moved only when no append to its position can take effect any more: when its
segment exists without the event, or when its quarter-hour is final.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from itertools import islice
from typing import NamedTuple

from quarterhour.ledger.events.event import APPROVED_BY, RECORDED_BY, Event
from quarterhour.ledger.postings.posting import LACKS, PRIOR, TAX_POINT, UNREGISTERED
from quarterhour.ledger.postings.segments import LedgerKey, SegmentKey, packed, parts
from quarterhour.ledger.recording.claims import Claim
from quarterhour.ledger.recording.settings import Phase, RecordingSettings
from quarterhour.model import clock, money
from quarterhour.model.charges import write_charges
from quarterhour.model.clock import iso_exact, iso_millis
from quarterhour.model.identifiers import Partition, Position


@dataclass(frozen=True, slots=True)
class RecordingRequest:
    """A request's id, the instant at which work on it must end, and the settings that apply to all of its events."""

    id: str
    until: datetime
    settings: RecordingSettings

    def in_time(self) -> bool:
        """Return whether there is time left."""
        return clock.now() < self.until


def ledger_values(event: Event, claim: Claim) -> dict[str, str]:
    """Return the ledger's attributes of an event, all text. Equal events and claims give equal attributes.

    Raises ``ValueError`` if the commission would need more than 38 digits.
    """
    charges = claim.terms.charges(event.amount) if claim.terms.arithmetic else None  # most have the rate alone
    commission = charges.commission if charges else claim.terms.commission(event.amount)
    if commission is None:
        raise ValueError(f"the commission of {claim.identity} needs more than 38 digits")
    values = {
        "quarter_hour": str(claim.partition),
        "position": str(claim.position),
        "source": event.identity.source,
        "id": event.identity.id,
        "type": event.type,
        "agency": event.account.agency,
        "currency": event.account.currency,
        "amount": money.plain(event.amount),
        "commission_rate": money.plain(claim.terms.commission_rate),
        "commission": money.plain(commission),
        "recorded_at": iso_millis(claim.position.recorded_at),
        **event.details,
    }
    optional = {
        "terms": claim.terms.origin,
        "arithmetic": claim.terms.arithmetic,
        "attributes": event.attributes,
        RECORDED_BY: claim.recorded_by,
        APPROVED_BY: claim.approved_by,
        "time": event.time and iso_exact(event.time),
        "period": str(claim.period),
        "prior_period": claim.prior_period and PRIOR,
        TAX_POINT: claim.tax_point.isoformat(),
        "unregistered": claim.terms.unregistered and UNREGISTERED,
        LACKS: claim.terms.lacks,
        "charges": charges and write_charges(charges),
    }
    return values | {name: text for name, text in optional.items() if text}


# ---------------------------------------------------------------- segments


@dataclass(frozen=True, slots=True)
class PlannedSegment:
    """A segment before its events are claimed: its claims by index, and its bytes if all of them succeed."""

    key: SegmentKey
    claims: Sequence[Claim]
    events: bytes

    def holds(self, claim: Claim) -> bool:
        """Return whether a claim is one of the segment's, or a copy of one that was read."""
        index = claim.position.index
        if index is None or index >= len(self.claims):
            return False
        return self.claims[index] is claim or self.key == claim.segment


@dataclass(frozen=True, slots=True)
class NewSegment:
    """A segment to append: its bytes, and the claim of each posting by its key."""

    key: SegmentKey
    events: bytes
    claims: Mapping[LedgerKey, Claim]


def plan_segments(
    claimed: Sequence[tuple[Claim, Event]], request: RecordingRequest, now: datetime
) -> list[PlannedSegment]:
    """Return the segments for claims that were made now, with their events, each claim placed in one of them.

    The hash of a segment is that of the request and of what it may hold.
    """
    rows = [ledger_values(claim.content(event), claim) for claim, event in claimed]
    segments: list[PlannedSegment] = []
    rest = iter(claimed)
    for some, packed_rows in parts(rows):
        own = [claim for claim, _ in islice(rest, len(some))]
        content = "\n".join([request.id, *(f"{claim.identity} {claim.digest}" for claim in own)])
        digest = sha256(content.encode()).digest()
        key = SegmentKey(Partition.of(digest, now, request.settings.shards), Position.of(digest, now))
        placed = [claim.placed(key, index) for index, claim in enumerate(own)]
        segments.append(PlannedSegment(key, placed, packed_rows))
    return segments


def new_segment(planned: PlannedSegment, claimed: Sequence[tuple[Claim, Event]]) -> NewSegment:
    """Return the segment to append for the claims in it that are valid, with their events.

    The index of every other claim stays without a posting.
    """
    by_key = {claim.key: claim for claim, _ in claimed}
    if len(claimed) == len(planned.claims) and all(
        claim is own for (claim, _), own in zip(claimed, planned.claims, strict=True)
    ):
        return NewSegment(planned.key, planned.events, by_key)
    rows: list[dict[str, str] | None] = [None] * (1 + max(claim.position.index or 0 for claim, _ in claimed))
    for claim, event in claimed:
        rows[claim.position.index or 0] = ledger_values(claim.content(event), claim)
    return NewSegment(planned.key, packed(rows), by_key)


# ---------------------------------------------------------------- claims of earlier requests


class Found(NamedTuple):
    """Claims by what the ledger holds at their positions.

    ``posted``: the event. ``passed_over``: an item without the event, so that the event can never be there. ``absent``:
    nothing yet. Claims whose item cannot be read are in none.
    """

    posted: list[Claim]
    passed_over: list[Claim]
    absent: list[Claim]


@dataclass(frozen=True, slots=True)
class NextStep:
    """The claims of absent events by their next step: put a void, move, or wait until the quarter-hour is final."""

    fence: list[Claim]
    move: list[Claim]
    wait: list[Claim]


def next_step(absent: Iterable[Claim], now: datetime, settings: RecordingSettings) -> NextStep:
    """Return the next step of each claim whose event is absent from the ledger, by the phase of its quarter-hour."""
    step = NextStep([], [], [])
    for claim in absent:
        phase = settings.phase(claim.partition.quarter_hour, now)
        if phase is Phase.FINAL:
            step.move.append(claim)
        elif phase is Phase.OPEN:
            step.fence.append(claim)
        else:
            step.wait.append(claim)
    return step
