"""Generates a year of a marketplace with forty agencies: seasons, refunds, growth and failure.

The same seed and the same end give the same year. Every line is labelled with its expected verdict, and `YearSums`
adds up what the ledger must hold in plain Decimal sums. Nothing here uses the ledger's own code.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from random import Random
from typing import Any, Final, cast

from quarterhour_tools.demo.marketplace import (
    DEFAULT_COMMISSION_RATE,
    MINOR_DIGITS,
    ZERO,
    DayLine,
    EventBody,
    ExpectedSums,
)
from quarterhour_tools.demo.year_agencies import (
    AGENCIES,
    CLIENT,
    FAILS,
    NEW,
    RATE_CARDS,
    UNREGISTERED,
    YearAgency,
)

MONTHS: Final = 12
"""The months before the one in which the year ends."""
CLOSED_IN: Final = 3
"""How many months before the last one the agency that fails is closed."""
_EVENING: Final = time(22, tzinfo=UTC)
_BEFORE_END: Final = timedelta(minutes=40)
"""From the last upload to the end of the year: the last report seals it."""
_LARGE: Final = 50
_MIDDLE: Final = 15
_RECENT: Final = 2
"""How many months before the last one uploads become more frequent: pages show these months by day."""
_REFUNDED: Final = 0.06
_VOIDED: Final = 0.007
_FOREIGN: Final = 0.15
_CUSTOMERS: Final = 900
_SUNDAY: Final = 6
_DAYS: Final = 30
"""The days of a month in which an agency sells its ``size``."""

_SEASONS: Final[Mapping[str, tuple[float, ...]]] = {
    "books": (0.9, 0.8, 0.8, 0.8, 0.8, 0.8, 1.0, 1.0, 0.9, 1.1, 1.5, 1.9),
    "home": (1.0, 0.8, 0.9, 1.0, 1.0, 0.9, 0.8, 0.8, 1.0, 1.1, 1.4, 1.4),
    "food": (0.8, 0.8, 0.9, 1.1, 1.0, 1.0, 0.9, 0.9, 1.0, 1.0, 1.2, 1.6),
    "garden": (0.3, 0.6, 1.4, 2.0, 2.0, 1.5, 1.1, 0.9, 0.9, 0.7, 0.4, 0.4),
    "toys": (0.6, 0.6, 0.7, 0.8, 0.8, 0.8, 0.9, 0.8, 0.8, 1.1, 2.0, 2.4),
    "fashion": (1.1, 0.7, 1.0, 1.1, 1.1, 0.9, 1.0, 0.7, 1.1, 1.1, 1.3, 1.3),
    "craft": (0.7, 0.8, 0.8, 0.9, 1.0, 1.0, 0.9, 0.9, 1.0, 1.1, 1.5, 1.8),
    "": (1.0,) * 12,
}
"""How much an agency of a group sells in each month, 1 on average."""
_CATALOGUES: Final[Mapping[str, tuple[tuple[str, ...], int, int]]] = {
    "books": (("fiction", "children", "travel", "rare books"), 6, 60),
    "home": (("lamps", "kitchen", "furniture"), 18, 260),
    "food": (("coffee", "cheese", "oil", "honey"), 5, 45),
    "garden": (("plants", "tools", "seeds"), 4, 120),
    "toys": (("wood", "games", "plush"), 8, 70),
    "fashion": (("knitwear", "shoes", "cloth"), 15, 140),
    "craft": (("ceramics", "jewellery", "paper"), 10, 180),
    "": (("soap", "candles"), 4, 30),
}
"""The categories of a group, its lowest and its highest price in euros."""
_UNITS_PER_EURO: Final = {"EUR": Decimal(1), "GBP": Decimal("0.86"), "JPY": Decimal(165), "USD": Decimal("1.1")}
_CITIES: Final = {
    "DE": ("Berlin", "Hamburg", "München", "Köln"),
    "FR": ("Paris", "Lyon", "Lille"),
    "ES": ("Madrid", "Sevilla"),
    "NL": ("Amsterdam", "Utrecht"),
    "PL": ("Warszawa", "Kraków"),
    "GR": ("Αθήνα",),
    "GB": ("London", "Bristol", "Leeds"),
    "JP": ("東京", "大阪"),
}
_SHOPS: Final = {"EUR": "shop-eu", "USD": "shop-eu", "GBP": "shop-uk", "JPY": "shop-jp"}
_VOID_REASONS: Final = ("entered twice", "the customer cancelled at once")

MonthKey = tuple[str, str, str]
"""Agency, currency and month."""


def first_of(month: date, ahead: int = 0) -> date:
    """Return the first day of a day's month, or of one some months ahead of it."""
    number = month.year * 12 + month.month - 1 + ahead
    return date(number // 12, number % 12 + 1, 1)


@dataclass(frozen=True, slots=True)
class Calendar:
    """The days of the year: it ends at an instant, and begins with the first day of a month before."""

    until: datetime
    months: int = MONTHS

    @property
    def this_month(self) -> date:
        """The first day of the month in which the year ends."""
        return first_of(self.until.date())

    def month(self, before: int) -> date:
        """Return the first day of the month so many months before the last one."""
        return first_of(self.this_month, -before)

    def days(self) -> Iterator[date]:
        """Yield the days of the year."""
        day = self.month(self.months)
        while day <= self.until.date():
            yield day
            day += timedelta(days=1)

    def sent_on(self, day: date) -> datetime:
        """Return the instant at which the sales of a day are sent."""
        return min(datetime.combine(day, _EVENING), self.until - _BEFORE_END)

    def share(self, day: date) -> float:
        """Return how much of the year is over on a day, from 0 to 1."""
        first = self.month(self.months)
        return (day - first).days / max(1, (self.until.date() - first).days)


def marketplace_year(calendar: Calendar, seed: int = 7) -> dict[date, list[DayLine]]:
    """Return the lines of the shops by the day on which they are sent. Payments are not among them."""
    sent: defaultdict[date, list[DayLine]] = defaultdict(list)
    for agency in AGENCIES:
        for currency in agency.currencies:
            rng = Random(f"{seed} {agency.id} {currency}")  # noqa: S311 - reproducible, not secret  # nosec B311
            for day, line in _agency_year(rng, calendar, agency, currency):
                sent[day].append(line)
    rng = Random(f"{seed}")  # noqa: S311 - reproducible, not secret  # nosec B311
    for day, line in _odd_lines(rng, calendar):
        sent[day].append(line)
    # The latest comes first: the clock of a replay follows it, and all others are of the same request.
    return {day: sorted(lines, key=lambda line: line.body["time"], reverse=True) for day, lines in sent.items()}


def _agency_year(rng: Random, calendar: Calendar, agency: YearAgency, currency: str) -> Iterator[tuple[date, DayLine]]:
    """Yield an agency's sales in a currency and their corrections, each with the day on which it is sent."""
    catalogue = _Catalogue.of(rng, agency, currency)
    serial = 0
    uploads = _uploads(calendar, agency)
    for day in calendar.days():
        for _ in range(_number(rng, calendar, agency, day)):
            serial += 1
            upload = uploads[day]
            at = _opening_hours(rng, day, calendar.sent_on(upload))
            if at is None:
                continue
            sale = catalogue.sale(rng, agency.id, f"{agency.id}-{currency}-{serial:05d}", at)
            yield upload, DayLine(calendar.sent_on(upload), "sale", "recorded", sale)
            corrected = day + timedelta(days=rng.randrange(2, 21))
            correction = _correction(rng, catalogue, sale)
            if correction and corrected in uploads:
                sent_on = calendar.sent_on(uploads[corrected])
                at = min(datetime.combine(corrected, time(12, tzinfo=UTC)), sent_on)
                yield (
                    uploads[corrected],
                    DayLine(sent_on, "correction", "recorded", {**correction, "time": at.isoformat()}),
                )


def _uploads(calendar: Calendar, agency: YearAgency) -> dict[date, date]:
    """Return for each day the day on which its sales are sent: at the latest on the last day of the month.

    In recent months, an agency uploads them on one day of the week, and a large one every evening. Before these, a
    large one did so once a week, and all others in the middle and at the end of the month.
    """
    uploads: dict[date, date] = {}
    waiting: list[date] = []
    weekday, last = int(agency.id) % 7, calendar.until.date()
    for day in calendar.days():
        waiting.append(day)
        ends_month = (day + timedelta(days=1)).day == 1
        is_recent = day >= calendar.month(_RECENT)
        is_large = agency.size >= _LARGE
        is_weekly = day.weekday() == weekday and (is_recent or is_large)
        if (is_large and is_recent) or is_weekly or day.day == _MIDDLE or ends_month or day == last:
            uploads |= dict.fromkeys(waiting, day)
            waiting = []
    return uploads


def _number(rng: Random, calendar: Calendar, agency: YearAgency, day: date) -> int:
    """Return how many items an agency sells in one currency on a day."""
    if agency.id == FAILS and day >= calendar.month(CLOSED_IN):
        return 0
    if day < calendar.month(agency.months):
        return 0
    season = _SEASONS[agency.group][day.month - 1]
    weekend = 0.5 if day.weekday() == _SUNDAY else 1.1
    expected = agency.size / len(agency.currencies) / _DAYS * season * weekend
    return int(expected * agency.growth ** calendar.share(day) + rng.random())


def _opening_hours(rng: Random, day: date, sent: datetime) -> datetime | None:
    """Return a time of the day before the upload; ``None`` if the upload is too early."""
    at = datetime.combine(day, time(7, tzinfo=UTC)) + timedelta(minutes=rng.triangular(0, 890, 560))
    at = at.replace(second=0, microsecond=0)
    return at if at <= sent else None


@dataclass(frozen=True, slots=True)
class _Catalogue:
    """What an agency sells in a currency: products with a category and a price."""

    currency: str
    country: str
    products: tuple[tuple[str, str, Decimal], ...]

    @classmethod
    def of(cls, rng: Random, agency: YearAgency, currency: str) -> "_Catalogue":
        categories, low, high = _CATALOGUES[agency.group]
        unit = Decimal(1).scaleb(-MINOR_DIGITS[currency])
        products = []
        for number in range(24):
            price = (Decimal(rng.randrange(10 * low, 10 * high)) / 10 * _UNITS_PER_EURO[currency]).quantize(unit)
            products.append((f"{agency.id}-{number:02d}", rng.choice(categories), price))
        return cls(currency, agency.country, tuple(products))

    def sale(self, rng: Random, agency: str, id_: str, at: datetime) -> EventBody:
        product, category, price = rng.choice(self.products)
        country = rng.choice(list(_CITIES)) if rng.random() < _FOREIGN else self.country
        return {
            "specversion": "1.0",
            "source": _SHOPS[self.currency],
            "id": f"{id_}:1",
            "type": "sale.recorded",
            "subject": agency,
            "time": at.isoformat(),
            "data": {
                "amount": f"{price * rng.choice((1, 1, 1, 2, 3)):f}",
                "currency": self.currency,
                "product": product,
                "category": category,
                "customer": f"C{rng.randrange(_CUSTOMERS):04d}",
                "order_id": id_,
                "location": f"{country}#{rng.choice(_CITIES[country])}",
            },
        }


def _correction(rng: Random, catalogue: _Catalogue, sale: EventBody) -> EventBody | None:
    """Return a refund or a void of a sale, or ``None`` for most sales."""
    chance, data = rng.random(), sale["data"]
    if chance < _VOIDED:
        return void(sale, rng.choice(_VOID_REASONS))
    if chance > _VOIDED + _REFUNDED:
        return None
    amount = Decimal(data["amount"])
    if rng.random() < 0.5 and not has_fees(sale):  # noqa: PLR2004 - as often whole as in part
        amount = (amount / 2).quantize(Decimal(1).scaleb(-MINOR_DIGITS[catalogue.currency]))
    back = {"amount": f"-{amount:f}", "currency": catalogue.currency, "refers_to": sale["id"]}
    return {**sale, "id": sale["id"] + "-R", "type": "sale.refunded", "data": back}


def void(sale: EventBody, reason: str) -> EventBody:
    """Return the void of a sale, without a time."""
    data = {"currency": sale["data"]["currency"], "refers_to": sale["id"], "reason": reason}
    return {**sale, "id": sale["id"] + "-V", "type": "sale.voided", "data": data}


def _odd_lines(rng: Random, calendar: Calendar) -> Iterator[tuple[date, DayLine]]:
    """Yield what finance has to decide about: sales of an agency that is not registered, held events, a new currency.

    All are of the last month before the one in which the year ends.
    """
    by_id = {agency.id: agency for agency in AGENCIES}
    month = calendar.month(1)
    kiosk = _Catalogue.of(rng, by_id[NEW], "EUR")
    dollars = _Catalogue.of(rng, by_id[CLIENT], "USD")
    closed = _Catalogue.of(rng, by_id[FAILS], "EUR")

    def line(number: int, kind: str, verdict: str, body: EventBody) -> tuple[date, DayLine]:
        day = month + timedelta(days=4 + 3 * number)
        at = datetime.combine(day, time(10, number, tzinfo=UTC))
        return day, DayLine(calendar.sent_on(day), kind, verdict, {**body, "time": at.isoformat()})

    nowhen = calendar.until
    for number in range(7):
        sale = kiosk.sale(rng, UNREGISTERED, f"{UNREGISTERED}-{number:05d}", nowhen)
        yield line(number, "sale", "recorded", sale)
        if number % 2:
            yield line(number, "sale", "recorded", dollars.sale(rng, CLIENT, f"{CLIENT}-USD-{number:05d}", nowhen))
        if number in {2, 5}:
            late = closed.sale(rng, FAILS, f"{FAILS}-late-{number}", nowhen)
            yield line(number, "sale of a closed agency", "held", late)
        if number in {1, 3, 6}:
            lost = {**sale, "id": f"lost-{number}:1", "subject": CLIENT, "type": "sale.refunded"}
            data = {"amount": "-12.50", "currency": "GBP", "refers_to": f"lost-{number}", "reason": "returned"}
            yield line(number, "refund of no sale", "held", {**lost, "source": _SHOPS["GBP"], "data": data})


# ---------------------------------------------------------------- expected sums


def has_fees(sale: EventBody) -> bool:
    """Return whether a fixed fee or a minimum is a part of a sale's commission."""
    return "fixed" in _charge_of(sale)


def _charge_of(sale: EventBody) -> Mapping[str, Any]:
    """Return the charge of the rule that prices a sale: the last one that matches, as the general one is first."""
    groups = {agency.id: agency.group for agency in AGENCIES}
    own = RATE_CARDS.get(f"rate-card:{sale['subject']}")
    rules = own or RATE_CARDS.get(f"rate-card:group/{groups.get(sale['subject'])}", ())
    data = sale["data"]
    place = {**data, "location": data["location"].partition("#")[0]}
    names = ("category", "location", "currency")
    matching = [rule for rule in rules if all(rule.get(name, place[name]) == place[name] for name in names)]
    if not matching:
        return {"percent": DEFAULT_COMMISSION_RATE * 100}
    (charge,) = matching[-1].get("charges", [matching[-1]])
    return cast("Mapping[str, Any]", charge)


def _commission(sale: EventBody) -> Decimal:
    charge = _charge_of(sale)
    charged = Decimal(sale["data"]["amount"]) * Decimal(charge["percent"]) / 100 + Decimal(charge.get("fixed", 0))
    return max(charged, Decimal(charge.get("minimum", 0)))


@dataclass(slots=True)
class PaidSums(ExpectedSums):
    """The expected sums of an account in a month, with its payments."""

    payments: Decimal = ZERO


@dataclass(slots=True)
class YearSums:
    """The expected sums of all accounts by month, of the lines that were sent."""

    months: dict[MonthKey, PaidSums] = field(default_factory=dict)
    _sales: dict[tuple[str, str], EventBody] = field(default_factory=dict)
    _left: dict[tuple[str, str], Decimal] = field(default_factory=dict)

    def add(self, lines: Iterable[DayLine]) -> None:
        """Add the lines of a day that the ledger records; sales come before their corrections."""
        recorded = [line.body for line in lines if line.verdict == "recorded"]
        for body in sorted(recorded, key=lambda one: one["type"] != "sale.recorded"):
            self._add(body)

    def _add(self, body: EventBody) -> None:
        data = body["data"]
        key = body["subject"], data["currency"], body["time"][: len("2026-11")]
        sums = self.months.setdefault(key, PaidSums())
        sums.events += 1
        if body["type"] == "payment.recorded":
            sums.payments += Decimal(data["amount"])
            return
        name = body["source"], data.get("refers_to", body["id"])
        if body["type"] == "sale.recorded":
            self._sales[name], amount = body, Decimal(data["amount"])
            self._left[name] = amount
            sums.gross += amount
            sums.commission += _commission(body)
            return
        sale, left = self._sales[name], self._left[name]
        back = Decimal(data["amount"]) if "amount" in data else -left
        self._left[name] = left + back
        sums.refunds += back
        sums.commission += _commission(sale) * back / Decimal(sale["data"]["amount"])
