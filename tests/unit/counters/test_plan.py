"""Counting: each posting once, however it is delivered."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.aws.entity import Key, window_partitions
from quarterhour.aws.streams import SEQUENCE_DIGITS
from quarterhour.counters.keys import partition_key, period_of
from quarterhour.counters.plan import (
    Addition,
    Counter,
    CounterChange,
    Group,
    Retention,
    by_quarter_hour,
    by_quarter_hour_and_period,
    group,
    group_changes,
    lacks_watermark,
    uncounted,
)
from quarterhour.ledger.posting import Posting
from quarterhour.model.clock import iso_millis
from quarterhour.model.identifiers import Identity, Partition, Position
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import PeriodTotals, Totals, add_up
from tests.support.builders import AT, amounts, posting_item, record, utc
from tests.support.older_counters import older_group_changes

RETENTION = Retention(timedelta(days=35), timedelta(days=800))
ACCOUNTS = ("42#GBP", "42#EUR", "7#GBP")
PERIODS = ("", "2026-09", "2026-10")
PARTITIONS = ("202610230130#00", "202610230130#01", "202610230145#00", "202610240000#00")


class Table:
    """The counters, and DynamoDB's condition on what is written to them."""

    def __init__(self) -> None:
        self.items: dict[tuple[str, str], Counter] = {}

    def read(self, keys: Iterable[Key]) -> Mapping[str, Counter]:
        found = ((key["sk"], self.items.get((key["pk"], key["sk"]))) for key in keys)
        return {sk: item for sk, item in found if item}

    def write(self, planned: Sequence[CounterChange | Addition]) -> bool:
        """Write all or none; ``False`` where one has changed since it was read."""
        changes = {
            (change.values["pk"], change.values["sk"]): change
            for change in planned
            if isinstance(change, CounterChange)
        }
        added = {(one.counter["pk"], one.counter["sk"]): one for one in planned if isinstance(one, Addition)}
        assert len(changes | added) == len(planned), "a transaction takes each item at most once"
        if any(self.items.get(place, {}).get("version") != change.version for place, change in changes.items()):
            return False
        self.items |= {place: dict(change.values) for place, change in changes.items()}
        for place, one in added.items():
            self.items[place] = {"customers": self.items.get(place, {"customers": 0})["customers"] + one.customers}
        return True

    def read_group(self, one: Group) -> Mapping[str, Counter]:
        """Return the counters of a group as the service reads them."""
        stored = self.read(one.keys)
        if lacks_watermark(one, stored):
            stored = {**self.read(partition_key(one.account, partition) for partition in one.partitions), **stored}
        return stored

    def apply(self, one: Group) -> None:
        assert self.write(changes(one, self.read_group(one)))

    def fail(self, one: Group) -> None:
        """Do what a function does with a group before it dies."""

    def apply_as_0_1_0(self, records: Sequence[dict[str, Any]]) -> None:
        """Count records as 0.1.0 did, each partition by itself."""
        for one in group(records)[0]:
            for partition in one.partitions:
                alone = replace(one, postings=tuple(of for of in one.postings if of.posting.partition == partition))
                keys = [*one.keys, partition_key(one.account, partition)]
                assert self.write(older_group_changes(alone, self.read(keys), RETENTION))

    def totals(self, account: str, sk: str) -> Totals:
        return Totals.of(self.items["ACCOUNT#" + account, sk])

    def quarter_hours(self, account: str) -> dict[QuarterHour, Totals]:
        """Return what is counted of an account's quarter-hours, by whatever version."""
        places = [(pk, sk) for pk, sk in sorted(self.items) if pk == "ACCOUNT#" + account and sk.startswith("QUARTER#")]
        return dict(by_quarter_hour(self.items[place] for place in places))

    def quarter_hours_by_period(self, account: str) -> dict[QuarterHour, PeriodTotals]:
        """Return the same by period."""
        places = [(pk, sk) for pk, sk in sorted(self.items) if pk == "ACCOUNT#" + account and sk.startswith("QUARTER#")]
        return dict(by_quarter_hour_and_period(self.items[place] for place in places))

    def periods(self, account: str) -> PeriodTotals:
        """Return what is counted of an account's periods."""
        of = {sk: item for (pk, sk), item in self.items.items() if pk == "ACCOUNT#" + account}
        return {period_of(sk): Totals.of(item) for sk, item in of.items() if sk.startswith("PERIOD#")}


