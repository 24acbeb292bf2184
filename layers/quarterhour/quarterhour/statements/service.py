"""Runs the statements of a period: store the plan, collect its lines, number the accounts, write, publish."""

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime
from heapq import merge
from itertools import chain, groupby, islice
from tempfile import SpooledTemporaryFile, TemporaryFile
from typing import IO, Any, Final, Self, cast

from quarterhour.aws.workers import Workers
from quarterhour.model import clock
from quarterhour.model.clock import parse_iso
from quarterhour.model.errors import SealedFileError
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period, time_zone
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.reports.digests import hexdigest, stream_digest
from quarterhour.reports.keys import Part
from quarterhour.reports.lines import CsvWriter, read_raw
from quarterhour.reports.packing import QUICK, packed
from quarterhour.reports.plan import Run, SealedFile
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.reports.store import CheckpointStore, PinStore, ProjectionStore, RunStore
from quarterhour.statements.collect import (
    CSV_COLUMNS,
    Block,
    Collector,
    OrderLine,
    order_lines,
    pack_totals,
    read_blocks,
    read_pieces,
    read_totals,
)
from quarterhour.statements.document import GROUPED_LINES, Statement, as_bytes, orders_of
from quarterhour.statements.keys import (
    LINES,
    PAGE,
    STATEMENT,
    day_totals_key,
    list_key,
    manifest_key,
    period_key,
    piece_key,
    roster_key,
    statement_prefix,
    written_key,
)
from quarterhour.statements.listing import Listed, ListWriter, SealedObject, read_list
from quarterhour.statements.manifest import ListTotals, manifest
from quarterhour.statements.page import statement_page
from quarterhour.statements.plan import (
    Sealed,
    StatementPlan,
    StatementSettings,
    check_request,
    due_period,
    first_day_of,
    next_plan,
)
from quarterhour.statements.roster import Numbers, pack_roster, read_numbers, read_roster, roster
from quarterhour.statements.store import PartyReader, ProgressStore, Published
from quarterhour.statements.work_objects import read_values, value_writer

RESERVE_SECONDS: Final = 300.0
"""With less time left than this, no further step begins: a day or a group of accounts takes less."""
GROUPS_OF_AN_INVOCATION: Final = 8
"""The most groups that one invocation writes; more are written side by side."""
_WRITTEN_AT_A_TIME: Final = 64
_IN_MEMORY: Final = 256 << 10
"""Bytes of a statement's lines in memory; a larger file is on disk until it is uploaded."""

Upload = tuple[str, IO[bytes] | bytes, str]
"""The key, the content and the SHA-256 of a file."""


@dataclass(slots=True)
class StatementResult:
    """The result of an invocation.

    ``parts``: the steps of a large period, which a state machine must run. ``complete`` is false if the time ran
    short, or if there are such parts: then another invocation must continue.
    """

    periods: list[str] = field(default_factory=list)
    statements: int = 0
    complete: bool = True
    parts: dict[str, Any] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the result as the function's response."""
        next_ = "done" if self.complete else "parts" if self.parts else "run"
        return {"periods": self.periods, "statements": self.statements, "next": next_, "parts": self.parts}


@dataclass(frozen=True, slots=True)
class StatementStores:
    """The stores that a run reads and writes."""

    checkpoints: CheckpointStore
    runs: RunStore
    pins: PinStore
    projections: ProjectionStore
    files: SealedFiles
    progress: ProgressStore
    parties: PartyReader
    workers: Workers
    began: Callable[[], datetime | None]
    """Returns when the first run of the reports begins; ``None`` before it."""


