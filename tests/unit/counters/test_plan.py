"""Planning of counters: what is counted in the account item, what leaves it, and what is no posting."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.aws.streams import SEQUENCE_DIGITS
from quarterhour.counters.keys import LISTED
from quarterhour.counters.plan import (
    LEAVE_AFTER,
    MOST_LEAVING,
    Addition,
    CounterChange,
    Listing,
    by_account,
    changes,
    group,
    lacks_watermark,
    over,
)
from quarterhour.counters.windows import AccountState, Window
from quarterhour.ledger.postings.segments import SegmentKey, packed, postings_of, segment_item, void_item
from quarterhour.model.errors import AccountItemError
from quarterhour.model.identifiers import Account, Identity, Partition, Position
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import Totals
from quarterhour.snapshots.keys import window_partitions
from tests.support.builders import AT, posting_item, record, utc, with_values
from tests.support.cases import cases
from tests.support.counter_table import RETENTION, CounterTable, place

ACCOUNTS = ("42#GBP", "42#EUR", "7#GBP")
ACCOUNT = Account("42", "GBP")
PERIODS = ("", "2026-09", "2026-10")
PARTITIONS = ("202610230130#00", "202610230130#01", "202610230145#00", "202610240000#00")
QUARTER_HOUR = "QUARTER#202610230130"


def posting(account: str, partition: str, amount: Decimal | str, commission: Decimal | str, i: int) -> dict[str, Any]:
    at = Partition.parse(partition).quarter_hour.start + timedelta(milliseconds=i)
    return posting_item(
        account,
        str(amount) if isinstance(amount, str) else f"{amount:f}",
        commission=str(commission) if isinstance(commission, str) else f"{commission:f}",
        quarter_hour=partition,
        position=str(Position.of(Identity("shop", str(i)).hash, at).at(0)),
        **({"period": PERIODS[i % 3]} if PERIODS[i % 3] else {}),
    )


def charges(amount: Decimal, commission: Decimal, i: int) -> str | None:
    """Return the charges of a posting: plain commission, a fee in its place, or a fee and the turnover of tiers."""
    parts = ("commission:0", f"fee:{commission:f}", f"tiered:{amount:f}@month/account/volume/0={i % 2}")
    return (None, ";".join(parts[:2]), ";".join(parts))[i % 3]


def stream(postings: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the records of postings; their sequence numbers grow in length, as real ones do."""
    return [record(97 + 3 * i, image) for i, image in enumerate(postings)]


def apply(table: CounterTable, records: Sequence[dict[str, Any]]) -> None:
    assert table.function().apply(records) == {"batchItemFailures": []}


def sold(partition: str = PARTITIONS[0], minute: int = 0, **more: str) -> dict[str, Any]:
    """Return a sale of 1.00 recorded so many minutes after the beginning of its partition's quarter-hour."""
    at = Partition.parse(partition).quarter_hour.start + timedelta(minutes=minute)
    position = str(Position.of(Identity("shop", str(minute)).hash, at).at(0))
    return with_values(posting("42#GBP", partition, "1.00", "0.10", 0), position=position, **more)


# ---------------------------------------------------------------- one write


def test_a_batch_of_an_account_is_one_write_of_its_item_which_holds_all_open_windows() -> None:
    table = CounterTable()
    apply(table, stream(posting("42#GBP", PARTITIONS[0], "10.00", "1.00", i) for i in (0, 2)))
    apply(table, [record(200, posting("42#GBP", PARTITIONS[1], "10.00", "1.00", 5))])
    assert [len(one) for one in table.written] == [2, 1], "the first write also puts the account into the list"
    assert table.items.keys() == {("ACCOUNT#42#GBP", "latest"), ("ACCOUNT#42#GBP", "listed")}
    assert table.items["ACCOUNT#42#GBP", "latest"] == {
        "pk": "ACCOUNT#42#GBP",
        "sk": "latest",
        **Totals(3, Decimal("30.00"), Decimal(0), Decimal("3.00")).as_dict(),
        "version": 2,
        "last_updated": "2026-10-23T01:30:00.005Z",
        "schema": 1,
        "open": {
            QUARTER_HOUR: {
                "totals": "3 30.00 0 3.00 0",
                "watermarks": {"00": "100".zfill(40) + ".0000", "01": "200".zfill(40) + ".0000"},
            },
            "DAY#2026-10-23": {"totals": "3 30.00 0 3.00 0"},
            "PERIOD#2026-10": {"totals": "3 30.00 0 3.00 0"},
        },
    }


