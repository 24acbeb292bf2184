"""The lines of accounts in files: read from the pieces of the days, and written as one file for each account."""

import io
from collections.abc import Iterator
from contextlib import ExitStack
from heapq import merge
from itertools import chain, groupby
from tempfile import SpooledTemporaryFile
from typing import Final, Self

from quarterhour.model.errors import SealedFileError
from quarterhour.model.identifiers import Account
from quarterhour.reports.digests import stream_digest
from quarterhour.reports.lines import COLUMNS, CsvWriter
from quarterhour.reports.packing import QUICK, packed
from quarterhour.statements.drafts.day_lines import Block, read_blocks, read_pieces
from quarterhour.statements.drafts.orders import GROUPED_LINES, OrderLine, order_lines
from quarterhour.statements.keys import day_totals_key, piece_key
from quarterhour.statements.listing import SealedObject
from quarterhour.statements.plan import StatementPlan
from quarterhour.statements.store import StatementStores

WRITTEN_AT_A_TIME: Final = 64
"""The accounts whose files are written side by side."""
_IN_MEMORY: Final = 256 << 10
"""Bytes of an account's lines in memory; a larger file is on disk until it is uploaded."""


def blocks_of(stores: StatementStores, plan: StatementPlan, group: int, opened: ExitStack) -> Iterator[Block]:
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


class Blocks:
    """The blocks of accounts, in the order of the accounts; to be read once each, in that order too."""

    def __init__(self, blocks: Iterator[Block]) -> None:
        self._groups = groupby(blocks, lambda block: block.account)
        self._next: tuple[Account, Iterator[Block]] | None = next(self._groups, None)

    def of(self, account: Account) -> Iterator[Block]:
        """Yield the blocks of an account."""
        if self._next and self._next[0] == account:
            yield from self._next[1]
            self._next = next(self._groups, None)


class LinesFile:
    """The compressed CSV file of an account's lines; the file is deleted when the block ends."""

    def __init__(self) -> None:
        self.file = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - closed by __exit__
        self.number = 0
        self._first: list[bytes] = []
        self._packed = packed(self.file, QUICK)
        header = io.StringIO()
        CsvWriter(header, COLUMNS).flush()
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

    def seal(self, expected: int, prefix: str) -> SealedObject:
        """Complete the file and return its SHA-256 and size; ``file`` is then at its beginning.

        Raises ``SealedFileError`` if it has another number of lines than was collected. ``prefix``: of its key.
        """
        if self.number != expected:
            raise SealedFileError(f"{prefix}: {self.number} lines where {expected} were collected: a piece is damaged")
        self._packed.close()
        size = self.file.tell()
        self.file.seek(0)
        sealed = SealedObject(stream_digest(self.file), size)
        self.file.seek(0)
        return sealed
