"""Runs a generated year through the emulator: sales are sent, months are closed, statements are paid and disputed.

Time is compressed: the clock follows the year, and the functions do what they would do in AWS. The last full month is
not released: its drafts wait for a person.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from functools import partial
from random import Random
from typing import Any, Final

from quarterhour.model.clock import iso_millis
from quarterhour.registry.agencies.rows import AgencyRow
from quarterhour_tools.demo import local_api
from quarterhour_tools.demo.marketplace import MINOR_DIGITS, DayLine, EventBody
from quarterhour_tools.demo.year import CLOSED_IN, Calendar, PaidSums, YearSums, first_of, marketplace_year, void
from quarterhour_tools.demo.year_agencies import (
    AGENCIES,
    BASE_CURRENCY,
    DISPUTES,
    FAILS,
    OWNER,
    RATE_CARDS,
    UNMATCHED,
    UNREGISTERED,
)
from quarterhour_tools.emulator.stack import Stack
from quarterhour_tools.loading.exchange_rates import RateFile, RateRow
from quarterhour_tools.replay.replay import Document, Replay
from quarterhour_tools.replay.result import ReplayResult
from quarterhour_tools.target.remote import segment

SETTINGS: Final[Mapping[str, str | int]] = {
    "base_currency": BASE_CURRENCY,
    "release": "manual",
    "acceptance_days": 20,
    "grace_days": 0,
}
"""The settings of the marketplace."""
PARAMETERS: Final[Mapping[str, str | int]] = {"ReportRate": "rate(1 day)"}
"""The parameters of the stack. One report a day in place of one an hour makes the year cheap to run."""
YEAR_ENDS: Final = datetime(2026, 12, 9, 16, 40, tzinfo=UTC)
"""When the year of `quarterhour demo` ends; that of `quarterhour up --demo` ends today."""
AFTERWARDS: Final = "rate(1 hour)"
"""The schedule of the reports once the year has ended."""
_CLOSES: Final = time(0, 10, tzinfo=UTC)
_MORNING: Final = time(9, 30, tzinfo=UTC)
_LAST_REPORT: Final = timedelta(minutes=10)
"""From the last report to the end of the year."""
_RELEASED_ON: Final = 3
_DISPUTED_ON, _RESOLVED_ON = 6, 11
_PAID_OUT_ON: Final = 15
_UNPAID: Final = 6
"""How many months before the last one the agency that fails stops to pay."""
_PARTLY: Final = ("12", "22")
"""The agencies that pay in two parts."""
_NAMED: Final = 0.8
"""The share of payments that name their statement."""
_ACCEPTED: Final = 0.2
"""The share of statements that an agency accepts before the time is over."""
_NEVER_DISPUTES: Final = frozenset({FAILS, UNREGISTERED, DISPUTES})
_RATES: Final = {"GBP": Decimal("0.8600"), "JPY": Decimal("165.00")}

Act = Callable[[], object]


@dataclass(frozen=True, slots=True)
class YearEnd:
    """How a year ended: the expected sums, and by month the number of statements and of drafts that wait for a person.

    ``refused`` has a message for each day with a line that did not get its expected verdict.
    """

    sums: Mapping[tuple[str, str, str], PaidSums]
    statements: Mapping[str, int]
    waiting: Mapping[str, int]
    refused: tuple[str, ...]

    @property
    def last_period(self) -> str:
        """The month whose drafts wait for a person."""
        return max(self.waiting)

    def problems(self, outcome: ReplayResult) -> list[str]:
        """Return a message for each difference of a replay's outcome from the expected results."""
        counted = {
            (account.agency, account.currency, str(period)): totals
            for account, periods in outcome.periods.items()
            for period, totals in periods.items()
        }
        differing = [
            f"{' '.join(key)}: the figures differ"
            for key in sorted({*counted, *self.sums})
            if _figures(counted.get(key)) != _figures(self.sums.get(key))
        ]
        found = [*self.refused, *differing, *outcome.problems]
        return found if found or outcome.verified else ["counters and sealed files differ"]


