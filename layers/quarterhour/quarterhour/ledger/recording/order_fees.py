"""What an order is charged once, pure: which of its lines bears it, and what becomes of it when lines are voided.

An item of the Identity table knows the lines of an order of one source and account that a rate card with such a fee
prices. The line that is registered first owns the fee of a name. As long as another line stands, the void of that line
leaves the fee with the order; the void of the last one gives it back.
"""

from collections.abc import Collection, Mapping
from decimal import Decimal
from hashlib import sha256
from typing import Any, Final, NamedTuple, Self

from quarterhour.aws.items import Item
from quarterhour.ledger.events.event import Event
from quarterhour.model import money
from quarterhour.model.identifiers import SEPARATOR, Identity, base58_prefix

_PREFIX: Final = f"{SEPARATOR}order{SEPARATOR}"
"""Begins the keys of orders: no identity of an event begins with the separator."""
_KEY_LENGTH: Final = 22
_LINE_LENGTH: Final = 10


def order_key(facts: Mapping[str, str]) -> str | None:
    """Return the key of the order of an event, by its facts; ``None`` if it is in none."""
    if not facts.get("order_id"):
        return None
    named = "\n".join(facts[name] for name in ("source", "agency", "currency", "order_id"))
    return f"{_PREFIX}{base58_prefix(sha256(named.encode()).digest(), _KEY_LENGTH)}"


def order_key_of(event: Event) -> str | None:
    """Return the key of the order of an event."""
    own = {"source": event.identity.source, "agency": event.account.agency, "currency": event.account.currency}
    return order_key({**event.details, **own})


def _line(identity: Identity) -> str:
    return base58_prefix(identity.hash, _LINE_LENGTH)


class OrderFees(NamedTuple):
    """The fees of an order: by the name of the charge, the line that owns each, and what is ``left`` after its void.

    ``lines``: short hashes of all its lines; ``voided``: those of the lines that were voided. ``changes``: counts the
    writes. ``expires_at``: as that of a claim.
    """

    key: str
    owners: Mapping[str, Identity]
    lines: frozenset[str]
    voided: frozenset[str] = frozenset()
    left: Mapping[str, Decimal] = {}
    changes: int = 0
    expires_at: int | None = None

    @classmethod
    def of(cls, key: str, expires_at: int | None) -> Self:
        """Return the fees of an order that has no line yet."""
        return cls(key, {}, frozenset(), expires_at=expires_at)

    def owned_by(self, identity: Identity) -> frozenset[str]:
        """Return the names of the fees that a line bears."""
        return frozenset(name for name, owner in self.owners.items() if owner == identity)

    def with_line(self, identity: Identity, names: Collection[str]) -> "OrderFees":
        """Return the fees with a line, which owns those of some names that no line owns; the same for a known line."""
        line = _line(identity)
        if line in self.lines:
            return self
        return self._changed(owners={**dict.fromkeys(names, identity), **self.owners}, lines=self.lines | {line})

    def rerated(self, identity: Identity, names: Collection[str]) -> "OrderFees":
        """Return the fees after a line is priced again, by charges of some names."""
        known = self.with_line(identity, names)
        new = set(names) - known.owners.keys()
        if not new or _line(identity) in known.voided:
            return known
        return known._replace(owners={**dict.fromkeys(new, identity), **known.owners}, changes=self.changes + 1)

    def is_last(self, identity: Identity) -> bool:
        """Return whether no other line of the order stands."""
        return not self.lines - self.voided - {_line(identity)}

    def without_line(self, identity: Identity, left: Mapping[str, Decimal]) -> "OrderFees":
        """Return the fees after a line was voided; ``left``: what was left of those that it owns."""
        voided = self.voided | {_line(identity)}
        if self.is_last(identity):
            return self._changed(owners={}, voided=voided, left={})
        return self._changed(voided=voided, left={**self.left, **left})

    def _changed(self, **fields: Any) -> "OrderFees":  # noqa: ANN401 - those of the fees
        return self._replace(changes=self.changes + 1, **fields)


def order_item(fees: OrderFees) -> Item:
    """Return the item of the fees of an order."""
    item: Item = {"event": {"S": fees.key}, "changes": {"N": str(fees.changes)}}
    if fees.owners:
        item["owners"] = {"M": {name: {"S": str(owner)} for name, owner in fees.owners.items()}}
    if fees.left:
        item["fees"] = {"M": {name: {"S": money.plain(left)} for name, left in fees.left.items()}}
    for name, lines in (("lines", fees.lines), ("voided", fees.voided)):
        if lines:
            item[name] = {"SS": sorted(lines)}
    if fees.expires_at is not None:
        item["expires_at"] = {"N": str(fees.expires_at)}
    return item


def fees_of(item: Item) -> OrderFees:
    """Return the fees of an order that an item holds."""
    owners, left = (item.get(name, {}).get("M", {}) for name in ("owners", "fees"))
    lines, voided = (frozenset(item.get(name, {}).get("SS", ())) for name in ("lines", "voided"))
    return OrderFees(
        item["event"]["S"],
        {name: Identity.parse(owner["S"]) for name, owner in owners.items()},
        lines,
        voided,
        {name: Decimal(one["S"]) for name, one in left.items()},
        int(item["changes"]["N"]),
        int(item["expires_at"]["N"]) if "expires_at" in item else None,
    )
