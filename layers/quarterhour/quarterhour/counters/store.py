"""The DynamoDB store of the counters, and the requests it sends."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from quarterhour.aws.entity import LATEST, Key
from quarterhour.aws.expressions import NEW, query_request, set_all, update_request
from quarterhour.aws.expressions import put_request as conditional_put
from quarterhour.aws.items import Item, Request, from_item, to_item
from quarterhour.aws.retries import is_refused
from quarterhour.aws.tables import ItemUpdate, get_items, insert_items, query_pages, update_items
from quarterhour.aws.workers import Workers
from quarterhour.counters.distinct import Marker, MarkerSet, missing, new_markers
from quarterhour.counters.keys import (
    LISTED,
    account_of,
    account_pk,
    latest_key,
    listed_key,
    period_of,
    period_sk_bounds,
    quarter_hour_key,
    quarter_hour_sk,
    quarter_hour_sk_bounds,
)
from quarterhour.counters.plan import Addition, CounterChange, CounterWrite, Listing, of_quarter_hours
from quarterhour.counters.windows import AccountState, Counter
from quarterhour.model import clock
from quarterhour.model.errors import AccountItemError, UnavailableError
from quarterhour.model.identifiers import Account
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import PeriodTotals, QuarterHourTotals, Totals

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def write_request(table: str, changes: Sequence[CounterWrite]) -> Request:
    """Build the transaction that writes an account item and windows that leave, if no counter changed meanwhile."""
    return {
        "TransactItems": [
            {"Update": _add(table, one)} if isinstance(one, Addition) else {"Put": put_request(table, one)}
            for one in changes
        ]
    }


def put_request(table: str, change: CounterChange | Listing) -> Request:
    """Build the PutItem of a counter, on condition of its version, or of a listing, without a condition."""
    if isinstance(change, Listing):
        return conditional_put(table, change.values)
    if change.version is None:
        return conditional_put(table, change.values, NEW)
    return conditional_put(table, change.values, "version = :read", {"read": change.version})


def _update(change: CounterChange) -> ItemUpdate:
    """Return a change of an account item as an update: all items of its schema have the same attributes."""
    values = to_item(change.values)
    key = {name: str(change.values[name]) for name in ("pk", "sk")}
    return ItemUpdate(key, {name: value for name, value in values.items() if name not in key}, change.version or 0)


def _add(table: str, addition: Addition) -> dict[str, Any]:
    more = {"expires_at": addition.expires, "left_at": addition.left_at}
    more = {name: value for name, value in more.items() if value is not None}
    update = "ADD customers :new" + (f" {set_all(more)}" if more else "")
    return update_request(table, addition.counter, update, given={"new": addition.customers, **more})


def markers_request(table: str, marker_set: MarkerSet) -> Request:
    """Build the transaction that sets new markers and counts them, if none of them exists."""
    expires = {"expires_at": marker_set.markers_expire}
    markers = [{"Put": conditional_put(table, {**one, **expires}, NEW)} for one in marker_set.markers.values()]
    return {"TransactItems": [*markers, {"Update": _add(table, marker_set.addition(len(markers)))}]}


def counted_request(table: str, account: Account, first: QuarterHour, last: QuarterHour) -> Request:
    """Build the Query for an account's quarter-hour counters, both bounds included, strongly consistent."""
    return _range_request(table, account, quarter_hour_sk_bounds(first, last))


def periods_request(table: str, account: Account) -> Request:
    """Build the Query for the counters of all periods of an account, strongly consistent."""
    return _range_request(table, account, period_sk_bounds())


def _range_request(table: str, account: Account, bounds: tuple[str, str]) -> Request:
    given = {"account": account_pk(account), "first": bounds[0], "last": bounds[1]}
    return {**query_request(table, "pk = :account AND sk BETWEEN :first AND :last", given), "ConsistentRead": True}


def _by_key(items: Iterable[Item]) -> dict[tuple[str, str], Counter]:
    return {(item["pk"], item["sk"]): item for item in map(from_item, items)}


def _state(account: Account, items: Mapping[tuple[str, str], Counter]) -> AccountState:
    """Return the state of an account; ``items``: its account item, or else the one that lists it."""
    pk = account_pk(account)
    if (pk, LATEST) not in items and (pk, LISTED) in items:
        # The item is lost. To have as many versions, it must have been written ten times a second since 1970.
        return AccountState(account, version_floor=int(clock.now().timestamp() * 10))
    return AccountState.of(account, items.get((pk, LATEST)))


