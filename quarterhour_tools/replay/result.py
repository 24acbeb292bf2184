"""What a replay ends with: what was sent, the counters and the sealed lines, and whether they agree."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, NamedTuple

from quarterhour.aws.entity_table import EntityReader
from quarterhour.counters.keys import account_of, account_pk_bounds, period_of, period_sk_bounds
from quarterhour.counters.queries import CounterQueries
from quarterhour.ledger.events.event import PAYMENT
from quarterhour.ledger.keys import HeldStatus, held_partitions
from quarterhour.model import money
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.model.totals import PeriodTotals, Totals, total
from quarterhour.reports.keys import part_of_lines
from quarterhour.reports.lines import read_lines as read_sealed_lines
from quarterhour.statements.drafts.draft import FIGURES
from quarterhour.statements.keys import STATEMENT
from quarterhour.statements.listing import Document
from quarterhour_tools.bucket import Objects
from quarterhour_tools.emulator.stack import Stack
from quarterhour_tools.statements.files import read_statements, statement_as_dict

VERDICTS: Final = ("recorded", "duplicate", "conflict", "rejected", "unavailable", "held")

_PAGE: Final = 100
_OF_TAX: Final = ("scheme", "percent", "base", "tax")
_OF_DRAFT: Final = (*("period", "agency", "currency", "state", *FIGURES, "lines", "prior_period_lines", "checks"),)

Accounts = Mapping[Account, Totals]
Periods = Mapping[Account, PeriodTotals]


class ReplayedStatement(NamedTuple):
    """A statement: what its list says, and its rows of tax as ``statement.json`` has them."""

    of_list: Document
    taxes: Sequence[Mapping[str, Any]]

    def as_dict(self) -> dict[str, Any]:
        """Return the statement as programs get it."""
        taxes = [{name: row[name] for name in _OF_TAX} for row in self.taxes]
        return {**statement_as_dict(self.of_list), "taxes": taxes}


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """The result of a replay.

    ``counters`` are the accounts' lifetime totals from the live counters, ``ledger`` the same from the sealed lines.
    ``periods`` are the accounts' totals by period from the counters, ``ledger_periods`` the same from the sealed lines.
    ``problems`` are the findings of the proof of the sealed files.
    """

    sent: int
    verdicts: Mapping[str, int]
    runs: int
    sealed_quarter_hours: int
    lines: int
    counters: Accounts
    ledger: Accounts
    periods: Periods
    ledger_periods: Periods
    problems: tuple[str, ...]
    unread: int = 0
    """The number of input lines that are not JSON or could not be read; they were not sent."""
    exchange_rates: Mapping[str, int] = field(default_factory=dict)
    """The numbers of exchange rates that were entered, were refused, or are later than the end; without zeros."""
    statements: tuple[ReplayedStatement, ...] | None = None
    """The statements of every sealed period, by period and account; ``None`` if the replay seals no periods."""
    drafts: tuple[Mapping[str, Any], ...] = ()
    """The drafts without a statement, by period and account, as ``GET /drafts`` shows them."""
    first_period: Period | None = None
    """The first period with statements; ``None`` if none is set."""

    @property
    def undelivered(self) -> int:
        """The number of input lines that the system did not take, however often they were sent."""
        return self.verdicts.get("unavailable", 0)

    @property
    def verified(self) -> bool:
        """Whether all lines were read and delivered, counters equal sealed lines, and every manifest is proven."""
        agree = self.counters == self.ledger and self.periods == self.ledger_periods
        add_up = self.counters == {account: total(periods.values()) for account, periods in self.periods.items()}
        return agree and add_up and not (self.problems or self.unread or self.undelivered)

    def as_dict(self) -> dict[str, Any]:
        """Return the object that ``--json`` prints."""
        return {
            "sent": self.sent,
            **{name: self.verdicts.get(name, 0) for name in VERDICTS},
            "unread": self.unread,
            "runs": self.runs,
            "sealed_quarter_hours": self.sealed_quarter_hours,
            "lines": self.lines,
            "accounts": {str(account): totals.as_dict() for account, totals in self.counters.items()},
            "ledger": {str(account): totals.as_dict() for account, totals in self.ledger.items()},
            "periods": {
                str(account): {str(period): totals.as_dict() for period, totals in periods.items()}
                for account, periods in self.periods.items()
            },
            **({"rates": dict(self.exchange_rates)} if self.exchange_rates else {}),
            **self._before_as_dict(),
            **self._statements_as_dict(),
            "verified": self.verified,
        }

    @property
    def before_first_period(self) -> dict[str, Totals]:
        """The totals by currency of what counts before the first period, and so is on no statement."""
        found: dict[str, Totals] = {}
        for account, periods in sorted(self.periods.items()):
            for period, totals in periods.items():
                if self.first_period and period < self.first_period and account.currency != money.NO_CURRENCY:
                    found[account.currency] = found.get(account.currency, Totals()) + totals
        return found

    def _before_as_dict(self) -> dict[str, Any]:
        left_out = {
            currency: {"events": some.events, "net": money.plain(some.net), "commission": money.plain(some.commission)}
            for currency, some in self.before_first_period.items()
        }
        return {"before_first_period": left_out} if left_out else {}

    def _statements_as_dict(self) -> dict[str, Any]:
        if self.statements is None:
            return {}
        drafts = [{name: one[name] for name in _OF_DRAFT} for one in self.drafts]
        return {"statements": [one.as_dict() for one in self.statements], "drafts": drafts}


def replayed_statements(bucket: Objects) -> Iterator[ReplayedStatement]:
    """Yield the released statements of every period, by period and account."""
    for one in read_statements(bucket):
        with bucket.open(one.prefix + STATEMENT) as file:
            yield ReplayedStatement(one, json.load(file)["taxes"])


def held_events(stack: Stack) -> int:
    """Return how many events are held."""
    pages = (
        stack.dynamodb.get_paginator("query").paginate(
            TableName=stack.ref("EntityTable"),
            IndexName="gsi1",
            KeyConditionExpression="gsi1pk = :held",
            ExpressionAttributeValues={":held": {"S": partition}},
        )
        for partition in held_partitions(HeldStatus.HELD)
    )
    return sum(len(page["Items"]) for some in pages for page in some)


def counted_accounts(stack: Stack) -> Accounts:
    """Return the lifetime totals of every account from the counters."""
    latest = _counters(stack).latest(*account_pk_bounds(None), _PAGE)
    return {account_of(values["pk"]): Totals.of(values) for values in latest}


def counted_periods(stack: Stack, account: Account) -> PeriodTotals:
    """Return the totals of every period of an account from the counters."""
    counters = _counters(stack)
    counted = counters.counted(counters.state_of(account), *period_sk_bounds(), _PAGE)
    return {period_of(values["sk"]): Totals.of(values) for values in counted}


def _counters(stack: Stack) -> CounterQueries:
    return CounterQueries(EntityReader(stack.dynamodb, stack.ref("EntityTable")))


def ledger_totals(bucket: Objects) -> tuple[Accounts, Periods]:
    """Return the totals of every account, and by period, from the sealed lines, without counters and manifests."""
    accounts: dict[Account, Totals] = {}
    periods: dict[Account, PeriodTotals] = {}
    for key in filter(part_of_lines, bucket.keys()):
        with bucket.open(key) as file:
            for line in read_sealed_lines(file):
                account, period = Account(line["agency"], line["currency"]), Period.parse(line["period"])
                figures = Decimal(line["amount"]), Decimal(line["commission"])
                is_payment = line["type"] == PAYMENT
                of_periods = periods.setdefault(account, {})
                accounts[account] = accounts.get(account, Totals()).plus(*figures, is_payment=is_payment)
                of_periods[period] = of_periods.get(period, Totals()).plus(*figures, is_payment=is_payment)
    return dict(sorted(accounts.items())), periods
