"""The third step: write the statements of a group of accounts, with the files of each."""

import io
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from heapq import merge
from itertools import chain, groupby, islice
from tempfile import SpooledTemporaryFile, TemporaryFile
from typing import Final, Self

from quarterhour.model.clock import parse_iso
from quarterhour.model.errors import SealedFileError
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import time_zone
from quarterhour.reports.digests import hexdigest, stream_digest
from quarterhour.reports.lines import CsvWriter
from quarterhour.reports.packing import QUICK, packed
from quarterhour.statements.day_lines import CSV_COLUMNS, Block, TaxedLines, read_blocks, read_pieces
from quarterhour.statements.document import BY_KIND, Statement, as_bytes
from quarterhour.statements.keys import (
    LINES,
    STATEMENT,
    day_totals_key,
    piece_key,
    roster_key,
    statement_prefix,
    written_key,
)
from quarterhour.statements.listing import Listed, SealedObject
from quarterhour.statements.orders import GROUPED_LINES, OrderLine, order_lines, orders_of, orders_of_0_2
from quarterhour.statements.pages import rendered
from quarterhour.statements.plan import StatementPlan
from quarterhour.statements.roster import read_roster
from quarterhour.statements.sealing import Sealer, Upload
from quarterhour.statements.store import StatementStores
from quarterhour.statements.work_objects import value_writer

_WRITTEN_AT_A_TIME: Final = 64
_IN_MEMORY: Final = 256 << 10
"""Bytes of a statement's lines in memory; a larger file is on disk until it is uploaded."""


def is_written(stores: StatementStores, plan: StatementPlan, group: int) -> bool:
    """Return whether the statements of a group are written."""
    return stores.files.exists(written_key(plan.period, group))


def write(stores: StatementStores, plan: StatementPlan, group: int, sealer: Sealer) -> None:
    """Write the statements of a group; their rows of the list come last, so they say that the group is written."""
    known = parse_iso(plan.planned_at)
    owner = stores.parties.owner(plan.parties_at, known)
    with ExitStack() as opened, TemporaryFile() as file:
        entries = (
            entry
            for entry in read_roster(opened.enter_context(stores.files.copied(roster_key(plan.period))))
            if plan.group_of(entry.account) == group
        )
        blocks = _Blocks(_blocks(stores, plan, group, opened))
        with value_writer(file) as write_value:
            while some := list(islice(entries, _WRITTEN_AT_A_TIME)):
                parties = stores.parties.parties(owner, [one.account for one in some], plan.parties_at, known)
                statements = (Statement(plan, *pair) for pair in zip(some, parties, strict=True))
                for listed in _write_statements(plan, statements, blocks, sealer):
                    write_value(listed.as_row())
        file.seek(0)
        stores.files.create(written_key(plan.period, group), file, stream_digest(file))


def _write_statements(
    plan: StatementPlan, statements: Iterable[Statement], blocks: "_Blocks", sealer: Sealer
) -> list[Listed]:
    """Write the files of some statements side by side; return their rows of the list."""
    written: list[Listed] = []
    uploads: list[Upload] = []
    with ExitStack() as opened:
        for statement in statements:
            lines = opened.enter_context(_LinesFile(plan.schema))
            entry, prefix = statement.entry, statement_prefix(plan.period, statement.entry.account)
            taxed = TaxedLines(statement.names, time_zone(plan.zone)) if any(statement.names) else None
            for block in blocks.of(entry.account):
                lines.write(block)
                if taxed:
                    taxed.add(io.TextIOWrapper(io.BytesIO(block.text), encoding="utf-8", newline=""))
            if lines.number != entry.sums.lines:
                raise SealedFileError(
                    f"{prefix}: {lines.number} lines where {entry.sums.lines} were collected: a piece is damaged"
                )
            sealed = lines.seal()
            if taxed:
                statement = replace(statement, named=taxed.commissions)  # noqa: PLW2901 - the same, with its tax
            orders = orders_of if plan.schema >= BY_KIND else orders_of_0_2
            document = statement.document(orders(lines.first()), sealed)
            contents = {STATEMENT: as_bytes(document), **rendered(document)}
            files = {name: SealedObject(hexdigest(content), len(content)) for name, content in contents.items()}
            uploads.append(Upload(prefix + LINES, lines.file, sealed.sha256))
            uploads += [Upload(prefix + name, content, files[name].sha256) for name, content in contents.items()]
            written.append(statement.listed({**files, LINES: sealed}))
        sealer.seal_statements(plan, written, uploads)
    return written


def _blocks(stores: StatementStores, plan: StatementPlan, group: int, opened: ExitStack) -> Iterator[Block]:
    """Yield the lines of a group's accounts, ordered by account and then by time."""
    pieces = []
    for day in plan.days:
        with stores.files.copied(day_totals_key(plan.period, day)) as totals:
            number = read_pieces(totals)
        keys = [piece_key(plan.period, day, piece, group) for piece in range(number)]
        # A piece has no file of a group without lines in it.
        pieces += [
            read_blocks(opened.enter_context(stores.files.copied(key)))
            for key in keys
            if plan.groups == 1 or stores.files.exists(key)
        ]
    return merge(*pieces, key=lambda block: block.account)


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
    """The compressed CSV file of an account's lines; the file is deleted when the block ends.

    ``schema``: that of the statement.
    """

    def __init__(self, schema: int) -> None:
        self.file = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - closed by __exit__
        self.number = 0
        self._first: list[bytes] = []
        self._packed = packed(self.file, QUICK)
        header = io.StringIO()
        CsvWriter(header, CSV_COLUMNS[schema]).flush()
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
