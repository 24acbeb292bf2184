"""Writing the sealed file of a quarter-hour: one CSV line an event, in the order given, always the same bytes."""

import csv
import gzip
import io
from contextlib import ExitStack
from hashlib import sha256
from tempfile import TemporaryFile
from types import TracebackType
from typing import IO, Self, cast

from quarterhour.aws.items import Item
from quarterhour.ledger.event import REFUND
from quarterhour.ledger.plan import SCHEMA as LEDGER_SCHEMA
from quarterhour.model.errors import LedgerItemError
from quarterhour.reports.lines import COLUMNS, FLAG, UNLINKED, Line, Tallying, cell
from quarterhour.reports.plan import Content, Sealed


class SealedFileWriter:
    """A gzipped CSV file on disk that adds up what is written to it; the file is deleted when the block ends."""

    def __init__(self, schema: int) -> None:
        self.file: IO[bytes] = TemporaryFile()  # noqa: SIM115 - closed by __exit__
        self._columns = COLUMNS[schema]
        self._tallying = Tallying()
        self._layers = ExitStack()

    def __enter__(self) -> Self:
        """Write the header line."""
        # No name and no time in gzip's header: the same lines give the same bytes.
        packed = gzip.GzipFile(filename="", mode="wb", fileobj=self.file, compresslevel=6, mtime=0)
        self._layers.enter_context(packed)
        text = io.TextIOWrapper(cast("IO[bytes]", packed), encoding="utf-8", newline="")
        self._layers.enter_context(text)
        self._writer = csv.writer(text, lineterminator="\n")
        self._writer.writerow(self._columns)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Delete the file."""
        self._layers.close()
        self.file.close()

    def write(self, item: Item) -> Line:
        """Write an event and return its line.

        Raises ``LedgerItemError``, which names partition and position, for an item that is no posting.
        """
        try:
            values = {name: value["S"] for name, value in item.items()}
            if values["schema"] != LEDGER_SCHEMA:
                raise ValueError(f"the schema {values['schema']!r} is not known")  # noqa: TRY301 - read below
            if values["type"] == REFUND and "refers_to" not in values:
                values[FLAG] = UNLINKED
            self._tallying.add(values)
        except (KeyError, TypeError, ValueError, ArithmeticError) as error:
            raise LedgerItemError(_place(item), error) from error
        self._writer.writerow([cell(name, values[name]) if name in values else "" for name in self._columns])
        return values

    def seal(self) -> Sealed:
        """Complete the file and return its number of lines, SHA-256 and size; ``file`` is at its beginning then."""
        self._layers.close()
        return Sealed(self._tallying.lines, *_digest(self.file)) if self._tallying.lines else Sealed(0)

    def content(self) -> Content:
        """Return what the lines written so far add up to."""
        return self._tallying.content()


def _place(item: Item) -> str:
    """Return partition and position of an item, as far as they can be read."""
    return " ".join(str(item.get(name, {}).get("S", "?")) for name in ("quarter_hour", "position"))


def _digest(file: IO[bytes]) -> tuple[str, int]:
    size = file.tell()
    file.seek(0)
    digest = sha256()
    while block := file.read(1 << 20):
        digest.update(block)
    file.seek(0)
    return digest.hexdigest(), size
