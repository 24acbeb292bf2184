"""The receipts of an input: the verdict of each line, in a file that only grows, so that sending can be continued.

The file is NDJSON. Its first line names the format and the address. Then come blocks: an entry for each line of a
batch, then a mark with the number of the last line and the hash of the input up to it. An entry without a later mark
is not counted: its lines are sent again, which is harmless.
"""

import fcntl
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from json.encoder import encode_basestring_ascii as _text
from pathlib import Path
from typing import IO, Any, Final

from quarterhour_client import Problem, Result, Verdict

from quarterhour.ledger.events.http import MAX_BATCH
from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading.ndjson import Line
from quarterhour_tools.target.remote import as_item, reasons

Entry = Mapping[str, Any]
"""A line of the file as JSON: the outcome of a line of the input, or a mark."""

SHOWN: Final = 100
"""The most reasons that are kept to be shown."""

_FORMAT: Final = 1
_PARTS_OF_RECEIPT: Final = len(("recorded_at", "partition", "position"))
_LONGEST: Final = 1 << 20
"""The most bytes of a line of the file."""


class ReceiptsError(ToolError):
    """The receipts cannot be written any more; the next run sends again what has no receipt."""


@dataclass(slots=True)
class Tally:
    """The verdicts of the lines so far: how many have each final one, and which lines are to be sent again.

    ``through``: the number of the last line with a verdict, and ``chain`` the hash of the input up to it.
    ``unavailable``: the lines up to it that are to be sent again, each with its hash. ``shown``: the first reasons, by
    line. ``before``: how many recorded events count before each first period, and so are on no statement.
    """

    through: int = 0
    chain: str = ""
    counts: Counter[Verdict] = field(default_factory=Counter)
    unavailable: dict[int, str] = field(default_factory=dict)
    shown: dict[int, str] = field(default_factory=dict)
    before: Counter[str] = field(default_factory=Counter)

    def add_all(self, lines: Sequence[Line], results: Mapping[int, Result]) -> None:
        """Add the outcomes of lines, by number."""
        verdicts = [results[line.number].verdict for line in lines]
        if self.unavailable or self.shown or not all(verdict.is_stored for verdict in set(verdicts)):
            for line in lines:
                self.add(line.number, results[line.number], line.chain)
        else:
            self.counts.update(verdicts)
            self.before.update(first for line in lines if (first := results[line.number].before_first_period))

    def add(self, number: int, result: Result, chain: bytes) -> None:
        """Add the outcome of a line, whose hash is ``chain``; a final verdict replaces ``unavailable``."""
        verdict = result.verdict
        if self.unavailable or self.shown:
            self.unavailable.pop(number, None)
            self.shown.pop(number, None)
        if verdict is Verdict.UNAVAILABLE:
            self.unavailable[number] = chain.hex()
        else:
            self.counts[verdict] += 1
            self.before.update([result.before_first_period] if result.before_first_period else ())
        if not verdict.is_stored and len(self.shown) < SHOWN:
            self.shown[number] = f"{verdict.value}: {reasons(result)}".rstrip(": ")

    def mark(self, number: int, chain: str) -> None:
        """Record that every line up to a number has a verdict."""
        if number > self.through:
            self.through, self.chain = number, chain

    @property
    def all_stored(self) -> bool:
        """Whether the deployment has stored every event so far."""
        return not self.unavailable and all(verdict.is_stored for verdict in +self.counts)

    def as_dict(self) -> dict[str, int]:
        """Return the number of lines with each verdict, and of all."""
        counts = {**{one: self.counts[one] for one in Verdict}, Verdict.UNAVAILABLE: len(self.unavailable)}
        return {"sent": sum(counts.values()), **{one.value: number for one, number in counts.items()}}


class Receipts:
    """The receipts of one input for one deployment; without a file, in memory only."""

    def __init__(self, file: int | None = None, end: int = 0, tally: Tally | None = None) -> None:
        """Take an open file, the number of its bytes that count, and the tally of those."""
        self._file = file
        self._end = end
        self.tally = tally or Tally()

    def add(self, lines: Sequence[Line], results: Mapping[int, Result]) -> None:
        """Append the outcomes of lines in their order, by number; raise ``ReceiptsError`` if they cannot be written."""
        last = lines[-1]
        self._append(lines, results, {"through": last.number, "chain": last.chain.hex()})
        self.tally.add_all(lines, results)
        self.tally.mark(last.number, last.chain.hex())

    def _append(self, lines: Sequence[Line], results: Mapping[int, Result], mark: Entry) -> None:
        if self._file is None:
            return
        rows = [_row(line, results[line.number]) for line in lines]
        block = "\n".join([*rows, json.dumps(mark), ""]).encode()
        try:
            _write(self._file, block)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(self._file, self._end)
            raise ReceiptsError(f"the receipts cannot be written: {error.strerror}") from error
        self._end += len(block)

    def save(self) -> None:
        """Make sure that the receipts outlast a loss of power."""
        if self._file is not None:
            with suppress(OSError):  # not on every kind of file system; the next run finds what is missing
                os.fsync(self._file)


