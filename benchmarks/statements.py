"""Measures a month of drafts from generated sealed files, and their release, in another process.

Arguments: the number of lines, the number of accounts. AWS is made up: what is created is kept in a folder.
"""

import csv
import gzip
import json
import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import IO, Any, Final, cast

from botocore.exceptions import ClientError
from typing_extensions import override

from benchmarks.prices import INVOCATION, S3_PUT, WRITE
from quarterhour.aws.entity import IndexRange, Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.items import to_item
from quarterhour.aws.workers import Workers
from quarterhour.model import money
from quarterhour.model.clock import ManualClock, using
from quarterhour.model.identifiers import Account, Identity, Position
from quarterhour.model.periods import Calendar, Period
from quarterhour.model.quarter_hours import LENGTH, QuarterHour, span
from quarterhour.registry.agencies.agency import EXEMPT, Agency, TaxProfile
from quarterhour.registry.owner import Owner
from quarterhour.reports.keys import Part, part_of_lines
from quarterhour.reports.plan import Checkpoint, Run, SealedFile
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.reports.store import CheckpointStore, PinStore, ProjectionStore, RunStore
from quarterhour.reports.writer import SealedFileWriter
from quarterhour.statements.drafts.draft import DUE, DraftItem
from quarterhour.statements.drafts.service import DraftRunner
from quarterhour.statements.listing import Document
from quarterhour.statements.parties import Parties, PartyVersions
from quarterhour.statements.plan import Progress, StatementPlan, StatementSettings
from quarterhour.statements.releases.checks import DraftContext
from quarterhour.statements.releases.context import DraftContexts
from quarterhour.statements.releases.plan import ReleasePlan, ReleaseProgress
from quarterhour.statements.releases.run import ReleaseRunner
from quarterhour.statements.releases.store import ReleaseStore
from quarterhour.statements.status.store import StatementStatusStore
from quarterhour.statements.store import DraftStore, PartyReader, ProgressStore, StatementStores
from quarterhour_tools.emulator.dynamodb.sizes import item_size, write_units

PERIOD: Final = Period(2026, 11)
FIRST: Final = QuarterHour.parse("202611010000")
LAST_SOLD: Final = QuarterHour.parse("202611302345")
BOUND: Final = QuarterHour.parse("202612040000")
FILES: Final = 16
"""Different sealed files, at least: the quarter-hours take them in turns, so that a million lines are quickly made."""
CUT_OFF: Final = datetime(2026, 12, 4, 1, tzinfo=UTC)
_INDEXED: Final = 2
"""Writes of an item: to the table, and to an index."""


def measure(lines: int, accounts: int) -> dict[str, float]:
    """Seal a month's statements; return the speed against ``csv.reader`` over the same files, memory and requests."""
    with TemporaryDirectory() as folder:
        bucket = _Bucket(Path(folder), _files(lines, accounts))
        drafts, releases, table = _runners(bucket)
        start = process_time()
        made = _make(drafts)
        with using(ManualClock(CUT_OFF)):
            statements = releases.run(lambda: 1e9).documents
        ours = process_time() - start
        mib = peak()
        _expect(statements, made)
        _expect(statements, min(accounts, lines))
        start = process_time()
        read = sum(1 for key in bucket.sealed for _ in _rows(bucket.sealed[key])) - len(bucket.sealed)
        theirs = process_time() - start
        _expect(sum(value[0] for _, one in table.runs for value in one["sealed"].values()), read)
    return {
        "ratio": theirs / ours,
        "rate": read / ours,
        "mib": mib,
        "puts": bucket.calls["put_object"] / statements,
        "units": table.units / statements,
        "cost": float(bucket.calls["put_object"] * S3_PUT + table.units * WRITE + INVOCATION) / statements,
    }


def _make(runner: DraftRunner) -> int:
    """Make the drafts of the period, in parts as the state machine does if it is large; return their number."""
    result = runner.run(lambda: 1e9)
    if result.parts is None:
        return result.drafts
    for day in result.parts["days"]:
        runner.collect(str(PERIOD), day)
    runner.add_up(str(PERIOD))
    for group in result.parts["groups"]:
        runner.write(str(PERIOD), group)
    return runner.publish(str(PERIOD)).drafts


