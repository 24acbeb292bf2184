"""Measures a reconciliation of a provider's file with sealed files, in another process.

Argument: the number of lines of each side. One line of a hundred differs in its amount.
"""

import csv
import gzip
import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Final

from benchmarks.functions import ROOT
from benchmarks.statements import peak
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.reports.keys import Part
from quarterhour.reports.lines import COLUMNS, CsvWriter
from quarterhour_tools.cli import main as quarterhour

_FILES: Final = 2000
"""Sealed files: of three weeks."""
_FIRST: Final = datetime(2026, 11, 2, tzinfo=UTC)
_HEADER: Final = "Transaction,Booked,Kind,Order,Amount,Currency,Fee,Seller\n"
_STEP: Final = 7919
"""A prime: the orders of the file are not in the order of the ledger."""
_DIFFERS: Final = 100


def measure(lines: int) -> dict[str, float]:
    """Return the speed against ``csv.reader`` over the same files, and the memory."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        _write_file(place / "file.csv", lines)
        _write_sealed(place / "sealed", lines)
        source = ROOT / "examples" / "reconciliation" / "harbour.toml"
        arguments = ["reconcile", str(place / "file.csv"), str(place / "sealed"), "--map", str(source)]
        shown = io.StringIO()
        start = process_time()
        with redirect_stdout(shown), redirect_stderr(io.StringIO()):
            quarterhour([*arguments, "--period", "2026-11", "--out", str(place / "out"), "--json"])
        ours, mib = process_time() - start, peak()
        found = json.loads(shown.getvalue())["difference_count"]
        expected = len(range(0, lines, _DIFFERS))
        if found != expected:
            raise ValueError(f"{found} differences instead of {expected}")
        start = process_time()
        _read(place)
        return {"ratio": (process_time() - start) / ours, "mib": mib}


def _write_file(path: Path, lines: int) -> None:
    with path.open("w") as file:
        file.write(_HEADER)
        for n in range(lines):
            order, seller = n * _STEP % lines, 40 + n % 50
            file.write(f"tx-{n},2026-11-05 12:00:00,payment,order-{order},{_amount(n)},EUR,0.5,{seller}\n")
        file.write(",,TOTAL,,0,,,\n")


def _amount(n: int) -> str:
    return f"{n % 977}.{n % 100:02d}"


def _write_sealed(folder: Path, lines: int) -> None:
    size = -(-lines // _FILES)
    for place, first in enumerate(range(0, lines, size)):
        at = _FIRST + timedelta(minutes=15 * place)
        quarter_hour = QuarterHour.parse(at.strftime("%Y%m%d%H%M"))
        text = io.StringIO()
        writer = CsvWriter(text, COLUMNS)
        writer.write(_line(n, lines, quarter_hour) for n in range(first, min(lines, first + size)))
        writer.flush()
        path = folder / Part(quarter_hour).lines_key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(text.getvalue().encode(), 1))


def _line(n: int, lines: int, quarter_hour: QuarterHour) -> dict[str, str]:
    values = {
        "quarter_hour": f"{quarter_hour}#00",
        "position": f"p{n}",
        "recorded_at": "2026-11-06T00:00:00.000Z",
        "source": "shop",
        "id": f"e-{n}",
        "type": "sale.recorded",
        "agency": str(40 + n % 50),
        "currency": "EUR",
        "amount": _amount(n) if n % _DIFFERS else "1000.01",
        "commission_rate": "0.1",
        "commission": "0",
        "order_id": f"order-{n * _STEP % lines}",
        "extra": '{"fee":"0.5"}',
        "period": "2026-11",
    }
    return {name: values.get(name, "") for name in COLUMNS}


def _read(place: Path) -> None:
    with (place / "file.csv").open(newline="") as file:
        for _ in csv.reader(file):
            pass
    for path in (place / "sealed").rglob("*.gz"):
        with gzip.open(path, "rt", newline="") as file:
            for _ in csv.reader(file):
                pass


def main() -> None:
    """Run the measurement, and print it."""
    print(json.dumps(measure(*map(int, sys.argv[1:]))))


if __name__ == "__main__":
    main()
