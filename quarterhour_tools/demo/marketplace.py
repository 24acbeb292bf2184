"""Generates a day of a marketplace, with retries, conflicts, refunds and mistakes: the same day for the same seed.

Every line is labelled with its expected verdict, and `expected_accounts` computes the expected totals of the ledger
in plain Decimal sums. Nothing here uses the ledger's own code.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from itertools import islice
from random import Random
from typing import Any, Final

ZERO: Final = Decimal(0)
MIDNIGHT: Final = datetime(2026, 11, 27, tzinfo=UTC)
HOURS: Final = (0, 0, 0, 0, 0, 1, 2, 4, 6, 8, 9, 10, 12, 10, 8, 8, 9, 11, 13, 14, 12, 8, 4, 2)
"""The relative number of orders in each hour of the day; there are no sales at night."""
DEFAULT_COMMISSION_RATE: Final = Decimal("0.10")
"""The deployment's default commission rate, for a sale that names none."""
MINOR_DIGITS: Final = {"GBP": 2, "EUR": 2, "USD": 2, "JPY": 0, "KWD": 3}

LATE: Final = 0.05
"""The share of orders that are sent long after they were placed."""
CORRECTED: Final = 0.5
"""The share of bad items that are sent again without their mistake."""

EventBody = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Shop:
    """A client that sends events: their source, and the offset from UTC of their times."""

    source: str
    offset: timedelta


@dataclass(frozen=True, slots=True)
class DemoAgency:
    """An agency: its id, its currencies, the commission rate that its sales name, its share of all sales."""

    id: str
    currencies: tuple[str, ...]
    rate: str | None
    share: int


SHOPS: Final = (
    Shop("https://shop.example/uk", timedelta()),
    Shop("https://shop.example/eu", timedelta(hours=2)),
    Shop("till-7", timedelta(hours=-4)),
)
AGENCIES: Final = (
    DemoAgency("42", ("GBP", "EUR"), "0.125", 9),
    DemoAgency("harbour-lights", ("GBP",), "0.08", 6),
    DemoAgency("Café Lumière", ("EUR",), None, 5),
    DemoAgency("outlet-store", ("USD",), "0.0725", 4),
    DemoAgency("sakura", ("JPY",), "0.15", 3),
    DemoAgency("al-mina", ("KWD",), None, 2),
)
MISTAKES: Final[tuple[tuple[str, EventBody, EventBody], ...]] = (
    ("data.amount", {}, {"amount": "-5.00"}),  # below zero, and no refund
    ("data.amount", {}, {"amount": "12,50"}),
    ("data.amount", {}, {"amount": "9" * 40}),
    ("data.currency", {}, {"currency": "GBX"}),
    ("data.commission_rate", {}, {"commission_rate": "12.5"}),
    ("data.colour", {}, {"colour": "red"}),
    ("data", {"data": None}, {}),
    ("subject", {"subject": None}, {}),
    ("subject", {"subject": "4#2"}, {}),
    ("time", {"time": "2026-10-23 10:00"}, {}),
    ("type", {"type": "sale.made"}, {}),
    ("specversion", {"specversion": "0.3"}, {}),
    ("customer", {"customer": "ann"}, {}),  # beside the data
)
"""Clients' mistakes in a sale: the field with the error, and changes to event and data; None removes a field."""


@dataclass(frozen=True, slots=True)
class DayLine:
    """One line of the day: the instant of sending, its kind, the expected verdict, the expected field with an error."""

    sent: datetime
    kind: str
    verdict: str
    body: EventBody
    blamed: str | None = None

    def __str__(self) -> str:
        """Return the line as NDJSON."""
        return json.dumps(self.body, ensure_ascii=False)

    def again(self, kind: str, after: timedelta) -> "DayLine":
        """Return the same line, sent again: a recorded event is now a duplicate."""
        verdict = "duplicate" if self.verdict == "recorded" else self.verdict
        return replace(self, sent=self.sent + after, kind=kind, verdict=verdict)


