"""Loads a running ``quarterhour up`` from several processes, and checks that no event is lost or duplicated."""

import argparse
import ipaddress
import json
import multiprocessing
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import reduce
from http import HTTPStatus
from operator import add
from typing import Any, Final
from urllib.error import HTTPError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import urlopen
from uuid import uuid4

from benchmarks.functions import LAYER, ROOT
from benchmarks.shop import CURRENCY, Orders, Sales, run
from quarterhour.ledger.events.http import MAX_BATCH
from quarterhour.model.clock import iso_seconds
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import Totals
from quarterhour_tools.errors import ToolError

MOST_SECONDS: Final = 3600
MOST_EVENTS_A_SECOND: Final = 100_000
MOST_PROCESSES: Final = 64
CATCH_UP_SECONDS: Final = 120.0
"""Seconds for the counters to catch up after the last event."""

_UP: Final = "import sys; from quarterhour_tools.cli import main; sys.exit(main())"
_URL: Final = re.compile(r"http://[0-9.:]+")
_CANNOT: Final = 2
_PAGE: Final = 1000
_POLL_SECONDS: Final = 0.5
_STOPS_WITHIN: Final = 30.0
_PERCENTILES: Final = (50, 90, 99, 100)


def loopback(url: str) -> str:
    """Return the URL; raise ``ArgumentTypeError`` where it is none of this machine's: nobody else is to be loaded."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    own = host == "localhost" or _is_loopback(host)
    if parts.scheme != "http" or not own or parts.path.strip("/") or parts.query:
        raise argparse.ArgumentTypeError(f"{url!r} is no http address of this machine, such as http://127.0.0.1:8080")
    return f"http://{parts.netloc}"


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def percentile(values: Sequence[float], percent: int) -> float:
    """Return the value that so many percent of the values do not exceed; the values must not be empty."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]


@dataclass(frozen=True, slots=True)
class Load:
    """The combined results of all shops."""

    sales: Sequence[Sales]

    @property
    def seconds(self) -> float:
        """The duration in seconds."""
        return max(one.seconds for one in self.sales)

    @property
    def latencies(self) -> list[float]:
        """The latencies of all requests, in seconds."""
        return [latency for one in self.sales for latency in one.latencies]

    @property
    def verdicts(self) -> Counter[str]:
        """Of all items."""
        return reduce(add, (one.verdicts for one in self.sales), Counter[str]())

    @property
    def failures(self) -> Counter[str]:
        """Of all requests."""
        return reduce(add, (one.failures for one in self.sales), Counter[str]())

    @property
    def recorded(self) -> dict[str, Totals]:
        """The expected totals by agency."""
        sums: dict[str, Totals] = {}
        for one in self.sales:
            for agency, totals in one.recorded.items():
                sums[agency] = sums.get(agency, Totals()) + totals
        return sums


@contextmanager
def started() -> Iterator[str]:
    """Run ``quarterhour up`` on a free port for the length of the block; gives its URL."""
    with subprocess.Popen(  # noqa: S603 - our own arguments
        [sys.executable, "-c", _UP, "up", "--port", "0"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / LAYER)))},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            first = process.stdout.readline() if process.stdout else ""
            url = _URL.search(first)
            if url is None:
                raise ToolError("`quarterhour up` did not start: run it by itself to see why")
            yield url[0]
        finally:
            process.terminate()
            process.wait(_STOPS_WITHIN)


def loaded(url: str, name: str, processes: int, orders: Orders) -> Load:
    """Run shops side by side, each in its own process."""
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=fresh) as pool:
        trading = [pool.submit(run, url, f"{name}-{number}", orders) for number in range(processes)]
        return Load([one.result() for one in trading])


def problems(url: str, load: Load, since: datetime, name: str) -> list[str]:
    """Return the violations: each recorded event must be once in the ledger and once in its account's totals."""
    found = []
    for number, one in enumerate(load.sales):
        if one.twice:
            found.append(f"{name}-{number}: {one.twice} events were answered `recorded` more than once")
        if one.unanswered:
            found.append(f"{name}-{number}: {one.unanswered} events were never answered")
    sent = Counter({(f"{name}-{number}", id_): 1 for number, one in enumerate(load.sales) for id_ in one.ids})
    ledger = in_ledger(url, since, name)
    found += _differences("events sent and not in the ledger", sent - ledger)
    found += _differences("events in the ledger that were not sent, or more than once", ledger - sent)
    for agency, totals in sorted(load.recorded.items()):
        counted = caught_up(url, agency, totals)
        if counted != totals:
            found.append(f"{agency}: the account says {counted}, sent were {totals}")
    return found


