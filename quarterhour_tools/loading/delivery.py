"""Delivers batches of lines to `POST /events`: repeatedly, until each line has a final verdict or time is up."""

import json
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

from quarterhour.ledger.events.http import BATCH, MAX_BATCH, MAX_BODY
from quarterhour.model import clock
from quarterhour.model.errors import FieldProblem
from quarterhour.model.fields import printable
from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading.ndjson import Line, are_values, problem_of
from quarterhour_tools.loading.receipts import FINAL, UNAVAILABLE, Item
from quarterhour_tools.operations.remote import Answer, NoAnswerError, reasons

Post = Callable[[str, str, bytes], Answer]
"""Sends a path, a content type and a body; raises ``NoAnswerError``."""

GIVE_UP_AFTER: Final = 300
"""Seconds without progress, unless a person chooses others."""

_ATTEMPTS: Final = 10
"""The most times that a line is sent while others get through: about two minutes."""
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 30.0
_SHOWN: Final = 120
_VERDICTS: Final = frozenset({*FINAL, UNAVAILABLE})
_PROBLEM: Final = "application/problem+json"
_REDIRECTS: Final = 300
_BAD_REQUEST: Final = 400
_NO_ACCESS: Final = frozenset({401, 403})
_TOO_LARGE: Final = 413
_LATER: Final = frozenset({408, 425, 429})
_SERVER_ERROR: Final = 500


class RefusedError(ToolError):
    """The server refuses all requests of this sender: more of them are useless until a person has acted."""


class StoppedError(Exception):
    """Sending has ended before this batch had any outcome."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive lines that fit in a request; ``rejected`` are those of them that cannot be in one, by number.

    A line that repeats a key of an object is not among them: the API refuses its request, and it is rejected then.
    """

    lines: tuple[Line, ...]
    rejected: Mapping[int, Item] = field(default_factory=dict)

    @property
    def sendable(self) -> list[Line]:
        """The lines to send."""
        return [line for line in self.lines if line.number not in self.rejected]


@dataclass(frozen=True, slots=True)
class Verdicts:
    """An answer with the outcome of each event; ``after``: the seconds that the server asks the sender to wait."""

    items: Sequence[Item]
    after: float


@dataclass(frozen=True, slots=True)
class Retry:
    """No usable answer, for a temporary reason; ``after``: the seconds that the server asks the sender to wait."""

    reason: str
    after: float = 0.0


@dataclass(frozen=True, slots=True)
class Smaller:
    """The request is refused as a whole. ``problems`` are those of the API; without any, something before it did."""

    reason: str
    problems: tuple[FieldProblem, ...] = ()


def batches(lines: Iterable[Line]) -> Iterator[Batch]:
    """Yield the lines in batches that fit in a request; lines that cannot be in one are rejected at once."""
    taken: list[Line] = []
    size = 0
    for line in lines:
        if len(taken) == MAX_BATCH or size + len(line.text) + 2 > MAX_BODY:
            yield _checked(taken)
            taken, size = [], 0
        taken.append(line)
        size += len(line.text) + 1
    if taken:
        yield _checked(taken)


def _checked(lines: Sequence[Line]) -> Batch:
    return Batch(tuple(lines), {} if are_values(lines) else _rejections(lines))


def _rejections(lines: Sequence[Line]) -> dict[int, Item]:
    """Return the outcome of each line that cannot be an item of a request."""
    return {line.number: _outcome("rejected", problem) for line in lines if (problem := problem_of(line))}


def interpret(answer: Answer, count: int, now: datetime) -> Verdicts | Retry | Smaller:
    """Return what an answer to a request of so many events means; raise ``RefusedError`` if a person has to act."""
    content = _parsed(answer.content)
    after = seconds_of(answer.headers.get("retry-after", ""), now)
    items = content.get("items") if isinstance(content, dict) else None
    if isinstance(items, list) and len(items) == count and _are_outcomes(items):
        return Verdicts(items, after)
    said = _said(answer)
    if answer.status in _NO_ACCESS:
        raise RefusedError(
            f"POST /events {said}: the sender has no access; use credentials with execute-api:Invoke for this API, and "
            "run it again"
        )
    if answer.status in {_BAD_REQUEST, _TOO_LARGE}:
        ours = answer.headers.get("content-type", "").startswith(_PROBLEM)
        return Smaller(said, _problems(content) if ours else ())
    if answer.status < _REDIRECTS:
        return Retry(f"{said}, without the verdict of each event", after)
    if answer.status in _LATER or answer.status >= _SERVER_ERROR:
        return Retry(said, after)
    raise RefusedError(f"POST /events {said}: is this the address of Quarterhour's API?")


def seconds_of(text: str, now: datetime) -> float:
    """Return the seconds of a header ``Retry-After``, a number or a date; 0 if it is neither."""
    if text.strip().isdecimal():
        return float(text.strip())
    try:
        return max(0.0, (parsedate_to_datetime(text).astimezone(UTC) - now).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return 0.0


def pause(attempt: int, after: float, chance: float) -> float:
    """Return the seconds before another attempt: the server's ``after``, and a pause that doubles, with jitter."""
    longest = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** min(attempt - 1, _ATTEMPTS))
    return after + longest * (1 + chance) / 2


