"""`quarterhour replay`: sends a file of events through the whole system, on a clock that follows the events."""

import json
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import chain, islice
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.items import chunks
from quarterhour.counters.keys import account_of, account_pk_bounds, period_of, period_sk_bounds
from quarterhour.counters.queries import CounterQueries
from quarterhour.ledger.events.event import PAYMENT
from quarterhour.ledger.events.http import MAX_BATCH
from quarterhour.ledger.keys import HeldStatus, held_partitions
from quarterhour.model import clock, exact_json
from quarterhour.model.clock import ManualClock, iso_exact
from quarterhour.model.errors import FieldProblem, in_words
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import PeriodTotals, Totals, total
from quarterhour.proof.verify import verify
from quarterhour.registry.agencies.rows import AgencyRow
from quarterhour.reports.keys import part_of_lines
from quarterhour.reports.lines import read_lines as read_sealed_lines
from quarterhour.reports.schedule.expression import Expression
from quarterhour.statements.drafts.draft import FIGURES
from quarterhour.statements.keys import STATEMENT
from quarterhour_tools.bucket import Objects
from quarterhour_tools.emulator.http_api import Request, Response
from quarterhour_tools.emulator.stack import Stack
from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading.event_file import BadLine, EventLine, Group, grouped, read_lines
from quarterhour_tools.loading.exchange_rates import AHEAD, RateFile, RateRow, enter
from quarterhour_tools.loading.order_file import Purchase, purchases
from quarterhour_tools.loading.owner import OwnerFile
from quarterhour_tools.loading.rate_cards import RateCardFile
from quarterhour_tools.replay.ways_in import way_of
from quarterhour_tools.statements.files import ListedStatement, read_statements
from quarterhour_tools.target.remote import segment

LEAP: Final = timedelta(days=366)
"""The longest step of the clock to an event's time."""
VERDICTS: Final = ("recorded", "duplicate", "conflict", "rejected", "unavailable", "held")

_INGEST: Final = "/events"
_ORDERS: Final = "/orders"
_PAID: Final = b'{"from": "open", "to": "paid"}'
_JSON: Final = (("content-type", "application/json"), ("host", "localhost"))
_TAKEN: Final = {201: "recorded", 200: "duplicate"}
_REFUSED: Final = {409: "conflict", 500: "unavailable", 503: "unavailable"}
_REPORT: Final = "report"
"""The function whose schedule a replay always follows."""
_WATCH: Final = "watch"
"""The function whose schedule a replay follows while events are held or statements are due.

Its other work serves alarms and people.
"""
_ATTEMPTS: Final = 10
_RETRY_AFTER: Final = timedelta(seconds=5)
_RUNS: Final = 100
_PAGE: Final = 100
_SERVER_FAULT: Final = 500
_OK: Final = 200
_DRAFTS: Final = "/drafts"
_OF_TAX: Final = ("scheme", "percent", "base", "tax")
_OF_DRAFT: Final = (*("period", "agency", "currency", "state", *FIGURES, "lines", "prior_period_lines", "checks"),)
_BEGINNING: Final = datetime(1900, 1, 1, tzinfo=UTC)

Accounts = Mapping[Account, Totals]
Periods = Mapping[Account, PeriodTotals]


class Document(NamedTuple):
    """A document: the path of its request, and its content."""

    path: str
    content: Mapping[str, Any]


class ReplayedStatement(NamedTuple):
    """A statement: what its list says, and its rows of tax as ``statement.json`` has them."""

    of_list: ListedStatement
    taxes: Sequence[Mapping[str, Any]]

    def as_dict(self) -> dict[str, Any]:
        """Return the statement as programs get it."""
        taxes = [{name: row[name] for name in _OF_TAX} for row in self.taxes]
        return {**self.of_list.as_dict(), "taxes": taxes}


Prepared = AgencyRow | OwnerFile | RateCardFile | Document
"""A version of a document that is written before the first event, or of an agency at its ``registered_at``."""


