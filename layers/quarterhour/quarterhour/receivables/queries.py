"""Reads receivables: an account's documents, the payments that name them, and all of its payments."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import cache
from itertools import groupby
from operator import attrgetter
from typing import Any, Final, NamedTuple

from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.retries import ATTEMPTS, pause
from quarterhour.aws.workers import Workers
from quarterhour.counters.keys import paid_statements
from quarterhour.counters.queries import CounterQueries
from quarterhour.model import clock, money
from quarterhour.model.clock import parse_iso
from quarterhour.model.errors import UnavailableError
from quarterhour.model.identifiers import Account, Identity
from quarterhour.model.periods import Period, day_in, time_zone
from quarterhour.receivables.plan import Allocation, BilledDocument, NamedPayment, OpenFigures, allocate
from quarterhour.statements.keys import sealed_periods, statements_of_agency
from quarterhour.statements.listing import Listed
from quarterhour.statements.owner import PAYMENT_DAYS
from quarterhour.statements.plan import StatementPlan
from quarterhour.statements.queries import StatementQueries
from quarterhour.statements.store import PartyReader
from quarterhour.web.paging import RESERVE_SECONDS, Page, Paging

_PAGE: Final = 200


class PeriodTerms(NamedTuple):
    """When the statements of a period were issued, and in how many days they are due."""

    issued_on: date
    payment_days: int


TermsOf = Callable[[Period], PeriodTerms]


@dataclass(frozen=True, slots=True)
class ReceivableQueries:
    """Queries of receivables. Accounts are read side by side."""

    entities: EntityReader
    statements: StatementQueries
    counters: CounterQueries
    workers: Workers

    def today(self) -> date:
        """Return the business date of now."""
        return self.statements.calendar.day_of(clock.now())

    def page(
        self, agency: str | None, on: date, paging: Paging, remaining_seconds: Callable[[], float]
    ) -> dict[str, Any]:
        """Return a page of the accounts with something open on a business date, and their totals by currency.

        ``agency`` selects its accounts, ``None`` all. A page can be short, or empty, though another follows.
        """
        page = self.counters.accounts_with_money(agency, paging, remaining_seconds)
        found = self._open(page, self._terms())
        items = [shown(account, allocation, on) for account, allocation in found]
        totals = _totals((account.currency, allocation.figures(on)) for account, allocation in found)
        return {"on": on.isoformat(), **paging.body(Page(items, page.after)), "totals": totals}

    def all_open(self, remaining_seconds: Callable[[], float]) -> list[tuple[Account, Allocation]]:
        """Return the accounts with something open; raise ``UnavailableError`` if there is not enough time for all."""
        found, terms_of = [], self._terms()
        page = Page([], ())
        while page.after is not None:
            if remaining_seconds() < RESERVE_SECONDS:
                raise UnavailableError("there are more accounts than can be read in the time of a request")
            paging = Paging(_PAGE, "", page.after or None)
            page = self.counters.accounts_with_money(None, paging, remaining_seconds)
            found += self._open(page, terms_of)
        return found

    def _open(self, page: Page, terms_of: TermsOf) -> list[tuple[Account, Allocation]]:
        """Return those accounts of a page that have something open."""
        accounts = [Account(one["agency"], one["currency"]) for one in page.items]
        agencies = [list(some) for _, some in groupby(accounts, key=attrgetter("agency"))]
        return [
            (account, allocation)
            for some in self.workers.map(lambda some: self._allocations(some, terms_of), agencies)
            for account, allocation in some
            if not allocation.is_cleared
        ]

    def payment(self, account: Account, number: str) -> dict[str, Any] | None:
        """Return whether a document is paid today; ``None`` if the index does not list it yet."""
        ((_, allocation),) = self._allocations([account], self._terms())
        found = allocation.of(number)
        return found.payment(self.today()) if found else None

    def _allocations(self, accounts: list[Account], terms_of: TermsOf) -> list[tuple[Account, Allocation]]:
        """Return the allocations of accounts of one agency, whose documents are read once."""
        documents = self.documents_of(accounts[0].agency, terms_of)
        return [(one, allocate(documents.get(one, ()), *self._payments(one))) for one in accounts]

    def documents_of(self, agency: str, terms_of: TermsOf) -> dict[Account, list[BilledDocument]]:
        """Return the statements and credit notes of an agency by account."""
        found: dict[Account, list[BilledDocument]] = {}
        for values in self.entities.read_index(statements_of_agency(agency), _PAGE):
            if "number" in values:  # a change of a status has none
                documents = _released(values) if "documents" in values else [_of_0_2(values, terms_of)]
                found.setdefault(Account(agency, values["currency"]), []).extend(documents)
        return found

    def _payments(self, account: Account) -> tuple[Decimal, list[NamedPayment]]:
        """Return the sum of an account's payments, and those of them that name a statement."""
        counted = self.statements.payments(account)
        for attempt in range(ATTEMPTS):
            # A payment is listed by its statement before it is counted. So the sum is read first: all that it holds is
            # on the list then. A payment that is counted meanwhile is on the list and not in the sum: it would clear
            # its statement and be missing from the rest, so both are read again.
            named = list(self._named(account))
            if not named or (counted_since := self.statements.payments(account)) == counted:
                return counted, named
            counted = counted_since
            pause(attempt)
        raise UnavailableError("the payments of an account changed during each read: try again")

    def _named(self, account: Account) -> Iterator[NamedPayment]:
        """Yield the payments that name a statement; those before the first period count nowhere."""
        first = str(self.statements.first_period() or "")
        for values in self.entities.read(paid_statements(account), _PAGE):
            if values["period"] < first:
                continue
            identity = Identity(values["source"], values["id"])
            yield NamedPayment(identity, values["statement"], Decimal(values["amount"]))

    def _terms(self) -> TermsOf:
        """Return a function that returns the terms of a period of 0.2.0, each of which is read once.

        Its statements show none; they are those that later statements would show.
        """
        parties = PartyReader(self.entities)

        @cache
        def plans() -> Mapping[str, StatementPlan]:
            sealed = self.entities.read(sealed_periods(), _PAGE)
            return {values["sk"]: StatementPlan.of(values) for values in sealed}

        @cache
        def of(period: Period) -> PeriodTerms:
            plan = plans().get(str(period))
            if plan is None:  # its statements are listed before the period is
                return PeriodTerms(self.today(), PAYMENT_DAYS)
            planned_at = parse_iso(plan.planned_at)
            days = parties.owner(plan.parties_at, planned_at).payment_days
            return PeriodTerms(day_in(time_zone(plan.zone), planned_at), PAYMENT_DAYS if days is None else days)

        return of


