"""Postings: ledger items, read into the values that totals are made of."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Self

from quarterhour.aws.items import Item
from quarterhour.ledger.event import PAYMENT
from quarterhour.ledger.plan import SCHEMA
from quarterhour.model import money
from quarterhour.model.identifiers import Account, Partition, Position
from quarterhour.model.periods import Period


@dataclass(frozen=True, slots=True)
class Posting:
    """The values of one ledger item that count in totals."""

    partition: Partition
    account: Account
    amount: Decimal
    commission: Decimal
    recorded_at: datetime
    customer: str | None
    period: Period
    is_payment: bool = False

    @classmethod
    def of(cls, item: Item) -> Self:
        """Return the posting of a ledger item; raise ``ValueError`` if this version cannot read the item."""
        try:
            if item["schema"]["S"] != SCHEMA:
                raise ValueError(f"the ledger schema {item['schema']['S']!r} is not known, only {SCHEMA!r}")
            return cls(
                Partition.parse(item["quarter_hour"]["S"]),
                Account(item["agency"]["S"], item["currency"]["S"]),
                _decimal(item["amount"]["S"]),
                _decimal(item["commission"]["S"]),
                Position.parse(item["position"]["S"]).recorded_at,
                item["customer"]["S"] if "customer" in item else None,
                period_of(item),
                item["type"]["S"] == PAYMENT,
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"the ledger item lacks {error}") from error


def period_of(item: Item) -> Period:
    """Return the period of a ledger item: one of earlier versions, which has none, counts in its month in UTC."""
    if "period" in item:
        return Period.parse(item["period"]["S"])
    return Period.of(Position.parse(item["position"]["S"]).recorded_at)


def _decimal(text: str) -> Decimal:
    value = money.parse_decimal(text)
    if value is None:
        raise ValueError(f"{text!r} is no amount")
    return value