def test_a_batch_that_spans_quarter_hours_leaves_the_item_in_the_state_of_each_end() -> None:
    """Snapshots take the ends of windows from the states that the item has been in."""
    table = CounterTable()
    apply(table, stream(sold(PARTITIONS[at], minute=minute) for minute, at in enumerate((2, 0, 3, 0, 2))))
    states = [write[0].values for write in table.written if not isinstance(write[0], Addition)]
    assert [(one["events"], one["last_updated"][:16]) for one in states] == [
        (2, "2026-10-23T01:33"),
        (4, "2026-10-23T01:49"),
        (5, "2026-10-24T00:02"),
    ]


def test_an_account_is_listed_once_in_the_index_by_an_item_that_never_changes() -> None:
    table = CounterTable()
    for seq in range(3):
        apply(table, [record(seq + 1, sold(minute=seq))])
    (listing,) = [one for write in table.written for one in write if isinstance(one, Listing)]
    assert listing.values["gsi1pk"] in window_partitions(LISTED)
    assert listing.values["gsi1sk"] == "ACCOUNT#42#GBP"
    assert not table.items["ACCOUNT#42#GBP", "latest"].keys() & {"gsi1pk", "gsi1sk"}


def test_a_quarter_hour_keeps_what_it_added_to_other_periods_than_its_own_month() -> None:
    table = CounterTable()
    apply(table, stream(posting(ACCOUNTS[0], PARTITIONS[0], "10.00", "1.00", i) for i in range(6)))
    ten, twenty = Totals(2, Decimal("20.00"), Decimal(0), Decimal("2.00")), table.totals(ACCOUNTS[0], "PERIOD#2026-10")
    assert table.totals(ACCOUNTS[0], "PERIOD#2026-09") == ten
    assert twenty == ten + ten
    by_period = {Period(2026, 9): ten, Period(2026, 10): twenty}
    assert table.quarter_hours(ACCOUNTS[0]) == {QuarterHour.parse("202610230130"): by_period}
    apply(table, [record(300, sold(PARTITIONS[2], minute=3))])
    left = table.items["ACCOUNT#42#GBP", QUARTER_HOUR]
    assert left["periods"] == {"2026-09": ten.as_dict()}
    assert table.quarter_hours(ACCOUNTS[0])[QuarterHour.parse("202610230130")] == by_period


def test_any_number_of_periods_is_counted_in_writes_that_keep_the_item_small() -> None:
    months = [f"{year}-{month:02d}" for year in range(2000, 2018) for month in range(1, 13)]
    images = [
        with_values(posting(ACCOUNTS[0], PARTITIONS[0], "1", "1", i), period=month) for i, month in enumerate(months)
    ]
    (groups,) = by_account(group(stream(images))[0]).values()
    assert [len({of.posting.period for of in one.postings}) for one in groups] == [90, 90, 36]
    table = CounterTable()
    apply(table, stream(images))
    assert table.totals(ACCOUNTS[0], "latest").events == len(table.all_periods(ACCOUNTS[0])) == len(months)
    assert len(table.account(ACCOUNT).windows) <= 4


def test_the_sign_separates_gross_from_refunds() -> None:
    table = CounterTable()
    sales = [("10.00", "1.000"), ("0", "0"), ("-2.50", "-0.250"), ("0.005", "0.0005")]
    apply(table, stream(posting("42#GBP", PARTITIONS[0], *figures, i) for i, figures in enumerate(sales)))
    assert table.totals("42#GBP", "latest").as_dict() == {
        "events": 4,
        "gross": "10.005",
        "refunds": "-2.50",
        "commission": "0.7505",
        "payments": "0",
    }


