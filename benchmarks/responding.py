"""Times reads from `quarterhour up` while it processes the streams of many new accounts."""

import json
import time
from typing import Final
from urllib.request import Request, urlopen

from benchmarks.load import started

BATCHES: Final = 2
AGENCIES: Final = 500

_READS: Final = 10
_SECONDS: Final = 10.0
_CONTENT: Final = {"content-type": "application/cloudevents-batch+json"}


def longest_read() -> float:
    """Return the seconds of the slowest read after each of two batches was recorded, all events of new agencies."""
    with started() as url:
        for number in range(BATCHES):
            _answered(Request(f"{url}/events", _batch(number), _CONTENT))  # noqa: S310 - of this machine
        waits: list[float] = []
        until = time.monotonic() + _SECONDS
        while time.monotonic() < until or len(waits) < _READS:
            waits.append(_answered(Request(f"{url}/reports")))  # noqa: S310 - of this machine
        return max(waits)


def _batch(number: int) -> bytes:
    sales = [
        {
            "specversion": "1.0",
            "id": f"{number}-{place}",
            "source": "shop",
            "type": "sale.recorded",
            "subject": f"agency {number}-{place}",
            "data": {"amount": "12.50", "currency": "GBP", "commission_rate": "0.125"},
        }
        for place in range(AGENCIES)
    ]
    return json.dumps(sales).encode()


def _answered(request: Request) -> float:
    began = time.monotonic()
    with urlopen(request, timeout=120) as response:  # noqa: S310 - of this machine
        response.read()
    return time.monotonic() - began


if __name__ == "__main__":
    print(f"{longest_read():.2f} s")
