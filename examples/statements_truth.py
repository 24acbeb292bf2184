"""Compute the statements of a real data set from its CSV file alone, and compare them with those of Quarterhour.

Plain sums over the file, without any code of Quarterhour. A replay on a virtual clock records an event at the latest
time of all events up to it. Months are those of the marketplace's zone, and are cut off three days after their end.

    python3 examples/statements_truth.py retail retail.csv --agencies examples/retail_agencies.ndjson --compare out
    python3 examples/statements_truth.py hotel hotel.csv --agencies agencies.ndjson --rates ecb.csv --compare out

Without --compare, it prints the list `statements` of `quarterhour replay --statements --json`. With --compare, it
prints each difference from a folder of `replay --out`, or from the output of `--json`, and ends with 1 if there is one.
"""

import argparse
import csv
import gzip
import json
import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, getcontext
from fractions import Fraction
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

getcontext().prec = 100  # every sum is exact
TaxPoint = tuple[date, str]
"""The date by which a line is taxed, and its category."""

GRACE_DAYS = 3
BASE = "EUR"
DIGITS = {"JPY": 0, "TND": 3}
"""The digits of the minor unit, where they are not two."""
ROUNDINGS = {"half-even": ROUND_HALF_EVEN, "half-up": ROUND_HALF_UP}
FIGURES = ("opening", "sales", "voids", "refunds", "adjustments", "net", "commission", "tax", "payments", "closing")
KINDS = ("sales", "voids", "refunds", "adjustments")
Row = dict[str, str]
Month = tuple[int, int]
Account = tuple[str, str]


@dataclass
class Event:
    """One event: its business time in UTC, and what it adds to its account.

    ``taxed_at``: the time of the sale that it corrects, else its own. ``category``: that of the sale, too.
    """

    time: datetime
    agency: str
    currency: str
    kind: str
    amount: Decimal
    commission: Decimal = Decimal(0)
    taxed_at: datetime | None = None
    category: str = ""


