"""Drafts and statements survive a crash at every AWS call, with the same bytes, and each line is on exactly one."""

import csv
import gzip
import io
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

import pytest

from quarterhour.proof.verify import verify
from quarterhour.statements import plan
from quarterhour.statements.drafts import day_lines, service
from quarterhour.statements.keys import PROGRESS_KEY, STATEMENTS, WORK
from quarterhour.statements.releases import roster
from quarterhour.statements.releases.keys import PROGRESS_KEY as RELEASES_KEY
from quarterhour_tools.emulator.faults import FaultKind, Faults, Killed
from tests.handlers.desk import send
from tests.invariants.crashing import Record, crash_points
from tests.support.agencies import OWNER, tax
from tests.support.copies import Branches
from tests.support.events import by_sign
from tests.support.requests import events_request
from tests.support.stored_statements import register
from tests.support.system import World, opened

EVE = datetime(2026, 10, 31, 23, 40, tzinfo=UTC)
OWN = ("STATEMENTS#", "DRAFTS#", "BILLED#", "PERIOD", "RELEASE")
"""The beginnings of the partitions of drafts, statements, periods and releases."""
CONTROL = {PROGRESS_KEY["sk"], RELEASES_KEY["sk"]}
RELEASES = f"{STATEMENTS}releases/"
CYCLE = 3
"""The most calls that repeat themselves: to collect a day without lines takes three."""
EVERY = 7
"""Of calls that repeat themselves, every seventh is tried, so each call of the cycle in turns."""
EVERY_IN_PARTS = 2
"""A run in parts makes hundreds of calls: every second crash point is tried."""
PASSING = (FaultKind.THROTTLE, FaultKind.RESET_AFTER)
"""Faults that the AWS client repeats a call after. Each is tried at every fourth call, never both at one."""


class State(NamedTuple):
    """The objects of the drafts and statements by key, and their items."""

    objects: dict[str, bytes]
    items: list[dict[str, Any]]


class Marketplace:
    """A marketplace whose first period is due, and which can go back to a state that was kept."""

    def __init__(self, world: World, faults: Faults) -> None:
        self.world = world
        self.faults = faults
        self._s3: Any = world.stack.engine.s3()
        self._dynamodb: Any = world.stack.engine.dynamodb()
        self._bucket = world.stack.ref("ReportBucket")
        self._table = world.stack.ref("EntityTable")
        self._versions = 1
        world.write("/documents/owner", OWNER)
        for agency in range(4):
            register(world, f"a{agency}")
        for number in range(10):
            sold = by_sign(f"s{number}", f"{number}.105", agency=f"a{number % 4}", commission_rate="0.1")
            assert world.stack.request(events_request(sold)).json()["items"][0]["verdict"] == "recorded"
            world.clock.advance(timedelta(minutes=5))
        world.drain()
        world.clock.advance_to(datetime(2026, 11, 1, 0, 45, tzinfo=UTC))
        world.report()
        self.keep()

    def decide(self, agency: str, decision: str, seen: int) -> None:
        """Decide about a draft of October."""
        body = {"decision": decision, "reason": "checked", "seen": seen}
        answer = send(self.world, "PUT", f"/drafts/{agency}/GBP/2026-10", body)
        assert answer.status == 200, answer.body

    def set_profile(self, *, is_there: bool) -> None:
        """Write a version of the registration of ``a1``, with a tax profile or without."""
        content = tax(scheme="exempt", percent=None, vat_id=None)
        self.world.write("/agencies/a1", content if is_there else {**content, "tax": None}, seen=self._versions)
        self._versions += 1

    def step(self, event: dict[str, Any]) -> dict[str, Any] | None:
        """Invoke the function once; ``None`` where it died."""
        try:
            with self.faults.at_work():
                result: dict[str, Any] = self.world.stack.invoke("statements", event)
        except Killed:
            self.world.stack.cold_start("statements")
            return None
        return result

    def seal(self) -> None:
        """Run as the state machine does, and start again after a death."""
        while (result := self.step({})) is None or result["next"] != "done":
            if result and result["parts"]:
                self._parts(result["parts"])

    def _parts(self, parts: dict[str, Any]) -> None:
        period = parts["period"]
        steps: list[dict[str, Any]] = [{"collect": {"period": period, "day": day}} for day in parts["days"]]
        steps += [{"add_up": period}, *({"write": {"period": period, "group": group}} for group in parts["groups"])]
        for step in [*steps, {"publish": period}]:
            if self.step(step) is None:
                return

    def points(self) -> list[int]:
        """Run in peace; return the calls to be struck, as numbers of calls before them."""
        before = len(self.faults.calls)
        self.seal()
        return struck([call.operation for call in self.faults.calls[before:]])

    def files(self, prefix: str = STATEMENTS) -> dict[str, bytes]:
        keys = self.world.stack.bucket.keys()
        return {key: self.world.stack.bucket.open(key).read() for key in keys if key.startswith(prefix)}

    def items(self) -> list[dict[str, Any]]:
        """Return the items of drafts, statements, periods, releases and their progress."""
        found = self._dynamodb.scan(TableName=self._table)["Items"]
        return [
            item
            for item in found
            if item["pk"]["S"].startswith(OWN) or (item["pk"]["S"] == "CONTROL" and item["sk"]["S"] in CONTROL)
        ]

    def state(self) -> State:
        """Return the state; work objects are no part of it, as they expire."""
        return State(self.files(STATEMENTS), self.items())

    def keep(self) -> None:
        """Keep the present state, to go back to it."""
        self._kept = State(self.files(STATEMENTS) | self.files(WORK), self.items())

    def go_back(self) -> None:
        """Restore the state that was kept."""
        written = self.files(STATEMENTS) | self.files(WORK)
        assert self._kept.objects.items() <= written.items(), "an object was changed"
        new = [{"Key": key} for key in written.keys() - self._kept.objects.keys()]
        if new:
            self._s3.delete_objects(Bucket=self._bucket, Delete={"Objects": new, "Quiet": True})
        for item in self.items():
            self._dynamodb.delete_item(TableName=self._table, Key={name: item[name] for name in ("pk", "sk")})
        for item in self._kept.items:
            self._dynamodb.put_item(TableName=self._table, Item=item)


