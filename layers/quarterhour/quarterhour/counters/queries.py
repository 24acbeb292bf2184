"""Reads the counters: an account's lifetime totals, and those of its quarter-hours and days."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, Final, cast

from quarterhour.aws.entity import IndexRange, Key, Range, Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.counters.keys import (
    ACCOUNTS,
    LISTED,
    account_of,
    account_pk,
    account_pk_bounds,
    customers_day_of,
    customers_key,
    customers_sk,
    day_of,
    day_sk,
    latest_key,
    period_key,
    period_of,
    period_sk,
    quarter_hour_of,
    quarter_hour_sk_bounds,
)
from quarterhour.counters.tiers import Months, charged, months_of, months_of_groups
from quarterhour.counters.windows import AccountState
from quarterhour.model.charge_totals import NO_CHARGE_TOTALS
from quarterhour.model.clock import iso_seconds
from quarterhour.model.errors import NotFoundError
from quarterhour.model.fields import is_name, shown
from quarterhour.model.identifiers import Account
from quarterhour.model.instants import rounded_up
from quarterhour.model.money import NO_CURRENCY
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import LENGTH, QuarterHour
from quarterhour.model.totals import Totals, figures
from quarterhour.snapshots.keys import window_partitions
from quarterhour.snapshots.kind import EntityKind, Figures
from quarterhour.web.access import Caller
from quarterhour.web.paging import Page, Paging, within
from quarterhour.web.parameters import name

if TYPE_CHECKING:
    from quarterhour.counters import api
    from quarterhour.model.charge_totals import ChargeTotals

_DAY: Final = timedelta(days=1)
_ACCOUNTS_A_PAGE: Final = 100


def state(values: Values) -> "api.AccountState":
    """Return an account's state as the API shows it: totals, version, time of the last change."""
    return {
        **figures(Totals.of(values)),
        "version": int(values["version"]),
        "last_updated": values["last_updated"],
    }


def _names(pk: str) -> "api.FoundAccount":
    account = account_of(pk)
    return {"agency": name(account.agency), "currency": name(account.currency)}


def _compared(values: Values) -> Figures:
    totals = Totals.of(values)
    return {
        "events": totals.events,
        "gross": totals.gross,
        "refunds": totals.refunds,
        "commission": totals.commission,
        "payments": totals.payments,
        "net": totals.net,
    }


def _named(values: Values) -> "api.AccountInWindow":
    return {**_names(values["pk"]), **state(values)}


def _snapshot(values: Values, layer: str, window: str | None) -> "api.AccountSnapshot":
    now = state(values)
    snapshot: api.AccountSnapshot = {
        "layer": layer,
        "events": now["events"],
        "gross": now["gross"],
        "refunds": now["refunds"],
        "commission": now["commission"],
        "payments": now["payments"],
        "net": now["net"],
        "version": now["version"],
        "last_updated": now["last_updated"],
    }
    if "charges" in now:
        snapshot["charges"] = now["charges"]
    if window:
        snapshot["window"] = window
    return snapshot


ACCOUNT_STATES: Final = EntityKind(ACCOUNTS, _names, state, _named, _snapshot, _compared, main="net", list=LISTED)
"""The kind of state that accounts have: how it is shown, and compared by its net."""


Registered = Callable[[Collection[str]], Collection[str]]
"""A function that returns those of some agencies that are registered."""


