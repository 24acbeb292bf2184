"""The counters: three move together or none does, the watermark keeps its digits, a customer is counted once."""

from collections import Counter as Counting
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from botocore.exceptions import ClientError

from quarterhour.aws.entity import Key
from quarterhour.aws.items import from_item, to_item
from quarterhour.aws.retries import is_cancelled, is_failed_condition, is_transient
from quarterhour.aws.tables import get_items
from quarterhour.aws.workers import Workers
from quarterhour.counters.distinct import MARKERS_PER_TRANSACTION, Marker, MarkerSet, marker_sets, missing
from quarterhour.counters.keys import (
    account_pk,
    customers_key,
    day_key,
    latest_key,
    paid_statement_key,
    payments_and_periods,
    period_key,
    quarter_hour_key,
)
from quarterhour.counters.plan import CounterChange, CounterWrite, Listing, NewCustomers, Retention, with_difference
from quarterhour.counters.plan import changes as account_changes
from quarterhour.counters.store import CounterStore, markers_request
from quarterhour.counters.windows import AccountState, Window
from quarterhour.ledger.events.event import PAYMENT
from quarterhour.maintenance.rebuild.repair import CounterRepair
from quarterhour.model.clock import iso_millis
from quarterhour.model.errors import AccountItemError
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import LENGTH, QuarterHour
from quarterhour.model.totals import Totals
from tests.contract.storage import Storage
from tests.support.counted import planned
from tests.support.sealing import line

KEPT = Retention(timedelta(days=35), timedelta(days=800))
SOLD = Totals(1, Decimal("12.50"), Decimal("-2.50"), Decimal("1.25"))
SEQ = "0" + "9" * 39
"""Of more digits than a DynamoDB number has."""


@pytest.fixture
def account(own: str) -> Account:
    """An account of the test's own."""
    return Account(own, "GBP")


def counted(storage: Storage, account: Account, at: datetime, delta: Totals = SOLD) -> list[CounterWrite]:
    """Plan the account item and three counters that leave it, with a difference added to what is stored."""
    return planned(storage.counters, account, at, delta, seq=SEQ, retention=KEPT)


def stored(storage: Storage, account: Account, at: datetime) -> list[dict[str, Any]]:
    quarter_hour = QuarterHour.at(at)
    keys = [
        quarter_hour_key(account, quarter_hour),
        latest_key(account),
        day_key(account, quarter_hour.day),
        period_key(account, Period.of(quarter_hour.day)),
    ]
    found = storage.counters.read(keys)
    return [found[sk] for sk in sorted(found)]


def in_order(writes: Sequence[CounterWrite]) -> list[CounterChange]:
    """Return the changes of counters in the order of ``stored``: day, period, quarter-hour, lifetime."""
    return sorted((one for one in writes if isinstance(one, CounterChange)), key=lambda one: str(one.values["sk"]))


def values(writes: Sequence[CounterWrite]) -> list[dict[str, Any]]:
    return [one.values for one in in_order(writes)]


# ---------------------------------------------------------------- three counters


def test_three_counters_are_written_together_and_read_at_once(storage: Storage, account: Account, at: datetime) -> None:
    first = counted(storage, account, at)
    storage.counters.write(first)
    assert stored(storage, account, at) == values(first)
    second = counted(storage, account, at)
    storage.counters.write(second)
    assert stored(storage, account, at) == values(second)
    assert {(one["events"], one["version"]) for one in stored(storage, account, at)} == {(2, 2)}


def test_a_counter_that_was_never_written_is_missing(storage: Storage, account: Account, at: datetime) -> None:
    assert stored(storage, account, at) == []


@pytest.mark.parametrize("version", [0, 2], ids=["back", "on"])
@pytest.mark.parametrize("stale", [0, 2, 3], ids=["day", "quarter-hour", "latest"])
def test_none_of_three_is_written_where_one_has_changed_since_it_was_read(
    storage: Storage, account: Account, at: datetime, stale: int, version: int
) -> None:
    storage.counters.write(counted(storage, account, at))
    writes = counted(storage, account, at)
    storage.write({**in_order(writes)[stale].values, "version": version})
    before = stored(storage, account, at)
    with pytest.raises(ClientError) as failure:
        storage.counters.write(writes)
    assert is_cancelled(failure.value)
    assert stored(storage, account, at) == before


