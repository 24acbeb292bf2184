"""A report run: fix the plan, seal each quarter-hour, write summary and manifest, move the checkpoint."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from quarterhour import clock
from quarterhour.ledger.log import SourceLog
from quarterhour.locations.plan import sales
from quarterhour.quarters import Quarter
from quarterhour.reports.base import Pins, foreign
from quarterhour.reports.keys import lines_key
from quarterhour.reports.lines import SealedFile
from quarterhour.reports.manifest import documents, hexdigest
from quarterhour.reports.plan import (
    Content,
    Plan,
    Sealed,
    Tally,
    Terms,
    Verdict,
    by_place,
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

    def __init__(self, store: ReportStore, terms: Terms) -> None:
        self._store = store
        self._terms = terms

    def run(self, remaining_seconds: Callable[[], float]) -> Result:
        """Report all that is closed, or as much as the time allows.

        Raises ``SealedFileError`` where a sealed file stands with other bytes, ``OvertakenError`` where another run
        has taken over, ``UnavailableError`` where AWS keeps failing: the next run goes on from where this one stopped.
        """
        result = Result()
        while plan := self._plan():
            sealed, contents = self._seal(plan, remaining_seconds)
            if len(sealed) < len(plan.quarters):
                self._store.progress(plan, sealed)
                result.complete = False
                return result
            self._publish(plan, sealed, contents, result)
        self._settle_pending(remaining_seconds, result)
        return result

    def _plan(self) -> Plan | None:
        """Return the plan under way, or a new one; ``None`` where nothing is closed that was not reported."""
        while at := self._store.checkpoint():
            if at.plan:
                return at.plan
            plan = next_plan(at, clock.now(), self._terms, self._store.shards())
            if plan is None:
                return None
            self._store.fix(at, plan)  # whoever was fastest, the plan that stands is read next
        return None

    def _seal(self, plan: Plan, remaining_seconds: Callable[[], float]) -> tuple[list[Sealed], list[Content]]:
        """Seal the plan's quarter-hours in turn, as far as the time allows."""
        sealed: list[Sealed] = []
        contents: list[Content] = []
        for quarter in plan.quarters:
            if len(sealed) < len(plan.sealed):
                one = plan.sealed[len(sealed)]
                content = self._store.content(quarter, one)
            elif sealed and remaining_seconds() < RESERVE_SECONDS:
                break
            else:
                one, content = self._seal_quarter(plan, quarter)
            sealed.append(one)
            contents.append(content)
        return sealed, contents

    def _seal_quarter(self, plan: Plan, quarter: Quarter) -> tuple[Sealed, Content]:
        log = SourceLog(self._store.settle)
        packed = SealedFile(self._store.read(plan.partitions(quarter)), plan.schema, log.add)
        try:
            log.flush()
            if packed.sealed.lines:
                self._store.create(lines_key(quarter), packed.file, packed.sealed.sha256)
            return packed.sealed, packed.content
        finally:
            packed.close()

    def _publish(self, plan: Plan, sealed: list[Sealed], contents: list[Content], result: Result) -> None:
        """Write the run's summary and manifest, note what the counters say, and move the checkpoint."""
        tallies = [content.accounts for content in contents]
        pins = [self._pinned(plan, quarter, tally) for quarter, tally in zip(plan.quarters, tallies, strict=True)]
        digest = ""
        for key, document in documents(plan, sealed, tallies, pins).items():
            digest = hexdigest(document)
            self._store.create(key, document, digest)
        self._store.settle(sales(plan.first.day, plan.run, by_place(contents)))
        verdicts = self._verdicts(dict(zip(plan.quarters, tallies, strict=True)), result)
        self._store.keep_run(with_verdicts(run_values(plan, sealed, digest), verdicts))
        self._store.finish(plan, digest)
        result.runs.append(plan.run)
        result.sealed_buckets += len(sealed)
        result.lines += sum(one.lines for one in sealed)

    def _pinned(self, plan: Plan, quarter: Quarter, tally: Tally) -> Pins:
        """Return the rates that a quarter-hour is converted at; whoever asks first pins them."""
        currencies = foreign(tally, plan.base) if plan.base else []
        if not currencies:
            return {}
        rates = self._store.workers.map(lambda one: self._store.rate(one, quarter.end, plan.base), currencies)
        return self._store.pin(quarter, plan.base, dict(zip(currencies, rates, strict=True)))

    def _settle_pending(self, remaining_seconds: Callable[[], float], result: Result) -> None:
        """Look again at the sealed quarter-hours whose counters lagged behind."""
        for run in self._store.pending_runs():
            if remaining_seconds() < RESERVE_SECONDS:
                return
            quarters = [Quarter.parse(name) for name, said in run["verdicts"].items() if said == Verdict.PENDING.value]
            tallies = {
                quarter: self._store.content(quarter, Sealed.of(run["sealed"][str(quarter)])).accounts
                for quarter in quarters
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
