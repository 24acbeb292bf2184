"""`quarterhour replay`: a file of events goes through the whole system on a clock that follows the events."""

import json
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final
from urllib.parse import quote

from quarterhour.aws.entity import LATEST, window_partitions
from quarterhour.aws.items import chunks, from_item
from quarterhour.counters.keys import ACCOUNTS, account_of
from quarterhour.model import clock
from quarterhour.model.clock import ManualClock
from quarterhour.model.identifiers import Account
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import Totals
from quarterhour.reports.keys import quarter_hour_of_lines
from quarterhour.reports.lines import read_lines as read_sealed_lines
from quarterhour.reports.verify import verify
from quarterhour.schedule.expression import Expression
from quarterhour_tools.bucket import Bucket
from quarterhour_tools.emulator.http_api import Request, Response
from quarterhour_tools.emulator.stack import Stack
from quarterhour_tools.loading.event_file import BadLine, Group, Line, grouped, read_lines
from quarterhour_tools.loading.exchange_rates import AHEAD, BadRow, Row, state
from quarterhour_tools.loading.order_file import Purchase, purchases

MOST: Final = 500
"""Events that one request may carry."""
LEAP: Final = timedelta(days=366)
"""How far ahead an event's time may take the clock."""
VERDICTS: Final = ("recorded", "duplicate", "conflict", "rejected", "unavailable")

_INGEST: Final = "/events"
_ORDERS: Final = "/orders"
_PAID: Final = b'{"from": "open", "to": "paid"}'
_JSON: Final = (("content-type", "application/json"), ("host", "localhost"))
_TAKEN: Final = {201: "recorded", 200: "duplicate"}
_REFUSED: Final = {409: "conflict", 500: "unavailable", 503: "unavailable"}
_REPORT: Final = "report"
"""The function whose schedule a replay follows: nobody is there to be told that one is late, or to change it."""
_ATTEMPTS: Final = 10
_RETRY_AFTER: Final = timedelta(seconds=5)
_RUNS: Final = 100
_SERVER_FAULT: Final = 500
_BEGINNING: Final = datetime(1900, 1, 1, tzinfo=UTC)

