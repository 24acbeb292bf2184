"""Measures how fast the counters function counts a batch, in this process; AWS responds at once.

The function is that of the version that this process imports. Arguments: the number of accounts in a batch, the number
of batches.
"""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from itertools import islice
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

from botocore.awsrequest import AWSResponse

from benchmarks.assumptions import BATCH_RECORDS
from benchmarks.functions import Context, load, version
from benchmarks.made_up import Json, Ledger, MadeUp
from benchmarks.timing import on_one_core
from quarterhour_tools.emulator.dynamodb.statements import parsed

if TYPE_CHECKING:
    from botocore.awsrequest import AWSPreparedRequest


class Table(MadeUp):
    """A fake AWS that keeps the counters and counts the calls; the conditions of the only writer hold."""

    calls = 0

    def _answer(self, request: "AWSPreparedRequest", event_name: str, **more: object) -> AWSResponse:
        self.calls += 1
        return super()._answer(request, event_name, **more)

    def _Query(self, _request: Json) -> Json:  # noqa: N802 - the operation's name
        return {"Items": [], "Count": 0, "ScannedCount": 0}

    def _PutItem(self, request: Json) -> Json:  # noqa: N802 - the operation's name
        self._keep(request["Item"])
        return {}

    def _BatchExecuteStatement(self, request: Json) -> Json:  # noqa: N802 - the operation's name
        for statement in map(parsed, request["Statements"]):
            self._keep(statement.item)
        return {"Responses": [{} for _ in request["Statements"]]}

    def _TransactWriteItems(self, request: Json) -> Json:  # noqa: N802 - the operation's name
        for action in request["TransactItems"]:
            for operation, parameters in action.items():
                getattr(self, f"_{operation}Item")(parameters)
        return {}


def batches(folder: Path, accounts: int) -> Iterator[dict[str, Any]]:
    """Yield stream events without end: each of sales of so many accounts in turn, without customers."""
    (record, *_) = json.loads((folder / "events" / "counters-batch.json").read_text("utf-8"))["Records"]
    image = {name: value for name, value in record["dynamodb"]["NewImage"].items() if name != "customer"}
    sequence = int(record["dynamodb"]["SequenceNumber"])
    while True:
        records = []
        for number in range(BATCH_RECORDS):
            sequence += 1
            new = {**image, "agency": {"S": f"a{number % accounts:04d}"}}
            change = {**record["dynamodb"], "NewImage": new, "SequenceNumber": str(sequence)}
            records.append({**record, "dynamodb": change})
        yield {"Records": records}


def measure(accounts: int, rounds: int) -> dict[str, float]:
    """Return the CPU seconds of the fastest batch, after a first one, and the calls of a batch."""
    on_one_core()
    aws = Table(Ledger(1, 0))
    with aws.installed():
        handler = load()
        times = []
        for batch in islice(batches(version(), accounts), rounds + 1):
            aws.calls = 0
            start = process_time()
            if handler(batch, Context("counters")) != {"batchItemFailures": []}:
                raise ValueError("a batch was not counted")
            times.append(process_time() - start)
    return {"seconds": min(times[1:]), "calls": aws.calls}


def main() -> None:
    """Measure, and print the seconds and calls of a batch."""
    _, *numbers = sys.argv
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        measured = measure(*map(int, numbers))
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
