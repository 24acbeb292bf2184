"""Reading back what was sealed, each file held to the hash that it was sealed with."""

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from tempfile import TemporaryFile

from quarterhour.errors import SealedFileError
from quarterhour.quarters import Quarter
from quarterhour.reports.keys import lines_key
from quarterhour.reports.lines import read_lines, tally_lines
from quarterhour.reports.plan import Sealed, Tally
from quarterhour.reports.store import ReportStore


@contextmanager
def sealed_lines(store: ReportStore, quarter: Quarter, sealed: Sealed) -> Iterator[Iterator[dict[str, str]]]:
    """Give the lines of a sealed quarter-hour; raise ``SealedFileError`` where its file is not the one sealed."""
    with TemporaryFile() as file:
        digest = sha256()
        body = store.open(lines_key(quarter))
        while block := body.read(1 << 20):
            digest.update(block)
            file.write(block)
        if digest.hexdigest() != sealed.sha256:
            raise SealedFileError(f"{lines_key(quarter)} is not the file that was sealed")
        file.seek(0)
        yield read_lines(file)


def sealed_tally(store: ReportStore, quarter: Quarter, sealed: Sealed) -> Tally:
    """Add up a sealed quarter-hour."""
    if not sealed.lines:
        return {}
    with sealed_lines(store, quarter, sealed) as lines:
        return tally_lines(lines)[1]


def sealed_ledger(store: ReportStore, through: Quarter) -> Iterator[dict[str, str]]:
    """Yield every sealed line, from the first quarter-hour to the given one."""
    for run in store.runs():
        for name, values in sorted(run["sealed"].items()):
            quarter = Quarter.parse(name)
            if quarter <= through:
                with sealed_lines(store, quarter, Sealed.of(values)) as lines:
                    yield from lines
