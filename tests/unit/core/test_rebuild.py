"""Rebuilding counters from the sealed ledger, and distinct customers: right in the end, whatever was wrong."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour import clock
from quarterhour.clock import ManualClock
from quarterhour.counters.distinct import MARKERS, Sighting, missing, sightings
from quarterhour.counters.keys import customers_key, partition_of, seen_key
from quarterhour.counters.plan import Change, Counter, group
from quarterhour.counters.rebuild import EVERYTHING, partition_fix
from quarterhour.counters.rebuilder import Rebuilder
from quarterhour.entity import Key
from quarterhour.errors import UnavailableError
from quarterhour.ledger.keys import Account, Partition
from quarterhour.quarters import Quarter
from quarterhour.totals import Totals
from tests.unit.core.builders import AT, QUARTER, accounts, amounts, names
from tests.unit.core.script import cancelled
from tests.unit.core.test_counters import RETENTION, Table, posting, stream

ACCOUNT = Account("42", "GBP")
PK = "ACCOUNT#42#GBP"
SEALED = ("202610222345#00", "202610230130#00", "202610230130#01")
UNSEALED = ("202610230145#00", "202610230200#00")
ROLLOVER = Quarter.parse("202610230130")
DAY = date(2026, 10, 23)


class Store:
    """Stands for the counters' store, on a table that others write to between the calls."""

    def __init__(self, table: Table, meanwhile: Callable[[], None] = lambda: None) -> None:
        self.table = table
        self.meanwhile = meanwhile
        self.markers: set[str] = set()
        self.customers: dict[tuple[str, str], int] = {}

    def read(self, keys: Iterable[Key]) -> Mapping[str, Counter]:
        found = self.table.read(keys)
        self.meanwhile()
        return found

    def write(self, changes: Sequence[Change]) -> None:
        if not self.table.write(changes):
            raise cancelled(["ConditionalCheckFailed"])

    def counted_after(self, account: Account, quarter: Quarter) -> list[tuple[Partition, Totals]]:
        assert account == ACCOUNT
        found = [
            (partition_of(sk), Totals.of(item))
            for (pk, sk), item in self.table.items.items()
            if pk == PK and sk.startswith("QUARTER#")
        ]
        self.meanwhile()
        return [(partition, totals) for partition, totals in found if partition.quarter > quarter]

    def count_missing(self, sighting: Sighting) -> None:
        for new in missing(sighting, self.markers):
            self.markers |= {marker["pk"] for marker in new.markers}
            place = new.counter["pk"], new.counter["sk"]
            self.customers[place] = self.customers.get(place, 0) + len(new.markers)


def rebuild(store: Any, postings: Sequence[Mapping[str, Any]]) -> int:
    """Rebuild from the sealed ones of some postings; return how much was mended."""
    lines = [
        {"customer": "", **{name: value["S"] for name, value in item.items()}}
        for item in postings
        if item["quarter_hour"]["S"] in SEALED
    ]
    with clock.using(ManualClock(AT + timedelta(hours=1))):
        return Rebuilder(store, RETENTION, ROLLOVER).rebuild(lines, ACCOUNT).mended


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
)
def test_whatever_is_broken_and_whatever_keeps_coming_the_counters_end_right(
    sold: list[tuple[str, Decimal]], delivered: float, broken: dict[str, Decimal | None], steps: list[int]
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

    rebuild_patiently(Store(table, meanwhile), postings)
    deliver(table, records[max(0, done - 2) :])
    if any(one in SEALED for one, _ in sold):
        assert table.totals("42#GBP", "latest") == expected(postings)
    for partition in {one for one, _ in sold}:
        assert table.totals("42#GBP", f"QUARTER#{partition}") == expected(postings, partition)
    for day in {one[:8] for one, _ in sold if one in SEALED}:
        sk = f"DAY#{day[:4]}-{day[4:6]}-{day[6:]}"
        assert table.totals("42#GBP", sk) == expected(postings, day)
    assert rebuild(Store(table), postings) == 0


def deliver(table: Table, records: Sequence[dict[str, Any]]) -> None:
    for one in group(records)[0]:
        table.apply(one)


def rebuild_patiently(store: Store, postings: Sequence[Mapping[str, Any]]) -> None:
    """Run it until it comes through, as the operator would: it gives up where an account keeps changing."""
    for _ in range(5):
        try:
            rebuild(store, postings)
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
    with pytest.raises(UnavailableError, match="ACCOUNT#42#GBP kept changing"):
        rebuild(store, postings)


def test_a_mended_partition_says_that_all_of_it_is_counted() -> None:
    partition = Partition.parse(SEALED[1])
    quarter, _, _ = partition_fix(ACCOUNT, partition, Totals(1, Decimal(5), Decimal(0), Decimal(1)), {}, RETENTION)
    assert quarter.values["seq"] == EVERYTHING
    assert len(EVERYTHING) == 40


# ---------------------------------------------------------------- distinct customers


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
    midnight = int(Quarter.last_of(DAY).end.timestamp())
    assert day.counter_expires == midnight + int(RETENTION.day.total_seconds())
    assert day.markers_expire == midnight + int(timedelta(days=3).total_seconds())


@given(st.lists(st.tuples(st.builds(customers_key, accounts, st.none() | st.just(DAY)), names)))
def test_no_two_customers_of_a_count_share_a_marker(of: Collection[tuple[Key, str]]) -> None:
    different = {(key["pk"], key["sk"], customer) for key, customer in of}
    assert len({seen_key(key, customer)["pk"] for key, customer in of}) == len(different)


def test_a_marker_does_not_keep_the_customers_name() -> None:
    assert "c7" not in str(seen_key({"pk": PK, "sk": "CUSTOMERS"}, "c7"))
    assert QUARTER.day == DAY