def _figures(sums: Any) -> tuple[int, Decimal, Decimal, Decimal, Decimal] | None:  # noqa: ANN401 - Totals or PaidSums
    return sums and (sums.events, sums.gross, sums.refunds, sums.commission, sums.payments)


def run_year(
    stack: Stack, replay: Replay, calendar: Calendar, seed: int = 7, progress: Callable[[float], None] = lambda _: None
) -> YearEnd:
    """Send a year, close its months, and return what must come out; the clock is then a little before its end.

    ``progress`` gets the share that is done. Raises ``ToolError`` if the stack refuses a request.
    """
    return _YearRun(stack, replay, calendar, seed).run(progress)


@dataclass(slots=True)
class _YearRun:
    stack: Stack
    replay: Replay
    calendar: Calendar
    seed: int
    sums: YearSums = field(default_factory=YearSums)
    refused: list[str] = field(default_factory=list)
    released: dict[str, int] = field(default_factory=dict)
    _lines: dict[date, list[DayLine]] = field(default_factory=dict)
    _sales: dict[str, list[EventBody]] = field(default_factory=lambda: defaultdict(list))
    _agenda: dict[date, list[Act]] = field(default_factory=lambda: defaultdict(list))
    _rng: Random = field(default_factory=Random)

    def run(self, progress: Callable[[float], None]) -> YearEnd:
        self._rng = Random(f"{self.seed} finance")  # noqa: S311 - reproducible, not secret  # nosec B311
        self._lines = marketplace_year(self.calendar, self.seed)
        self._find_disputable()
        self.replay.prepare(_documents(self.calendar))
        self.replay.expect_exchange_rates(RateFile(list(_rates(self.calendar, self._rng))))
        first, last_day = self.calendar.month(self.calendar.months), self.calendar.this_month - timedelta(days=1)
        self._bank(UNMATCHED, BASE_CURRENCY, Decimal("480.00"), last_day, {"statement": "S-009999"})
        for day in self.calendar.days():
            if day.day == 1 and day != first:
                self._at(day, _CLOSES, self._close)
            ended = first_of(day, -1)
            if day.day == _RELEASED_ON and first <= ended < self.calendar.month(1):
                self._at(day, _MORNING, partial(self._release, ended))
            for act in self._agenda.pop(day, ()):
                self._at(day, _MORNING, act)
            self._send(day)
            progress(self.calendar.share(day))
        return self._end()

    def _at(self, day: date, at: time, act: Act) -> None:
        """Do something at a time of a day, unless the year ends before it."""
        instant = datetime.combine(day, at)
        if instant <= self.calendar.sent_on(day):
            self.replay.timeline.advance(instant)
            act()

    def _send(self, day: date) -> None:
        lines = self._lines.get(day, [])
        before = dict(self.replay.verdicts)
        self.replay.play(f"{line}\n".encode() for line in lines)
        for verdict in ("recorded", "held"):
            expected = sum(line.verdict == verdict for line in lines)
            got = self.replay.verdicts[verdict] - before.get(verdict, 0)
            if got != expected:
                self.refused.append(f"{day}: {got} of {expected} lines were {verdict}")
        self.sums.add(lines)

    # ------------------------------------------------------------ the end of a month

    def _close(self) -> None:
        """Seal what is left of the month that has ended, and make its drafts."""
        self.stack.invoke("report", {})
        self.stack.invoke("statements", {})

    def _release(self, month: date) -> None:
        """Release the drafts of a month, and plan what its statements bring: payments, answers, disputes."""
        period = f"{month:%Y-%m}"
        for draft in local_api.items(self.stack, "/drafts", period=period):
            path = _path("/drafts", draft)
            local_api.put(self.stack, path, {"decision": "release", "seen": draft["seen"]})
        self.stack.invoke("statements", {})
        on = self.replay.clock.now().date()
        disputed = self._plan_dispute(month, period)
        made = 0
        for account in local_api.items(self.stack, "/receivables"):
            for statement in account["statements"]:
                if statement["period"] == period:
                    made += 1
                    self._plan_payment(account, statement, on)
                    one = {**account, "period": period}
                    if self._rng.random() < _ACCEPTED and _path("/statements", one) != disputed:
                        self._plan(on + timedelta(days=4), partial(self._accept, one))
        self.released[period] = made

    def _plan(self, day: date, act: Act) -> None:
        self._agenda[day].append(act)

    def _plan_payment(self, account: Mapping[str, Any], statement: Mapping[str, Any], on: date) -> None:
        agency = next(one for one in AGENCIES if one.id == account["agency"])
        amount = Decimal(statement["open"])
        if agency.id == FAILS and on >= self.calendar.month(_UNPAID):
            return
        if amount < 0:
            self._pay(account, statement, amount, on.replace(day=_PAID_OUT_ON))
        elif agency.id in _PARTLY:
            part = (amount * 6 / 10).quantize(Decimal(1).scaleb(-MINOR_DIGITS[account["currency"]]))
            self._pay(account, statement, part, on + timedelta(days=agency.pays_after))
            self._pay(account, statement, amount - part, on + timedelta(days=agency.pays_after + 28))
        elif amount:
            late = agency.pays_after + self._rng.randrange(5)
            self._pay(account, statement, amount, on + timedelta(days=late))

    def _pay(self, account: Mapping[str, Any], statement: Mapping[str, Any], amount: Decimal, day: date) -> None:
        named = {"statement": statement["number"]} if self._rng.random() < _NAMED else {}
        reason = f"statement of {statement['period']}"
        self._bank(account["agency"], account["currency"], amount, day, {**named, "reason": reason})

    def _bank(self, agency: str, currency: str, amount: Decimal, day: date, more: Mapping[str, str]) -> None:
        """Add a payment to the lines of a day, if the year has that day."""
        at = datetime.combine(day, time(8, 15, tzinfo=UTC))
        if at > self.calendar.sent_on(day):
            return
        lines = self._lines.setdefault(day, [])
        body = {
            "specversion": "1.0",
            "source": "bank",
            "id": f"transfer-{day:%y%m%d}-{len(lines):04d}",
            "type": "payment.recorded",
            "subject": agency,
            "time": at.isoformat(),
            "data": {"amount": f"{amount:f}", "currency": currency, **more},
        }
        lines.append(DayLine(self.calendar.sent_on(day), "payment", "recorded", body))

    # ------------------------------------------------------------ answers of agencies

    def _accept(self, statement: Mapping[str, Any]) -> None:
        path = f"{_path('/statements', statement)}/status"
        local_api.put(self.stack, path, {"status": "accepted", "reason": "checked against our books", "seen": 0})

    def _find_disputable(self) -> None:
        """Find the sales of each month that nothing refers to."""
        bodies = [line.body for lines in self._lines.values() for line in lines]
        named = {body["data"].get("refers_to") for body in bodies}
        for body in bodies:
            if body["type"] == "sale.recorded" and body["id"] not in named:
                self._sales[body["time"][: len("2026-11")]].append(body)

    def _plan_dispute(self, month: date, period: str) -> str:
        """Plan a dispute of a month's sale, and its end; return the path of its statement.

        Of the last month that is released, the dispute stays open.
        """
        is_last = month == self.calendar.month(2)
        fitting = [sale for sale in self._sales[period] if (sale["subject"] == DISPUTES) == is_last]
        sales = [sale for sale in fitting if is_last or sale["subject"] not in _NEVER_DISPUTES]
        sale = self._rng.choice(sales)
        day = first_of(month, 1)
        statement = _path("/statements", {**_account(sale), "period": period})
        disputes = f"{statement}/disputes"
        reason = "the parcel came back" if is_last or month.month % 2 else "charged twice"
        body = {"source": sale["source"], "id": sale["id"], "reason": reason}
        self._plan(day.replace(day=_DISPUTED_ON), partial(self._dispute, disputes, body))
        if is_last:
            return statement
        end = day.replace(day=_RESOLVED_ON)
        if month.month % 2:
            back = day.replace(day=_RESOLVED_ON - 1)
            at = datetime.combine(back, time(9, tzinfo=UTC))
            correction = {**void(sale, "returned, as the agency says"), "time": at.isoformat()}
            line = DayLine(self.calendar.sent_on(back), "correction", "recorded", correction)
            self._plan(day.replace(day=_DISPUTED_ON), partial(self._lines.setdefault(back, []).append, line))
            self._plan(end, partial(self.stack.invoke, "watch", {}))
        else:
            path = f"{disputes}/{segment(sale['source'])}/{segment(sale['id'])}"
            resolution = {"reason": "agreed by telephone: the sale stands"}
            self._plan(end, partial(local_api.put, self.stack, path, resolution))
        return statement

    def _dispute(self, path: str, body: Mapping[str, Any]) -> None:
        thread = local_api.send(self.stack, "POST", path, body)["thread"]
        text = f"Please look at {body['id']}: {body['reason']}."
        local_api.send(self.stack, "POST", thread, {"id": "m-1", "text": text, "user": "jonas"})

    # ------------------------------------------------------------ the end of the year

    def _end(self) -> YearEnd:
        """Seal what is left, return to hourly reports, and return how the year ended."""
        self.replay.timeline.advance(self.calendar.until - _LAST_REPORT)
        local_api.put(self.stack, "/schedule", {"expression": AFTERWARDS, "reason": "the year is complete"})
        self.replay.timeline.drain()
        self.stack.invoke("report", {})
        self.replay.timeline.drain()
        waiting: defaultdict[str, int] = defaultdict(int)
        for draft in local_api.items(self.stack, "/drafts"):
            waiting[draft["period"]] += 1
        return YearEnd(self.sums.months, self.released, waiting, tuple(self.refused))


