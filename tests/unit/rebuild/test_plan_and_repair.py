"""Rebuilding counters from the sealed ledger, and distinct customers: right in the end, whatever was wrong."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.aws.entity import Key
from quarterhour.aws.workers import Workers
from quarterhour.counters.distinct import MARKERS, Sighting, missing, sightings
from quarterhour.counters.keys import customers_key, partition_of, seen_key
from quarterhour.counters.plan import Change, Counter, group
from quarterhour.model import clock
from quarterhour.model.clock import ManualClock
from quarterhour.model.errors import UnavailableError
from quarterhour.model.identifiers import Account, Partition
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import Totals
from quarterhour.rebuild.plan import (
    EVERYTHING,
    FINAL_AFTER,
    differing,
    final_through,
    lifetimes,
    partition_fix,
    total,
    truths,
)
from quarterhour.rebuild.repair import CounterRepair
from tests.support.builders import AT, QUARTER, accounts, amounts, names
from tests.support.script import cancelled
from tests.unit.counters.test_counters import RETENTION, Table, posting, stream

ACCOUNT = Account("42", "GBP")
PK = "ACCOUNT#42#GBP"
SEALED = ("202610222345#00", "202610230130#00", "202610230130#01")
UNSEALED = ("202610230145#00", "202610230200#00")
ROLLOVER = QuarterHour.parse("202610230130")
DAY = date(2026, 10, 23)


class Store:
    """Stands for the counters' store, on a table that others write to between the calls."""

    def __init__(self, table: Table, meanwhile: Callable[[], None] = lambda: None) -> None:
        self.table = table
        self.meanwhile = meanwhile
        self.markers: set[str] = set()
        self.customers: dict[tuple[str, str], int] = {}

    def read(self, keys: Iterable[Key]) -> Mapping[str, Counter]:
        keys = list(keys)
        counts = {key["sk"]: self.customers.get((key["pk"], key["sk"])) for key in keys}
        found = {sk: {"customers": Decimal(count)} for sk, count in counts.items() if count is not None}
        found |= self.table.read(keys)
        self.meanwhile()
        return found

    def write(self, changes: Sequence[Change]) -> None:
        if not self.table.write(changes):
            raise cancelled(["ConditionalCheckFailed"])

    def counted(self, account: Account, first: QuarterHour, last: QuarterHour) -> dict[Partition, Totals]:
        assert account == ACCOUNT
        assert first <= last, "DynamoDB takes no BETWEEN whose bounds are the wrong way round"
        found = {
            partition_of(sk): Totals.of(item)
            for (pk, sk), item in self.table.items.items()
            if pk == PK and sk.startswith("QUARTER#")
        }
        self.meanwhile()
        return {partition: totals for partition, totals in found.items() if first <= partition.quarter_hour <= last}

    def count_missing(self, sighting: Sighting) -> None:
        for new in missing(sighting, self.markers):
            self.markers |= {marker["pk"] for marker in new.markers}
            place = new.counter["pk"], new.counter["sk"]
            self.customers[place] = self.customers.get(place, 0) + len(new.markers)

    def set_customers(self, counter: Key, customers: int, expires: int) -> None:
        assert expires > clock.now().timestamp()
        self.customers[counter["pk"], counter["sk"]] = customers


def rebuild(
    store: Any,
    postings: Sequence[Mapping[str, Any]],
    now: datetime = AT + timedelta(hours=1),
    through: QuarterHour = ROLLOVER,
) -> int:
    """Rebuild from the sealed ones of some postings, day by day; return how much was mended."""
    lines = [
        {"customer": "", **{name: value["S"] for name, value in item.items()}}
        for item in sorted(postings, key=lambda item: str(item["quarter_hour"]["S"]))
        if item["quarter_hour"]["S"] in SEALED
    ]
    with clock.using(ManualClock(now)):
        rebuilder = CounterRepair(store, RETENTION, through, Workers(1))
        mended, runs = 0, []
        for day, some in groupby(lines, lambda line: Partition.parse(line["quarter_hour"]).quarter_hour.day):
            of_day = list(some)
            mended += rebuilder.repair_day(day, of_day, ACCOUNT)
            totals = total(truth.totals for truth in truths(of_day, ACCOUNT).values())
            runs.append((min(through, QuarterHour.last_of(day)).end, {ACCOUNT: totals}))
        looked_at, lifetimes = rebuilder.repair_lifetimes(runs, ACCOUNT)
        assert looked_at == 1
        return mended + lifetimes