def test_payments_move_every_counter_and_no_figure_of_sales() -> None:
    table = CounterTable()
    sale = posting(ACCOUNTS[0], PARTITIONS[0], "10.00", "1.00", 0)
    paid = [
        with_values(posting(ACCOUNTS[0], PARTITIONS[0], amount, "0", i), type="payment.recorded")
        for i, amount in ((2, "25.00"), (3, "-5.50"))
    ]
    apply(table, stream([sale, *paid]))
    expected = Totals(3, Decimal("10.00"), Decimal(0), Decimal("1.00"), Decimal("19.50"))
    assert {table.totals(ACCOUNTS[0], sk) for sk in ("latest", "DAY#2026-10-23", "PERIOD#2026-10", QUARTER_HOUR)} == {
        expected
    }


def test_figures_keep_their_scale_and_all_their_digits_in_the_account_item() -> None:
    totals = Totals(
        7, Decimal("12345678901234567890.123456789012345678"), Decimal("-0.10"), Decimal("1.500"), Decimal(0)
    )
    window = Window(totals, {"00": "1".zfill(40)}, "9" * 40, {Period(2026, 9): totals}, {"new_customers": 3})
    assert Window.unpacked(window.packed()) == window
    assert Window.unpacked(window.packed()).totals.as_dict() == totals.as_dict()


# ---------------------------------------------------------------- watermarks


def test_a_batch_is_grouped_by_account_and_quarter_hour_in_the_order_of_the_stream() -> None:
    sales = [("42#GBP", 0), ("7#GBP", 0), ("42#GBP", 2), ("42#GBP", 1), ("42#EUR", 0), ("42#GBP", 0)]
    records = stream(posting(account, PARTITIONS[at], "1", "1", i) for i, (account, at) in enumerate(sales))
    groups, _ = group([*reversed(records)])
    found = {
        (str(one.account), str(one.quarter_hour)): [int(step.seq[:SEQUENCE_DIGITS]) for step in one.postings]
        for one in groups
    }
    assert found == {
        ("42#GBP", "202610230130"): [97, 106, 112],
        ("7#GBP", "202610230130"): [100],
        ("42#GBP", "202610230145"): [103],
        ("42#EUR", "202610230130"): [109],
    }
    assert len(groups) == len(found)


def test_sequence_numbers_of_any_length_are_compared_as_numbers() -> None:
    table = CounterTable()
    for seq in ("9", "10", "99", "100", "1" + "0" * 30):
        apply(table, [record(seq, posting("42#GBP", PARTITIONS[0], "1", "1", 1))])
    assert table.totals("42#GBP", "latest").events == 5
    assert table.counters("42#GBP")[QUARTER_HOUR]["watermarks"] == {
        "00": ("1" + "0" * 30).zfill(SEQUENCE_DIGITS) + ".0000"
    }


def test_a_record_is_compared_with_the_watermark_of_its_own_shard() -> None:
    """Sequence numbers of two shards say nothing about each other: they may come from different streams' shards."""
    table = CounterTable()
    for seq, shard in ((900, 0), (5, 1), (6, 1), (5, 1), (900, 0), (901, 0)):
        apply(table, [record(seq, posting("42#GBP", PARTITIONS[shard], "1", "1", seq))])
    assert table.totals("42#GBP", "latest").events == 4


def test_the_own_item_is_looked_for_only_while_a_shard_has_no_watermark() -> None:
    table = CounterTable()
    (first,), (second,) = (group(stream([posting("42#GBP", PARTITIONS[i], "1", "1", 0)]))[0] for i in (0, 1))
    assert lacks_watermark(first, table.account(ACCOUNT))
    apply(table, stream([posting("42#GBP", PARTITIONS[0], "1", "1", 0)]))
    assert not lacks_watermark(first, table.account(ACCOUNT))
    assert lacks_watermark(second, table.account(ACCOUNT))


# ---------------------------------------------------------------- leaving


