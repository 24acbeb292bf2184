"""The law of counting: whatever batches come, in whatever order and however often, the counters are a plain sum."""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import cycle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.counters import plan
from quarterhour.counters.plan import CounterWrite
from quarterhour.counters.windows import AccountState
from quarterhour.ledger.postings.posting import Posting
from quarterhour.ledger.postings.segments import SegmentKey, packed, postings_of, segment_item
from quarterhour.model import clock
from quarterhour.model.clock import iso_millis
from quarterhour.model.identifiers import Account, Identity, Partition, Position
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import Totals, add_up, total
from tests.support.builders import amounts, with_values
from tests.support.clocks import Waits
from tests.support.counter_table import CounterTable
from tests.support.script import cancelled, service_error
from tests.unit.counters.test_plan import ACCOUNTS, PARTITIONS, charges, posting, stream

LANES = 2
"""Stream shards. A ledger partition lies in one of them, and its order is kept there alone."""


@pytest.fixture(autouse=True)
def _no_waits() -> Iterator[None]:
    with clock.using(Waits()):
        yield


class Faults:
    """Makes writes fail: before they take effect, or after, so that their response is lost."""

    def __init__(self, kinds: list[int]) -> None:
        self._kinds = kinds

    def before(self, _: Sequence[CounterWrite]) -> None:
        match self._kinds.pop() if self._kinds else 0:
            case 1:
                raise service_error("ThrottlingException")
            case 2:
                raise cancelled(["TransactionConflict"])
            case 3:
                raise Died
            case 4:
                self._kinds.append(5)

    def after(self, _: Sequence[CounterWrite]) -> None:
        if self._kinds and self._kinds[-1] >= 5:
            lost = self._kinds.pop()
            raise service_error("InternalServerError", 500) if lost == 5 else Died


class Died(BaseException):
    """The function is killed at this point."""


class Streams:
    """The stream shards, and two functions that are fed with them."""

    def __init__(self, table: CounterTable, records: Sequence[dict[str, Any]]) -> None:
        self.table = table
        self.lanes = [[one for one in records if lane_of(one) == lane] for lane in range(LANES)]
        self.done = [0] * LANES
        self.functions = [table.function(), table.function()]

    def deliver(self, lane: int, cut: tuple[float, float], function: int) -> None:
        """Deliver from any record that is counted to any later one."""
        records, done = self.lanes[lane], self.done[lane]
        if done < len(records):
            start = round(cut[0] * done)
            end = start + 1 + round(cut[1] * (len(records) - start - 1))
            try:
                answer = self.functions[function].apply(records[start:end])
            except Died:
                return
            failed = [one["itemIdentifier"] for one in answer["batchItemFailures"]]
            at = [one["dynamodb"]["SequenceNumber"] for one in records].index(failed[0]) if failed else end
            self.done[lane] = max(done, at)

    def deliver_all(self) -> None:
        self.table.before = self.table.after = lambda _: None
        for _ in range(2):
            for lane, records in enumerate(self.lanes):
                for function in self.functions if records else ():
                    assert function.apply(records) == {"batchItemFailures": []}
                self.done[lane] = len(records)


def lane_of(record: dict[str, Any]) -> int:
    return PARTITIONS.index(record["dynamodb"]["NewImage"]["quarter_hour"]["S"]) % LANES


sales = st.lists(
    st.tuples(
        st.sampled_from(ACCOUNTS), st.sampled_from(PARTITIONS), amounts(12), amounts(12), st.sampled_from(["", *"abc"])
    ),
    min_size=1,
    max_size=16,
)
cuts = st.tuples(st.floats(0, 1), st.floats(0, 1))
deliveries = st.lists(st.tuples(st.integers(0, 1), cuts, st.integers(0, 1)), max_size=12)


