"""Reads receivables: an account's documents, the payments that name them, and all of its payments."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from quarterhour.aws.entity import Range
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.resources import Resources
from quarterhour.aws.workers import Workers
from quarterhour.counters.keys import (
    account_pk,
    day_of,
    day_sk,
    is_period,
    paid_on,
    payments_and_periods,
    period_of,
    period_sk_bounds,
)
from quarterhour.counters.plan import Retention
from quarterhour.counters.queries import CounterQueries
from quarterhour.counters.windows import AccountState
from quarterhour.ledger.events.event import STATEMENT
from quarterhour.ledger.postings.posting import Facts
from quarterhour.model import clock, money
from quarterhour.model.clock import parse_iso
from quarterhour.model.errors import FieldProblem, InvalidError, UnavailableError
from quarterhour.model.identifiers import Account, Identity, Position
from quarterhour.model.periods import Period
from quarterhour.model.totals import Totals
from quarterhour.statements.keys import statements_of_accounts, statements_of_agency
from quarterhour.statements.listing import documents_of
from quarterhour.statements.plan import months
from quarterhour.statements.previews.balance import of_periods
from quarterhour.statements.queries import StatementQueries
from quarterhour.statements.receivables.plan import Allocation, BilledDocument, NamedPayment, allocate
from quarterhour.web.paging import MAX_LIMIT, RESERVE_SECONDS, Page, Paging

if TYPE_CHECKING:
    from quarterhour.statements.receivables import api
    from quarterhour.statements.receivables.plan import OpenFigures

_PAGE: Final = 200
_KEPT_DAYS: Final = Retention().day - timedelta(days=1)
"""How long the payments of a day are known."""

Documents = Mapping[Account, Sequence[BilledDocument]]
"""The statements and credit notes of accounts."""


class _Payments(NamedTuple):
    """The payments of an account: the sum of those that are on a statement or will be, and those that name one.

    ``by_period``: the sums of all, the newest period first.
    """

    total: Decimal
    named: tuple[NamedPayment, ...]
    by_period: Mapping[Period, Decimal]


class OpenAccount(NamedTuple):
    """An account, what is open of its documents, and its payments by period, the newest first."""

    account: Account
    allocation: Allocation
    paid: Mapping[Period, Decimal]


@dataclass(frozen=True, slots=True)
class ReceivableQueries:
    """Queries of receivables. Accounts are read side by side."""

    entities: EntityReader
    statements: StatementQueries
    counters: CounterQueries
    workers: Workers

    @classmethod
    def of(cls, resources: Resources) -> Self:
        """Return the queries of a function."""
        entities = resources.entities
        return cls(entities, StatementQueries.of(resources), CounterQueries(entities), resources.workers)

    def today(self) -> date:
        """Return the business date of now."""
        return self.statements.calendar.day_of(clock.now())

    def page(
        self, agency: str | None, on: date, paging: Paging, remaining_seconds: Callable[[], float]
    ) -> "api.Receivables":
        """Return a page of the accounts with something open on a business date, and totals of the page by currency.

        ``agency`` selects its accounts, ``None`` all. A page can be short, or empty, though another follows. A day
        that is over has the documents that were issued and the payments that were recorded by its end (UTC), for ever.
        Raises ``InvalidError`` if it is too long ago, or not over in UTC yet.
        """
        past = on if on < self.today() else None
        if past and past >= clock.now().date():
            problem = FieldProblem("on", f"is {past}, which is not over in UTC yet", "an earlier day, or today")
            raise InvalidError(f"on is {past}: payments of that day may still come until it ends in UTC", problem)
        if past and past < clock.now().date() - _KEPT_DAYS:
            since = (clock.now().date() - _KEPT_DAYS).isoformat()
            problem = FieldProblem("on", f"is {past}, of which no payments are kept by day", f"{since} or a later day")
            raise InvalidError(f"on is {past}: what was paid by then is not known", problem)
        page, states = self.counters.with_money(agency, paging, remaining_seconds)
        found = self._accounts(states, agency, past)
        items = [shown(one, on) for one in found if not one.allocation.is_cleared]
        return {"on": on.isoformat(), **paging.body(Page(items, page.after)), "totals": _totals(found, on)}

    def all_open(
        self, remaining_seconds: Callable[[], float], recorded: Iterable[Facts] = ()
    ) -> list[tuple[Account, Allocation]]:
        """Return the accounts with something open.

        ``recorded``: payments in the ledger, which count even if the counters have not got them yet. Raises
        ``UnavailableError`` if there is not enough time for all accounts.
        """
        by_account: dict[Account, list[Facts]] = {}
        for one in recorded:
            by_account.setdefault(Account(one["agency"], one["currency"]), []).append(one)
        found: list[OpenAccount] = []
        page: Page[Any] = Page([], ())
        while page.after is not None:
            if remaining_seconds() < RESERVE_SECONDS:
                raise UnavailableError("there are more accounts than can be read in the time of a request")
            paging = Paging(MAX_LIMIT, "", page.after or None)
            page, states = self.counters.with_money(None, paging, remaining_seconds)
            found += self._accounts(states, None, recorded=by_account)
        return [(one.account, one.allocation) for one in found if not one.allocation.is_cleared]

    def payment(self, account: Account, number: str) -> "api.PaymentState | None":
        """Return whether a document is paid today; ``None`` if the index does not list it yet."""
        documents = self._documents_of(account.agency)
        (payments,) = self._payments([self.counters.state_of(account)]).values()
        found = _allocated(account, documents, payments).allocation.of(number)
        return found.payment(self.today()) if found else None

    def _accounts(
        self,
        states: Sequence[AccountState],
        agency: str | None,
        past: date | None = None,
        recorded: Mapping[Account, Sequence[Facts]] = MappingProxyType({}),
    ) -> list[OpenAccount]:
        """Return the accounts of these items, which follow each other in the list of an agency's, or of all.

        ``past``: at the end of this day; ``None`` for now. ``recorded``: payments that count now in any case.
        """
        if not states:
            return []
        documents = (
            self._documents_between(states[0].account, states[-1].account)
            if agency is None
            else self._documents_of(agency)
        )
        payments = self._payments(states, recorded)
        if past:
            documents = {account: [one for one in some if one.issued_on <= past] for account, some in documents.items()}
            read = self.workers.map(lambda state: self._payments_by(past, state, payments[state.account]), states)
            payments = {state.account: one for state, one in zip(states, read, strict=True)}
        return [_allocated(one.account, documents, payments[one.account]) for one in states]

    def _payments_by(self, past: date, state: AccountState, payments: _Payments) -> _Payments:
        """Return the payments of an account that were recorded by the end of a day, of all of them."""
        month = Period.of(past)
        low, high = day_sk(month.first_day), day_sk(date.max)
        own = self.entities.read(Range(account_pk(state.account), low, high, consistent=True), _PAGE)
        days = {
            day_of(values["sk"]): Totals.of(values).payments for values in state.counters_for_readers(own, low, high)
        }
        later = money.total(amount for day, amount in days.items() if day > past)
        paid = money.total(amount for day, amount in days.items() if day <= past)
        before = {period: amount for period, amount in payments.by_period.items() if period < month}
        named = tuple(one for one in payments.named if one.recorded_on <= past)
        return _Payments(money.subtract(payments.total, later), named, ({month: paid} if paid else {}) | before)

    def _documents_of(self, agency: str) -> Documents:
        """Return the statements and credit notes of an agency by account."""
        return _documents(self.entities.read_index(statements_of_agency(agency), _PAGE))

    def _documents_between(self, first: Account, last: Account) -> Documents:
        """Return the statements and credit notes of all accounts from one to another.

        They are read period by period: a request for each period costs less than one for each agency.
        """
        ranges = [statements_of_accounts(one, first, last) for one in self._periods()]
        found = self.workers.map(lambda one: list(self.entities.read(one, MAX_LIMIT)), ranges)
        return _documents(chain.from_iterable(found))

    def _periods(self) -> Iterator[Period]:
        """Yield the periods that may have statements, up to the present one; none before the first run."""
        first = self.statements.progress().first_period
        return months(first, Period.of(self.today())) if first else iter(())

    def _payments(
        self, states: Sequence[AccountState], recorded: Mapping[Account, Sequence[Facts]] = MappingProxyType({})
    ) -> dict[Account, _Payments]:
        """Return the payments of accounts, whose items were read before, with those that are recorded in any case."""
        first = self.statements.first_period(self.statements.progress())
        read = self.workers.map(
            lambda state: _with_recorded(
                self._payments_of(state, first), recorded.get(state.account, ()), state.last_updated, first
            ),
            states,
        )
        return {state.account: one for state, one in zip(states, read, strict=True)}

    def _payments_of(self, state: AccountState, first: Period | None) -> _Payments:
        """Return the payments of an account; those before the first period pay nothing.

        A payment is listed by its statement and counted in one transaction. One that was counted since the account item
        was read is on the list and not in the sum, unless its period has left the item with it since. It is left out.
        """
        items = list(self.entities.read(payments_and_periods(state.account), _PAGE))[::-1]
        listed, own = ([one for one in items if is_period(one["sk"]) is counter] for counter in (False, True))
        counted = {
            period_of(values["sk"]): Totals.of(values)
            for values in state.counters_for_readers(own, *period_sk_bounds())
        }
        left_at = {str(period_of(values["sk"])): values.get("left_at", 0) for values in own}
        named = (
            NamedPayment(
                Identity(values["source"], values["id"]),
                values["statement"],
                Decimal(values["amount"]),
                paid_on(values["sk"]),
            )
            for values in listed
            if values["period"] >= str(first or "")
            and values["counted_at"] <= max(state.version, left_at.get(values["period"], 0))
        )
        by_period = {period: one.payments for period, one in sorted(counted.items(), reverse=True) if one.payments}
        return _Payments(of_periods(counted, first).payments, tuple(named), by_period)


def _with_recorded(
    payments: _Payments, recorded: Iterable[Facts], last_updated: str, first: Period | None
) -> _Payments:
    """Return payments with those recorded ones that are not counted yet.

    One that names a statement is counted if it is listed. Another one is not counted if it is newer than all that is.
    """
    listed = {one.identity for one in payments.named}
    total, named = payments.total, list(payments.named)
    for one in recorded:
        identity, statement = Identity(one["source"], one["id"]), one.get(STATEMENT)
        at = Position.parse(one["position"]).recorded_at
        is_counted = identity in listed if statement else not last_updated or at <= parse_iso(last_updated)
        if is_counted or one["period"] < str(first or ""):
            continue
        total = money.add(total, Decimal(one["amount"]))
        if statement:
            named.append(NamedPayment(identity, statement, Decimal(one["amount"]), at.date()))
    return payments._replace(total=total, named=tuple(named))


def shown(one: OpenAccount, on: date) -> "api.AccountReceivables":
    """Return an account as the API shows it: its sums, its open documents, and payments of unknown statements."""
    account, allocation, paid = one
    last_paid: Iterable[api.LastPaid] = (
        {"period": str(period), "payments": money.plain(amount)} for period, amount in paid.items()
    )
    return {
        "agency": account.agency,
        "currency": account.currency,
        **allocation.figures(on).as_dict(),
        "last_paid": next(iter(last_paid), None),
        "statements": [one.as_dict(on) for one in allocation.receivables if one.open],
        "unknown": [
            {
                "source": one.identity.source,
                "id": one.identity.id,
                "statement": one.statement,
                "amount": money.plain(one.amount),
            }
            for one in allocation.unknown
        ],
    }


def _allocated(account: Account, documents: Documents, payments: _Payments) -> OpenAccount:
    allocation = allocate(documents.get(account, ()), payments.total, payments.named)
    return OpenAccount(account, allocation, payments.by_period)


def _documents(items: Iterable[Mapping[str, Any]]) -> Documents:
    """Return the documents of the items of statements, by account."""
    found: dict[Account, list[BilledDocument]] = {}
    for values in items:
        if "documents" in values:  # a change of a status has none
            found.setdefault(Account.parse(values["sk"]), []).extend(map(BilledDocument.of, documents_of(values)))
    return found


def _totals(accounts: Iterable[OpenAccount], on: date) -> "list[api.CurrencyReceivables]":
    """Return what is open by currency, and what was paid in the month of a business date, also by cleared accounts."""
    sums: dict[str, OpenFigures] = {}
    paid: dict[str, Decimal] = {}
    for account, allocation, by_period in accounts:
        currency, amount = account.currency, by_period.get(Period.of(on), money.ZERO)
        if amount or not allocation.is_cleared:
            figures = allocation.figures(on)
            sums[currency] = sums[currency].plus(figures) if currency in sums else figures
            paid[currency] = money.add(paid.get(currency, money.ZERO), amount)
    return [
        {"currency": currency, **one.as_dict(), "paid": money.plain(paid[currency])}
        for currency, one in sorted(sums.items())
    ]
