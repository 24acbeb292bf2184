"""Runs reports: store the plan, seal each part, write the files beside the lines, move the checkpoint."""

from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, field
from itertools import groupby
from typing import Final, Self

from quarterhour.aws import clients
from quarterhour.aws.executions import Executions
from quarterhour.aws.items import chunks
from quarterhour.aws.resources import Resources
from quarterhour.ledger.postings.partitions import LedgerReader
from quarterhour.model import clock
from quarterhour.model.errors import NotFoundError
from quarterhour.model.fields import shown
from quarterhour.model.identifiers import Account
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import QuarterHourTotals
from quarterhour.reports.archived import ArchivedPostings
from quarterhour.reports.keys import last_closed
from quarterhour.reports.plan import (
    Plan,
    Proof,
    ReportSettings,
    RunTotals,
    SealedFile,
    empty_through,
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
from quarterhour.reports.sealing import FirstSealer, SealedRun, files_beside, seal_part, seal_parts
from quarterhour.reports.store import CheckpointStore, PinStore, ProjectionStore, RunStore

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

    as_dict = asdict


Counted = Callable[[Collection[tuple[Account, QuarterHour]]], QuarterHourTotals]
"""A function that returns what the counters hold of accounts and quarter-hours."""


@dataclass(frozen=True, slots=True)
class ReportStores:
    """The stores that a report reads and writes."""

    checkpoints: CheckpointStore
    runs: RunStore
    ledger: LedgerReader
    counted: Counted
    pins: PinStore
    projections: ProjectionStore
    files: SealedFiles
    executions: Executions

    @classmethod
    def of(cls, resources: Resources, counted: Counted) -> Self:
        """Return the stores of a function; ``counted`` reads the counters that a report is compared with."""
        env, dynamodb, table, workers = resources.env, resources.dynamodb, resources.entity_table, resources.workers
        files = SealedFiles.of(resources)
        return cls(
            CheckpointStore(dynamodb, table),
            RunStore(dynamodb, table),
            LedgerReader(dynamodb, env.text("LEDGER_TABLE"), workers, ArchivedPostings(files, workers)),
            counted,
            PinStore(dynamodb, table, workers),
            ProjectionStore(dynamodb, table, workers),
            files,
            Executions(clients.stepfunctions(), env.text("SEALING_ARN")),
        )


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
        return seal_part(self._stores.ledger, plan, found, self._sealer()).file

    def publish(self, run: str, remaining_seconds: Callable[[], float]) -> ReportResult:
        """Publish and finish the run whose parts are sealed, if it is under way, and begin the next.

        It seals any part with lines that is not sealed yet. Raises as ``run`` does.
        """
        result = ReportResult()
        plan = self._under_way(run)
        if plan and not self._complete(plan, result, remaining_seconds):
            return result
        return self._run(result, remaining_seconds)

    def _run(self, result: ReportResult, remaining_seconds: Callable[[], float]) -> ReportResult:
        while plan := self._plan():
            if plan.parts > 1:
                self._stores.executions.start(plan.run, plan.execution_input)
                result.complete = False
                return result
            if not self._complete(plan, result, remaining_seconds):
                return result
        self._recheck_pending(remaining_seconds, result)
        return result

    def _sealer(self) -> FirstSealer:
        return FirstSealer(self._stores.files, self._stores.projections, self._stores.pins)

    def _under_way(self, run: str) -> Plan | None:
        at = self._stores.checkpoints.checkpoint()
        return at.plan if at and at.plan and at.plan.run == run else None

    def _plan(self) -> Plan | None:
        """Return the plan under way, or a new one; ``None`` if every final quarter-hour is reported.

        Days without events, and the time since the last event, are passed over: the next run's manifest names them.
        """
        checkpoints = self._stores.checkpoints
        while at := checkpoints.checkpoint():
            if at.plan:
                return at.plan
            # The clock is read before the marks: nothing can be recorded any more in what is final now.
            now = clock.now()
            first, last = at.sealed_through.next, last_closed(now, self._settings.grace)
            if first > last:
                return None
            recorded = checkpoints.recorded(first, last)
            empty = empty_through(last, recorded)
            if first <= empty:
                checkpoints.pass_over(at, empty)
                continue
            plan = next_plan(at, recorded, now, self._settings, checkpoints.shards())
            checkpoints.save_plan(at, plan)  # another run may have stored its plan first: the stored one is read next
        return None

    def _complete(self, plan: Plan, result: ReportResult, remaining_seconds: Callable[[], float]) -> bool:
        """Seal the parts that are not sealed yet, and publish the run; return whether the time sufficed."""
        sealer = self._sealer()
        run = seal_parts(
            self._stores.ledger, plan, plan.all_parts, sealer, lambda: remaining_seconds() >= RESERVE_SECONDS
        )
        if run is None:
            result.complete = False
            return False
        self._publish(plan, run, sealer, result)
        return True

    def _publish(self, plan: Plan, run: SealedRun, sealer: FirstSealer, result: ReportResult) -> None:
        """Write the run's files, projections and proofs, and move the checkpoint."""
        files = files_beside(plan, run, sealer)
        sealer.seal_run(files)
        totals = run.totals
        self._stores.projections.write(sales(plan.first.day, plan.run, totals.locations))
        self._stores.projections.write(product_items(plan.first.day, plan.run, totals.products))
        proofs = self._proofs(totals, result)
        values = run_values(plan, run.parts, files.manifest.sha256, totals.default_rate_events)
        self._stores.runs.put(with_proofs(values, proofs))
        self._stores.checkpoints.finish(plan, files.manifest.sha256)
        result.runs.append(plan.run)
        result.sealed_quarter_hours += len(plan.quarter_hours)
        result.lines += run.lines

    def _recheck_pending(self, remaining_seconds: Callable[[], float], result: ReportResult) -> None:
        """Compare the quarter-hours with a pending proof with their counters again."""
        for run in self._stores.runs.pending():
            if remaining_seconds() < RESERVE_SECONDS:
                return
            plan = Plan.of(run["plan"])
            pending = {one for one in plan.quarter_hours if run["proofs"].get(str(one)) == Proof.PENDING.value}
            totals = RunTotals.of(pending)
            for part, file in zip(plan.all_parts, sealed_of(plan, run["sealed"]), strict=True):
                if file.lines and part.quarter_hour in pending:
                    for piece in self._stores.files.part_totals(part).totals:
                        totals.add(part.quarter_hour, piece)
            proofs = self._proofs(totals, result)
            if any(proof_ is not Proof.PENDING for proof_ in proofs.values()):
                self._stores.runs.put(with_proofs(run, proofs))

    def _proofs(self, totals: RunTotals, result: ReportResult) -> dict[QuarterHour, Proof]:
        """Return the proof of each quarter-hour that holds events; compare in batches, to bound the memory."""
        proofs: dict[QuarterHour, Proof] = {}
        for some in chunks(list(totals.by_quarter_hour()), _PROVEN_AT_A_TIME):
            counted = self._stores.counted([key for key, _ in some])
            now = clock.now()
            for quarter_hour, group in groupby(some, lambda key: key[0][1]):
                found = proof(quarter_hour, dict(group), counted, now)
                proofs[quarter_hour] = worst([found, proofs.get(quarter_hour, found)])
        result.drift += sum(proof_ is Proof.DRIFT for proof_ in proofs.values())
        return proofs
