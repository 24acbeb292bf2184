"""Times the recording of batches on the fake AWS against a plain boto3 loop, in a separate process.

The loop writes the same items: a conditional PutItem for each claim, and BatchWriteItem by 25 for the events.

Argument: the number of rounds. The environment is that of the ingest function.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

import boto3
from botocore import xform_name
from botocore.handlers import BUILTIN_HANDLERS

from benchmarks.functions import ROOT, Context, load
from benchmarks.made_up import Ledger, MadeUp
from benchmarks.timing import in_turns, ratio
from quarterhour.aws import clients
from quarterhour.ledger.http import MAX_BATCH
from quarterhour_tools.emulator.partiql import insertion

_BATCHES: Final = 2
"""In each round."""

_SAMPLE: Final = ROOT / "events" / "ingest-batch.json"

Call = tuple[str, dict[str, Any]]
"""An operation, and its parameters."""
Bound = tuple[Callable[..., Any], dict[str, Any]]
"""A client's method, and what it is called with."""


def batch(first: int, accounts: int = 5, *, customers: bool = False, **data: object) -> list[dict[str, Any]]:
    """Return 500 sales as CloudEvents, of some accounts in turn, each of a customer of its own if of any.

    The ids begin with a number; all events are of the same length.
    """
    return [
        {
            "specversion": "1.0",
            "id": f"order-{number:08d}",
            "source": "shop",
            "type": "sale.recorded",
            "subject": f"agency-{number % accounts:02d}",
            "data": {
                "amount": f"{number % 90 + 10}.50",
                "currency": "EUR",
                "commission_rate": "0.10",
                **({"customer": f"customer-{number:08d}"} if customers else {}),
                **data,
            },
        }
        for number in range(first, first + MAX_BATCH)
    ]


def request(events: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the HTTP API's event that sends them."""
    return {**json.loads(_SAMPLE.read_text("utf-8")), "body": json.dumps(events)}


@contextmanager
def _noted() -> Iterator[list[Call]]:
    """Collect the calls of the clients that are made within the block: operation and parameters."""
    calls: list[Call] = []

    def note(params: dict[str, Any], model: Any, **_: object) -> None:  # noqa: ANN401 - botocore's
        calls.append((xform_name(model.name), deepcopy(params)))

    hook = ("before-parameter-build.dynamodb", note)
    BUILTIN_HANDLERS.append(hook)
    try:
        yield calls
    finally:
        BUILTIN_HANDLERS.remove(hook)


def loop(calls: list[Call]) -> list[Call]:
    """Return the calls of a plain loop that writes what a batch's calls write."""
    claims = [insertion(one) for _, request in calls for one in request.get("Statements", ())]
    return [
        *(
            (
                "put_item",
                {"TableName": table, "Item": item, "ConditionExpression": "attribute_not_exists(event)"},
            )
            for table, item in claims
        ),
        *(call for call in calls if call[0] == "batch_write_item"),
    ]


def _calls(body: list[dict[str, Any]]) -> list[Call]:
    """Return the calls that one batch makes, once the function has started."""
    with _noted() as calls:
        handler = load()
        handler(request(body), Context("ingest"))
        calls.clear()
        handler(request(body), Context("ingest"))
        noted = list(calls)
        clients.session.cache_clear()
    return noted


def speed(rounds: int) -> dict[str, float]:
    """Return how many events a second of CPU are recorded, and how that compares to the plain loop."""
    with MadeUp(Ledger(1, 0)).installed():
        calls = _calls(batch(0))
        client = boto3.client("dynamodb")
        plain: list[Bound] = [(getattr(client, operation), parameters) for operation, parameters in loop(calls)]
        handler = load()
        bodies = [request(batch(number * MAX_BATCH)) for number in range(_BATCHES)]

        def ours() -> None:
            for body in bodies:  # forgotten as soon as they are written, so they are new each time
                answer = handler(body, Context("ingest"))
                if json.loads(answer["body"])["counts"] != {"recorded": MAX_BATCH}:
                    raise ValueError(answer["body"])

        def theirs() -> None:
            for _ in bodies:
                for call, parameters in plain:
                    call(**parameters)

        timed = in_turns(theirs, ours, rounds)
    fastest = min(seconds for _, seconds in timed)
    return {"ratio": ratio(timed), "rate": _BATCHES * MAX_BATCH / fastest, "calls": len(calls)}


def main() -> None:
    """Measure and print."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        measured = speed(int(sys.argv[1]))
    print(json.dumps(measured))


if __name__ == "__main__":
    main()
