"""`quarterhour check`: runs the steps, prints each, cancels its events out, and writes the page."""

import argparse
import secrets
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from quarterhour import __version__
from quarterhour.model import clock
from quarterhour.model.clock import iso_millis
from quarterhour.model.fields import printable
from quarterhour.model.money import is_currency
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
from quarterhour_tools.errors import ToolError
from quarterhour_tools.operations.check import plan
from quarterhour_tools.operations.check.outcome import AnsweredCall, NotDoneError, Outcome, StepResult, request_id
from quarterhour_tools.operations.check.outside import Outside
from quarterhour_tools.operations.check.steps import CLEAN, PEOPLE, STEPS, Check, Step, Target
from quarterhour_tools.target.deployment import api, configure_target, invoke, outputs_of

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


NAME: Final = "check"
DESCRIPTION: Final = (
    "Try a deployed stack: record events of an agency that only checks use, send them again, wait until they are "
    "counted and sealed, download the files, look at the console, release the statements of earlier checks, send "
    "a notification, and void the events. The amounts of the agency are 0 afterwards, also after Ctrl-C. After a "
    "crash, the next check first voids what is left. Exit code 1 if a step failed."
)

_PAGE: Final = Path("quarterhour-check.html")
_WAIT_MINUTES: Final = 90
_MOST_MINUTES: Final = 14_400
"""Ten days, as reports are at most nine days apart."""
_ATTEMPTS: Final = 3
_PAUSE: Final = 5.0
"""Seconds between attempts to cancel the events out."""
_LONGEST_NOTE: Final = 1000
_LEFT: Final = "events of this check may not be cancelled out: run `quarterhour check` again, which does that first"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour check``."""
    configure_target(parser)
    parser.add_argument(
        "--out",
        type=Path,
        default=_PAGE,
        metavar="FILE",
        help=f"write the page to this file (default {_PAGE}); an existing one is replaced",
    )
    parser.add_argument(
        "--currency",
        type=_currency,
        default=plan.CURRENCY,
        metavar="CODE",
        help=f"the currency of the check's events (default {plan.CURRENCY}): take one that the marketplace uses",
    )
    parser.add_argument(
        "--wait",
        type=_minutes,
        default=_WAIT_MINUTES,
        metavar="MINUTES",
        help=f"how long to wait until the events are sealed (default {_WAIT_MINUTES}; 0: do not)",
    )
    parser.add_argument(
        "--seal",
        action="store_true",
        help="start a report run once the quarter-hour is over, rather than wait for the schedule",
    )
    parser.add_argument(
        "--statement",
        action="store_true",
        help="with a first period, let the events count in the current month: a statement takes a number",
    )


def _currency(text: str) -> str:
    if not is_currency(text):
        raise argparse.ArgumentTypeError("expected an ISO 4217 code such as EUR")
    return text


def _minutes(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or not 0 <= int(text[:6]) <= _MOST_MINUTES:
        raise argparse.ArgumentTypeError(f"expected a number of minutes, 0 to {_MOST_MINUTES}")
    return int(text)


class Trail:
    """Collects the calls of a step."""

    def __init__(self) -> None:
        self._calls: list[AnsweredCall] = []

    def note(self, what: str, status: int, headers: Mapping[str, str]) -> None:
        """Add a call with the status and the request id of its answer."""
        self._calls.append(AnsweredCall(clock.now(), plan.redacted(what), status, request_id(headers)))

    def taken(self) -> tuple[AnsweredCall, ...]:
        """Return the calls since the last time."""
        calls, self._calls = tuple(self._calls), []
        return calls


def run(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    began, trail = clock.now(), Trail()
    check = _check(args, trail)
    region = str(boto3.Session().region_name) if check.target.aws else ""
    results: list[StepResult] = []
    with args.out.open("ab"):
        pass  # If the page cannot be written, nothing is sent.

    def add(result: StepResult) -> Outcome:
        results.append(result)
        for line in lines(result):
            print(line, flush=True)
        return result.outcome

    for step in STEPS:
        if add(_done(step, check, trail, results)) is Outcome.INTERRUPTED:
            print("cancelling out what was recorded; another Ctrl-C leaves it", file=sys.stderr, flush=True)
            break
    if add(_cleaned(check, trail, results)) is not Outcome.PASSED and check.sent:
        print(f"quarterhour: {_LEFT}", file=sys.stderr)
    args.out.write_bytes(check_page(Checked(check.target.aws, region, __version__, began), results))
    print(f"{summary(results)}; written to {printable(args.out)}", flush=True)
    outcomes = {one.outcome for one in results}
    if Outcome.INTERRUPTED in outcomes:
        raise KeyboardInterrupt
    return 1 if Outcome.FAILED in outcomes else 0


def _cleaned(check: Check, trail: Trail, before: Sequence[StepResult]) -> StepResult:
    """Cancel the events out, by a few attempts; return the result of the last one."""
    for _ in range(_ATTEMPTS - 1):
        result = _done(CLEAN, check, trail, before)
        if result.outcome is not Outcome.FAILED:
            return result
        clock.sleep(_PAUSE)
    return _done(CLEAN, check, trail, before)


def _check(args: argparse.Namespace, trail: Trail) -> Check:
    """Return the check of the stack or the emulator that the arguments select."""
    remote = api(args)
    remote.observe(trail.note)
    first = "" if args.statement else remote.get("/me", {}).get("first_period") or ""
    call = partial(_invoked, args, trail)
    # An emulator serves the console at its only address.
    outputs = outputs_of(args.stack) if args.stack else {PEOPLE: remote.url}
    target = Target(remote, Outside(trail.note), call, args.stack is not None, outputs, first)
    run = f"{clock.now():%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"
    return Check(target, run, args.currency, timedelta(minutes=args.wait), args.seal)


def _invoked(args: argparse.Namespace, trail: Trail, function: str, event: dict[str, object]) -> object:
    return invoke(args, function, event, trail.note)


def _done(step: Step, check: Check, trail: Trail, before: Sequence[StepResult]) -> StepResult:
    """Do a step and return its result, also if it fails."""
    at = clock.now()

    def result(outcome: Outcome, note: str) -> StepResult:
        seconds = (clock.now() - at).total_seconds()
        shown = plan.redacted(printable(note, _LONGEST_NOTE))
        return StepResult(step.name, step.title, outcome, at, seconds, shown, step.only_aws, trail.taken())

    passed = {one.step for one in before if one.outcome is Outcome.PASSED}
    if missing := [one for one in step.after if one not in passed]:
        return result(Outcome.SKIPPED, f"needs the step {', '.join(missing)}")
    if step.needs and step.needs not in check.target.outputs:
        return result(Outcome.SKIPPED, f"the stack has no output {step.needs}")
    return _ended(partial(step.run, check), result)


def _ended(run: Callable[[], str], result: Callable[[Outcome, str], StepResult]) -> StepResult:
    try:
        return result(Outcome.PASSED, run())
    except KeyboardInterrupt:
        return result(Outcome.INTERRUPTED, "interrupted")
    except NotDoneError as error:
        return result(error.outcome, str(error))
    except (ToolError, OSError, BotoCoreError, ClientError) as error:
        return result(Outcome.FAILED, str(error))
    except (LookupError, TypeError, ValueError) as error:  # what follows must still cancel the events out
        return result(Outcome.FAILED, f"the answer is not as expected: {type(error).__name__}: {error}")
