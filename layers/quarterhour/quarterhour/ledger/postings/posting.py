"""Postings: an event as the ledger stores it, and the values of it that totals are made of."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import Final, NamedTuple, Self

from quarterhour.ledger.events.event import PAYMENT, STATEMENT
from quarterhour.model import money
from quarterhour.model.charge_totals import NO_CHARGE_TOTALS, ChargeTotals
from quarterhour.model.identifiers import Account, Identity, Partition, Position
from quarterhour.model.periods import Period

Facts = Mapping[str, str]
"""The recorded attributes of an event, as text by name; an empty column of a sealed line counts as missing."""


PRIOR: Final = "1"
"""The value of the attribute ``prior_period``; events of the current period lack it."""
TAX_POINT: Final = "tax_point"
"""The name of the attribute that holds the tax point."""
UNREGISTERED: Final = "1"
"""The value of the attribute that marks an event whose rate cards were looked up for an unregistered agency."""
LACKS: Final = "lacks"
"""The name of the attribute that says what a charge needs, and the event does not say: ``tax``, ``shipping``, or both.
"""


class PaidStatement(NamedTuple):
    """What a payment says that names a statement: the statement's number; its own identity, position and period."""

    number: str
    identity: Identity
    position: str
    period: Period

    @classmethod
    def of(cls, values: Mapping[str, str]) -> Self | None:
        """Return it from the values of a posting in the ledger; ``None`` if it names no statement."""
        number = values.get(STATEMENT)
        if not number:
            return None
        return cls(number, Identity(values["source"], values["id"]), values["position"], Period.parse(values["period"]))


@dataclass(frozen=True, slots=True)
class Posting:
    """The values of one posting that count in totals.

    ``pays``: the statement that it names, ``None`` for all but some payments.
    """

    partition: Partition
    account: Account
    amount: Decimal
    commission: Decimal
    recorded_at: datetime
    customer: str | None
    period: Period
    is_payment: bool = False
    pays: PaidStatement | None = None
    charges: ChargeTotals = NO_CHARGE_TOTALS

    @classmethod
    def of(cls, values: Mapping[str, str]) -> Self:
        """Return the posting of its values in the ledger; raise ``ValueError`` if they are not those of a posting."""
        try:
            return cls(
                _partition(values["quarter_hour"]),
                Account(values["agency"], values["currency"]),
                _decimal(values["amount"]),
                _decimal(values["commission"]),
                Position.parse(values["position"]).recorded_at,
                values.get("customer"),
                Period.parse(values["period"]),
                values["type"] == PAYMENT,
                PaidStatement.of(values),
                charges_of(values),
            )
        except KeyError as error:
            raise ValueError(f"the posting lacks {error}") from error


def charges_of(values: Mapping[str, str]) -> ChargeTotals:
    """Return what an event adds to the sums of charges; none if it is charged plain commission.

    Raises ``ValueError`` if its charges cannot be read.
    """
    text = values.get("charges")
    if not text:
        return NO_CHARGE_TOTALS
    return ChargeTotals.of_event(text, _decimal(values["commission"]), values["position"])


# The postings of a batch are of few partitions.
_partition = lru_cache(maxsize=256)(Partition.parse)


def _decimal(text: str) -> Decimal:
    value = money.parse_decimal(text)
    if value is None:
        raise ValueError(f"{text!r} is no amount")
    return value
