"""Sends files of events through the whole system, each event at its time."""

import json
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import chain, islice
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from quarterhour.aws.items import chunks
from quarterhour.ledger.events.http import MAX_BATCH
from quarterhour.model import clock, exact_json
from quarterhour.model.clock import ManualClock, iso_exact
from quarterhour.model.errors import FieldProblem, in_words
from quarterhour.model.periods import Period
from quarterhour.proof.verify import verify
from quarterhour.registry.agencies.rows import AgencyRow
from quarterhour.statements.drafts.draft import DraftState
from quarterhour.statements.releases.checks import CONFIRMABLE, Level
from quarterhour.statements.releases.requests import Desired
from quarterhour_tools.emulator.http_api import Request, Response
from quarterhour_tools.emulator.stack import Stack
from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading.event_file import BadLine, EventLine, Group, grouped, read_lines
from quarterhour_tools.loading.exchange_rates import AHEAD, RateFile, RateRow, enter
from quarterhour_tools.loading.order_file import Purchase, purchases
from quarterhour_tools.loading.owner import OwnerFile
from quarterhour_tools.loading.rate_cards import RateCardFile
from quarterhour_tools.replay.result import (
    Periods,
    ReplayResult,
    counted_accounts,
    counted_periods,
    held_events,
    ledger_totals,
    replayed_statements,
)
from quarterhour_tools.replay.timeline import BEGINNING, Timeline
from quarterhour_tools.replay.ways_in import way_of
from quarterhour_tools.target.remote import segment

LEAP: Final = timedelta(days=366)
"""The longest step of the clock to an event's time."""

_INGEST: Final = "/events"
_ORDERS: Final = "/orders"
_PAID: Final = b'{"from": "open", "to": "paid"}'
_JSON: Final = (("content-type", "application/json"), ("host", "localhost"))
_TAKEN: Final = {201: "recorded", 200: "duplicate"}
_REFUSED: Final = {409: "conflict", 500: "unavailable", 503: "unavailable"}
_ATTEMPTS: Final = 10
_RETRY_AFTER: Final = timedelta(seconds=5)
_PAGE: Final = 100
_SERVER_FAULT: Final = 500
_OK: Final = 200
_DRAFTS: Final = "/drafts"


class Document(NamedTuple):
    """A document: the path of its request, and its content."""

    path: str
    content: Mapping[str, Any]


Prepared = AgencyRow | OwnerFile | RateCardFile | Document
"""A version of a document that is written before the first event, or of an agency at its ``registered_at``."""


