"""The lines that are compared: those of a provider's file and those of the ledger. Pure values."""

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple

from quarterhour.ledger.events.event import ADJUSTMENT, PAYMENT, REFUND, SALE, VOID
from quarterhour.model import money
from quarterhour.model.identifiers import Identity

SOURCE: Final = "quarterhour/reconciliation"
"""The source of the events that are proposed: in the ledger, they correct a group of lines."""
RECONCILES: Final = "reconciles"
"""The member of `extra` with the group that a proposed event corrects."""
KIND_OF: Final = {SALE: "sale", REFUND: "refund", VOID: "refund", ADJUSTMENT: "adjustment", PAYMENT: "payout"}
"""The kind of line that an event of each type is."""


class ProviderLine(NamedTuple):
    """A line of the provider's file.

    ``row``: the line of the file on which it begins. ``name``: what the provider calls it. ``amount``: ``None`` of a
    fee alone. ``agency``: ``None`` if the file names none. ``period``: the month of its time. ``sale``: the group of
    the sale that a refund names; ``missing``: the field without which it matches nothing.
    """

    row: int
    name: str
    kind: str
    group: str
    amount: Decimal | None
    currency: str
    fee: Decimal | None
    fee_currency: str
    agency: str | None
    time: str | None
    period: str
    sale: str | None = None
    missing: str = ""


class LedgerLine(NamedTuple):
    """A sealed line of the ledger. ``counts``: whether its agency is among those of the file."""

    identity: Identity
    type: str
    group: str
    amount: Decimal
    currency: str
    fee: Decimal | None
    agency: str
    period: str
    refers_to: Identity | None
    counts: bool

    @property
    def corrects(self) -> bool:
        """Whether the line was proposed by a reconciliation."""
        return self.identity.source == SOURCE


ComparedLine = ProviderLine | LedgerLine


def group_of(kind: str, values: Sequence[str]) -> str:
    """Return the text of a group: lines of one kind with the same values in the fields that match."""
    return json.dumps([kind, *values], ensure_ascii=False)


def kind_of_group(group: str) -> str:
    """Return the kind of the lines of a group; the empty text if the text is no group."""
    try:
        kind = json.loads(group)[0]
    except (ValueError, IndexError, KeyError, TypeError, RecursionError):
        return ""
    return kind if isinstance(kind, str) else ""


def packed(line: ComparedLine) -> str:
    """Return a line as text; ``provider_line`` and ``ledger_line`` reverse it."""
    return json.dumps([money.plain(one) if isinstance(one, Decimal) else one for one in line], ensure_ascii=False)


def provider_line(text: str) -> ProviderLine:
    """Return the provider's line of a text."""
    line = ProviderLine(*json.loads(text))
    return line._replace(amount=_decimal(line.amount), fee=_decimal(line.fee))


def ledger_line(text: str) -> LedgerLine:
    """Return the ledger's line of a text."""
    line = LedgerLine(*json.loads(text))
    return line._replace(
        identity=Identity(*line.identity),
        amount=Decimal(line.amount),
        fee=_decimal(line.fee),
        refers_to=Identity(*line.refers_to) if line.refers_to else None,
    )


def _decimal(text: Any) -> Decimal | None:  # noqa: ANN401 - what JSON holds
    return None if text is None else Decimal(text)


class Sums(dict[tuple[str, str], Decimal]):
    """Sums by measure, which is ``amount`` or ``fee``, and currency."""

    def add(self, line: ComparedLine, period: str) -> None:
        """Add a line if it counts in the period."""
        if counts(line, period):
            if line.amount is not None:
                self._add("amount", line.currency, line.amount)
            if line.fee is not None:
                self._add("fee", fee_currency(line), line.fee)

    def _add(self, measure: str, currency: str, value: Decimal) -> None:
        key = (measure, currency)
        self[key] = money.add(self.get(key, money.ZERO), value)


def counts(line: ComparedLine, period: str) -> bool:
    """Return whether a line is a part of the totals of a period."""
    return line.period == period and (isinstance(line, ProviderLine) or line.counts)


def fee_currency(line: ComparedLine) -> str:
    """Return the currency of a line's fee."""
    return line.fee_currency if isinstance(line, ProviderLine) else line.currency


def sums(lines: Sequence[ComparedLine], period: str) -> Sums:
    """Return the sums of lines that count in a period."""
    total = Sums()
    for line in lines:
        total.add(line, period)
    return total
