"""A nightly job: records the sales of a CSV file, sends them, and reports what a person must look at.

``nightly_job.py URL SPOOL sales.csv``. It may be killed at any time: run it again with the same file. The file has the
columns ``order,agency,amount,currency,paid_at``.
"""

import csv
import sys
from datetime import datetime
from pathlib import Path

import httpx

from quarterhour_client import Client, Event, sale

SECONDS = 600


def event(row: dict[str, str]) -> Event:
    """Return the event of a row."""
    return sale(
        source="nightly",
        id=f"{row['order']}:paid",
        agency=row["agency"],
        amount=row["amount"],
        currency=row["currency"],
        time=datetime.fromisoformat(row["paid_at"]),
        order_id=row["order"],
    )


def run(url: str, spool: str, file: str, transport: httpx.BaseTransport | None = None) -> int:
    """Record and send the sales of a file; return 0 if the ledger has all of them, otherwise 1."""
    with Client(url, spool, transport=transport) as client:
        with Path(file).open(encoding="utf-8", newline="") as lines:
            client.record(*[event(row) for row in csv.DictReader(lines)])
        left = client.flush(SECONDS)
        parked = list(client.parked())
        for one in parked:
            reasons = "; ".join(f"{reason.field} {reason.problem}" for reason in one.problems)
            print(f"{one.id}: {one.verdict.value}: {reasons}")
        if left:
            print(f"{left} sales are left: {client.trouble}")
        return 1 if parked or left else 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], sys.argv[2], sys.argv[3]))