@pytest.mark.parametrize("existing", [0, 2, 3], ids=["day", "quarter-hour", "latest"])
def test_none_of_three_is_written_for_the_first_time_where_one_exists(
    storage: Storage, account: Account, at: datetime, existing: int
) -> None:
    writes = counted(storage, account, at)
    storage.write(in_order(writes)[existing].values)
    with pytest.raises(ClientError) as failure:
        storage.counters.write(writes)
    assert is_cancelled(failure.value)
    assert stored(storage, account, at) == [in_order(writes)[existing].values]


def test_of_concurrent_writers_one_succeeds(storage: Storage, account: Account, at: datetime) -> None:
    writes = counted(storage, account, at)

    def went_through(_: int) -> bool:
        try:
            storage.counters.write(writes)
        except ClientError as error:
            if not (is_cancelled(error) or is_transient(error)):
                raise
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(went_through, range(8))) == 1
    assert stored(storage, account, at) == values(writes)


def test_figures_and_watermark_keep_all_their_digits(storage: Storage, account: Account, at: datetime) -> None:
    gross = Decimal("12345678901234567890.123456789012345678")
    storage.counters.write(counted(storage, account, at, Totals(1, gross)))
    _, _, quarter_hour, _ = stored(storage, account, at)
    assert (quarter_hour["gross"], quarter_hour["watermarks"]) == (str(gross), {"00": SEQ})
    assert Totals.of(quarter_hour).gross == gross


# ---------------------------------------------------------------- the account item


def test_an_account_item_is_written_only_if_it_has_not_changed_since_it_was_read(
    storage: Storage, account: Account, at: datetime
) -> None:
    first, writes = account_changes(AccountState(account), sold(account, at), [], {}, KEPT)
    storage.counters.write(writes)
    assert storage.counters.account(account) == first
    stale = AccountState(account), first
    second, writes = account_changes(first, first.plus(SOLD, {}, ""), [], {}, KEPT)
    assert len(writes) == 1
    storage.counters.write(writes)
    for before in stale:
        with pytest.raises(ClientError) as failure:
            storage.counters.write(account_changes(before, before.plus(SOLD, {}, ""), [], {}, KEPT)[1])
        assert is_cancelled(failure.value) or is_failed_condition(failure.value)
    assert storage.counters.account(account) == second


def test_windows_leave_together_with_the_account_item_or_not_at_all(
    storage: Storage, account: Account, at: datetime
) -> None:
    state, writes = account_changes(AccountState(account), sold(account, at), [], {}, KEPT)
    storage.counters.write(writes)
    leaving = list(state.windows)
    own = storage.counters.read([{"pk": account_pk(account), "sk": sk} for sk in leaving])
    without, writes = account_changes(state, state, leaving, own, KEPT)
    storage.counters.write(writes)
    assert storage.counters.account(account) == without
    assert {one["events"] for one in stored(storage, account, at)} == {1}
    with pytest.raises(ClientError) as failure:
        storage.counters.write(writes)
    assert is_cancelled(failure.value)
    assert customers(storage, account, at) == [2, 0]


def test_an_account_item_above_its_size_is_refused_with_an_error_of_its_own(
    storage: Storage, account: Account, at: datetime
) -> None:
    huge = {f"QUARTER#{number}": Window(watermarks={"00": "9" * 4000}) for number in range(110)}
    for before in (AccountState(account), replace(AccountState(account), version=1)):
        _, writes = account_changes(before, sold(account, at).plus(SOLD, huge, ""), [], {}, KEPT)
        with pytest.raises(AccountItemError, match="DynamoDB refuses an account item"):
            storage.counters.write(writes)
    assert storage.counters.account(account) == AccountState(account)


def sold(account: Account, at: datetime) -> AccountState:
    """Return the state of a new account after a sale of two new customers."""
    quarter_hour = QuarterHour.at(at)
    new = [NewCustomers(customers_key(account, None), "new_customers", 2)]
    more: Any = {"customers": new, "watermarks": Window(watermarks={"00": SEQ}), "last_updated": iso_millis(at)}
    return with_difference(AccountState(account), quarter_hour, {Period.of(quarter_hour.day): SOLD}, **more)


# ---------------------------------------------------------------- counted from one quarter-hour to another


