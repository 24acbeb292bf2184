"""Resealing: lost files of a run, written once more from the ledger: the same bytes, or nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from quarterhour.model.errors import NotFoundError, SealedFileError
from quarterhour.model.fields import shown
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.reports.base_currency import convert
from quarterhour.reports.keys import is_run_id, lines_key
from quarterhour.reports.manifest import run_files
from quarterhour.reports.plan import Plan, Sealed, Tally, sealed_of
from quarterhour.reports.service import ReportStores
from quarterhour.reports.writer import SealedFileWriter


@dataclass(slots=True)
class Resealed:
    """How many files of a run exist as they were sealed, and the keys of those that had to be written."""

    files: int = 0
    written: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return it as the function answers it."""
        return {"files": self.files, "written": self.written}

    def note(self, key: str, *, written: bool) -> None:
        """Add a file."""
        self.files += 1
        if written:
            self.written.append(key)


class Resealer:
    """Writes lost files of a run once more."""

    def __init__(self, stores: ReportStores) -> None:
        self._stores = stores

    def reseal(self, run: str) -> Resealed:
        """Write the lost files of a run, or of the run under way as far as it has come.

        Raises ``NotFoundError`` where there is no such run, ``SealedFileError`` at the first file for which the ledger
        gives other bytes than were sealed, or that exists with other bytes: that file is left as it is.
        """
        result = Resealed()
        values = self._stores.runs.get(run) if is_run_id(run) else None
        if values:
            plan = Plan.of(values["plan"])
            sealed = sealed_of(plan, values["sealed"])
            tallies = self._lines(plan, sealed, result)
            self._beside(plan, sealed, tallies, values["manifest_sha256"], result)
            return result
        at = self._stores.checkpoints.checkpoint()
        if at is None or at.plan is None or at.plan.run != run:
            raise NotFoundError(f"there is no run {shown(run)}")
        self._lines(at.plan, at.plan.sealed, result)
        return result

    def _lines(self, plan: Plan, sealed: Sequence[Sealed], result: Resealed) -> list[Tally]:
        """Reseal the lines of a plan's quarter-hours, as far as they were sealed."""
        return [self._quarter_hour(plan, *one, result) for one in zip(plan.quarter_hours, sealed, strict=False)]

    def _quarter_hour(self, plan: Plan, quarter_hour: QuarterHour, sealed: Sealed, result: Resealed) -> Tally:
        key = lines_key(quarter_hour)
        with SealedFileWriter(plan.schema) as writer:
            for item in self._stores.ledger.read(plan.partitions(quarter_hour)):
                writer.write(item)
            if writer.seal() != sealed:
                raise SealedFileError(
                    f"{key} was sealed with other bytes than the ledger gives now: restore its version"
                )
            if sealed.lines:
                result.note(key, written=self._stores.files.create(key, writer.file, sealed.sha256))
            return writer.content().accounts

    def _beside(
        self, plan: Plan, sealed: Sequence[Sealed], tallies: Sequence[Tally], manifest_sha256: str, result: Resealed
    ) -> None:
        """Reseal summary and manifest."""
        tallied = list(zip(plan.quarter_hours, tallies, strict=True))
        conversion = convert(plan.base, tallied, lambda one, base, _: self._stores.pins.pinned(one, base))
        files = run_files(plan, sealed, tallies, conversion)
        if files.manifest.sha256 != manifest_sha256:
            raise SealedFileError(f"{files.manifest.key} was written with other bytes: restore its version")
        for file in files.in_order:
            result.note(file.key, written=self._stores.files.create(file.key, file.content, file.sha256))