@dataclass(frozen=True, slots=True)
class ReplayResult:
    """The result of a replay.

    ``counters`` are the accounts' lifetime totals from the live counters, ``ledger`` the same from the sealed lines.
    ``periods`` are the accounts' totals by period from the counters, ``ledger_periods`` the same from the sealed lines.
    ``problems`` are the findings of the proof of the sealed files.
    """

    sent: int
    verdicts: Mapping[str, int]
    runs: int
    sealed_quarter_hours: int
    lines: int
    counters: Accounts
    ledger: Accounts
    periods: Periods
    ledger_periods: Periods
    problems: tuple[str, ...]
    unread: int = 0
    """The number of input lines that are not JSON or could not be read; they were not sent."""
    exchange_rates: Mapping[str, int] = field(default_factory=dict)
    """The numbers of exchange rates that were entered, were refused, or are later than the end; without zeros."""
    statements: tuple[ReplayedStatement, ...] | None = None
    """The statements of every sealed period, by period and account; ``None`` if the replay seals no periods."""
    drafts: tuple[Mapping[str, Any], ...] = ()
    """The drafts without a statement, by period and account, as ``GET /drafts`` shows them."""

    @property
    def undelivered(self) -> int:
        """The number of input lines that the system did not take, however often they were sent."""
        return self.verdicts.get("unavailable", 0)

    @property
    def verified(self) -> bool:
        """Whether all lines were read and delivered, counters equal sealed lines, and every manifest is proven."""
        agree = self.counters == self.ledger and self.periods == self.ledger_periods
        add_up = self.counters == {account: total(periods.values()) for account, periods in self.periods.items()}
        return agree and add_up and not (self.problems or self.unread or self.undelivered)

    def as_dict(self) -> dict[str, Any]:
        """Return the object that ``--json`` prints."""
        return {
            "sent": self.sent,
            **{name: self.verdicts.get(name, 0) for name in VERDICTS},
            "unread": self.unread,
            "runs": self.runs,
            "sealed_quarter_hours": self.sealed_quarter_hours,
            "lines": self.lines,
            "accounts": {str(account): totals.as_dict() for account, totals in self.counters.items()},
            "ledger": {str(account): totals.as_dict() for account, totals in self.ledger.items()},
            "periods": {
                str(account): {str(period): totals.as_dict() for period, totals in periods.items()}
                for account, periods in self.periods.items()
            },
            **({"rates": dict(self.exchange_rates)} if self.exchange_rates else {}),
            **self._statements_as_dict(),
            "verified": self.verified,
        }

    def _statements_as_dict(self) -> dict[str, Any]:
        if self.statements is None:
            return {}
        drafts = [{name: one[name] for name in _OF_DRAFT} for one in self.drafts]
        return {"statements": [one.as_dict() for one in self.statements], "drafts": drafts}