def test_counted_totals_include_the_first_and_the_last_quarter_hour(
    storage: Storage, account: Account, at: datetime
) -> None:
    for quarter_hours in (0, 1, 1, 2, 90, 90, 91):
        storage.counters.write(counted(storage, account, at + quarter_hours * LENGTH))
    other = Account(f"{account.agency}-other", "GBP")
    storage.counters.write(counted(storage, other, at + 2 * LENGTH))
    first, last = (QuarterHour.at(at + quarter_hours * LENGTH) for quarter_hours in (1, 90))
    assert storage.counters.counted(storage.counters.account(account), first, last) == {
        first: {Period.of(first.day): SOLD + SOLD},
        first.next: {Period.of(first.day): SOLD},
        last: {Period.of(last.day): SOLD + SOLD},
    }
    assert len(storage.counters.counted(storage.counters.account(account), first, QuarterHour.last_of(date.max))) == 4


# ---------------------------------------------------------------- distinct customers


def seen(storage: Storage, account: Account, at: datetime, *names: str) -> None:
    for marker_set in marker_sets(account, at.date(), set(names), KEPT):
        storage.counters.count_new(marker_set)


def customers(storage: Storage, account: Account, at: datetime) -> list[int]:
    """Return how many were counted: in the lifetime, on the day."""
    keys = [customers_key(account, None), customers_key(account, at.date())]
    found = storage.counters.read(keys)
    return [int(found[key["sk"]]["customers"]) if key["sk"] in found else 0 for key in keys]


def test_a_customer_is_counted_once_for_the_lifetime_and_once_a_day(
    storage: Storage, account: Account, at: datetime
) -> None:
    seen(storage, account, at, "ann", "bob")
    seen(storage, account, at, "bob", "cleo", "ann")
    assert customers(storage, account, at) == [3, 3]
    seen(storage, account, at + timedelta(days=400), "ann", "dan")
    assert customers(storage, account, at + timedelta(days=400)) == [4, 2]


def test_any_number_of_customers_is_counted_in_transactions_of_100(
    storage: Storage, account: Account, at: datetime
) -> None:
    crowd = [f"customer {number}" for number in range(250)]
    seen(storage, account, at, *crowd)
    seen(storage, account, at, *crowd)
    assert customers(storage, account, at) == [250, 250]


def full_transaction(account: Account, at: datetime) -> MarkerSet:
    customers = {f"customer {number}" for number in range(MARKERS_PER_TRANSACTION)}
    lifetime, _ = marker_sets(account, at.date(), customers, KEPT)
    return lifetime


@pytest.mark.parametrize("existing", [0, 50, MARKERS_PER_TRANSACTION - 1])
def test_neither_count_nor_marker_is_written_where_one_marker_exists(
    storage: Storage, account: Account, at: datetime, existing: int
) -> None:
    marker_set = full_transaction(account, at)
    keys = list(marker_set.markers.values())
    storage.write(dict(keys[existing]))
    request = markers_request(storage.entity_table, marker_set)
    assert len(request["TransactItems"]) == 100
    with pytest.raises(ClientError) as failure:
        storage.dynamodb.transact_write_items(**request)
    assert is_cancelled(failure.value)
    assert customers(storage, account, at) == [0, 0]
    found = get_items(storage.dynamodb, storage.entity_table, keys, Workers(1))
    assert [from_item(item) for item in found] == [keys[existing]]
    storage.counters.count_new(marker_set)
    assert customers(storage, account, at) == [MARKERS_PER_TRANSACTION - 1, 0]


def test_items_that_expire_have_an_expiry(storage: Storage, account: Account, at: datetime) -> None:
    seen(storage, account, at, "ann")
    lifetime, day = marker_sets(account, at.date(), {"ann"}, KEPT)
    for marker_set in (lifetime, day):
        (marker,) = get_items(storage.dynamodb, storage.entity_table, list(marker_set.markers.values()), Workers(1))
        assert from_item(marker).get("expires_at") == marker_set.markers_expire
        count = storage.counters.read([marker_set.counter])[marker_set.counter["sk"]]
        assert count.get("expires_at") == marker_set.counter_expires
    own = lifetime.markers["ann"]
    assert list(missing(lifetime, {own["pk"]: dict(own)})) == []