Accounts = Mapping[Account, Totals]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a replay.

    ``counters`` are the accounts' lifetime totals as counted live, ``ledger`` the same added up from the sealed
    lines; ``problems`` are those that the proof of the sealed files has found.
    """

    sent: int
    verdicts: Mapping[str, int]
    runs: int
    sealed_buckets: int
    lines: int
    counters: Accounts
    ledger: Accounts
    problems: tuple[str, ...]
    unread: int = 0
    """Lines of the input that are no JSON: they were not sent."""
    rates: Mapping[str, int] = field(default_factory=dict)
    """How many rates were stated, and refused, and lay ahead of the end; none of what did not happen."""

    @property
    def verified(self) -> bool:
        """Whether all was read, counters and sealed lines agree to the last decimal, and every manifest is proven."""
        return self.counters == self.ledger and not self.problems and not self.unread

    def as_dict(self) -> dict[str, Any]:
        """Return it as ``--json`` prints it."""
        return {
            "sent": self.sent,
            **{name: self.verdicts.get(name, 0) for name in VERDICTS},
            "unread": self.unread,
            "runs": self.runs,
            "sealed_buckets": self.sealed_buckets,
            "lines": self.lines,
            "accounts": {str(account): totals.as_dict() for account, totals in self.counters.items()},
            "ledger": {str(account): totals.as_dict() for account, totals in self.ledger.items()},
            **({"rates": dict(self.rates)} if self.rates else {}),
            "verified": self.verified,
        }


class Replay:
    """A stack on a clock of its own: what is due happens when the clock comes to it, in the order of time."""

    def __init__(
        self, stack: Stack, own_clock: ManualClock, tell: Callable[[str], None], most: int, *, orders: bool = False
    ) -> None:
        """Take a new stack, and the clock that the process goes by; see ``replaying``."""
        self.clock = own_clock
        self.sent = 0
        self.unread = 0
        self.verdicts: Counter[str] = Counter()
        self._stack = stack
        self._tell = tell
        self._most = most
        self._orders = orders
        self._rates: deque[Row] = deque()
        self._said: Counter[str] = Counter()
        self._firings: list[_Firing] = []
        self._undelivered = False
        self._leapt = False

    # ------------------------------------------------------------ sending

    def expect(self, rows: Iterable[Row], bad: Iterable[BadRow]) -> None:
        """Take rates, each to be stated when the clock comes to it; those of before the first event, with that."""
        self._rates.extend(rows)
        self._state([], bad)

    def _state(self, rows: Iterable[Row], bad: Iterable[BadRow] = ()) -> None:
        def put(path: str, body: Any) -> tuple[int, Any]:  # noqa: ANN401 - JSON is any value
            answer = self._insist("PUT", path, json.dumps(body).encode())
            return answer.status, answer.json()

        self._said += state(rows, bad, put, self._tell)

    def play(self, lines: Iterable[bytes], progress: Callable[[], None] = lambda: None) -> None:
        """Send a file of events, each when the clock has come to its time; ``progress`` hears of each request."""
        now = self.clock.now() if self._firings else None
        # An order goes in one request, however many items it has.
        most = sys.maxsize if self._orders else self._most
        for group in grouped(read_lines(lines), now, most, LEAP):
            if isinstance(group, BadLine):
                self.unread += 1
                self._tell(f"line {group.number}: unread: {group.problem}")
                continue
            self._start(group.instant)
            self._warn_of_leaps(group)
            self.advance(group.instant)
            self._send(group)
            progress()

    def _send(self, group: Group) -> None:
        """Send a request, and again what could not be recorded, as a client would: later, and not for ever."""
        self.sent += len(group.lines)
        bought, rest = purchases(group.lines) if self._orders else ([], group.lines)
        for purchase in bought:
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
                # It failed as a whole: smaller requests show which line it is.
                middle = len(lines) // 2
                waiting.extend([(lines[:middle], 1), (lines[middle:], 1)])
            elif items is None and answer.status < _SERVER_FAULT:
                self._note("rejected", lines[0].number, _detail(answer))
            elif tries < _ATTEMPTS:
                waiting.append((again, tries + 1))
                self.advance(self.clock.now() + _RETRY_AFTER)
            else:
                for line in again:
                    self._note("unavailable", line.number, "not recorded, the ledger was not available")

    def _buy(self, purchase: Purchase) -> None:
        """Send an order, and have it paid; the billing does the rest."""
        answer = self._insist("POST", _ORDERS, purchase.content)
        if answer.status in _TAKEN:
            paid = self._insist("PUT", f"{_ORDERS}/{quote(quote(purchase.id, safe=''), safe='')}/status", _PAID)
            answer = answer if paid.status in _TAKEN else paid
        verdict = _TAKEN.get(answer.status) or _REFUSED.get(answer.status, "rejected")
        for line in purchase.lines:
            if answer.status in _TAKEN:
                self.verdicts[verdict] += 1
            else:
                self._note(verdict, line.number, _detail(answer))

    def _insist(self, method: str, path: str, body: bytes) -> Response:
        """Send a request, and again while the answer is a fault of the server: later, and not for ever."""
        self._undelivered = True
        request = Request(method, path, headers=_JSON, body=body)
        answer = self._stack.request(request)
        for _ in range(_ATTEMPTS - 1):
            if answer.status < _SERVER_FAULT:
                break
            self.advance(self.clock.now() + _RETRY_AFTER)
            self._undelivered = True
            answer = self._stack.request(request)
        return answer

    def _post(self, lines: tuple[Line, ...]) -> Response:
        group = Group(self.clock.now(), lines)
        headers = (("content-type", group.content_type), ("host", "localhost"))
        self._undelivered = True
        return self._stack.request(Request("POST", _INGEST, headers=headers, body=group.body))

    def _take(self, items: list[dict[str, Any]], lines: tuple[Line, ...]) -> tuple[Line, ...]:
        """Note the verdicts of an answer; return the lines that are to be sent again."""
        again = []
        for line, item in zip(lines, items, strict=True):
            verdict = item["verdict"]
            if verdict == "unavailable":
                again.append(line)
            elif verdict in {"recorded", "duplicate"}:
                self.verdicts[verdict] += 1
            else:
                self._note(verdict, line.number, _reasons(item))
        return tuple(again)

    def _note(self, verdict: str, number: int, problem: str) -> None:
        self.verdicts[verdict] += 1
        self._tell(f"line {number}: {verdict}: {problem}")

    def _warn_of_leaps(self, group: Group) -> None:
        for line in group.lines:
            if not self._leapt and line.time and line.time > group.instant + LEAP:
                self._leapt = True
                self._tell(f"line {line.number}: the clock does not follow times more than {LEAP.days} days ahead")

    # ------------------------------------------------------------ time

    def _start(self, instant: datetime) -> None:
        """Set the clock to the first event's time; from there on the schedules fire."""
        if not self._firings:
            self.clock.advance_to(instant)
            schedules = [one for one in self._stack.schedules() if one.function == _REPORT]
            self._firings = [_Firing(one.expression, one.function, one.expression.after(instant)) for one in schedules]
            self._state_due()

    def advance(self, until: datetime) -> None:
        """Let all happen that is due until an instant, deliveries and firings in the order of time."""
        while (due := self._due()) is not None and due <= until:
            self.clock.advance_to(due)
            self._state_due()
            self._deliver()
            for firing in self._firings:
                if firing.due <= self.clock.now():
                    self._fire(firing)
        self.clock.advance_to(until)

    def _due(self) -> datetime | None:
        """Return the instant of the next delivery, firing or rate."""
        known = [self._next_delivery(), *(firing.due for firing in self._firings), *(one.as_of for one in self._next)]
        return min(filter(None, known), default=None)

    @property
    def _next(self) -> list[Row]:
        """The next rate, once the clock runs."""
        return [self._rates[0]] if self._rates and self._firings else []

    def _state_due(self) -> None:
        while self._rates and self._rates[0].as_of <= self.clock.now():
            self._state([self._rates.popleft()])

    def _next_delivery(self) -> datetime | None:
        if self._undelivered:
            for pump in self._stack.pumps:
                pump.read(self.clock.now())
            self._undelivered = False
        return min(filter(None, (pump.due() for pump in self._stack.pumps)), default=None)

    def _deliver(self) -> None:
        for pump in self._stack.pumps:
            if pump.deliver(self.clock.now()):
                self._undelivered = True

    def _fire(self, firing: "_Firing") -> None:
        """Invoke a scheduled function, and again while it says that its time ran short."""
        firing.due = firing.expression.after(self.clock.now())
        firing.done = False
        self._undelivered = True
        for _ in range(_RUNS):
            try:
                answer = self._stack.invoke(firing.function, {})
            except Exception:  # noqa: BLE001 - the next firing goes on from there, as in AWS
                return
            firing.done = answer.get("complete", True)
            if firing.done:
                return

    # ------------------------------------------------------------ the end

    def finish(self) -> Outcome:
        """Drain the streams, let the last quarter-hour close and be reported, and add everything up.

        More may be played afterwards, and finished again: the outcome is always that of the whole stack.
        """
        self._drain()
        until = QuarterHour.at(self.clock.now()).end + self._stack.grace
        for _ in range(_RUNS):
            until = max(
                (firing.expression.after(until - timedelta.resolution) for firing in self._firings), default=until
            )
            self.advance(until)
            if all(firing.done for firing in self._firings):
                break
            until += timedelta.resolution
        self._drain()
        return self._outcome()

    def _drain(self) -> None:
        while (due := self._next_delivery()) is not None:
            self.advance(due)

    def _outcome(self) -> Outcome:
        bucket = self._stack.bucket
        days = int(self._stack.template.parameters["DedupRetentionDays"])
        proof = verify(bucket.open, bucket.keys(), timedelta(days=days) if days else None)
        ledger = ledger_accounts(bucket)
        unfinished = [f"{firing.function}: did not come to its end" for firing in self._firings if not firing.done]
        return Outcome(
            sent=self.sent,
            verdicts=dict(self.verdicts),
            runs=proof.runs,
            sealed_buckets=proof.buckets,
            lines=sum(totals.events for totals in ledger.values()),
            counters=counted_accounts(self._stack),
            ledger=ledger,
            problems=(*proof.problems, *unfinished),
            unread=self.unread,
            rates={**self._said, **({AHEAD: len(self._rates)} if self._rates else {})},
        )