@dataclass(frozen=True, slots=True)
class CounterQueries:
    """Queries of the counters."""

    entities: EntityReader

    def find(self, agencies: Sequence[str], currency: str) -> tuple[Account, Values]:
        """Return the first account that exists and its lifetime counter; ``agencies`` are spellings of one agency.

        Raises ``NotFoundError`` if no account exists.
        """
        for account in (Account(agency, currency) for agency in agencies if is_name(agency) and is_name(currency)):
            values = self.entities.get(latest_key(account))
            if values:
                return account, values
        raise NotFoundError(f"there is no account {shown(agencies[0])} in {shown(currency)}")

    def accounts(
        self, agency: str | None, currency: str | None, paging: Paging, remaining_seconds: Callable[[], float]
    ) -> "Page[api.AccountInWindow]":
        """Return a page of the accounts in the order of their names, each with its lifetime totals.

        ``agency`` and ``currency`` select accounts, ``None`` selects all. A page is short although another follows only
        if the time runs short.
        """
        page, _ = self._selected(
            lambda account: currency in {None, account.currency}, agency, paging, remaining_seconds
        )
        return page

    def with_money(
        self, agency: str | None, paging: Paging, remaining_seconds: Callable[[], float]
    ) -> "tuple[Page[api.AccountInWindow], list[AccountState]]":
        """Return a page of the accounts without those of views, which have no money, and the items of its accounts."""
        page, items = self._selected(lambda account: account.currency != NO_CURRENCY, agency, paging, remaining_seconds)
        return page, [AccountState.of(account_of(values["pk"]), values) for values in items]

    def _selected(
        self,
        selected: Callable[[Account], bool],
        agency: str | None,
        paging: Paging,
        remaining_seconds: Callable[[], float],
    ) -> "tuple[Page[api.AccountInWindow], list[Values]]":
        low, high = account_pk_bounds(agency)
        after = paging.start(lambda pk: within(low, pk, high), "")
        found = ((values["pk"], values) for values in self.latest(max(low, after), high, paging.limit + 1))
        entries = ((pk, values if selected(account_of(pk)) else None) for pk, values in found if pk != after)
        read: list[Values] = []

        def show(values: Values) -> "api.AccountInWindow":
            read.append(values)
            return _named(values)

        page = paging.cut_in_time(entries, show, remaining_seconds)
        return page, read[: len(page.items)]  # one more can be read, to know whether a page follows

    def _listed(self, low: str, high: str, page_size: int) -> Iterator[str]:
        """Yield the partition keys of accounts from ``low`` to ``high``, in their order, by the index."""
        ranges = [IndexRange("gsi1", partition, low, high) for partition in window_partitions(LISTED)]
        return (values["pk"] for values in self.entities.read_indexes(ranges, page_size))

    def latest(self, low: str, high: str, page_size: int) -> Iterator[Values]:
        """Yield the account items between partition keys, in the order of these."""
        listed = self._listed(low, high, page_size)
        while pks := list(islice(listed, page_size)):
            found = {values["pk"]: values for values in self.entities.get_many([_latest_key(pk) for pk in pks])}
            yield from (found[pk] for pk in pks if pk in found)

    def has_accounts(self, agency: str) -> bool:
        """Return whether an agency has an account: whether an event of the agency was counted."""
        return any(self._listed(*account_pk_bounds(agency), 1))

    def is_visible(self, agency: str, caller: Caller) -> bool:
        """Return whether an agency has an account, and the caller may see it."""
        return is_name(agency) and caller.may_see(agency) and self.has_accounts(agency)

    def found(self, text: str, caller: Caller, most: int) -> "api.FoundAccounts":
        """Return the accounts of the agency that a text names, at most some, if the caller may see it."""
        if not (is_name(text) and caller.may_see(text)):
            return {"accounts": []}
        found = self.accounts_of(text, most)
        return {"accounts": [{"agency": one.agency, "currency": one.currency} for one in found]}

    def accounts_of(self, agency: str, most: int) -> list[Account]:
        """Return the first accounts of an agency, at most some; the index may lag behind by a moment."""
        return [account_of(pk) for pk in islice(self._listed(*account_pk_bounds(agency), most), most)]

    def totals(self, account: Account, latest: Values) -> "api.Account":
        """Return an account's lifetime totals and its number of distinct customers."""
        sk = customers_sk(None)
        counter = AccountState.of(account, latest).counter_for_readers(
            sk, self.entities.get(customers_key(account, None))
        )
        customers = _customers(counter) if counter else 0
        return {"agency": account.agency, "currency": account.currency, **state(latest), "customers": customers}

    def quarter_hours(
        self, account: Account, start: datetime, end: datetime, paging: Paging
    ) -> "Page[api.AccountQuarterHour]":
        """Return a page of the totals of the quarter-hours that begin from ``start`` to before ``end``."""
        first, after = (QuarterHour(rounded_up(at, LENGTH)) for at in (start, end))
        before = paging.start(lambda name: within(first, QuarterHour.parse(name), after), first.previous)
        counters = self.counted(
            self.state_of(account), *quarter_hour_sk_bounds(before.next, after.previous), paging.limit + 1
        )
        return paging.cut(counters, _shown_quarter_hour, lambda values: str(quarter_hour_of(values["sk"])))

    def days(self, account: Account, first: date, end: date, paging: Paging) -> "Page[api.AccountDay]":
        """Return a page of the totals of the days from ``first`` to before ``end``."""
        before = paging.start(lambda text: within(first, date.fromisoformat(text), end), first - _DAY)
        opened = self.state_of(account)
        entries = self.counted(opened, day_sk(before + _DAY), day_sk(end - _DAY), paging.limit + 1)
        page = paging.cut(entries, _shown_day, lambda values: day_of(values["sk"]).isoformat())
        customers = self._customers(opened, [item["day"] for item in page.items])
        items: list[api.AccountDay] = [{**one, "customers": customers.get(one["day"], 0)} for one in page.items]
        return Page(items, page.after)

    def periods(self, account: Account, first: Period, end: Period, paging: Paging) -> "Page[api.AccountPeriod]":
        """Return a page of the totals of the periods from ``first`` to before ``end``."""
        before = paging.start(lambda text: within(first, Period.parse(text), end), first.previous)
        low, high = period_sk(before.next), period_sk(end.previous)
        state = self.state_of(account)
        entries = self.counted(state, low, high, paging.limit + 1)
        found: dict[str, Totals] = {}

        def show(values: Values) -> "api.AccountPeriod":
            period = str(period_of(values["sk"]))
            found[period] = Totals.of(values)
            return cast("api.AccountPeriod", {"period": period, **figures(found[period])})

        page = paging.cut(entries, show, lambda values: str(period_of(values["sk"])))
        periods = [one["period"] for one in page.items]
        shown = self.charged([state], [(state.account, Period.parse(one), found[one]) for one in periods])
        items: list[api.AccountPeriod] = [{"period": period, **one} for period, one in zip(periods, shown, strict=True)]
        return Page(items, page.after)

    def charged(
        self, states: Sequence[AccountState], totals: Sequence[tuple[Account, Period, Totals]]
    ) -> "list[api.ChargedTotals]":
        """Return totals of periods as the API shows them, in their order, each with what tiers charge so far.

        ``states``: the account items of these accounts. Of accounts that never had tiers, nothing is read.
        """
        tiered = {state.account: state for state in states if state.totals.charges.turnover}
        spans: dict[Account, set[Period]] = {}
        for account, period, _ in totals:
            if account in tiered:
                spans.setdefault(account, set()).update(months_of(period, tiered[account].totals.charges))
        own = self.turnover([tiered[account] for account in spans], spans)
        grouped: dict[str, set[Period]] = {}
        for account, period, _ in totals:
            if months := set(months_of_groups(period, own.get(account, {}))):
                grouped.setdefault(account.currency, set()).update(months)
        groups = {currency: self._of_all(currency, months, states) for currency, months in grouped.items()}
        return [
            charged(period, one, own.get(account, {}), groups.get(account.currency, {}))
            for account, period, one in totals
        ]

    def _of_all(self, currency: str, months: Collection[Period], known: Iterable[AccountState]) -> Months:
        """Return the turnover of all accounts in a currency in some months; all of them are read.

        ``known``: some of them, as the index may lag behind.
        """
        found: dict[Period, ChargeTotals] = {}
        read = self.latest(*account_pk_bounds(None), _ACCOUNTS_A_PAGE)
        both = (*known, *(AccountState.of(account_of(values["pk"]), values) for values in read))
        states = list({one.account: one for one in both if one.account.currency == currency}.values())
        for of_account in self.turnover(states, {state.account: months for state in states}).values():
            for month, charges in of_account.items():
                found[month] = found.get(month, NO_CHARGE_TOTALS) + charges
        return found

    def turnover(
        self, states: Sequence[AccountState], months: Mapping[Account, Collection[Period]]
    ) -> dict[Account, Months]:
        """Return the turnover of accounts in those months in which they have any."""
        totals = self.totals_in(states, lambda account: months[account])
        found: dict[Account, dict[Period, ChargeTotals]] = {}
        for (account, month), one in totals.items():
            if one.charges.turnover:
                found.setdefault(account, {})[month] = one.charges
        return dict(found)

    def totals_in(
        self, states: Sequence[AccountState], periods: Callable[[Account], Iterable[Period]]
    ) -> dict[tuple[Account, Period], Totals]:
        """Return the totals of accounts in those of the periods in which they have events."""
        named = [(state, period) for state in states for period in periods(state.account)]
        keys = [period_key(state.account, period) for state, period in named]
        own = {(account_of(one["pk"]), one["sk"]): one for one in self.entities.get_many(keys)}
        found: dict[tuple[Account, Period], Totals] = {}
        for state, period in named:
            sk = period_sk(period)
            counter = state.counter_for_readers(sk, own.get((state.account, sk)))
            if counter:
                found[state.account, period] = Totals.of(counter)
        return found

    def state_of(self, account: Account) -> AccountState:
        """Return an account's item: what it holds of the windows that have not left."""
        return AccountState.of(account, self.entities.get(latest_key(account)))

    def counted(self, opened: AccountState, low: str, high: str, page_size: int) -> Iterator[Values]:
        """Yield what is counted of an account's windows with sort keys from ``low`` to ``high``, in their order.

        ``opened``: the account item, read before.
        """
        # Strongly consistent: an older item would lack a window that has left since.
        own = self.entities.read(Range(account_pk(opened.account), low, high, consistent=True), page_size)
        return opened.counters_for_readers(own, low, high)

    def _customers(self, opened: AccountState, days: Sequence[str]) -> dict[str, int]:
        """Return the number of distinct customers of each of these days that has any."""
        if not days:
            return {}
        low, high = (customers_sk(date.fromisoformat(day)) for day in (days[0], days[-1]))
        counters = self.counted(opened, low, high, len(days))
        return {customers_day_of(values["sk"]).isoformat(): _customers(values) for values in counters}


