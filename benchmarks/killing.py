"""Kills a job that sends events with the producer library, again and again, and looks what is lost or doubled.

The job records sales in a spool and sends them over HTTP to ``quarterhour up`` in another process. Of its requests,
5 % fail: some before their effect, some after. ``kill -9`` ends the job while it records and sends.
"""

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.functions import LAYER, ROOT
from benchmarks.load import caught_up, in_ledger, started
from clients.python.tests import sending_job
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import Totals

_LONGEST_PAUSE: Final = 0.05
"""Seconds between a request and the death of its process."""
_REQUESTS: Final = 2
"""The fewest requests of a job before it is killed."""
_WITHIN: Final = 3600
_LAST_SEED: Final = 99
_SHOWN: Final = 2000
"""The most characters of a failed job's output that are shown."""
_PATHS: Final = (ROOT, ROOT / LAYER, ROOT / "clients" / "python" / "src")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the events: how many are in the ledger, are missing there, or are there more than once.

    ``exact``: the account has their number and their sum. ``requests``, ``faults`` and ``duplicates``: of all processes
    of the job.
    """

    recorded: int
    lost: int
    doubled: int
    exact: bool
    kills: int
    requests: int
    faults: int
    duplicates: int
    seconds: float


def measure(events: int, kills: int, seed: int = 7) -> Outcome:
    """Send events with a job that dies so many times; return what became of them."""
    chance = random.Random(seed)  # noqa: S311 - the times of deaths
    since = QuarterHour.at(datetime.now(UTC)).start
    began = time.monotonic()
    with started() as url, TemporaryDirectory() as folder:
        spool = Path(folder) / "sales.spool"
        log = sending_job.log_of(spool)
        for number in range(kills):
            _die(start_job(url, spool, events, number), log, chance)
        if start_job(url, spool, events, _LAST_SEED).wait(_WITHIN):
            raise ValueError(f"the job failed: {output_of(spool).read_text()[-_SHOWN:]}")
        found = in_ledger(url, since, sending_job.SHOP)
        expected = _totals(events)
        account = caught_up(url, sending_job.AGENCY, expected)
        written = log.read_bytes()
    sent = Counter({(sending_job.SOURCE, str(number)): 1 for number in range(events)})
    return Outcome(
        recorded=found.total(),
        lost=(sent - found).total(),
        doubled=(found - sent).total(),
        exact=account == expected,
        kills=kills,
        requests=written.count(sending_job.REQUEST),
        faults=written.count(sending_job.FAULT),
        duplicates=written.count(sending_job.DUPLICATE),
        seconds=time.monotonic() - began,
    )


def output_of(spool: Path) -> Path:
    """Return the file with the output of the jobs that use a spool: mostly what the network refused."""
    return Path(f"{spool}.output")


def start_job(url: str, spool: Path, events: int, seed: int) -> "subprocess.Popen[bytes]":
    """Start a process of the job."""
    command = [sys.executable, "-m", sending_job.__name__, url, str(spool), str(events), str(seed)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, _PATHS))}
    with output_of(spool).open("ab") as output:
        return subprocess.Popen(command, cwd=ROOT, env=environment, stderr=output)  # noqa: S603 - our own interpreter


def _die(job: "subprocess.Popen[bytes]", log: Path, chance: random.Random) -> None:
    """Kill a job at a random moment after some of its requests."""
    target = _requests(log) + _REQUESTS
    while _requests(log) < target and job.poll() is None:
        time.sleep(0.001)
    time.sleep(chance.random() * _LONGEST_PAUSE)
    if job.poll() is not None:
        raise ValueError("the job has ended before it could be killed: take more events or fewer kills")
    job.kill()
    job.wait()


def _requests(log: Path) -> int:
    return log.read_bytes().count(sending_job.REQUEST) if log.exists() else 0


def _totals(events: int) -> Totals:
    """Return the totals of the account that has every event once."""
    gross = sum((sending_job.amount(number) for number in range(events)), Decimal())
    return Totals(events, gross, commission=gross * sending_job.RATE)


def main() -> None:
    """Run the measurement, and print it."""
    outcome = measure(*map(int, sys.argv[1:]))
    print(json.dumps(asdict(outcome)))


if __name__ == "__main__":
    main()
