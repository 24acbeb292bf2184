"""Statements survive a crash at every AWS call of every step, with the same bytes, and each line on exactly one."""

import csv
import gzip
import io
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import product
from typing import Any

import pytest

from quarterhour.statements import day_lines, plan, service
from quarterhour.statements.keys import PERIODS, PROGRESS_KEY, STATEMENTS, WORK
from quarterhour_tools.emulator.faults import FaultKind, Faults, Killed
from tests.invariants.crashing import DEATHS, Record
from tests.support.events import by_sign
from tests.support.requests import events_request
from tests.support.system import World, opened

EVE = datetime(2026, 10, 31, 23, 40, tzinfo=UTC)
TABLE_PREFIX = "STATEMENTS#"
CYCLE = 3
"""The most calls that repeat themselves: to collect a day without lines takes three."""
EVERY = 7
"""Of calls that repeat themselves, every seventh is tried, so each call of the cycle in turns."""
EVERY_IN_PARTS = 3
"""A run in parts makes hundreds of calls: every third crash point is tried, of both deaths in turns."""


class Marketplace:
    """A marketplace whose first period is due, and which can go back to that state."""

    def __init__(self, world: World, faults: Faults) -> None:
        self.world = world
        self.faults = faults
        self._s3: Any = world.stack.engine.s3()
        self._dynamodb: Any = world.stack.engine.dynamodb()
        self._bucket = world.stack.ref("ReportBucket")
        self._table = world.stack.ref("EntityTable")
        for number in range(10):
            sold = by_sign(f"s{number}", f"{number}.105", agency=f"a{number % 4}", commission_rate="0.1")
            assert world.stack.request(events_request(sold)).json()["items"][0]["verdict"] == "recorded"
            world.clock.advance(timedelta(minutes=5))
        world.drain()
        world.clock.advance_to(datetime(2026, 11, 1, 0, 45, tzinfo=UTC))
        world.report()

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
        steps += [{"number": period}, *({"write": {"period": period, "group": group}} for group in parts["groups"])]
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
        """Return the items of statements, periods and progress."""
        found = self._dynamodb.scan(TableName=self._table)["Items"]
        own = {PERIODS, *PROGRESS_KEY.values()}
        return [
            item
            for item in found
            if item["pk"]["S"].startswith(TABLE_PREFIX) or item["pk"]["S"] in own or item["sk"]["S"] in own
            if item["pk"]["S"] != "CONTROL" or item["sk"]["S"] == PROGRESS_KEY["sk"]
        ]

    def go_back(self) -> None:
        """Forget all statements."""
        keys = self.world.stack.bucket.keys()
        written = [{"Key": key} for key in keys if key.startswith((STATEMENTS, WORK))]
        self._s3.delete_objects(Bucket=self._bucket, Delete={"Objects": written, "Quiet": True})
        assert not self.files(STATEMENTS) | self.files(WORK)
        for item in self.items():
            self._dynamodb.delete_item(TableName=self._table, Key={name: item[name] for name in ("pk", "sk")})


def struck(calls: Sequence[str]) -> list[int]:
    """Return the places of the calls to be struck: all, but few of those in the midst of a cycle."""
    repeated = [n for n in range(CYCLE, len(calls)) if calls[n - CYCLE : n + CYCLE] == calls[n : n + 2 * CYCLE]]
    return sorted({*range(len(calls))} - {*repeated} | {*repeated[::EVERY]})


@pytest.fixture
def shop() -> Iterator[Marketplace]:
    parameters: dict[str, str | int] = {"PeriodGraceDays": 0, "FirstPeriod": "2026-10"}
    with Faults().installed() as faults, opened(parameters, start=EVE) as world:
        yield Marketplace(world, faults)


@pytest.mark.parametrize("in_parts", [False, True], ids=["one group", "in parts"])
def test_a_run_may_die_at_any_call(
    shop: Marketplace, monkeypatch: pytest.MonkeyPatch, record_property: Record, *, in_parts: bool
) -> None:
    if in_parts:
        monkeypatch.setattr(plan, "LINES_OF_A_GROUP", 4)
        monkeypatch.setattr(service, "GROUPS_OF_AN_INVOCATION", 1)
        monkeypatch.setattr(day_lines, "PIECE", 300)
    points = list(product(shop.points(), DEATHS))[:: EVERY_IN_PARTS if in_parts else 1]
    files, items = shop.files(), shop.items()
    check(shop)
    for after, death in points:
        shop.go_back()
        shop.faults.arm(death, after)
        shop.seal()
        assert shop.files() == files
        assert shop.items() == items
    assert len(shop.faults.struck) == len(points), "a crash point was not reached"
    record_property("statements", f"{len(points)} crash points tried, 0 violations")


def test_two_runs_at_once_write_the_same(shop: Marketplace, record_property: Record) -> None:
    """Another run begins just before any call of the first, and completes."""
    points = shop.points()
    files, items = shop.files(), shop.items()
    for after in points:
        shop.go_back()
        shop.faults.meanwhile(after, lambda: shop.world.stack.invoke("statements", {}))
        shop.seal()
        assert shop.files() == files
        assert shop.items() == items
    record_property("two runs of statements", f"{len(points)} points tried, 0 violations")


@pytest.mark.parametrize("kind", [FaultKind.THROTTLE, FaultKind.RESET_AFTER])
def test_faults_that_pass_by_themselves_change_nothing(shop: Marketplace, kind: FaultKind) -> None:
    points = shop.points()
    files = shop.files()
    for after in points[::2]:
        shop.go_back()
        shop.faults.arm(kind, after)
        shop.seal()
        assert shop.files() == files


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
    return list(csv.DictReader(io.StringIO(gzip.decompress(content).decode(), newline="")))
