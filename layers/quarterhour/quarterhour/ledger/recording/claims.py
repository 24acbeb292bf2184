"""Claims: the ledger positions of events, with all that makes a repeated append write the same bytes.

An event is claimed in the Identity table, which fixes its segment and its index there, and is then appended to the
ledger with the other events of that segment.
"""

from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from quarterhour.ledger.events.event import SALE, Event
from quarterhour.ledger.postings.segments import LedgerKey, SegmentKey
from quarterhour.ledger.recording.pricing import CommissionTerms
from quarterhour.ledger.recording.remaining import Left
from quarterhour.ledger.recording.settings import RecordingSettings
from quarterhour.model import money
from quarterhour.model.clock import iso_millis, truncated
from quarterhour.model.identifiers import Account, Identity, Partition, Position
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour

if TYPE_CHECKING:
    from quarterhour.ledger.recording import api

DIGEST_LENGTH: Final = 32
"""The characters of an event's digest that its claim keeps: 16 bytes."""


@dataclass(frozen=True, slots=True)
class Refundable:
    """The part of a sale's claim that its refunds and voids change: ``left``, the amount that is not given back.

    ``tax`` and ``shipping``: those of it, if a refund has taken others than in proportion.
    """

    account: Account
    left: Decimal
    tax: Decimal | None = None
    shipping: Decimal | None = None


class Claim(NamedTuple):
    """The ledger position of an event, with everything that makes a repeated append write the same bytes.

    ``digest`` is the beginning of the event's. ``tax_point`` is the date that decides the tax of the event. ``amount``
    is set if it differs from the event's: for a void, and for a refund of the rest of its sale. ``rerated`` are the
    terms by the last re-rating of the event: later refunds, voids and re-ratings take them, while every append of the
    event keeps ``terms``. ``prior_period``: whether the event belongs to an earlier period, which is cut off.
    ``unlinked`` marks an event that an operator released, and that is recorded without its reference to a sale.
    ``attributes``, ``recorded_by`` and ``approved_by`` are those of the event that was claimed, as a retry may have
    others. ``category`` and ``kind`` are those of the event that a correction corrects, if it is recorded with them;
    empty if it is recorded without any, whatever its sender named. ``voided``: the last void of the sale or refund.
    ``changes``: how many linked events have changed the claim. ``sale``: the one that a refund names.
    """

    identity: Identity
    partition: Partition
    position: Position
    digest: str
    terms: CommissionTerms
    expires_at: int | None
    period: Period
    tax_point: date
    refundable: Refundable | None = None
    amount: Decimal | None = None
    prior_period: bool = False
    unlinked: bool = False
    rerated: CommissionTerms | None = None
    attributes: str | None = None
    recorded_by: str | None = None
    category: str | None = None
    kind: str | None = None
    approved_by: str | None = None
    voided: Identity | None = None
    changes: int = 0
    sale: Identity | None = None

    @classmethod
    def of(
        cls,
        event: Event,
        now: datetime,
        settings: RecordingSettings,
        terms: CommissionTerms,
        tax_point: date | None = None,
    ) -> Self:
        """Return the claim of an event that is recorded now on some terms; it is still to be ``placed``.

        ``tax_point``: that of the sale that the event corrects. All other events have their business date.
        """
        refundable = Refundable(event.account, event.amount) if event.type == SALE else None
        expires = expiry(now, settings)
        partition, position, period, prior = _position_and_period(event, now, settings)
        return cls(
            event.identity,
            partition,
            position,
            event.digest[:DIGEST_LENGTH],
            terms,
            expires,
            period,
            tax_point or _business_date(event, position, settings),
            refundable,
            prior_period=prior,
            attributes=event.attributes,
            recorded_by=event.recorded_by,
            approved_by=event.approved_by,
        )

    def moved(self, event: Event, now: datetime, settings: RecordingSettings) -> "Claim":
        """Return the claim of an event with a period and an expiry of now, on the same terms; to be ``placed``.

        A correction keeps the tax point of its sale.
        """
        partition, position, period, prior = _position_and_period(event, now, settings)
        of_sale = self.tax_point if event.linked_to else None
        return self._replace(
            partition=partition,
            position=position,
            period=period,
            prior_period=prior,
            expires_at=expiry(now, settings),
            tax_point=of_sale or _business_date(event, position, settings),
        )

    def placed(self, key: SegmentKey, index: int) -> "Claim":
        """Return the claim of the event as the posting with an index in a segment of the same instant."""
        return self._replace(partition=key.partition, position=key.position.at(index))

    def is_of(self, event: Event) -> bool:
        """Return whether the event has the content that was claimed."""
        return event.has_digest(self.digest)

    def content(self, event: Event) -> Event:
        """Return the event with the claimed amount, reference, attributes, category and kind."""
        content = event.unlinked if self.unlinked else event
        corrected = {"category": self.category, "kind": self.kind}
        if taken := {name: text for name, text in corrected.items() if text is not None}:
            details = {**content.details, **taken}
            content = replace(content, details={name: text for name, text in details.items() if text})
        if content.attributes != self.attributes:
            content = replace(content, attributes=self.attributes)
        return content if self.amount is None else replace(content, amount=self.amount)

    @property
    def terms_in_force(self) -> CommissionTerms:
        """The terms by the last re-rating, or else the first ones."""
        return self.rerated or self.terms

    def left_of(self, amount: Decimal) -> Left:
        """Return what is left of the event, which has an amount."""
        is_void, sale = self.voided is not None, self.refundable
        if sale is None:
            return Left(money.ZERO if is_void else amount, is_void=is_void)
        return Left(sale.left, sale.tax, sale.shipping, is_void)

    @property
    def key(self) -> LedgerKey:
        """The ledger's key: partition and position."""
        return str(self.partition), str(self.position)

    @property
    def segment(self) -> SegmentKey:
        """The key of the segment."""
        return SegmentKey(self.partition, self.position.of_item)

    @property
    def receipt(self) -> "api.Receipt":
        """The receipt for the sender: the time, partition and position of the recorded event."""
        return {
            "recorded_at": iso_millis(self.position.recorded_at),
            "partition": str(self.partition),
            "position": str(self.position),
        }


def expiry(now: datetime, settings: RecordingSettings) -> int | None:
    """Return when a claim of now expires, in epoch seconds; ``None`` if it never does."""
    return None if settings.retention is None else int((now + settings.retention).timestamp())


def _position_and_period(
    event: Event, now: datetime, settings: RecordingSettings
) -> tuple[Partition, Position, Period, bool]:
    """Return the partition, position and period of an event that is claimed now, and whether its own is cut off.

    Of partition and position, only the instant is right until the claim is placed in a segment.
    """
    partition, position = _unplaced(now)
    return partition, position, *settings.calendars.at(position.recorded_at).period_of(event.time, position.recorded_at)


def _business_date(event: Event, position: Position, settings: RecordingSettings) -> date:
    return settings.calendars.at(position.recorded_at).day_of(event.time or position.recorded_at)


@lru_cache(maxsize=16)
def _unplaced(now: datetime) -> tuple[Partition, Position]:
    return Partition(QuarterHour.at(now), 0), Position(truncated(now), "")


@dataclass(frozen=True, slots=True)
class Claimed:
    """The valid claim of an event: written by this request (``fresh``), or an earlier one.

    ``was_held``: this request has replaced the reservation of a held event by the claim.
    """

    claim: Claim
    fresh: bool
    was_held: bool = False
