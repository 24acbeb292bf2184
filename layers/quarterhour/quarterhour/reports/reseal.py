"""Rewrites lost files of a run from the ledger: with the same bytes, or not at all."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from quarterhour.model.errors import NotFoundError, SealedFileError
from quarterhour.model.fields import shown
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.reports.base_currency import convert
from quarterhour.reports.keys import is_run_id, lines_key
from quarterhour.reports.manifest import run_files
from quarterhour.reports.plan import Plan, SealedFile, Tally, sealed_of
from quarterhour.reports.service import ReportStores
from quarterhour.reports.writer import SealedFileWriter


@dataclass(slots=True)
class ResealResult:
    """The number of a run's files that exist as they were sealed, and the keys of those that were rewritten."""

    files: int = 0
    written: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return the result as the function's response."""
        return {"files": self.files, "written": self.written}

    def add(self, key: str, *, written: bool) -> None:
        """Count a file, and add its key if it was written."""
        self.files += 1
        if written:
            self.written.append(key)


class Resealer:
    """Rewrites lost files of a run from the ledger."""

    def __init__(self, stores: ReportStores) -> None:
        self._stores = stores

    def reseal(self, run: str) -> ResealResult:
        """Rewrite the lost files of a finished run, or those that the run under way has sealed.

        Raises ``NotFoundError`` if there is no such run. Raises ``SealedFileError`` at the first file that exists
        with other bytes, or for which the ledger gives other bytes than were sealed; that file stays as it is.
        """
        result = ResealResult()
        values = self._stores.runs.get(run) if is_run_id(run) else None
        if values:
            plan = Plan.of(values["plan"])
            sealed = sealed_of(plan, values["sealed"])
            tallies = self._lines(plan, sealed, result)
            self._summary_and_manifest(plan, sealed, tallies, values["manifest_sha256"], result)
            return result
        at = self._stores.checkpoints.checkpoint()
        if at is None or at.plan is None or at.plan.run != run:
            raise NotFoundError(f"there is no run {shown(run)}")
        self._lines(at.plan, at.plan.sealed, result)
        return result

    def _lines(self, plan: Plan, sealed: Sequence[SealedFile], result: ResealResult) -> list[Tally]:
        """Rewrite the lines of those of a plan's quarter-hours that were sealed."""
        return [self._quarter_hour(plan, *one, result) for one in zip(plan.quarter_hours, sealed, strict=False)]

    def _quarter_hour(self, plan: Plan, quarter_hour: QuarterHour, sealed: SealedFile, result: ResealResult) -> Tally:
        key = lines_key(quarter_hour)
        with SealedFileWriter(plan.schema) as writer:
            for item in self._stores.ledger.read(plan.partitions(quarter_hour)):
                writer.write(item)
            if writer.seal() != sealed:
                raise SealedFileError(
                    f"{key} was sealed with other bytes than the ledger gives now: restore its version"
                )
            if sealed.lines:
                result.add(key, written=self._stores.files.create(key, writer.file, sealed.sha256))
            return writer.totals().accounts

    def _summary_and_manifest(
        self,
        plan: Plan,
        sealed: Sequence[SealedFile],
        tallies: Sequence[Tally],
        manifest_sha256: str,
        result: ResealResult,
    ) -> None:
        """Rewrite the summary and the manifest."""
        tallied = list(zip(plan.quarter_hours, tallies, strict=True))
        conversion = convert(
            plan.base, tallied, lambda quarter_hour, base, _: self._stores.pins.pinned(quarter_hour, base)
        )
        files = run_files(plan, sealed, tallies, conversion)
        if files.manifest.sha256 != manifest_sha256:
            raise SealedFileError(f"{files.manifest.key} was written with other bytes: restore its version")
        for file in files.in_order:
            result.add(file.key, written=self._stores.files.create(file.key, file.content, file.sha256))