class Replay:
    """A stack on a virtual clock: deliveries, firings and exchange rates happen at their time, in order."""

    def __init__(  # noqa: PLR0913 - the last two are options
        self,
        stack: Stack,
        own_clock: ManualClock,
        report: Callable[[str], None],
        most: int,
        *,
        orders: bool = False,
        statements: bool = False,
        through: str | None = None,
    ) -> None:
        """Take a new stack, and the process's clock; see ``replaying``."""
        self.clock = own_clock
        self.sent = 0
        self.unread = 0
        self.verdicts: Counter[str] = Counter()
        self._stack = stack
        self._report = report
        self._most = most
        self._orders = orders
        self._way = way_of(stack, through) if through else None
        self._prepared: deque[Prepared] = deque()
        self._written: Counter[str] = Counter()
        self._exchange_rates: deque[RateRow] = deque()
        self._exchange_rate_results: Counter[str] = Counter()
        self._firings: list[_Firing] = []
        self._watch: _Firing | None = None
        self._held: set[tuple[str, str]] = set()
        self._waiting = False
        self._sent_since_tick = False
        self.statements = statements
        """Whether periods are sealed; it may be changed."""
        self._cut_off = _BEGINNING
        self._statements_due = False
        self._undelivered = False
        self._leapt = False

    # ------------------------------------------------------------ sending

    def expect_exchange_rates(self, file: RateFile) -> None:
        """Queue exchange rates; each is entered at its time, those before the first event together with it."""
        self._exchange_rates.extend(file.rows)
        self._state(replace(file, rows=[]))

    def prepare(self, documents: Iterable[Prepared]) -> None:
        """Queue documents; each is written when the clock reaches its time, those before the first event with it."""
        self._prepared = deque(sorted([*self._prepared, *documents], key=_registered_at))

    def _write_prepared(self) -> None:
        """Write the documents whose time the clock has reached, each as the next version of its path."""
        while self._prepared and _registered_at(self._prepared[0]) <= self.clock.now():
            document = self._prepared.popleft()
            body = exact_json.canonical({"seen": self._written[document.path], "content": document.content}).encode()
            answer = self._send_until_answered("PUT", document.path, body)
            if answer.status not in _TAKEN:
                raise ToolError(f"PUT {document.path} failed with {answer.status}: {_detail(answer)}")
            self._written[document.path] += 1

    def _state(self, file: RateFile) -> None:
        def put(path: str, body: Any) -> tuple[int, Any]:  # noqa: ANN401 - JSON is any value
            answer = self._send_until_answered("PUT", path, json.dumps(body).encode())
            return answer.status, answer.json()

        self._exchange_rate_results += enter(file, put, self._report)

    def play(self, lines: Iterable[bytes], progress: Callable[[], None] = lambda: None) -> None:
        """Send a file of events, each at its time; ``progress`` is called after each request."""
        now = self.clock.now() if self._firings else None
        # One request carries a whole order, even if it has many items.
        most = sys.maxsize if self._orders else self._most
        for group in grouped(read_lines(lines), now, most, LEAP):
            if isinstance(group, BadLine):
                self.unread += 1
                self._report(f"line {group.number}: unread: {group.problem}")
                continue
            self._start(group.instant)
            self._warn_of_leaps(group)
            self.advance(group.instant)
            self._send(group)
            progress()

    def _send(self, group: Group) -> None:
        """Send a request, and retry unrecorded lines as a client would: after a pause, a limited number of times."""
        self.sent += len(group.lines)
        if self._way:
            self._begin_to_send()
            self._waiting = True
            self._way.send([line.text for line in group.lines], group.instant)
            return
        orders, rest = purchases(group.lines) if self._orders else ([], group.lines)
        for purchase in orders:
            self._buy(purchase)
        waiting = deque((tuple(some), 1) for some in chunks(rest, self._most))
        while waiting:
            lines, tries = waiting.popleft()
            answer = self._post(lines)
            items = _items(answer)
            again = lines if items is None else self._take(items, lines)
            if not again:
                continue
            if items is None and len(lines) > 1:
                # The whole request failed: smaller requests show which line is the cause.
                middle = len(lines) // 2
                waiting.extend([(lines[:middle], 1), (lines[middle:], 1)])
            elif items is None and answer.status < _SERVER_FAULT:
                self._count("rejected", lines[0].number, _detail(answer))
            elif tries < _ATTEMPTS:
                waiting.append((again, tries + 1))
                self.advance(self.clock.now() + _RETRY_AFTER)
            else:
                for line in again:
                    self._count("unavailable", line.number, "not recorded, the ledger was not available")

    def _buy(self, purchase: Purchase) -> None:
        """Send an order and mark it as paid; billing then posts its sales."""
        answer = self._send_until_answered("POST", _ORDERS, purchase.content)
        if answer.status in _TAKEN:
            paid = self._send_until_answered("PUT", f"{_ORDERS}/{segment(purchase.id)}/status", _PAID)
            answer = answer if paid.status in _TAKEN else paid
        verdict = _TAKEN.get(answer.status) or _REFUSED.get(answer.status, "rejected")
        for line in purchase.lines:
            if answer.status in _TAKEN:
                self.verdicts[verdict] += 1
            else:
                self._count(verdict, line.number, _detail(answer))

    def _send_until_answered(self, method: str, path: str, body: bytes = b"", query: str = "") -> Response:
        """Send a request, and retry it after a pause while the server fails, a limited number of times."""
        if body:
            self._begin_to_send()
        request = Request(method, path, query, headers=_JSON, body=body)
        answer = self._stack.request(request)
        for _ in range(_ATTEMPTS - 1):
            if answer.status < _SERVER_FAULT:
                break
            self.advance(self.clock.now() + _RETRY_AFTER)
            self._undelivered = True
            answer = self._stack.request(request)
        return answer

    def _post(self, lines: tuple[EventLine, ...]) -> Response:
        group = Group(self.clock.now(), lines)
        headers = (("content-type", group.content_type), ("host", "localhost"))
        self._begin_to_send()
        return self._stack.request(Request("POST", _INGEST, headers=headers, body=group.body))

    def _take(self, items: list[dict[str, Any]], lines: tuple[EventLine, ...]) -> tuple[EventLine, ...]:
        """Count the verdicts of an answer; return the lines to send again."""
        again = []
        for line, item in zip(lines, items, strict=True):
            verdict = self._verdict(item)
            if verdict == "unavailable":
                again.append(line)
            elif verdict in {"recorded", "duplicate"}:
                self.verdicts[verdict] += 1
            else:
                self._count(verdict, line.number, _reasons(item))
        return tuple(again)

    def _verdict(self, item: Mapping[str, Any]) -> str:
        """Return the verdict of an item; a held event that is sent again is a duplicate, even if that posts it."""
        verdict: str = item["verdict"]
        identity = item["source"], item["id"]
        self._waiting = self._waiting or verdict == "held"
        if identity in self._held and verdict in {"held", "recorded"}:
            return "duplicate"
        if verdict == "held":
            self._held.add(identity)
        return verdict

    def _count(self, verdict: str, number: int, problem: str) -> None:
        self.verdicts[verdict] += 1
        self._report(f"line {number}: {verdict}: {problem}")

    def _warn_of_leaps(self, group: Group) -> None:
        for line in group.lines:
            if not self._leapt and line.time and line.time > group.instant + LEAP:
                self._leapt = True
                self._report(f"line {line.number}: the clock does not follow times more than {LEAP.days} days ahead")

    # ------------------------------------------------------------ time

    def _start(self, instant: datetime) -> None:
        """Set the clock to the first event's time and start the schedules there."""
        if not self._firings:
            self.clock.advance_to(instant)
            schedules = [one for one in self._stack.schedules() if one.function == _REPORT]
            self._firings = [_Firing(one.expression, one.function, one.expression.after(instant)) for one in schedules]
            ticks = (one.expression for one in self._stack.schedules() if one.function == _WATCH)
            self._watch = next((_Firing(tick, _WATCH, tick.after(instant)) for tick in ticks), None)
            self._cut_off = self._next_cut_off()
            self._write_prepared()
            self._state_due()

    def advance(self, until: datetime) -> None:
        """Move the clock to an instant; run all deliveries and firings until then in the order of time."""
        while (due := self._due()) is not None and due <= until:
            self.clock.advance_to(due)
            self._write_prepared()
            self._state_due()
            self._deliver()
            for firing in self._firings:
                if firing.due <= self.clock.now():
                    self._fire(firing)
            for watch in self._watching:
                if watch.due <= self.clock.now():
                    self._tick(watch)
        self.clock.advance_to(until)

    def _due(self) -> datetime | None:
        """Return the instant of the next delivery, firing or exchange rate."""
        known = [self._next_delivery(), *(firing.due for firing in self._firings), *(one.as_of for one in self._next)]
        known += [watch.due for watch in self._watching]
        known += [_registered_at(one) for one in islice(self._prepared, 1)] if self._firings else []
        return min(filter(None, known), default=None)

    @property
    def _watching(self) -> "list[_Firing]":
        """The watch, while it can do something: seal a period, or post what is held if something was sent since."""
        can_post = self._waiting and self._sent_since_tick
        return [self._watch] if self._watch and (self._statements_due or can_post) else []

    @property
    def _next(self) -> list[RateRow]:
        """The next exchange rate, once the clock runs."""
        return [self._exchange_rates[0]] if self._exchange_rates and self._firings else []

    def _state_due(self) -> None:
        while self._exchange_rates and self._exchange_rates[0].as_of <= self.clock.now():
            self._state(RateFile([self._exchange_rates.popleft()]))

    def _next_delivery(self) -> datetime | None:
        if self._undelivered:
            self._stack.read_streams(self.clock.now())
            self._undelivered = False
        return min(filter(None, (pump.due() for pump in self._stack.pumps)), default=None)

    def _deliver(self) -> None:
        for pump in self._stack.pumps:
            if pump.deliver(self.clock.now()):
                self._undelivered = True

    def _fire(self, firing: "_Firing") -> None:
        """Invoke a scheduled function until it reports that its work is complete."""
        firing.due = firing.expression.after(self.clock.now())
        firing.done = False
        self._undelivered = True
        for _ in range(_RUNS):
            try:
                answer = self._stack.invoke(firing.function, {})
            except Exception:  # noqa: BLE001 - the next firing continues the work, as in AWS
                return
            firing.done = answer.get("complete", True)
            if firing.done:
                self._seal_periods()
                return

    def _seal_periods(self) -> None:
        """Follow the watch until it has sealed the periods that are due, if everything up to a cut-off is sealed."""
        now = self.clock.now()
        is_due = QuarterHour.at(now - self._stack.grace).start >= self._cut_off
        if self.statements and is_due and self._watch and not self._statements_due:
            self._statements_due = True
            self._watch.due = self._watch.expression.after(now)

    def _next_cut_off(self) -> datetime:
        """Return the cut-off of the earliest period that is open."""
        calendar = self._stack.calendar
        return calendar.cut_off(calendar.earliest_open(self.clock.now()))

    def _begin_to_send(self) -> None:
        """Note that what is sent now can have effects later: deliveries, and held events that can be posted."""
        self._undelivered = True
        if self._watch and not self._sent_since_tick:
            self._watch.due = self._watch.expression.after(self.clock.now())
            self._sent_since_tick = True

    def _tick(self, watch: "_Firing") -> None:
        """Let the watch post the held events that can be posted by now, and seal the periods that are due."""
        watch.due = watch.expression.after(self.clock.now())
        self._undelivered = True
        try:
            answer = self._stack.invoke(watch.function, {})
        except Exception:  # noqa: BLE001 - the next firing continues the work, as in AWS
            return
        held = answer["held"]
        self._waiting = bool(held["left"]) or not held["complete"]
        self._sent_since_tick = not held["complete"]
        if self._statements_due and answer["statements_due"] is None:
            self._statements_due = False
            self._cut_off = self._next_cut_off()

    # ------------------------------------------------------------ the end

    def finish(self, *, closes: bool = True) -> ReplayResult:
        """Drain the streams, close and report the last quarter-hour, and return the outcome.

        More files may be played afterwards, and finished again: the outcome always covers the whole stack. ``closes``:
        if periods are sealed, let time pass until that of the last event is.
        """
        if self._way:
            self._way.flush()
        self.drain()
        self._begin_to_send()
        for watch in self._watching:
            self.advance(watch.due)
            self.drain()
        until = QuarterHour.at(self.clock.now()).end + self._stack.grace
        for _ in range(_RUNS):
            until = max(
                (firing.expression.after(until - timedelta.resolution) for firing in self._firings), default=until
            )
            self.advance(until)
            if all(firing.done for firing in self._firings):
                break
            until += timedelta.resolution
        self.drain()
        if self.statements and closes:
            self._state_through(max(chain.from_iterable(self._periods().values()), default=None))
        for document in self._prepared:
            self._report(f"{document.path}: not written, as {iso_exact(_registered_at(document))} is after the end")
        return self.outcome()

    def _periods(self) -> Periods:
        return {account: counted_periods(self._stack, account) for account in counted_accounts(self._stack)}

    def _state_through(self, last: Period | None) -> None:
        """Let time pass until a period is sealed; ``None`` if there is no event."""
        if last is None:
            return
        while (cut_off := self._cut_off) <= self._stack.calendar.cut_off(last):
            # Nothing is recorded any more, so the first firing after a cut-off seals all that is left before it.
            for firing in self._firings:
                firing.due = firing.expression.after(
                    max(firing.due, cut_off + self._stack.grace) - timedelta.resolution
                )
            for _ in range(_RUNS):
                self.advance(min((one.due for one in (*self._watching, *self._firings)), default=cut_off))
                if self._cut_off > cut_off:
                    break
            else:
                break
        self.drain()

    def drain(self) -> None:
        """Let time pass until everything that the streams hold is delivered."""
        self._undelivered = True
        while (due := self._next_delivery()) is not None:
            self.advance(due)

    def outcome(self) -> ReplayResult:
        """Return what the stack holds now, compared with what is sealed."""
        bucket = self._stack.bucket
        days = int(self._stack.template.parameters["DedupRetentionDays"])
        proof = verify(bucket.open, bucket.keys(), timedelta(days=days) if days else None)
        ledger, ledger_periods = ledger_totals(bucket)
        unfinished = [f"{firing.function}: did not complete" for firing in self._firings if not firing.done]
        if self._statements_due:
            unfinished.append("statements: a period that is due is not sealed")
        held = held_events(self._stack) if self._held else 0
        verdicts = dict(self.verdicts)
        if self._held:
            verdicts |= {"recorded": verdicts.get("recorded", 0) + len(self._held) - held, "held": held}
        lines = sum(totals.events for totals in ledger.values())
        if self._way:
            verdicts = dict(self._way.verdicts(self.sent, lines, held_events(self._stack)))
        return ReplayResult(
            sent=self.sent,
            verdicts=verdicts,
            runs=proof.reports.runs,
            sealed_quarter_hours=proof.reports.quarter_hours,
            lines=lines,
            counters=counted_accounts(self._stack),
            ledger=ledger,
            periods=self._periods(),
            ledger_periods=ledger_periods,
            problems=(*proof.problems, *unfinished),
            unread=self.unread,
            exchange_rates={
                **self._exchange_rate_results,
                **({AHEAD: len(self._exchange_rates)} if self._exchange_rates else {}),
            },
            statements=tuple(self._released(bucket)) if self.statements else None,
            drafts=tuple(self._without_statement()) if self.statements else (),
        )

    @staticmethod
    def _released(bucket: Objects) -> Iterator[ReplayedStatement]:
        for one in read_statements(bucket):
            with bucket.open(one.prefix + STATEMENT) as file:
                yield ReplayedStatement(one, json.load(file)["taxes"])

    def _without_statement(self) -> Iterator[Mapping[str, Any]]:
        """Yield the drafts without a statement, page by page."""
        query = {"limit": str(_PAGE)}
        while True:
            answer = self._send_until_answered("GET", _DRAFTS, query=urlencode(query))
            if answer.status != _OK:
                raise ToolError(f"GET {_DRAFTS} failed with {answer.status}: {_detail(answer)}")
            page = answer.json()
            yield from page["items"]
            if page["next"] is None:
                return
            query["next"] = page["next"]


