"""The batches of events that are recorded, as requests of the HTTP API."""

import json
from typing import Any, Final

from benchmarks.functions import ROOT
from quarterhour.ledger.events.http import MAX_BATCH

_SAMPLE: Final = ROOT / "events" / "ingest-batch.json"


def batch(first: int, accounts: int = 5, *, customers: bool = False, **data: object) -> list[dict[str, Any]]:
    """Return 500 sales as CloudEvents, of some accounts in turn, each of another customer if of any.

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
