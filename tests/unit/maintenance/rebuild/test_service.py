"""A rebuild: which days and accounts it repairs, when it stops, and which parked records it applies."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any

import pytest

from quarterhour.aws.workers import Workers
from quarterhour.ledger.postings.segments import segment_of
from quarterhour.maintenance.rebuild import service
from quarterhour.maintenance.rebuild.requests import RebuildRequest
from quarterhour.maintenance.rebuild.service import RebuildResult, RebuildService
from quarterhour.model.identifiers import Account
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import Totals
from quarterhour.reports.plan import Checkpoint
from tests.support.builders import utc
from tests.support.counter_table import RETENTION
from tests.support.sealing import line

THROUGH = QuarterHour.parse("202610251145")
FRIDAY, SATURDAY, SUNDAY = date(2026, 10, 23), date(2026, 10, 24), date(2026, 10, 25)
MINE, OTHER = Account("42", "GBP"), Account("7", "EUR")
RUNS = {
    FRIDAY: ["2026-10-23T0130-0215", "2026-10-23T0215-2400"],
    SATURDAY: ["2026-10-24T0000-2400"],
    SUNDAY: ["2026-10-25T0000-1200"],
}
ACCOUNTS = {
    "2026-10-23T0130-0215": {MINE: Totals(1), OTHER: Totals(2)},
    "2026-10-23T0215-2400": {OTHER: Totals(3)},
    "2026-10-24T0000-2400": {MINE: Totals(4)},
    "2026-10-25T0000-1200": {},
}
ENDS = [
    datetime.fromisoformat(f"{end}Z")
    for end in ("2026-10-23T02:15", "2026-10-24T00:00", "2026-10-25T00:00", "2026-10-25T12:00")
]


class World:
    """Checkpoint, runs and sealed files in memory, and a repair that keeps what it was given."""

    kept_from = QuarterHour.parse("202610240000")

    def __init__(self) -> None:
        self.at: Checkpoint | None = Checkpoint(THROUGH, ("", ""), None)
        self.built: list[tuple[object, ...]] = []
        self.days_read: list[tuple[date, QuarterHour]] = []
        self.repaired_days: list[tuple[date, list[str], Account | None]] = []
        self.repaired_lifetimes: list[tuple[list[tuple[datetime, Mapping[Account, Totals]]], Account | None]] = []

    def checkpoint(self) -> Checkpoint | None:
        return self.at

    def days(self, first: date, through: QuarterHour) -> Iterator[tuple[date, list[dict[str, Any]]]]:
        self.days_read.append((first, through))
        for day, runs in RUNS.items():
            if runs and first <= day <= through.day:
                yield day, [{"sk": run} for run in runs]

    def accounts(
        self, runs: Sequence[Mapping[str, Any]], _workers: Workers
    ) -> Iterator[tuple[Mapping[str, Any], Mapping[Account, Totals]]]:
        return ((run, ACCOUNTS[run["sk"]]) for run in runs)

    def lines_of(self, runs: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, str]]:
        return ({"run": run["sk"]} for run in runs)

    def repair_day(self, day: date, lines: Iterable[Mapping[str, str]], only: Account | None) -> int:
        self.repaired_days.append((day, [one["run"] for one in lines], only))
        return 10

    def repair_lifetimes(
        self, runs: Iterable[tuple[datetime, Mapping[Account, Totals]]], only: Account | None
    ) -> tuple[int, int]:
        self.repaired_lifetimes.append((list(runs), only))
        return 2, 1


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    world = World()

    def repair(*given: object) -> World:
        world.built.append(given)
        return world

    monkeypatch.setattr(service, "CounterRepair", repair)
    return world


def rebuild_of(world: World) -> RebuildService:
    stub: Any = world
    return RebuildService(stub, stub, stub, stub, RETENTION, Workers(1), stub)


def rebuild(
    world: World, account: Account | None = None, first: date = date.min, in_time: Callable[[], bool] = lambda: True
) -> dict[str, Any]:
    return rebuild_of(world).rebuild(RebuildRequest(account, first), in_time).as_dict()


# ---------------------------------------------------------------- by days


def test_all_days_and_then_the_lifetimes_of_all_accounts_are_repaired(world: World) -> None:
    assert rebuild(world) == {"days": 3, "accounts": 2, "repaired": 31, "next": None, "execution": None}
    assert world.repaired_days == [(day, runs, None) for day, runs in RUNS.items()]
    assert world.repaired_lifetimes == [(list(zip(ENDS, ACCOUNTS.values(), strict=True)), None)]
    assert world.days_read == [(date.min, THROUGH), (date.min, THROUGH)]
    ((store, retention, through, workers),) = world.built
    assert (store, retention, through) == (world, RETENTION, THROUGH)
    assert isinstance(workers, Workers)


def test_of_one_account_only_the_runs_that_name_it_are_read(world: World) -> None:
    rebuild(world, MINE)
    runs = [["2026-10-23T0130-0215"], ["2026-10-24T0000-2400"], []]
    assert world.repaired_days == [(day, some, MINE) for day, some in zip(RUNS, runs, strict=True)]
    ((sums, only),) = world.repaired_lifetimes
    assert only == MINE
    assert [end for end, _ in sums] == ENDS, "a lifetime is that of all runs"


def test_a_rebuild_begins_at_the_day_that_it_is_given_but_lifetimes_at_the_first(world: World) -> None:
    assert rebuild(world, first=SATURDAY)["days"] == 2
    assert world.days_read == [(SATURDAY, THROUGH), (date.min, THROUGH), (date.min, THROUGH)]


def test_a_day_without_runs_is_repaired_too_but_none_before_the_first_run(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(RUNS, SATURDAY, [])
    assert rebuild(world, first=date(2020, 1, 1))["days"] == 3
    assert [(day, runs) for day, runs, _ in world.repaired_days][1] == (SATURDAY, [])


def test_without_time_one_day_is_repaired_and_the_next_one_named(world: World) -> None:
    result = rebuild(world, in_time=lambda: False)
    assert result == {"days": 1, "accounts": 0, "repaired": 10, "next": "2026-10-24", "execution": None}
    assert world.repaired_lifetimes == []
    assert rebuild(world, first=SATURDAY, in_time=lambda: False)["next"] == "2026-10-25"


def test_without_time_for_lifetimes_a_run_after_the_last_day_repairs_them(world: World) -> None:
    left = iter([True, True, False])
    result = rebuild(world, in_time=lambda: next(left))
    assert result == {"days": 3, "accounts": 0, "repaired": 30, "next": "2026-10-26", "execution": None}
    assert world.repaired_lifetimes == []
    result = rebuild(world, first=date.fromisoformat(result["next"]), in_time=lambda: False)
    assert result == {"days": 0, "accounts": 2, "repaired": 1, "next": None, "execution": None}


def test_before_the_first_report_there_is_nothing_to_rebuild(world: World) -> None:
    world.at = None
    assert rebuild_of(world).rebuild(RebuildRequest(None, date.min), lambda: True) == RebuildResult(0, 0, 0, None)
    assert world.built == []


# ---------------------------------------------------------------- by parked records


def record(at: datetime, id_: str = "a", account: str = "42#GBP") -> Any:
    return {"eventName": "INSERT", "dynamodb": {"NewImage": segment_of([line(at, id_, account=account)])}}


def test_parked_records_of_one_account_and_day_repair_that_day_once(world: World) -> None:
    unpark = rebuild_of(world).unparker()
    assert [unpark(record(utc("01:31"), id_)) for id_ in "ab"] == [True, True]
    assert world.repaired_days == [(FRIDAY, ["2026-10-23T0130-0215"], MINE)]
    assert world.days_read[0] == (FRIDAY, QuarterHour.last_of(FRIDAY))
    assert unpark(record(utc("01:31"), account="7#EUR"))
    assert world.repaired_days[1:] == [(FRIDAY, RUNS[FRIDAY], OTHER)]


def test_a_lifetime_is_repaired_once_where_the_quarter_hours_counter_may_have_expired(world: World) -> None:
    unpark = rebuild_of(world).unparker()
    for id_ in "ab":
        unpark(record(utc("23:59"), id_))
    assert [only for _, only in world.repaired_lifetimes] == [MINE]
    assert [end for end, _ in world.repaired_lifetimes[0][0]] == ENDS


def test_a_lifetime_moves_by_itself_where_the_quarter_hours_counter_is_kept(world: World) -> None:
    unpark = rebuild_of(world).unparker()
    assert unpark(record(utc("00:00") + timedelta(days=1)))
    assert world.repaired_lifetimes == []


def test_the_last_day_is_repaired_as_far_as_it_is_sealed(world: World) -> None:
    unpark = rebuild_of(world).unparker()
    assert unpark(record(utc("11:59") + timedelta(days=2)))
    assert world.days_read == [(SUNDAY, THROUGH)]


def test_a_record_stays_parked_while_its_quarter_hour_is_not_sealed(world: World) -> None:
    unpark = rebuild_of(world).unparker()
    assert unpark(record(utc("12:00") + timedelta(days=2))) is False
    assert world.repaired_days == []


def test_a_record_that_is_no_posting_stays_parked(world: World) -> None:
    broken: Any = {"eventName": "INSERT", "dynamodb": {"NewImage": {"quarter_hour": {"S": "never"}}}}
    assert rebuild_of(world).unparker()(broken) is False
    assert world.repaired_days == []


def test_before_the_first_report_every_record_stays_parked(world: World) -> None:
    world.at = None
    assert rebuild_of(world).unparker()(record(utc("01:31"))) is False
    assert world.built == []