class Replay:
    """A stack on a virtual clock: deliveries, firings and exchange rates happen at their time, in order."""

    def __init__(  # noqa: PLR0913 - the last four are options
        self,
        stack: Stack,
        own_clock: ManualClock,
        report: Callable[[str], None],
        most: int,
        *,
        orders: bool = False,
        statements: bool = False,
        through: str | None = None,
        reason: str | None = None,
    ) -> None:
        """Take a new stack, and the process's clock; see ``replaying``."""
        confirm = self._confirm if reason else None
        self.timeline = Timeline(stack, own_clock, self._due, self._catch_up, statements=statements, confirm=confirm)
        self._reason = reason
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
        self._exchange_rates = deque[RateRow]()
        self._exchange_rate_results: Counter[str] = Counter()
        self._held: set[tuple[str, str]] = set()
        self._leapt = False

    # ------------------------------------------------------------ sending

    def expect_exchange_rates(self, file: RateFile) -> None:
        """Queue exchange rates; each is entered at its time, those before the first event together with it."""
        self._exchange_rates.extend(file.rows)
        self._enter(replace(file, rows=[]))

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

    def _enter(self, file: RateFile) -> None:
        def put(path: str, body: Any) -> tuple[int, Any]:  # noqa: ANN401 - JSON is any value
            answer = self._send_until_answered("PUT", path, json.dumps(body).encode())
            return answer.status, answer.json()

        self._exchange_rate_results += enter(file, put, self._report)

    def play(self, lines: Iterable[bytes], progress: Callable[[], None] = lambda: None) -> None:
        """Send a file of events, each at its time; ``progress`` is called after each request."""
        now = self.clock.now() if self.timeline.runs else None
        # One request carries a whole order, even if it has many items.
        most = sys.maxsize if self._orders else self._most
        for group in grouped(read_lines(lines), now, most, LEAP):
            if isinstance(group, BadLine):
                self.unread += 1
                self._report(f"line {group.number}: unread: {group.problem}")
                continue
            self.timeline.start(group.instant)
            self._warn_of_leaps(group)
            self.timeline.advance(group.instant)
            self._send(group)
            progress()

    def _send(self, group: Group) -> None:
        """Send a request, and retry unrecorded lines as a client would: after a pause, a limited number of times."""
        self.sent += len(group.lines)
        if self._way:
            self.timeline.begin_to_send()
            self.timeline.waiting = True
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
                self.timeline.advance(self.clock.now() + _RETRY_AFTER)
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
            self.timeline.begin_to_send()
        request = Request(method, path, query, headers=_JSON, body=body)
        answer = self._stack.request(request)
        for _ in range(_ATTEMPTS - 1):
            if answer.status < _SERVER_FAULT:
                break
            self.timeline.pause(_RETRY_AFTER)
            answer = self._stack.request(request)
        return answer

    def _post(self, lines: tuple[EventLine, ...]) -> Response:
        group = Group(self.clock.now(), lines)
        headers = (("content-type", group.content_type), ("host", "localhost"))
        self.timeline.begin_to_send()
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
        self.timeline.waiting = self.timeline.waiting or verdict == "held"
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

    @property
    def clock(self) -> ManualClock:
        """The clock of the process."""
        return self.timeline.clock

    def _due(self) -> datetime | None:
        """Return when the next document or exchange rate is to be written, once the clock runs."""
        if not self.timeline.runs:
            return None
        known = [_registered_at(one) for one in islice(self._prepared, 1)]
        known += [one.as_of for one in islice(self._exchange_rates, 1)]
        return min(known, default=None)

    def _catch_up(self) -> None:
        """Write the documents and enter the exchange rates whose time the clock has reached."""
        self._write_prepared()
        while self._exchange_rates and self._exchange_rates[0].as_of <= self.clock.now():
            self._enter(RateFile([self._exchange_rates.popleft()]))

    # ------------------------------------------------------------ the end

    def finish(self, *, closes: bool = True) -> ReplayResult:
        """Drain the streams, close and report the last quarter-hour, and return the outcome.

        More files may be played afterwards, and finished again: the outcome always covers the whole stack. ``closes``:
        if periods are sealed, let time pass until that of the last event is.
        """
        if self._way:
            self._way.flush()
        self.timeline.close_quarter_hour()
        if self.timeline.statements and closes:
            self.timeline.seal_through(max(chain.from_iterable(self._periods().values()), default=None))
        for document in self._prepared:
            self._report(f"{document.path}: not written, as {iso_exact(_registered_at(document))} is after the end")
        return self.outcome()

    def _periods(self) -> Periods:
        return {account: counted_periods(self._stack, account) for account in counted_accounts(self._stack)}

    def outcome(self) -> ReplayResult:
        """Return what the stack holds now, compared with what is sealed."""
        bucket = self._stack.bucket
        days = int(self._stack.template.parameters["DedupRetentionDays"])
        proof = verify(bucket.open, bucket.keys(), timedelta(days=days) if days else None)
        ledger, ledger_periods = ledger_totals(bucket)
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
            problems=(*proof.problems, *self.timeline.unfinished()),
            unread=self.unread,
            exchange_rates={
                **self._exchange_rate_results,
                **({AHEAD: len(self._exchange_rates)} if self._exchange_rates else {}),
            },
            statements=tuple(replayed_statements(bucket)) if self.timeline.statements else None,
            drafts=tuple(self._without_statement()) if self.timeline.statements else (),
            first_period=self._first_period(),
        )

    def _first_period(self) -> Period | None:
        """Return the first period with statements that is set."""
        first = self._send_until_answered("GET", "/me").json()["first_period"]
        return Period.parse(first) if first else None

    def _confirm(self) -> bool:
        """Release the drafts that only a check of their taxes holds back; return whether there is one."""
        found = [one for one in self._without_statement() if _is_confirmable(one)]
        for one in found:
            path = f"{_DRAFTS}/{segment(one['agency'])}/{one['currency']}/{one['period']}"
            decision = {"decision": Desired.RELEASE.value, "seen": one["seen"], "reason": self._reason}
            answer = self._send_until_answered("PUT", path, json.dumps(decision).encode())
            if answer.status != _OK:
                raise ToolError(f"PUT {path} failed with {answer.status}: {_detail(answer)}")
        return bool(found)

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


@contextmanager
def replaying(  # noqa: PLR0913 - all but one are options
    stack: Stack,
    report: Callable[[str], None] = lambda _: None,
    most: int = MAX_BATCH,
    *,
    orders: bool = False,
    statements: bool = False,
    through: str | None = None,
    reason: str | None = None,
) -> Iterator[Replay]:
    """Give the process a clock that follows a replay, for the length of the block.

    ``report`` gets a message for each line that was not read or not recorded. A request has at most ``most`` events.
    ``orders``: send sales that name their order as orders, which are paid at once and billed. ``statements``: seal
    each period at the first tick of the watch after everything up to its cut-off is sealed. ``through``: send events
    by the queue, the bus or the inbox. ``reason``: why the taxes of drafts are right that only their check holds back.
    """
    own_clock = ManualClock(BEGINNING)
    with clock.using(own_clock):
        options: dict[str, Any] = {"orders": orders, "statements": statements, "through": through, "reason": reason}
        yield Replay(stack, own_clock, report, most, **options)


def _registered_at(document: Prepared) -> datetime:
    """Return the instant at which a document is written; the beginning of time for that of the first event."""
    return document.registered_at or BEGINNING if isinstance(document, AgencyRow) else BEGINNING


def _is_confirmable(draft: Mapping[str, Any]) -> bool:
    """Return whether a draft is open and fails checks that a release with a reason lifts, and no others."""
    failed = {one["check"] for one in draft["checks"] if one["level"] == Level.FAILED}
    return draft["state"] == DraftState.OPEN and bool(failed) and failed <= CONFIRMABLE


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
