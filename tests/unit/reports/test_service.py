"""A report run from its plan to the checkpoint, over a ledger, a table and a bucket in memory."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from io import BytesIO
from typing import IO, Any

import pytest

from quarterhour.ledger.postings.segments import PostingValues
from quarterhour.ledger.reading.sealed_index import keys_in
from quarterhour.model import clock
from quarterhour.model.clock import ManualClock
from quarterhour.model.errors import LedgerItemError, OvertakenError, SealedFileError
from quarterhour.model.identifiers import Account, Partition
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import QuarterHourTotals, Totals
from quarterhour.proof.reports import verify
from quarterhour.registry.exchange_rates.exchange_rate import ExchangeRate
from quarterhour.reports.base_currency import Pins
from quarterhour.reports.digests import hexdigest
from quarterhour.reports.keys import Part, totals_prefix
from quarterhour.reports.part_totals import pack, unpack
from quarterhour.reports.plan import (
    Checkpoint,
    PartTotals,
    Plan,
    ReportSettings,
    SealedFile,
    run_values,
    with_proofs,
)
from quarterhour.reports.plan import Proof as Counted
from quarterhour.reports.sealed_files import SealedPart
from quarterhour.reports.service import Reporter, ReportResult, ReportStores
from tests.support.builders import utc
from tests.support.sealing import line, opening

GRACE = timedelta(minutes=2)
START = QuarterHour.parse("202610230115")
FIRST, EMPTY, LAST = (QuarterHour.parse(name) for name in ("202610230130", "202610230145", "202610230200"))
RUN = "2026-10-23T0130-0215"
FOLDER = "reports/2026/10/23/0130-0215/"
SOLD = (
    line(utc("01:30:01"), "a", location="GB#London"),
    line(utc("01:31"), "b", "-2.50", location="GB#London"),
    line(utc("01:31:01"), "c", "7", "7#EUR", source="till"),
    line(utc("02:00"), "d", "3"),
)
"""Two quarter-hours with events, and an empty one between them."""


class CrashError(Exception):
    """Ends a run in the middle."""


class Store:
    """Stands in for the stores of a report, in memory.

    ``calls`` keeps the name of each writing call, ``before`` what happens, once, before such a call is made,
    ``crash_at`` the number of the one at which the run ends.
    """

    def __init__(self, sold: Iterable[PostingValues] = SOLD, shards: int = 1) -> None:
        self.ledger = sorted(sold, key=lambda item: str(item["position"]))
        self.at: Checkpoint | None = Checkpoint(START, ("", ""), None)
        self.objects: dict[str, bytes] = {}
        self.entities: dict[tuple[str, str], dict[str, Any]] = {}
        self.runs: dict[str, dict[str, Any]] = {}
        self.rates: dict[tuple[str, datetime], ExchangeRate] = {}
        self.pins: dict[tuple[QuarterHour, str], Pins] = {}
        self.lagging: dict[QuarterHour, Totals] = {}
        self.calls: list[str] = []
        self.batches: list[list[tuple[str, str]]] = []
        self.read_partitions: list[Partition] = []
        self.read_files: list[QuarterHour] = []
        self.files: list[IO[bytes]] = []
        self.before: dict[str, Callable[[], object]] = {}
        self.crash_at: int | None = None
        self.started: list[Plan] = []
        self.marked = {EMPTY}
        """Marked quarter-hours beside those with events: a request may mark one, and append nothing to it."""
        self._shards = shards

    def _begin(self, call: str) -> None:
        if len(self.calls) == self.crash_at:
            self.crash_at = None
            raise CrashError
        self.calls.append(call)
        self.before.pop(call, bool)()

    def checkpoint(self) -> Checkpoint | None:
        return self.at

    def shards(self) -> int:
        return self._shards

    def recorded(self, first: QuarterHour, last: QuarterHour) -> list[QuarterHour]:
        marked = {Partition.parse(str(item["quarter_hour"])).quarter_hour for item in self.ledger} | self.marked
        return sorted(one for one in marked if first <= one <= last)[:96]

    def pass_over(self, at: Checkpoint, last: QuarterHour) -> None:
        self._begin("pass over")
        if self.at == at and at.plan is None:
            self.at = replace(at, sealed_through=last)

    def save_plan(self, at: Checkpoint, plan: Plan) -> None:
        self._begin("plan")
        if self.at == at and at.plan is None:
            self.at = replace(at, plan=plan)

    def finish(self, plan: Plan, manifest_sha256: str) -> None:
        self._begin("finish")
        if self.at is None or self.at.plan is None or self.at.plan.planned_at != plan.planned_at:
            raise OvertakenError(plan.run)
        self.at = Checkpoint(plan.last, (plan.run, manifest_sha256), None)

    def read(self, partitions: Sequence[Partition]) -> Iterator[list[PostingValues]]:
        self.read_partitions += partitions
        names = set(map(str, partitions))
        return ([item] for item in self.ledger if item["quarter_hour"] in names)

    def create(self, key: str, content: IO[bytes] | bytes, digest: str) -> bool:
        self._begin("create")
        if not isinstance(content, bytes):
            self.files.append(content)
            content = content.read()
        assert hexdigest(content) == digest
        if self.objects.setdefault(key, content) != content:
            raise SealedFileError(key)
        return True

    def create_part_totals(self, part: Part, sealed: SealedFile, totals: PartTotals) -> None:
        content = pack(sealed, totals)
        self.create(part.totals_key, content, hexdigest(content))

    def totals_of(self, day: date) -> set[str]:
        return {key for key in self.objects if key.startswith(totals_prefix(day))}

    def part_totals(self, part: Part) -> SealedPart:
        self.read_files.append(part.quarter_hour)
        if part.totals_key not in self.objects:
            raise SealedFileError(part.totals_key)
        return SealedPart(*unpack(BytesIO(self.objects[part.totals_key])))

    def has_lines(self, part: Part, sealed: SealedFile) -> bool:
        return len(self.objects.get(part.lines_key, b"")) == sealed.size

    def start(self, name: str, content: Mapping[str, Any]) -> None:
        self._begin("start")
        assert self.at
        assert self.at.plan
        assert content == {"run": name, "parts": [str(part) for part in self.at.plan.all_parts]}
        self.started.append(self.at.plan)

    def write(self, projections: Iterable[Mapping[str, Any]]) -> None:
        entries = {(values["pk"], values["sk"]): dict(values) for values in projections}
        if not entries:
            return
        self._begin("write")
        self.batches.append(list(entries))
        self.entities |= entries

    def put(self, values: Mapping[str, Any]) -> None:
        self._begin("put")
        self.runs[values["sk"]] = dict(values)

    def pending(self) -> list[dict[str, Any]]:
        return [values for _, values in sorted(self.runs.items()) if "gsi1pk" in values]

    def counted(self, keys: Sequence[tuple[Account, QuarterHour]]) -> QuarterHourTotals:
        """Return the counted totals: those of the ledger, or of ``lagging`` for its quarter-hours."""
        sums: QuarterHourTotals = {}
        for item in self.ledger:
            values = dict(item)
            account = Account(values["agency"], values["currency"])
            key = account, Partition.parse(values["quarter_hour"]).quarter_hour
            sums[key] = sums.get(key, Totals()).plus(Decimal(values["amount"]), Decimal(values["commission"]))
        return {one: self.lagging.get(one[1], sums[one]) for one in keys if one in sums}

    def in_force(self, currency: str, before: datetime, base: str) -> ExchangeRate | None:
        entered = [rate for (of, at), rate in sorted(self.rates.items()) if of == currency and at < before]
        return entered[-1] if entered and entered[-1].base == base else None

    def pinned_or_pin(self, _run: str, quarter_hour: QuarterHour, base: str, currencies: Sequence[str]) -> Pins:
        self._begin("pin")
        pins = {one: self.in_force(one, quarter_hour.end, base) for one in currencies}
        return self.pins.setdefault((quarter_hour, base), pins)


def long() -> float:
    return 900.0


def stores(store: Store) -> ReportStores:
    stub: Any = store
    return ReportStores(stub, stub, stub, stub.counted, stub, stub, stub, stub)


def reporter(store: Store, base: str = "", code: str = "1.0") -> Reporter:
    return Reporter(stores(store), ReportSettings(GRACE, code, base))


def report(store: Store, remaining: Callable[[], float] = long, base: str = "", code: str = "1.0") -> ReportResult:
    return reporter(store, base, code).run(remaining)


def proven(store: Store) -> bool:
    """Tell whether all that is sealed holds together, with a line for each event of the ledger."""
    found = verify(opening(store.objects), store.objects)
    assert found.problems == []
    return found.lines == len(store.ledger)


@pytest.fixture(autouse=True)
def hands() -> Iterator[ManualClock]:
    """Give a clock by which the quarter-hours from 01:30 to 02:15 are just closed."""
    with clock.using(manual := ManualClock(utc("02:17"))):
        yield manual


# ---------------------------------------------------------------- a run


def test_a_run_seals_every_closed_quarter_hour_and_moves_the_checkpoint() -> None:
    store = Store()
    result = report(store)
    assert sorted(store.objects) == [
        "ledger/dt=2026-10-23/quarter=0130/lines.csv.gz",
        "ledger/dt=2026-10-23/quarter=0200/lines.csv.gz",
        f"{FOLDER}manifest.json",
        f"{FOLDER}products.csv",
        f"{FOLDER}report.html",
        f"{FOLDER}summary.csv",
        "totals/dt=2026-10-23/quarter=0130/totals.jsonl.gz",
        "totals/dt=2026-10-23/quarter=0200/totals.jsonl.gz",
    ]
    assert proven(store)
    digest = hexdigest(store.objects[f"{FOLDER}manifest.json"])
    assert store.at == Checkpoint(QuarterHour.parse("202610230200"), (RUN, digest), None)
    assert result.as_dict() == {"runs": [RUN], "sealed_quarter_hours": 3, "lines": 4, "drift": 0, "complete": True}


def test_a_finished_run_is_stored_with_its_manifest_hash_its_files_and_its_proofs() -> None:
    store = Store()
    report(store)
    run = store.runs[RUN]
    assert run["manifest_sha256"] == hexdigest(store.objects[f"{FOLDER}manifest.json"])
    assert (run["quarter_hours"], run["lines"], list(run["sealed"])) == (3, 4, ["202610230130", "202610230200"])
    assert run["proofs"] == {"202610230130": "verified", "202610230200": "verified"}
    assert run["counters"] == "verified"


def test_nothing_is_written_while_no_further_quarter_hour_is_closed(hands: ManualClock) -> None:
    store = Store()
    report(store)
    done, store.calls = dict(store.objects), []
    hands.advance_to(utc("02:31:59.999"))
    assert report(store) == ReportResult()
    assert (store.objects, store.calls) == (done, [])


def test_before_the_first_event_there_is_nothing_to_report() -> None:
    store = Store(())
    store.at = None
    assert report(store) == ReportResult()
    assert store.calls == []


def test_a_run_covers_one_day_and_an_invocation_all_that_is_closed(hands: ManualClock) -> None:
    hands.advance_to(utc("00:47") + timedelta(days=1))
    store = Store([*SOLD, line(utc("00:30") + timedelta(days=1), "e")])
    store.lagging = {QuarterHour.parse("202610240030"): Totals(9), QuarterHour.parse("202610230130"): Totals(9)}
    result = report(store)
    first, second = "2026-10-23T0130-2400", "2026-10-24T0000-0045"
    assert result.as_dict() == {
        "runs": [first, second],
        "sealed_quarter_hours": 93,
        "lines": 5,
        "drift": 2,
        "complete": True,
    }
    assert proven(store)
    assert store.at
    assert store.at.previous == (second, hexdigest(store.objects["reports/2026/10/24/0000-0045/manifest.json"]))


def test_every_shard_that_was_ever_used_is_read() -> None:
    store = Store([*SOLD, line(utc("01:30:02"), "s", quarter_hour="202610230130#02")], shards=3)
    report(store)
    assert proven(store)
    assert Counter(one.shard for one in store.read_partitions) == {0: 3, 1: 3, 2: 3}


def test_the_indexes_and_the_sales_by_location_are_written() -> None:
    store = Store()
    report(store)
    indexed = {key: values for key, values in store.entities.items() if key[0].startswith(("SOURCE#", "AGENCY#"))}
    assert sorted((pk, sk[:16], len(list(keys_in(values)))) for (pk, sk), values in indexed.items()) == [
        ("AGENCY#42", "2026-10-23T01:30", 2),
        ("AGENCY#42", "2026-10-23T02:00", 1),
        ("AGENCY#7", "2026-10-23T01:31", 1),
        ("SOURCE#shop", "2026-10-23T01:30", 2),
        ("SOURCE#shop", "2026-10-23T02:00", 1),
        ("SOURCE#till", "2026-10-23T01:31", 1),
    ]
    assert sorted(sk for pk, sk in store.entities if pk == "SOURCES") == ["shop", "till"]
    (sales,) = (values for (pk, _), values in store.entities.items() if pk.startswith("PLACE#"))
    assert RUN in sales["sk"]
    assert "GB#London" in sales["sk"]
    assert {name: sales[name] for name in ("events", "gross", "refunds")} == {
        "events": 2,
        "gross": "12.50",
        "refunds": "-2.50",
    }


def test_the_indexes_are_written_in_parts_before_they_need_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quarterhour.ledger.reading.sealed_index.MAX_PENDING", 1)
    store = Store()
    report(store)
    indexed = [
        sum(pk.startswith("SOURCE#") for pk, _ in batch)
        for batch in store.batches
        if not any(pk == "SOURCES" for pk, _ in batch)
    ]
    assert indexed == [1, 1, 1, 1, 0, 0], "each event in turn; then the sales by location and by product"
    assert proven(store)


# ---------------------------------------------------------------- without events

NEXT_YEAR = utc("01:30") + timedelta(days=365)
"""A quarter-hour with an event, a year after the others."""


def manifests(store: Store) -> list[dict[str, Any]]:
    return [json.loads(content) for key, content in store.objects.items() if key.endswith("/manifest.json")]


def test_time_without_events_is_passed_over_by_one_write_and_named_by_the_next_run(hands: ManualClock) -> None:
    store = Store([*SOLD, line(NEXT_YEAR, "e")])
    report(store)
    store.calls, read = [], len(store.read_partitions)
    hands.advance_to(NEXT_YEAR - timedelta(hours=3))
    assert report(store) == ReportResult()
    assert (store.calls, store.at and str(store.at.sealed_through)) == (["pass over"], "202710222200")
    hands.advance_to(NEXT_YEAR + timedelta(minutes=17))
    assert report(store).runs == ["2027-10-23T0000-0145"]
    assert [str(one) for one in store.read_partitions[read:]] == ["202710230130#00"]
    assert [manifest["empty"] for manifest in manifests(store)] == [
        None,
        {"from": "2026-10-23T02:15:00Z", "to": "2027-10-23T00:00:00Z"},
    ]
    assert proven(store)


def test_how_often_a_report_runs_while_nothing_happens_changes_no_byte() -> None:
    sold = [*SOLD, *(line(utc("01:30") + timedelta(days=days, hours=2), f"d{days}") for days in (0, 1, 3, 40))]

    def stored(hours: Callable[[int], bool]) -> Store:
        with clock.using(own := ManualClock(utc("02:17"))):
            store = Store(sold)
            for hour in range(42 * 24):
                own.advance_to(utc("02:17") + timedelta(hours=hour))
                if hours(hour):
                    report(store)
            return store

    def has_ended(hour: int) -> bool:
        """Return whether events have ended since the hour before, or come in the next."""
        return any((hour - at) % (42 * 24) in {0, 1, 2} for at in (0, 24, 72, 960)) or hour == 42 * 24 - 1

    always, rarely = stored(lambda _: True), stored(has_ended)
    assert len(always.calls) - len(rarely.calls) > 900
    assert rarely.objects == always.objects
    assert (rarely.runs, rarely.entities, rarely.at) == (always.runs, always.entities, always.at)
    assert proven(always)


def test_the_days_before_the_first_run_are_named_by_none(hands: ManualClock) -> None:
    store = Store([line(NEXT_YEAR, "e")])
    store.marked = set()
    hands.advance_to(NEXT_YEAR + timedelta(minutes=17))
    assert report(store).runs == ["2027-10-23T0000-0145"]
    assert [manifest["empty"] for manifest in manifests(store)] == [None]
    assert proven(store)


@pytest.mark.parametrize("later", [timedelta(hours=3), timedelta(days=365)], ids=["the same day", "a year"])
def test_after_a_crash_at_any_call_around_empty_time_the_next_run_writes_the_same(later: timedelta) -> None:
    firings = [utc("02:17"), utc("03:17"), utc("02:00") + later, utc("02:17") + later]

    def stored(crash_at: int | None) -> Store:
        store = Store([*SOLD, line(utc("01:50") + later, "e")])
        store.crash_at = crash_at
        with clock.using(own := ManualClock(firings[0])):
            for firing in firings:
                own.advance_to(firing)
                try:
                    report(store)
                except CrashError:
                    report(store)
        return store

    whole = stored(None)
    assert whole.calls.count("pass over") >= 1
    for point in range(len(whole.calls)):
        store = stored(point)
        assert (store.objects, store.at) == (whole.objects, whole.at), point


def test_another_report_that_passes_over_the_same_time_meanwhile_changes_nothing(hands: ManualClock) -> None:
    store = Store()
    report(store)
    hands.advance_to(utc("09:00"))
    passed: list[QuarterHour] = []

    def overtake() -> None:
        assert store.at
        store.at = replace(store.at, sealed_through=QuarterHour.parse("202610230400"))
        passed.append(store.at.sealed_through)

    store.before["pass over"] = overtake
    assert report(store) == ReportResult()
    assert passed
    assert store.at
    assert str(store.at.sealed_through) == "202610230830"


# ---------------------------------------------------------------- interrupted


def test_after_a_crash_at_any_call_the_next_run_writes_the_same() -> None:
    whole = Store()
    report(whole)
    for point in range(len(whole.calls)):
        store = Store()
        store.crash_at = point
        with clock.using(ManualClock(utc("02:17"))), pytest.raises(CrashError):
            report(store)
        assert store.at
        assert store.at.sealed_through == START
        # Before the plan is fixed nothing is decided; from then on neither clock nor code makes a difference.
        now, code = (utc("02:20"), "2.0") if point else (utc("02:17"), "1.0")
        with clock.using(ManualClock(now)):
            assert report(store, code=code).runs == [RUN]
        assert (store.objects, store.runs, store.entities) == (whole.objects, whole.runs, whole.entities)
        assert store.at == whole.at


def test_the_manifest_is_written_after_the_files_that_it_names_and_the_checkpoint_last() -> None:
    store = Store()
    report(store)
    assert [key.rpartition("/")[2] for key in store.objects] == [
        "lines.csv.gz",
        "totals.jsonl.gz",
        "lines.csv.gz",
        "totals.jsonl.gz",
        "summary.csv",
        "products.csv",
        "report.html",
        "manifest.json",
    ]
    assert store.calls[0] == "plan"
    assert store.calls[-4:] == ["write", "write", "put", "finish"]


@pytest.mark.parametrize(("left", "sealed"), [(60.0, 3), (59.9, 1), (0.0, 1)])
def test_a_run_seals_at_least_one_quarter_hour_and_no_further_one_without_time(left: float, sealed: int) -> None:
    store = Store()
    result = report(store, lambda: left)
    assert len({one.quarter_hour for one in store.read_partitions}) == sealed
    assert result.complete == (sealed == 3)


def test_a_quarter_hour_of_one_line_is_work_enough_without_time() -> None:
    store = Store([line(utc("01:30:01"), "a"), line(utc("01:45:01"), "b")])
    assert not report(store, lambda: 0.0).complete
    assert len({one.quarter_hour for one in store.read_partitions}) == 1


def test_a_run_that_is_out_of_time_is_completed_by_the_next_as_planned(hands: ManualClock) -> None:
    whole, store = Store(), Store()
    report(whole)
    first = report(store, lambda: 10.0)
    assert first.as_dict() == {"runs": [], "sealed_quarter_hours": 0, "lines": 0, "drift": 0, "complete": False}
    assert store.at
    assert store.at.plan
    assert [key.rpartition("/")[2] for key in store.objects] == ["lines.csv.gz", "totals.jsonl.gz"]
    hands.advance_to(utc("03:00"))
    store.marked.add(LAST.next)
    store.read_partitions.clear()
    second = report(store, code="2.0")
    assert {one.quarter_hour for one in store.read_partitions[:2]} == {EMPTY, LAST}, "what is sealed is not read again"
    assert {key: store.objects[key] for key in whole.objects} == whole.objects
    assert second.runs == [RUN, "2026-10-23T0215-0245"]
    assert proven(store)


def test_lines_that_are_lost_before_the_run_ends_are_sealed_again() -> None:
    whole, store = Store(), Store()
    report(whole)
    assert not report(store, lambda: 10.0).complete
    del store.objects[Part(FIRST).lines_key]
    assert report(store).runs == [RUN]
    assert store.objects == whole.objects


def test_a_plan_that_another_run_stored_first_is_carried_out() -> None:
    store = Store()
    at = store.at
    assert at
    theirs = Plan(FIRST, QuarterHour.parse("202610230145"), "then", "0.9", 1, ("", ""), (FIRST,))

    def save_plan() -> None:
        store.at = replace(at, plan=theirs)

    store.before["plan"] = save_plan
    assert report(store).runs == ["2026-10-23T0130-0200", "2026-10-23T0200-0215"]
    assert proven(store)


def test_a_run_that_another_has_overtaken_ends_with_an_error() -> None:
    store = Store()

    def overtake() -> None:
        store.at = Checkpoint(QuarterHour.parse("202610230300"), ("another", "hash"), None)

    store.before["finish"] = overtake
    with pytest.raises(OvertakenError):
        report(store)


@pytest.mark.parametrize("key", [Part(QuarterHour.parse("202610230130")).lines_key, f"{FOLDER}manifest.json"])
def test_a_run_stops_at_a_sealed_file_with_other_bytes_and_leaves_the_checkpoint(key: str) -> None:
    store = Store()
    store.objects[key] = b"other"
    with pytest.raises(SealedFileError):
        report(store)
    assert store.objects[key] == b"other"
    assert store.at
    assert store.at.sealed_through == START
    assert store.runs == {}


def test_a_run_stops_at_a_ledger_item_that_is_no_posting_and_seals_as_planned_once_it_is_removed() -> None:
    store, untouched = Store(), Store()
    report(untouched)
    at = utc("02:00:01")
    broken = {name: value for name, value in line(at, "x").items() if name != "type"}
    store.ledger.append(broken)
    with pytest.raises(LedgerItemError, match=r"202610230200#00 2026-10-23T02:00:01\.000Z\."):
        report(store)
    assert Part(QuarterHour.parse("202610230200")).lines_key not in store.objects
    assert store.at
    assert store.at.sealed_through == START
    assert store.runs == {}
    store.ledger.remove(broken)
    assert report(store).runs == [RUN]
    assert store.objects == untouched.objects
    assert proven(store)


@pytest.mark.parametrize("fails", [False, True])
def test_no_file_is_left_open(*, fails: bool) -> None:
    store = Store()
    if fails:
        store.objects[Part(QuarterHour.parse("202610230200")).lines_key] = b"other"
        with pytest.raises(SealedFileError):
            report(store)
    else:
        report(store)
    assert [file.closed for file in store.files] == [True, True]


# ---------------------------------------------------------------- what the counters say


def test_counters_that_lag_are_pending_and_those_that_are_ahead_are_drift() -> None:
    store = Store()
    store.lagging = {FIRST: Totals(0), LAST: Totals(2)}
    assert report(store).drift == 1
    run = store.runs[RUN]
    assert run["proofs"] == {str(FIRST): "pending", str(LAST): "drift"}
    assert (run["counters"], "gsi1pk" in run) == ("drift", True)


def lagging(hands: ManualClock) -> Store:
    """Return the store after a run whose counters lagged in both of its quarter-hours; nothing more is closed."""
    assert hands.now() == utc("02:17")
    store = Store()
    store.lagging = {FIRST: Totals(0), LAST: Totals(0)}
    assert report(store).drift == 0
    assert store.runs[RUN]["counters"] == "pending"
    store.calls.clear()
    store.read_partitions.clear()
    return store


def test_counters_that_have_caught_up_are_verified_by_the_next_run(hands: ManualClock) -> None:
    store = lagging(hands)
    manifest = store.runs[RUN]["manifest_sha256"]
    store.lagging = {LAST: Totals(0)}
    assert report(store) == ReportResult()
    assert store.runs[RUN]["proofs"] == {str(FIRST): "verified", str(LAST): "pending"}
    assert store.runs[RUN]["counters"] == "pending"
    store.read_files.clear()
    store.lagging = {}
    assert report(store) == ReportResult()
    assert store.runs[RUN]["counters"] == "verified"
    assert "gsi1pk" not in store.runs[RUN]
    assert store.runs[RUN]["manifest_sha256"] == manifest
    assert store.read_files == [LAST]
    assert store.read_partitions == []


def test_counters_that_still_lag_stay_pending_and_are_drift_a_day_later(hands: ManualClock) -> None:
    store = lagging(hands)
    before = store.runs[RUN]
    assert report(store) == ReportResult()
    assert (store.runs[RUN], store.calls) == (before, [])
    assert store.at
    store.at = replace(store.at, sealed_through=QuarterHour.parse("202610240200"))
    hands.advance_to(LAST.end + timedelta(days=1))
    assert report(store) == ReportResult(drift=2)
    assert store.runs[RUN]["counters"] == "drift"


@pytest.mark.parametrize(("left", "looked_at"), [([60.0, 60.0], 2), ([60.0, 59.9], 1), ([59.9], 0)])
def test_pending_runs_are_rechecked_while_there_is_time(hands: ManualClock, left: list[float], looked_at: int) -> None:
    store = lagging(hands)
    plan = Plan.of(store.runs[RUN]["plan"])
    older = replace(plan, first=FIRST, last=FIRST, recorded=(FIRST,))
    sealed = [SealedFile.of(store.runs[RUN]["sealed"][str(FIRST)])]
    store.put(with_proofs(run_values(older, sealed, "hash", 0), {FIRST: Counted.PENDING}))
    store.lagging = {}
    times = iter(left)
    assert report(store, lambda: next(times)) == ReportResult()
    assert [run["counters"] for _, run in sorted(store.runs.items())].count("verified") == looked_at
    assert store.runs[older.run]["counters"] == ("verified" if looked_at else "pending")


def test_a_quarter_hour_without_events_is_not_compared_with_counters() -> None:
    store = Store(())
    store.marked = {FIRST}
    report(store)
    assert (store.runs[RUN]["proofs"], store.runs[RUN]["counters"]) == ({}, "verified")


# ---------------------------------------------------------------- in a base currency


def enter(store: Store, currency: str, at: datetime, units: str, base: str = "EUR") -> None:
    store.rates[currency, at] = ExchangeRate(Decimal(units), "ECB", base, at)


def test_each_quarter_hour_is_converted_at_the_exchange_rate_in_force_at_its_end_which_is_pinned() -> None:
    store = Store()
    for at, units in (("01:00", "0.5"), ("01:44:59.999", "0.8"), ("01:45", "0.4")):
        enter(store, "GBP", utc(at), units)
    report(store, base="EUR")
    assert proven(store)
    pinned = {
        str(quarter_hour): {currency: rate and str(rate.units_per_base) for currency, rate in pins.items()}
        for (quarter_hour, _), pins in store.pins.items()
    }
    assert pinned == {str(FIRST): {"GBP": "0.8"}, str(LAST): {"GBP": "0.4"}}
    assert {base for _, base in store.pins} == {"EUR"}
    summary = store.objects[f"{FOLDER}summary.csv"].decode().splitlines()
    # 12.50 at 0.8 and 3 at 0.4.
    assert [row.split(",")[11:13] for row in summary[1:]] == [["EUR", "23.12"], ["EUR", "7.00"]]


def test_pinned_exchange_rates_are_used_whatever_is_in_force() -> None:
    store = Store()
    enter(store, "GBP", utc("01:00"), "0.5")
    store.pins[FIRST, "EUR"] = {"GBP": ExchangeRate(Decimal("0.25"), "before", "EUR", utc("00:30"))}
    report(store, base="EUR")
    assert proven(store)
    assert b'"units_per_base": "0.25"' in store.objects[f"{FOLDER}manifest.json"]


def test_a_missing_exchange_rate_is_pinned_as_missing() -> None:
    store = Store()
    enter(store, "GBP", utc("01:00"), "0.5", base="USD")
    report(store, base="EUR")
    assert proven(store)
    assert store.pins == {(FIRST, "EUR"): {"GBP": None}, (LAST, "EUR"): {"GBP": None}}


def test_each_currency_is_pinned_at_its_own_exchange_rate() -> None:
    store = Store([line(utc("01:30"), "a", "1", "1#GBP"), line(utc("01:31"), "b", "1", "1#USD")])
    enter(store, "GBP", utc("01:00"), "0.5")
    enter(store, "USD", utc("01:00"), "2")
    report(store, base="EUR")
    ((_, pins),) = store.pins.items()
    assert {currency: rate and rate.units_per_base for currency, rate in pins.items()} == {
        "GBP": 1 / Decimal(2),
        "USD": 2,
    }
    assert proven(store)


@pytest.mark.parametrize("base", ["", "GBP"])
def test_where_no_exchange_rate_is_needed_none_is_pinned(base: str) -> None:
    store = Store(item for item in SOLD if item["currency"] == "GBP")
    report(store, base=base)
    assert proven(store)
    assert (store.pins, "pin" in store.calls) == ({}, False)