def test_markers_are_inserted_with_the_places_that_set_them_and_never_replaced(
    storage: Storage, account: Account, at: datetime
) -> None:
    crowd = [f"customer {number}" for number in range(60)]
    sets = marker_sets(account, at.date(), crowd[:40], KEPT)
    first = storage.counters.mark(sets, dict.fromkeys(crowd, "202610230130#00#1"))
    assert Counting(marker["place"] for marker in first.values()) == {"202610230130#00#1": 80}
    assert customers(storage, account, at) == [0, 0], "they are counted with the record at that place"
    more = storage.counters.mark(
        marker_sets(account, at.date(), crowd, KEPT), dict.fromkeys(crowd, "202610230130#00#2")
    )
    assert Counting(marker["place"] for marker in more.values()) == {"202610230130#00#1": 80, "202610230130#00#2": 40}
    of_day = sets[1]
    assert {first[key["pk"]]["expires_at"] for key in of_day.markers.values()} == {of_day.markers_expire}


def test_of_two_that_set_one_marker_both_read_the_place_of_the_first(
    storage: Storage, account: Account, at: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    sets = marker_sets(account, at.date(), {"ann", "bob"}, KEPT)
    reads = CounterStore._markers

    def read(store: CounterStore, keys: Sequence[Key]) -> dict[str, Marker]:
        found = reads(store, keys)
        monkeypatch.setattr(CounterStore, "_markers", reads)
        storage.counters.mark(sets[:1], {"ann": "202610230130#00#1", "bob": "202610230130#00#1"})
        return found

    monkeypatch.setattr(CounterStore, "_markers", read)
    mine = storage.counters.mark(sets, {"ann": "202610230130#01#7", "bob": "202610230130#01#7"})
    assert Counting(marker["place"] for marker in mine.values()) == {"202610230130#00#1": 2, "202610230130#01#7": 2}


def test_new_customers_are_added_with_the_counters_or_not_at_all(
    storage: Storage, account: Account, at: datetime
) -> None:
    lifetime, of_day = marker_sets(account, at.date(), {"ann", "bob"}, KEPT)
    writes = counted(storage, account, at)
    storage.counters.write([*writes, lifetime.addition(2), of_day.addition(1)])
    with pytest.raises(ClientError):
        storage.counters.write([*writes, lifetime.addition(2), of_day.addition(1)])
    assert customers(storage, account, at) == [2, 1]
    assert storage.counters.read([of_day.counter])[of_day.counter["sk"]]["expires_at"] == of_day.counter_expires


def test_an_account_is_in_the_index_by_one_item(storage: Storage, account: Account, at: datetime) -> None:
    writes = counted(storage, account, at)
    storage.counters.write(writes)
    (listed,) = (one.values for one in writes if isinstance(one, Listing))
    assert list(storage.entities.read_window(listed["gsi1pk"], listed["pk"], 10, None)) == [listed]


# ---------------------------------------------------------------- payments that name a statement


def test_a_rebuild_writes_the_payments_that_name_a_statement_as_they_are_sealed(
    storage: Storage, account: Account, at: datetime
) -> None:
    """Of four payments, one is lost, one is damaged, one is right, and one names no statement."""
    month = f"{at:%Y-%m}"
    sealed = [
        line(at, f"p{number}", "-10.50", str(account), type=PAYMENT, commission="0", statement=statement, period=month)
        for number, statement in enumerate(("S-000001", "S-000002", "S-000003", ""))
    ]
    lines = [{"customer": "", **one} for one in sealed]
    keys = [paid_statement_key(account, one["position"]) for one in sealed]

    def repaired() -> int:
        repair = CounterRepair(storage.counters, KEPT, QuarterHour.at(at), storage.workers)
        return repair.repair_day(at.date(), lines, account)

    def listed() -> dict[str, Any]:
        return {
            values["id"]: values
            for values in storage.entities.read(payments_and_periods(account), 10)
            if "id" in values
        }

    assert repaired() > 0
    first = listed()
    assert first["p0"] == {
        **keys[0], "source": "shop", "id": "p0", "period": month, "statement": "S-000001", "amount": "-10.50",
        "counted_at": 0,
    }  # fmt: skip
    assert sorted(first) == ["p0", "p1", "p2"]
    storage.dynamodb.delete_item(TableName=storage.entity_table, Key=to_item(keys[0]))
    damaged = {**first["p1"], "amount": "10.50"}
    storage.dynamodb.put_item(TableName=storage.entity_table, Item=to_item(damaged))
    assert repaired() == 2
    assert listed() == first
    assert repaired() == 0
