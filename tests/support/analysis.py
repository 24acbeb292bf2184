"""A marketplace's sales for analysts, recorded and sealed by the real functions, and what its API says of them."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from tests.support.events import Cloud, adjustment, payment, refund, sale, view, void
from tests.support.requests import account as path
from tests.support.requests import post
from tests.support.system import World, opened

FIRST: Final = datetime(2026, 9, 30, 23, 20, tzinfo=UTC)
LATER: Final = datetime(2026, 10, 29, 9, 0, tzinfo=UTC)
MIDNIGHT: Final = datetime(2026, 10, 30, 0, 20, tzinfo=UTC)
RULES: Final = ({"percent": "12"}, {"percent": "8", "category": "books"})
"""Those of the named query ``rate-card``."""
FIGURES: Final = ("gross", "refunds", "net", "commission", "payments")

Row = tuple[Any, ...]


def early() -> list[Cloud]:
    """Return the events of the first day: of two agencies, in two currencies, with text like formulas."""
    sold = [
        sale("a1", "100.00", customer="ann", product="TEA", category="food", order_id="1"),
        sale("a2", "40.005", customer="ben", product="=ATLAS", category="books", order_id="1"),
        sale("a3", "19.99", customer="ann", product="TEA", commission_rate="0.125"),
        sale("a4", "60", customer="'cat", product='a "big", wide map', category="books"),
        sale("b1", "900", agency="O'Neil & sons ü", currency="JPY", customer="ben", product="TEA"),
        sale("b2", "70.10", agency="O'Neil & sons ü", customer="dan", product="INK"),
    ]
    dated = [{**one, "time": "2026-09-28T12:00:00Z"} for one in sold]
    return [*dated, view("v1", "page-1", "ann")]


def late() -> list[Cloud]:
    """Return the events of the last day: refunds of several ages, a void, an adjustment, payments and more sales."""
    return [
        {**refund("r1", "-30", of="a1", product="TEA"), "time": "2026-10-01T12:00:00Z"},
        {**refund("r2", "-10.005", of="a2"), "time": "2026-10-20T12:00:00Z"},
        refund("r3", "-5.55", of=None, customer="eve", product="TEA"),
        void("x1", of="b2", agency="O'Neil & sons ü"),
        adjustment("j1", "-1.255", of="a3"),
        payment("p1", "15.50"),
        sale("a5", "7.77", customer="ann", product="TEA", category="food"),
        sale("a6", "1", customer="fay", product="INK", order_id="2", line="1"),
        sale("b3", "1200", agency="O'Neil & sons ü", currency="JPY", customer="ben", product="TEA"),
    ]


@contextmanager
def sold() -> Iterator[World]:
    """Record the events of two days, four weeks apart, and seal them."""
    with opened({"commission_rate": "0.10"}, start=FIRST) as world:
        for at, events in ((FIRST, early()), (LATER, late())):
            world.clock.advance(at - world.clock.now())
            answer = post(world, events).json()
            assert answer["counts"]["recorded"] == len(events), answer
            world.drain()
        world.clock.advance(MIDNIGHT - world.clock.now())
        world.report()
        world.drain()
        yield world


def copied(world: World, folder: Path) -> Path:
    """Copy the sealed files to a folder, and return it."""
    world.stack.bucket.copy_to(folder)
    return folder


class Api:
    """What the API says, as the rows of the named queries."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.accounts: list[dict[str, Any]] = world.all("/accounts")
        self.events: list[dict[str, Any]] = world.all("/events", from_="2026-09-30", to="2026-10-31")
        self._sales = [one for one in self.events if one["type"] != "payment.recorded" and one["currency"] != "XXX"]

    def totals(self) -> list[Row]:
        return [
            (one["agency"], one["currency"], one["events"], *(Decimal(one[name]) for name in FIGURES))
            for one in self.accounts
        ]

    def periods(self) -> list[Row]:
        return [
            (one["agency"], one["currency"], of["period"], of["events"], *(Decimal(of[name]) for name in FIGURES))
            for one in self.accounts
            for of in self._of(one, "periods", from_="2026-09", to="2026-12")
        ]

    def top_agencies(self) -> list[Row]:
        rows = [
            (one["currency"], -Decimal(one["commission"]), one["agency"], Decimal(one["net"]))
            for one in self.accounts
            if one["currency"] != "XXX"
        ]
        placed: defaultdict[str, int] = defaultdict(int)
        found = []
        for currency, commission, agency, net in sorted(rows):
            placed[currency] += 1
            found.append((currency, placed[currency], agency, net, -commission))
        return found

    def selling_less(self) -> list[Row]:
        spans = self._world.all("/overview", from_="2026-10-02", to="2026-10-30")
        nets = [
            (one["agency"], one["currency"], Decimal(one["before"]["net"]), Decimal(one["now"]["net"])) for one in spans
        ]
        less = [(*rest, before, now, now - before) for *rest, before, now in nets if now < before]
        return sorted(less, key=lambda row: (row[1], row[-1], row[0]))

    def refunds_by_age(self) -> list[Row]:
        days = {one["id"]: self._day(one) for one in self.events}
        ages: defaultdict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
        for one in self.events:
            if one["type"] in {"sale.refunded", "sale.voided"}:
                of = one.get("refers_to")
                age = _age((self._day(one) - days[of]).days) if of else "no sale named"
                ages[one["currency"], age].append(one)
        return [(*key, len(some), *_sums(some)[1:]) for key, some in sorted(ages.items())]

    def commission_by_product(self) -> list[Row]:
        rows = [(*key, *sums) for key, sums in self._by("currency", "product").items()]
        return sorted(rows, key=lambda row: (row[0], -row[-1], row[1] is None, row[1]))

    def commission_by_charge(self) -> list[Row]:
        rows = [(*key, sums[-1]) for key, sums in self._by("currency", "period").items()]
        return [(currency, period, "commission", sums, None) for currency, period, sums in sorted(rows)]

    def commission_by_week(self) -> list[Row]:
        rows = [(*key, *sums) for key, sums in self._by("currency", "week", "product").items()]
        return sorted(rows, key=lambda row: (row[0], row[1], -row[-1], row[2] is None, row[2]))

    def customers(self) -> list[Row]:
        seen: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        rows = []
        by_period = defaultdict(set)
        for one in self.events:
            if "customer" in one:
                by_period[one["agency"], one["currency"], one["period"]].add(one["customer"])
        for (agency, currency, period), customers in sorted(by_period.items()):
            new = customers - seen[agency, currency]
            seen[agency, currency] |= customers
            rows.append((agency, currency, period, len(customers), len(new), len(customers) - len(new)))
        for (agency, currency), customers in seen.items():
            assert self._of({"agency": agency, "currency": currency})["customers"] == len(customers)
        return rows

    def cohorts(self) -> list[Row]:
        bought: defaultdict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
        for one in self._sales:
            if "customer" in one:
                bought[one["currency"], one["customer"], one["period"]].append(one)
        firsts: dict[tuple[str, str], str] = {}
        cohorts: defaultdict[tuple[str, str, int], list[list[dict[str, Any]]]] = defaultdict(list)
        for (currency, customer, period), events in sorted(bought.items()):
            first = firsts.setdefault((currency, customer), period)
            cohorts[currency, first, _month(period) - _month(first)].append(events)
        return [
            (*key, len(some), *_sums([one for events in some for one in events])[1:])
            for key, some in sorted(cohorts.items())
        ]

    def _by(self, *names: str) -> dict[tuple[Any, ...], tuple[Any, ...]]:
        groups: defaultdict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
        for one in self._sales:
            recorded = date.fromisoformat(one["recorded_at"][:10])
            known = {**one, "week": recorded - timedelta(days=recorded.weekday())}
            groups[tuple(known.get(name) for name in names)].append(one)
        return {key: _sums(some) for key, some in groups.items()}

    def _of(self, account: dict[str, Any], part: str = "", **parameters: str) -> Any:
        found = path(account["agency"], account["currency"], part)
        return self._world.all(found, **parameters) if part else self._world.read(found)

    @staticmethod
    def _day(event: dict[str, Any]) -> date:
        return date.fromisoformat((event.get("time") or event["recorded_at"])[:10])


def _sums(events: list[dict[str, Any]]) -> tuple[int, Decimal, Decimal]:
    return (
        len(events),
        sum((Decimal(one["amount"]) for one in events), Decimal(0)),
        sum((Decimal(one["commission"]) for one in events), Decimal(0)),
    )


def _age(days: int) -> str:
    for most, age in ((7, "00 to 07 days"), (30, "08 to 30 days"), (90, "31 to 90 days")):
        if days <= most:
            return age
    return "over 90 days"


def _month(period: str) -> int:
    return int(period[:4]) * 12 + int(period[5:])
