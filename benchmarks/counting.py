"""How many events the counters function counts in a CPU second, by the number of accounts in a batch.

`python -m benchmarks.counting` prints the table of docs/benchmarks.md. AWS is made up and responds at once.
"""

import argparse
import json
from collections.abc import Iterator
from itertools import islice
from statistics import median
from time import process_time
from typing import Any, Final

from benchmarks.children import run
from benchmarks.functions import ROOT, Context, load
from benchmarks.made_up import Json, Ledger, MadeUp
from quarterhour_tools.emulator.stack import TEMPLATE
from quarterhour_tools.emulator.template import Template

RECORDS: Final = 1_000
"""In a batch: as many as a stream delivers at once."""
ACCOUNTS: Final = (1, 10, 100, 1_000)
ROUNDS: Final = 7
CORE: Final = 1_769
"""Megabytes of memory that bring one processor."""


class Table(MadeUp):
    """A fake AWS that keeps the counters."""

    def _Query(self, _request: Json) -> Json:  # noqa: N802 - the operation's name
        return {"Items": [], "Count": 0, "ScannedCount": 0}

    def _PutItem(self, request: Json) -> Json:  # noqa: N802 - the operation's name
        self._keep(request["Item"])
        return {}

    def _TransactWriteItems(self, request: Json) -> Json:  # noqa: N802 - the operation's name
        for action in request["TransactItems"]:
            self._keep(action["Put"]["Item"])
        return {}


def batches(accounts: int) -> Iterator[dict[str, Any]]:
    """Yield stream events without end: each of sales of so many accounts in turn, without customers."""
    (record, *_) = json.loads((ROOT / "events" / "counters-batch.json").read_text("utf-8"))["Records"]
    image = {name: value for name, value in record["dynamodb"]["NewImage"].items() if name != "customer"}
    sequence = int(record["dynamodb"]["SequenceNumber"])
    while True:
        records = []
        for number in range(RECORDS):
            sequence += 1
            new = {**image, "agency": {"S": f"a{number % accounts:04d}"}}
            change = {**record["dynamodb"], "NewImage": new, "SequenceNumber": str(sequence)}
            records.append({**record, "dynamodb": change})
        yield {"Records": records}


def measure(accounts: int) -> float:
    """Return the events that are counted in a CPU second of this process: the median of the batches after the first."""
    with Table(Ledger(1, 0)).installed():
        handler, source = load(), batches(accounts)
        times = []
        for batch in islice(source, ROUNDS + 1):
            start = process_time()
            if handler(batch, Context("counters")) != {"batchItemFailures": []}:
                raise ValueError("a batch was not counted")
            times.append(process_time() - start)
        return RECORDS / median(times[1:])


def table() -> str:
    """Return the events a second by accounts and memory, as a table in Markdown."""
    own = Template.load(TEMPLATE).functions(lambda resource, _: resource)["counters"].memory
    columns = sorted({512, own, CORE})
    rows = ["| accounts in a batch of 1,000 | " + " | ".join(f"{memory:,} MB" for memory in columns) + " |"]
    rows.append("|---|" + "---:|" * len(columns))
    for accounts in ACCOUNTS:
        speed = run("counters", ["-m", "benchmarks.counting", "--accounts", str(accounts)])
        rows.append(f"| {accounts:,} | " + " | ".join(f"{speed * memory / CORE:,.0f}" for memory in columns) + " |")
    return "\n".join(rows)


def main() -> None:
    """Print the table, or measure one number of accounts in this process."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.counting", description=__doc__)
    parser.add_argument("--accounts", type=int)
    accounts = parser.parse_args().accounts
    print(table() if accounts is None else json.dumps(measure(accounts)))


if __name__ == "__main__":
    main()
