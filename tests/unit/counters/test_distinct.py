"""Distinct customers: each is counted once a day and once for the lifetime of an account."""

from collections.abc import Collection
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.aws.entity import Key
from quarterhour.counters.distinct import MARKERS_PER_TRANSACTION, MarkerSet, marker_sets, missing
from quarterhour.counters.keys import customers_key, seen_key
from quarterhour.model.identifiers import Account
from quarterhour.model.quarter_hours import QuarterHour
from tests.support.builders import accounts, names
from tests.unit.counters.test_plan import RETENTION

ACCOUNT = Account("42", "GBP")
PK = "ACCOUNT#42#GBP"
DAY = date(2026, 10, 23)


class CustomerStore:
    """Stands in for the store's markers and numbers of customers."""

    def __init__(self) -> None:
        self.markers: set[str] = set()
        self.customers: dict[tuple[str, str], int] = {}

    def count_new(self, marker_set: MarkerSet) -> None:
        for new in missing(marker_set, self.markers):
            self.markers |= {marker["pk"] for marker in new.markers}
            place = new.counter["pk"], new.counter["sk"]
            self.customers[place] = self.customers.get(place, 0) + len(new.markers)


@given(st.lists(st.lists(st.sampled_from("abcdefg"), max_size=5), max_size=10))
def test_each_customer_is_counted_once(batches: list[list[str]]) -> None:
    store = CustomerStore()
    for batch in batches:
        for marker_set in marker_sets(ACCOUNT, DAY, set(batch), RETENTION):
            store.count_new(marker_set)
    everybody = {one for batch in batches for one in batch}
    expected = dict.fromkeys([(PK, "CUSTOMERS"), (PK, "CUSTOMERS#2026-10-23")], len(everybody)) if everybody else {}
    assert store.customers == expected


def test_a_customer_is_counted_again_on_another_day_but_not_for_the_lifetime() -> None:
    store = CustomerStore()
    for day in (DAY, date(2026, 10, 24)):
        for marker_set in marker_sets(ACCOUNT, day, {"c7"}, RETENTION):
            store.count_new(marker_set)
    assert store.customers == {(PK, "CUSTOMERS"): 1, (PK, "CUSTOMERS#2026-10-23"): 1, (PK, "CUSTOMERS#2026-10-24"): 1}


@pytest.mark.parametrize(("count", "sizes"), [(0, []), (1, [1]), (99, [99]), (100, [99, 1]), (250, [99, 99, 52])])
def test_markers_and_their_count_fit_into_transactions_of_100(count: int, sizes: list[int]) -> None:
    (lifetime, _) = marker_sets(ACCOUNT, DAY, {f"c{i}" for i in range(250)}, RETENTION)
    seen = {marker["pk"] for marker in lifetime.markers[count:]}
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
