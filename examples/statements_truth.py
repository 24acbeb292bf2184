"""Compute the statements of a real data set from its CSV file alone, and compare them with those of Quarterhour.

Plain sums over the file, without any code of Quarterhour. A replay on a virtual clock records an event at the latest
time of all events up to it. Months are those of the marketplace's zone, and are cut off three days after their end.
A draft of a month becomes a statement if the owner and the agency are registered with what an invoice needs.

    quarterhour csv retail.csv --map examples/online_retail.toml > events.ndjson
    echo '{"time_zone": "Europe/London", "base_currency": "EUR"}' > settings.json
    quarterhour replay events.ndjson --statements --agencies examples/retail_agencies.ndjson \
      --owner examples/owner.json --rates ecb.csv --out out --rate "rate(1 day)" --settings settings.json
    python3 examples/statements_truth.py retail retail.csv --agencies examples/retail_agencies.ndjson \
      --owner examples/owner.json --rates ecb.csv --compare out
    python3 examples/statements_truth.py hotel hotel.csv --agencies agencies.ndjson --owner examples/owner.json \
      --rates ecb.csv --compare out

Without --compare, it prints the lists `statements` and `drafts` of `quarterhour replay --statements --json`. With
--compare, it prints each difference from a folder of `replay --out`, or from the output of `--json`, and ends with 1 if
there is one.

For the hotels, `hotel_statements.toml` adds made-up currencies and payments, `by_time.py` sends some events late, and
`hotel_agencies.py --history` gives agents changing tax profiles and registrations. The owner is then of a country
without known VAT rates, such as `JE`. With rates of the ECB, all figures of 245,903 events of retail (2010-12 to
2011-06) and of 91,643 of the hotels (2013-06 to 2016-06) agreed to the last decimal.
"""

