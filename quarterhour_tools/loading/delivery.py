"""Delivers batches of lines to `POST /events`: repeatedly, until each line has a final verdict or time is up."""

import logging
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from quarterhour_client import Problem, Result, Verdict, delivery
from quarterhour_client.plan import Answer, Refused, Waiting, said
from quarterhour_client.plan import batches as fitting

from quarterhour.model.fields import printable
from quarterhour_tools.loading.ndjson import Line, NoEventError, value_of, values

Post = Callable[[Sequence[Waiting]], Answer]
"""Posts events; raises an error if there is no answer."""

GIVE_UP_AFTER: Final = 300
"""Seconds without progress, unless a person chooses others."""

_ATTEMPTS: Final = 10
"""The most times that a line is sent while others get through: about two minutes."""
_SHOWN: Final = 120
_PROBLEM: Final = "application/problem+json"
_TOO_LARGE: Final = 413
_OF_ACCESS: Final = frozenset({401, 403})
_NO_ACCESS: Final = "the sender has no access; use credentials with execute-api:Invoke for this API, and run it again"
_WRONG_ADDRESS: Final = "is this the address of Quarterhour's API?"

# A person reads what fails where the verdicts are shown, so the library's own messages are left out.
logging.getLogger(delivery.__name__.partition(".")[0]).addHandler(logging.NullHandler())


class StoppedError(Exception):
    """Sending has ended before this batch had any outcome."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive lines that fit in a request; ``rejected`` are those of them that are no events, by number."""

    lines: Sequence[Line]
    events: Sequence[Waiting]
    rejected: Mapping[int, Result]


def batches(lines: Iterable[Line]) -> Iterator[Batch]:
    """Yield the lines in batches that fit in a request; lines that cannot be in one are rejected at once."""
    return map(_checked, fitting(lines))


def _checked(lines: Sequence[Line]) -> Batch:
    found = values(lines)
    if found is not None:
        return Batch(lines, [_waiting(line, value) for line, value in zip(lines, found, strict=True)], {})
    events, rejected = list[Waiting](), dict[int, Result]()
    for line in lines:
        try:
            events.append(_waiting(line, value_of(line)))
        except NoEventError as error:
            rejected[line.number] = Result("", "", Verdict.REJECTED, problems=(error.problem,))
    return Batch(lines, events, rejected)


def _no_events(events: Sequence[Waiting]) -> list[tuple[Waiting, Result]]:
    """Return the events that are rejected once their values are read exactly: they repeat a key of an object."""
    rejected: list[tuple[Waiting, Result]] = []
    for one in events:
        try:
            value_of(Line(one.seq, one.body, b"", len(one.body)))
        except NoEventError as error:
            rejected.append((one, Result("", "", Verdict.REJECTED, problems=(error.problem,))))
    return rejected


def _waiting(line: Line, value: object) -> Waiting:
    """Return a line to be sent, unchanged; an identity that it does not have is empty."""
    source, id_ = (value.get("source", ""), value.get("id", "")) if isinstance(value, dict) else ("", "")
    return Waiting(
        line.number, source if isinstance(source, str) else "", id_ if isinstance(id_, str) else "", line.body
    )


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
        """Take what posts events, and what is called with a message when answers begin to fail.

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
        self._refused = False
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

    def deliver(self, batch: Batch) -> dict[int, Result]:
        """Send a batch; return the outcome of each line by its number.

        Raises ``StoppedError`` if sending has ended before, or ends now because a person has to act.
        """
        if self._stopped.is_set():
            raise StoppedError
        attempts, began = 0, self._seconds()

        def wait(seconds: float) -> bool:
            nonlocal attempts
            attempts += 1
            if isinstance(sender.trouble, Refused):
                advice = _NO_ACCESS if sender.trouble.status in _OF_ACCESS else _WRONG_ADDRESS
                self._refuse(f"{sender.trouble.reason}: {advice}")
            elif sender.trouble:
                self._note(sender.trouble.reason, attempts)
            if self._stopped.is_set() or (attempts >= _ATTEMPTS and self._progress > began):
                return False  # in the second case others get through: the reason may be in these lines
            self._wait(min(self._give_up_after, seconds))
            return not self.is_over()

        sender = delivery.Delivery(self._posted, wait, self._chance, _no_events)
        found = dict(batch.rejected)
        for pairs in sender.deliver(batch.events):
            if self._refused:
                break
            self.note_progress()
            attempts, began, self._failing = 0, self._seconds(), False
            found |= {event.seq: result for event, result in pairs}
        if self._refused:
            raise StoppedError
        if len(found) < len(batch.lines):
            found = {**unanswered(batch, sender.trouble.reason if sender.trouble else "was not sent"), **found}
        return found

    def _posted(self, events: Sequence[Waiting]) -> Answer:
        answer = self._post(events)
        ours = answer.headers.get("content-type", "").startswith(_PROBLEM)
        if answer.status == _TOO_LARGE and len(events) == 1 and not ours:  # a line is never too large for the API
            self._refuse(f"{said(answer)}; the request had one event: {_WRONG_ADDRESS}")
        return answer

    def _refuse(self, reason: str) -> None:
        """Stop, as the server refuses all requests of this sender until a person has acted."""
        self._refused = True
        self.stop(f"POST /events {reason}")

    def _note(self, reason: str, attempts: int) -> None:
        """Report why nothing of a request was recorded, once until there is progress; a single fault is no trouble."""
        if attempts > 1 and not self._failing:
            self._failing = True
            self._report(
                f"POST /events {printable(reason, _SHOWN)}; trying again, up to {self._give_up_after:,.0f} seconds "
                "without progress"
            )


def unanswered(batch: Batch, reason: str) -> dict[int, Result]:
    """Return the outcomes of the events of a batch that have no verdict of the API, by number."""
    problem = Problem("request", printable(reason, _SHOWN), "an answer; send it again")
    return {one.seq: Result(one.source, one.id, Verdict.UNAVAILABLE, problems=(problem,)) for one in batch.events}
