"""Runs reports: store the plan, seal each part, write summary and manifest, move the checkpoint."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import Any, Final

from quarterhour.aws.executions import Executions
from quarterhour.aws.items import chunks
from quarterhour.counters.store import CounterReader
from quarterhour.ledger.postings.partitions import LedgerReader
from quarterhour.ledger.reading.sealed_index import EventIndex, listed_sources
from quarterhour.model import clock
from quarterhour.model.errors import NotFoundError
from quarterhour.model.fields import shown
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.reports.base_currency import convert
from quarterhour.reports.keys import Part
from quarterhour.reports.manifest import run_files
from quarterhour.reports.plan import (
    PartTotals,
    Plan,
    Proof,
    ReportSettings,
    RunTotals,
    SealedFile,
    next_plan,
    proof,
    run_values,
    sealed_of,
    with_proofs,
    worst,
)
from quarterhour.reports.projections.plan import sales
from quarterhour.reports.projections.products import product_items
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.reports.store import CheckpointStore, PinStore, ProjectionStore, RunStore
from quarterhour.reports.writer import SealedFileWriter

RESERVE_SECONDS: Final = 60.0
"""With less time left than this, a run seals no further quarter-hour."""
_PROVEN_AT_A_TIME: Final = 10_000
"""How many totals are compared with their counters at a time."""


@dataclass(slots=True)
class ReportResult:
    """What an invocation sealed; ``complete`` is false if its time ran short, and another must continue."""

    runs: list[str] = field(default_factory=list)
    sealed_quarter_hours: int = 0
    lines: int = 0
    drift: int = 0
    complete: bool = True

    def as_dict(self) -> dict[str, Any]:
        """Return the result as the function's response."""
        return {
            "runs": self.runs,
            "sealed_quarter_hours": self.sealed_quarter_hours,
            "lines": self.lines,
            "drift": self.drift,
            "complete": self.complete,
        }


@dataclass(frozen=True, slots=True)
class ReportStores:
    """The stores that a report reads and writes."""

    checkpoints: CheckpointStore
    runs: RunStore
    ledger: LedgerReader
    counters: CounterReader
    pins: PinStore
    projections: ProjectionStore
    files: SealedFiles
    executions: Executions