@dataclass(slots=True)
class ExpectedSums:
    """The expected totals of an account: the count, and exact sums."""

    events: int = 0
    gross: Decimal = ZERO
    refunds: Decimal = ZERO
    commission: Decimal = ZERO


def marketplace_day(seed: int = 7, orders: int = 320) -> list[DayLine]:
    """Return a day's lines in the order of sending. Their number is proportional to the number of orders."""
    rng = Random(seed)  # noqa: S311 - reproducible, not secret  # nosec B311
    sales = [line for number in range(orders) for line in _order(rng, number)]
    chosen = iter(rng.sample(sales, len(sales)))  # each sale is chosen once at most

    def of(share: float) -> Iterator[DayLine]:
        return islice(chosen, round(share * len(sales)))

    day = [*sales]
    day += [sale.again("retry", _minutes(rng, 1, 90)) for sale in of(0.06)]
    day += [sale.again("sent twice at once", timedelta()) for sale in of(0.02)]
    day += [_changed(rng, sale) for sale in of(0.02)]
    for sale in of(0.10):
        day += _refunds(rng, sale)
    for sale in of(0.04):
        day += _mistaken(rng, sale)
    day += [_adjustment(rng, number) for number in range(orders // 30)]
    day.sort(key=lambda line: line.sent)
    for _ in range(orders // 100):
        start = rng.randrange(len(day) - 20)
        batch = day[start : start + 15]
        day[start + 15 : start + 15] = [line.again("retry of a batch", timedelta()) for line in batch]
    return day


def expected_accounts(day: Iterable[DayLine]) -> dict[str, ExpectedSums]:
    """Return the expected sums by `<agency>#<currency>`; a refund has the commission rate of its sale."""
    accounts: dict[str, ExpectedSums] = {}
    rates: dict[tuple[str, str], Decimal] = {}
    for line in day:
        if line.verdict == "recorded":
            data = line.body["data"]
            amount = Decimal(data["amount"])
            sale = (line.body["source"], data.get("refers_to", line.body["id"]))
            rate = rates.setdefault(sale, Decimal(data.get("commission_rate", DEFAULT_COMMISSION_RATE)))
            sums = accounts.setdefault(f"{line.body['subject']}#{data['currency']}", ExpectedSums())
            sums.events += 1
            sums.gross += max(amount, ZERO)
            sums.refunds += min(amount, ZERO)
            sums.commission += amount * rate
    return accounts


def _order(rng: Random, number: int) -> list[DayLine]:
    """Return an order of one to four sales, each with its own agency; some are sent long after they were made."""
    # Each shop numbers its own orders, so the same id means another sale in another shop.
    shop, order = SHOPS[number % len(SHOPS)], str(1000 + number // len(SHOPS))
    [hour] = rng.choices(range(24), HOURS)
    made = MIDNIGHT + timedelta(hours=hour, minutes=rng.randrange(60))
    late = rng.random() < LATE
    sent = made + (_minutes(rng, 20, 240) if late else timedelta(seconds=rng.randrange(90)))
    customer, lines = f"C{rng.randrange(60)}", rng.choice((1, 1, 2, 2, 3, 4))
    facts = [{"order_id": order, "line": line, "customer": customer} for line in range(1, lines + 1)]
    return [DayLine(sent, "late sale" if late else "sale", "recorded", _sale(rng, shop, made, each)) for each in facts]


def _sale(rng: Random, shop: Shop, made: datetime, facts: EventBody) -> EventBody:
    [agency] = rng.choices(AGENCIES, [agency.share for agency in AGENCIES])
    currency = rng.choice(agency.currencies)
    digits = MINOR_DIGITS[currency]
    quantity, price = rng.choice((1, 1, 1, 2, 3, 12)), Decimal(rng.randrange(150, 25_000)).scaleb(-digits)
    data: EventBody = {
        # JSON numbers are as exact as text.
        "amount": f"{quantity * price:f}" if digits else int(quantity * price),
        "currency": currency,
        "product": f"P{rng.randrange(900):03d}",
        "quantity": quantity,
        "unit_price": f"{price:f}",
        **facts,
    }
    if agency.rate:
        data["commission_rate"] = agency.rate
    return {
        "specversion": "1.0",
        "id": f"{facts['order_id']}-{facts['line']}",
        "source": shop.source,
        "type": "sale.recorded",
        "subject": agency.id,
        "time": made.astimezone(timezone(shop.offset)).isoformat(),
        "data": data,
    }


def _changed(rng: Random, sale: DayLine) -> DayLine:
    """Return another content under the id of a recorded sale."""
    data = {**sale.body["data"], "quantity": 1 + sale.body["data"]["quantity"]}
    return DayLine(
        sale.sent + _minutes(rng, 1, 90), "changed under its id", "conflict", {**sale.body, "data": data}, "id"
    )


def _refunds(rng: Random, sale: DayLine) -> list[DayLine]:
    """Return a refund of a part of a sale, and maybe one of the rest, of one unit more, or of a missing sale."""
    data = sale.body["data"]
    unit = Decimal(1).scaleb(-MINOR_DIGITS[data["currency"]])
    part = unit * rng.randrange(1, int(Decimal(data["amount"]) / unit))
    rest = Decimal(data["amount"]) - part
    sent = sale.sent + _minutes(rng, 5, 120)
    refunds = [DayLine(sent, "refund", "recorded", _refund(sale.body, 1, part, sent))]
    what, again = rng.choice(("part", "part", "rest", "more", "lost")), sent + _minutes(rng, 1, 60)
    if what == "rest":
        refunds.append(DayLine(again, "refund", "recorded", _refund(sale.body, 2, rest, again)))
    elif what == "more":
        body = _refund(sale.body, 2, rest + unit, again)
        refunds.append(DayLine(again, "refund beyond its sale", "rejected", body, "data.amount"))
    elif what == "lost":
        body = _refund({**sale.body, "id": f"{sale.body['id']}-lost"}, 1, rest, again)
        refunds.append(DayLine(again, "refund of no sale", "held", body, "data.refers_to"))
    return refunds


def _refund(sale: EventBody, number: int, amount: Decimal, made: datetime) -> EventBody:
    return {
        "specversion": "1.0",
        "id": f"{sale['id']}-R{number}",
        "source": sale["source"],
        "type": "sale.refunded",
        "subject": sale["subject"],
        "time": made.replace(second=0, microsecond=0).isoformat(),
        "data": {"amount": f"-{amount:f}", "currency": sale["data"]["currency"], "refers_to": sale["id"]},
    }


def _adjustment(rng: Random, number: int) -> DayLine:
    """Return an adjustment that charges or credits an account without a sale."""
    agency, sent = rng.choice(AGENCIES), MIDNIGHT + _minutes(rng, 0, 24 * 60 - 1)
    currency = agency.currencies[0]
    amount = Decimal(rng.randrange(-5_000, 5_000)).scaleb(-MINOR_DIGITS[currency])
    body = {
        "specversion": "1.0",
        "id": f"correction-{number}",
        "source": "back-office",
        "type": "adjustment.recorded",
        "subject": agency.id,
        "time": sent.isoformat(),
        "data": {"amount": f"{amount:f}", "currency": currency, "extra": {"reason": "count of the till"}},
    }
    return DayLine(sent, "adjustment", "recorded", body)


def _mistaken(rng: Random, sale: DayLine) -> list[DayLine]:
    """Return a further sale with a mistake; half of them are corrected later under the same id."""
    right = {**sale.body, "id": f"{sale.body['id']}-B"}
    blamed, wrong, wrong_data = rng.choice(MISTAKES)
    body = right | wrong
    if body["data"]:
        body["data"] = {**right["data"], **wrong_data}
    body = {name: value for name, value in body.items() if value is not None}
    lines = [DayLine(sale.sent, "bad item", "rejected", body, blamed)]
    if rng.random() < CORRECTED:
        lines.append(DayLine(sale.sent + _minutes(rng, 2, 60), "bad item, corrected", "recorded", right))
    return lines


def _minutes(rng: Random, least: int, most: int) -> timedelta:
    return timedelta(seconds=rng.randrange(60 * least, 60 * most + 1))
