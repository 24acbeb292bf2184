"""The counters' store in memory, with DynamoDB's conditions, and with writes that fail as a test says."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from botocore.exceptions import ClientError

from quarterhour.aws.entity import LATEST, Key
from quarterhour.aws.retries import NETWORK_ERRORS
from quarterhour.aws.streams import Poison
from quarterhour.aws.workers import Workers
from quarterhour.counters.distinct import Marker, MarkerSet, missing, new_markers
from quarterhour.counters.keys import (
    account_of,
    account_pk,
    latest_key,
    period_of,
    quarter_hour_of,
)
from quarterhour.counters.plan import (
    Addition,
    CounterChange,
    CounterWrite,
    Listing,
    Retention,
    changes,
    of_quarter_hours,
)
from quarterhour.counters.service import CounterUpdater
from quarterhour.counters.windows import AccountState, Counter
from quarterhour.model.errors import AccountItemError, UnavailableError
from quarterhour.model.identifiers import Account
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import PeriodTotals, Totals
from tests.support.counted import counters
from tests.support.script import cancelled, service_error

RETENTION = Retention(timedelta(days=35), timedelta(days=800))
Failing = Callable[[Sequence[CounterWrite]], None]
"""Called before and after each write; what it raises is the write's error."""


class CounterTable:
    """The Entity table's counters and markers. It stands in for ``CounterStore``."""

    def __init__(self) -> None:
        self.items: dict[tuple[str, str], Counter] = {}
        self.markers: dict[str, Marker] = {}
        self.before: Failing = lambda _: None
        self.after: Failing = lambda _: None
        self.meanwhile: Callable[[], None] = lambda: None
        self.reads = 0
        self.own_reads = 0
        self.written: list[Sequence[CounterWrite]] = []
        self.listed: list[Counter] = []

    # ------------------------------------------------------------ the store

    def accounts(self, accounts: Iterable[Account], _workers: Workers) -> dict[Account, AccountState]:
        states, reads = {}, self.reads
        for account in accounts:
            with suppress(AccountItemError):
                states[account] = self.account(account)
        self.reads = reads + bool(states)
        return states

    def account(self, account: Account) -> AccountState:
        self.reads += 1
        values = self._found([latest_key(account)]).get(LATEST)
        if values is None and (account_pk(account), "listed") in self.items:
            return AccountState(account, version_floor=1_000_000)
        return AccountState.of(account, values)

    def read(self, keys: Iterable[Key]) -> Mapping[str, Counter]:
        self.own_reads += 1
        return self._found(keys)

    def _found(self, keys: Iterable[Key]) -> Mapping[str, Counter]:
        found = {key["sk"]: dict(self.items[place]) for key in keys if (place := (key["pk"], key["sk"])) in self.items}
        self._others()
        return found

    def counted(self, state: AccountState, first: QuarterHour, last: QuarterHour) -> dict[QuarterHour, PeriodTotals]:
        assert first <= last, "DynamoDB takes no BETWEEN whose bounds are the wrong way round"
        own = [item for item in self._own(state.account, "QUARTER#") if first <= quarter_hour_of(item["sk"]) <= last]
        self._others()
        return of_quarter_hours(state.counters_for_writers(own, f"QUARTER#{first}", f"QUARTER#{last}"))

    def periods(self, state: AccountState) -> PeriodTotals:
        own = self._own(state.account, "PERIOD#")
        self._others()
        return of_periods(state.counters_for_writers(own, "PERIOD#", "PERIOD#:"))

    def _own(self, account: Account, prefix: str) -> list[Counter]:
        pk = account_pk(account)
        return [dict(item) for (of, sk), item in sorted(self.items.items()) if of == pk and sk.startswith(prefix)]

    def mark(self, sets: Sequence[MarkerSet], places: Mapping[str, str]) -> Mapping[str, Marker]:
        self.markers = {one["pk"]: one for of in sets for one in new_markers(of, places, self.markers)} | self.markers
        return self.markers

    def count_new(self, marker_set: MarkerSet) -> list[Marker]:
        found = [self.markers[key["pk"]] for key in marker_set.markers.values() if key["pk"] in self.markers]
        for new in missing(marker_set, self.markers):
            self.markers |= {key["pk"]: dict(key) for key in new.markers.values()}
            self._add(marker_set.addition(len(new.markers)))
        self._others()
        return found

    def list_items(self, listings: Iterable[Listing]) -> None:
        self.listed += [dict(one.values) for one in listings]

    def write(self, writes: Sequence[CounterWrite]) -> None:
        self.before(writes)
        assert len(writes) <= 100
        changes = [one for one in writes if isinstance(one, CounterChange)]
        places = [place(one) for one in writes]
        assert len(set(places)) == len(places), "a transaction takes each item at most once"
        if any(self.items.get(place(one), {}).get("version") != one.version for one in changes):
            raise (
                service_error("ConditionalCheckFailedException")
                if len(writes) == 1
                else cancelled(["ConditionalCheckFailed"])
            )
        self.written.append(writes)
        for one in writes:
            if isinstance(one, Addition):
                self._add(one)
            else:
                self.items[place(one)] = dict(one.values)
        self.after(writes)

    def update(self, changes: Sequence[CounterChange], _workers: Workers) -> list[CounterChange]:
        unwritten = []
        for one in changes:
            try:
                self.write([one])
            except (ClientError, UnavailableError, *NETWORK_ERRORS):
                unwritten.append(one)
        return unwritten

    def _add(self, one: Addition) -> None:
        before = self.items.get(place(one), {**one.counter, "customers": 0})
        more = {"left_at": one.left_at, "expires_at": one.expires}
        more = {name: value for name, value in more.items() if value is not None}
        self.items[place(one)] = {**before, **more, "customers": before["customers"] + one.customers}

    def _others(self) -> None:
        """Let others write between two calls; what they call lets nobody write in turn."""
        meanwhile, self.meanwhile = self.meanwhile, lambda: None
        meanwhile()
        self.meanwhile = meanwhile

    def let_windows_leave(self) -> None:
        """Let all windows leave, as if each were over."""
        for account in {account_of(pk) for pk, sk in self.items if sk == LATEST}:
            state = self.account(account)
            own = {item["sk"]: item for item in self._own(account, "")}
            if state.windows:
                self.write(changes(state, state, list(state.windows), own, RETENTION)[1])

    # ------------------------------------------------------------ functions

    def function(self, lot: "Lot | None" = None) -> CounterUpdater:
        """Return a function on the table, which keeps items in memory."""
        stub: Any = self
        parking: Any = lot or Lot()
        return CounterUpdater(stub, parking, RETENTION, Workers(1))

    # ------------------------------------------------------------ what is counted

    def counters(self, account: str) -> dict[str, Counter]:
        """Return all that is counted of an account by sort key, as readers see it."""
        found = counters(self.items.values())
        return {sk: values for (pk, sk), values in found.items() if pk == f"ACCOUNT#{account}"}

    def totals(self, account: str, sk: str) -> Totals:
        """Return the totals of a window, or of the lifetime."""
        return Totals.of(self.counters(account)[sk])

    def all_periods(self, account: str) -> PeriodTotals:
        """Return what is counted of an account's periods."""
        return of_periods(item for sk, item in self.counters(account).items() if sk.startswith("PERIOD#"))

    def quarter_hours(self, account: str) -> dict[QuarterHour, PeriodTotals]:
        """Return what is counted of an account's quarter-hours by period."""
        found = (item for sk, item in self.counters(account).items() if sk.startswith("QUARTER#"))
        return of_quarter_hours(found)


def of_periods(items: Iterable[Counter]) -> PeriodTotals:
    """Return the totals of the counters of periods that hold anything."""
    return {period_of(item["sk"]): Totals.of(item) for item in items}


def place(one: CounterWrite) -> tuple[str, str]:
    """Return where a write goes."""
    key = one.counter if isinstance(one, Addition) else one.values
    assert isinstance(one, CounterChange | Addition | Listing)
    return key["pk"], key["sk"]


class Lot:
    """Takes what is parked."""

    def __init__(self) -> None:
        self.parked: list[Poison] = []

    def park(self, poison: Iterable[Poison]) -> None:
        self.parked += poison