class Reporter:
    """Seals every final quarter-hour in S3, exactly once, whatever interrupts it."""

    def __init__(self, stores: ReportStores, settings: ReportSettings) -> None:
        self._stores = stores
        self._settings = settings

    def run(self, remaining_seconds: Callable[[], float]) -> ReportResult:
        """Seal all final quarter-hours, or as many as the time allows.

        A run in parts is left to the state machine, which is started. Raises ``SealedFileError`` if a sealed file
        exists with other bytes, ``LedgerItemError`` if a ledger item is no posting, ``OvertakenError`` if another run
        has taken over, ``UnavailableError`` if AWS keeps failing. The next invocation continues where this one stopped.
        """
        return self._run(ReportResult(), remaining_seconds)

    def seal_part(self, run: str, part: str) -> SealedFile | None:
        """Seal one part of the run under way; return its file, or ``None`` if that run is not under way any more.

        A part may be sealed any number of times, at the same time too: its bytes depend on the ledger alone. Raises
        ``NotFoundError`` if the run has no such part; otherwise as ``run`` does.
        """
        plan = self._under_way(run)
        if plan is None:
            return None
        found = next((one for one in plan.all_parts if str(one) == part), None)
        if found is None or plan.parts == 1:
            raise NotFoundError(f"the run {run} has no part {shown(part)}")
        sealed, totals = self._seal_part(plan, found)
        self._stores.files.create_part_totals(found, sealed, totals)
        return sealed

    def publish(self, run: str, remaining_seconds: Callable[[], float]) -> ReportResult:
        """Publish and finish the run whose parts are sealed, if it is under way, and begin the next.

        Raises ``SealedFileError`` if a part is not sealed yet; otherwise as ``run`` does.
        """
        result = ReportResult()
        if plan := self._under_way(run):
            sealed: list[SealedFile] = []
            totals = RunTotals.of(plan.quarter_hours)
            for part in plan.all_parts:
                sealed_file, pieces = self._stores.files.part_totals(part)
                sealed.append(sealed_file)
                for piece in pieces:
                    totals.add(part.quarter_hour, piece)
            self._publish(plan, sealed, totals, result)
        return self._run(result, remaining_seconds)

    def _run(self, result: ReportResult, remaining_seconds: Callable[[], float]) -> ReportResult:
        while plan := self._plan():
            if plan.parts > 1:
                self._stores.executions.start(plan.run, plan.execution_input)
                result.complete = False
                return result
            sealed, totals = self._seal(plan, remaining_seconds)
            if len(sealed) < len(plan.quarter_hours):
                self._stores.checkpoints.save_progress(plan, sealed)
                result.complete = False
                return result
            self._publish(plan, sealed, totals, result)
        self._recheck_pending(remaining_seconds, result)
        return result

    def _under_way(self, run: str) -> Plan | None:
        at = self._stores.checkpoints.checkpoint()
        return at.plan if at and at.plan and at.plan.run == run else None

    def _plan(self) -> Plan | None:
        """Return the plan under way, or a new one; ``None`` if every final quarter-hour is reported."""
        checkpoints = self._stores.checkpoints
        while at := checkpoints.checkpoint():
            if at.plan:
                return at.plan
            plan = next_plan(at, clock.now(), self._settings, checkpoints.shards())
            if plan is None:
                return None
            checkpoints.save_plan(at, plan)  # another run may have stored its plan first: the stored one is read next
        return None

    def _seal(self, plan: Plan, remaining_seconds: Callable[[], float]) -> tuple[list[SealedFile], RunTotals]:
        """Seal the quarter-hours of a plan of one part each, in turn, as many as the time allows."""
        sealed: list[SealedFile] = []
        totals = RunTotals.of(plan.quarter_hours)
        for part in plan.all_parts:
            if len(sealed) < len(plan.sealed):
                file = plan.sealed[len(sealed)]
                line_totals = self._stores.files.line_totals(part, file)
            elif sealed and remaining_seconds() < RESERVE_SECONDS:
                break
            else:
                file, line_totals = self._seal_part(plan, part)
            sealed.append(file)
            totals.add(part.quarter_hour, line_totals)
        return sealed, totals

    def _seal_part(self, plan: Plan, part: Part) -> tuple[SealedFile, PartTotals]:
        index = EventIndex()
        with SealedFileWriter() as writer:
            for postings in self._stores.ledger.read(plan.partitions(part)):
                index.add(writer.write(postings))
                if index.is_full:
                    self._stores.projections.write(index.take())
            self._stores.projections.write(index.take())
            self._stores.projections.write(listed_sources(index.names))
            sealed = writer.seal()
            if sealed.lines:
                self._stores.files.create(part.lines_key, writer.file, sealed.sha256)
            return sealed, writer.totals()

    def _publish(self, plan: Plan, sealed: list[SealedFile], totals: RunTotals, result: ReportResult) -> None:
        """Write the run's files, projections and proofs, and move the checkpoint; ``sealed`` has all parts' files."""
        conversion = convert(plan.base, totals.rows, partial(self._stores.pins.pinned_or_pin, plan.run))
        files = run_files(plan, sealed, totals, conversion)
        for file in files.in_order:
            self._stores.files.create(file.key, file.content, file.sha256)
        self._stores.projections.write(sales(plan.first.day, plan.run, totals.locations))
        self._stores.projections.write(product_items(plan.first.day, plan.run, totals.products))
        proofs = self._proofs(totals, plan.shards, result)
        values = run_values(plan, sealed, files.manifest.sha256, totals.default_rate_events)
        self._stores.runs.put(with_proofs(values, proofs))
        self._stores.checkpoints.finish(plan, files.manifest.sha256)
        result.runs.append(plan.run)
        result.sealed_quarter_hours += len(plan.quarter_hours)
        result.lines += sum(file.lines for file in sealed)

    def _recheck_pending(self, remaining_seconds: Callable[[], float], result: ReportResult) -> None:
        """Compare the quarter-hours with a pending proof with their counters again."""
        for run in self._stores.runs.pending():
            if remaining_seconds() < RESERVE_SECONDS:
                return
            plan = Plan.of(run["plan"])
            pending = {one for one in plan.quarter_hours if run["verdicts"].get(str(one)) == Proof.PENDING.value}
            totals = RunTotals.of(pending)
            for part, file in zip(plan.all_parts, sealed_of(plan, run["sealed"]), strict=True):
                if part.quarter_hour in pending:
                    for piece in self._totals(plan, part, file):
                        totals.add(part.quarter_hour, piece)
            proofs = self._proofs(totals, plan.shards, result)
            if any(proof_ is not Proof.PENDING for proof_ in proofs.values()):
                self._stores.runs.put(with_proofs(run, proofs))

    def _totals(self, plan: Plan, part: Part, file: SealedFile) -> Iterable[PartTotals]:
        """Return the totals of a sealed part: the stored ones or, in a run of one part, those of its lines."""
        files = self._stores.files
        return files.part_totals(part)[1] if plan.parts > 1 else [files.line_totals(part, file)]

    def _proofs(self, totals: RunTotals, shards: int, result: ReportResult) -> dict[QuarterHour, Proof]:
        """Return the proof of each quarter-hour that holds events; compare in batches, to bound the memory."""
        proofs: dict[QuarterHour, Proof] = {}
        for some in chunks(list(totals.by_quarter_hour()), _PROVEN_AT_A_TIME):
            counted = self._stores.counters.counted(dict(some), shards)
            now = clock.now()
            for quarter_hour, group in groupby(some, lambda key: key[0][1]):
                found = proof(quarter_hour, dict(group), counted, now)
                proofs[quarter_hour] = worst([found, proofs.get(quarter_hour, found)])
        result.drift += sum(proof_ is Proof.DRIFT for proof_ in proofs.values())
        return proofs
