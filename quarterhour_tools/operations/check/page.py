"""The page of a check, pure: HTML to keep or to send, and the lines on a terminal."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import groupby
from typing import Final, NamedTuple

from quarterhour.model.clock import iso_millis
from quarterhour.web.html.markup import (
    Html,
    Row,
    code,
    escaped,
    facts,
    heading,
    instant,
    page,
    paragraph,
    section,
    short,
)
from quarterhour.web.html.markup import table as table_of
from quarterhour_tools.operations.check.outcome import AnsweredCall, Outcome, StepResult

_TITLE: Final = "Check of a Quarterhour stack"
_LABELS: Final = max(map(len, Outcome))


class Checked(NamedTuple):
    """What was checked: in AWS or on an emulator, where, by which version, and when."""

    aws: bool
    region: str
    version: str
    at: datetime


def check_page(checked: Checked, results: Sequence[StepResult]) -> bytes:
    """Return the page: what was checked, each step with what only AWS shows of it, and each call."""
    where = f"AWS, {checked.region}" if checked.aws else "an emulator"
    known = facts(
        (
            ("Begun", instant(iso_millis(checked.at))),
            ("Where", escaped(where)),
            ("Version", escaped(checked.version)),
            ("Result", escaped(summary(results))),
        )
    )
    parts = [known]
    if not checked.aws:
        parts.append(paragraph(escaped("The last column says what this run could not show."), "mark"))
    texts = ("step", "outcome", "found", "only AWS shows")
    rows = [
        Row(
            (escaped(one.title), short(one.outcome), escaped(one.note), escaped(one.only_aws)),
            (f"{one.seconds:.1f}",),
            strong=one.outcome is Outcome.FAILED,
        )
        for one in results
    ]
    parts.append(section("Steps", table_of("Steps", texts, ("seconds",), rows)))
    calls = [
        Row(
            (short(f"{call.at:%H:%M:%S}"), escaped(one.step), code(call.what), code(call.request_id)),
            (times, call.status),
        )
        for one in results
        for call, times in _repeated(one.calls)
    ]
    columns = ("UTC", "step", "call", "request id")
    parts.append(section("Calls", table_of("Calls", columns, ("times", "status"), calls)))
    note = "This page has no secrets, no account id, no address and no data of others than the check itself."
    return page(_TITLE, [heading(_TITLE)], [*parts, paragraph(Html(note))])


def summary(results: Sequence[StepResult]) -> str:
    """Return how many steps had which outcome: ``9 passed, 1 skipped``."""
    counts = Counter(one.outcome for one in results)
    return ", ".join(f"{counts[one]} {one}" for one in Outcome if counts[one])


def lines(result: StepResult) -> Iterator[str]:
    """Yield a step as lines of text: the outcome, then the calls; equal calls in a row are one."""
    yield f"{result.outcome:<{_LABELS}} {result.seconds:>7.1f} s  {result.title}: {result.note}"
    for call, times in _repeated(result.calls):
        again = f" ({times} times)" if times > 1 else ""
        yield f"{'':{_LABELS + 12}}{call.what} {call.status} {call.request_id}".rstrip() + again


def _repeated(calls: Sequence[AnsweredCall]) -> Iterator[tuple[AnsweredCall, int]]:
    """Yield the last of equal calls in a row, with their number."""
    for _, group in groupby(calls, lambda one: (one.what, one.status)):
        equal = list(group)
        yield equal[-1], len(equal)
