"""Measures how fast the counters function counts a batch, in this process; AWS responds at once.

Each posting is alone in its segment. Arguments: the number of accounts in a batch, the number of batches.
"""

import json
import os
import sys
from contextlib import redirect_stdout
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING

from botocore.awsrequest import AWSResponse

from benchmarks.assumptions import BATCH_RECORDS
from benchmarks.functions import Context, load
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

    def _BatchExecuteStatement(self, request: Json) -> Json:  # noqa: N802 - the operation's name
        for statement in map(parsed, request["Statements"]):
            self._keep(statement.item)
        return {"Responses": [{} for _ in request["Statements"]]}


def measure(accounts: int, rounds: int) -> dict[str, float]:
    """Return the CPU seconds of the fastest batch, after a first one, and the calls of a batch."""
    on_one_core()
    aws = Table(Ledger(1, 0))
    sales = Ledger(1, BATCH_RECORDS * (rounds + 1), accounts=accounts, events_a_segment=1)
    with aws.installed():
        handler = load()
        times = []
        for batch in sales.stream(BATCH_RECORDS):
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