def test_a_window_leaves_with_the_first_batch_after_the_streams_delay_and_several_leave_together() -> None:
    table = CounterTable()
    apply(table, [record(1, sold(minute=14))])
    apply(table, [record(2, sold(PARTITIONS[2], minute=1))])
    assert len(table.written[-1]) == 1, "records of the quarter-hour before may still come"
    apply(table, [record(3, sold(PARTITIONS[2], minute=2))])
    assert {place(one)[1] for one in table.written[-1]} == {"latest", QUARTER_HOUR}
    apply(table, [record(4, sold(PARTITIONS[3], minute=5))])
    assert {place(one)[1] for one in table.written[-1]} == {"latest", "QUARTER#202610230145", "DAY#2026-10-23"}
    assert table.totals("42#GBP", "DAY#2026-10-23").events == 3
    assert timedelta(minutes=2) == LEAVE_AFTER


def test_a_late_record_changes_the_item_that_has_left_and_the_account_item_in_one_transaction() -> None:
    table = CounterTable()
    for seq, image in enumerate((sold(), sold(PARTITIONS[2], minute=5), sold(minute=1)), 1):
        apply(table, [record(seq, image)])
    assert {place(one)[1] for one in table.written[-1]} == {"latest", QUARTER_HOUR}
    left = table.items["ACCOUNT#42#GBP", QUARTER_HOUR]
    assert (left["events"], left["version"], left["left_at"]) == (2, 2, 3)
    assert table.items["ACCOUNT#42#GBP", "latest"]["last_updated"] == "2026-10-23T01:50:00.000Z"
    for _ in range(2):
        apply(table, [record(1, sold()), record(3, sold(minute=1))])
    assert table.totals("42#GBP", "latest").events == 3


def test_a_clock_that_runs_backwards_between_two_batches_loses_nothing() -> None:
    """The instants of recording decide what leaves. An earlier one comes late, and turns nothing back."""
    table = CounterTable()
    partitions = ("202610240000#00", "202610230130#00", "202610240000#00", "202610222345#00")
    for seq, partition in enumerate(partitions, 1):
        apply(table, [record(seq, sold(partition, minute=3))])
    assert table.totals("42#GBP", "latest").events == 4
    assert table.counters("42#GBP")["latest"]["last_updated"] == "2026-10-24T00:03:00.000Z"
    days = {sk: item["events"] for sk, item in table.counters("42#GBP").items() if sk.startswith("DAY#")}
    assert days == {"DAY#2026-10-22": 1, "DAY#2026-10-23": 1, "DAY#2026-10-24": 2}


def test_of_the_periods_all_but_the_newest_leave_whenever_a_window_leaves() -> None:
    table = CounterTable()
    apply(table, [record(1, sold(period="2026-09")), record(2, sold())])
    apply(table, [record(3, sold(PARTITIONS[2], minute=3))])
    assert {sk for sk in table.account(ACCOUNT).windows if sk.startswith("PERIOD#")} == {"PERIOD#2026-10"}
    assert table.items["ACCOUNT#42#GBP", "PERIOD#2026-09"]["events"] == 1


def test_a_customer_is_counted_in_the_account_item_and_in_items_of_its_own_once_the_day_leaves() -> None:
    table = CounterTable()
    apply(table, [record(1, sold(customer="ann")), record(2, sold(customer="bob"))])
    assert [len(one) for one in table.written] == [2]
    apply(table, [record(3, sold(PARTITIONS[2], minute=3, customer="ann"))])
    left = table.items["ACCOUNT#42#GBP", QUARTER_HOUR]
    assert (left["new_customers"], left["new_customers_of_day"]) == (2, 2)
    apply(table, [record(4, sold(PARTITIONS[3], minute=3, customer="ann"))])
    counts = [one for one in table.written[-1] if isinstance(one, Addition)]
    assert {(one.counter["sk"], one.customers) for one in counts} == {("CUSTOMERS", 2), ("CUSTOMERS#2026-10-23", 2)}
    found = {sk: item["customers"] for sk, item in table.counters("42#GBP").items() if sk.startswith("CUSTOMERS")}
    assert found == {"CUSTOMERS": 2, "CUSTOMERS#2026-10-23": 2, "CUSTOMERS#2026-10-24": 1}