def _files(lines: int, accounts: int) -> list[tuple[SealedFile, bytes]]:
    """Make the different sealed files; each account sells as often as any other."""
    quarter_hours = len(list(span(FIRST, LAST_SOLD)))
    each, choose, number = -(-lines // quarter_hours), random.Random(1), 0  # noqa: S311 - reproducible, not secret
    found: list[tuple[SealedFile, bytes]] = []
    for _ in range(min(quarter_hours, max(FILES, -(-accounts // each)))):
        with SealedFileWriter() as writer:
            for position in range(each):
                number += 1
                account = number % accounts
                writer.write([_posting(number, FIRST.start + position * (LENGTH / each), account, choose)])
            sealed = writer.seal()
            found.append((sealed, writer.file.read()))
    return found


def _posting(number: int, at: datetime, account: int, choose: random.Random) -> dict[str, str]:
    position = Position.of(Identity("shop-1", f"order-{number}:1").hash, at).at(0)
    return {
        "quarter_hour": f"{FIRST}#00",
        "position": str(position),
        "recorded_at": str(position)[: len("2026-11-01T00:00:00.000Z")],
        "source": "shop-1",
        "id": f"order-{number}:1",
        "type": "sale.recorded",
        "agency": f"agency-{account}",
        "currency": "EUR",
        "amount": f"{choose.randrange(100_000) / 100:.2f}",
        "commission_rate": "0.125",
        "commission": f"{choose.randrange(10_000) / 1000:.5f}",
        "product": f"product {choose.randrange(500)}",
        "customer": f"c-{choose.randrange(10_000)}",
        "order_id": f"order-{number}",
        "quantity": "1",
        "period": str(PERIOD),
        "tax_point": at.date().isoformat(),
        "terms": "card 3",
    }


class _Bucket:
    """Stands for the S3 client: sealed files from memory, what is created in a folder."""

    def __init__(self, folder: Path, files: Sequence[tuple[SealedFile, bytes]]) -> None:
        parts = [Part(quarter_hour) for quarter_hour in span(FIRST, LAST_SOLD)]
        self.sealed = {part.lines_key: files[at % len(files)] for at, part in enumerate(parts)}
        self.calls: Counter[str] = Counter()
        self._folder = folder

    def put_object(self, Key: str, Body: IO[bytes] | bytes, **_: str) -> None:  # noqa: N803 - as in boto3
        self.calls["put_object"] += 1
        self._file(Key).write_bytes(Body if isinstance(Body, bytes) else Body.read())

    def get_object(self, Key: str, **_: str) -> dict[str, Any]:  # noqa: N803 - as in boto3
        self.calls["get_object"] += 1
        return {"Body": BytesIO(self.sealed[Key][1]) if Key in self.sealed else self._file(Key).open("rb")}

    def head_object(self, Key: str, **_: str) -> dict[str, Any]:  # noqa: N803 - as in boto3
        self.calls["head_object"] += 1
        if not self._file(Key).exists():
            raise ClientError({"Error": {"Code": "404"}}, "HeadObject")
        return {"ContentLength": 1}

    def _file(self, key: str) -> Path:
        return self._folder / key.replace("/", "_")


def _runs(bucket: _Bucket) -> list[tuple[date, Run]]:
    """Return the control items of the reports' runs: one for each day."""
    days: dict[date, dict[str, Any]] = {}
    for key, (sealed, _) in bucket.sealed.items():
        part = part_of_lines(key)
        if part:
            days.setdefault(part.quarter_hour.day, {})[str(part)] = sealed.as_list()
    return [(day, {"sealed": parts, "lines": sum(one[0] for one in parts.values())}) for day, parts in days.items()]


class _Table:
    """What the stores below keep, and the write units of all items."""

    def __init__(self, runs: Sequence[tuple[date, Run]]) -> None:
        self.units = 0
        self.runs = runs
        self.drafts: dict[tuple[Period, Account], DraftItem] = {}
        self.sealed = Progress()
        self.released = ReleaseProgress()
        self.plan: StatementPlan | None = None

    def plan_of(self, _: Period) -> StatementPlan:
        if self.plan is None:
            raise ValueError("no period is sealed")
        return self.plan

    def write(self, items: Iterable[Mapping[str, Any]]) -> None:
        for one in items:
            self.units += _INDEXED * write_units(item_size(to_item(one)))

    def insert(self, drafts: Sequence[DraftItem]) -> None:
        self.drafts |= {one.key: one for one in drafts}
        self.write(one.as_item() for one in drafts)


# Each stands for the class that it extends, so that mypy compares the signatures. What is not replaced finds no client.


@dataclass(frozen=True, slots=True)
class _Runs(RunStore):
    made_up: _Table

    @override
    def days(self, first: date, last: QuarterHour) -> Iterator[tuple[date, list[Run]]]:
        return ((day, [run]) for day, run in self.made_up.runs if first <= day <= last.day)


@dataclass(frozen=True, slots=True)
class _Projections(ProjectionStore):
    made_up: _Table

    @override
    def write(self, projections: Iterable[Mapping[str, Any]]) -> None:
        self.made_up.write(projections)


@dataclass(frozen=True, slots=True)
class _Drafts(DraftStore):
    made_up: _Table

    @override
    def insert(self, drafts: Iterable[DraftItem]) -> None:
        self.made_up.insert(list(drafts))


@dataclass(frozen=True, slots=True)
class _Releases(ReleaseStore):
    made_up: _Table

    @override
    def progress(self) -> ReleaseProgress:
        return self.made_up.released

    @override
    def save_plan(self, progress: ReleaseProgress, plan: ReleasePlan) -> None:
        self.made_up.released = ReleaseProgress(plan=plan)

    @override
    def finish(self, plan: ReleasePlan, sha256: str, series: dict[str, int]) -> None:
        self.made_up.released = ReleaseProgress(plan.number, sha256, series)

    @override
    def due(self) -> list[DraftItem]:
        return [one for one in self.made_up.drafts.values() if one.state in DUE]

    @override
    def without_statement(self) -> Iterator[DraftItem]:
        return iter(self.due())

    @override
    def drafts(self, keys: Iterable[tuple[Period, Account]]) -> list[DraftItem]:
        return [self.made_up.drafts[key] for key in keys]

    @override
    def decide_all(self, drafts: Sequence[DraftItem]) -> bool:
        self.made_up.insert(drafts)
        return True

    @override
    def statements(self, keys: Iterable[tuple[Period, Account]]) -> dict[tuple[Period, Account], dict[str, Any]]:
        return {}

    @override
    def last_documents(self, accounts: Sequence[Account]) -> dict[Account, Document]:
        return {}

    @override
    def write_later(self, items: Sequence[dict[str, Any]]) -> None:
        self.made_up.write(items)

    @override
    def put(self, item: dict[str, Any]) -> None:
        self.made_up.write([item])


@dataclass(frozen=True, slots=True)
class _Progress(ProgressStore):
    made_up: _Table

    @override
    def progress(self) -> Progress:
        return self.made_up.sealed

    @override
    def save_plan(self, progress: Progress, plan: StatementPlan) -> None:
        self.made_up.plan = plan
        self.made_up.sealed = Progress(plan.first_period, plan=plan)

    @override
    def finish(self, plan: StatementPlan, manifest_sha256: str) -> None:
        self.made_up.sealed = Progress(plan.first_period, plan.period, plan.bound, manifest_sha256)


OWNER: Final = Owner(legal_name="Market Ltd", address="1 Quay", country="GB")
AGENCY: Final = Agency(FIRST.start, "Harbour Books Ltd", "2 Quay", "GB", tax=TaxProfile(EXEMPT))


class _Parties(PartyReader):
    @override
    def parties(self, accounts: Sequence[Account], at: datetime, known: datetime | PartyVersions) -> list[Parties]:
        return [Parties(OWNER, AGENCY, lambda _: AGENCY) for _ in accounts]


class _Contexts(DraftContexts):
    @property
    @override
    def parties(self) -> PartyReader:
        return _Parties(self.entities)

    @override
    def gather(self, drafts: Sequence[DraftItem], known: datetime, *, counted: bool = True) -> list[DraftContext]:
        _expect(counted, 0)
        return [DraftContext(OWNER, AGENCY, lambda _: AGENCY) for _ in drafts]


class _Checkpoints(CheckpointStore):
    @override
    def checkpoint(self) -> Checkpoint:
        return Checkpoint(BOUND, ("2026-12-04T0000-0015", "0" * 64), None)


class _NoDocuments(EntityReader):
    """A marketplace without rate cards."""

    @override
    def read_index(self, key_range: IndexRange, page_size: int) -> Iterator[Values]:
        return iter(())


def _runners(bucket: _Bucket) -> tuple[DraftRunner, ReleaseRunner, _Table]:
    made_up, workers = _Table(_runs(bucket)), Workers(1)
    client: Any = bucket
    entities = EntityReader(client, "")
    files = SealedFiles(client, "reports")
    stores = StatementStores(
        _Checkpoints(client, ""),
        _Runs(client, "", made_up),
        PinStore(client, "", workers),
        _Projections(client, "", workers, made_up),
        files,
        _Progress(client, "", made_up),
        _Drafts(client, "", workers, made_up),
        _NoDocuments(client, ""),
        workers,
        lambda: FIRST.start,
    )
    settings = StatementSettings(Calendar(UTC, first_period=PERIOD), "UTC", "bench")
    releases = ReleaseRunner(
        _Releases(client, "", workers, made_up),
        files,
        StatementStatusStore(client, entities),
        _Contexts(entities, made_up.plan_of),
        settings,
        paid_since=lambda _: money.ZERO,
    )
    return DraftRunner(stores, settings), releases, made_up


def _rows(sealed: tuple[SealedFile, bytes]) -> Iterator[list[str]]:
    with gzip.open(BytesIO(sealed[1]), "rt", encoding="utf-8", newline="") as text:
        yield from csv.reader(cast("IO[str]", text))


def peak() -> float:
    """Return the most memory that this process ever held, in MiB (on Linux)."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (peak,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(peak.split()[1]) / 1024


def _expect(found: int, expected: int) -> None:
    if found != expected:
        raise ValueError(f"{found} instead of {expected}")


def main() -> None:
    """Run the measurement, and print it."""
    print(json.dumps(measure(*map(int, sys.argv[1:]))))


if __name__ == "__main__":
    main()