def expected(postings: Iterable[Mapping[str, Any]], prefix: str = "") -> Totals:
    totals = Totals()
    for item in postings:
        if item["quarter_hour"]["S"].startswith(prefix):
            totals = totals.plus(Decimal(item["amount"]["S"]), Decimal(item["commission"]["S"]))
    return totals


figures = amounts()


@given(
    sold=st.lists(st.tuples(st.sampled_from(SEALED + UNSEALED), figures), min_size=1, max_size=12),
    delivered=st.floats(0, 1),
    broken=st.dictionaries(
        st.sampled_from(["latest", "DAY#2026-10-23", "DAY#2026-10-22", *(f"QUARTER#{one}" for one in SEALED)]),
        st.none() | figures,
    ),
    steps=st.lists(st.integers(0, 1), max_size=20),
    later=st.sampled_from([timedelta(hours=1), timedelta(days=2), timedelta(days=3), timedelta(days=5)]),
)
def test_whatever_is_broken_and_whatever_keeps_coming_the_counters_end_right(
    sold: list[tuple[str, Decimal]],
    delivered: float,
    broken: dict[str, Decimal | None],
    steps: list[int],
    later: timedelta,
) -> None:
    postings = [posting("42#GBP", partition, amount, amount, i) for i, (partition, amount) in enumerate(sold)]
    records = stream(postings)
    table = Table()
    done = round(delivered * len(records))
    deliver(table, records[:done])
    for sk, gross in broken.items():
        if gross is None:
            table.items.pop((PK, sk), None)
        elif (PK, sk) in table.items:
            damaged = Totals(events=10**6, gross=gross, refunds=gross, commission=gross)
            table.items[PK, sk] |= {**damaged.as_dict(), "version": table.items[PK, sk]["version"] + 1}

    def meanwhile() -> None:
        nonlocal done
        if steps and steps.pop() and done < len(records):
            deliver(table, records[done : done + 1])
            done += 1

    rebuild_patiently(Store(table, meanwhile), postings, AT + later)
    deliver(table, records[max(0, done - 2) :])
    if any(one in SEALED for one, _ in sold):
        assert table.totals("42#GBP", "latest") == expected(postings)
    for partition in {one for one, _ in sold}:
        assert table.totals("42#GBP", f"QUARTER#{partition}") == expected(postings, partition)
    for day in {one[:8] for one, _ in sold if one in SEALED}:
        sk = f"DAY#{day[:4]}-{day[4:6]}-{day[6:]}"
        assert table.totals("42#GBP", sk) == expected(postings, day)
    assert rebuild(Store(table), postings, AT + later) == 0


def deliver(table: Table, records: Sequence[dict[str, Any]]) -> None:
    for one in group(records)[0]:
        table.apply(one)


def rebuild_patiently(store: Store, postings: Sequence[Mapping[str, Any]], now: datetime) -> None:
    """Run it until it comes through, as the operator would: it gives up where an account keeps changing."""
    for _ in range(5):
        try:
            rebuild(store, postings, now)
        except UnavailableError:
            continue
        return
    raise AssertionError("it never came through")


def test_right_counters_are_left_alone() -> None:
    postings = [posting("42#GBP", SEALED[1], "10.00", "1.00", 0), posting("42#GBP", UNSEALED[0], "5.00", "0.50", 1)]
    table = Table()
    deliver(table, stream(postings))
    before = dict(table.items)
    assert rebuild(Store(table), postings) == 0
    assert table.items == before


def test_what_the_stream_still_brings_of_a_mended_partition_is_not_counted_again() -> None:
    postings = [posting("42#GBP", SEALED[1], "10.00", "1.00", i) for i in range(3)]
    records = stream(postings)
    table = Table()
    deliver(table, records[:1])
    rebuild(Store(table), postings)
    assert table.totals("42#GBP", "latest").events == 3
    deliver(table, records)
    assert table.totals("42#GBP", "latest").events == 3


@pytest.mark.usefixtures("hands")
def test_an_account_that_keeps_changing_is_given_up_with_its_name() -> None:
    postings = [posting("42#GBP", SEALED[1], "10.00", "1.00", 0)]
    table = Table()

    def changed() -> None:
        before = table.items.get((PK, "latest"), {**Totals().as_dict(), "version": Decimal(0)})
        table.items[PK, "latest"] = {**before, "version": before["version"] + 1}

    store = Store(table, changed)
    with pytest.raises(UnavailableError, match="ACCOUNT#42#GBP was changed by others"):
        rebuild(store, postings)


