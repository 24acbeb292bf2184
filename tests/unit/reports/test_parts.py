"""A run in parts, over stores in memory: its steps crash, repeat, come late and in any order."""

import gzip
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.model import clock
from quarterhour.model.charge_totals import NO_CHARGE_TOTALS, ChargeTotals
from quarterhour.model.clock import ManualClock
from quarterhour.model.errors import NotFoundError, OvertakenError, SealedFileError
from quarterhour.model.identifiers import Account, Identity, Partition
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour, span
from quarterhour.model.totals import Totals
from quarterhour.registry.exchange_rates.exchange_rate import ExchangeRate
from quarterhour.reports import part_totals
from quarterhour.reports.keys import Part
from quarterhour.reports.part_totals import pack, unpack
from quarterhour.reports.plan import PartTotals, Plan, SealedFile
from quarterhour.reports.sealed_files import SealedFiles
from tests.support.builders import QUARTER_HOUR, accounts, amounts, utc
from tests.support.sealing import line
from tests.unit.reports.test_service import CrashError, Store, long, proven, report, reporter

SHARDS = 9
RUN = "2026-10-23T0130-0215"
NAMES = [f"{start}-{number:02d}" for start in ("202610230130", "202610230145", "202610230200") for number in (0, 1)]
FOLDER = "reports/2026/10/23/0130-0215/"


def sold() -> list[Any]:
    """Return a sale a minute in the first and the third quarter-hour, over all shards."""
    items = []
    for number in range(30):
        at = utc(f"0{1 + number // 15}:{(30 if number < 15 else 0) + number % 15:02d}:01")
        partition = Partition.of(Identity("shop", f"e{number}").hash, at, SHARDS)
        account = ("42#GBP", "7#EUR")[number % 2]
        items.append(line(at, f"e{number}", f"{number}.50", account, location="GB#London", quarter_hour=str(partition)))
    return items


def opened() -> Store:
    return Store(sold(), SHARDS)


def seal_all(store: Store) -> None:
    for name in NAMES:
        reporter(store).seal_part(RUN, name)


def sealed_in_peace() -> Store:
    store = opened()
    report(store)
    seal_all(store)
    reporter(store).publish(RUN, long)
    return store


@pytest.fixture(autouse=True)
def hands() -> Iterator[ManualClock]:
    """Give a clock by which the quarter-hours from 01:30 to 02:15 are just closed."""
    with clock.using(manual := ManualClock(utc("02:17"))):
        yield manual


def test_a_run_in_parts_is_started_and_sealed_by_its_steps() -> None:
    store = opened()
    assert report(store).as_dict() == {"runs": [], "sealed_quarter_hours": 0, "lines": 0, "drift": 0, "complete": False}
    assert [plan.run for plan in store.started] == [RUN]
    assert [str(part) for part in store.started[0].all_parts] == NAMES
    assert store.objects == {}, "the steps seal, not the function that starts them"
    seal_all(store)
    result = reporter(store).publish(RUN, long)
    assert result.as_dict() == {"runs": [RUN], "sealed_quarter_hours": 3, "lines": 30, "drift": 0, "complete": True}
    assert proven(store)


def test_a_run_in_parts_has_the_sums_of_the_same_run_in_one() -> None:
    store, whole = sealed_in_peace(), opened()
    report(whole)
    assert whole.at
    assert whole.at.plan
    whole.at = replace(whole.at, plan=replace(whole.at.plan, parts=1))
    report(whole)
    assert store.objects[f"{FOLDER}summary.csv"] == whole.objects[f"{FOLDER}summary.csv"]
    assert store.runs[RUN]["proofs"] == whole.runs[RUN]["proofs"]
    places = [{key: values for key, values in one.entities.items() if key[0][:5] == "PLACE"} for one in (store, whole)]
    assert places[0] == places[1]


def test_every_step_may_crash_at_every_call_and_be_repeated() -> None:
    peaceful = sealed_in_peace()
    for crash_at in range(len(peaceful.calls)):
        store = opened()
        store.crash_at = crash_at
        try:
            report(store)
            seal_all(store)
            reporter(store).publish(RUN, long)
        except CrashError:
            report(store)
            seal_all(store)
            reporter(store).publish(RUN, long)
        assert store.objects == peaceful.objects, crash_at
        assert store.at == peaceful.at
        assert store.runs == peaceful.runs
        assert store.entities == peaceful.entities