def changes(one: Group, stored: Mapping[str, Counter]) -> list[CounterChange | Addition]:
    """Plan the counting of what is new in a group, without customers."""
    new = uncounted(one, stored)
    return group_changes(new, stored, (), RETENTION) if new.postings else []


def counters_of(planned: Sequence[CounterChange | Addition]) -> list[Counter]:
    return [change.values for change in planned if isinstance(change, CounterChange)]


def posting(account: str, partition: str, amount: Decimal | str, commission: Decimal | str, i: int) -> dict[str, Any]:
    at = Partition.parse(partition).quarter_hour.start + timedelta(milliseconds=i)
    return posting_item(
        account,
        str(amount) if isinstance(amount, str) else f"{amount:f}",
        commission=str(commission) if isinstance(commission, str) else f"{commission:f}",
        quarter_hour=partition,
        position=str(Position.of(Identity("shop", str(i)), at)),
        **({"period": PERIODS[i % 3]} if PERIODS[i % 3] else {}),
    )


def stream(postings: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the records of postings; their sequence numbers grow in length, as real ones do."""
    return [record(97 + 3 * i, image) for i, image in enumerate(postings)]


# ---------------------------------------------------------------- the law


def redeliver(
    table: Table, records: Sequence[dict[str, Any]], done: int, cut: tuple[float, float], failing: int
) -> int:
    """Deliver from any record that is counted to any later one; some groups fail. Return how many are counted."""
    if done == len(records):
        return done
    start = round(cut[0] * done)
    end = start + 1 + round(cut[1] * (len(records) - start - 1))
    groups, poison = group(records[start:end])
    assert not poison
    failed = [one for i, one in enumerate(groups) if failing >> i & 1]
    for one in groups:
        (table.fail if one in failed else table.apply)(one)
    firsts = [one.postings[0].seq for one in failed]
    lowest = [i for i, one in enumerate(records) if one["dynamodb"]["SequenceNumber"].zfill(40) in firsts]
    return max(done, min(lowest, default=end))


@given(
    sold=st.lists(
        st.tuples(st.sampled_from(ACCOUNTS), st.sampled_from(PARTITIONS), amounts(12), amounts(12)), min_size=1
    ),
    deliveries=st.lists(
        st.tuples(st.integers(0, 1), st.tuples(st.floats(0, 1), st.floats(0, 1)), st.integers(0, 255)), max_size=12
    ),
    counted_before=st.floats(0, 1),
)
def test_each_posting_is_counted_once_in_any_batches_and_redeliveries(
    sold: list[tuple[str, str, Decimal, Decimal]],
    deliveries: list[tuple[int, tuple[float, float], int]],
    counted_before: float,
) -> None:
    """0.1.0 has counted the first ones, in its own counters, and they are delivered again."""
    table = Table()
    records = stream(posting(*one, i) for i, one in enumerate(sold))
    # Two stream shards; a ledger partition lies in one of them, and its order is kept there alone.
    shards = [
        [one for one in records if PARTITIONS.index(one["dynamodb"]["NewImage"]["quarter_hour"]["S"]) % 2 == shard]
        for shard in (0, 1)
    ]
    newer: list[dict[str, Any]] = []
    for records_of_shard in shards:
        older = round(counted_before * len(records_of_shard))
        table.apply_as_0_1_0(records_of_shard[:older])
        newer += records_of_shard[older:]
    done = [0, 0]
    for shard, cut, failing in [*deliveries, (0, (1, 1), 0), (1, (1, 1), 0)]:
        done[shard] = redeliver(table, shards[shard], done[shard], cut, failing)
    assert done == [len(shard) for shard in shards]

    for account in {one[0] for one in sold}:
        of_account = [one for one in sold if one[0] == account]
        assert_counted(table.totals(account, "latest"), of_account)
        assert table.quarter_hours(account).keys() == {Partition.parse(one[1]).quarter_hour for one in of_account}
        for quarter_hour, totals in table.quarter_hours(account).items():
            assert_counted(totals, [one for one in of_account if one[1].startswith(str(quarter_hour))])
        for day in ("2026-10-23", "2026-10-24"):
            of_day = [one for one in of_account if one[1].startswith(day.replace("-", ""))]
            if of_day:
                assert_counted(table.totals(account, f"DAY#{day}"), of_day)
        by_period: PeriodTotals = {}
        for posted in (Posting.of(one["dynamodb"]["NewImage"]) for one in newer):
            if str(posted.account) == account:
                add_up(by_period, [(posted.period, Totals().plus(posted.amount, posted.commission))])
        assert table.periods(account) == by_period
        newest = max(
            Partition.parse(one[1]).quarter_hour.start + timedelta(milliseconds=i)
            for i, one in enumerate(sold)
            if one[0] == account
        )
        assert table.items["ACCOUNT#" + account, "latest"]["last_updated"] == iso_millis(newest)


def assert_counted(totals: Totals, sold: Sequence[tuple[str, str, Decimal, Decimal]]) -> None:
    assert totals.events == len(sold)
    assert Fraction(totals.gross) == sum(Fraction(one[2]) for one in sold if one[2] >= 0)
    assert Fraction(totals.refunds) == sum(Fraction(one[2]) for one in sold if one[2] < 0)
    assert Fraction(totals.commission) == sum(Fraction(one[3]) for one in sold)


# ---------------------------------------------------------------- one batch


def test_a_quarter_hour_keeps_what_it_added_to_other_periods_than_its_own_month() -> None:
    table = Table()
    for one in group(stream(posting(ACCOUNTS[0], PARTITIONS[0], "10.00", "1.00", i) for i in range(6)))[0]:
        table.apply(one)
    ten, twenty = Totals(2, Decimal("20.00"), Decimal(0), Decimal("2.00")), table.totals(ACCOUNTS[0], "PERIOD#2026-10")
    assert table.totals(ACCOUNTS[0], "PERIOD#2026-09") == ten
    assert twenty == ten + ten
    quarter_hour = QuarterHour.parse("202610230130")
    assert table.quarter_hours_by_period(ACCOUNTS[0]) == {
        quarter_hour: {Period(2026, 9): ten, Period(2026, 10): twenty}
    }
    assert table.items["ACCOUNT#42#GBP", "QUARTER#202610230130"]["periods"] == {"2026-09": ten.as_dict()}


def test_a_group_of_too_many_periods_for_a_transaction_is_cut_in_the_order_of_the_stream() -> None:
    months = [f"{year}-{month:02d}" for year in range(2000, 2018) for month in range(1, 13)]
    images = [
        {**posting(ACCOUNTS[0], PARTITIONS[0], "1", "1", i), "period": {"S": month}} for i, month in enumerate(months)
    ]
    groups, _ = group(stream(images))
    assert [len(one.periods) for one in groups] == [90, 90, 36]
    assert [one.seq for part in groups for one in part.postings] == sorted(
        one.seq for part in groups for one in part.postings
    )
    table = Table()
    for one in groups:
        table.apply(one)
    assert table.totals(ACCOUNTS[0], "latest").events == len(table.periods(ACCOUNTS[0])) == len(months)


def test_the_sign_separates_gross_from_refunds() -> None:
    table = Table()
    sold = [("10.00", "1.000"), ("0", "0"), ("-2.50", "-0.250"), ("0.005", "0.0005")]
    (one,), _ = group(stream(posting("42#GBP", PARTITIONS[0], *figures, i) for i, figures in enumerate(sold)))
    table.apply(one)
    assert table.totals("42#GBP", "latest").as_dict() == {
        "events": 4,
        "gross": "10.005",
        "refunds": "-2.50",
        "commission": "0.7505",
        "payments": "0",
    }


def test_payments_move_every_counter_and_no_figure_of_sales() -> None:
    table = Table()
    sold = posting(ACCOUNTS[0], PARTITIONS[0], "10.00", "1.00", 0)
    paid = [
        {**posting(ACCOUNTS[0], PARTITIONS[0], amount, "0", i), "type": {"S": "payment.recorded"}}
        for i, amount in ((2, "25.00"), (3, "-5.50"))
    ]
    for one in group(stream([sold, *paid]))[0]:
        table.apply(one)
    expected = Totals(3, Decimal("10.00"), Decimal(0), Decimal("1.00"), Decimal("19.50"))
    counters = [table.totals(ACCOUNTS[0], sk) for sk in ("latest", "DAY#2026-10-23", "PERIOD#2026-10")]
    assert [*counters, *table.quarter_hours(ACCOUNTS[0]).values()] == [expected] * 4


def test_a_counter_that_was_stored_before_there_were_payments_counts_them_from_0() -> None:
    table = Table()
    for one in group(stream([posting(ACCOUNTS[0], PARTITIONS[0], "10.00", "1.00", 0)]))[0]:
        table.apply(one)
    for item in table.items.values():
        item.pop("payments", None)
    paid = {**posting(ACCOUNTS[0], PARTITIONS[0], "25.00", "0", 3), "type": {"S": "payment.recorded"}}
    for one in group([record(100, paid)])[0]:
        table.apply(one)
    expected = Totals(2, Decimal("10.00"), Decimal(0), Decimal("1.00"), Decimal("25.00"))
    assert table.totals(ACCOUNTS[0], "latest") == table.totals(ACCOUNTS[0], "PERIOD#2026-10") == expected


def test_one_transaction_moves_quarter_hour_day_period_and_lifetime_together() -> None:
    (one,), _ = group(stream([posting("42#GBP", PARTITIONS[0], "10.00", "1.00", 5)]))
    planned = [change for change in changes(one, {}) if isinstance(change, CounterChange)]
    assert [change.values["sk"] for change in planned] == [
        "QUARTER#202610230130",
        "latest",
        "DAY#2026-10-23",
        "PERIOD#2026-10",
    ]
    assert {change.values["pk"] for change in planned} == {"ACCOUNT#42#GBP"}
    assert [change.version for change in planned] == [None, None, None, None]
    assert [change.values["version"] for change in planned] == [1, 1, 1, 1]


def test_a_batch_is_grouped_by_account_and_quarter_hour_in_the_order_of_the_stream() -> None:
    sold = [("42#GBP", 0), ("7#GBP", 0), ("42#GBP", 2), ("42#GBP", 1), ("42#EUR", 0), ("42#GBP", 0)]
    records = stream(posting(account, PARTITIONS[at], "1", "1", i) for i, (account, at) in enumerate(sold))
    groups, _ = group([*reversed(records)])
    found = {(str(one.account), str(one.quarter_hour)): [int(step.seq) for step in one.postings] for one in groups}
    assert found == {
        ("42#GBP", "202610230130"): [97, 106, 112],
        ("7#GBP", "202610230130"): [100],
        ("42#GBP", "202610230145"): [103],
        ("42#EUR", "202610230130"): [109],
    }
    assert len(groups) == len(found)


def test_sequence_numbers_of_any_length_are_compared_as_numbers() -> None:
    table = Table()
    for seq in ("9", "10", "99", "100", "1" + "0" * 30):
        (one,), _ = group([record(seq, posting("42#GBP", PARTITIONS[0], "1", "1", 1))])
        table.apply(one)
    assert table.totals("42#GBP", "latest").events == 5
    watermarks = table.items["ACCOUNT#42#GBP", "QUARTER#202610230130"]["watermarks"]
    assert watermarks == {"00": ("1" + "0" * 30).zfill(SEQUENCE_DIGITS)}


def test_a_group_moves_the_watermarks_of_its_own_shards_alone() -> None:
    table = Table()
    records = stream(posting("42#GBP", PARTITIONS[shard], "1", "1", i) for i, shard in enumerate((0, 1, 0)))
    for some in (records[:1], records[1:2], records):
        (one,), _ = group(some)
        table.apply(one)
    item = table.items["ACCOUNT#42#GBP", "QUARTER#202610230130"]
    assert {shard: int(seq) for shard, seq in item["watermarks"].items()} == {"00": 103, "01": 100}
    assert (item["events"], item["version"]) == (3, 3)


def test_a_record_is_compared_with_the_watermark_of_its_own_shard() -> None:
    """Sequence numbers of two shards say nothing about each other: they may come from different streams' shards."""
    table = Table()
    for seq, shard in ((900, 0), (5, 1), (6, 1), (5, 1), (900, 0), (901, 0)):
        (one,), _ = group([record(seq, posting("42#GBP", PARTITIONS[shard], "1", "1", seq))])
        table.apply(one)
    assert table.totals("42#GBP", "latest").events == 4


def test_each_record_of_a_group_is_compared_with_the_watermark_of_its_own_shard() -> None:
    table = Table()
    records = stream(posting("42#GBP", PARTITIONS[shard], "1", "1", i) for i, shard in enumerate((1, 0)))
    for some in (records[1:], records, records):
        (one,), _ = group(some)
        table.apply(one)
    assert table.totals("42#GBP", "latest").events == 2


def test_a_shard_that_0_1_0_counted_has_its_watermark_until_it_moves() -> None:
    table = Table()
    records = stream(posting("42#GBP", PARTITIONS[0], "1", "1", i) for i in range(4))
    table.apply_as_0_1_0(records[:2])
    before = table.items["ACCOUNT#42#GBP", f"QUARTER#{PARTITIONS[0]}"]
    for some in (records[:2], records[:3], records):
        (one,), _ = group(some)
        table.apply(one)
    assert table.totals("42#GBP", "latest").events == 4
    assert table.totals("42#GBP", "QUARTER#202610230130").events == 2
    assert table.items["ACCOUNT#42#GBP", f"QUARTER#{PARTITIONS[0]}"] == before


def test_the_partitions_counters_are_looked_for_only_while_a_shard_has_no_watermark() -> None:
    table = Table()
    first, second = (group(stream([posting("42#GBP", PARTITIONS[i], "1", "1", 0)]))[0][0] for i in (0, 1))
    assert lacks_watermark(first, {})
    table.apply(first)
    assert not lacks_watermark(first, table.read(first.keys))
    assert lacks_watermark(second, table.read(second.keys))


def test_a_repeated_batch_changes_nothing() -> None:
    table = Table()
    (one,), _ = group(stream(posting("42#GBP", PARTITIONS[0], "1", "1", i) for i in range(3)))
    table.apply(one)
    assert changes(one, table.read(one.keys)) == []


def test_of_two_updates_with_the_same_batch_only_one_writes() -> None:
    table = Table()
    (one,), _ = group(stream(posting("42#GBP", PARTITIONS[0], "1", "1", i) for i in range(3)))
    mine, theirs = (changes(one, table.read(one.keys)) for _ in range(2))
    assert table.write(theirs)
    assert not table.write(mine)
    assert changes(one, table.read(one.keys)) == []


def test_of_two_concurrent_updates_of_an_account_the_second_is_planned_again() -> None:
    table = Table()
    groups, _ = group(stream(posting("42#GBP", PARTITIONS[i], "1", "1", i) for i in (0, 2)))
    assert len(groups) == 2
    first, second = ((one, changes(one, table.read(one.keys))) for one in groups)
    assert table.write(first[1])
    assert not table.write(second[1]), "the lifetime totals have moved"
    table.apply(second[0])
    assert table.totals("42#GBP", "latest").events == 2


def test_a_late_partition_does_not_turn_last_updated_back() -> None:
    table = Table()
    newer, older = (group(stream([posting("42#GBP", PARTITIONS[i], "1", "1", 0)]))[0][0] for i in (2, 0))
    table.apply(newer)
    table.apply(older)
    assert table.items["ACCOUNT#42#GBP", "latest"]["last_updated"] == "2026-10-23T01:45:00.000Z"


def test_quarter_hour_and_day_counters_expire_and_those_of_lifetime_and_period_never_do() -> None:
    (one,), _ = group(stream([posting("42#GBP", PARTITIONS[0], "1", "1", 0)]))
    quarter_hour, latest, day, period = counters_of(changes(one, {}))
    assert quarter_hour["expires_at"] == int((utc("01:45") + timedelta(days=35)).timestamp())
    assert day["expires_at"] == int((utc("01:45") + timedelta(days=800)).timestamp())
    assert "expires_at" not in latest
    assert "expires_at" not in period


def test_the_lifetime_totals_are_in_the_index_of_all_latest_states() -> None:
    (one,), _ = group(stream([posting("42#GBP", PARTITIONS[0], "1", "1", 0)]))
    _, latest, _, _ = counters_of(changes(one, {}))
    assert latest["gsi1pk"] in window_partitions("latest")
    assert latest["gsi1sk"] == "ACCOUNT#42#GBP"


def test_a_posting_counts_for_the_utc_day_of_its_partition() -> None:
    (one,), _ = group(stream([posting("42#GBP", "202610232345#00", "1", "1", 0)]))
    assert [key["sk"] for key in one.keys][2] == "DAY#2026-10-23"
    (one,), _ = group(stream([posting("42#GBP", "202610240000#00", "1", "1", 0)]))
    assert [key["sk"] for key in one.keys][2] == "DAY#2026-10-24"


# ---------------------------------------------------------------- what is no posting

GOOD = posting("42#GBP", PARTITIONS[0], "1.00", "0.10", 0)


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in GOOD.items() if key != name}