import argparse
import csv
import gzip
import json
import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
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
RELEASED_WITHIN = timedelta(days=3)
"""The longest time from the cut-off of a month to its release, with a report each day."""
ALWAYS = "1970-01-01T00:00:00Z"
BASE = "EUR"
DIGITS = {"JPY": 0, "TND": 3}
"""The digits of the minor unit, where they are not two."""
ROUNDINGS = {"half-even": ROUND_HALF_EVEN, "half-up": ROUND_HALF_UP}
FIGURES = (
    *("opening", "sales", "voids", "refunds", "adjustments", "net", "commission", "tax"),
    *("proceeds", "payments", "closing"),
)
OF_DRAFT = ("net", "commission_exact", "payments", "lines", "prior_period_lines")
KINDS = ("sales", "voids", "refunds", "adjustments")
Row = dict[str, str]
Month = tuple[int, int]
Account = tuple[str, str]
Rests = dict[Hashable, Decimal]
"""What rounding has left of each figure, for the next statement of the account."""


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

    ``taxable``: the commissions by tax point and category; ``nets``: the amounts by tax point. ``rate``: the exchange
    rate of the last line, of those before the end of the month if there are any.
    """

    lines: int = 0
    prior: int = 0
    amounts: dict[str, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    commission: Decimal = Decimal(0)
    base: dict[str, Fraction] = field(default_factory=lambda: defaultdict(Fraction))
    taxable: dict[TaxPoint, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
    nets: dict[date, Decimal] = field(default_factory=lambda: defaultdict(Decimal))
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
            sums.nets[day] += event.amount
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
    """The registrations of a file: each line is a version of an agency, in force from ``valid_from`` on.

    A version counts from ``registered_at`` on, and then replaces those that begin after it.
    """

    def __init__(self, name: str, zone: ZoneInfo) -> None:
        self._versions: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in map(json.loads, Path(name).read_text("utf-8").splitlines()):
            written = _written(row)
            if cut_off(earliest_open(written - RELEASED_WITHIN, zone), zone) <= written:
                sys.exit(f"a month may be released before or after {written}: choose another registered_at")
            self._versions[row["agency"]].append(row)
        for versions in self._versions.values():
            versions.sort(key=lambda one: (_written(one), _since(one)))

    def at(self, agency: str, instant: datetime, seen: datetime) -> dict[str, Any]:
        """Return the registration in force at an instant, as known when ``seen``; empty if there is none."""
        known = (one for one in reversed(self._versions[agency]) if _written(one) <= seen)
        return next((one for one in known if _since(one) <= instant), {})

    def group(self, agency: str) -> str:
        """Return the group of an agency, which is the same in all its versions."""
        return str(self._versions[agency][0]["group"])


def _since(version: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(version.get("valid_from", ALWAYS))


def _written(version: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(version.get("registered_at", ALWAYS))


@dataclass
class Registration:
    """What is known of an agency when a month is released."""

    agencies: Agencies
    agency: str
    month: Month
    zone: ZoneInfo

    @property
    def last(self) -> datetime:
        """The last instant of the month."""
        return begin(following(self.month), self.zone) - timedelta(microseconds=1)

    def at(self, instant: datetime) -> dict[str, Any]:
        """Return the registration in force at an instant; empty if there is none."""
        return self.agencies.at(self.agency, instant, cut_off(self.month, self.zone))

    def collects(self, instant: datetime) -> str:
        """Return who collects the money of the sales of an instant."""
        return str(self.at(instant).get("collects", "agency"))

    def collected(self, nets: dict[date, Decimal]) -> Decimal:
        """Return what the marketplace has collected of the nets by tax point."""
        starts = {day: datetime(day.year, day.month, day.day, tzinfo=self.zone) for day in nets}
        return sum((net for day, net in nets.items() if self.collects(starts[day]) == "marketplace"), Decimal(0))

    def percent(self, tax_point: TaxPoint) -> tuple[str, Decimal]:
        """Return the scheme and the percentage for a tax point: 0 without tax."""
        day, category = tax_point
        tax = self.at(datetime(day.year, day.month, day.day, tzinfo=self.zone)).get("tax") or {}
        tax = tax.get("by_category", {}).get(category, tax)
        return tax.get("scheme", ""), Decimal(tax.get("percent", 0))


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

    owner: dict[str, Any]
    agencies: Agencies
    rates: Rates
    zone: ZoneInfo
    rounding: str

    def registration(self, agency: str, month: Month) -> Registration:
        """Return what is known of an agency when a month is released."""
        return Registration(self.agencies, agency, month, self.zone)


def stated(
    months: dict[Month, dict[Account, Sums]], first: Month, setting: Setting
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the statements of every month up to the last one with events, and the drafts without one.

    Both are by month and account.
    """
    statements: list[dict[str, Any]] = []
    drafts: list[dict[str, Any]] = []
    closing: dict[Account, Decimal] = {}
    rests: dict[Account, Rests] = defaultdict(lambda: defaultdict(Decimal))
    numbers = {"S": 1, "C": 1}
    waiting: set[Account] = set()
    month = first
    while month <= max(months):
        for account, own in sorted(months.get(month, {}).items()):
            failed = [*(["order"] if account in waiting else []), *failed_checks(own, account[0], month, setting)]
            if failed:
                waiting.add(account)
                drafts.append(draft(own, account, month, failed))
                continue
            opening = closing.get(account, Decimal(0))
            one = statement(own, account, month, (opening, rests[account]), setting)
            closing[account] = Decimal(one["closing"])
            kind = "C" if rounded(own.commission, account[1], setting.rounding) < 0 else "S"
            statements.append({**one, "number": f"{kind}-{numbers[kind]:06d}"})
            numbers[kind] += 1
        month = following(month)
    return statements, drafts


def failed_checks(sums: Sums, agency: str, month: Month, setting: Setting) -> list[str]:
    """Return why a draft cannot become a statement: what the owner and the agency lack for an invoice."""
    registered = setting.registration(agency, month)
    points = sums.taxable or {(registered.last.astimezone(setting.zone).date(), ""): Decimal(0)}
    schemes = {registered.percent(one)[0] for one in points}
    party = ("legal_name", "address", "country")
    known = registered.at(registered.last)
    failed = []
    if not all(setting.owner.get(name) for name in party) or (
        schemes & {"standard", "reverse_charge"} and not setting.owner.get("vat_id")
    ):
        failed.append("owner")
    if not all(known.get(name) for name in party) or (
        "reverse_charge" in schemes and not (known.get("tax") or {}).get("vat_id")
    ):
        failed.append("agency")
    if "" in schemes:
        failed.append("tax")
    return failed


