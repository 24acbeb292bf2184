"""Distinct customers: each is counted once a day and once for the lifetime of an account."""

from collections.abc import Collection, Sequence
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.aws.entity import Key
from quarterhour.counters.distinct import (
    MARKERS_PER_TRANSACTION,
    Marker,
    MarkerSet,
    additions,
    first_places,
    marker_sets,
    missing,
    new_markers,
)
from quarterhour.counters.keys import customers_key, seen_key
from quarterhour.counters.plan import Addition, Group, group, group_changes, uncounted
from quarterhour.model.identifiers import Account
from quarterhour.model.quarter_hours import QuarterHour
from tests.support.builders import accounts, names
from tests.unit.counters.test_plan import PARTITIONS, RETENTION, Table, posting, redeliver, stream

ACCOUNT = Account("42", "GBP")
PK = "ACCOUNT#42#GBP"
DAY = date(2026, 10, 23)


class Shop(Table):
    """Counters, numbers of customers, and markers."""

    def __init__(self) -> None:
        super().__init__()
        self.markers: dict[str, Marker] = {}

    @property
    def customers(self) -> dict[str, int]:
        """The numbers of distinct customers of the account, by sort key."""
        return {sk: int(item["customers"]) for (pk, sk), item in self.items.items() if pk == PK and "customers" in item}

    def count_new(self, marker_set: MarkerSet) -> list[Marker]:
        """Set and count the missing markers in transactions, as a rebuild does."""
        found = [self.markers[key["pk"]] for key in marker_set.markers.values() if key["pk"] in self.markers]
        for new in missing(marker_set, self.markers):
            self.markers |= {key["pk"]: dict(key) for key in new.markers.values()}
            assert self.write([marker_set.addition(len(new.markers))])
        return found

    def apply(self, one: Group) -> None:
        stored = self.read_group(one)
        new = uncounted(one, stored)
        if new.postings:
            assert self.write(group_changes(new, stored, self._mark(new), RETENTION))

    def fail(self, one: Group) -> None:
        self._mark(uncounted(one, self.read_group(one)))

    def _mark(self, new: Group) -> list[Addition]:
        places = first_places(new)
        sets = marker_sets(new.account, new.quarter_hour.day, places, RETENTION)
        for marker_set in sets:
            self.markers |= {one["pk"]: one for one in new_markers(marker_set, places, self.markers)}
        return additions(new, sets, self.markers)


