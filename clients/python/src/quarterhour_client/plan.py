"""Decisions of sending, as pure functions: what fits in a request, what an answer means, how long to wait."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timezone
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from quarterhour_client.events import MAX_BODY
from quarterhour_client.verdicts import Problem, Result, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

MAX_BATCH = 500
"""Events of a request."""
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 60.0
_OK = 200
_REDIRECTS = 300
_BAD_REQUEST = 400
_TOO_LARGE = 413
_LATER = frozenset({408, 425, 429})
_SERVER_ERROR = 500
_SHOWN = 200


class HasBody(Protocol):
    """An event as the bytes of its JSON."""

    @property
    def body(self) -> bytes:
        """The bytes."""


class Waiting(NamedTuple):
    """An event that is to be sent; ``seq`` is its number in the spool or in the call."""

    seq: int
    source: str
    id: str
    body: bytes


@dataclass(frozen=True)
class Answer:
    """A response of the server; the names of ``headers`` are in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes


@dataclass(frozen=True)
class Verdicts:
    """An answer with the outcome of each event. ``after``: the seconds that the server asks to wait for the rest."""

    results: Sequence[Result]
    after: float = 0.0


@dataclass(frozen=True)
class Retry:
    """No usable answer, for a temporary reason; ``after``: the seconds that the server asks to wait."""

    reason: str
    after: float = 0.0


@dataclass(frozen=True)
class Refused:
    """The server refuses this sender, whatever the events are: a person must act."""

    status: int
    reason: str


@dataclass(frozen=True)
class Split:
    """The request is refused as a whole: send its halves. Of a single event, ``problems`` are why it is rejected."""

    problems: tuple[Problem, ...]


E = TypeVar("E", bound=HasBody)
Meaning = Verdicts | Retry | Refused | Split


def batches(events: Iterable[E], most: int = MAX_BATCH) -> Iterator[list[E]]:
    """Yield the events in lists that fit in a request."""
    taken: list[E] = []
    size = 0
    for one in events:
        if len(taken) == most or (taken and size + len(one.body) + 2 > MAX_BODY):
            yield taken
            taken, size = [], 0
        taken.append(one)
        size += len(one.body) + 1
    if taken:
        yield taken


def request_body(events: Iterable[Waiting]) -> bytes:
    """Return the body of a request: a JSON array."""
    return b"[%b]" % b",".join([one.body for one in events])


def meaning(answer: Answer, events: Sequence[Waiting], now: datetime) -> Meaning:
    """Return what an answer to a request with these events means."""
    content = _parsed(answer.content)
    after = seconds_of(answer.headers.get("retry-after", ""), now)
    results = _results(content, events)
    if results is not None:
        return Verdicts(results, after)
    reason = said(answer)
    if answer.status == _TOO_LARGE or (answer.status == _BAD_REQUEST and (len(events) > 1 or _problems(content))):
        return Split(_problems(content) or (Problem("", reason, "a smaller event"),))
    if _OK <= answer.status < _REDIRECTS:
        return Retry(f"{reason}, without a verdict of each event", after)
    if answer.status in _LATER or answer.status >= _SERVER_ERROR:
        return Retry(reason, after)
    return Refused(answer.status, reason)


def is_temporary(status: int) -> bool:
    """Return whether the same request may succeed later."""
    return status in _LATER or status >= _SERVER_ERROR


def rejected(event: Waiting, problems: tuple[Problem, ...]) -> Result:
    """Return the outcome of an event that is refused before it has a verdict."""
    return Result(event.source, event.id, Verdict.REJECTED, problems=problems)


def unanswered(event: Waiting, reason: str) -> Result:
    """Return the outcome of an event without a verdict of the server."""
    return Result(event.source, event.id, Verdict.UNAVAILABLE, problems=(Problem("", reason, "the same event again"),))


def pause(attempt: int, after: float, chance: float) -> float:
    """Return the seconds before the next attempt: full jitter over a span that doubles, and never before ``after``.

    ``attempt`` counts those that failed, from 1; ``chance`` is from 0 to 1.
    """
    longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(attempt - 1, 20))
    return after + longest * chance


def seconds_of(text: str, now: datetime) -> float:
    """Return the seconds of a header ``Retry-After``, a number or a date; 0 if it is neither."""
    text = text.strip()
    if text.isascii() and text.isdecimal():
        return float(text[:9])
    try:
        at = parsedate_to_datetime(text)
        return max(0.0, (at.astimezone(timezone.utc) - now).total_seconds())
    except (ValueError, TypeError, IndexError, OverflowError):
        return 0.0


def said(answer: Answer) -> str:
    """Return the status and the beginning of an answer, for a message."""
    text = answer.content[:_SHOWN].decode(errors="replace").strip()
    shown = "".join(one if one.isprintable() else " " for one in text)
    return f"was answered with {answer.status}: {shown}".rstrip(": ")


def _parsed(content: bytes) -> Any:  # noqa: ANN401 - JSON is any value
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _results(content: Any, events: Sequence[Waiting]) -> list[Result] | None:  # noqa: ANN401 - JSON is any value
    """Return the outcome of each event; ``None`` if the content does not have all of them."""
    items = content.get("items") if isinstance(content, dict) else None
    if not isinstance(items, list) or len(items) != len(events):
        return None
    try:
        return [_result(item, event, index) for index, (item, event) in enumerate(zip(items, events))]  # noqa: B905 - of one length
    except (LookupError, TypeError, ValueError, AttributeError):
        return None


def _result(item: Mapping[str, Any], event: Waiting, index: int) -> Result:
    verdict = _VERDICTS[item["verdict"]]
    if item["index"] != index:
        raise ValueError(item["index"])
    receipt = item.get("receipt")
    if verdict in _IN_LEDGER:
        return Result(event.source, event.id, verdict, receipt, None, (), item.get("before_first_period"))
    held = item.get("held")
    problems = _listed(held["problems"] if held else item.get("errors", ()))
    return Result(event.source, event.id, verdict, receipt, held["reason"] if held else None, problems)


_VERDICTS = {one.value: one for one in Verdict}
_IN_LEDGER = frozenset({Verdict.RECORDED, Verdict.DUPLICATE})


def _listed(problems: Iterable[Mapping[str, Any]]) -> tuple[Problem, ...]:
    return tuple(Problem(str(one["field"]), str(one["problem"]), str(one["expected"])) for one in problems)


def _problems(content: Any) -> tuple[Problem, ...]:  # noqa: ANN401 - JSON is any value
    try:
        return _listed(content["errors"])
    except (LookupError, TypeError):
        return ()