def struck(calls: Sequence[str]) -> list[int]:
    """Return the places of the calls to be struck: all, but few of those in the midst of a cycle."""
    repeated = [n for n in range(CYCLE, len(calls)) if calls[n - CYCLE : n + CYCLE] == calls[n : n + 2 * CYCLE]]
    return sorted({*range(len(calls))} - {*repeated} | {*repeated[::EVERY]})


@pytest.fixture(autouse=True)
def _files_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep temporary files in memory: copies of the process would share the position in those on disk."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in {"quarterhour", "tempfile"} and hasattr(module, "TemporaryFile"):
            monkeypatch.setattr(module, "TemporaryFile", io.BytesIO)


@pytest.fixture
def shop() -> Iterator[Marketplace]:
    with deployed("automatic") as found:
        yield found


@contextmanager
def deployed(release: str) -> Iterator[Marketplace]:
    parameters: dict[str, str | int] = {"grace_days": 0, "first_period": "2026-10", "release": release}
    with Faults().installed() as faults, opened(parameters, start=EVE) as world:
        yield Marketplace(world, faults)


@contextmanager
def all_releasing() -> Iterator[Marketplace]:
    """The state after a person has decided to release the drafts of all four agencies."""
    with deployed("manual") as found:
        found.seal()
        for agency in ("a0", "a1", "a2", "a3"):
            found.decide(agency, "release", 0)
        found.keep()
        yield found


@pytest.fixture
def decided() -> Iterator[Marketplace]:
    """The state after decisions: a cancellation, a new statement after one, a first statement, and a held draft."""
    with deployed("manual") as found:
        found.seal()
        found.decide("a0", "release", 0)
        found.decide("a1", "release", 0)
        found.seal()
        found.decide("a1", "cancel", 2)
        found.seal()
        found.decide("a0", "cancel", 2)
        found.decide("a1", "release", 4)
        found.decide("a2", "release", 0)
        found.decide("a3", "hold", 0)
        found.keep()
        yield found


def crash_at(shop: Marketplace, points: Sequence[tuple[int, FaultKind]], expected: State) -> None:
    """Let a copy of a run die at each point, and compare what the copy's next one leaves."""
    changes = [(after, partial(strike, shop.faults, death)) for after, death in points]
    assert branched(shop, changes, expected) == len(points), "a crash point was not reached"