def bought(customers: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return the stream's records of sales, each given by partition and customer."""
    return stream(
        {**posting("42#GBP", partition, "1", "1", i), "customer": {"S": customer}}
        for i, (partition, customer) in enumerate(customers)
    )


def deliver(shop: Shop, records: Sequence[dict[str, Any]]) -> None:
    for one in group(records)[0]:
        shop.apply(one)


@given(
    came=st.lists(st.tuples(st.sampled_from(PARTITIONS), st.sampled_from("abcde")), min_size=1, max_size=12),
    counted_before=st.sets(st.sampled_from("abcde")),
    deliveries=st.lists(
        st.tuples(st.integers(0, 1), st.tuples(st.floats(0, 1), st.floats(0, 1)), st.integers(0, 255)), max_size=12
    ),
)
def test_each_customer_is_counted_once_in_any_batches_and_redeliveries(
    came: list[tuple[str, str]],
    counted_before: set[str],
    deliveries: list[tuple[int, tuple[float, float], int]],
) -> None:
    """Functions die after they have set markers. Others have been counted by 0.1.0, whose markers hold no place."""
    shop = Shop()
    for marker_set in marker_sets(ACCOUNT, DAY, counted_before, RETENTION):
        shop.count_new(marker_set)
    records = bought(came)
    lanes = [[one for one, (of, _) in zip(records, came, strict=True) if of in PARTITIONS[at::2]] for at in (0, 1)]
    done = [0, 0]
    for lane, cut, failing in [*deliveries, (0, (1, 1), 0), (1, (1, 1), 0)]:
        done[lane] = redeliver(shop, lanes[lane], done[lane], cut, failing)
    assert done == [len(lane) for lane in lanes]
    everybody = counted_before | {customer for _, customer in came}
    expected = {"CUSTOMERS": len(everybody)}
    for day in ("2026-10-23", "2026-10-24"):
        before = counted_before if day == DAY.isoformat() else set()
        if of_day := before | {customer for partition, customer in came if partition.startswith(day.replace("-", ""))}:
            expected[f"CUSTOMERS#{day}"] = len(of_day)
    assert shop.customers == expected


def test_a_customer_is_counted_again_on_another_day_but_not_for_the_lifetime() -> None:
    shop = Shop()
    deliver(shop, bought([(PARTITIONS[0], "c7"), (PARTITIONS[2], "c7"), (PARTITIONS[3], "c7")]))
    assert shop.customers == {"CUSTOMERS": 1, "CUSTOMERS#2026-10-23": 1, "CUSTOMERS#2026-10-24": 1}


def test_of_two_groups_with_the_same_customer_the_one_that_set_the_marker_counts_it() -> None:
    shop = Shop()
    first, second = (group([one])[0][0] for one in bought([(PARTITIONS[0], "c7"), (PARTITIONS[2], "c7")]))
    shop.fail(first)
    shop.apply(second)
    assert shop.customers == {}
    shop.apply(first)
    assert shop.customers == {"CUSTOMERS": 1, "CUSTOMERS#2026-10-23": 1}


def test_a_quarter_hours_counter_keeps_how_many_customers_it_added() -> None:
    shop = Shop()
    records = bought([(PARTITIONS[0], "a"), (PARTITIONS[1], "b"), (PARTITIONS[2], "b"), (PARTITIONS[3], "b")])
    for record in records:
        deliver(shop, [record])
    tallies = {
        sk: (item.get("new_customers", 0), item.get("new_customers_of_day", 0))
        for (_, sk), item in shop.items.items()
        if sk.startswith("QUARTER#")
    }
    assert tallies == {"QUARTER#202610230130": (2, 2), "QUARTER#202610230145": (0, 0), "QUARTER#202610240000": (0, 1)}


@pytest.mark.parametrize(("count", "sizes"), [(0, []), (1, [1]), (99, [99]), (100, [99, 1]), (250, [99, 99, 52])])
def test_markers_and_their_count_fit_into_transactions_of_100(count: int, sizes: list[int]) -> None:
    (lifetime, _) = marker_sets(ACCOUNT, DAY, {f"c{i}" for i in range(250)}, RETENTION)
    seen = {marker["pk"] for marker in list(lifetime.markers.values())[count:]}
    assert [len(new.markers) for new in missing(lifetime, seen)] == sizes
    assert MARKERS_PER_TRANSACTION + 1 == 100


def test_a_days_markers_and_count_expire_and_the_lifetimes_never_do() -> None:
    lifetime, day = marker_sets(ACCOUNT, DAY, {"c7"}, RETENTION)
    assert (lifetime.counter_expires, lifetime.markers_expire) == (None, None)
    midnight = int(QuarterHour.last_of(DAY).end.timestamp())
    assert day.counter_expires == midnight + int(RETENTION.day.total_seconds())
    assert day.markers_expire == midnight + int(timedelta(days=3).total_seconds())


@given(st.lists(st.tuples(st.builds(customers_key, accounts, st.none() | st.just(DAY)), names)))
def test_no_two_customers_of_a_count_share_a_marker(of: Collection[tuple[Key, str]]) -> None:
    different = {(key["pk"], key["sk"], customer) for key, customer in of}
    assert len({seen_key(key, customer)["pk"] for key, customer in of}) == len(different)


def test_a_marker_does_not_hold_the_customers_name() -> None:
    assert "c7" not in str(seen_key({"pk": PK, "sk": "CUSTOMERS"}, "c7"))