def draft(sums: Sums, account: Account, month: Month, failed: list[str]) -> dict[str, Any]:
    """Return a draft without a statement: exact sums, without tax."""
    return {
        **named(account, month),
        "net": f"{net_of(sums):f}",
        "commission_exact": f"{sums.commission:f}",
        "payments": f"{sums.amounts['payments']:f}",
        "lines": sums.lines,
        "prior_period_lines": sums.prior,
        "checks": failed,
    }


def named(account: Account, month: Month) -> dict[str, Any]:
    """Return the names of an account and a month."""
    return {"agency": account[0], "currency": account[1], "period": f"{month[0]:04d}-{month[1]:02d}"}


def net_of(sums: Sums) -> Decimal:
    """Return the net sales."""
    return sum((sums.amounts[name] for name in KINDS), Decimal(0))


def statement(
    own: Sums, account: Account, month: Month, before: tuple[Decimal, Rests], setting: Setting
) -> dict[str, Any]:
    """Return a statement without its number; ``before``: the opening balance, and the rests, which it changes."""
    agency, currency = account
    opening, rests = before
    registered = setting.registration(agency, month)
    taxes = taxed(own, currency, registered, rests, setting.rounding)
    nothing = rounded(Decimal(0), currency, setting.rounding)
    commission = sum((Decimal(row["base"]) for row in taxes), nothing)
    tax = sum((Decimal(row["tax"]) for row in taxes), nothing)
    proceeds = carried(registered.collected(own.nets), rests, ("proceeds",), currency, setting.rounding)
    payments = own.amounts["payments"]
    figures = {
        "opening": opening,
        **{name: own.amounts[name] for name in KINDS},
        "net": net_of(own),
        "commission": commission,
        "tax": tax,
        "proceeds": proceeds,
        "payments": payments,
        "closing": opening + commission + tax - proceeds - payments,
    }
    in_euros = setting.rates.given
    return {
        **named(account, month),
        "collects": registered.collects(registered.last),
        **{name: f"{value:f}" for name, value in figures.items()},
        "lines": own.lines,
        "prior_period_lines": own.prior,
        "taxes": taxes,
        **({"base": in_base(own, setting.rounding)} if in_euros else {}),
        **({"tax_in": tax_in_base(own, currency, (commission, tax), setting)} if in_euros else {}),
    }


def carried(exact: Decimal, rests: Rests, figure: Hashable, currency: str, rounding: str) -> Decimal:
    """Return a figure plus the rest of those before, rounded, and keep the new rest; of 0 it is 0."""
    if not exact:
        return rounded(exact, currency, rounding)
    with_rest = exact + rests[figure]
    found = rounded(with_rest, currency, rounding)
    rests[figure] = with_rest - found
    return found


def taxed(sums: Sums, currency: str, registered: Registration, rests: Rests, rounding: str) -> list[dict[str, str]]:
    """Return commission and tax, each rounded once with the rest of before, for each scheme and percentage."""
    bases: dict[tuple[str, Decimal], Decimal] = defaultdict(Decimal)
    for tax_point, commission in sums.taxable.items():
        bases[registered.percent(tax_point)] += commission
    rows = []
    for (scheme, percentage), exact in sorted(bases.items()):
        rate = (scheme, percentage)
        base = carried(exact, rests, ("base", *rate), currency, rounding)
        tax = carried(base * percentage / 100, rests, ("tax", *rate), currency, rounding)
        rows.append({"scheme": scheme, "percent": f"{percentage:f}", "base": f"{base:f}", "tax": f"{tax:f}"})
    return rows


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


