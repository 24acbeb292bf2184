"""Sealing the parts of a run: read from the ledger, once each; a sealer decides how their files are created."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from typing import IO, NamedTuple, Protocol

from quarterhour.ledger.postings.partitions import LedgerReader
from quarterhour.ledger.reading.sealed_index import EventIndex, listed_sources
from quarterhour.reports.base_currency import PinnedRates, convert
from quarterhour.reports.keys import Part
from quarterhour.reports.lines import Line
from quarterhour.reports.manifest import RunFiles, run_files
from quarterhour.reports.plan import PartTotals, Plan, RunTotals, SealedFile
from quarterhour.reports.sealed_files import SealedFiles, SealedPart
from quarterhour.reports.store import PinStore, ProjectionStore
from quarterhour.reports.writer import SealedFileWriter


class Sealer(Protocol):
    """Creates the files of a run."""

    def sealed(self, part: Part) -> SealedPart | None:
        """Return a part that is sealed already; ``None`` if it must be read from the ledger."""

    def index(self, lines: Sequence[Line]) -> None:
        """Take lines of the part that is read into the event index."""

    def seal_part(self, part: Part, sealed: SealedFile, lines: IO[bytes] | None, totals: PartTotals) -> None:
        """Create the file of a part's lines, if it has any, and then its totals."""

    def pinned_rates(self, plan: Plan) -> PinnedRates:
        """Return what finds the exchange rates of a quarter-hour of the run."""

    def seal_run(self, files: RunFiles) -> None:
        """Create the files beside the lines, the manifest last."""


class SealedRun(NamedTuple):
    """The sealed file of each part of a run, and the totals of all."""

    parts: list[SealedFile]
    totals: RunTotals

    @property
    def lines(self) -> int:
        """The number of lines."""
        return sum(part.lines for part in self.parts)


def seal_parts(
    ledger: LedgerReader, plan: Plan, parts: Sequence[Part], sealer: Sealer, has_time: Callable[[], bool]
) -> SealedRun | None:
    """Seal those of some parts of a run that are not sealed yet; return all of them.

    Returns ``None`` once there is no time for another part. At least one part with lines is sealed.
    """
    run, began = SealedRun([], RunTotals.of(plan.quarter_hours)), False
    for part in parts:
        found = sealer.sealed(part)
        if found is None:
            if began and not has_time():
                return None
            found = seal_part(ledger, plan, part, sealer)
            began |= found.file.lines > 0
        run.parts.append(found.file)
        for piece in found.totals:
            run.totals.add(part.quarter_hour, piece)
    return run


def seal_part(ledger: LedgerReader, plan: Plan, part: Part, sealer: Sealer) -> SealedPart:
    """Seal a part from the ledger; return it."""
    with SealedFileWriter() as writer:
        for postings in ledger.read(plan.partitions(part)):
            sealer.index(writer.write(postings))
        file, totals = writer.seal(), writer.totals()
        sealer.seal_part(part, file, writer.file if file.lines else None, totals)
        return SealedPart(file, [totals])


def files_beside(plan: Plan, run: SealedRun, sealer: Sealer) -> RunFiles:
    """Return the files of a run beside its lines, with its sums at the pinned exchange rates."""
    conversion = convert(plan.base, run.totals.rows, sealer.pinned_rates(plan))
    return run_files(plan, run.parts, run.totals, conversion)


@dataclass(slots=True)
class FirstSealer:
    """Seals a run for the first time; a file that exists must have the same bytes.

    A part with lines leaves its totals, after its lines: they record that it is sealed. A part without lines leaves
    nothing, as reading it again costs little.
    """

    files: SealedFiles
    projections: ProjectionStore
    pins: PinStore
    _index: EventIndex = field(default_factory=EventIndex)
    _listed: dict[date, set[str]] = field(default_factory=dict)

    def sealed(self, part: Part) -> SealedPart | None:
        """Return a part that an earlier invocation has sealed; ``None`` also if its lines are lost."""
        day = part.quarter_hour.day
        if day not in self._listed:
            self._listed[day] = self.files.totals_of(day)
        if part.totals_key not in self._listed[day]:
            return None
        found = self.files.part_totals(part)
        return found if self.files.has_lines(part, found.file) else None

    def index(self, lines: Sequence[Line]) -> None:
        """Take lines into the event index; write it before it takes much memory."""
        self._index.add(lines)
        if self._index.is_full:
            self.projections.write(self._index.take())

    def seal_part(self, part: Part, sealed: SealedFile, lines: IO[bytes] | None, totals: PartTotals) -> None:
        """Write the rest of the part's index, and then create its files."""
        index, self._index = self._index, EventIndex()
        self.projections.write(index.take())
        self.projections.write(listed_sources(index.names))
        if lines:
            self.files.create(part.lines_key, lines, sealed.sha256)
            self.files.create_part_totals(part, sealed, totals)

    def pinned_rates(self, plan: Plan) -> PinnedRates:
        """Return what finds the pinned exchange rates of a quarter-hour, or else pins them."""
        return partial(self.pins.pinned_or_pin, plan.run)

    def seal_run(self, files: RunFiles) -> None:
        """Create the files beside the lines, the manifest last."""
        for file in files.in_order:
            self.files.create(file.key, file.content, file.sha256)
