"""Runs reports: store the plan, seal each quarter-hour, write summary and manifest, move the checkpoint."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from quarterhour.ledger.source_index import SourceIndex
from quarterhour.locations.plan import sales
from quarterhour.model import clock
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.reports.base_currency import convert
from quarterhour.reports.keys import lines_key
from quarterhour.reports.manifest import run_files
from quarterhour.reports.plan import (
    LineTotals,
    Plan,
    Proof,
    ReportTerms,
    SealedFile,
    Tally,
    by_bucket,
    by_location,
    next_plan,
    proof,
    run_values,
    with_proofs,
)
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.reports.store import (
    CheckpointStore,
    CounterReader,
    LedgerReader,
    PinStore,
    ProjectionStore,
    RunStore,
)
from quarterhour.reports.writer import SealedFileWriter

RESERVE_SECONDS: Final = 60.0
"""With less time left than this, a run seals no further quarter-hour."""


@dataclass(slots=True)
class ReportResult:
    """What an invocation sealed; ``complete`` is false where its time ran short, and another must continue."""

    runs: list[str] = field(default_factory=list)
    sealed_buckets: int = 0
    lines: int = 0
    drift: int = 0
    complete: bool = True

    def as_dict(self) -> dict[str, Any]:
        """Return the result as the function's response."""
        return {
            "runs": self.runs,
            "sealed_buckets": self.sealed_buckets,
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


class Reporter:
    """Seals every closed quarter-hour in S3, exactly once, whatever interrupts it."""

    def __init__(self, stores: ReportStores, terms: ReportTerms) -> None:
        self._stores = stores
        self._terms = terms

    def run(self, remaining_seconds: Callable[[], float]) -> ReportResult:
        """Seal all closed quarter-hours, or as many as the time allows.

        Raises ``SealedFileError`` if a sealed file exists with other bytes, ``LedgerItemError`` if a ledger item
        is no posting, ``OvertakenError`` if another run has taken over, ``UnavailableError`` if AWS keeps
        failing. The next invocation continues where this one stopped.
        """
        result = ReportResult()
        while plan := self._plan():
            sealed, totals = self._seal(plan, remaining_seconds)
            if len(sealed) < len(plan.quarter_hours):
                self._stores.checkpoints.save_progress(plan, sealed)
                result.complete = False
                return result
            self._publish(plan, sealed, totals, result)
        self._recheck_pending(remaining_seconds, result)
        return result

    def _plan(self) -> Plan | None:
        """Return the plan under way, or a new one; ``None`` if every closed quarter-hour is reported."""
        checkpoints = self._stores.checkpoints
        while at := checkpoints.checkpoint():
            if at.plan:
                return at.plan
            plan = next_plan(at, clock.now(), self._terms, checkpoints.shards())
            if plan is None:
                return None
            checkpoints.save_plan(at, plan)  # another run may have stored its plan first: the stored one is read next
        return None

    def _seal(self, plan: Plan, remaining_seconds: Callable[[], float]) -> tuple[list[SealedFile], list[LineTotals]]:
        """Seal the plan's quarter-hours in turn, as many as the time allows."""
        sealed: list[SealedFile] = []
        totals: list[LineTotals] = []
        for quarter_hour in plan.quarter_hours:
            if len(sealed) < len(plan.sealed):
                file = plan.sealed[len(sealed)]
                line_totals = self._stores.files.line_totals(quarter_hour, file)
            elif sealed and remaining_seconds() < RESERVE_SECONDS:
                break
            else:
                file, line_totals = self._seal_quarter_hour(plan, quarter_hour)
            sealed.append(file)
            totals.append(line_totals)
        return sealed, totals

    def _seal_quarter_hour(self, plan: Plan, quarter_hour: QuarterHour) -> tuple[SealedFile, LineTotals]:
        index = SourceIndex()
        with SealedFileWriter(plan.schema) as writer:
            for item in self._stores.ledger.read(plan.partitions(quarter_hour)):
                index.add(writer.write(item))
                if index.is_full:
                    self._stores.projections.write(index.take())
            self._stores.projections.write(index.take())
            sealed = writer.seal()
            if sealed.lines:
                self._stores.files.create(lines_key(quarter_hour), writer.file, sealed.sha256)
            return sealed, writer.totals()

    def _publish(self, plan: Plan, sealed: list[SealedFile], totals: list[LineTotals], result: ReportResult) -> None:
        """Write the run's files, projections and proofs, and move the checkpoint."""
        tallies = [one.accounts for one in totals]
        tallied = list(zip(plan.quarter_hours, tallies, strict=True))
        files = run_files(plan, sealed, tallies, convert(plan.base, tallied, self._stores.pins.pinned_or_pin))
        for file in files.in_order:
            self._stores.files.create(file.key, file.content, file.sha256)
        self._stores.projections.write(sales(plan.first.day, plan.run, by_location(totals)))
        proofs = self._proofs(dict(tallied), result)
        self._stores.runs.put(with_proofs(run_values(plan, sealed, files.manifest.sha256), proofs))
        self._stores.checkpoints.finish(plan, files.manifest.sha256)
        result.runs.append(plan.run)
        result.sealed_buckets += len(sealed)
        result.lines += sum(file.lines for file in sealed)

    def _recheck_pending(self, remaining_seconds: Callable[[], float], result: ReportResult) -> None:
        """Compare the buckets with a pending proof with their counters again."""
        for run in self._stores.runs.pending():
            if remaining_seconds() < RESERVE_SECONDS:
                return
            pending = [name for name, proof_ in run["verdicts"].items() if proof_ == Proof.PENDING.value]
            files = {QuarterHour.parse(name): SealedFile.of(run["sealed"][name]) for name in pending}
            tallies = {one: self._stores.files.line_totals(one, file).accounts for one, file in files.items()}
            proofs = self._proofs(tallies, result)
            if any(proof_ is not Proof.PENDING for proof_ in proofs.values()):
                self._stores.runs.put(with_proofs(run, proofs))

    def _proofs(self, tallies: Mapping[QuarterHour, Tally], result: ReportResult) -> dict[QuarterHour, Proof]:
        """Return the proof of each bucket that holds events."""
        ledger = {key: totals for tally in tallies.values() for key, totals in tally.items()}
        counted = self._stores.counters.counted(ledger)
        now = clock.now()
        proofs = {one: proof(one, by_bucket(tally), counted, now) for one, tally in tallies.items() if tally}
        result.drift += sum(proof_ is Proof.DRIFT for proof_ in proofs.values())
        return proofs
