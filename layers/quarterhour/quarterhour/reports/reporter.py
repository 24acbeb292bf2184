"""A report run: fix the plan, seal each quarter-hour, write summary and manifest, move the checkpoint."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from quarterhour import clock
from quarterhour.quarters import Quarter
from quarterhour.reports.keys import lines_key
from quarterhour.reports.lines import SealedFile
from quarterhour.reports.manifest import documents, hexdigest
from quarterhour.reports.plan import (
    Plan,
    Sealed,
    Tally,
    Verdict,
    by_account,
    next_plan,
    run_values,
    verdict,
    with_verdicts,
)
from quarterhour.reports.store import ReportStore

RESERVE_SECONDS: Final = 60.0
"""A run begins no other quarter-hour with less time left than this."""


@dataclass(slots=True)
class Result:
    """What an invocation did; ``complete`` is false where its time ran short, and another must go on."""

    runs: list[str] = field(default_factory=list)
    sealed_buckets: int = 0
    lines: int = 0
    drift: int = 0
    complete: bool = True

    def as_dict(self) -> dict[str, Any]:
        """Return it as the function answers it."""
        return {
            "runs": self.runs,
            "sealed_buckets": self.sealed_buckets,
            "lines": self.lines,
            "drift": self.drift,
            "complete": self.complete,
        }


class Reporter:
    """Seals every closed quarter-hour in S3, exactly once, whatever interrupts it."""

    def __init__(self, store: ReportStore, grace: timedelta, code_version: str) -> None:
        self._store = store
        self._grace = grace
        self._code_version = code_version

    def run(self, remaining_seconds: Callable[[], float]) -> Result:
        """Report all that is closed, or as much as the time allows.

        Raises ``SealedFileError`` where a sealed file stands with other bytes, ``OvertakenError`` where another run
        has taken over, ``UnavailableError`` where AWS keeps failing: the next run goes on from where this one stopped.
        """
        result = Result()
        while plan := self._plan():
            sealed, tallies = self._seal(plan, remaining_seconds)
            if len(sealed) < len(plan.quarters):
                self._store.progress(plan, sealed)
                result.complete = False
                return result
            self._publish(plan, sealed, tallies, result)
        self._settle_pending(remaining_seconds, result)
        return result

    def _plan(self) -> Plan | None:
        """Return the plan under way, or a new one; ``None`` where nothing is closed that was not reported."""
        while at := self._store.checkpoint():
            if at.plan:
                return at.plan
            plan = next_plan(at, clock.now(), self._grace, self._code_version, self._store.shards())
            if plan is None:
                return None
            self._store.fix(at, plan)  # whoever was fastest, the plan that stands is read next
        return None

    def _seal(self, plan: Plan, remaining_seconds: Callable[[], float]) -> tuple[list[Sealed], list[Tally]]:
        """Seal the plan's quarter-hours in turn, as far as the time allows."""
        sealed: list[Sealed] = []
        tallies: list[Tally] = []
        for quarter in plan.quarters:
            if len(sealed) < len(plan.sealed):
                one = plan.sealed[len(sealed)]
                tally = self._store.tally(quarter, one)
            elif sealed and remaining_seconds() < RESERVE_SECONDS:
                break
            else:
                one, tally = self._seal_quarter(plan, quarter)
            sealed.append(one)
            tallies.append(tally)
        return sealed, tallies

    def _seal_quarter(self, plan: Plan, quarter: Quarter) -> tuple[Sealed, Tally]:
        packed = SealedFile(self._store.read(plan.partitions(quarter)), plan.schema)
        try:
            if packed.sealed.lines:
                self._store.create(lines_key(quarter), packed.file, packed.sealed.sha256)
            return packed.sealed, packed.tally
        finally:
            packed.close()

    def _publish(self, plan: Plan, sealed: list[Sealed], tallies: list[Tally], result: Result) -> None:
        """Write the run's summary and manifest, note what the counters say, and move the checkpoint."""
        digest = ""
        for key, content in documents(plan, sealed, by_account(tallies)).items():
            digest = hexdigest(content)
            self._store.create(key, content, digest)
        verdicts = self._verdicts(dict(zip(plan.quarters, tallies, strict=True)), result)
        self._store.keep_run(with_verdicts(run_values(plan, sealed, digest), verdicts))
        self._store.finish(plan, digest)
        result.runs.append(plan.run)
        result.sealed_buckets += len(sealed)
        result.lines += sum(one.lines for one in sealed)

    def _settle_pending(self, remaining_seconds: Callable[[], float], result: Result) -> None:
        """Look again at the sealed quarter-hours whose counters lagged behind."""
        for run in self._store.pending_runs():
            if remaining_seconds() < RESERVE_SECONDS:
                return
            quarters = [Quarter.parse(name) for name, said in run["verdicts"].items() if said == Verdict.PENDING.value]
            tallies = {
                quarter: self._store.tally(quarter, Sealed.of(run["sealed"][str(quarter)])) for quarter in quarters
            }
            verdicts = self._verdicts(tallies, result)
            if any(said is not Verdict.PENDING for said in verdicts.values()):
                self._store.keep_run(with_verdicts(run, verdicts))

    def _verdicts(self, tallies: Mapping[Quarter, Tally], result: Result) -> dict[Quarter, Verdict]:
        """Ask the counters about each quarter-hour that holds events."""
        counted = self._store.counted([key for tally in tallies.values() for key in tally])
        now = clock.now()
        verdicts = {quarter: verdict(quarter, tally, counted, now) for quarter, tally in tallies.items() if tally}
        result.drift += sum(said is Verdict.DRIFT for said in verdicts.values())
        return verdicts