def _account(sale: EventBody) -> dict[str, str]:
    return {"agency": sale["subject"], "currency": sale["data"]["currency"]}


def _path(kind: str, one: Mapping[str, Any]) -> str:
    return f"{kind}/{segment(one['agency'])}/{one['currency']}/{one['period']}"


def _documents(calendar: Calendar) -> Iterator[Document | AgencyRow]:
    """Yield the owner, the agencies and the rate cards; and when it is closed, the agency that fails."""
    yield Document("/documents/owner", OWNER)
    begins = f"{calendar.month(calendar.months)}T00:00:00Z"
    for name, rules in RATE_CARDS.items():
        yield Document(f"/documents/{segment(name)}", {"valid_from": begins, "rules": [*rules]})
    for agency in AGENCIES:
        yield AgencyRow(0, agency.id, agency.content)
        if agency.id == FAILS:
            at = datetime.combine(calendar.month(CLOSED_IN), time(tzinfo=UTC)) + timedelta(days=14)
            closed = {**agency.content, "status": "closed", "valid_from": iso_millis(at)}
            yield AgencyRow(0, agency.id, closed, at)


def _rates(calendar: Calendar, rng: Random) -> Iterator[RateRow]:
    """Yield an exchange rate of each week for the pound and the yen; none for the dollar."""
    for day in calendar.days():
        at = datetime.combine(day, time(6, tzinfo=UTC))
        if (day.weekday() == 0 or day == calendar.month(calendar.months)) and at <= calendar.until:
            for currency, rate in _RATES.items():
                units = f"{rate * (1 + Decimal(rng.randrange(-150, 150)) / 10_000):.4f}"
                yield RateRow(at, currency, units, "ECB", 0, BASE_CURRENCY)
