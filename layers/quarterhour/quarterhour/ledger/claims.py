"""Claims: the ledger positions of events, with all that makes a repeated append write the same bytes.

An event is claimed in the Identity table, which fixes its partition and position, and is then appended to the ledger.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Self

from quarterhour.ledger.event import SALE, Event
from quarterhour.ledger.pricing import CommissionTerms
from quarterhour.ledger.settings import RecordingSettings
from quarterhour.model.clock import iso_millis
from quarterhour.model.identifiers import Account, Identity, Partition, Position
from quarterhour.model.periods import Period


@dataclass(frozen=True, slots=True)
class Refundable:
    """The part of a sale's claim that its refunds and voids change.

    ``left``: the amount that is not refunded or voided yet. ``voided``: the void of the sale, if there is one.
    """

    account: Account
    left: Decimal
    voided: Identity | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """The ledger position of an event, with everything that makes a repeated append write the same bytes.

    ``amount`` is set if it differs from the event's: for a void, and for a refund of the rest of its sale. ``rerated``
    are the terms by the last re-rating of the event: later refunds, voids and re-ratings take them, while every append
    of the event keeps ``terms``. ``period`` is missing in claims of earlier versions. ``prior_period``: whether the
    event belongs to an earlier period, which is cut off. ``unlinked`` marks an event that an operator released, and
    that is recorded without its reference to a sale. ``attributes`` and ``recorded_by`` are those of the event that was
    claimed, as a retry may have others.
    """

    identity: Identity
    partition: Partition
    position: Position
    digest: str
    terms: CommissionTerms
    expires_at: int | None
    refundable: Refundable | None = None
    amount: Decimal | None = None
    period: Period | None = None
    prior_period: bool = False
    unlinked: bool = False
    rerated: CommissionTerms | None = None
    attributes: str | None = None
    recorded_by: str | None = None

    @classmethod
    def of(cls, event: Event, now: datetime, settings: RecordingSettings, terms: CommissionTerms) -> Self:
        """Return the claim of an event that is recorded now on some terms."""
        refundable = Refundable(event.account, event.amount) if event.type == SALE else None
        expires = None if settings.retention is None else int((now + settings.retention).timestamp())
        partition, position, period, prior = _position_and_period(event, now, settings)
        return cls(
            event.identity,
            partition,
            position,
            event.digest,
            terms,
            expires,
            refundable,
            period=period,
            prior_period=prior,
            attributes=event.attributes,
            recorded_by=event.recorded_by,
        )

    def moved(self, event: Event, now: datetime, settings: RecordingSettings) -> "Claim":
        """Return the claim of an event with a position and a period of now, on the same terms."""
        partition, position, period, prior = _position_and_period(event, now, settings)
        return replace(self, partition=partition, position=position, period=period, prior_period=prior)

    def content(self, event: Event) -> Event:
        """Return the event with the claimed amount, reference and attributes."""
        content = event.unlinked if self.unlinked else event
        if content.attributes != self.attributes:
            content = replace(content, attributes=self.attributes)
        return content if self.amount is None else replace(content, amount=self.amount)

    @property
    def terms_in_force(self) -> CommissionTerms:
        """The terms by the last re-rating, or else the first ones."""
        return self.rerated or self.terms

    @property
    def key(self) -> tuple[str, str]:
        """The ledger's key: partition and position."""
        return str(self.partition), str(self.position)

    @property
    def receipt(self) -> dict[str, str]:
        """The receipt for the sender: the time, partition and position of the recorded event."""
        return {
            "recorded_at": iso_millis(self.position.recorded_at),
            "partition": str(self.partition),
            "position": str(self.position),
        }


def _position_and_period(
    event: Event, now: datetime, settings: RecordingSettings
) -> tuple[Partition, Position, Period, bool]:
    """Return the partition, position and period of an event that is claimed now, and whether its own is cut off."""
    digest = event.identity.hash
    partition, position = Partition.of(digest, now, settings.shards), Position.of(digest, now)
    return partition, position, *settings.calendar.period_of(event.time, position.recorded_at)


@dataclass(frozen=True, slots=True)
class Claimed:
    """The valid claim of an event: written by this request (``fresh``), or an earlier one.

    ``was_held``: this request has replaced the reservation of a held event by the claim.
    """

    claim: Claim
    fresh: bool
    was_held: bool = False