def strike(faults: Faults, kind: FaultKind) -> None:
    """Let a fault strike at the present call, and no other later."""
    faults.disarm()
    faults.arm(kind, -1)


def branched(shop: Marketplace, changes: Sequence[tuple[int, Callable[[], object]]], expected: State) -> int:
    """Run again; at the call of each change, a copy makes it and runs to its end. Compare what each leaves.

    Return the number of copies.
    """
    at: defaultdict[int, list[Callable[[], object]]] = defaultdict(list)
    for after, change in changes:
        at[after].append(change)
    shop.go_back()
    shop.world.stack.cold_start("statements")  # what it remembers is of what came after
    with Branches() as branches:
        for after, some in at.items():
            shop.faults.meanwhile(after, partial(branches.at, some))
        shop.seal()
        assert not shop.faults.spec.positions, "a fault did not strike"
        assert shop.state() == expected
    return branches.ended


@pytest.mark.parametrize("in_parts", [False, True], ids=["one group", "in parts"])
def test_a_run_may_die_at_any_call(
    shop: Marketplace, monkeypatch: pytest.MonkeyPatch, record_property: Record, *, in_parts: bool
) -> None:
    if in_parts:
        monkeypatch.setattr(plan, "LINES_OF_A_GROUP", 4)
        monkeypatch.setattr(service, "GROUPS_OF_AN_INVOCATION", 1)
        monkeypatch.setattr(day_lines, "PIECE", 300)
        monkeypatch.setattr(roster, "DOCUMENTS_OF_A_GROUP", 2)
    points = crash_points(shop.points())[:: EVERY_IN_PARTS if in_parts else 1]
    check(shop)
    crash_at(shop, points, shop.state())
    record_property("drafts and statements", f"{len(points)} crash points tried, 0 violations")


@pytest.mark.parametrize("groups", [1_000, 1], ids=["one group", "many groups"])
def test_a_release_of_statements_and_cancellations_may_die_at_any_call(
    decided: Marketplace, monkeypatch: pytest.MonkeyPatch, record_property: Record, groups: int
) -> None:
    monkeypatch.setattr(roster, "DOCUMENTS_OF_A_GROUP", groups)
    points = crash_points(decided.points())[:: EVERY_IN_PARTS if groups == 1 else 1]
    check_decided(decided)
    crash_at(decided, points, decided.state())
    record_property("a release", f"{len(points)} crash points tried, 0 violations")


def test_a_release_that_refuses_a_draft_may_die_at_any_call(record_property: Record) -> None:
    """The tax profile of one of four agencies is gone when the release runs that a person decided."""
    with all_releasing() as shop:
        shop.set_profile(is_there=False)
        points = crash_points(shop.points())
        check_refused(shop)
        crash_at(shop, points, shop.state())
    record_property("a release that refuses a draft", f"{len(points)} crash points tried, 0 violations")


def test_a_profile_may_go_while_a_release_is_dead_at_any_call(record_property: Record) -> None:
    """Before the numbers are given, the draft is refused; from then on, its document shows the profile that it had."""
    with all_releasing() as shop:
        points = crash_points(shop.points())
        released = shop.files()
        outcomes = Counter[bool]()
        for after, death in points:
            shop.go_back()
            shop.faults.arm(death, after)
            result = shop.step({})
            assert result is None, "it died"
            shop.set_profile(is_there=False)
            shop.seal()
            is_refused = shop.world.read("/drafts/a1/GBP/2026-10")["state"] == "open"
            outcomes[is_refused] += 1
            if is_refused:
                check_refused(shop)
            else:
                assert shop.files() == released
            bucket = shop.world.stack.bucket
            assert not verify(bucket.open, bucket.keys()).problems
            shop.set_profile(is_there=True)
    assert set(outcomes) == {True, False}
    record_property("a profile that goes", f"{len(points)} crash points tried, 0 violations")


def test_two_runs_at_once_write_the_same(shop: Marketplace, record_property: Record) -> None:
    """Another run begins just before any call of the first, and completes."""
    interleave(shop, "two runs of statements", record_property)


