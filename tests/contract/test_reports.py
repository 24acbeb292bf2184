"""The reports' tables and bucket: the checkpoint moves only as planned, a sealed object never changes."""

from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from hashlib import sha256
from io import BytesIO
from itertools import chain, islice
from typing import Any

import pytest

from quarterhour.aws.items import to_item
from quarterhour.aws.tables import query_pages
from quarterhour.counters.plan import Retention, changes, with_difference
from quarterhour.counters.windows import Window
from quarterhour.ledger.keys import CHECKPOINT_KEY, recorded_key
from quarterhour.ledger.postings.partitions import partition_request
from quarterhour.ledger.postings.segments import postings_of
from quarterhour.ledger.recording.plan import ledger_values
from quarterhour.model.clock import iso_millis
from quarterhour.model.errors import SealedFileError
from quarterhour.model.identifiers import Account, Partition
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour, span
from quarterhour.model.totals import Totals
from quarterhour.reports.keys import RUNS
from quarterhour.reports.plan import Checkpoint, Plan, Proof, SealedFile, run_values, with_proofs
from tests.contract.storage import Storage
from tests.support.builders import claim, event
from tests.support.counted import planned

MANIFEST = "f" * 64
KEPT = Retention(timedelta(days=35), timedelta(days=800))


@pytest.fixture(autouse=True)
def _no_control_items(storage: Storage) -> None:
    """The control items have one place each, so every test begins without them."""
    storage.forget(CHECKPOINT_KEY["pk"])
    storage.forget(RUNS)


@pytest.fixture
def started(storage: Storage, at: datetime) -> Checkpoint:
    """The checkpoint before the first report."""
    storage.segments.prepare(1, QuarterHour.at(at).previous)
    return Checkpoint(QuarterHour.at(at).previous, ("", ""), None)


def plan(at: Checkpoint, count: int = 4, planned_at: str = "2026-10-23T02:32:00.000Z") -> Plan:
    """Plan so many quarter-hours after a checkpoint."""
    first = at.sealed_through.next
    last = QuarterHour(first.start + (count - 1) * (first.end - first.start))
    return Plan(first, last, planned_at, "abc", 3, at.previous, (first, last))


def sealed(count: int) -> tuple[SealedFile, ...]:
    return tuple(SealedFile(number, str(number) * 64, 1000 + number) for number in range(count))


# ---------------------------------------------------------------- control items


def test_the_highest_number_of_shards_is_raised_and_never_lowered(storage: Storage, at: datetime) -> None:
    seen = []
    for shards in (2, 1, 4, 3, 4):
        storage.segments.prepare(shards, QuarterHour.at(at))
        seen.append(storage.reports.checkpoints.shards())
    assert seen == [2, 2, 4, 4, 4]


def test_before_the_first_event_there_is_one_shard_and_no_checkpoint(storage: Storage) -> None:
    assert (storage.reports.checkpoints.shards(), storage.reports.checkpoints.checkpoint()) == (1, None)


def test_the_reports_start_once(storage: Storage, started: Checkpoint) -> None:
    storage.segments.prepare(1, started.sealed_through.previous)
    storage.segments.prepare(1, started.sealed_through.next)
    assert storage.reports.checkpoints.checkpoint() == started


def test_finishing_moves_the_checkpoint_and_clears_the_plan(storage: Storage, started: Checkpoint) -> None:
    done = plan(started)
    storage.reports.checkpoints.save_plan(started, done)
    storage.reports.checkpoints.finish(done, MANIFEST)
    assert storage.reports.checkpoints.checkpoint() == Checkpoint(done.last, (done.run, MANIFEST), None)


def test_empty_quarter_hours_move_the_checkpoint_unless_a_run_is_under_way(
    storage: Storage, started: Checkpoint
) -> None:
    checkpoints, last = storage.reports.checkpoints, plan(started).last
    checkpoints.pass_over(started, last)
    passed = Checkpoint(last, ("", ""), None)
    assert checkpoints.checkpoint() == passed
    checkpoints.pass_over(started, last.next)
    assert checkpoints.checkpoint() == passed, "the checkpoint has moved meanwhile"
    checkpoints.save_plan(passed, plan(passed))
    checkpoints.pass_over(passed, last.next)
    assert checkpoints.checkpoint() == replace(passed, plan=plan(passed)), "a plan is under way"


def test_the_marked_quarter_hours_of_a_range_come_in_order_at_most_those_of_a_day(
    storage: Storage, at: datetime
) -> None:
    marked = list(islice(span(QuarterHour.at(at), QuarterHour.at(at + timedelta(days=2))), 0, None, 2))
    for quarter_hour in reversed(marked):
        storage.dynamodb.put_item(TableName=storage.entity_table, Item=to_item(dict(recorded_key(quarter_hour))))
    recorded = storage.reports.checkpoints.recorded
    assert recorded(marked[0], marked[3]) == marked[:4]
    assert recorded(marked[1].previous, marked[3].previous) == marked[1:3]
    assert recorded(marked[0], marked[-1]) == marked[:96]
    assert recorded(marked[-1].next, marked[-1].next) == []


# ---------------------------------------------------------------- runs


def run(day: int, verdict: Proof) -> dict[str, Any]:
    """Return a run's control item, one a day, with what the counters say to it."""
    first = QuarterHour.parse(f"202610{day:02d}0130")
    covered = Plan(first, first.next, "2026-10-23T02:32:00.000Z", "abc", 1, ("", ""), (first, first.next))
    proofs = {first: verdict, first.next: Proof.VERIFIED}
    return with_proofs(run_values(covered, sealed(2), MANIFEST, 0), proofs)


