"""Distinct customers: each is counted once a day and once for the lifetime of an account."""

from collections.abc import Collection, Sequence
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.aws.entity import Key
from quarterhour.counters.distinct import MARKERS_PER_TRANSACTION, first_places, marker_sets, missing
from quarterhour.counters.keys import customers_key, marker_key
from quarterhour.counters.plan import group
from quarterhour.model.identifiers import Account
from quarterhour.model.quarter_hours import QuarterHour
from tests.support.builders import accounts, names, with_values
from tests.support.counter_table import RETENTION, CounterTable
from tests.unit.counters.test_plan import PARTITIONS, apply, posting, stream

ACCOUNT = Account("42", "GBP")
PK = "ACCOUNT#42#GBP"
DAY = date(2026, 10, 23)


def bought(customers: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return the stream's records of sales, each given by partition and customer."""
    return stream(
        with_values(posting("42#GBP", partition, "1", "1", i), customer=customer)
        for i, (partition, customer) in enumerate(customers)
    )


def customers_of(table: CounterTable) -> dict[str, int]:
    """Return the numbers of distinct customers of the account, by sort key."""
    return {sk: item["customers"] for sk, item in table.counters("42#GBP").items() if "customers" in item}


@given(
    came=st.lists(st.tuples(st.sampled_from(PARTITIONS), st.sampled_from("abcde")), min_size=1, max_size=12),
    counted_before=st.sets(st.sampled_from("abcde")),
)
def test_a_customer_whose_marker_holds_no_place_is_counted_already(
    came: list[tuple[str, str]], counted_before: set[str]
) -> None:
    """A rebuild sets and counts markers in one transaction."""
    table = CounterTable()
    for marker_set in marker_sets(ACCOUNT, DAY, counted_before, RETENTION):
        table.count_new(marker_set)
    apply(table, bought(came))
    expected = {"CUSTOMERS": len(counted_before | {customer for _, customer in came})}
    for day in ("2026-10-23", "2026-10-24"):
        before = counted_before if day == DAY.isoformat() else set()
        if of_day := before | {customer for partition, customer in came if partition.startswith(day.replace("-", ""))}:
            expected[f"CUSTOMERS#{day}"] = len(of_day)
    assert customers_of(table) == expected


def test_a_customer_is_counted_again_on_another_day_but_not_for_the_lifetime() -> None:
    table = CounterTable()
    apply(table, bought([(PARTITIONS[0], "c7"), (PARTITIONS[2], "c7"), (PARTITIONS[3], "c7")]))
    assert customers_of(table) == {"CUSTOMERS": 1, "CUSTOMERS#2026-10-23": 1, "CUSTOMERS#2026-10-24": 1}


def test_of_two_records_of_a_customer_the_one_that_set_the_marker_counts_it() -> None:
    table = CounterTable()
    first, second = bought([(PARTITIONS[0], "c7"), (PARTITIONS[2], "c7")])
    ((one,), _) = group([first])
    places = first_places(one)
    table.mark(marker_sets(ACCOUNT, DAY, places, RETENTION), places)  # and then the function has died
    apply(table, [second])
    assert customers_of(table) == {}
    apply(table, [first])
    assert customers_of(table) == {"CUSTOMERS": 1, "CUSTOMERS#2026-10-23": 1}


def test_a_quarter_hours_counter_keeps_how_many_customers_it_added() -> None:
    table = CounterTable()
    for one in bought([(PARTITIONS[0], "a"), (PARTITIONS[1], "b"), (PARTITIONS[2], "b"), (PARTITIONS[3], "b")]):
        apply(table, [one])
    tallies = {
        sk: (item.get("new_customers", 0), item.get("new_customers_of_day", 0))
        for sk, item in table.counters("42#GBP").items()
        if sk.startswith("QUARTER#")
    }
    assert tallies == {"QUARTER#202610230130": (2, 2), "QUARTER#202610230145": (0, 0), "QUARTER#202610240000": (0, 1)}


@pytest.mark.parametrize(("count", "sizes"), [(0, []), (1, [1]), (99, [99]), (100, [99, 1]), (250, [99, 99, 52])])
def test_markers_and_their_count_fit_into_transactions_of_100(count: int, sizes: list[int]) -> None:
    (lifetime, _) = marker_sets(ACCOUNT, DAY, {f"c{i}" for i in range(250)}, RETENTION)
    seen = {marker["pk"]: dict(marker) for marker in list(lifetime.markers.values())[count:]}
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
    assert len({marker_key(key, customer)["pk"] for key, customer in of}) == len(different)


def test_a_marker_does_not_hold_the_customers_name() -> None:
    assert "c7" not in str(marker_key({"pk": PK, "sk": "CUSTOMERS"}, "c7"))