def in_ledger(url: str, since: datetime, name: str) -> Counter[tuple[str, str]]:
    """Count the events of the shops of this name in the ledger, by source and id."""
    end = QuarterHour.at(datetime.now(UTC)).end
    parameters = {"from": iso_seconds(since), "to": iso_seconds(end), "limit": str(_PAGE)}
    found: Counter[tuple[str, str]] = Counter()
    token: str | None = ""
    while token is not None:
        page = _get(url, "/events", {**parameters, **({"next": token} if token else {})})
        found.update((item["source"], item["id"]) for item in page["items"] if item["source"].startswith(f"{name}-"))
        token = page["next"]
    return found


def caught_up(url: str, agency: str, expected: Totals) -> Totals:
    """Return an account's totals once all events are counted, or the current totals after a timeout."""
    until = time.monotonic() + CATCH_UP_SECONDS
    while True:
        try:
            counted = Totals.of(_get(url, f"/accounts/{quote(agency, safe='')}/{CURRENCY}"))
        except HTTPError as error:
            if error.code != HTTPStatus.NOT_FOUND:
                raise
            counted = Totals()
        if counted.events >= expected.events or time.monotonic() > until:
            return counted
        time.sleep(_POLL_SECONDS)


def _get(url: str, path: str, parameters: Mapping[str, str] | None = None) -> Any:  # noqa: ANN401 - JSON is any value
    query = f"?{urlencode(parameters)}" if parameters else ""
    with urlopen(url + path + query, timeout=60) as response:  # noqa: S310 - of this machine, by http
        return json.load(response)


def _differences(what: str, events: Counter[tuple[str, str]]) -> list[str]:
    return [f"{what}: {events.total()}, such as {next(iter(events))}"] if events else []


# ---------------------------------------------------------------- the command line


def main(arguments: Sequence[str] | None = None) -> int:
    """Load, report, check; return 1 after a violation, 2 if the check was not possible."""
    args = _parser().parse_args(arguments)
    name = f"load-{uuid4().hex[:8]}"
    agencies = tuple(f"{name} {number:03d}" for number in range(args.agencies))
    orders = Orders(args.seconds, args.rate / args.processes, args.batch, args.again, agencies)
    try:
        with ExitStack() as during:
            url = args.url or during.enter_context(started())
            since = QuarterHour.at(datetime.now(UTC)).start
            load = loaded(url, name, args.processes, orders)
            print(summary(load))
            found = problems(url, load, since, name)
    except (ToolError, OSError) as error:
        print(f"load: {error}", file=sys.stderr)
        return _CANNOT
    events = sum(totals.events for totals in load.recorded.values())
    print("\n".join(found) or f"held: {events:,} events, each once in the ledger and once in its account, sums exact")
    return int(bool(found))


def summary(load: Load) -> str:
    """Format the requests and their results."""
    items, requests = load.verdicts.total(), len(load.latencies)
    latencies = [f"{percentile(load.latencies, one) * 1000:.0f}" for one in _PERCENTILES] if requests else ["-"]
    said = ", ".join(f"{count:,} {verdict}" for verdict, count in sorted(load.verdicts.items()))
    failed = ", ".join(f"{count:,} {reason}" for reason, count in sorted(load.failures.items()))
    return "\n".join(
        [
            f"{items:,} events in {requests:,} requests, {load.seconds:.1f} s: {items / load.seconds:,.0f} events/s",
            f"latency of a request in ms, p{'/'.join(map(str, _PERCENTILES))}: {'/'.join(latencies)}",
            f"verdicts: {said or 'none'}",
            f"requests without verdicts: {failed or 'none'}",
        ]
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.load", description=__doc__)
    parser.add_argument("url", nargs="?", type=loopback, help="of a running `quarterhour up` (default: start one)")
    parser.add_argument("--seconds", type=_between(1, MOST_SECONDS), default=10, help="how long (default 10)")
    parser.add_argument(
        "--rate", type=_between(1, MOST_EVENTS_A_SECOND), default=500, help="events a second, of all processes (500)"
    )
    parser.add_argument("--processes", type=_between(1, MOST_PROCESSES), default=2, help="that send (default 2)")
    parser.add_argument("--batch", type=_between(1, MAX_BATCH), default=50, help="events in a request (default 50)")
    parser.add_argument("--agencies", type=_between(1, 1000), default=20, help="accounts that are sold for (20)")
    parser.add_argument("--again", type=_share, default=0.1, help="share of events that are sent again (default 0.1)")
    return parser


def _between(least: int, most: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        value = int(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{value} does not lie between {least} and {most}")
        return value

    return number


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value < 1:
        raise argparse.ArgumentTypeError(f"{text} is no share: from 0 to below 1")
    return value


if __name__ == "__main__":
    sys.exit(main())