class StatementRunner:
    """Seals the statements of every period that is due, exactly once, whatever interrupts it."""

    def __init__(self, stores: StatementStores, settings: StatementSettings) -> None:
        self._stores = stores
        self._settings = settings

    def run(self, remaining_seconds: Callable[[], float], requested: Period | None = None) -> StatementResult:
        """State every period that is due, or as many as the time allows; ``requested``: the period to begin with.

        The steps of a large period are left to the state machine. Raises ``ConflictError`` if the requested period
        cannot be stated now, ``SealedFileError`` if a file exists with other bytes or is gone, ``OvertakenError`` if
        another run has taken over, ``UnavailableError`` if AWS keeps failing. The next invocation continues where this
        one stopped.
        """
        result = StatementResult()
        if requested:
            self._check(requested)
        while plan := self._plan():
            if plan.groups > GROUPS_OF_AN_INVOCATION:
                result.complete = False
                result.parts = {
                    "period": str(plan.period),
                    "days": [day.isoformat() for day in plan.days],
                    "groups": list(range(plan.groups)),
                }
                return result
            if not self._run(plan, remaining_seconds):
                result.complete = False
                return result
            self._publish(plan, result)
        return result

    def collect(self, period: str, day: str) -> None:
        """Collect the lines of one day for the run under way; do nothing if that run is not under way any more."""
        if plan := self._under_way(period):
            self._collect(plan, date.fromisoformat(day))

    def number(self, period: str) -> None:
        """Number the accounts of the run under way, whose days are collected."""
        if plan := self._under_way(period):
            self._number(plan)

    def write(self, period: str, group: int) -> None:
        """Write the statements of one group of accounts of the run under way, whose accounts are numbered."""
        if plan := self._under_way(period):
            self._write(plan, group)

    def publish(self, period: str) -> StatementResult:
        """Publish and finish the run whose groups are written, if it is under way."""
        result = StatementResult()
        if plan := self._under_way(period):
            self._publish(plan, result)
        return result

    # ------------------------------------------------------------ plan

    def _check(self, period: Period) -> None:
        now = clock.now()
        began = self._stores.began() or now
        check_request(period, self._stores.progress.progress(), self._settings.calendar, began, now)

    def _under_way(self, period: str) -> StatementPlan | None:
        plan = self._stores.progress.progress().plan
        return plan if plan and str(plan.period) == period else None

    def _plan(self) -> StatementPlan | None:
        """Return the plan under way, or a new one; ``None`` if no period is due."""
        stores, calendar = self._stores, self._settings.calendar
        while True:
            progress = stores.progress.progress()
            if progress.plan:
                return progress.plan
            at = stores.checkpoints.checkpoint()
            period = due_period(progress, at, calendar, stores.began) if at else None
            if at is None or period is None:
                return None
            runs = stores.runs.days(first_day_of(period, progress), at.sealed_through)
            lines = sum(int(run["lines"]) for _, some in runs for run in some)
            plan = next_plan(period, progress, Sealed(at, lines), clock.now(), self._settings)
            stores.progress.save_plan(progress, plan)  # another run may have stored its plan first

    def _run(self, plan: StatementPlan, remaining_seconds: Callable[[], float]) -> bool:
        """Run the steps before publishing; return whether the time sufficed."""
        began = False
        for day in plan.days:
            if began and remaining_seconds() < RESERVE_SECONDS:
                return False
            began |= self._collect(plan, day)
        if began and remaining_seconds() < RESERVE_SECONDS:
            return False
        began |= self._number(plan)
        for group in range(plan.groups):
            if began and remaining_seconds() < RESERVE_SECONDS:
                return False
            began |= self._write(plan, group)
        return True

    # ------------------------------------------------------------ collect

    def _collect(self, plan: StatementPlan, day: date) -> bool:
        """Collect a day's lines, unless that is done already; return whether it was not."""
        key = day_totals_key(plan.period, day)
        if self._stores.files.exists(key):
            return False
        collector = Collector(plan, time_zone(plan.zone))
        for _, runs in self._stores.runs.days(day, min(plan.bound, QuarterHour.last_of(day))):
            for run in runs:
                self._collect_run(plan, run, collector, day)
        self._keep_piece(plan, collector, day)
        content = pack_totals(collector.totals(), collector.pieces)
        self._stores.files.create(key, content, hexdigest(content))
        return True

    def _collect_run(self, plan: StatementPlan, run: Run, collector: Collector, day: date) -> None:
        for name, values in sorted(run["sealed"].items()):
            part = Part.parse(name)
            with self._stores.files.checked(part, SealedFile.of(values)) as file:
                pins = self._stores.pins.pinned(part.quarter_hour, plan.base) if plan.base else {}
                for _ in collector.add(part.quarter_hour, read_raw(file), pins):
                    self._keep_piece(plan, collector, day)

    def _keep_piece(self, plan: StatementPlan, collector: Collector, day: date) -> None:
        piece = collector.take()
        if piece is None:
            return
        for group, content in piece.files(plan):
            key = piece_key(plan.period, day, collector.pieces - 1, group)
            self._stores.files.create(key, content, hexdigest(content))

    # ------------------------------------------------------------ number

    def _number(self, plan: StatementPlan) -> bool:
        """Number the accounts, unless that is done already; return whether it was not."""
        key = roster_key(plan.period)
        if self._stores.files.exists(key):
            return False
        numbers = Numbers.of(plan)
        with ExitStack() as opened, TemporaryFile() as file:
            days = [
                read_totals(opened.enter_context(self._stores.files.copied(day_totals_key(plan.period, day))))
                for day in plan.days
            ]
            previous = opened.enter_context(self._previous(plan))
            pack_roster(roster(days, previous, numbers), numbers, file)
            file.seek(0)
            self._stores.files.create(key, file, stream_digest(file))
        return True

    @contextmanager
    def _previous(self, plan: StatementPlan) -> Iterator[Iterator[Listed]]:
        """Open the statements of the previous period."""
        if plan.previous_period is None:
            yield iter(())
            return
        with (
            self._stores.files.copied(list_key(plan.previous_period)) as file,
            io.TextIOWrapper(file, encoding="utf-8", newline="") as text,
        ):
            yield read_list(text)

    # ------------------------------------------------------------ write

    def _write(self, plan: StatementPlan, group: int) -> bool:
        """Write the statements of a group, unless that is done already; return whether it was not."""
        if self._stores.files.exists(written_key(plan.period, group)):
            return False
        self._write_group(plan, group)
        return True

    def _write_group(self, plan: StatementPlan, group: int) -> None:
        known, stores = parse_iso(plan.planned_at), self._stores
        owner = stores.parties.owner(plan.cut_off, known)
        with ExitStack() as opened, TemporaryFile() as file:
            entries = (
                entry
                for entry in read_roster(opened.enter_context(stores.files.copied(roster_key(plan.period))))
                if plan.group_of(entry.account) == group
            )
            blocks = _Blocks(self._blocks(plan, group, opened))
            with value_writer(file) as write:
                while some := list(islice(entries, _WRITTEN_AT_A_TIME)):
                    parties = stores.parties.parties(owner, [one.account for one in some], plan.cut_off, known)
                    statements = (Statement(plan, *pair) for pair in zip(some, parties, strict=True))
                    for listed in self._write_statements(plan, statements, blocks):
                        write(listed.as_row())
            file.seek(0)
            stores.files.create(written_key(plan.period, group), file, stream_digest(file))

    def _write_statements(
        self, plan: StatementPlan, statements: Iterable[Statement], blocks: "_Blocks"
    ) -> list[Listed]:
        """Write the files of some statements side by side; return their rows of the list."""
        written: list[Listed] = []
        uploads: list[Upload] = []
        with ExitStack() as opened:
            for statement in statements:
                lines = opened.enter_context(_LinesFile())
                entry, prefix = statement.entry, statement_prefix(plan.period, statement.entry.account)
                for block in blocks.of(entry.account):
                    lines.write(block)
                if lines.number != entry.sums.lines:
                    raise SealedFileError(
                        f"{prefix}: {lines.number} lines where {entry.sums.lines} were collected: a piece is damaged"
                    )
                sealed = lines.seal()
                document = statement.document(orders_of(lines.first()), sealed)
                contents = {STATEMENT: as_bytes(document), PAGE: statement_page(document)}
                files = {name: SealedObject(hexdigest(content), len(content)) for name, content in contents.items()}
                uploads.append((prefix + LINES, lines.file, sealed.sha256))
                uploads += [(prefix + name, content, files[name].sha256) for name, content in contents.items()]
                written.append(statement.listed({**files, LINES: sealed}))
            self._seal(plan, written, uploads)
        return written

    def _seal(self, _plan: StatementPlan, _statements: Sequence[Listed], files: Sequence[Upload]) -> None:
        """Create the files of some statements, side by side."""
        self._stores.workers.map(self._create, files)

    def _create(self, file: Upload) -> bool:
        """Create a file; return whether it is new."""
        return self._stores.files.create(*file)

    def _blocks(self, plan: StatementPlan, group: int, opened: ExitStack) -> Iterator[Block]:
        """Yield the lines of a group's accounts, ordered by account and then by time."""
        files = self._stores.files
        pieces = []
        for day in plan.days:
            with files.copied(day_totals_key(plan.period, day)) as totals:
                number = read_pieces(totals)
            keys = [piece_key(plan.period, day, piece, group) for piece in range(number)]
            # A piece has no file of a group without lines in it.
            pieces += [
                read_blocks(opened.enter_context(files.copied(key)))
                for key in keys
                if plan.groups == 1 or files.exists(key)
            ]
        return merge(*pieces, key=lambda block: block.account)

    # ------------------------------------------------------------ publish

    def _publish(self, plan: StatementPlan, result: StatementResult) -> None:
        """Write the list, the manifest and the items of the period, and finish the run."""
        stores, totals = self._stores, ListTotals()
        with stores.files.copied(roster_key(plan.period)) as file:
            numbers = read_numbers(file)
        with ExitStack() as opened, TemporaryFile() as file:
            groups = [
                map(
                    Listed.of_row,
                    read_values(opened.enter_context(stores.files.copied(written_key(plan.period, group)))),
                )
                for group in range(plan.groups)
            ]
            text = io.TextIOWrapper(cast("IO[bytes]", file), encoding="utf-8", newline="", write_through=True)
            writer = ListWriter(text)

            def items() -> Iterator[dict[str, Any]]:
                for one in merge(*groups, key=lambda one: one.account):
                    writer.write(one)
                    totals.add(one)
                    yield one.as_item(plan.period, plan.bound)

            stores.projections.write(items())
            text.flush()
            size = file.tell()
            file.seek(0)
            listed = SealedObject(stream_digest(file), size)
            content = as_bytes(manifest(plan, totals, numbers, listed))
            sha256 = hexdigest(content)
            files: list[Upload] = [
                (list_key(plan.period), file, listed.sha256),
                (manifest_key(plan.period), content, sha256),
            ]
            self._seal_period(plan, sha256, files)
        item = {**period_key(plan.period), **plan.as_dict(), **totals.as_dict(), "manifest_sha256": sha256}
        stores.projections.write([item])
        accounts = totals.statements + totals.credit_notes
        stores.progress.finish(plan, Published(sha256, numbers, accounts))
        result.periods.append(str(plan.period))
        result.statements += accounts

    def _seal_period(self, _plan: StatementPlan, _manifest_sha256: str, files: Sequence[Upload]) -> None:
        """Create the list of the period, and then its manifest."""
        for file in files:
            self._create(file)