@dataclass
class Sums:
    """The exact sums of an account's lines in a month; ``base`` in the base currency.

    ``taxable``: the commissions by tax point and category. ``rate``: the exchange rate of the last line, of those
    before the end of the month if there are any.
    """

    lines: int = 0
    prior: int = 0
    amounts: dict[str, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    commission: Decimal = Decimal(0)
    base: dict[str, Fraction] = field(default_factory=lambda: defaultdict(Fraction))
    taxable: dict[TaxPoint, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    rate: tuple[bool, datetime, Decimal] | None = None


# ---------------------------------------------------------------- the data sets


def retail(rows: Iterable[Row], _: "Agencies") -> Iterator[Event]:
    """Yield the events of UCI Online Retail: 12.5 percent of each invoice line; its country is the agency."""
    zone = ZoneInfo("Europe/London")
    for row in rows:
        time = datetime.fromisoformat(row["InvoiceDate"].strip()).replace(tzinfo=zone).astimezone(UTC)
        amount = Decimal(row["Quantity"].strip()) * Decimal(row["UnitPrice"].strip())
        invoice = row["InvoiceNo"].strip()
        kind = "sales"
        if invoice.startswith("A") or (invoice.startswith("C") and amount > 0):
            kind = "adjustments"
        elif invoice.startswith("C") or amount < 0:
            kind = "refunds"
        yield Event(time, row["Country"].strip(), "GBP", kind, amount, amount * Decimal("0.125"))


CURRENCIES = {"GBR": "GBP", "USA": "USD", "CHE": "CHF", "JPN": "JPY", "TUN": "TND"}
LATE_ROWS, LATE = 50, timedelta(days=45)


def hotel(rows: Iterable[Row], agencies: "Agencies") -> Iterator[Event]:
    """Yield the events of the hotel bookings, by time: a sale, its void, and a payment; some are sent late."""
    zone = ZoneInfo("Europe/Lisbon")
    sent: list[tuple[datetime, Event]] = []
    for number, row in enumerate(rows, 1):
        arrival = "{arrival_date_year} {arrival_date_month} {arrival_date_day_of_month}".format(**row)
        booked = datetime.strptime(arrival, "%Y %B %d") - timedelta(days=int(row["lead_time"]))  # noqa: DTZ007
        closed = datetime.fromisoformat(row["reservation_status_date"])
        agent = "direct" if row["agent"] in {"NULL", ""} else row["agent"]
        nights = int(row["stays_in_weekend_nights"]) + int(row["stays_in_week_nights"])
        segment, price = row["market_segment"], Decimal(row["adr"])
        amount, commission = (
            price * nights,
            price * nights * percent(agencies.group(agent), segment) / 100,
        )
        currency = CURRENCIES.get(row["country"], "EUR")
        sold = booked.replace(tzinfo=zone).astimezone(UTC)
        events = [Event(sold, agent, currency, "sales", amount, commission, category=segment)]
        closed = closed.replace(tzinfo=zone).astimezone(UTC)
        if row["is_canceled"] == "1":
            events.append(Event(closed, agent, currency, "voids", -amount, -commission, sold, segment))
        if row["customer_type"] == "Transient-Party":
            events.append(Event(closed, agent, currency, "payments", Decimal(nights * 9 + 5)))
        delay = LATE if number % LATE_ROWS == 0 else timedelta()
        sent += [(event.time + delay, event) for event in events]
    sent.sort(key=lambda one: one[0])
    for _, event in sent:
        yield event


def percent(group: str, segment: str) -> Decimal:
    """Return the commission by the rate cards of the agents' groups."""
    if group == "online":
        return Decimal(15)
    if group == "offline":
        return Decimal(8) if segment == "Groups" else Decimal("12.5")
    return Decimal(0)


SETS = {"retail": (retail, "Europe/London"), "hotel": (hotel, "Europe/Lisbon")}


# ---------------------------------------------------------------- months


def following(month: Month) -> Month:
    """Return the month after a month."""
    year, number = month
    return (year + 1, 1) if number == 12 else (year, number + 1)  # noqa: PLR2004


def cut_off(month: Month, zone: ZoneInfo) -> datetime:
    """Return the instant from which events of a month count in a later one."""
    return datetime(*following(month), 1 + GRACE_DAYS, tzinfo=zone).astimezone(UTC)


def begin(month: Month, zone: ZoneInfo) -> datetime:
    """Return the instant at which a month begins."""
    return datetime(*month, 1, tzinfo=zone).astimezone(UTC)


def month_of(instant: datetime, zone: ZoneInfo) -> Month:
    """Return the month of an instant in a zone."""
    local = instant.astimezone(zone)
    return local.year, local.month


def earliest_open(instant: datetime, zone: ZoneInfo) -> Month:
    """Return the earliest month whose cut-off is after an instant."""
    month = month_of(instant - timedelta(days=GRACE_DAYS + 2), zone)
    while cut_off(month, zone) <= instant:
        month = following(month)
    return month


# ---------------------------------------------------------------- the statements


def summed(events: Iterable[Event], zone: ZoneInfo, rates: "Rates") -> tuple[dict[Month, dict[Account, Sums]], Month]:
    """Return the sums by month and account, and the first month with statements."""
    months: dict[Month, dict[Account, Sums]] = defaultdict(lambda: defaultdict(Sums))
    recorded, first = datetime.min.replace(tzinfo=UTC), None
    for event in events:
        recorded = max(recorded, event.time)
        first = first or earliest_open(recorded, zone)
        month, prior = month_of(event.time, zone), False
        if cut_off(month, zone) <= recorded:
            month, prior = earliest_open(recorded, zone), True
        sums = months[month][event.agency, event.currency]
        sums.lines += 1
        sums.prior += prior
        sums.amounts[event.kind] += event.amount
        sums.commission += event.commission
        if event.kind in KINDS:
            day = (event.taxed_at or event.time).astimezone(zone).date()
            sums.taxable[day, event.category] += event.commission
        units = rates.units(event.currency, recorded)
        if units is None:
            continue
        rate = (recorded < begin(following(month), zone), recorded, units)
        sums.rate = max(rate, sums.rate) if sums.rate else rate
        if event.kind in KINDS:
            sums.base["net"] += Fraction(event.amount) / Fraction(units)
        else:
            sums.base["payments"] += Fraction(event.amount) / Fraction(units)
        sums.base["commission"] += Fraction(event.commission) / Fraction(units)
    if first is None:
        sys.exit("the file has no events")
    return months, first


class Agencies:
    """The registrations of a file: each line is a version of an agency, in force from ``valid_from`` on."""

    def __init__(self, name: str) -> None:
        self._versions: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in map(json.loads, Path(name).read_text("utf-8").splitlines()):
            if "registered_at" in row:
                sys.exit("a version that is registered later than the first event is not computed here")
            self._versions[row["agency"]].append(row)
        for versions in self._versions.values():
            versions.sort(key=_since)

    def at(self, agency: str, instant: datetime) -> dict[str, Any]:
        """Return the registration in force at an instant; empty if there is none."""
        return next((one for one in reversed(self._versions[agency]) if _since(one) <= instant), {})

    def group(self, agency: str) -> str:
        """Return the group of an agency, which is the same in all its versions."""
        return str(self._versions[agency][0]["group"])

    def percent(self, agency: str, tax_point: TaxPoint, zone: ZoneInfo) -> tuple[str, Decimal]:
        """Return the scheme and the percentage of an agency for a tax point: 0 without tax."""
        day, category = tax_point
        tax = self.at(agency, datetime(day.year, day.month, day.day, tzinfo=zone)).get("tax") or {}
        tax = tax.get("by_category", {}).get(category, tax)
        return tax.get("scheme", ""), Decimal(tax.get("percent", 0))


def _since(version: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(version.get("valid_from", "1970-01-01T00:00:00Z"))


class Rates:
    """The exchange rates of a file: units of a currency for one of the base currency, in force from a day on."""

    def __init__(self, name: str | None) -> None:
        self.given = name is not None
        self._days: dict[str, list[str]] = defaultdict(list)
        self._units: dict[str, list[Decimal]] = defaultdict(list)
        for row in sorted(read(name), key=lambda row: row["date"]) if name else ():
            self._days[row["currency"]].append(row["date"])
            self._units[row["currency"]].append(Decimal(row[f"units_per_{BASE.lower()}"]))

    def units(self, currency: str, instant: datetime) -> Decimal | None:
        """Return the units in force on the day, UTC, of an instant; ``None`` without any."""
        if currency == BASE:
            return Decimal(1)
        at = bisect_right(self._days[currency], instant.date().isoformat())
        return self._units[currency][at - 1] if at else None


@dataclass
class Setting:
    """What the statements depend on beside the events; ``rounding``: a mode of the module ``decimal``."""

    agencies: Agencies
    rates: Rates
    zone: ZoneInfo
    rounding: str


def statements(months: dict[Month, dict[Account, Sums]], first: Month, setting: Setting) -> Iterator[dict[str, Any]]:
    """Yield the statements of every month up to the last one with events, by month and account."""
    closing: dict[Account, Decimal] = {}
    numbers = {"S": 1, "C": 1}
    month = first
    while month <= max(months):
        sums = months.get(month, {})
        for account in sorted({*sums, *(name for name, balance in closing.items() if balance)}):
            agency, currency = account
            own = sums.get(account, Sums())
            commission, tax = taxed(own, agency, currency, setting)
            net = sum((own.amounts[name] for name in KINDS), Decimal(0))
            end = begin(following(month), setting.zone) - timedelta(microseconds=1)
            collected = setting.agencies.at(agency, end).get("collects") == "marketplace"
            proceeds = rounded(net if collected else Decimal(0), currency, setting.rounding)
            opening = closing.get(account, Decimal(0))
            payments = own.amounts["payments"]
            closing[account] = opening + commission + tax - proceeds - payments
            kind = "C" if rounded(own.commission, currency, setting.rounding) < 0 else "S"
            figures = {
                "opening": opening,
                **{name: own.amounts[name] for name in KINDS},
                "net": net,
                "commission": commission,
                "tax": tax,
                "proceeds": proceeds,
                "payments": payments,
                "closing": closing[account],
            }
            yield {
                "agency": agency,
                "currency": currency,
                "period": f"{month[0]:04d}-{month[1]:02d}",
                "number": f"{kind}-{numbers[kind]:06d}",
                **{name: f"{value:f}" for name, value in figures.items()},
                "lines": own.lines,
                "prior_period_lines": own.prior,
                **({"base": in_base(own, setting.rounding)} if setting.rates.given else {}),
                **({"tax_in": tax_in_base(own, currency, (commission, tax), setting)} if setting.rates.given else {}),
            }
            numbers[kind] += 1
        month = following(month)


def taxed(sums: Sums, agency: str, currency: str, setting: Setting) -> tuple[Decimal, Decimal]:
    """Return commission and tax: each is rounded once for each scheme and percentage, and added up."""
    bases: dict[tuple[str, Decimal], Decimal] = defaultdict(Decimal)
    for tax_point, commission in sums.taxable.items():
        bases[setting.agencies.percent(agency, tax_point, setting.zone)] += commission
    total = tax = rounded(Decimal(0), currency, setting.rounding)
    for (_, percentage), exact in bases.items():
        base = rounded(exact, currency, setting.rounding)
        total, tax = total + base, tax + rounded(base * percentage / 100, currency, setting.rounding)
    return total, tax


def in_base(sums: Sums, rounding: str) -> dict[str, str]:
    """Return the figures in the base currency, rounded once, of the lines that have an exchange rate."""
    names = ("net", "commission", "payments")
    return {name: f"{nearest(sums.base[name], rounding):f}" for name in names}


def tax_in_base(sums: Sums, currency: str, figures: tuple[Decimal, Decimal], setting: Setting) -> dict[str, str] | None:
    """Return commission and tax in the base currency, at the exchange rate of the last line; ``None`` without one."""
    if currency == BASE or sums.rate is None:
        return None
    _, _, units = sums.rate
    base, tax = (f"{nearest(Fraction(one) / Fraction(units), setting.rounding):f}" for one in figures)
    return {"exchange_rate": f"{units:f}", "base": base, "tax": tax}


def nearest(value: Fraction, rounding: str) -> Decimal:
    """Return a fraction rounded to cents."""
    below, part = divmod(abs(value) * 100, 1)
    up = part * 2 > 1 or (part * 2 == 1 and (rounding == ROUND_HALF_UP or below % 2 == 1))
    return Decimal(int(below) + up).scaleb(-2) * (-1 if value < 0 else 1)


def rounded(value: Decimal, currency: str, rounding: str) -> Decimal:
    """Return an amount rounded to the currency's minor unit."""
    return value.quantize(Decimal(1).scaleb(-DIGITS.get(currency, 2)), rounding)


# ---------------------------------------------------------------- comparing


def found(name: Path) -> list[dict[str, Any]]:
    """Return the statements of a folder of ``replay --out``, or of the output of ``replay --statements --json``."""
    if not name.is_dir():
        listed: list[dict[str, Any]] = json.loads(name.read_text("utf-8"))["statements"]
        return listed
    return [json.loads(file.read_text("utf-8")) for file in name.glob("statements/*/*/*/statement.json")]


def differences(expected: Iterable[dict[str, Any]], actual: Iterable[dict[str, Any]], *, base: bool) -> Iterator[str]:
    """Yield a line for each difference; ``base``: compare the figures in the base currency too."""
    by_key = {(one["period"], one["agency"], one["currency"]): one for one in actual}
    for one in expected:
        key = (one["period"], one["agency"], one["currency"])
        other = by_key.pop(key, None)
        if other is None:
            yield f"{key}: is missing"
            continue
        for name in ("number", "lines", "prior_period_lines"):
            if one[name] != other[name]:
                yield f"{key}: {name} is {other[name]}, expected {one[name]}"
        pairs = [(name, one[name], other[name]) for name in FIGURES]
        pairs += [("proceeds", one["proceeds"], other["proceeds"])] if "proceeds" in other else []
        for name in ("base", "tax_in") if base else ():
            found_, expected_ = other[name] or {}, one[name] or {}
            pairs += [(f"{name}.{figure}", value, found_.get(figure)) for figure, value in expected_.items()]
            if found_ and not expected_:
                yield f"{key}: {name} is not expected"
        for name, value, actual_value in pairs:
            same = value == actual_value if None in {value, actual_value} else Decimal(value) == Decimal(actual_value)
            if not same:
                yield f"{key}: {name} is {actual_value}, expected {value}"
    for key in sorted(by_key):
        yield f"{key}: is not expected"


def read(name: str) -> Iterator[Row]:
    """Yield the rows of a CSV file, plain or .gz."""
    with (
        gzip.open(name, "rt", encoding="utf-8-sig", newline="")
        if name.endswith(".gz")
        else Path(name).open(encoding="utf-8-sig", newline="") as file
    ):
        yield from csv.DictReader(file)


def main() -> int:
    """Print the statements, or their differences."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("set", choices=SETS)
    parser.add_argument("csv", metavar="CSV")
    parser.add_argument("--agencies", required=True, metavar="FILE", help="the file that replay --agencies gets")
    parser.add_argument("--rates", metavar="FILE", help="the file that replay --rates gets; the base currency is EUR")
    parser.add_argument("--compare", type=Path, metavar="DIR", help="the folder of replay --out, or a file of --json")
    parser.add_argument("--rounding", choices=ROUNDINGS, default="half-even", help="the parameter Rounding")
    args = parser.parse_args()
    events, zone = SETS[args.set]
    setting = Setting(Agencies(args.agencies), Rates(args.rates), ZoneInfo(zone), ROUNDINGS[args.rounding])
    sums = summed(events(read(args.csv), setting.agencies), setting.zone, setting.rates)
    expected = list(statements(*sums, setting))
    if args.compare is None:
        json.dump(expected, sys.stdout, indent=1, ensure_ascii=False)
        print()
        return 0
    wrong = list(differences(expected, found(args.compare), base=setting.rates.given and args.compare.is_dir()))
    print("\n".join([*wrong, f"{len(expected):,} statements, {len(wrong):,} differences"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
