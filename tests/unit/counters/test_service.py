"""Counting a batch while calls to the table fail, and with what a function keeps between invocations."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from quarterhour.aws.retries import ATTEMPTS
from quarterhour.aws.streams import Poison
from quarterhour.counters.plan import MOST_PAYMENTS, MOST_PERIODS, CounterWrite, Listing
from quarterhour.counters.service import READ_WRITES, AccountCache
from quarterhour.counters.windows import AccountState
from quarterhour.model import clock
from quarterhour.model.errors import AccountItemError, UnavailableError
from quarterhour.model.identifiers import Account, Identity, Position
from tests.support.builders import AT, posting_item, record
from tests.support.clocks import Waits
from tests.support.counter_table import CounterTable, Lot, place
from tests.support.script import cancelled, service_error

STALE = service_error("ConditionalCheckFailedException")
CANCELLED = cancelled(["ConditionalCheckFailed", "None", "None"])
THROTTLED = service_error("ThrottlingException")
TIMEOUT = ReadTimeoutError(endpoint_url="table")
ACCOUNT = Account("42", "GBP")
LATEST = ("ACCOUNT#42#GBP", "latest")
UNKNOWN = (
    "the item of account 42#GBP cannot be read: "
    "UnknownSchemaError('the schema 2 is unknown: use the version that wrote it, or a later one')"
)
ACCOUNTS = ("7#GBP", "42#GBP", "9#GBP")
DONE: dict[str, Any] = {"batchItemFailures": []}


def failing(**errors: Sequence[Exception]) -> CounterTable:
    """Return a table where the writes of an account fail, in turn, until nothing is left."""
    table, left = CounterTable(), {account: list(some) for account, some in errors.items()}

    def fail(writes: Sequence[CounterWrite]) -> None:
        _, agency, _ = place(writes[0])[0].split("#")
        if some := left.get(f"of_{agency}"):
            raise some.pop(0)

    table.before = fail
    return table


def events(table: CounterTable) -> Mapping[str, int]:
    return {pk: int(item["events"]) for (pk, sk), item in table.items.items() if sk == "latest"}


def sold(seq: int, account: str = "42#GBP", **more: str) -> dict[str, Any]:
    at = AT + timedelta(milliseconds=seq)
    return record(
        seq, posting_item(account, position=str(Position.of(Identity("shop", str(seq)).hash, at).at(0)), **more)
    )


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> Iterator[Waits]:
    """Give a clock that keeps its pauses, each as long as it can become."""
    monkeypatch.setattr("random.SystemRandom.uniform", lambda _generator, _least, most: most)
    with clock.using(recording := Waits()):
        yield recording


# ---------------------------------------------------------------- failing writes


def test_a_batch_is_counted_without_a_pause_where_no_call_fails(waits: Waits) -> None:
    table = CounterTable()
    assert table.function().apply([sold(1), sold(2)]) == DONE
    assert (table.items[LATEST]["events"], table.reads, table.own_reads, waits.waited) == (2, 1, 1, [])


def test_a_payment_that_names_a_statement_is_listed_and_counted_in_one_transaction() -> None:
    table = failing(of_42=[STALE] * ATTEMPTS)
    paid = sold(1, type="payment.recorded", amount="7.50", commission="0", statement="S-000001")
    function = table.function()
    assert function.apply([paid, sold(2)]) == {"batchItemFailures": [{"itemIdentifier": "1"}]}
    assert table.items == {}
    assert [function.apply([paid, sold(2)]) for _ in range(2)] == [DONE, DONE]
    assert (table.items[LATEST]["payments"], table.items[LATEST]["events"]) == ("7.50", 2)
    listed: dict[str, Any] = {
        "pk": "ACCOUNT#42#GBP", "sk": f"PAYS#{paid['dynamodb']['NewImage']['position']['S']}.0000",
        "source": "shop", "id": "order-1", "period": "2026-10", "statement": "S-000001", "amount": "7.50",
        "counted_at": 1,
    }  # fmt: skip
    assert table.items[listed["pk"], listed["sk"]] == listed
    (write,) = table.written
    assert [place(one)[1] for one in write] == ["latest", "listed", listed["sk"]]


def test_any_number_of_payments_that_name_a_statement_is_counted_in_transactions_of_at_most_100() -> None:
    table = CounterTable()
    paid = {"type": "payment.recorded", "amount": "1", "commission": "0", "statement": "S-000001"}
    assert table.function().apply([sold(seq, **paid) for seq in range(1, 2 * MOST_PAYMENTS + 6)]) == DONE
    assert [sum(isinstance(one, Listing) for one in write) for write in table.written] == [
        MOST_PAYMENTS + 1,  # and the account's place in the list
        MOST_PAYMENTS,
        5,
    ]
    assert table.items[LATEST]["payments"] == str(2 * MOST_PAYMENTS + 5)


def test_a_customer_is_counted_with_the_record_that_set_the_marker_however_often_the_write_fails() -> None:
    table = failing(of_42=[STALE] * (ATTEMPTS + 1))
    records = [sold(1), sold(2, customer="ann"), sold(3, customer="bob")]
    function = table.function()
    assert function.apply(records[:2]) == {"batchItemFailures": [{"itemIdentifier": "1"}]}
    assert (len(table.markers), table.items) == (2, {})
    for _ in range(2):
        assert function.apply(records) == DONE
    counted = table.counters("42#GBP")
    assert [counted[sk]["customers"] for sk in ("CUSTOMERS", "CUSTOMERS#2026-10-23")] == [2, 2]
    quarter_hour = counted["QUARTER#202610230130"]
    assert (quarter_hour["new_customers"], quarter_hour["new_customers_of_day"]) == (2, 2)


@pytest.mark.parametrize("error", [STALE, CANCELLED, THROTTLED, TIMEOUT])
def test_a_write_that_failed_temporarily_is_planned_again_after_longer_and_longer_pauses(
    waits: Waits, error: Exception
) -> None:
    table = failing(of_42=[error] * 3)
    assert table.function().apply([sold(1)]) == DONE
    assert (table.items[LATEST]["events"], table.reads) == (1, 4)
    assert len(waits.waited) == 3
    assert waits.waited == sorted(set(waits.waited))
    assert all(waited > 0 for waited in waits.waited)


def test_an_account_that_keeps_failing_is_delivered_again_and_the_others_are_counted() -> None:
    table = failing(of_7=[STALE] * ATTEMPTS)
    records = [sold(1), sold(2, "7#GBP"), sold(3), sold(4, "7#GBP")]
    function = table.function()
    assert function.apply(records) == {"batchItemFailures": [{"itemIdentifier": "2"}]}
    assert events(table) == {"ACCOUNT#42#GBP": 2}
    assert function.apply(records[1:]) == DONE
    assert events(table) == {"ACCOUNT#42#GBP": 2, "ACCOUNT#7#GBP": 2}


def test_after_a_failed_write_nothing_more_of_the_account_is_counted_in_the_batch() -> None:
    """Its records are of the same shards: a later write would move the watermark past those that failed."""
    months = [f"{year}-{month:02d}" for year in range(2000, 2010) for month in range(1, 13)]
    records = [sold(seq, period=month) for seq, month in enumerate(months, 1)]
    table = failing(of_42=[STALE] * ATTEMPTS)
    function = table.function()
    assert function.apply(records) == {"batchItemFailures": [{"itemIdentifier": "1"}]}
    assert table.items == {}
    assert function.apply(records) == DONE
    assert events(table) == {"ACCOUNT#42#GBP": len(records)}


def test_an_account_whose_item_cannot_be_read_is_given_up_at_once(waits: Waits) -> None:
    """The call has been tried, and waited for, as often as there is a point in it."""
    table = failing(of_42=[UnavailableError("busy")])
    assert table.function().apply([sold(1)]) == {"batchItemFailures": [{"itemIdentifier": "1"}]}
    assert (table.reads, waits.waited) == (1, [])


@pytest.mark.parametrize("error", [STALE, THROTTLED, TIMEOUT])
def test_an_account_that_loses_a_race_is_counted_again_by_itself_while_the_others_of_its_batch_are_written(
    waits: Waits, error: Exception
) -> None:
    accounts = ("7#GBP", "42#GBP", "9#GBP")
    table = failing(of_42=[])
    function = table.function()
    function.apply([sold(seq, account) for seq, account in enumerate(accounts, 1)])
    reads, fails = table.reads, [error]

    def fail(writes: Sequence[CounterWrite]) -> None:
        if place(writes[0])[0] == "ACCOUNT#42#GBP" and fails:
            raise fails.pop()

    table.before = fail
    assert function.apply([sold(seq, account) for seq, account in enumerate(accounts, 4)]) == DONE
    assert events(table) == {f"ACCOUNT#{account}": 2 for account in accounts}
    assert (table.reads - reads, waits.waited) == (1, []), "only the item of the lost race is read again"


def test_an_account_that_is_throttled_delays_no_other_of_its_batch(waits: Waits) -> None:
    table = failing(of_42=[])
    function = table.function()
    function.apply([sold(seq, account) for seq, account in enumerate(ACCOUNTS, 1)])
    written: list[tuple[str, int]] = []

    def throttle(writes: Sequence[CounterWrite]) -> None:
        if place(writes[0])[0] == "ACCOUNT#42#GBP":
            raise THROTTLED

    table.before = throttle
    table.after = lambda writes: written.append((place(writes[0])[0], len(waits.waited)))
    again = [sold(seq, account) for seq, account in enumerate(ACCOUNTS, 5)]
    assert function.apply(again) == {"batchItemFailures": [{"itemIdentifier": "6"}]}
    assert written == [(f"ACCOUNT#{account}", 0) for account in ACCOUNTS if account != "42#GBP"]
    assert len(waits.waited) == ATTEMPTS - 1, "the throttled account alone has waited"
    table.before = table.after = lambda _: None
    assert function.apply(again) == DONE
    assert events(table) == {f"ACCOUNT#{account}": 2 for account in ACCOUNTS}


def test_the_accounts_that_another_function_counts_too_are_read_together_and_after_some_writes_no_more() -> None:
    accounts = ("7#GBP", "42#GBP", "9#GBP")
    table = CounterTable()
    functions = table.function(), table.function()
    reads = []
    for seq in range(READ_WRITES + 3):
        before = table.reads
        batch = [sold(3 * seq + number, account) for number, account in enumerate(accounts, 1)]
        assert functions[seq == 1].apply(batch) == DONE
        reads.append(table.reads - before)
    assert events(table) == {f"ACCOUNT#{account}": READ_WRITES + 3 for account in accounts}
    assert reads[:3] == [1, 1, 3], "the first function finds its items stale, and reads each again"
    assert reads[3:] == [1] * (READ_WRITES - 1) + [0]


def test_a_write_that_is_not_permitted_raises_an_error(waits: Waits) -> None:
    table = failing(of_42=[service_error("AccessDeniedException")])
    with pytest.raises(ClientError):
        table.function().apply([sold(1)])
    assert (table.items, waits.waited) == ({}, [])


# ---------------------------------------------------------------- account items that cannot be used


def test_the_records_of_an_account_item_of_an_unknown_schema_are_parked_and_the_others_are_counted() -> None:
    table, lot = CounterTable(), Lot()
    table.items[LATEST] = {**AccountState(ACCOUNT, version=7).item(), "schema": 2}
    before = dict(table.items[LATEST])
    records = [sold(1), sold(2, "7#GBP"), sold(3)]
    assert table.function(lot).apply(records) == DONE
    assert [one.record for one in lot.parked] == [records[0], records[2]]
    assert {one.reason for one in lot.parked} == {UNKNOWN}
    assert table.items[LATEST] == before
    assert table.items["ACCOUNT#7#GBP", "latest"]["events"] == 1


def test_a_queue_that_does_not_answer_keeps_no_account_from_being_counted() -> None:
    class Down(Lot):
        def park(self, poison: Iterable[Poison]) -> None:
            if list(poison):
                raise UnavailableError("SQS did not answer in time")

    table = CounterTable()
    table.items[LATEST] = {**AccountState(ACCOUNT).item(), "schema": 2}
    records = [record(1, {**posting_item(), "schema": {"S": "9"}}), sold(2), sold(3, "7#GBP")]
    with pytest.raises(UnavailableError):
        table.function(Down()).apply(records)
    assert table.items["ACCOUNT#7#GBP", "latest"]["events"] == 1
    lot = Lot()
    assert table.function(lot).apply(records) == DONE, "delivered again"
    assert [one.record for one in lot.parked] == records[:2]
    assert table.items["ACCOUNT#7#GBP", "latest"]["events"] == 1


def test_nothing_is_counted_after_poison_of_its_account_that_is_not_parked_yet() -> None:
    """The watermark would move past the poison, and a repeated delivery would drop it."""
    table, down = CounterTable(), Lot()
    refusals = [AccountItemError("DynamoDB refuses an account item")]

    def fail(poison: Iterable[Poison]) -> None:
        raise UnavailableError(f"SQS did not answer in time for {len(list(poison))} records")

    def refuse(_: Sequence[CounterWrite]) -> None:
        if refusals:
            raise refusals.pop()

    down.park = fail  # type: ignore[method-assign]
    table.before = refuse
    months = [f"{2000 + number // 12}-{number % 12 + 1:02d}" for number in range(MOST_PERIODS + 5)]
    records = [record(seq, posting_item(period=month)) for seq, month in enumerate(months)]
    with pytest.raises(UnavailableError):
        table.function(down).apply(records)
    lot = Lot()
    assert table.function(lot).apply(records) == DONE
    assert table.items[LATEST]["events"] + len(lot.parked) == len(records)


@pytest.mark.parametrize("after", [0, 1], ids=["new", "existing"])
def test_the_records_of_an_account_item_above_its_size_are_parked_and_the_others_are_counted(after: int) -> None:
    table, lot = CounterTable(), Lot()
    function = table.function(lot)
    if after:
        function.apply([sold(1)])

    def refuse(writes: Sequence[CounterWrite]) -> None:
        if place(writes[0]) == LATEST:
            raise AccountItemError("DynamoDB refuses an account item")

    table.before = refuse
    records = [sold(2), sold(3, "7#GBP")]
    assert function.apply(records) == DONE
    assert [one.record for one in lot.parked] == records[:1]
    assert events(table).get("ACCOUNT#42#GBP", 0) == after
    assert events(table)["ACCOUNT#7#GBP"] == 1


# ---------------------------------------------------------------- what is kept between invocations


def test_an_item_that_is_kept_saves_the_read_of_the_next_batch() -> None:
    table = CounterTable()
    function = table.function()
    for seq in (1, 2, 3):
        function.apply([sold(seq)])
    assert (table.items[LATEST]["events"], table.reads, table.own_reads) == (3, 1, 1)


def test_a_stale_item_is_read_again_and_no_more_kept_as_another_function_counts_the_account_too() -> None:
    table = CounterTable()
    one, other = table.function(), table.function()
    one.apply([sold(1)])
    other.apply([sold(2)])
    assert table.reads == 2
    one.apply([sold(1), sold(2), sold(3)])
    assert table.reads == 3, "the write has failed"
    one.apply([sold(4)])
    assert (table.reads, table.items[LATEST]["events"]) == (4, 4)
    assert len(table.written) == 4


def test_a_write_whose_response_was_lost_is_not_repeated() -> None:
    table = CounterTable()
    function = table.function()
    function.apply([sold(1)])
    lost = [TIMEOUT]

    def lose(_: Sequence[CounterWrite]) -> None:
        if lost:
            raise lost.pop()

    table.after = lose
    assert function.apply([sold(2)]) == DONE
    assert (table.items[LATEST]["events"], table.items[LATEST]["version"]) == (2, 2)


def test_what_is_kept_is_bounded() -> None:
    kept = AccountCache(most=2)
    states = [AccountState(Account(str(number), "GBP")) for number in range(3)]
    for state in states:
        kept.put(state)
    assert [kept.get(state.account) for state in states] == [None, *states[1:]]
    kept.disable(states[2].account)
    kept.put(states[2])
    assert kept.get(states[2].account) is None