@dataclass(frozen=True, slots=True)
class CounterStore:
    """The counters in the Entity table."""

    client: "DynamoDBClient"
    table: str

    def read(self, keys: Sequence[Key]) -> Mapping[str, Counter]:
        """Return the counters at keys of one account, by sort key, strongly consistent."""
        items = get_items(self.client, self.table, keys, Workers(1))
        return {item["sk"]["S"]: from_item(item) for item in items}

    def account(self, account: Account) -> AccountState:
        """Return an account's item, strongly consistent; raise ``AccountItemError`` if it cannot be used."""
        return _state(account, self._account_items([account], Workers(1)))

    def accounts(self, accounts: Iterable[Account], workers: Workers) -> dict[Account, AccountState]:
        """Return those account items that can be used, strongly consistent, up to 100 with one call."""
        items = self._account_items(list(accounts), workers)
        states = {}
        for account in accounts:
            with suppress(AccountItemError):
                states[account] = _state(account, items)
        return states

    def _account_items(self, accounts: Sequence[Account], workers: Workers) -> dict[tuple[str, str], Counter]:
        """Return the account items, and of those accounts that have none, the items that list them, by key."""
        items = self._by_key(map(latest_key, accounts), workers)
        lacking = [account for account in accounts if (account_pk(account), LATEST) not in items]
        return {**items, **(self._by_key(map(listed_key, lacking), workers) if lacking else {})}

    def _by_key(self, keys: Iterable[Key], workers: Workers) -> dict[tuple[str, str], Counter]:
        return _by_key(get_items(self.client, self.table, list(keys), workers))

    def counted(self, state: AccountState, first: QuarterHour, last: QuarterHour) -> dict[QuarterHour, PeriodTotals]:
        """Return the counted totals of some quarter-hours by period, both bounds included; ``state`` is read before."""
        own = self._query(counted_request(self.table, state.account, first, last))
        return of_quarter_hours(state.counters_for_writers(own, *quarter_hour_sk_bounds(first, last)))

    def periods(self, state: AccountState) -> PeriodTotals:
        """Return the counted totals of all periods of an account; ``state`` is read before."""
        own = self._query(periods_request(self.table, state.account))
        return {
            period_of(values["sk"]): Totals.of(values)
            for values in state.counters_for_writers(own, *period_sk_bounds())
        }

    def _query(self, request: Request) -> Iterator[Counter]:
        pages = query_pages(self.client, request, Workers(1))
        return (from_item(item) for items in pages for item in items)

    def mark(self, sets: Sequence[MarkerSet], places: Mapping[str, str]) -> Mapping[str, Marker]:
        """Insert the markers that do not exist, with the places that set them; return all markers by ``pk``.

        Raises ``UnavailableError`` if some could not be inserted in time.
        """
        found = self._markers([key for one in sets for key in one.keys])
        new = {marker["pk"]: marker for one in sets for marker in new_markers(one, places, found)}
        insertion = insert_items(self.client, self.table, list(map(to_item, new.values())), Workers(1))
        if insertion.unwritten:
            raise UnavailableError(f"the table {self.table} did not take all markers in time")
        # Another group, or a call of ours whose response was lost, has inserted these: their places say which.
        others = [{name: item[name]["S"] for name in ("pk", "sk")} for item in insertion.existing]
        return {**found, **new, **self._markers(others)}

    def _markers(self, keys: Sequence[Key]) -> dict[str, Marker]:
        items = get_items(self.client, self.table, keys, Workers(1))
        return {item["pk"]["S"]: from_item(item) for item in items}

    def count_new(self, marker_set: MarkerSet) -> list[Marker]:
        """Set and count the markers that do not exist, and return those that do.

        Raises ``ClientError`` if one was set meanwhile.
        """
        found = self._markers(marker_set.keys)
        for new in missing(marker_set, found):
            self.client.transact_write_items(**markers_request(self.table, new))
        return list(found.values())

    def update(self, changes: Sequence[CounterChange], workers: Workers) -> list[CounterChange]:
        """Make changes of account items that exist, many with one call; return those that were not made.

        One of these can have been made nevertheless, if its response was lost.
        """
        updates = {one.values["pk"]: one for one in changes}
        unwritten = update_items(self.client, self.table, list(map(_update, changes)), workers)
        return [updates[update.key["pk"]] for update in unwritten]

    def list_items(self, listings: Iterable[Listing]) -> None:
        """Write items that are always the same; raise botocore's ``ClientError`` if one was not written."""
        for one in listings:
            self.client.put_item(**put_request(self.table, one))

    def write(self, changes: Sequence[CounterWrite]) -> None:
        """Write all changes or none; raise botocore's ``ClientError`` if none was written.

        Raises ``AccountItemError`` if DynamoDB refuses an account item, which is then above its size.
        """
        try:
            if len(changes) == 1 and isinstance(changes[0], CounterChange):
                self.client.put_item(**put_request(self.table, changes[0]))
            else:
                self.client.transact_write_items(**write_request(self.table, changes))
        except ClientError as error:
            if is_refused(error):
                raise AccountItemError(f"DynamoDB refuses an account item: {error}") from error
            raise


@dataclass(frozen=True, slots=True)
class CounterReader:
    """Reads the quarter-hour counters that prove sealed quarter-hours.

    Reads are eventually consistent: an old value makes the proof pending, and is read again.
    """

    client: "DynamoDBClient"
    table: str
    workers: Workers

    def counted(self, keys: Collection[tuple[Account, QuarterHour]]) -> QuarterHourTotals:
        """Return what is counted of these accounts and quarter-hours."""
        states = self._states({account for account, _ in keys})
        own = self._read([quarter_hour_key(*key) for key in keys])
        counted: QuarterHourTotals = {}
        for account, quarter_hour in keys:
            pk, sk = account_pk(account), quarter_hour_sk(quarter_hour)
            counter = states[account].counter_for_readers(sk, own.get((pk, sk)))
            if counter:
                counted[account, quarter_hour] = Totals.of(counter)
        return counted

    def _states(self, accounts: Iterable[Account]) -> dict[Account, AccountState]:
        """Return the account items. One whose schema is not known counts nothing: its proof is pending, then drift."""
        found = self._read([latest_key(account) for account in accounts])
        states = {account: AccountState(account) for account in accounts}
        for (pk, _), values in found.items():
            with suppress(AccountItemError):
                account = account_of(pk)
                states[account] = AccountState.of(account, values)
        return states

    def _read(self, keys: Sequence[Key]) -> dict[tuple[str, str], Counter]:
        return _by_key(get_items(self.client, self.table, keys, self.workers, consistent=False))