def shown(account: Account, allocation: Allocation, on: date) -> dict[str, Any]:
    """Return an account as the API shows it: its sums, its open documents, and payments of unknown statements."""
    return {
        "agency": account.agency,
        "currency": account.currency,
        **allocation.figures(on).as_dict(),
        "statements": [one.as_dict(on) for one in allocation.receivables if one.open],
        "unknown": [
            {**one.identity._asdict(), "statement": one.statement, "amount": money.plain(one.amount)}
            for one in allocation.unknown
        ],
    }


def _released(values: Mapping[str, Any]) -> list[BilledDocument]:
    """Return the documents of a draft from the item of its statement."""
    return [
        BilledDocument(
            Period.parse(values["period"]),
            one["number"],
            one["document"],
            Decimal(one["amount"]),
            date.fromisoformat(one["issued_on"]),
            date.fromisoformat(one["due_on"]) if one.get("due_on") else None,
            one["cancels"] or None,
        )
        for one in values["documents"]
    ]


def _of_0_2(values: Mapping[str, Any], terms_of: TermsOf) -> BilledDocument:
    """Return the document that an item of 0.2.0 has."""
    listed, period = Listed.of_item(values), Period.parse(values["period"])
    terms = terms_of(period)
    due_on = terms.issued_on + timedelta(days=terms.payment_days) if listed.closing > 0 else None
    # What was open before is on earlier documents, and payments are allocated here.
    return BilledDocument(period, listed.number, listed.document, listed.amount, terms.issued_on, due_on, None)


def _totals(figures: Iterable[tuple[str, OpenFigures]]) -> list[dict[str, Any]]:
    sums: dict[str, OpenFigures] = {}
    for currency, one in figures:
        sums[currency] = sums[currency].plus(one) if currency in sums else one
    return [{"currency": currency, **one.as_dict()} for currency, one in sorted(sums.items())]