@given(
    st.lists(st.sampled_from(NAMES), max_size=10), st.permutations(NAMES), st.lists(st.sampled_from(NAMES), max_size=3)
)
def test_parts_may_be_sealed_in_any_order_repeatedly_and_late(
    before: list[str], order: list[str], late: list[str]
) -> None:
    with clock.using(ManualClock(utc("02:17"))):
        peaceful, store = sealed_in_peace(), opened()
        report(store)
        for name in [*before, *order]:
            reporter(store).seal_part(RUN, name)
        reporter(store).publish(RUN, long)
        done = dict(store.objects)
        assert [reporter(store).seal_part(RUN, name) for name in late] == [None] * len(late)
        assert store.objects == done == peaceful.objects


@pytest.mark.parametrize("missing", NAMES)
def test_publishing_seals_the_part_that_no_step_has_sealed(missing: str) -> None:
    peaceful, store = sealed_in_peace(), opened()
    report(store)
    for name in NAMES:
        if name != missing:
            reporter(store).seal_part(RUN, name)
    assert reporter(store).publish(RUN, long).runs == [RUN]
    assert store.objects == peaceful.objects
    assert store.at == peaceful.at


def test_publishing_without_time_leaves_the_rest_to_the_next_invocation() -> None:
    peaceful, store = sealed_in_peace(), opened()
    report(store)
    assert not reporter(store).publish(RUN, lambda: 1.0).complete
    assert not [key for key in store.objects if key.startswith("reports/")]
    assert reporter(store).publish(RUN, long).runs == [RUN]
    assert store.objects == peaceful.objects


def test_a_part_without_lines_leaves_nothing() -> None:
    store = sealed_in_peace()
    sealed = [str(Part.parse(name)) for name in NAMES if Part.parse(name).totals_key in store.objects]
    assert sealed == [name for name in NAMES if not name.startswith("202610230145")]


def test_a_run_that_another_execution_publishes_meanwhile_is_published_once() -> None:
    store = opened()
    report(store)
    seal_all(store)
    store.before["create"] = lambda: reporter(store).publish(RUN, long)
    with pytest.raises(OvertakenError):
        reporter(store).publish(RUN, long)
    assert store.at == sealed_in_peace().at
    assert store.objects == sealed_in_peace().objects
    assert proven(store)


def test_a_run_that_is_published_again_starts_what_has_closed_since(hands: ManualClock) -> None:
    store = sealed_in_peace()
    done = dict(store.objects)
    store.marked.add(QuarterHour.parse("202610230215"))
    hands.advance_to(utc("02:32"))
    assert not reporter(store).publish(RUN, long).complete
    assert [plan.run for plan in store.started] == [RUN, "2026-10-23T0215-0230"]
    assert store.objects == done


def test_a_backlog_is_sealed_hour_by_hour_each_run_begun_by_the_one_before(hands: ManualClock) -> None:
    store = opened()
    store.marked = set(span(QUARTER_HOUR, QuarterHour.parse("202610230445")))
    hands.advance_to(utc("05:02"))
    report(store)
    for number in range(4):
        plan = store.started[number]
        for part in plan.all_parts:
            reporter(store).seal_part(plan.run, str(part))
        completed = reporter(store).publish(plan.run, long).complete
        assert completed == (number == 3)
    assert [plan.run[-9:] for plan in store.started] == ["0130-0230", "0230-0330", "0330-0430", "0430-0500"]
    assert proven(store)


def test_a_tick_while_a_run_is_under_way_starts_the_same_plan_again() -> None:
    store = opened()
    report(store)
    report(store)
    assert store.started[0] == store.started[1]


@pytest.mark.parametrize("part", ["202610230130-02", "202610230130", "202610230300-00", "x"])
def test_a_part_that_the_run_has_not_is_refused(part: str) -> None:
    store = opened()
    report(store)
    with pytest.raises(NotFoundError, match="has no part"):
        reporter(store).seal_part(RUN, part)


def test_a_run_in_one_part_has_no_parts_to_seal() -> None:
    store = Store(sold(), 8)
    report(store, lambda: 10.0)
    with pytest.raises(NotFoundError, match="has no part"):
        reporter(store).seal_part(RUN, "202610230130")


def test_a_pending_proof_of_a_run_in_parts_is_checked_again_without_its_lines() -> None:
    store = opened()
    store.lagging = {QUARTER_HOUR: Totals(0)}
    report(store)
    seal_all(store)
    reporter(store).publish(RUN, long)
    assert store.runs[RUN]["proofs"] == {"202610230130": "pending", "202610230200": "verified"}
    store.lagging = {}
    for key in [key for key in store.objects if key.startswith("ledger/")]:
        del store.objects[key]
    report(store)
    assert store.runs[RUN]["proofs"] == {"202610230130": "verified", "202610230200": "verified"}


