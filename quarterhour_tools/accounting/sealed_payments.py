"""The payments in sealed lines."""

from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from decimal import Decimal
from typing import Final, NamedTuple

from quarterhour.ledger.events.event import PAYMENT
from quarterhour.model.identifiers import Account, Identity
from quarterhour.model.periods import Period
from quarterhour.proof.period import EARLIER
from quarterhour.reports.keys import part_of_lines
from quarterhour.reports.lines import read_lines
from quarterhour_tools.bucket import Objects
from quarterhour_tools.errors import ToolError

_AT_ONCE: Final = 16
"""The files that are read side by side."""


class SealedPayment(NamedTuple):
    """A payment; ``statement``: the number that it names, empty if it names none. ``recorded_at``: ISO 8601."""

    account: Account
    identity: Identity
    amount: Decimal
    statement: str
    reason: str
    recorded_at: str = ""


class SealedPayments(NamedTuple):
    """Payments, and the end of the last quarter-hour of which lines are sealed; ``None`` if no lines are."""

    payments: list[SealedPayment]
    until: datetime | None


def sealed_payments(files: Objects, first: Period, accounts: Collection[Account] | None = None) -> SealedPayments:
    """Return the sealed payments of accounts that count in a period or a later one, in their order.

    ``accounts``: ``None`` for all. Raises ``ToolError`` if a file cannot be read.
    """
    since = first.first_day - EARLIER
    parts = list(filter(None, map(part_of_lines, files.keys())))
    keys = [part.lines_key for part in parts if part.quarter_hour.day >= since]

    def payments_in(key: str) -> list[SealedPayment]:
        try:
            return list(_payments_in(files, key, str(first), accounts))
        except (OSError, ValueError, ArithmeticError) as error:
            raise ToolError(f"{key} cannot be read: {error}") from error

    with ThreadPoolExecutor(_AT_ONCE) as workers:
        payments = [payment for found in workers.map(payments_in, keys) for payment in found]
    return SealedPayments(payments, max((part.quarter_hour.end for part in parts), default=None))


def _payments_in(files: Objects, key: str, first: str, accounts: Collection[Account] | None) -> Iterator[SealedPayment]:
    with files.open(key) as file:
        for line in read_lines(file):
            account = Account(line["agency"], line["currency"])
            is_of = accounts is None or account in accounts
            if line["type"] == PAYMENT and is_of and line["period"] >= first:
                identity = Identity(line["source"], line["id"])
                statement, reason = line["statement"], line["reason"]
                amount, recorded_at = Decimal(line["amount"]), line["recorded_at"]
                yield SealedPayment(account, identity, amount, statement, reason, recorded_at)