class Delivery:
    """Sends batches; several threads may do so. It gives up after some seconds without any progress."""

    def __init__(  # noqa: PLR0913 - what a test replaces
        self,
        post: Post,
        give_up_after: float,
        report: Callable[[str], None] = lambda _: None,
        *,
        seconds: Callable[[], float] = time.monotonic,
        wait: Callable[[float], object] | None = None,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """Take what sends a request, and what is called with a message when answers begin to fail.

        ``seconds``, ``wait`` and ``chance`` stand for the clock, for sleeping and for randomness.
        """
        self._post = post
        self._give_up_after = give_up_after
        self._report = report
        self._seconds = seconds
        self._stopped = threading.Event()
        self._wait = wait or self._stopped.wait
        self._chance = chance
        self._progress = seconds()
        self._failing = False
        self.ended: str | None = None
        """Why sending has ended: the message for a person."""

    def stop(self, reason: str) -> None:
        """Begin no further request."""
        self.ended = self.ended or reason
        self._stopped.set()

    def note_progress(self) -> None:
        """Record that there is progress now."""
        self._progress = self._seconds()

    def is_over(self) -> bool:
        """Return whether sending was stopped, or gives up now."""
        if self._seconds() - self._progress >= self._give_up_after:
            self.stop(f"no line got a verdict for {self._give_up_after:,.0f} seconds: nothing more was sent")
        return self._stopped.is_set()

    def deliver(self, batch: Batch) -> dict[int, Item]:
        """Send a batch; return the outcome of each line by its number.

        Raises ``StoppedError`` if sending has ended before, or ends now because a person has to act.
        """
        if self._stopped.is_set():
            raise StoppedError
        return {**batch.rejected, **self._deliver(batch.sendable)}

    def _deliver(self, lines: Sequence[Line]) -> dict[int, Item]:
        found: dict[int, Item] = {}
        waiting = list(lines)
        attempt, began = 0, self._seconds()
        while waiting and not self._stopped.is_set():
            attempt += 1
            result = self._attempt(waiting, attempt)
            if isinstance(result, Smaller):
                return {**found, **self._divided(waiting, result)}
            if isinstance(result, Retry):
                found |= {line.number: unanswered(result.reason) for line in waiting}
            else:
                found |= {line.number: item for line, item in zip(waiting, result.items, strict=True)}
                left = [line for line in waiting if found[line.number]["verdict"] == UNAVAILABLE]
                if len(left) < len(waiting):
                    self.note_progress()
                    attempt, began = 1, self._seconds()
                waiting = left
            if attempt >= _ATTEMPTS and self._progress > began:
                break  # others get through: the reason may be in these lines
            if waiting:
                self._wait(min(self._give_up_after, pause(attempt, result.after, self._chance())))
                self.is_over()
        return {**{line.number: unanswered("was not sent") for line in waiting}, **found}

    def _attempt(self, lines: Sequence[Line], attempt: int) -> Verdicts | Retry | Smaller:
        # The unchanged texts, so that numbers keep all their digits.
        body = b"[%b]" % b",".join([line.text for line in lines])
        try:
            result = interpret(self._post("/events", BATCH, body), len(lines), clock.now())
        except NoAnswerError as error:
            result = Retry(f"had no answer: {printable(error, _SHOWN)}")
        except RefusedError as error:
            self.stop(str(error))
            raise StoppedError from error
        reason = _trouble(result)
        if reason and attempt > 1 and not self._failing:  # a single fault is no trouble
            self._failing = True
            self._report(
                f"POST /events {reason}; trying again, up to {self._give_up_after:,.0f} seconds without progress"
            )
        self._failing = self._failing and bool(reason)
        return result

    def _divided(self, lines: Sequence[Line], refusal: Smaller) -> dict[int, Item]:
        """Send what a refused request had without the lines that repeat a key.

        Without such lines, send its halves, down to the event that is the reason.
        """
        if rejected := _rejections(lines):
            return {**rejected, **self._deliver([line for line in lines if line.number not in rejected])}
        if len(lines) > 1:
            half = len(lines) // 2
            return {**self._deliver(lines[:half]), **self._deliver(lines[half:])}
        if not refusal.problems:
            self.stop(
                f"POST /events {refusal.reason}; the request had one event: is this the address of Quarterhour's API?"
            )
            raise StoppedError
        return {line.number: _outcome("rejected", *refusal.problems) for line in lines}


def unanswered(reason: str) -> Item:
    """Return the outcome of a line that has no verdict of the API."""
    return _outcome(UNAVAILABLE, FieldProblem("request", reason, "an answer; send it again"))


def _outcome(verdict: str, *problems: FieldProblem) -> Item:
    return {"verdict": verdict, "errors": [problem.as_dict() for problem in problems]}


def _trouble(result: Verdicts | Retry | Smaller) -> str:
    """Return the temporary reason for which nothing of a request was recorded; an empty text if something was."""
    if isinstance(result, Retry):
        return result.reason
    if isinstance(result, Verdicts) and all(item["verdict"] == UNAVAILABLE for item in result.items):
        return f"was answered, but all events are unavailable: {printable(reasons(result.items[0]), _SHOWN)}".rstrip(
            ": "
        )
    return ""


def _parsed(content: bytes) -> Any:  # noqa: ANN401 - JSON is any value
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _are_outcomes(items: Sequence[Any]) -> bool:
    try:
        for item in items:
            if "errors" in item or "held" in item:
                reasons(item)  # raises for another shape
        return all(item["index"] == index and item["verdict"] in _VERDICTS for index, item in enumerate(items))
    except (LookupError, TypeError, AttributeError):
        return False


def _problems(content: Any) -> tuple[FieldProblem, ...]:  # noqa: ANN401 - JSON is any value
    try:
        return tuple(FieldProblem(**one) for one in content["errors"])
    except (LookupError, TypeError):
        return ()


def _said(answer: Answer) -> str:
    text = printable(answer.content[: 4 * _SHOWN].decode(errors="replace").strip(), _SHOWN)
    return f"was answered with {answer.status}: {text}".rstrip(": ")
