"""A made-up month of a payment provider, with planted differences between its file and the sealed ledger.

The provider is that of `examples/reconciliation/harbour.toml`. What a difference is expected to explain is written down
where it is planted, without the code that finds it.
"""

import csv
import gzip
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Any, Final
from zoneinfo import ZoneInfo

from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.reports.keys import Part
from quarterhour.reports.lines import COLUMNS, CsvWriter

PERIOD: Final = "2026-11"
HEADER: Final = ("Transaction", "Booked", "Kind", "Order", "Amount", "Currency", "Fee", "Seller")
AGENCIES: Final = {"Mill Books": "41", "Café Lumière": "42", "Atlas": "43", "=Quay": "44"}
_TYPES: Final = {
    "payment": "sale.recorded",
    "refund": "sale.refunded",
    "correction": "adjustment.recorded",
    "payout": "payment.recorded",
}
_OTHER_AMOUNTS: Final = {"payment": "12.34567", "refund": "-0.0004", "payout": "-12.34"}
_ZONE: Final = ZoneInfo("Europe/Amsterdam")
_START: Final = datetime(2026, 11, 1, 8, tzinfo=UTC)
_SEALED: Final = QuarterHour.parse("202612010000")

Row = dict[str, str]
Sums = dict[tuple[str, str, str], tuple[Decimal, Decimal]]
"""The expected sums of provider and ledger by measure, currency and label."""


@dataclass
class ProviderMonth:
    """Both sides, and the labels and sums of what was planted."""

    rows: list[Row] = field(default_factory=list)
    lines: list[dict[str, str]] = field(default_factory=list)
    planted: list[str] = field(default_factory=list)
    sums: Sums = field(default_factory=dict)
    number: int = 0

    def pair(self, kind: str, random: Random) -> tuple[Row, dict[str, str]]:
        """Return a row of the file and its line of the ledger, which match; neither is in the month yet."""
        self.number += 1
        n = self.number
        seller, agency = random.choice(list(AGENCIES.items()))
        amount = Decimal(random.randint(101, 99_999)).scaleb(-2)
        amount = -amount if kind in {"refund", "payout"} else amount
        currency = random.choice(["EUR", "GBP", "USD"])
        at = _START + timedelta(minutes=random.randint(0, 28 * 24 * 60))
        has_fee = kind in {"payment", "refund"}
        # Fees have more places than amounts, and that of a refund is given back.
        fee = str(Decimal(random.randint(1, 9_999)).scaleb(-4) * (-1 if kind == "refund" else 1)) if has_fee else ""
        row = {
            "Transaction": f"tx-{n:05}",
            "Booked": at.astimezone(_ZONE).strftime("%Y-%m-%d %H:%M:%S"),
            "Kind": kind,
            "Order": f"order-{n:05}",
            "Amount": str(amount),
            "Currency": currency,
            "Fee": fee,
            "Seller": seller,
        }
        extra = {"payout": row["Order"]} if kind == "payout" else {"fee": fee} if fee else {}
        return row, line_of(
            id=f"e-{n:05}",
            type=_TYPES[kind],
            agency=agency,
            currency=currency,
            amount=str(amount),
            order_id="" if kind == "payout" else row["Order"],
            extra=json.dumps(extra) if extra else "",
            refers_to=f"sale-{n:05}" if kind == "refund" else "",
        )

    def add(self, row: Row | None, line: dict[str, str] | None) -> None:
        """Add a row and a line, each if there is one."""
        self.rows += [row] if row else []
        self.lines += [line] if line else []

    def expect(self, label: str, row: Row | None, line: Mapping[str, str] | None) -> None:
        """Write down that a difference of a label is to be found, and what each side has of it in the period."""
        self.planted.append(label)
        if row:
            self._sum(label, 0, row["Amount"], row["Currency"], row["Fee"])
        if line:
            fee = json.loads(line["extra"] or "{}").get("fee", "")
            self._sum(label, 1, line["amount"], line["currency"], fee)

    def _sum(self, label: str, side: int, amount: str, currency: str, fee: str) -> None:
        for measure, value in (("amount", amount), ("fee", fee)):
            if value:
                sums = list(self.sums.get((measure, currency, label), (Decimal(0), Decimal(0))))
                sums[side] += Decimal(value)
                self.sums[measure, currency, label] = (sums[0], sums[1])


def line_of(**values: str) -> dict[str, str]:
    """Return a sealed line of the shop in November, with values in place of the usual ones."""
    usual = {
        "quarter_hour": "202611020000#00",
        "position": "2026-11-02T00:01:00.000Z.1111111111111111",
        "recorded_at": "2026-11-02T00:01:00.000Z",
        "source": "shop",
        "commission_rate": "0.1",
        "commission": "0",
        "period": PERIOD,
    }
    return {name: values.get(name, usual.get(name, "")) for name in COLUMNS}


