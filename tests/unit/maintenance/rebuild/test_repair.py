"""Repairing counters and distinct customers from the sealed ledger, while new events arrive."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.aws.workers import Workers
from quarterhour.counters.distinct import first_places, marker_sets
from quarterhour.counters.keys import quarter_hour_key
from quarterhour.counters.plan import group, uncounted
from quarterhour.counters.windows import AccountState
from quarterhour.ledger.events.event import PAYMENT
from quarterhour.ledger.postings.posting import Posting, charges_of
from quarterhour.ledger.postings.segments import postings_of
from quarterhour.maintenance.rebuild.plan import FINAL_AFTER, sealed_days
from quarterhour.maintenance.rebuild.repair import CounterRepair
from quarterhour.model import clock
from quarterhour.model.charge_totals import ChargeTotals
from quarterhour.model.clock import ManualClock
from quarterhour.model.errors import UnavailableError
from quarterhour.model.identifiers import Account, Partition
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import PeriodTotals, Totals, add_up, total
from tests.support.builders import AT, amounts, with_values
from tests.support.counter_table import RETENTION, CounterTable
from tests.unit.counters.test_distinct import bought, customers_of
from tests.unit.counters.test_plan import apply, charges, posting, stream

ACCOUNT = Account("42", "GBP")
PK = "ACCOUNT#42#GBP"
SEALED = ("202610222345#00", "202610230130#00", "202610230130#01")
UNSEALED = ("202610230145#00", "202610230200#00")
MONTHS = ("PERIOD#2026-09", "PERIOD#2026-10")
ROLLOVER = QuarterHour.parse("202610230130")
DAY = date(2026, 10, 23)


def racing(table: CounterTable, meanwhile: Callable[[], None]) -> CounterTable:
    """Return the table, to which others write between the calls."""
    table.meanwhile = meanwhile
    return table


def rebuild(
    store: Any,
    postings: Sequence[Mapping[str, Any]],
    now: datetime = AT + timedelta(hours=1),
    through: QuarterHour = ROLLOVER,
) -> int:
    """Rebuild from the sealed ones of some postings, day by day; return the number of repairs."""
    lines = [
        {"customer": "", **one}
        for item in sorted(postings, key=lambda item: str(item["quarter_hour"]["S"]))
        for one in postings_of(dict(item))
        if item["quarter_hour"]["S"] in SEALED
    ]
    with clock.using(ManualClock(now)):
        repair = CounterRepair(store, RETENTION, through, Workers(1))
        repaired, runs = 0, []
        for day, some in groupby(lines, lambda line: Partition.parse(line["quarter_hour"]).quarter_hour.day):
            of_day = list(some)
            repaired += repair.repair_day(day, of_day, ACCOUNT)
            totals: PeriodTotals = {}
            for sealed in sealed_days(of_day, ACCOUNT).values():
                for periods in sealed.quarter_hours.values():
                    add_up(totals, periods.items())
            runs.append((min(through, QuarterHour.last_of(day)).end, {ACCOUNT: totals}))
        compared, lifetimes = repair.repair_lifetimes(runs, ACCOUNT)
        assert compared == 1
        return repaired + lifetimes


def expected(postings: Iterable[Mapping[str, Any]], prefix: str = "") -> Totals:
    totals = Totals()
    for one in (one for item in postings for one in postings_of(dict(item))):
        if one["quarter_hour"].startswith(prefix):
            amount, commission = Decimal(one["amount"]), Decimal(one["commission"])
            is_payment = one["type"] == PAYMENT
            totals = totals.plus(amount, commission, is_payment=is_payment, charges=charges_of(one))
    return totals


def by_period(postings: Iterable[Mapping[str, Any]]) -> PeriodTotals:
    totals: PeriodTotals = {}
    for item in (Posting.of(values) for one in postings for values in postings_of(dict(one))):
        before = totals.get(item.period, Totals())
        totals[item.period] = before.plus(
            item.amount, item.commission, is_payment=item.is_payment, charges=item.charges
        )
    return totals


figures = amounts()


@given(
    sold=st.lists(st.tuples(st.sampled_from(SEALED + UNSEALED), figures, st.booleans()), min_size=1, max_size=12),
    delivered=st.floats(0, 1),
    broken=st.dictionaries(
        st.sampled_from(
            ["latest", "DAY#2026-10-23", "DAY#2026-10-22", *(f"QUARTER#{one[:12]}" for one in SEALED), *MONTHS]
        ),
        st.none() | figures,
    ),
    steps=st.lists(st.integers(0, 1), max_size=20),
    later=st.sampled_from([timedelta(hours=1), timedelta(days=2), timedelta(days=3), timedelta(days=5)]),
)
def test_a_rebuild_corrects_any_counters_while_events_keep_arriving(
    sold: list[tuple[str, Decimal, bool]],
    delivered: float,
    broken: dict[str, Decimal | None],
    steps: list[int],
    later: timedelta,
) -> None:
    postings = [
        sold_or_paid(partition, amount, i, is_payment=is_payment)
        for i, (partition, amount, is_payment) in enumerate(sold)
    ]
    records = stream(postings)
    done = round(delivered * len(sold))
    table = CounterTable()
    deliver(table, records[:done])
    if broken:
        table.let_windows_leave()
    for sk, gross in broken.items():
        if gross is None:
            table.items.pop((PK, sk), None)
        elif (PK, sk) in table.items:
            wrong = ChargeTotals({"fee": gross}, {"tiered@month/account/volume/0=0": gross})
            damaged = Totals(10**6, gross, gross, gross, gross, charges=wrong)
            table.items[PK, sk] |= {**damaged.as_dict(), "version": table.items[PK, sk]["version"] + 1}

    def meanwhile() -> None:
        nonlocal done
        if steps and steps.pop() and done < len(records):
            deliver(table, records[done : done + 1])
            done += 1

    rebuild_patiently(racing(table, meanwhile), postings, AT + later)
    table.meanwhile = lambda: None
    deliver(table, records[max(0, done - 2) :])
    if any(one in SEALED for one, *_ in sold):
        assert table.totals("42#GBP", "latest") == expected(postings)
        counted = {period: one for period, one in table.all_periods("42#GBP").items() if one.events}
        assert counted == by_period(postings)
    for quarter_hour, periods in table.quarter_hours("42#GBP").items():
        assert total(periods.values()) == expected(postings, str(quarter_hour))
    for day in {one[:8] for one, *_ in sold if one in SEALED}:
        sk = f"DAY#{day[:4]}-{day[4:6]}-{day[6:]}"
        assert table.totals("42#GBP", sk) == expected(postings, day)
    assert rebuild(table, postings, AT + later) == 0


def sold_or_paid(partition: str, amount: Decimal, i: int, *, is_payment: bool) -> dict[str, Any]:
    item = posting("42#GBP", partition, amount, amount, i)
    return with_values(item, type=PAYMENT) if is_payment else with_values(item, charges=charges(amount, amount, i))


def deliver(table: CounterTable, records: Sequence[dict[str, Any]]) -> None:
    if records:
        apply(table, records)


def rebuild_patiently(store: CounterTable, postings: Sequence[Mapping[str, Any]], now: datetime) -> None:
    """Run it until it comes through, as the operator would: it gives up where an account keeps changing."""
    for _ in range(5):
        try:
            rebuild(store, postings, now)
        except UnavailableError:
            continue
        return
    raise AssertionError("it never came through")


def test_correct_counters_are_not_written() -> None:
    postings = [posting("42#GBP", SEALED[1], "10.00", "1.00", 0), posting("42#GBP", UNSEALED[0], "5.00", "0.50", 1)]
    table = CounterTable()
    deliver(table, stream(postings))
    before = dict(table.items)
    assert rebuild(table, postings) == 0
    assert table.items == before


def test_records_of_a_repaired_quarter_hour_are_not_counted_again() -> None:
    postings = [posting("42#GBP", SEALED[1 + i % 2], "10.00", "1.00", i) for i in range(3)]
    records = stream(postings)
    table = CounterTable()
    deliver(table, records[:1])
    rebuild(table, postings)
    assert table.totals("42#GBP", "latest").events == 3
    deliver(table, records)
    assert table.totals("42#GBP", "latest").events == 3


@pytest.mark.usefixtures("hands")
def test_an_account_that_keeps_changing_is_given_up_and_named() -> None:
    postings = [posting("42#GBP", SEALED[1], "10.00", "1.00", 0)]
    table = CounterTable()

    def changed() -> None:
        before = table.items.get((PK, "latest"), AccountState(ACCOUNT).item())
        table.items[PK, "latest"] = {**before, "version": before["version"] + 1}

    store = racing(table, changed)
    with pytest.raises(UnavailableError, match="ACCOUNT#42#GBP could not be written, or others kept changing it"):
        rebuild(store, postings)


def test_counts_of_a_sealed_partition_without_lines_are_removed() -> None:
    postings = [posting("42#GBP", SEALED[1], "10.00", "1.00", 0)]
    table = CounterTable()
    deliver(table, stream([*postings, posting("42#GBP", SEALED[2], "3.00", "0.30", 1)]))
    assert rebuild(table, postings) > 0
    assert total(table.quarter_hours("42#GBP")[ROLLOVER].values()) == expected(postings)
    assert table.totals("42#GBP", "latest") == table.totals("42#GBP", "DAY#2026-10-23") == expected(postings)


def test_expired_partitions_and_days_are_not_restored() -> None:
    postings = [posting("42#GBP", SEALED[1], "10.00", "1.00", 0)]
    for days, existing in (
        (30, {"latest", "PERIOD#2026-10", "DAY#2026-10-23", f"QUARTER#{ROLLOVER}"}),
        (40, {"latest", "PERIOD#2026-10", "DAY#2026-10-23"}),
    ):
        store = CounterTable()
        assert (
            rebuild(store, postings, AT + timedelta(days=days), QuarterHour.last_of(DAY + timedelta(days=days - 1))) > 0
        )
        assert set(store.counters("42#GBP")) == existing
    store = CounterTable()
    assert rebuild(store, postings, AT + timedelta(days=900), QuarterHour.last_of(DAY + timedelta(days=899))) == 2
    assert set(store.counters("42#GBP")) == {"latest", "PERIOD#2026-10"}
    assert customers_of(store) == {}


def test_a_lifetime_is_not_repaired_where_unsealed_counters_have_expired() -> None:
    with pytest.raises(UnavailableError, match="let the reports catch up"):
        rebuild(CounterTable(), [posting("42#GBP", SEALED[0], "10.00", "1.00", 0)], AT + timedelta(days=40))


# ---------------------------------------------------------------- distinct customers


def shopping(*customers: str) -> list[dict[str, Any]]:
    return [
        with_values(posting("42#GBP", SEALED[1], "10.00", "1.00", i), customer=customer)
        for i, customer in enumerate(customers)
    ]


@given(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=10), st.integers(0, 20))
def test_the_customers_of_a_final_day_are_set_without_markers(came: list[str], wrong: int) -> None:
    store = CounterTable()
    store.items[PK, "CUSTOMERS#2026-10-23"] = {"pk": PK, "sk": "CUSTOMERS#2026-10-23", "customers": wrong}
    later, through = QuarterHour.last_of(DAY).end + FINAL_AFTER, QuarterHour.last_of(DAY + timedelta(days=1))
    rebuild(store, shopping(*came), later, through)
    assert set(customers_of(store).values()) == {len(set(came))}
    kept = lifetime_markers(came)
    store.markers = {pk: marker for pk, marker in store.markers.items() if pk in kept}
    assert rebuild(store, shopping(*came), later, through) == 0
    assert set(customers_of(store).values()) == {len(set(came))}


def lifetime_markers(customers: Iterable[str]) -> set[str]:
    lifetime, _ = marker_sets(ACCOUNT, DAY, set(customers), RETENTION)
    return {marker["pk"] for marker in lifetime.markers.values()}


def test_a_day_that_is_not_wholly_sealed_keeps_its_customers_once_its_markers_may_have_expired() -> None:
    store = CounterTable()
    store.items[PK, "CUSTOMERS#2026-10-23"] = {"pk": PK, "sk": "CUSTOMERS#2026-10-23", "customers": 7}
    rebuild(store, shopping("a", "b"), QuarterHour.last_of(DAY).end + FINAL_AFTER)
    assert customers_of(store) == {"CUSTOMERS#2026-10-23": 7, "CUSTOMERS": 2}


def test_the_customers_of_a_young_day_are_counted_by_markers_that_the_stream_finds() -> None:
    store = CounterTable()
    young = QuarterHour.last_of(DAY).end + FINAL_AFTER - timedelta(seconds=1)
    store.count_new(marker_sets(ACCOUNT, DAY, {"a", "z"}, RETENTION)[1])
    rebuild(store, shopping("a", "b"), young, QuarterHour.last_of(DAY))
    for again in marker_sets(ACCOUNT, DAY, {"a", "b", "z"}, RETENTION):
        store.count_new(again)
    assert customers_of(store) == {"CUSTOMERS#2026-10-23": 3, "CUSTOMERS": 3}


@given(
    came=st.lists(st.tuples(st.sampled_from(SEALED[1:]), st.sampled_from("abcd")), min_size=1, max_size=8),
    fate=st.lists(st.sampled_from(["counted", "marked", "lost", "late"]), min_size=8, max_size=8),
    steps=st.lists(st.integers(0, 1), max_size=12),
)
def test_a_rebuild_counts_the_customers_of_records_that_were_marked_and_never_counted(
    came: list[tuple[str, str]], fate: list[str], steps: list[int]
) -> None:
    """The stream gives up records, before or after it has marked their customers; others are on their way."""
    records = bought(came)
    table = CounterTable()
    late = []
    for record, what in zip(records, fate, strict=False):
        if what == "late":
            late.append(record)
        elif what == "counted":
            apply(table, [record])
        elif what == "marked":
            mark(table, record)
    coming = list(late)

    def meanwhile() -> None:
        if steps and steps.pop() and coming:
            apply(table, [coming.pop(0)])

    postings = [record["dynamodb"]["NewImage"] for record in records]
    rebuild_patiently(racing(table, meanwhile), postings, AT + timedelta(hours=1))
    table.meanwhile = lambda: None
    for record in late:
        apply(table, [record])
    everybody = len({customer for _, customer in came})
    assert table.totals("42#GBP", "latest") == expected(postings)
    assert customers_of(table) == {"CUSTOMERS": everybody, "CUSTOMERS#2026-10-23": everybody}
    assert rebuild(table, postings) == 0


def mark(table: CounterTable, record: dict[str, Any]) -> None:
    """Set the markers of a record's customer, and die, unless the record is counted."""
    ((one,), _) = group([record])
    key = quarter_hour_key(ACCOUNT, one.quarter_hour)
    state = table.account(ACCOUNT)
    new = uncounted(one, state, table.read([key]).get(key["sk"], {}))
    if new:
        places = first_places(new)
        table.mark(marker_sets(ACCOUNT, DAY, places, RETENTION), places)
