"""Rewrites lost files of a run from the ledger: with the same bytes, or not at all."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import IO, Final

from quarterhour.model.errors import NotFoundError, SealedFileError
from quarterhour.model.fields import shown
from quarterhour.reports.base_currency import PinnedRates
from quarterhour.reports.keys import Part, is_run_id
from quarterhour.reports.lines import Line
from quarterhour.reports.manifest import RunFiles
from quarterhour.reports.plan import PartTotals, Plan, SealedFile, sealed_of
from quarterhour.reports.sealed_files import SealedFiles, SealedPart
from quarterhour.reports.sealing import files_beside, seal_parts
from quarterhour.reports.service import ReportStores
from quarterhour.reports.store import PinStore

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

    as_dict = asdict

    def add(self, key: str, *, written: bool) -> None:
        """Count a file, and add its key if it was written."""
        self.files += 1
        if written:
            self.written.append(key)


@dataclass(frozen=True, slots=True)
class SameBytesSealer:
    """Creates files that are lost, if they have the sealed bytes, and notes them in ``result``.

    ``expected``: the sealed file of each part. ``manifest_sha256``: of the run's manifest; empty before it has one.
    """

    files: SealedFiles
    pins: PinStore
    expected: Mapping[Part, SealedFile]
    manifest_sha256: str
    result: ResealResult

    def sealed(self, part: Part) -> SealedPart | None:
        """Return a part whose lines and totals exist."""
        file = self.expected[part]
        if not file.lines or not self.files.exists(part.totals_key) or not self.files.has_lines(part, file):
            return None
        self.result.files += 1
        return self.files.part_totals(part)

    def index(self, lines: Sequence[Line]) -> None:
        """Leave the event index as it is."""

    def seal_part(self, part: Part, sealed: SealedFile, lines: IO[bytes] | None, totals: PartTotals) -> None:
        """Create the lost files of a part."""
        key = part.lines_key
        if sealed != self.expected[part]:
            raise SealedFileError(f"{key} was sealed with other bytes than the ledger gives now: restore its version")
        if lines:
            self.result.add(key, written=self.files.create(key, lines, sealed.sha256))
            self.files.create_part_totals(part, sealed, totals)

    def pinned_rates(self, _plan: Plan) -> PinnedRates:
        """Return what finds the pinned exchange rates of a quarter-hour."""
        return lambda quarter_hour, base, _: self.pins.pinned(quarter_hour, base)

    def seal_run(self, files: RunFiles) -> None:
        """Create the lost files beside the lines."""
        if files.manifest.sha256 != self.manifest_sha256:
            raise SealedFileError(f"{files.manifest.key} was written with other bytes: restore its version")
        for file in files.in_order:
            self.result.add(file.key, written=self.files.create(file.key, file.content, file.sha256))


class Resealer:
    """Seals a run again with a sealer that creates the same bytes only."""

    def __init__(self, stores: ReportStores) -> None:
        self._stores = stores

    def reseal(self, run: str, remaining_seconds: Callable[[], float]) -> ResealResult:
        """Rewrite the lost files of a finished run, or the lost lines that the run under way has sealed.

        Only lost parts are read from the ledger, as many as the time allows. Raises ``NotFoundError`` if there is no
        such run. Raises ``SealedFileError`` at the first file that exists with other bytes, or for which the ledger
        gives other bytes than were sealed; that file stays as it is.
        """
        plan, sealed, manifest_sha256 = self._sealed(run)
        result = ResealResult()
        sealer = SameBytesSealer(self._stores.files, self._stores.pins, sealed, manifest_sha256, result)
        found = seal_parts(
            self._stores.ledger, plan, list(sealed), sealer, lambda: remaining_seconds() >= RESERVE_SECONDS
        )
        if found and manifest_sha256:
            sealer.seal_run(files_beside(plan, found, sealer))
        result.complete = found is not None
        return result

    def _sealed(self, run: str) -> tuple[Plan, dict[Part, SealedFile], str]:
        """Return the plan of a run, its sealed parts, and the hash of its manifest; empty while it is under way."""
        values = self._stores.runs.get(run) if is_run_id(run) else None
        if values:
            plan = Plan.of(values["plan"])
            files = sealed_of(plan, values["sealed"])
            return plan, dict(zip(plan.all_parts, files, strict=True)), values["manifest_sha256"]
        at = self._stores.checkpoints.checkpoint()
        if at is None or at.plan is None or at.plan.run != run:
            raise NotFoundError(f"there is no run {shown(run)}")
        totals, parts = self._stores.files.totals_of(at.plan.first.day), at.plan.all_parts
        sealed = {part: self._stores.files.part_totals(part).file for part in parts if part.totals_key in totals}
        return at.plan, sealed, ""