def test_a_quarter_hour_drifts_if_one_of_its_parts_does() -> None:
    store = opened()
    store.lagging = {QUARTER_HOUR: Totals(10**6)}
    report(store)
    seal_all(store)
    assert reporter(store).publish(RUN, long).drift == 1


def test_a_run_in_parts_is_converted_to_the_base_currency_as_in_one() -> None:
    summaries = []
    for parts in (1, 2):
        store = opened()
        store.rates["GBP", utc("01:00")] = ExchangeRate(Decimal("0.8"), "ECB", "EUR", utc("01:00"))
        report(store, base="EUR")
        assert store.at
        assert store.at.plan
        store.at = replace(store.at, plan=replace(store.at.plan, parts=parts))
        if parts == 1:
            report(store, base="EUR")
        else:
            seal_all(store)
            reporter(store, base="EUR").publish(RUN, long)
        summaries.append(store.objects[f"{FOLDER}summary.csv"])
    assert summaries[0] == summaries[1]
    assert b"42,GBP" in summaries[0]
    assert b",EUR," in summaries[0]


# ---------------------------------------------------------------- the totals of a part


@given(
    st.dictionaries(accounts, st.tuples(amounts(), amounts(), amounts(), amounts()), max_size=9),
    st.dictionaries(st.tuples(st.text(min_size=1), st.sampled_from(["GBP", "EUR"])), amounts(), max_size=9),
    st.integers(0, 2),
    st.integers(1, 4),
)
def test_the_totals_of_a_part_are_unpacked_as_they_were_packed(
    sums: dict[Account, tuple[Decimal, ...]],
    places: dict[tuple[str, str], Decimal],
    default_rate_events: int,
    at_a_time: int,
) -> None:
    sealed = SealedFile(7, "abc", 99)
    totals = PartTotals(
        {
            (account, Period(2026, month)): Totals(month, *four, charges=charged(*four))
            for account, four in sums.items()
            for month in (9, 10)
        },
        {place: Totals(2, amount) for place, amount in places.items()},
        default_rate_events,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(part_totals, "_ROWS_AT_A_TIME", at_a_time)
        found, pieces = unpack(BytesIO(pack(sealed, totals)))
        read = list(pieces)
    assert found == sealed
    assert all(len(one.periods) + len(one.locations) <= at_a_time for one in read)
    assert {key: one for piece in read for key, one in piece.periods.items()} == totals.periods
    assert {key: one for piece in read for key, one in piece.locations.items()} == totals.locations
    assert sum(piece.default_rate_events for piece in read) == default_rate_events
    assert pack(sealed, totals) == pack(sealed, totals)


def charged(fee: Decimal, turnover: Decimal, *_: Decimal) -> ChargeTotals:
    """Return the charges of some accounts, and none of others."""
    key = "tiered@month/account/volume/0=12"
    return ChargeTotals({"fee": fee}, {key: turnover}, {key: "a position"}) if fee > turnover else NO_CHARGE_TOTALS


def test_a_part_without_lines_has_totals_that_say_so() -> None:
    found, pieces = unpack(BytesIO(pack(SealedFile(0), PartTotals())))
    assert (found, list(pieces)) == (SealedFile(0), [])
    assert gzip.decompress(pack(SealedFile(0), PartTotals())) == b'[0,"",0]\n'


PACKED = pack(SealedFile(1, "0" * 64, 9), PartTotals({(Account("42", "GBP"), Period(2026, 10)): Totals(1)}))


class Bucket:
    """S3 with one object for every key."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def get_object(self, **_: str) -> dict[str, Any]:
        return {"Body": BytesIO(self.content)}


@pytest.mark.parametrize(
    "content",
    [b"", b"junk", PACKED[:-9], gzip.compress(b"{}\n"), gzip.compress(gzip.decompress(PACKED)[:-9])],
    ids=["empty", "junk", "cut", "other", "cut before packing"],
)
def test_damaged_totals_of_a_part_are_named(content: bytes) -> None:
    client: Any = Bucket(content)
    part = Part.parse("202610230130-01")
    with pytest.raises(SealedFileError, match=r"totals-01.*is damaged: delete it"):
        list(SealedFiles(client, "reports").part_totals(part).totals)


def test_a_plan_names_the_parts_of_its_run_in_order() -> None:
    plan = Plan(QUARTER_HOUR, QUARTER_HOUR, "now", "1.0", 9, ("", ""), (QUARTER_HOUR,), parts=2)
    assert [(str(part), [one.shard for one in plan.partitions(part)]) for part in plan.all_parts] == [
        ("202610230130-00", [0, 1, 2, 3, 4]),
        ("202610230130-01", [5, 6, 7, 8]),
    ]