def test_a_mended_partition_says_that_all_of_it_is_counted() -> None:
    partition = Partition.parse(SEALED[1])
    quarter_hour, _, _ = partition_fix(ACCOUNT, partition, Totals(1, Decimal(5), Decimal(0), Decimal(1)), {}, RETENTION)
    assert quarter_hour.values["seq"] == EVERYTHING
    assert len(EVERYTHING) == 40


def test_what_was_counted_of_a_sealed_partition_without_a_line_is_taken_back() -> None:
    postings = [posting("42#GBP", SEALED[1], "10.00", "1.00", 0)]
    table = Table()
    deliver(table, stream([*postings, posting("42#GBP", SEALED[2], "3.00", "0.30", 1)]))
    assert rebuild(Store(table), postings) > 0
    assert table.totals("42#GBP", f"QUARTER#{SEALED[2]}") == Totals()
    assert table.totals("42#GBP", "latest") == table.totals("42#GBP", "DAY#2026-10-23") == expected(postings)


def test_an_expired_partition_stays_away_and_an_expired_day_too() -> None:
    postings = [posting("42#GBP", SEALED[1], "10.00", "1.00", 0)]
    for days, standing in (
        (30, {"latest", "DAY#2026-10-23", f"QUARTER#{SEALED[1]}"}),
        (40, {"latest", "DAY#2026-10-23"}),
    ):
        store = Store(Table())
        assert (
            rebuild(store, postings, AT + timedelta(days=days), QuarterHour.last_of(DAY + timedelta(days=days - 1))) > 0
        )
        assert {sk for _, sk in store.table.items} == standing
    store = Store(Table())
    assert rebuild(store, postings, AT + timedelta(days=900), QuarterHour.last_of(DAY + timedelta(days=899))) == 1
    assert {sk for _, sk in store.table.items} == {"latest"}
    assert store.customers == {}


def test_a_lifetime_is_left_alone_where_counters_have_expired_that_nothing_has_sealed() -> None:
    with pytest.raises(UnavailableError, match="let the reports catch up"):
        rebuild(Store(Table()), [posting("42#GBP", SEALED[0], "10.00", "1.00", 0)], AT + timedelta(days=40))


# ---------------------------------------------------------------- the plan


@pytest.mark.parametrize(
    ("now", "settled"),
    [
        (datetime(2026, 10, 24, 23, 59, tzinfo=UTC), "202610212345"),
        (datetime(2026, 10, 25, 0, 0, tzinfo=UTC), "202610222345"),
        (datetime(2026, 10, 26, 0, 0, tzinfo=UTC), "202610230130"),
    ],
)
def test_settled_is_what_is_sealed_of_days_that_ended_two_days_ago(now: datetime, settled: str) -> None:
    assert final_through(ROLLOVER, now) == QuarterHour.parse(settled)


def test_lifetimes_are_the_sums_of_settled_runs_and_name_the_accounts_of_all() -> None:
    one, two, other = Totals(1, Decimal(5)), Totals(2, Decimal(7)), Account("7", "GBP")
    settled = QuarterHour.last_of(DAY)
    runs = [
        (settled.start, {ACCOUNT: one}),
        (settled.end, {ACCOUNT: two}),
        (settled.next.end, {ACCOUNT: one, other: two}),
    ]
    assert lifetimes(runs, None, settled) == {ACCOUNT: one + two, other: Totals()}
    assert lifetimes(runs, other, settled) == {other: Totals()}
    assert lifetimes([], ACCOUNT, settled) == {ACCOUNT: Totals()}


def test_partitions_differ_that_are_wrong_missing_or_spare() -> None:
    right, wrong, missing_, spare = (Partition(ROLLOVER, shard) for shard in range(4))
    one, two = Totals(1, Decimal(5)), Totals(2, Decimal(7))
    assert differing({right: one, wrong: one, missing_: one}, {right: one, wrong: two, spare: two}) == [
        wrong,
        missing_,
        spare,
    ]


# ---------------------------------------------------------------- distinct customers


def shopping(*customers: str) -> list[dict[str, Any]]:
    return [
        {**posting("42#GBP", SEALED[1], "10.00", "1.00", i), "customer": {"S": customer}}
        for i, customer in enumerate(customers)
    ]


@given(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=10), st.integers(0, 20))
def test_a_settled_days_customers_are_set_without_markers_and_once_and_for_all(came: list[str], wrong: int) -> None:
    store = Store(Table())
    store.customers[PK, "CUSTOMERS#2026-10-23"] = wrong
    later, through = QuarterHour.last_of(DAY).end + FINAL_AFTER, QuarterHour.last_of(DAY + timedelta(days=1))
    rebuild(store, shopping(*came), later, through)
    assert set(store.customers.values()) == {len(set(came))}
    store.markers = {one for one in store.markers if one in lifetime_markers(came)}
    assert rebuild(store, shopping(*came), later, through) == 0
    assert set(store.customers.values()) == {len(set(came))}