def forty_differences(seed: int = 7) -> ProviderMonth:
    """Return a month of 370 pairs that match, and 40 planted differences of all kinds."""
    month, random = ProviderMonth(), Random(seed)  # noqa: S311 - no secret
    for kind, number in (("payment", 270), ("refund", 60), ("correction", 25), ("payout", 15)):
        for _ in range(number):
            month.add(*month.pair(kind, random))
    _missing(month, random)
    for kind in (*["payment"] * 4, "refund", "payout"):
        _differ(month, random, kind, "different: amount", Amount=_OTHER_AMOUNTS[kind])
    for _ in range(3):
        _differ(month, random, "payment", "different: currency", Currency="JPY")
    for fee in ("0", "-1.5", "0.123456789", "7"):
        _differ(month, random, "payment", "different: fee", Fee=fee)
    for _ in range(2):
        _differ(month, random, "payment", "different: amount, fee", Amount="1", Fee="2")
    for seller in ("Atlas", "Atlas", "=Quay"):
        _of_another_agency(month, random, seller)
    _periods(month, random)
    _twice(month, random)
    random.shuffle(month.rows)
    random.shuffle(month.lines)
    return month


def _missing(month: ProviderMonth, random: Random) -> None:
    for kind in (*["payment"] * 4, "refund", "payout", "correction"):
        row, _ = month.pair(kind, random)
        month.add(row, None)
        month.expect("missing here", row, None)
    _refund_of_a_known_sale(month, random)
    for kind in (*["payment"] * 4, "refund", "payout"):
        _, line = month.pair(kind, random)
        month.add(None, line)
        month.expect("missing there", None, line)


def _of_another_agency(month: ProviderMonth, random: Random, seller: str) -> None:
    row, line = month.pair("payment", random)
    row["Seller"], line["agency"] = seller, "41"
    month.add(row, line)
    month.expect("different: agency", row, line)


def _twice(month: ProviderMonth, random: Random) -> None:
    """Plant two rows that the file has twice, which are bad, and four sales that were recorded under two ids."""
    for _ in range(2):
        row, line = month.pair("payment", random)
        month.add(row, line)
        month.add({**row}, None)
    for _ in range(4):
        row, line = month.pair("payment", random)
        month.add(row, line)
        again = {**line, "id": f"{line['id']}-again"}
        month.add(None, again)
        month.expect("missing there", None, again)


def _refund_of_a_known_sale(month: ProviderMonth, random: Random) -> None:
    """Plant a refund that the ledger lacks; its sale is in both."""
    row, line = month.pair("payment", random)
    month.add(row, line)
    refund = {**row, "Transaction": "tx-back", "Kind": "refund", "Amount": "-1.01", "Fee": ""}
    month.add(refund, None)
    month.expect("missing here", refund, None)


def _differ(month: ProviderMonth, random: Random, kind: str, label: str, **changed: str) -> None:
    row, line = month.pair(kind, random)
    row |= changed
    month.add(row, line)
    month.expect(label, row, line)


def _periods(month: ProviderMonth, random: Random) -> None:
    """Plant two sales that the ledger has in December, and two that the file has in another month than the ledger."""
    for _ in range(2):
        row, line = month.pair("payment", random)
        line["period"] = "2026-12"
        month.add(row, line)
        month.expect("different: period", row, None)
    for booked in ("2026-10-31 23:59:59", "2026-12-01 01:00:00"):  # 1 December 00:00 in UTC
        row, line = month.pair("payment", random)
        row["Booked"] = booked
        month.add(row, line)
        month.expect("different: period", None, line)


def file_of(month: ProviderMonth) -> bytes:
    """Return the provider's file, with its line of totals."""
    text = io.StringIO()
    writer = csv.DictWriter(text, HEADER)
    writer.writeheader()
    writer.writerows(month.rows)
    total = sum((Decimal(row["Amount"]) for row in month.rows), Decimal(0))
    writer.writerow(dict.fromkeys(HEADER, "") | {"Kind": "TOTAL", "Amount": str(total)})
    return text.getvalue().encode()


def agencies_file() -> str:
    """Return the file of agencies by the provider's names of them."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerows([("name", "agency"), *AGENCIES.items()])
    return text.getvalue()


def seal(folder: Path, lines: Iterable[Mapping[str, str]]) -> None:
    """Write lines as sealed files below a folder, and an empty file of the first quarter-hour of December."""
    by_quarter_hour = sorted(lines, key=lambda line: line["quarter_hour"])
    for name, some in groupby(by_quarter_hour, key=lambda line: line["quarter_hour"].partition("#")[0]):
        _write(folder, QuarterHour.parse(name), some)
    _write(folder, _SEALED, ())


def _write(folder: Path, quarter_hour: QuarterHour, lines: Iterable[Mapping[str, str]]) -> None:
    path = folder / Part(quarter_hour).lines_key
    path.parent.mkdir(parents=True, exist_ok=True)
    text = io.StringIO()
    writer = CsvWriter(text, COLUMNS)
    writer.write(lines)
    writer.flush()
    path.write_bytes(gzip.compress(text.getvalue().encode(), 1, mtime=0))


def sealed_line(event: Mapping[str, Any]) -> dict[str, str]:
    """Return the sealed line of an event that the ledger has recorded in time."""
    data = event["data"]
    facts = {name: str(data[name]) for name in ("reason", "refers_to", "refers_to_source") if name in data}
    return line_of(
        quarter_hour="202611300000#00",
        source=event["source"],
        id=event["id"],
        type=event["type"],
        agency=event["subject"],
        currency=data["currency"],
        amount=data["amount"],
        extra=json.dumps(data["extra"]),
        **facts,
    )