class _Blocks:
    """The blocks of accounts, in the order of the accounts; to be read once each, in that order too."""

    def __init__(self, blocks: Iterator[Block]) -> None:
        self._groups = groupby(blocks, lambda block: block.account)
        self._next: tuple[Account, Iterator[Block]] | None = next(self._groups, None)

    def of(self, account: Account) -> Iterator[Block]:
        """Yield the blocks of an account."""
        if self._next and self._next[0] == account:
            yield from self._next[1]
            self._next = next(self._groups, None)


class _LinesFile:
    """The compressed CSV file of an account's lines; the file is deleted when the block ends."""

    def __init__(self) -> None:
        self.file = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - closed by __exit__
        self.number = 0
        self._first: list[bytes] = []
        self._packed = packed(self.file, QUICK)
        header = io.StringIO()
        CsvWriter(header, CSV_COLUMNS).flush()
        self._packed.write(header.getvalue().encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._packed.close()
        self.file.close()

    def write(self, block: Block) -> None:
        """Write a block of lines."""
        self._packed.write(block.text)
        if self.number < GROUPED_LINES:
            self._first.append(block.text)
        self.number += block.lines

    def first(self) -> Iterator[OrderLine]:
        """Yield the first lines."""
        texts = (io.TextIOWrapper(io.BytesIO(text), encoding="utf-8", newline="") for text in self._first)
        return order_lines(chain.from_iterable(texts), GROUPED_LINES)

    def seal(self) -> SealedObject:
        """Complete the file and return its SHA-256 and size; ``file`` is then at its beginning."""
        self._packed.close()
        size = self.file.tell()
        self.file.seek(0)
        sealed = SealedObject(stream_digest(self.file), size)
        self.file.seek(0)
        return sealed