def lifetime_markers(customers: Iterable[str]) -> set[str]:
    lifetime, _ = sightings(ACCOUNT, DAY, set(customers), RETENTION)
    return {marker["pk"] for marker in lifetime.markers}


def test_a_day_that_is_not_sealed_to_its_end_keeps_its_customers_once_its_markers_may_be_gone() -> None:
    store = Store(Table())
    store.customers[PK, "CUSTOMERS#2026-10-23"] = 7
    rebuild(store, shopping("a", "b"), QuarterHour.last_of(DAY).end + FINAL_AFTER)
    assert store.customers == {(PK, "CUSTOMERS#2026-10-23"): 7, (PK, "CUSTOMERS"): 2}


def test_a_young_days_customers_go_by_markers_which_the_stream_finds_too() -> None:
    store = Store(Table())
    young = QuarterHour.last_of(DAY).end + FINAL_AFTER - timedelta(seconds=1)
    store.count_missing(sightings(ACCOUNT, DAY, {"a", "z"}, RETENTION)[1])
    rebuild(store, shopping("a", "b"), young, QuarterHour.last_of(DAY))
    for again in sightings(ACCOUNT, DAY, {"a", "b", "z"}, RETENTION):
        store.count_missing(again)
    assert store.customers == {(PK, "CUSTOMERS#2026-10-23"): 3, (PK, "CUSTOMERS"): 3}


@given(st.lists(st.lists(st.sampled_from("abcdefg"), max_size=5), max_size=10))
def test_each_customer_is_counted_once_however_often_they_come(batches: list[list[str]]) -> None:
    store = Store(Table())
    for batch in batches:
        for sighting in sightings(ACCOUNT, DAY, set(batch), RETENTION):
            store.count_missing(sighting)
    everybody = {one for batch in batches for one in batch}
    wanted = dict.fromkeys([(PK, "CUSTOMERS"), (PK, "CUSTOMERS#2026-10-23")], len(everybody)) if everybody else {}
    assert store.customers == wanted


def test_a_customer_is_counted_again_on_another_day_but_not_for_the_lifetime() -> None:
    store = Store(Table())
    for day in (DAY, date(2026, 10, 24)):
        for sighting in sightings(ACCOUNT, day, {"c7"}, RETENTION):
            store.count_missing(sighting)
    assert store.customers == {(PK, "CUSTOMERS"): 1, (PK, "CUSTOMERS#2026-10-23"): 1, (PK, "CUSTOMERS#2026-10-24"): 1}


@pytest.mark.parametrize(("count", "sizes"), [(0, []), (1, [1]), (99, [99]), (100, [99, 1]), (250, [99, 99, 52])])
def test_markers_and_their_count_fit_into_transactions_of_100(count: int, sizes: list[int]) -> None:
    (lifetime, _) = sightings(ACCOUNT, DAY, {f"c{i}" for i in range(250)}, RETENTION)
    seen = {marker["pk"] for marker in lifetime.markers[count:]}
    assert [len(new.markers) for new in missing(lifetime, seen)] == sizes
    assert MARKERS + 1 == 100


def test_a_days_markers_and_count_expire_and_the_lifetimes_never_do() -> None:
    lifetime, day = sightings(ACCOUNT, DAY, {"c7"}, RETENTION)
    assert (lifetime.counter_expires, lifetime.markers_expire) == (None, None)
    midnight = int(QuarterHour.last_of(DAY).end.timestamp())
    assert day.counter_expires == midnight + int(RETENTION.day.total_seconds())
    assert day.markers_expire == midnight + int(timedelta(days=3).total_seconds())


@given(st.lists(st.tuples(st.builds(customers_key, accounts, st.none() | st.just(DAY)), names)))
def test_no_two_customers_of_a_count_share_a_marker(of: Collection[tuple[Key, str]]) -> None:
    different = {(key["pk"], key["sk"], customer) for key, customer in of}
    assert len({seen_key(key, customer)["pk"] for key, customer in of}) == len(different)


def test_a_marker_does_not_keep_the_customers_name() -> None:
    assert "c7" not in str(seen_key({"pk": PK, "sk": "CUSTOMERS"}, "c7"))
    assert QUARTER.day == DAY