@dataclass(slots=True)
class _Firing:
    """A schedule, its next firing, and whether the last firing completed its work.

    The periods of a ``rate`` expression count from 1970-01-01T00:00Z, not from the creation of the schedule, so that
    every replay has the same runs.
    """

    expression: Expression
    function: str
    due: datetime
    done: bool = True


@contextmanager
def replaying(  # noqa: PLR0913 - all but one are options
    stack: Stack,
    report: Callable[[str], None] = lambda _: None,
    most: int = MAX_BATCH,
    *,
    orders: bool = False,
    statements: bool = False,
    through: str | None = None,
) -> Iterator[Replay]:
    """Give the process a clock that follows a replay, for the length of the block.

    ``report`` gets a message for each line that was not read or not recorded. A request has at most ``most`` events.
    ``orders``: send sales that name their order as orders, which are paid at once and billed. ``statements``: seal
    each period at the first tick of the watch after everything up to its cut-off is sealed. ``through``: send events
    by the queue, the bus or the inbox.
    """
    own_clock = ManualClock(_BEGINNING)
    with clock.using(own_clock):
        yield Replay(stack, own_clock, report, most, orders=orders, statements=statements, through=through)


def held_events(stack: Stack) -> int:
    """Return how many events are held."""
    pages = (
        stack.dynamodb.get_paginator("query").paginate(
            TableName=stack.ref("EntityTable"),
            IndexName="gsi1",
            KeyConditionExpression="gsi1pk = :held",
            ExpressionAttributeValues={":held": {"S": partition}},
        )
        for partition in held_partitions(HeldStatus.HELD)
    )
    return sum(len(page["Items"]) for some in pages for page in some)


