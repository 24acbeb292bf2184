"""Rewrites lost files of a run from the ledger: with the same bytes, or not at all."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from quarterhour.model.errors import NotFoundError, SealedFileError
from quarterhour.model.fields import shown
from quarterhour.reports.base_currency import convert
from quarterhour.reports.keys import Part, is_run_id
from quarterhour.reports.manifest import run_files
from quarterhour.reports.plan import PartTotals, Plan, RunTotals, SealedFile, sealed_of
from quarterhour.reports.service import ReportStores
from quarterhour.reports.writer import SealedFileWriter

RESERVE_SECONDS: Final = 450.0
"""With less time left than this, no further part is read: half of the function's timeout."""


@dataclass(slots=True)
class ResealResult:
    """The number of a run's files that exist as they were sealed, and the keys of those that were rewritten.

    ``complete`` is false if the time ran short, and another invocation must continue.
    """

    files: int = 0
    written: list[str] = field(default_factory=list)
    complete: bool = True

    def as_dict(self) -> dict[str, Any]:
        """Return the result as the function's response."""
        return {"files": self.files, "written": self.written, "complete": self.complete}

    def add(self, key: str, *, written: bool) -> None:
        """Count a file, and add its key if it was written."""
        self.files += 1
        if written:
            self.written.append(key)


class Resealer:
    """Rewrites lost files of a run from the ledger."""

    def __init__(self, stores: ReportStores) -> None:
        self._stores = stores

    def reseal(self, run: str, remaining_seconds: Callable[[], float]) -> ResealResult:
        """Rewrite the lost files of a finished run, or those that the run under way has sealed.

        Of a run in parts, only lost parts are read from the ledger, as many as the time allows.
        Raises ``NotFoundError`` if there is no such run. Raises ``SealedFileError`` at the first file that exists
        with other bytes, or for which the ledger gives other bytes than were sealed; that file stays as it is.
        """
        result = ResealResult()
        values = self._stores.runs.get(run) if is_run_id(run) else None
        if values:
            plan = Plan.of(values["plan"])
            sealed = sealed_of(plan, values["sealed"])
            totals = self._lines(plan, sealed, remaining_seconds, result)
            if result.complete:
                self._run_files(plan, sealed, totals, values["manifest_sha256"], result)
            return result
        at = self._stores.checkpoints.checkpoint()
        if at is None or at.plan is None or at.plan.run != run:
            raise NotFoundError(f"there is no run {shown(run)}")
        self._lines(at.plan, at.plan.sealed, remaining_seconds, result)
        return result

    def _lines(
        self,
        plan: Plan,
        sealed: Sequence[SealedFile],
        remaining_seconds: Callable[[], float],
        result: ResealResult,
    ) -> RunTotals:
        """Rewrite the lines of those of a plan's parts that were sealed; return their totals."""
        totals = RunTotals.of(plan.quarter_hours)
        for part, file in zip(plan.all_parts, sealed, strict=False):
            if plan.parts > 1 and self._stores.files.has_part(part, file):
                result.files += bool(file.lines)
                _, pieces = self._stores.files.part_totals(part)
            elif plan.parts > 1 and result.written and remaining_seconds() < RESERVE_SECONDS:
                result.complete = False
                break
            else:
                pieces = iter([self._part(plan, part, file, result)])
            for piece in pieces:
                totals.add(part.quarter_hour, piece)
        return totals

    def _part(self, plan: Plan, part: Part, sealed: SealedFile, result: ResealResult) -> PartTotals:
        key = part.lines_key
        with SealedFileWriter() as writer:
            for postings in self._stores.ledger.read(plan.partitions(part)):
                writer.write(postings)
            if writer.seal() != sealed:
                raise SealedFileError(
                    f"{key} was sealed with other bytes than the ledger gives now: restore its version"
                )
            if sealed.lines:
                result.add(key, written=self._stores.files.create(key, writer.file, sealed.sha256))
            totals = writer.totals()
            if plan.parts > 1:
                self._stores.files.create_part_totals(part, sealed, totals)
            return totals

    def _run_files(
        self,
        plan: Plan,
        sealed: Sequence[SealedFile],
        totals: RunTotals,
        manifest_sha256: str,
        result: ResealResult,
    ) -> None:
        """Rewrite the exchange rates, the summary, the page and the manifest."""
        conversion = convert(
            plan.base, totals.rows, lambda quarter_hour, base, _: self._stores.pins.pinned(quarter_hour, base)
        )
        files = run_files(plan, sealed, totals, conversion)
        if files.manifest.sha256 != manifest_sha256:
            raise SealedFileError(f"{files.manifest.key} was written with other bytes: restore its version")
        for file in files.in_order:
            result.add(file.key, written=self._stores.files.create(file.key, file.content, file.sha256))