def test_two_runs_of_a_release_at_once_number_each_document_once(decided: Marketplace, record_property: Record) -> None:
    interleave(decided, "two runs of a release", record_property)
    check_decided(decided)


def interleave(shop: Marketplace, what: str, record_property: Record) -> None:
    points = shop.points()

    def run() -> None:
        shop.faults.disarm()
        shop.world.stack.invoke("statements", {})

    assert branched(shop, [(after, run) for after in points], shop.state()) == len(points)
    record_property(what, f"{len(points)} points tried, 0 violations")


@pytest.mark.parametrize("kind", PASSING)
def test_faults_that_pass_by_themselves_change_nothing(shop: Marketplace, kind: FaultKind) -> None:
    points = shop.points()
    files = shop.files()
    for after in points[PASSING.index(kind) :: 2 * len(PASSING)]:
        shop.go_back()
        shop.faults.arm(kind, after)
        shop.seal()
        assert shop.files() == files


def check_decided(shop: Marketplace) -> None:
    """Check the documents of the decisions: numbers without a gap, and openings that continue closings."""
    found = [
        row for key, content in sorted(shop.files(RELEASES).items()) if key.endswith(".csv") for row in text(content)
    ]
    names = ("number", "cancels", "agency", "revision", "opening", "commission", "closing")
    # In October a0 sold 0.105, a1 1.105, and a2 2.105.
    assert [tuple(row[name] for name in names) for row in found] == [
        ("S-000001", "", "a0", "1", "0", "0.01", "0.01"),
        ("S-000002", "", "a1", "1", "0", "0.11", "0.11"),
        ("C-000001", "S-000002", "a1", "2", "0.11", "-0.11", "0.00"),
        ("C-000002", "S-000001", "a0", "2", "0.01", "-0.01", "0.00"),
        ("S-000003", "", "a1", "3", "0.00", "0.11", "0.11"),
        ("S-000004", "", "a2", "1", "0", "0.21", "0.21"),
    ]
    again = json.loads(shop.files()["statements/2026-10/a1/GBP/3/statement.json"])
    assert (again["number"], again["replaces"]) == ("S-000003", "S-000002")
    states = {agency: shop.world.read(f"/drafts/{agency}/GBP/2026-10")["state"] for agency in ("a0", "a1", "a2", "a3")}
    assert states == {"a0": "held", "a1": "released", "a2": "released", "a3": "held"}


def check_refused(shop: Marketplace) -> None:
    """Check that the draft of ``a1`` has no number and says why, and that the others have theirs without a gap."""
    (key,) = (key for key in shop.files(RELEASES) if key.endswith(".csv"))
    found = [(row["number"], row["agency"]) for row in text(shop.files()[key])]
    assert found == [("S-000001", "a0"), ("S-000002", "a2"), ("S-000003", "a3")]
    draft = shop.world.read("/drafts/a1/GBP/2026-10")
    assert (draft["state"], draft["number"]) == ("open", None)
    assert [(one["state"], one["by"]) for one in draft["decisions"][1:]] == [("open", "release")]
    assert draft["decisions"][1]["reason"].startswith("not released: the agency has no tax profile on 2026-10-")


def check(shop: Marketplace) -> None:
    """Check that each sealed line is on exactly one statement, and that commission is rounded there."""
    sealed: Counter[str] = Counter()
    for content in shop.files("ledger/").values():
        sealed.update(line["position"] for line in rows(content) if line["period"] == "2026-10")
    on_statements: Counter[str] = Counter()
    for key, content in shop.files().items():
        if key.endswith("lines.csv.gz"):
            lines = rows(content)
            on_statements.update(line["position"] for line in lines)
            statement = json.loads(shop.files()[key.replace("lines.csv.gz", "statement.json")])
            exact = sum(Decimal(line["commission"]) for line in lines)
            assert Decimal(statement["commission_exact"]) == exact
            assert abs(Decimal(statement["commission"]) - exact) <= Decimal("0.005")
            assert Decimal(statement["closing"]) == Decimal(statement["commission"]) + Decimal(statement["tax"])
    assert sealed == on_statements
    assert set(on_statements.values()) == {1}


def rows(content: bytes) -> list[dict[str, str]]:
    return text(gzip.decompress(content))


def text(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))
