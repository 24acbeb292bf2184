"""Times `quarterhour send` against a bare HTTP client that posts the same batches, in turns, to a made-up API."""

import http.client
import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from queue import Empty, SimpleQueue
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time, sleep
from typing import Final

from quarterhour_client import Verdict

from quarterhour.ledger.events.http import BATCH, MAX_BATCH
from quarterhour_tools.loading.delivery import GIVE_UP_AFTER, Delivery
from quarterhour_tools.loading.event_send import AT_ONCE, send
from quarterhour_tools.loading.ndjson import open_lines
from quarterhour_tools.loading.receipts import open_receipts
from quarterhour_tools.target.remote import Remote

ANSWER_SECONDS: Final = 0.08
"""Seconds of a request of 500 events, as `benchmarks.latency` measures it with 8 calls at a time."""

KINDS: Final = {"content-type": BATCH}


def measure(events: int, rounds: int) -> dict[str, float]:
    """Send a file of events both ways.

    Return our speed against the bare client's and our rate, as medians; and the CPU time of an event of both, each in
    its best round, because other processes only add to it.
    """
    with TemporaryDirectory() as folder, made_up_api() as port:
        file = Path(folder) / "events.ndjson"
        texts = [event_json(number) for number in range(events)]
        file.write_bytes(b"".join(text + b"\n" for text in texts))
        bodies = [b"[%b]" % b",".join(texts[at : at + MAX_BATCH]) for at in range(0, events, MAX_BATCH)]
        _bare(port, bodies)
        _ours(port, file, events)
        found = []
        for _ in range(rounds):
            bare = _timed(lambda: _bare(port, bodies))
            ours = _timed(lambda: _ours(port, file, events))
            found.append((bare[0] / ours[0], events / ours[0], 1e6 * ours[1] / events, 1e6 * bare[1] / events))
    ratios, rates, microseconds, bare_microseconds = zip(*found, strict=True)
    return {
        "ratio": median(ratios),
        "rate": median(rates),
        "microseconds": min(microseconds),
        "bare_microseconds": min(bare_microseconds),
    }


def _timed(run: Callable[[], None]) -> tuple[float, float]:
    """Return the seconds by the clock and those of the CPU."""
    began, used = perf_counter(), process_time()
    run()
    return perf_counter() - began, process_time() - used


def _ours(port: int, file: Path, events: int) -> None:
    """Send the file as the command does, with receipts."""
    remote = Remote(f"http://127.0.0.1:{port}", connections=AT_ONCE)
    path = file.with_name("receipts")
    with open_lines(str(file)) as lines, open_receipts(path, remote.url) as receipts:
        problem = send(lines, receipts, Delivery(remote.events.post_events, GIVE_UP_AFTER), AT_ONCE)
        receipts.save()
    path.unlink()
    if problem or receipts.tally.counts[Verdict.RECORDED] != events:
        raise ValueError(problem or receipts.tally.counts)


def _bare(port: int, bodies: list[bytes]) -> None:
    """Post bodies that are in memory, over as many connections, and look only at the status of the answers."""
    waiting: SimpleQueue[bytes] = SimpleQueue()
    for body in bodies:
        waiting.put(body)
    statuses: list[int] = []

    def post() -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port)
        try:
            while True:
                connection.request("POST", "/events", waiting.get_nowait(), KINDS)
                response = connection.getresponse()
                response.read()
                statuses.append(response.status)
        except Empty:
            connection.close()

    threads = [threading.Thread(target=post) for _ in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if statuses != [202] * len(bodies):
        raise ValueError(statuses)


def event_json(number: int) -> bytes:
    """Return a sale as JSON."""
    data = {"amount": "12.50", "currency": "GBP", "customer": f"c-{number % 1000}", "order_id": f"order-{number}"}
    names = {"specversion": "1.0", "source": "shop-1", "id": f"order-{number}:1", "type": "sale.recorded"}
    return json.dumps({**names, "subject": "42", "time": "2026-10-23T01:30:00Z", "data": data}).encode()


@contextmanager
def made_up_api() -> Iterator[int]:
    """Run the made-up API in another process; yield its port."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    try:
        yield ours.recv()
    finally:
        process.kill()
        process.join()


def _serve(ready: Connection) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    ready.send(server.server_port)
    server.serve_forever()


class _Handler(BaseHTTPRequestHandler):
    """Answers as the API does when it has recorded 500 events, after the time that it takes."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    answer = json.dumps(
        {
            "items": [
                {
                    "index": index,
                    "source": "shop-1",
                    "id": f"order-{index}:1",
                    "verdict": "recorded",
                    "receipt": {
                        "recorded_at": "2026-10-23T01:30:02.345Z",
                        "partition": "202610230130#00",
                        "position": "2026-10-23T01:30:02.345Z.4JzHX4k3uVijmhMx",
                    },
                }
                for index in range(MAX_BATCH)
            ],
            "counts": {"recorded": MAX_BATCH},
        }
    ).encode()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        sleep(ANSWER_SECONDS)
        self.send_response(202)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(self.answer)))
        self.end_headers()
        self.wfile.write(self.answer)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def main() -> None:
    """Run the measurement, and print it."""
    print(json.dumps(measure(*map(int, sys.argv[1:]))))


if __name__ == "__main__":
    main()
