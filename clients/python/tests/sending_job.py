"""A job that records events and sends them through a bad network, to be killed at any time: ``URL SPOOL EVENTS SEED``.

It keeps its own place in a file beside the spool, behind what it has recorded, as a job does that reads a table. A
second file has a character for each request, fault and duplicate.
"""

import os
import sys
from decimal import Decimal
from pathlib import Path
from typing import Final

import httpx
from clients.python.tests.support import Faulty

from quarterhour_client import Client, Event, plan, sale

STRIDE: Final = 100
SHARE: Final = 0.05
"""Of the requests, how many fail."""
SHOP: Final = "job"
SOURCE: Final = f"{SHOP}-1"
AGENCY: Final = "42"
RATE: Final = Decimal("0.1")
REQUEST: Final = b"r"
FAULT: Final = b"f"
DUPLICATE: Final = b"d"
MOST: Final = 100
"""The most events of a request: small, so that many requests fail."""
FEWEST: Final = 200
"""The fewest requests of a job."""


def amount(number: int) -> Decimal:
    """Return the amount of an event, another one for each."""
    return Decimal(number) / 100


def numbered(number: int) -> Event:
    return sale(
        source=SOURCE, id=str(number), agency=AGENCY, amount=amount(number), currency="EUR", commission_rate=RATE
    )


def log_of(spool: Path) -> Path:
    """Return the file with a character for each request, fault and duplicate."""
    return Path(f"{spool}.requests")


class Logged(httpx.BaseTransport):
    """Writes down each request, fault and duplicate at once, so that a death loses none."""

    def __init__(self, inner: httpx.BaseTransport, file: Path) -> None:
        self._inner = inner
        self._file = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        os.write(self._file, REQUEST)
        try:
            response = self._inner.handle_request(request)
        except httpx.TransportError:
            os.write(self._file, FAULT)
            raise
        if response.is_success:
            response.read()
            os.write(self._file, DUPLICATE * response.json()["counts"].get("duplicate", 0))
        else:
            os.write(self._file, FAULT)
        return response


def main(url: str, spool: str, events: int, seed: int) -> None:
    plan.FIRST_PAUSE = 0.05
    place = Path(f"{spool}.place")
    network = Logged(Faulty(httpx.HTTPTransport(), SHARE, seed), log_of(Path(spool)))
    with Client(url, spool, transport=network, batch=min(MOST, events // FEWEST), linger=0.01, connections=2) as client:
        first = int(place.read_text()) if place.exists() else 0
        for start in range(first, events, STRIDE):
            client.record(*[numbered(number) for number in range(start, min(events, start + STRIDE))])
            place.with_suffix(".new").write_text(str(start + STRIDE))
            os.replace(place.with_suffix(".new"), place)  # noqa: PTH105 - atomic
        assert client.flush(1200) == 0, client.trouble
        assert not list(client.parked())


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
