"""A job that records events and sends them through a bad network, to be killed at any time: ``URL SPOOL EVENTS SEED``.

It keeps its own place in a file beside the spool, behind what it has recorded, as a job does that reads a table.
"""

import os
import sys
from decimal import Decimal
from pathlib import Path

import httpx
from clients.python.tests.support import Faulty

from quarterhour_client import Client, Event, plan, sale

STRIDE = 100
SHARE = 0.05
"""Of the requests, how many fail."""


def amount(number: int) -> Decimal:
    """Return the amount of an event, another one for each."""
    return Decimal(number) / 100


def numbered(number: int) -> Event:
    return sale(source="job", id=str(number), agency="42", amount=amount(number), currency="EUR", commission_rate="0.1")


def main(url: str, spool: str, events: int, seed: int) -> None:
    plan.FIRST_PAUSE = 0.05
    place = Path(f"{spool}.place")
    network = Faulty(httpx.HTTPTransport(), SHARE, seed)
    with Client(url, spool, transport=network, batch=min(500, events // 50), linger=0.01, connections=2) as client:
        first = int(place.read_text()) if place.exists() else 0
        for start in range(first, events, STRIDE):
            client.record(*[numbered(number) for number in range(start, min(events, start + STRIDE))])
            place.with_suffix(".new").write_text(str(start + STRIDE))
            os.replace(place.with_suffix(".new"), place)  # noqa: PTH105 - atomic
        assert client.flush(600) == 0, client.trouble
        assert not list(client.parked())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