def counted_accounts(stack: Stack) -> Accounts:
    """Return the lifetime totals of every account from the counters."""
    latest = _counters(stack).latest(*account_pk_bounds(None), _PAGE)
    return {account_of(values["pk"]): Totals.of(values) for values in latest}


def counted_periods(stack: Stack, account: Account) -> PeriodTotals:
    """Return the totals of every period of an account from the counters."""
    counters = _counters(stack)
    counted = counters.counted(counters.state_of(account), *period_sk_bounds(), _PAGE)
    return {period_of(values["sk"]): Totals.of(values) for values in counted}


def _counters(stack: Stack) -> CounterQueries:
    return CounterQueries(EntityReader(stack.dynamodb, stack.ref("EntityTable")))


def ledger_totals(bucket: Objects) -> tuple[Accounts, Periods]:
    """Return the totals of every account, and by period, from the sealed lines, without counters and manifests."""
    accounts: dict[Account, Totals] = {}
    periods: dict[Account, PeriodTotals] = {}
    for key in filter(part_of_lines, bucket.keys()):
        with bucket.open(key) as file:
            for line in read_sealed_lines(file):
                account, period = Account(line["agency"], line["currency"]), Period.parse(line["period"])
                figures = Decimal(line["amount"]), Decimal(line["commission"])
                is_payment = line["type"] == PAYMENT
                of_periods = periods.setdefault(account, {})
                accounts[account] = accounts.get(account, Totals()).plus(*figures, is_payment=is_payment)
                of_periods[period] = of_periods.get(period, Totals()).plus(*figures, is_payment=is_payment)
    return dict(sorted(accounts.items())), periods


def _registered_at(document: Prepared) -> datetime:
    """Return the instant at which a document is written; the beginning of time for that of the first event."""
    return document.registered_at or _BEGINNING if isinstance(document, AgencyRow) else _BEGINNING


def _items(answer: Response) -> list[dict[str, Any]] | None:
    """Return the verdicts of an answer; ``None`` if the whole request failed."""
    found: list[dict[str, Any]] | None = answer.json().get("items")
    return found


def _detail(answer: Response) -> str:
    content = answer.json()
    return str(content.get("detail") or content.get("message") or answer.status)


def _reasons(item: Mapping[str, Any]) -> str:
    """Return in one line why an item was not recorded."""
    problems = item.get("errors") or item.get("held", {}).get("problems", [])
    return in_words(FieldProblem(**one) for one in problems) or "another event is recorded under this source and id"