@given(
    sold=sales,
    deliveries=deliveries,
    faults=st.lists(st.sampled_from([0, 0, 0, 1, 2, 3, 4, 6]), max_size=12),
)
def test_each_posting_is_counted_once_in_any_batches_and_redeliveries(
    sold: list[tuple[str, str, Decimal, Decimal, str]],
    deliveries: list[tuple[int, tuple[float, float], int]],
    faults: list[int],
) -> None:
    """Writes fail, responses are lost, and functions die. The functions keep items that the others have changed."""
    table = CounterTable()
    records = stream(sale(one, i) for i, one in enumerate(sold))
    streams = Streams(table, records)
    fault = Faults(faults)
    table.before, table.after = fault.before, fault.after
    for lane, cut, function in deliveries:
        streams.deliver(lane, cut, function)
    streams.deliver_all()
    for account in {one[0] for one in sold}:
        assert_counted(table, account, sold, records)
        assert_customers(table, account, sold)


@given(
    sold=sales,
    sizes=st.lists(st.integers(1, 6), min_size=1),
    most_periods=st.integers(1, 3),
    deliveries=deliveries,
    faults=st.lists(st.sampled_from([0, 0, 0, 1, 2, 3, 4, 6]), max_size=12),
)
def test_each_posting_of_a_segment_is_counted_once_though_a_write_counts_only_some_of_them(
    sold: list[tuple[str, str, Decimal, Decimal, str]],
    sizes: list[int],
    most_periods: int,
    deliveries: list[tuple[int, tuple[float, float], int]],
    faults: list[int],
) -> None:
    """A record is a segment of several accounts; a write counts so few periods that it ends within a segment."""
    made: list[list[tuple[str, str, Decimal, Decimal, str]]] = []
    rest, size = list(sold), cycle(sizes)
    while rest:
        partition, count = rest[0][1], next(size)
        made.append([(one[0], partition, *one[2:]) for one in rest[:count]])
        del rest[:count]
    table = CounterTable()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plan, "MOST_PERIODS", most_periods)
        streams = Streams(table, stream(segment_of(some, number) for number, some in enumerate(made)))
        fault = Faults(faults)
        table.before, table.after = fault.before, fault.after
        for lane, cut, function in deliveries:
            streams.deliver(lane, cut, function)
        streams.deliver_all()
    placed = [one for some in made for one in some]
    for account in {one[0] for one in placed}:
        of_account = [one for one in placed if one[0] == account]
        assert_sums(table.totals(account, "latest"), of_account)
        quarter_hours = {at: total(sums.values()) for at, sums in table.quarter_hours(account).items()}
        for quarter_hour, totals in quarter_hours.items():
            assert_sums(totals, [one for one in of_account if one[1].startswith(str(quarter_hour))])
        assert_customers(table, account, placed)


def segment_of(sold: Sequence[tuple[str, str, Decimal, Decimal, str]], number: int) -> dict[str, Any]:
    """Return a segment of some sales; each index after a posting is left out."""
    items = [sale(one, i) for i, one in enumerate(sold)]
    at = Partition.parse(sold[0][1]).quarter_hour.start + timedelta(milliseconds=number)
    key = SegmentKey(Partition.parse(sold[0][1]), Position.of(Identity("a request", str(number)).hash, at))
    rows = [row for item in items for row in (*postings_of(item), None)]
    return segment_item(key, len(items), packed(rows))


def sale(one: tuple[str, str, Decimal, Decimal, str], i: int) -> dict[str, Any]:
    account, partition, amount, commission, customer = one
    image = posting(account, partition, amount, commission, i)
    more = {"customer": customer or None, "charges": charges(amount, commission, i)}
    return with_values(image, **more) if any(more.values()) else image


