"""The snapshots in the Entity table: the newest state of a window stays; queries by account, instant and window."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import chain, permutations
from typing import Any

import pytest

from benchmarks.metering import Bill
from quarterhour.aws.entity import LATEST
from quarterhour.aws.items import to_item
from quarterhour.counters.api import AccountInWindow, AccountSnapshot, AccountState
from quarterhour.counters.keys import LISTED, account_pk, latest_key, listed_key
from quarterhour.counters.queries import ACCOUNT_STATES
from quarterhour.model.clock import iso_millis, iso_seconds
from quarterhour.model.errors import InvalidError, NotFoundError
from quarterhour.model.identifiers import Account
from quarterhour.model.totals import Totals
from quarterhour.snapshots.keys import window_index, window_partitions
from quarterhour.snapshots.layers import LAYERS, Layer
from quarterhour.snapshots.plan import snapshots, state_in
from quarterhour.snapshots.queries import SnapshotQueries
from quarterhour.web.paging import Paging
from tests.contract.metered import Record, cost, metered
from tests.contract.paging import Read, pages
from tests.contract.storage import Storage
from tests.support.builders import change_record

CHANGE, FIVE_MINUTES, HOUR = LAYERS
REQUEST = "request"


@pytest.fixture
def account(own: str) -> Account:
    """An account of the test's own."""
    return Account(own, "GBP")


def state(account: Account, at: datetime, version: int) -> dict[str, Any]:
    """Return the lifetime counter of an account after so many changes."""
    return {
        "pk": account_pk(account),
        "sk": LATEST,
        **Totals(version).as_dict(),
        "version": version,
        "last_updated": iso_millis(at),
    }


def kept(account: Account, at: datetime, version: int) -> list[dict[str, Any]]:
    """Return the state after a change as the layers keep it, once the account has left its windows."""
    latest = {**state(account, at, version), "version": Decimal(version)}
    return [state_in(layer, latest) for layer in LAYERS]


def change(storage: Storage, account: Account, at: datetime, version: int) -> None:
    """Change an account, and write the snapshots of the windows that it leaves, as the functions do."""
    before, after = storage.entities.get(latest_key(account)), state(account, at, version)
    storage.write(after)
    storage.write({**listed_key(account), **window_index(LISTED, after["pk"])})
    found, poison = snapshots([change_record(1, to_item(before) if before else None, to_item(after))], LAYERS, at)
    assert not poison
    for one in found:
        storage.snapshots.put(one.values)


def queries(storage: Storage) -> SnapshotQueries[AccountState, AccountInWindow, AccountSnapshot]:
    return SnapshotQueries(storage.entities, ACCOUNT_STATES)


def first_page(limit: int = 100) -> Paging:
    return Paging.of(REQUEST, limit, None)


def versions(read: Read, limit: int) -> list[list[int]]:
    """Return the versions on each page."""
    return [[one["version"] for one in items] for items in pages(read, limit)]


# ---------------------------------------------------------------- keep the newest


@pytest.mark.parametrize("order", list(permutations((9, 10, 11))), ids=str)
def test_the_newest_state_stays_for_any_order_of_deliveries(
    storage: Storage, account: Account, at: datetime, order: tuple[int, ...]
) -> None:
    for version in (*order, order[0]):
        for one in kept(account, at + timedelta(milliseconds=version), version):
            storage.snapshots.put(one)
    assert queries(storage).at(account_pk(account), HOUR, at)["version"] == 11
    assert queries(storage).at(account_pk(account), FIVE_MINUTES, at)["version"] == 11
    assert versions(lambda paging: queries(storage).last(account_pk(account), CHANGE, paging), 10) == [[11, 10, 9]]


def test_a_state_of_the_same_version_is_not_written_again(storage: Storage, account: Account, at: datetime) -> None:
    (_, first, _), (_, other, _) = kept(account, at, 3), kept(account, at, 3)
    storage.snapshots.put(first)
    storage.snapshots.put({**other, "events": 77})
    assert queries(storage).at(account_pk(account), FIVE_MINUTES, at)["events"] == 3


# ---------------------------------------------------------------- one account


@pytest.fixture
def history(storage: Storage, account: Account, at: datetime) -> Account:
    """An account that changed every 5 minutes, 12 times; and a neighbour whose name begins the same."""
    for number in range(12):
        change(storage, account, at + number * timedelta(minutes=5), number + 1)
    change(storage, Account(f"{account.agency}0", "GBP"), at, 99)
    return account


@pytest.mark.parametrize("limit", [1, 4, 5, 12, 100])
def test_the_newest_windows_come_first_page_by_page(storage: Storage, history: Account, limit: int) -> None:
    found = versions(lambda paging: queries(storage).last(account_pk(history), FIVE_MINUTES, paging), limit)
    assert list(chain.from_iterable(found)) == list(range(12, 0, -1))
    assert [len(page) for page in found[:-1]] == [limit] * (len(found) - 1)