def test_at_most_as_many_windows_leave_as_a_transaction_takes_and_the_others_with_the_next_write() -> None:
    state = AccountState(ACCOUNT, last_updated="2026-10-24T00:00:00.000Z").plus(
        Totals(1),
        {f"QUARTER#{utc('00:00') - number * timedelta(minutes=15):%Y%m%d%H%M}": Window() for number in range(150)},
        "",
    )
    assert len(over(state)) == MOST_LEAVING
    assert len(changes(state, state, over(state), {}, RETENTION)[1]) == 100


def test_a_quarter_hour_and_a_day_expire_and_the_lifetime_and_a_period_never_do() -> None:
    state = AccountState(ACCOUNT).plus(
        Totals(1),
        {sk: Window(Totals(1)) for sk in (QUARTER_HOUR, "DAY#2026-10-23", "PERIOD#2026-10")},
        "2026-10-23T01:30:00.000Z",
    )
    _, planned = changes(state, state, list(state.windows), {}, RETENTION)
    items = {one.values["sk"]: one.values for one in planned if isinstance(one, CounterChange)}
    assert items[QUARTER_HOUR]["expires_at"] == int((utc("01:45") + timedelta(days=35)).timestamp())
    midnight = QuarterHour.last_of(utc("01:45").date()).end
    assert items["DAY#2026-10-23"]["expires_at"] == int((midnight + timedelta(days=800)).timestamp())
    assert "expires_at" not in items["latest"]
    assert "expires_at" not in items["PERIOD#2026-10"]


def test_a_function_that_keeps_a_lost_item_in_memory_counts_on_from_the_new_one_whatever_its_versions() -> None:
    """The functions write in turn, so that the new item gets as many changes as the lost one had."""
    table = CounterTable()
    first, second = table.function(), table.function()
    for seq in range(3):
        first.apply([record(seq + 1, sold(minute=seq))])
    del table.items["ACCOUNT#42#GBP", "latest"]
    for seq in (4, 6, 8):
        second.apply([record(seq, sold(minute=seq)), record(seq + 1, sold(minute=seq))])
    first.apply([record(10, sold(minute=10))])
    assert table.totals(ACCOUNTS[0], "latest").events == 7, "all since the loss, each once"


@pytest.mark.parametrize(
    "broken",
    [
        {"open": None},
        {"open": {"DAY#2026-10-23": {"totals": "1 2"}}},
        {"open": {"DAY#2026-10-23": {"totals": "1 2 x 4 5"}}},
        {"schema": None},
        {"schema": 2},
        {"gross": "much"},
        {"last_updated": "yesterday"},
        {"version": None},
    ],
)
def test_an_account_item_that_cannot_be_read_is_refused(broken: dict[str, Any]) -> None:
    values = {**AccountState(ACCOUNT, version=1, last_updated="2026-10-23T01:30:00.000Z").item(), **broken}
    values = {name: value for name, value in values.items() if value is not None}
    with pytest.raises(AccountItemError, match="the item of account 42#GBP cannot be read"):
        AccountState.of(ACCOUNT, values)


# ---------------------------------------------------------------- what is no posting

GOOD = posting("42#GBP", PARTITIONS[0], "1.00", "0.10", 0)


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in GOOD.items() if key != name}