def _row(line: Line, result: Result) -> str:
    """Return the JSON of an entry."""
    if row := _row_with_receipt(line.number, result):
        return row
    entry = {"line": line.number, **as_item(result)}
    if result.verdict is Verdict.UNAVAILABLE:
        entry["chain"] = line.chain.hex()
    return json.dumps(entry)


def _row_with_receipt(number: int, result: Result) -> str | None:
    """Return the text of ``json.dumps``, but four times as fast; ``None`` without a receipt of the usual shape."""
    receipt = result.receipt
    try:
        if receipt is None or result.before_first_period or len(receipt) != _PARTS_OF_RECEIPT:
            return None
        return (
            f'{{"line": {number}, "source": {_text(result.source)}, "id": {_text(result.id)}, '
            f'"verdict": {_text(result.verdict)}, "receipt": {{"recorded_at": {_text(receipt["recorded_at"])}, '
            f'"partition": {_text(receipt["partition"])}, "position": {_text(receipt["position"])}}}}}'
        )
    except (LookupError, TypeError):
        return None


@contextmanager
def open_receipts(path: Path, address: str) -> Iterator[Receipts]:
    """Open the receipts of an input for the deployment at an address, or begin new ones.

    Raises ``ToolError`` if the file is of another deployment, is not a file of receipts, cannot be written, or is in
    use by another process.
    """
    try:
        if path.exists() and not path.is_file():
            raise ToolError(f"{path} is not a regular file: name another one with --receipts")
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise ToolError(f"{path}: {error.strerror}: name another file with --receipts") from error
    try:
        _lock(file, path)
        yield _opened(file, path, address)
    finally:
        os.close(file)


def _lock(file: int, path: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise ToolError(f"{path} is in use: another process sends this input; wait for its end") from error


def _opened(file: int, path: Path, address: str) -> Receipts:
    own = {"receipts": _FORMAT, "address": address}
    header = json.dumps(own).encode() + b"\n"
    with path.open("rb") as content:
        first = content.readline(_LONGEST)
        if not header.startswith(first) or not first.endswith(b"\n"):
            _check(first, path, own, header)
            return _begun(file, path, header)
        tally = Tally()
        end = _read(content, tally)
    os.ftruncate(file, end)
    return Receipts(file, end, tally)


def _check(first: bytes, path: Path, own: Entry, header: bytes) -> None:
    """Raise ``ToolError`` unless a file without our header is empty, or holds only the beginning of that header."""
    if header.startswith(first):
        return
    try:
        found = json.loads(first)
        kind, address = found["receipts"], found["address"]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise ToolError(f"{path} is not a file of receipts: name another one with --receipts") from error
    of = f"another deployment, {address}" if kind == own["receipts"] else "another version of quarterhour"
    raise ToolError(f"{path} has the receipts of {of}: name another file with --receipts")


def _begun(file: int, path: Path, header: bytes) -> Receipts:
    try:
        os.ftruncate(file, 0)
        _write(file, header)
    except OSError as error:
        raise ToolError(f"{path}: {error.strerror}: name another file with --receipts") from error
    return Receipts(file, len(header))


def _read(content: IO[bytes], tally: Tally) -> int:
    """Add the blocks that follow in a file to a tally, up to one that is not whole; return where it begins."""
    entries: list[tuple[int, Result, bytes]] = []
    end = content.tell()
    while (row := content.readline(_LONGEST)).endswith(b"\n"):
        try:
            found = json.loads(row)
            if "through" not in found and len(entries) < MAX_BATCH:
                entries.append(_parsed(found))
                continue
            number, chain = int(found["through"]), str(found["chain"])
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            break
        for entry in entries:
            tally.add(*entry)
        tally.mark(number, chain)
        entries.clear()
        end = content.tell()
    return end


def _parsed(entry: Entry) -> tuple[int, Result, bytes]:
    """Return the number of a line, its outcome, and its hash if it is to be sent again; raise for another shape."""
    verdict, number = Verdict(entry["verdict"]), entry["line"]
    if not isinstance(number, int):
        raise TypeError
    listed = entry["held"]["problems"] if "held" in entry else entry.get("errors", ())
    problems = tuple(Problem(**one) for one in listed)
    chain = bytes.fromhex(entry["chain"]) if verdict is Verdict.UNAVAILABLE else b""
    name, before = (entry.get("source", ""), entry.get("id", "")), entry.get("before_first_period")
    return number, Result(*name, verdict, problems=problems, before_first_period=before), chain


def _write(file: int, content: bytes) -> None:
    while content:
        content = content[os.write(file, content) :]