def _latest_key(pk: str) -> Key:
    return latest_key(account_of(pk))


def _customers(counter: Values) -> int:
    return int(counter["customers"])


def with_registrations(page: "Page[api.AccountInWindow]", registered: Registered) -> "Page[api.ListedAccount]":
    """Return a page of accounts, each with whether its agency is registered; accounts of views have no agency."""
    sold = {account["agency"] for account in page.items if account["currency"] != NO_CURRENCY}
    known = registered(sold)
    listed = [_listed(account) for account in page.items]
    for account in listed:
        if account["agency"] in sold:
            account["registered"] = account["agency"] in known
    return Page(listed, page.after)


def _listed(account: "api.AccountInWindow") -> "api.ListedAccount":
    listed: api.ListedAccount = {
        "agency": account["agency"],
        "currency": account["currency"],
        "events": account["events"],
        "gross": account["gross"],
        "refunds": account["refunds"],
        "commission": account["commission"],
        "payments": account["payments"],
        "net": account["net"],
        "version": account["version"],
        "last_updated": account["last_updated"],
    }
    if "charges" in account:
        listed["charges"] = account["charges"]
    return listed


def _shown_quarter_hour(values: Values) -> "api.AccountQuarterHour":
    quarter_hour = quarter_hour_of(values["sk"])
    return {"quarter_hour": str(quarter_hour), "start": iso_seconds(quarter_hour.start), **figures(Totals.of(values))}


def _shown_day(values: Values) -> "api.TotalsOfDay":
    return {"day": day_of(values["sk"]).isoformat(), **figures(Totals.of(values))}
