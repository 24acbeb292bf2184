"""Made-up sales for the tests that drive the whole system."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from tests.support.events import Cloud as Event
from tests.support.events import by_sign

START = datetime(2026, 10, 23, 8, 0, tzinfo=UTC)


def event(number: int, minutes: float | None = 0, amount: str = "1.50", agency: str = "42", **more: Any) -> Event:
    """Make an event; its type follows the amount's sign, its time is so many minutes after the start."""
    made = by_sign(f"sale-{number}", amount, agency=agency, commission_rate="0.125")
    if minutes is not None:
        made["time"] = (START + timedelta(minutes=minutes)).isoformat()
    return {**made, **more}


def day() -> list[Event]:
    """Make two agencies' sales and refunds over some hours, some in one instant, some out of order or without time."""
    amounts = ["10.00", "0.005", "-3.25", "1234567.89", "0", "7"]
    minutes = [0, 0, 1, 14, 14, 13, None, 15, 45, 44, 44, 200, 200, 200, 200]
    return [
        event(n, minutes[n // 4], amounts[n % len(amounts)], "42" if n % 3 else "7 & sons/ü")
        for n in range(4 * len(minutes))
    ]


def lines(events: Iterable[Event | str]) -> list[bytes]:
    """Write events as a file's lines; text stands as it is."""
    return [(one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)).encode() + b"\n" for one in events]


def totals(events: Iterable[Event]) -> Mapping[str, Mapping[str, Any]]:
    """Add up events by account, apart from all of the product's code."""
    sums: dict[str, dict[str, Any]] = {}
    for one in events:
        data = one["data"]
        account = sums.setdefault(
            f"{one['subject']}#{data['currency']}",
            {"events": 0, "gross": 0, "refunds": 0, "commission": 0, "payments": 0},
        )
        amount = Decimal(data["amount"])
        account["events"] += 1
        if one["type"] == "payment.recorded":
            account["payments"] += amount
            continue
        account["refunds" if amount < 0 else "gross"] += amount
        account["commission"] += amount * Decimal(data["commission_rate"])
    return sums
