"""Resealing: the lost files of a run written once more, from the ledger alone."""

from collections.abc import Callable, Iterator
from typing import IO, Any

import pytest

from quarterhour.model import clock
from quarterhour.model.clock import ManualClock
from quarterhour.model.errors import NotFoundError, SealedFileError
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.reports.keys import Part
from quarterhour.reports.plan import Checkpoint
from quarterhour.reports.reseal import RESERVE_SECONDS, Resealer
from tests.support.builders import utc
from tests.support.sealing import line
from tests.unit.reports.test_service import FOLDER, RUN, SOLD, Store, long, report, stores

LINES = [Part(QuarterHour.parse(start)).lines_key for start in ("202610230130", "202610230200")]
BESIDE = [f"{FOLDER}{name}" for name in ("summary.csv", "products.csv", "report.html", "manifest.json")]


class Sealed(Store):
    """What a run reads and writes, in memory; a run is found by its name, a file is created where there is none."""

    def get(self, run: str) -> dict[str, Any] | None:
        return self.runs.get(run)

    def pinned(self, quarter_hour: QuarterHour, base: str) -> Any:
        return self.pins[quarter_hour, base]

    def exists(self, key: str) -> bool:
        return key in self.objects

    def create(self, key: str, content: IO[bytes] | bytes, digest: str) -> bool:
        is_new = key not in self.objects
        super().create(key, content, digest)
        return is_new


@pytest.fixture(autouse=True)
def hands() -> Iterator[ManualClock]:
    """Give a clock by which the quarter-hours from 01:30 to 02:15 are just closed."""
    with clock.using(manual := ManualClock(utc("02:17"))):
        yield manual


@pytest.fixture
def store() -> Sealed:
    """A ledger of two shards whose run is complete."""
    store = Sealed(SOLD, shards=2)
    report(store)
    return store


def reseal(store: Sealed, run: str = RUN, remaining: Callable[[], float] = long) -> dict[str, Any]:
    return Resealer(stores(store)).reseal(run, remaining).as_dict()


@pytest.mark.parametrize("lost", [[], [LINES[1]], [BESIDE[0]], [BESIDE[1]], [*LINES, *BESIDE]])
def test_lost_files_are_written_with_the_bytes_that_were_sealed(store: Sealed, lost: list[str]) -> None:
    before = dict(store.objects)
    for key in lost:
        del store.objects[key]
    assert reseal(store) == {"files": 6, "written": lost, "complete": True}
    assert store.objects == before


def test_only_a_runs_own_partitions_are_read_each_once(store: Sealed) -> None:
    sealed, store.read_partitions = store.read_partitions, []
    assert len(sealed) == 3 * 2
    for key in LINES:
        del store.objects[key]
    reseal(store)
    assert store.read_partitions == sealed


def test_what_exists_is_not_read_from_the_ledger_nor_written(store: Sealed) -> None:
    store.read_partitions.clear()
    store.calls.clear()
    reseal(store)
    assert {one.quarter_hour for one in store.read_partitions} == {QuarterHour.parse("202610230145")}, "it has no lines"
    assert set(store.calls) == {"create"}, "the index of events stays as it is"


def test_lost_totals_are_written_again(store: Sealed) -> None:
    before = dict(store.objects)
    for key in [key for key in before if key.startswith("totals/")]:
        del store.objects[key]
    assert reseal(store) == {"files": 6, "written": [], "complete": True}
    assert store.objects == before


@pytest.mark.parametrize("left", [RESERVE_SECONDS, RESERVE_SECONDS - 0.1])
def test_a_run_is_resealed_as_far_as_the_time_allows(store: Sealed, left: float) -> None:
    for key in LINES:
        del store.objects[key]
    found = reseal(store, remaining=lambda: left)
    assert found["complete"] == (left == RESERVE_SECONDS)
    assert found["written"] == (LINES if found["complete"] else LINES[:1])


def test_a_run_is_resealed_as_it_was_planned_after_later_ones(store: Sealed, hands: ManualClock) -> None:
    hands.advance_to(utc("02:47"))
    store.ledger.append(line(utc("02:20"), "later"))
    report(store)
    before = dict(store.objects)
    for key in (*LINES, *BESIDE):
        del store.objects[key]
    assert reseal(store)["written"] == [*LINES, *BESIDE]
    assert store.objects == before


def test_no_file_is_written_where_the_ledger_gives_other_lines(store: Sealed) -> None:
    store.ledger[0] = {**store.ledger[0], "amount": "1.01"}
    for key in (*LINES, *BESIDE):
        del store.objects[key]
    before = dict(store.objects)
    with pytest.raises(SealedFileError, match=f"^{LINES[0]} was sealed with other bytes than the ledger gives now"):
        reseal(store)
    assert store.objects == before


def test_a_line_in_a_quarter_hour_that_was_sealed_empty_is_an_error(store: Sealed) -> None:
    store.ledger.append(line(utc("01:50"), "forged"))
    with pytest.raises(SealedFileError, match=r"quarter=0145/lines\.csv\.gz was sealed with other bytes"):
        reseal(store)


def test_a_manifest_that_would_be_another_is_not_written(store: Sealed) -> None:
    store.runs[RUN]["manifest_sha256"] = "0" * 64
    for key in BESIDE:
        del store.objects[key]
    with pytest.raises(SealedFileError, match=r"manifest\.json was written with other bytes: restore its version"):
        reseal(store)
    assert not set(BESIDE) & set(store.objects)


def test_a_file_that_exists_with_other_bytes_is_left(store: Sealed) -> None:
    store.objects[LINES[0]] = b"forged"
    with pytest.raises(SealedFileError, match=LINES[0]):
        reseal(store)
    assert store.objects[LINES[0]] == b"forged"


def test_a_run_in_a_base_currency_is_resealed_at_its_pinned_rates() -> None:
    store = Sealed()
    report(store, base="EUR")
    before = dict(store.objects)
    store.objects.clear()
    assert reseal(store)["files"] == len([key for key in before if not key.startswith("totals/")])
    assert store.objects == before


def test_a_run_under_way_is_resealed_as_far_as_it_has_come() -> None:
    store = Sealed()
    assert not report(store, lambda: 1.0).complete, "time for one quarter-hour"
    before = dict(store.objects)
    assert LINES[0] in before
    assert LINES[1] not in before
    del store.objects[LINES[0]]
    assert reseal(store) == {"files": 1, "written": [LINES[0]], "complete": True}
    assert store.objects == before


@pytest.mark.parametrize("run", [RUN.replace("10-23", "10-24"), "../../etc", ""])
def test_a_run_that_never_was_is_not_found(store: Sealed, run: str) -> None:
    with pytest.raises(NotFoundError, match="there is no run"):
        reseal(store, run)


def test_no_run_is_found_before_the_first_report_nor_beside_another_one_under_way(store: Sealed) -> None:
    never = RUN.replace("0215", "0230")
    store.at = None
    with pytest.raises(NotFoundError):
        reseal(store, never)
    other = Sealed()
    report(other, lambda: 1.0)
    with pytest.raises(NotFoundError):
        reseal(other, never)
    assert other.at
    other.at = Checkpoint(other.at.sealed_through, other.at.previous, None)
    with pytest.raises(NotFoundError):
        reseal(other, RUN)


def test_a_name_that_is_no_runs_is_never_looked_up() -> None:
    store = Sealed()
    store.runs["checkpoint"] = {"plan": {}}
    with pytest.raises(NotFoundError):
        reseal(store, "checkpoint")