@dataclass(slots=True)
class _Firing:
    """A schedule, its next firing, and whether the last one did all that was to do.

    Rates count from midnight of 1970-01-01, not from when the schedule was made: every replay has the same runs.
    """

    expression: Expression
    function: str
    due: datetime
    done: bool = True


@contextmanager
def replaying(
    stack: Stack, tell: Callable[[str], None] = lambda _: None, most: int = MOST, *, orders: bool = False
) -> Iterator[Replay]:
    """Give the process a clock that follows a replay, for the length of the block.

    ``tell`` hears of each line that was not read or not recorded; ``most`` events go in one request. ``orders``: sales
    that name their order are sent as orders, which are paid at once and billed.
    """
    own_clock = ManualClock(_BEGINNING)
    with clock.using(own_clock):
        yield Replay(stack, own_clock, tell, most, orders=orders)


def counted_accounts(stack: Stack) -> Accounts:
    """Return the lifetime totals of every account, as the counters have them."""
    found: dict[Account, Totals] = {}
    for partition in window_partitions(LATEST):
        pages = stack.dynamodb.get_paginator("query").paginate(
            TableName=stack.ref("EntityTable"),
            IndexName="gsi1",
            KeyConditionExpression="gsi1pk = :partition AND begins_with(gsi1sk, :accounts)",
            ExpressionAttributeValues={":partition": {"S": partition}, ":accounts": {"S": ACCOUNTS}},
        )
        for page in pages:
            for item in map(from_item, page["Items"]):
                found[account_of(item["pk"])] = Totals.of(item)
    return dict(sorted(found.items()))


def ledger_accounts(bucket: Bucket) -> Accounts:
    """Add up every account from the sealed lines, on a way of its own beside counters and manifests."""
    found: dict[Account, Totals] = {}
    for key in filter(quarter_hour_of_lines, bucket.keys()):
        with bucket.open(key) as file:
            for line in read_sealed_lines(file):
                account = Account(line["agency"], line["currency"])
                before = found.get(account, Totals())
                found[account] = before.plus(Decimal(line["amount"]), Decimal(line["commission"]))
    return dict(sorted(found.items()))


def _items(answer: Response) -> list[dict[str, Any]] | None:
    """Return the verdicts of an answer, ``None`` where it has none: the request failed as a whole."""
    found: list[dict[str, Any]] | None = answer.json().get("items")
    return found


def _detail(answer: Response) -> str:
    told = answer.json()
    return str(told.get("detail") or told.get("message") or answer.status)


def _reasons(item: Mapping[str, Any]) -> str:
    """Say in one line why an item was not recorded."""
    errors = item.get("errors") or []
    told = [f"{one['field']} {one['problem']}, expected {one['expected']}".strip() for one in errors]
    return "; ".join(told) or "another event stands under this source and id"