@pytest.mark.parametrize(
    "image",
    [
        *(
            without(name)
            for name in ("schema", "quarter_hour", "position", "agency", "currency", "amount", "commission")
        ),
        {**GOOD, "schema": {"S": "2"}},
        {**GOOD, "schema": {"N": "1"}},
        {**GOOD, "quarter_hour": {"S": "202610230131#00"}},
        {**GOOD, "quarter_hour": {"S": "soon"}},
        {**GOOD, "position": {"S": "here"}},
        {**GOOD, "amount": {"S": "NaN"}},
        {**GOOD, "amount": {"S": "1" * 39}},
        {**GOOD, "amount": {"N": "1"}},
        {**GOOD, "commission": {"S": ""}},
        {**GOOD, "amount": {"NULL": True}},
        None,
    ],
)
def test_a_record_that_can_never_be_counted_is_poison_and_the_others_are_counted(image: dict[str, Any] | None) -> None:
    bad = record(100, image)
    groups, poison = group([record(97, GOOD), bad, record(103, GOOD)])
    assert [one.record for one in poison] == [bad]
    assert poison[0].reason
    assert [[int(step.seq) for step in one.postings] for one in groups] == [[97, 103]]


def test_poison_has_a_reason() -> None:
    _, (unknown, lacking, without_image) = group(
        [record(1, {**GOOD, "schema": {"S": "9"}}), record(2, without("amount")), record(3, None)]
    )
    assert unknown.reason == "the ledger schema '9' is not known, only '1'"
    assert lacking.reason == "the ledger item lacks 'amount'"
    assert without_image.reason == "the record holds no new image"


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
    item = posting_item(quarter_hour=partition, position=str(Position.of(Identity("s", "i"), at.astimezone(AT.tzinfo))))
    (one,), _ = group([record(1, item)])
    assert one.partitions == {Partition(QuarterHour.parse(partition[:12]), int(partition[-2:]))}
    assert one.quarter_hour == QuarterHour.parse(partition[:12])
