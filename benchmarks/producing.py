"""Times the producer library against bare httpx that posts the same batches, in turns, to a made-up API.

The library stores the events in its spool, on this disk, and sends them. Bare httpx has the bodies in memory.
"""

import json
import sys
import threading
from pathlib import Path
from queue import Empty, SimpleQueue
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Final

import httpx
from quarterhour_client import Client, Event

from benchmarks.sending import KINDS, event_json, made_up_api
from quarterhour.ledger.events.http import MAX_BATCH

CONNECTIONS: Final = 4


def measure(events: int, rounds: int) -> dict[str, float]:
    """Send events both ways; return our speed against that of bare httpx and our rate, as medians.

    ``ratio`` and ``rate`` are of recording and sending; ``sending`` is the ratio for a spool that is filled before.
    """
    with TemporaryDirectory() as folder, made_up_api() as port:
        url = f"http://127.0.0.1:{port}"
        texts = [event_json(number) for number in range(events)]
        made = [Event("shop-1", f"order-{number}:1", text) for number, text in enumerate(texts)]
        bodies = [b"[%b]" % b",".join(texts[at : at + MAX_BATCH]) for at in range(0, events, MAX_BATCH)]
        _bare(url, bodies)
        found = []
        for number in range(rounds):
            spool = Path(folder) / f"{number}.spool"
            bare = _bare(url, bodies)
            whole = _recorded_and_sent(url, spool, made)
            sent = _sent(url, spool, made)
            found.append((bare / whole, bare / sent, events / whole))
    ratios, sending, rates = zip(*found, strict=True)
    return {"ratio": median(ratios), "sending": median(sending), "rate": median(rates)}


def _recorded_and_sent(url: str, spool: Path, events: list[Event]) -> float:
    """Return the seconds to record events, in lists of 500, and to send all of them."""
    with Client(url, spool, connections=CONNECTIONS) as client:
        began = perf_counter()
        for at in range(0, len(events), MAX_BATCH):
            client.record(*events[at : at + MAX_BATCH])
        if client.flush(600):
            raise ValueError(client.trouble)
        return perf_counter() - began


def _sent(url: str, spool: Path, events: list[Event]) -> float:
    """Return the seconds to send events that are in the spool."""
    refusing = httpx.MockTransport(lambda _: httpx.Response(503, headers={"retry-after": "60"}))
    with Client(url, spool, transport=refusing) as client:
        client.record(*events)
        client.close(0)
    with Client(url, spool, connections=CONNECTIONS) as client:
        began = perf_counter()
        if client.flush(600):
            raise ValueError(client.trouble)
        return perf_counter() - began


def _bare(url: str, bodies: list[bytes]) -> float:
    """Return the seconds to post bodies over as many connections; of the answers, only the status is read."""
    waiting: SimpleQueue[bytes] = SimpleQueue()
    for body in bodies:
        waiting.put(body)
    statuses: list[int] = []

    def post(client: httpx.Client) -> None:
        try:
            while True:
                statuses.append(client.post(f"{url}/events", content=waiting.get_nowait(), headers=KINDS).status_code)
        except Empty:
            pass

    with httpx.Client() as client:
        began = perf_counter()
        threads = [threading.Thread(target=post, args=(client,)) for _ in range(CONNECTIONS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = perf_counter() - began
    if statuses != [202] * len(bodies):
        raise ValueError(statuses)
    return seconds


def main() -> None:
    """Run the measurement, and print it."""
    print(json.dumps(measure(*map(int, sys.argv[1:]))))


if __name__ == "__main__":
    main()