@cases(
    "image",
    [
        *(without(name) for name in ("schema", "quarter_hour", "position", "count", "events")),
        *(with_values(GOOD, **{name: None}) for name in ("agency", "currency", "amount", "commission", "period")),
        {**GOOD, "schema": {"S": "2"}},
        {**GOOD, "schema": {"N": "1"}},
        {**GOOD, "quarter_hour": {"S": "202610230131#00"}},
        {**GOOD, "quarter_hour": {"S": "soon"}},
        {**GOOD, "position": {"S": "here"}},
        with_values(GOOD, amount="NaN"),
        with_values(GOOD, amount="1" * 39),
        with_values(GOOD, commission=""),
        {**GOOD, "events": {"NULL": True}},
        None,
    ],
)
def test_a_record_that_can_never_be_counted_is_poison_and_the_others_are_counted(image: dict[str, Any] | None) -> None:
    bad = record(100, image)
    groups, poison = group([record(97, GOOD), bad, record(103, GOOD)])
    assert [one.record for one in poison] == [bad]
    assert poison[0].reason
    assert [[int(step.seq[:SEQUENCE_DIGITS]) for step in one.postings] for one in groups] == [[97, 103]]


def test_poison_has_a_reason() -> None:
    _, (unknown, lacking, without_image) = group(
        [record(1, {**GOOD, "schema": {"S": "9"}}), record(2, with_values(GOOD, amount=None)), record(3, None)]
    )
    assert "the schema 9 is unknown: use the version that wrote it" in unknown.reason
    assert lacking.reason == "the posting lacks 'amount'"
    assert without_image.reason == "the record holds no new image"


def test_a_posting_of_a_segment_that_cannot_be_counted_is_poison_alone_with_its_content() -> None:
    key = SegmentKey(Partition.parse(PARTITIONS[0]), Position.of(Identity("a", "request").hash, AT))
    (good,) = postings_of(GOOD)
    bad = {**good, "amount": "ten", "id": "bad"}
    (one,), (poison,) = group([record(7, segment_item(key, 3, packed([good, bad, good])))])
    assert [step.seq[-7:] for step in one.postings] == ["07.0000", "07.0002"]
    (alone,) = postings_of(poison.record["dynamodb"]["NewImage"])
    assert (alone["id"], alone["amount"], alone["position"]) == ("bad", "ten", f"{key.position}.0001")
    assert poison.record["dynamodb"]["SequenceNumber"] == "7"
    assert "ten" in poison.reason


def test_a_segment_that_cannot_be_read_is_poison_as_a_whole_and_a_void_counts_nothing() -> None:
    key = SegmentKey(Partition.parse(PARTITIONS[0]), Position.of(Identity("a", "request").hash, AT))
    cut_off = segment_item(key, 1, packed(postings_of(GOOD))[:-4])
    groups, (poison,) = group([record(7, cut_off), record(8, void_item(key))])
    assert not groups
    assert poison.record["dynamodb"]["NewImage"] == cut_off
    assert f"{key.partition} {key.position}" in poison.reason


@pytest.mark.parametrize(
    "other",
    [
        record(1, GOOD, "MODIFY"),
        record(1, GOOD, "REMOVE"),
        record(1, None, "REMOVE", userIdentity={"type": "Service", "principalId": "dynamodb.amazonaws.com"}),
        record(1, GOOD, "INSERT", userIdentity={"type": "Service", "principalId": "dynamodb.amazonaws.com"}),
    ],
)
def test_a_record_that_is_no_insert_is_skipped(other: dict[str, Any]) -> None:
    assert group([other]) == ([], [])


@pytest.mark.parametrize("identity", [None, {}, {"principalId": "AIDA", "type": "User"}])
def test_an_insert_by_any_writer_is_counted(identity: object) -> None:
    groups, _ = group([record(1, GOOD, userIdentity=identity)])
    assert len(groups) == 1


@given(st.sampled_from(PARTITIONS), st.datetimes(datetime(2026, 1, 1), datetime(2026, 12, 31)))  # noqa: DTZ001 - Hypothesis wants naive bounds
def test_a_posting_counts_for_its_partition_at_any_instant_of_its_position(partition: str, at: datetime) -> None:
    item = posting_item(
        quarter_hour=partition, position=str(Position.of(Identity("s", "i").hash, at.astimezone(AT.tzinfo)).at(0))
    )
    (one,), _ = group([record(1, item)])
    assert one.partitions == {Partition(QuarterHour.parse(partition[:12]), int(partition[-2:]))}
    assert one.quarter_hour == QuarterHour.parse(partition[:12])
