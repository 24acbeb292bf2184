"""The items of the Identity table: the attributes of claims and of reservations, and what an item holds."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from functools import lru_cache
from hashlib import sha256
from operator import attrgetter
from typing import Any, Final, NamedTuple

from quarterhour.aws.items import Item
from quarterhour.ledger.events.event import APPROVED_BY, RECORDED_BY
from quarterhour.ledger.postings.posting import LACKS, PRIOR, TAX_POINT, UNREGISTERED
from quarterhour.ledger.recording.claims import Claim, Refundable
from quarterhour.ledger.recording.held_event import HeldReason, Reservation
from quarterhour.ledger.recording.pricing import CommissionTerms
from quarterhour.model import money
from quarterhour.model.identifiers import Account, Identity, Partition, Position, position_suffix
from quarterhour.model.periods import Period


class _Attribute(NamedTuple):
    """An attribute: the field that it holds, its name and type, what writes and reads it.

    ``absent``: the value of the field for which an item lacks the attribute.
    """

    field: str
    name: str
    to: Callable[[Any], Any] = str
    of: Callable[[Any], Any] = str
    kind: str = "S"
    absent: Any = None


class _Codec:
    """Writes the fields of an object as attributes of an item, and reads them."""

    def __init__(self, *attributes: _Attribute) -> None:
        self._attributes = attributes
        self._fields: Callable[[Any], tuple[Any, ...]] = attrgetter(*(one.field for one in attributes))
        self._written = tuple((one.name, one.kind, one.to, one.absent) for one in attributes)

    def write(self, written: object, item: Item) -> None:
        """Add the attributes of an object to an item."""
        for (name, kind, to, absent), value in zip(self._written, self._fields(written), strict=True):
            if value is not absent:
                item[name] = {kind: to(value)}

    def read(self, item: Item) -> dict[str, Any]:
        """Return the fields in an item by name; those whose attribute is absent are missing."""
        return {field: of(item[name][kind]) for field, name, _, of, kind, _ in self._attributes if name in item}


def _flag(field: str, name: str, text: str) -> _Attribute:
    """Return the attribute of a field that is true or false: a text, or absent."""
    return _Attribute(field, name, lambda _: text, lambda _: True, absent=False)


_CLAIM: Final = _Codec(
    _Attribute("identity", "event", str, Identity.parse),
    _Attribute("partition", "quarter_hour", str, Partition.parse),
    _Attribute("position", "position", str, Position.parse),
    _Attribute("digest", "digest"),
    _Attribute("expires_at", "expires_at", str, int, "N"),
    _Attribute("period", "period", str, Period.parse),
    _Attribute("amount", "amount", money.plain, Decimal),
    _flag("prior_period", "prior_period", PRIOR),
    _Attribute("unlinked", "unlinked", bool, bool, "BOOL", absent=False),
    _Attribute("attributes", "attributes"),
    _Attribute("recorded_by", RECORDED_BY),
    _Attribute("approved_by", APPROVED_BY),
    _Attribute("category", "category"),
    _Attribute("kind", "kind"),
    _Attribute("voided", "voided", str, Identity.parse),
    _Attribute("changes", "changes", str, int, "N", absent=0),
    _Attribute("sale", "sale", str, Identity.parse),
)
_TERMS: Final = _Codec(
    _Attribute("commission_rate", "commission_rate", money.plain, Decimal),
    _Attribute("origin", "terms"),
    _Attribute("arithmetic", "arithmetic", absent=""),
    _flag("unregistered", "unregistered", UNREGISTERED),
    _Attribute("lacks", LACKS, absent=""),
    _flag("in_order", "in_order", "1"),
)
_RERATED: Final = _Codec(
    _Attribute("commission_rate", "rerated_rate", money.plain, Decimal),
    _Attribute("origin", "rerated_terms"),
    _Attribute("arithmetic", "rerated_arithmetic", absent=""),
    _flag("in_order", "rerated_in_order", "1"),
)
_REFUNDABLE: Final = _Codec(
    _Attribute("account", "account", str, Account.parse),
    _Attribute("left", "left", money.plain, Decimal),
    _Attribute("tax", "tax_left", money.plain, Decimal),
    _Attribute("shipping", "shipping_left", money.plain, Decimal),
)
_RESERVATION: Final = _Codec(
    _Attribute("identity", "event", str, Identity.parse),
    _Attribute("digest", "digest"),
    _Attribute("type", "type"),
    _Attribute("refers_to", "refers_to", str, Identity.parse),
    _Attribute("reason", "held", str, HeldReason),
    _Attribute("discarded", "discarded"),
)


def claim_item(claim: Claim, request_id: str) -> Item:
    """Return the item of a claim that a request makes."""
    item = claim_attributes(claim)
    item["request"] = {"S": request_hash(request_id)}
    return item


def claim_attributes(claim: Claim) -> Item:
    """Return the attributes of a claim, but for the request that has made it."""
    item: Item = {}
    _CLAIM.write(claim, item)
    _TERMS.write(claim.terms, item)
    if claim.refundable:
        _REFUNDABLE.write(claim.refundable, item)
    if claim.rerated:
        _RERATED.write(claim.rerated, item)
    if claim.tax_point != claim.position.recorded_at.date():
        # It mostly is that date, and each byte of a claim is stored for ever.
        item[TAX_POINT] = {"S": claim.tax_point.isoformat()}
    return item


@lru_cache(maxsize=16)
def request_hash(request_id: str) -> str:
    """Return what a claim keeps of the id of the request that made it: 16 characters of its hash."""
    return position_suffix(sha256(request_id.encode()).digest())


def claim_of(item: Item) -> Claim:
    """Return the claim that an item of the Identity table holds."""
    fields = {"expires_at": None, **_CLAIM.read(item)}
    return Claim(
        **fields,
        terms=CommissionTerms(**_TERMS.read(item)),
        tax_point=date.fromisoformat(item[TAX_POINT]["S"])
        if TAX_POINT in item
        else fields["position"].recorded_at.date(),
        refundable=Refundable(**_REFUNDABLE.read(item)) if "left" in item else None,
        rerated=rerated_terms(item),
    )


def rerated_terms(item: Item) -> CommissionTerms | None:
    """Return the terms by the last re-rating that a claim's item holds; ``None`` if there was none."""
    return CommissionTerms(**_RERATED.read(item)) if "rerated_rate" in item else None


def reservation_item(reservation: Reservation) -> Item:
    """Return the item of a reservation."""
    item: Item = {}
    _RESERVATION.write(reservation, item)
    return item


def is_reservation(item: Item) -> bool:
    """Return whether an item of the Identity table is of an event that is held or was discarded, not of a claim."""
    return "held" in item


def claim_or_reservation(item: Item) -> Claim | Reservation:
    """Return what an item of the Identity table holds."""
    return Reservation(**_RESERVATION.read(item)) if is_reservation(item) else claim_of(item)