def test_runs_come_in_the_order_of_time(storage: Storage) -> None:
    runs = [run(day, Proof.VERIFIED) for day in (1, 2, 3)]
    for one in reversed(runs):
        storage.reports.runs.put(one)
    through = QuarterHour.parse("202610020145")
    found = storage.reports.runs.days(date(2026, 10, 1), through)
    assert list(found) == [(date(2026, 10, day), [runs[day - 1]]) for day in (1, 2)]
    assert list(storage.reports.runs.days(date(2026, 10, 2), through)) == [(date(2026, 10, 2), [runs[1]])]
    assert list(storage.reports.runs.days(date(2026, 10, 2), through.previous)) == [], "the run ends after it"
    assert list(storage.reports.runs.days(date(2026, 10, 3), through)) == []


def test_runs_are_listed_while_a_proof_is_pending(storage: Storage) -> None:
    runs = [run(1, Proof.PENDING), run(2, Proof.VERIFIED), run(3, Proof.DRIFT), run(4, Proof.PENDING)]
    for one in reversed(runs):
        storage.reports.runs.put(one)
    assert storage.reports.runs.pending() == [runs[0], runs[3]]
    storage.reports.runs.put(with_proofs(runs[0], {QuarterHour.parse("202610010130"): Proof.VERIFIED}))
    assert storage.reports.runs.pending() == [runs[3]]
    days = storage.reports.runs.days(date.min, QuarterHour.parse("202610042345"))
    assert [run["counters"] for _, [run] in days] == ["verified", "verified", "drift", "pending"]


# ---------------------------------------------------------------- the ledger, as reports read it


@pytest.fixture
def sold(storage: Storage, own: str, at: datetime) -> list[dict[str, str]]:
    """240 events over three shards of a quarter-hour, in the order of their positions, and one after it."""
    events = [event(f"{own}-{number}") for number in range(240)]
    values = [
        ledger_values(one, claim(one, at + number % 7 * timedelta(seconds=1), shards=3))
        for number, one in enumerate(events)
    ]
    after = event(f"{own}-after")
    late = ledger_values(after, claim(after, at + timedelta(minutes=15), shards=3))
    storage.post([*values, late])
    return sorted(values, key=lambda one: one["position"])


def shards(at: datetime, count: int) -> list[Partition]:
    return [Partition(QuarterHour.at(at), shard) for shard in range(count)]


@pytest.mark.parametrize("count", [3, 5])
def test_a_quarter_hour_is_read_from_all_its_partitions_ordered_by_position(
    storage: Storage, sold: list[dict[str, str]], at: datetime, count: int
) -> None:
    assert list(chain.from_iterable(storage.reports.ledger.read(shards(at, count)))) == sold


@pytest.mark.parametrize("page", [1, 7, 1000])
def test_a_partition_is_read_whole_page_by_page(
    storage: Storage, sold: list[dict[str, str]], at: datetime, page: int
) -> None:
    partition = shards(at, 1)[0]
    request = partition_request(storage.ledger_table, partition, page)
    pages = list(query_pages(storage.dynamodb, request, storage.workers))
    assert max(map(len, pages)) <= page
    read = [posting for items in pages for item in items for posting in postings_of(item)]
    assert read == [one for one in sold if one["quarter_hour"] == str(partition)]


def test_counted_totals_are_read_for_each_account_and_quarter_hour_that_has_a_counter(
    storage: Storage, own: str, at: datetime
) -> None:
    ours, theirs = Account(own, "GBP"), Account(own, "EUR")
    (first,) = shards(at, 1)
    totals = Totals(3, Decimal("12.50"), Decimal(-1), Decimal("1.15"))
    at_first = first.quarter_hour.start
    storage.counters.write(planned(storage.counters, ours, at_first, totals))
    before, after = storage.counters.account(ours), first.quarter_hour
    delta: Any = {"customers": (), "watermarks": Window(), "last_updated": iso_millis(at_first)}
    open_again = with_difference(before, after, {Period.of(after.day): totals}, **delta)
    storage.counters.write(changes(before, open_again, [], {}, KEPT)[1])
    keys = [(ours, first.quarter_hour), (theirs, first.quarter_hour)]
    assert storage.reports.counted(keys) == {keys[0]: totals + totals}


# ---------------------------------------------------------------- the bucket


def digest(content: bytes) -> str:
    return sha256(content).hexdigest()


@pytest.mark.parametrize("streamed", [False, True], ids=["bytes", "stream"])
def test_an_object_is_created_once_and_again_with_the_same_bytes(storage: Storage, own: str, *, streamed: bool) -> None:
    key, content = f"reports/{own}/{streamed}.html", b"lines" * 1000
    for _ in range(2):
        storage.reports.files.create(key, BytesIO(content) if streamed else content, digest(content))
    assert storage.reports.files.open(key).read() == content
    head = storage.reports.files.client.head_object(Bucket=storage.reports.files.bucket, Key=key)
    assert head["ContentType"] == "text/html; charset=utf-8", "a browser shows it"


def test_other_bytes_than_those_sealed_are_refused_and_change_nothing(storage: Storage, own: str) -> None:
    storage.reports.files.create(f"reports/{own}.csv", b"sealed", digest(b"sealed"))
    with pytest.raises(SealedFileError, match="other bytes"):
        storage.reports.files.create(f"reports/{own}.csv", b"others", digest(b"others"))
    assert storage.reports.files.open(f"reports/{own}.csv").read() == b"sealed"


def test_a_missing_object_is_an_error_that_names_it(storage: Storage, own: str) -> None:
    with pytest.raises(SealedFileError, match="gone"):
        storage.reports.files.open(f"reports/{own}/none")