def assert_counted(
    table: CounterTable,
    account: str,
    sold: Sequence[tuple[str, str, Decimal, Decimal, str]],
    records: Sequence[dict[str, Any]],
) -> None:
    """Compare everything that is counted of an account with plain sums."""
    of_account = [one for one in sold if one[0] == account]
    assert_sums(table.totals(account, "latest"), of_account)
    quarter_hours = {quarter_hour: total(sums.values()) for quarter_hour, sums in table.quarter_hours(account).items()}
    for quarter_hour in {QuarterHour.parse(one[1][:12]) for one in of_account}:
        of_quarter_hour = [one for one in of_account if one[1].startswith(str(quarter_hour))]
        assert_sums(quarter_hours.pop(quarter_hour, Totals()), of_quarter_hour)
    assert not quarter_hours
    for day in ("2026-10-23", "2026-10-24"):
        of_day = [one for one in of_account if one[1].startswith(day.replace("-", ""))]
        if of_day:
            assert_sums(table.totals(account, f"DAY#{day}"), of_day)
    posted = [Posting.of(one) for record in records for one in postings_of(record["dynamodb"]["NewImage"])]
    of_periods = add_up(
        {},
        (
            (one.period, Totals().plus(one.amount, one.commission, charges=one.charges))
            for one in posted
            if str(one.account) == account
        ),
    )
    counted = table.all_periods(account)
    assert counted == of_periods
    assert table.totals(account, "latest") == total(of_periods.values())
    for period, totals in of_periods.items():
        assert counted[period].charges.since == totals.charges.since
    newest = max(
        Partition.parse(one[1]).quarter_hour.start + timedelta(milliseconds=i)
        for i, one in enumerate(sold)
        if one[0] == account
    )
    assert table.counters(account)["latest"]["last_updated"] == iso_millis(newest)


def assert_sums(totals: Totals, sold: Sequence[tuple[str, str, Decimal, Decimal, str]]) -> None:
    assert totals.events == len(sold)
    assert Fraction(totals.gross) == sum(Fraction(one[2]) for one in sold if one[2] >= 0)
    assert Fraction(totals.refunds) == sum(Fraction(one[2]) for one in sold if one[2] < 0)
    assert Fraction(totals.commission) == sum(Fraction(one[3]) for one in sold)


def assert_customers(table: CounterTable, account: str, sold: Sequence[tuple[str, str, Decimal, Decimal, str]]) -> None:
    expected: dict[str, set[str]] = {}
    for of, partition, _, _, customer in sold:
        if of == account and customer:
            for sk in ("CUSTOMERS", f"CUSTOMERS#{partition[:4]}-{partition[4:6]}-{partition[6:8]}"):
                expected.setdefault(sk, set()).add(customer)
    counted = {sk: item["customers"] for sk, item in table.counters(account).items() if sk.startswith("CUSTOMERS")}
    assert counted == {sk: len(customers) for sk, customers in expected.items()}


@given(sold=sales, parts=st.lists(st.integers(1, 4), max_size=16), read_at=st.integers(0, 15))
def test_a_reader_whose_account_item_is_older_sees_each_window_whole(
    sold: list[tuple[str, str, Decimal, Decimal, str]], parts: list[int], read_at: int
) -> None:
    """What it reads of a window is what the window held at some moment since it has read the account item."""
    account = Account.parse(sold[0][0])
    table = CounterTable()
    records = stream(sale((str(account), *one[1:]), i) for i, one in enumerate(sold))
    function, at, number = table.function(), 0, 0
    state, since = AccountState(account), dict[str, int]()
    for part in [*parts, len(records)]:
        if number == read_at:
            state, since = table.account(account), events(table, account)
        function.apply(records[at : at + part])
        at, number = at + part, number + 1
    now = events(table, account)
    own = sorted((item for (_, sk), item in table.items.items() if "#" in sk), key=lambda item: str(item["sk"]))
    for counter in state.counters_for_readers(own, "", "~"):
        if "events" in counter:
            assert since.get(counter["sk"], 0) <= counter["events"] <= now[counter["sk"]]


def events(table: CounterTable, account: Account) -> dict[str, int]:
    return {sk: item["events"] for sk, item in table.counters(str(account)).items() if "events" in item}
