"""The year of `plain_year` in the product: its events are recorded, its months closed, its statements paid."""

import json
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from quarterhour.registry.agencies.rows import AgencyRow
from quarterhour_tools.demo import local_api
from quarterhour_tools.emulator.stack import Stack
from quarterhour_tools.loading.exchange_rates import RateFile, RateRow
from quarterhour_tools.replay.replay import Document, Replay
from quarterhour_tools.target.remote import segment
from tests.support import plain_year
from tests.support.plain_figures import Expected, ExpectedBooks, at
from tests.support.plain_year import AGENCIES, Body, Year, body

CANCELLED = ("103", 3)
"""The agency and the month whose statement is cancelled and issued again."""
RETURNED = 7
"""The month whose payouts come back from the bank, and are paid once more."""
LAST = date(2027, 1, 5)


class Books:
    """The year in the product, and what it must come to."""

    def __init__(self, stack: Stack, replay: Replay) -> None:
        self.stack, self.replay = stack, replay
        self.expected = ExpectedBooks()
        self.numbers: dict[str, str] = {}
        self.open: dict[date, dict[str, Decimal]] = {}
        """What the API says is open at the ends of some days: of documents, and of accounts what clears nothing."""
        self._payments = 0

    def run(self) -> None:
        self.replay.prepare(_documents())
        rates = [
            RateRow(datetime(2026, 1, 1, tzinfo=UTC), currency, units, "ECB", 0, "EUR")
            for currency, units in plain_year.EXCHANGE_RATES.items()
        ]
        self.replay.expect_exchange_rates(RateFile(rates))
        year, late = Year(), list[Body]()
        for month in range(1, 13):
            events, following = year.events(month)
            before = at(date(2026, month, 5), 6)
            first = [one for one in events if one["time"] < f"{before:%Y-%m-%dT%H}"]
            self._send(first)
            self._close(month - 1, before)
            self._send(late, late=True)
            rest = [*events[len(first) :], *self._paid(month - 1)]
            self._send(sorted(rest, key=lambda one: one["time"]))
            late = following
        self._close(12, at(LAST, 6))
        for month in range(2, 13):
            for on in (date(2026, month, 1) - timedelta(1), date(2026, month, 10)):
                self.open[on] = self._listed(on)
        self.replay.finish(closes=False)

    def _listed(self, on: date) -> dict[str, Decimal]:
        found: dict[str, Decimal] = {}
        for account in local_api.items(self.stack, "/receivables", on=on.isoformat()):
            found.update({one["number"]: Decimal(one["open"]) for one in account["statements"]})
            found[f"{account['agency']}#{account['currency']}"] = -Decimal(account["unallocated"])
        return {name: amount for name, amount in found.items() if amount}

    def _send(self, bodies: list[Body], *, late: bool = False) -> None:
        before = self.replay.verdicts["recorded"]
        self.replay.play(f"{json.dumps(one)}\n".encode() for one in bodies)
        assert self.replay.verdicts["recorded"] - before == len(bodies), self.replay.verdicts
        for one in bodies:
            self.expected.record(one, late=late)

    def _close(self, month: int, until: datetime) -> None:
        """Let time pass until the statements of a month are there, and compute them."""
        self.replay.timeline.advance(until)
        if not month:
            return
        period = f"2026-{month:02d}"
        listed = list(local_api.items(self.stack, "/statements", period=period))
        numbers = {(one["agency"], one["currency"]): one["number"] for one in listed}
        assert not list(local_api.items(self.stack, "/drafts"))
        (issued_on,) = {date.fromisoformat(one["issued_on"]) for one in listed}
        self.expected.close(month, numbers, issued_on)
        if month == CANCELLED[1]:
            self._cancel(period)

    def _cancel(self, period: str) -> None:
        path = f"/drafts/{CANCELLED[0]}/EUR/{period}"
        for decision in ("cancel", "release"):
            seen = local_api.get(self.stack, path)["seen"]
            local_api.put(self.stack, path, {"decision": decision, "seen": seen, "reason": "another name"})
            self.stack.invoke("statements", {})
        (one,) = local_api.items(self.stack, "/statements", period=period, agency=CANCELLED[0])
        old, by, again = (each["number"] for each in one["documents"])
        self.expected.cancel(old, by, again, date.fromisoformat(one["issued_on"]))

    def _paid(self, month: int) -> Iterator[Body]:
        """Yield what is paid for the statements of a month, in the month after it."""
        if not month:
            return
        on = date(2026, month + 1, 12)
        open_ = self.expected.open(on)
        documents = [one for one in self.expected.documents if one.month == month and one.number in open_]
        for one in documents:
            yield from self._payments_of(one, open_[one.number], on)

    def _payments_of(self, one: Expected, amount: Decimal, on: date) -> Iterator[Body]:
        name, named = one.account[0], {"statement": one.number}
        if amount < 0:
            yield self._payment(one, amount, on, **named)
            if one.month == RETURNED:
                yield self._payment(one, -amount, on + timedelta(3), reason="returned: AC04", **named)
                yield self._payment(one, amount, on + timedelta(8), **named)
        elif name == "101":  # a bank keeps charges
            yield self._payment(one, amount - Decimal("1.50"), on, **named)
            yield self._payment(one, Decimal("1.50"), on, kind="bank_charges", **named)
        elif name == "109":  # a discount for cash
            discount = (amount / 50).quantize(Decimal("0.01"))
            yield self._payment(one, amount - discount, on, **named)
            yield self._payment(one, discount, on, kind="cash_discount", **named)
        elif name == "112":  # pays in two parts, and names nothing
            part = (amount * 6 / 10).quantize(Decimal("0.01"))
            yield self._payment(one, part, on)
            yield self._payment(one, amount - part, on + timedelta(9))
        elif name == "103" and one.month > 8:  # never pays again; what is oldest is written off
            if one.month == 11:
                lost = next(each for each in self.expected.documents if each.account == one.account and each.month == 9)
                open_ = self.expected.open(on)[lost.number]
                yield self._payment(one, open_, on, kind="bad_debt", statement=lost.number)
        elif name == "106":
            yield self._payment(one, amount + Decimal("0.02"), on, **named)
            yield self._payment(one, Decimal("-0.02"), on, kind="rounding_difference", **named)
        else:
            yield self._payment(one, amount, on, **named)

    def _payment(self, one: Expected, amount: Decimal, on: date, **more: str) -> Body:
        self._payments += 1
        name = one.account[0]
        paid_at = at(on) + timedelta(minutes=self._payments % 60)
        return body(f"bank-{self._payments}", name, "payment.recorded", paid_at, amount=f"{amount:f}", **more)


def _documents() -> Iterator[Document | AgencyRow]:
    yield Document("/documents/owner", plain_year.OWNER)
    for since, percent in plain_year.DEFAULT_RATES:
        rules = [{"percent": percent}]
        content = {"valid_from": f"{since}T00:00:00+01:00" if since < "2026-03" else f"{since}T00:00:00+02:00"}
        yield Document(f"/documents/{segment('rate-card:default')}", {**content, "rules": rules})
    charges = [
        {"name": name, "percent": percent, **({"fixed": fixed} if fixed != "0" else {})}
        for name, (percent, fixed) in plain_year.GROUP_CHARGES.items()
    ]
    group_rates = {"valid_from": "2025-12-31T23:00:00Z", "rules": [{"currency": "EUR", "charges": charges}]}
    yield Document(f"/documents/{segment(f'rate-card:group/{plain_year.GROUP}')}", group_rates)
    for name, versions in AGENCIES.items():
        for since, content in versions:
            begins = {"valid_from": f"{since}T00:00:00+02:00"} if since else {}
            yield AgencyRow(0, name, {**content, **begins})