def found(name: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the statements and the drafts of a folder of ``replay --out``, or of the output of ``replay --json``."""
    if not name.is_dir():
        printed: dict[str, Any] = json.loads(name.read_text("utf-8"))
        drafts = [
            {**one, "checks": [check["check"] for check in one["checks"] if check["level"] == "failed"]}
            for one in printed["drafts"]
        ]
        return printed["statements"], drafts
    statements = [json.loads(file.read_text("utf-8")) for file in name.glob("statements/*/*/*/statement.json")]
    stated_ = {key_of(one) for one in statements}
    lists = ((file.parent.name, file) for file in name.glob("statements/*/drafts.csv"))
    drafts = [{**row, "period": period} for period, file in lists for row in read(str(file))]
    return statements, [one for one in drafts if key_of(one) not in stated_]


def key_of(one: dict[str, Any]) -> tuple[str, str, str]:
    """Return the month, the agency and the currency of a statement or a draft."""
    return one["period"], one["agency"], one["currency"]


def differences(expected: Iterable[dict[str, Any]], actual: Iterable[dict[str, Any]], *, base: bool) -> Iterator[str]:
    """Yield a line for each difference of statements; ``base``: compare the figures in the base currency too."""
    for key, one, other in pairs_of(expected, actual):
        if one is None or other is None:
            yield f"{key}: the statement is {'not expected' if one is None else 'missing'}"
            continue
        for name in ("number", "collects", "lines", "prior_period_lines"):
            if name in other and one[name] != other[name]:
                yield f"{key}: {name} is {other[name]}, expected {one[name]}"
        if rows_of(one) != rows_of(other):
            yield f"{key}: taxes are {rows_of(other)}, expected {rows_of(one)}"
        pairs = [(name, one[name], other[name]) for name in FIGURES]
        for name in ("base", "tax_in") if base else ():
            found_, expected_ = other[name] or {}, one[name] or {}
            pairs += [(f"{name}.{figure}", value, found_.get(figure)) for figure, value in expected_.items()]
            if found_ and not expected_:
                yield f"{key}: {name} is not expected"
        yield from differing(key, pairs)


def differing_drafts(expected: Iterable[dict[str, Any]], actual: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield a line for each difference of drafts without a statement; a folder has no checks."""
    for key, one, other in pairs_of(expected, actual):
        if one is None or other is None:
            yield f"{key}: the draft is {'not expected' if one is None else 'missing'}"
            continue
        if "checks" in other and one["checks"] != other["checks"]:
            yield f"{key}: the failed checks are {other['checks']}, expected {one['checks']}"
        yield from differing(key, [(name, str(one[name]), str(other[name])) for name in OF_DRAFT])


def pairs_of(
    expected: Iterable[dict[str, Any]], actual: Iterable[dict[str, Any]]
) -> Iterator[tuple[tuple[str, str, str], dict[str, Any] | None, dict[str, Any] | None]]:
    """Yield what is expected and what was made of each month, agency and currency: ``None`` for what is missing."""
    ours, theirs = ({key_of(one): one for one in some} for some in (expected, actual))
    for key in sorted({*ours, *theirs}):
        yield key, ours.get(key), theirs.get(key)


def rows_of(one: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Return the rows of tax of a statement that charge something."""
    rows = ((row["scheme"], *(Decimal(row[name]) for name in ("percent", "base", "tax"))) for row in one["taxes"])
    return sorted(row for row in rows if row[2] or row[3])


def differing(key: tuple[str, str, str], pairs: Iterable[tuple[str, Any, Any]]) -> Iterator[str]:
    """Yield a line for each name whose values differ as numbers."""
    for name, value, actual_value in pairs:
        same = value == actual_value if None in {value, actual_value} else Decimal(value) == Decimal(actual_value)
        if not same:
            yield f"{key}: {name} is {actual_value}, expected {value}"


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
    parser.add_argument("--owner", type=Path, metavar="FILE", help="the file that replay --owner gets")
    parser.add_argument("--rates", metavar="FILE", help="the file that replay --rates gets; the base currency is EUR")
    parser.add_argument("--compare", type=Path, metavar="DIR", help="the folder of replay --out, or a file of --json")
    parser.add_argument("--rounding", choices=ROUNDINGS, default="half-even", help="the setting rounding")
    args = parser.parse_args()
    events, zone = SETS[args.set]
    owner = json.loads(args.owner.read_text("utf-8")) if args.owner else {}
    agencies = Agencies(args.agencies, ZoneInfo(zone))
    setting = Setting(owner, agencies, Rates(args.rates), ZoneInfo(zone), ROUNDINGS[args.rounding])
    sums = summed(events(read(args.csv), setting.agencies), setting.zone, setting.rates)
    expected, drafts = stated(*sums, setting)
    if args.compare is None:
        json.dump({"statements": expected, "drafts": drafts}, sys.stdout, indent=1, ensure_ascii=False)
        print()
        return 0
    made, waiting = found(args.compare)
    wrong = [
        *differences(expected, made, base=setting.rates.given and args.compare.is_dir()),
        *differing_drafts(drafts, waiting),
    ]
    result = f"{len(expected):,} statements, {len(drafts):,} drafts without one, {len(wrong):,} differences"
    print("\n".join([*wrong, result]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