@pytest.mark.parametrize("layer", [CHANGE, FIVE_MINUTES], ids=["change", "5m"])
@pytest.mark.parametrize("limit", [1, 3, 100])
def test_a_span_holds_the_windows_that_begin_in_it(
    storage: Storage, history: Account, at: datetime, layer: Layer, limit: int
) -> None:
    start, end = (at.replace(second=0, microsecond=0) + timedelta(minutes=minutes) for minutes in (10, 30))
    found = versions(lambda paging: queries(storage).span(account_pk(history), layer, start, end, paging), limit)
    assert list(chain.from_iterable(found)) == [3, 4, 5, 6]


def test_a_token_of_another_request_is_refused(storage: Storage, history: Account) -> None:
    paging = first_page(2)
    token = paging.body(queries(storage).last(account_pk(history), FIVE_MINUTES, paging))["next"]
    with pytest.raises(InvalidError):
        Paging.of("another", 2, token)


def test_the_state_as_of_an_instant_is_that_of_the_newest_window_up_to_it(
    storage: Storage, history: Account, at: datetime
) -> None:
    expected = {0: 1, 4: 1, 5: 2, 54: 11, 600: 12}
    found = {
        minutes: queries(storage).at(account_pk(history), FIVE_MINUTES, at + timedelta(minutes=minutes))["version"]
        for minutes in expected
    }
    assert found == expected
    with pytest.raises(NotFoundError):
        queries(storage).at(account_pk(history), FIVE_MINUTES, at - timedelta(minutes=5))


def test_a_trend_compares_with_the_window_before(storage: Storage, history: Account, at: datetime) -> None:
    latest = state(history, at + timedelta(minutes=55), 12)
    trend = queries(storage).trend(FIVE_MINUTES, latest)
    assert trend["before"]
    assert (trend["latest"]["version"], trend["before"]["version"]) == (12, 11)


def test_an_expired_item_that_still_exists_is_not_shown(storage: Storage, account: Account, at: datetime) -> None:
    change(storage, account, at - timedelta(hours=2), 1)
    change(storage, account, at, 2)
    assert versions(lambda paging: queries(storage).last(account_pk(account), CHANGE, paging), 10) == [[2]]
    assert versions(lambda paging: queries(storage).last(account_pk(account), FIVE_MINUTES, paging), 10) == [[2, 1]]


# ---------------------------------------------------------------- one window


def listing(storage: Storage, at: datetime, limit: int) -> Iterator[list[str]]:
    """Yield the agencies on each page of a window's listing."""
    paging = first_page(limit)
    while True:
        body = queries(storage).window(FIVE_MINUTES, at, paging, lambda: 30.0)
        assert body["window"] == iso_seconds(at.replace(second=0, microsecond=0))
        yield [one["agency"] for one in body["items"]]
        if body["next"] is None:
            return
        paging = Paging.of(REQUEST, limit, body["next"])


@pytest.mark.parametrize("limit", [1, 3, 7, 100])
def test_a_window_lists_each_account_that_changed_in_it_once(
    storage: Storage, own: str, at: datetime, limit: int
) -> None:
    agencies = [f"{own}-{number}" for number in range(9)]
    for agency in agencies:
        for version in (1, 2):
            change(storage, Account(agency, "GBP"), at + timedelta(seconds=version), version)
    change(storage, Account(f"{own}-late", "GBP"), at + timedelta(minutes=5), 1)
    found = list(listing(storage, at, limit))
    assert sorted(chain.from_iterable(found)) == agencies
    assert [len(page) for page in found[:-1]] == [limit] * (len(found) - 1)


def test_a_window_without_changes_is_not_found(storage: Storage, at: datetime) -> None:
    with pytest.raises(NotFoundError):
        list(listing(storage, at - timedelta(hours=1), 10))


def test_single_changes_are_not_indexed(storage: Storage, account: Account, at: datetime) -> None:
    change(storage, account, at, 1)
    change(storage, account, at + timedelta(hours=1), 2)
    single, five_minutes, _ = kept(account, at, 1)
    assert {"gsi1pk", "gsi1sk"}.isdisjoint(single)
    partitions = window_partitions(five_minutes["sk"])
    found = [one for part in partitions for one in storage.entities.read_window(part, account_pk(account), 10, None)]
    assert [one["sk"] for one in found] == [five_minutes["sk"]]


# ---------------------------------------------------------------- cost


def test_a_window_costs_one_write_and_its_index_entry_and_a_change_one_write(
    storage: Storage, account: Account, at: datetime, record_property: Record
) -> None:
    desk = metered(storage)

    def left(layer: Layer, start: datetime, end: datetime) -> Bill:
        before, after = (to_item(state(account, when, version)) for version, when in ((1, start), (2, end)))
        found, _ = snapshots([change_record(1, before, after)], [layer], at)
        return desk.bill(lambda: desk.storage.snapshots.put(found[0].values) if found else None)

    for layer, units in ((CHANGE, 1), (FIVE_MINUTES, 2), (HOUR, 2)):
        bill = left(layer, at, at + timedelta(hours=1))
        assert (bill.write_units, bill.calls.total()) == (units, 1)
        record_property(f"leave a window of the layer {layer.name}", cost(bill))
    assert left(FIVE_MINUTES, at, at + timedelta(milliseconds=1)).calls.total() == 0
