"""The steps of a check, in order: each makes calls as a shop, a browser or an operator does, and says what it found."""

import csv
import gzip
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from http import HTTPStatus
from io import TextIOWrapper
from tempfile import TemporaryFile
from typing import IO, Any, Final, NamedTuple, TypeVar, cast

from quarterhour_client import Result, Verdict

from quarterhour.model import clock
from quarterhour.model.clock import iso_millis, parse_iso
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import Totals
from quarterhour.notifications.notification import NotificationKind
from quarterhour.notifications.subscription import BUS, DeliveryOutcome
from quarterhour.reports.keys import part_of_lines
from quarterhour.statements.drafts.draft import DraftState
from quarterhour.web.static_files import origin
from quarterhour_tools.operations.check import plan
from quarterhour_tools.operations.check.outcome import NotDoneError, Outcome, StepFailedError
from quarterhour_tools.operations.check.outside import Outside
from quarterhour_tools.operations.check.plan import AGENCY, SOURCE, Event
from quarterhour_tools.output import counted
from quarterhour_tools.target.remote import IN_LEDGER, Json, Remote, failure, reasons, segment

PEOPLE: Final = "PeopleApiUrl"
"""The output with the address of the console; a stack has it if people sign in."""
_POLL: Final = 5.0
_RARELY: Final = 15.0
"""Seconds between two looks for what takes minutes."""
_COUNTED_WITHIN: Final = timedelta(minutes=15)
_NOTIFIED_WITHIN: Final = timedelta(minutes=30)
_REACHED: Final = frozenset({DeliveryOutcome.DELIVERED, DeliveryOutcome.BAD_STATUS})
"""The outcomes of a delivery whose receiver answered."""
_CLOCKS: Final = timedelta(hours=1)
"""More than the clocks of two functions differ."""
_DONE: Final = frozenset({HTTPStatus.OK, HTTPStatus.CREATED})
_STRANGERS: Final = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
_RUNS: Final = "50"
_DELIVERIES: Final = "100"
_MOST_NAMED: Final = 3

T = TypeVar("T")
InvokeNow = Callable[[str, dict[str, Any]], Any]
"""Invokes a function of the stack with an event, and returns its result."""


@dataclass(slots=True)
class Target:
    """The stack that is checked.

    ``outputs``: those of CloudFormation. An emulator has the console's address alone.
    """

    remote: Remote
    outside: Outside
    invoke: InvokeNow
    aws: bool
    outputs: Mapping[str, str] = field(default_factory=dict)
    first_period: str = ""


@dataclass(slots=True)
class Check:
    """A run of the check: its settings, and what its steps have found so far."""

    target: Target
    run: str
    currency: str
    wait: timedelta
    seal_now: bool = False
    sent: Sequence[Event] = ()
    receipts: Mapping[str, Json] = field(default_factory=dict)
    report: str = ""
    files: str = ""
    """The origin of the links to sealed files."""
    link: str = ""
    """A link to a sealed file."""
    registered_at: datetime | None = None

    # ------------------------------------------------------------ before

    def strangers(self) -> str:
        """Refuse callers without a signature or a token."""
        if not self.target.aws:
            raise NotDoneError(Outcome.SKIPPED, "an emulator answers callers without a signature")
        addresses = [f"{self.target.remote.url}/accounts"]
        if people := self.target.outputs.get(PEOPLE):
            addresses.append(f"{people}/me")
        for one in addresses:
            status = self.target.outside.get(one).status
            if status not in _STRANGERS:
                raise StepFailedError(f"a caller without a signature got {status}, expected 401 or 403")
        return f"{counted(len(addresses), 'API')} refused a caller without a signature"

    def register(self) -> str:
        """Register the check's agency, once for all checks."""
        path = f"/agencies/{segment(AGENCY)}"
        status, found = self.target.remote.send("GET", path)
        if status == HTTPStatus.NOT_FOUND:
            status, found = self.target.remote.put(path, {"seen": 0, "content": plan.REGISTRATION})
            if status not in _DONE:
                raise StepFailedError(failure("PUT", path, status, found))
            return f"the agency {AGENCY} is registered"
        if status != HTTPStatus.OK:
            raise StepFailedError(failure("GET", path, status, found))
        if found["content"] != plan.REGISTRATION:
            raise StepFailedError(f"somebody has changed the agency {AGENCY}: write its first version again")
        return f"the agency {AGENCY} was registered before"

    def clean(self) -> str:
        """Cancel out what is left of checks: void sales, discard what is held, delete the subscription."""
        remote = self.target.remote
        # A request under way may still be recorded. Sent again, its events have a verdict.
        self._send(self.sent)
        held = [one for one in remote.pages("/held", {"agency": AGENCY}) if one["source"] == SOURCE]
        for one in held:
            path = f"/held/{segment(SOURCE)}/{segment(one['id'])}"
            status, answer = remote.put(path, {"decision": "discard", "reason": plan.REASON})
            if status != HTTPStatus.OK:
                raise StepFailedError(failure("PUT", path, status, answer))
        self._unsubscribe()
        voids = plan.voids(self._listed())
        self._recorded(voids)
        left = {name: one for name, one in plan.totals(self._listed()).items() if one.net or one.commission}
        if left:
            raise StepFailedError(f"what is left does not cancel out: {', '.join(map(_figures, left.items()))}")
        done = [counted(len(voids), "sale") + " voided"] * bool(voids)
        done += [counted(len(held), "held event") + " discarded"] * bool(held)
        return f"{', '.join(done) or 'nothing was left'}: the amounts of the agency are 0"

    def _unsubscribe(self) -> None:
        """Delete the subscription of a check, if it is there."""
        path = f"/subscriptions/{plan.SUBSCRIPTION}"
        status, answer = self.target.remote.send("GET", path)
        if status == HTTPStatus.OK:
            status, answer = self.target.remote.send("DELETE", path)
        if status not in {HTTPStatus.OK, HTTPStatus.NOT_FOUND}:
            raise StepFailedError(failure("DELETE", path, status, answer))

    # ------------------------------------------------------------ recording and counting

    def record(self) -> str:
        """Record three sales and a refund."""
        at = plan.time_of(self.target.first_period, clock.now())
        self.sent = plan.events(self.run, at, self.currency)
        results = self._recorded(self.sent)
        self.receipts = {one.id: one.receipt or {} for one in results}
        month = f", in {at:%Y-%m}, which is on no statement" if self.target.first_period else ""
        return f"{counted(len(results), 'event')} recorded{month}"

    def again(self) -> str:
        """Send the same events again: each is a duplicate, with its first receipt."""
        results = self._send(self.sent)
        first = {one.id for one in results if one.verdict is Verdict.DUPLICATE and one.receipt == self.receipts[one.id]}
        wrong = [one for one in results if one.id not in first]
        if wrong:
            raise StepFailedError(f"sent again, {_verdicts(wrong)}; expected a duplicate with the first receipt")
        listed = Counter(one["id"] for one in self._listed())
        twice = sorted(one["id"] for one in self.sent if listed[one["id"]] != 1)
        if twice:
            raise StepFailedError(f"{', '.join(twice)}: not once in the ledger")
        return f"{counted(len(results), 'duplicate')}, each with its first receipt, each once in the ledger"

    def count(self) -> str:
        """Wait until the counters have the sums of the ledger."""
        expected = plan.totals(self._listed()).get(self.currency, Totals())
        path = f"/accounts/{segment(AGENCY)}/{self.currency}"
        began = clock.now()

        def counted_now() -> Totals | None:
            status, found = self.target.remote.send("GET", path)
            if status not in {HTTPStatus.OK, HTTPStatus.NOT_FOUND}:
                raise StepFailedError(failure("GET", path, status, found))
            return expected if status == HTTPStatus.OK and Totals.of(found) == expected else None

        self._wait_for(counted_now, _COUNTED_WITHIN, "the counters do not have the sums of the ledger")
        return f"{counted(expected.events, 'event')} counted after {(clock.now() - began).total_seconds():.0f} s"

    # ------------------------------------------------------------ sealed files

    def seal(self) -> str:
        """Wait until the quarter-hours of the events are sealed; with ``seal_now``, by a run of our own."""
        schedule = self.target.remote.get("/schedule", {})
        if schedule["state"] != "enabled":
            raise NotDoneError(Outcome.WAITING, "the reports are paused: resume them, and check again")
        if not self.wait:
            raise NotDoneError(Outcome.WAITING, "a report comes first: check again without --wait 0")
        last = max(QuarterHour.at(parse_iso(one["recorded_at"])) for one in self.receipts.values())
        self._wait_for(lambda: clock.now() >= last.end or None, self.wait, "the quarter-hour is not over", _RARELY)

        def sealed() -> Json | None:
            if self.seal_now:
                self.target.invoke("Report", {})
            runs = self.target.remote.get("/reports", {"limit": _RUNS})["items"]
            return next((one for one in runs if parse_iso(one["from"]) <= last.start < parse_iso(one["to"])), None)

        firings = ", ".join(schedule["firings"][:1]) or "none"
        late = f"the quarter-hour is not sealed; the next run is due at {firings}: take a longer --wait, or --seal"
        found = self._wait_for(sealed, self.wait, late, _RARELY)
        self.report = str(found["run"])
        return f"sealed by the run {self.report}"

    def links(self) -> str:
        """Download the files of the run by their links, and compare them with the manifest and the events."""
        run = self.target.remote.get(f"/reports/{segment(self.report)}", {})
        begin, end = parse_iso(run["from"]), parse_iso(run["to"])
        hours = {id_: QuarterHour.at(parse_iso(one["recorded_at"])) for id_, one in self.receipts.items()}
        own = {id_: hour for id_, hour in hours.items() if begin <= hour.start < end}
        lines: Counter[str] = Counter()
        number = 0
        for one in run["files"]:
            part = part_of_lines(one["key"])
            if part and part.quarter_hour not in own.values():
                continue  # it may be large
            with TemporaryFile() as file:
                self._download(one, file)
                if part:
                    lines += _own_lines(file)
            number += 1
            self.link, self.files = one["url"], origin(one["url"])
        if wrong := sorted(id_ for id_ in own if lines[id_] != 1):
            raise StepFailedError(f"{', '.join(wrong)}: not once in the sealed lines")
        proofs = {run["proofs"][str(hour)] for hour in own.values()}
        if "drift" in proofs:
            raise StepFailedError("the counters differ from the sealed lines: see the alarm counter-drift")
        unsigned = self.target.outside.get(self.link.partition("?")[0], what="GET a sealed file, without a signature")
        if unsigned.status not in _STRANGERS:
            raise StepFailedError(f"a link without its signature got {unsigned.status}, expected 401 or 403")
        proof = ", ".join(sorted(proofs))
        return f"{counted(number, 'file')} as in the manifest, with each event once; proof of the counters: {proof}"

    def console(self) -> str:
        """Look at the console's page and at its headers, as a browser gets them."""
        address = self.target.outputs[PEOPLE]
        page = self.target.outside.get(f"{address}/")
        if page.status != HTTPStatus.OK or not page.content.lower().startswith(b"<!doctype html>"):
            raise StepFailedError(f"the console's page got {page.status}, expected 200 with HTML")
        own = origin(address)
        files = self.files if self.files != own else ""
        if problems := plan.policy_problems(page.headers, files):
            raise StepFailedError("; ".join(problems))
        if not files:
            return "the page has the expected policy and headers"
        allowed = self.target.outside.get(self.link, {"origin": own}, "GET a sealed file, from the console")
        if allowed.headers.get("access-control-allow-origin") != own:
            raise StepFailedError("the bucket does not let the console read sealed files: see its CORS rules")
        return "the page has the expected policy and headers, and may read sealed files"

    # ------------------------------------------------------------ statements and notifications

    def statements(self) -> str:
        """Release the drafts of earlier checks, and download their statements."""
        remote = self.target.remote
        drafts = [one for one in remote.pages("/drafts", {"agency": AGENCY}) if one["agency"] == AGENCY]
        decided = {one["period"]: self._release(one) for one in drafts}
        if None in decided.values():
            self.target.invoke("Statements", {})
        released = [one for one in remote.pages("/statements", {"agency": AGENCY}) if one["agency"] == AGENCY]
        under_way = decided.keys() - {one["period"] for one in released}
        if under_way:
            wait = "{} is being released: check again in a quarter of an hour"
            raise NotDoneError(
                Outcome.WAITING, "; ".join(decided[one] or wait.format(one) for one in sorted(under_way))
            )
        if not released:
            raise self._no_draft()
        last = max(released, key=lambda one: str(one["period"]))
        path = f"/statements/{segment(AGENCY)}/{last['currency']}/{last['period']}"
        statement = remote.get(path, {})
        for one in statement["files"]:
            with TemporaryFile() as file:
                self._download(one, file)
        number = counted(len(statement["files"]), "file")
        return f"the statement of {last['period']} is released; {number} as in its list"

    def _release(self, draft: Json) -> str | None:
        """Release a draft whose amounts are 0; return what must happen first if it cannot be released now."""
        period = draft["period"]
        if any(Decimal(draft[name]) for name in ("net", "commission_exact")):
            return f"the draft of {period} is not 0, because a check was cancelled out in a later month: release both"
        failed = [one["message"] for one in draft["checks"] if one["level"] == "failed"]
        if failed:
            return f"the draft of {period} cannot be released: {'; '.join(failed)}"
        if draft["state"] not in {DraftState.RELEASING, DraftState.PROPOSED}:
            path = f"/drafts/{segment(AGENCY)}/{draft['currency']}/{period}"
            status, answer = self.target.remote.put(path, {"decision": "release", "seen": draft["seen"]})
            if status != HTTPStatus.OK:
                raise StepFailedError(failure("PUT", path, status, answer))
            draft = {**draft, "state": answer["state"]}
        if draft["state"] == DraftState.PROPOSED:
            command = f"quarterhour statements --release {AGENCY} --period {period}"
            return f"the release of {period} is proposed: a second person must run `{command}`"
        return None

    def _no_draft(self) -> NotDoneError:
        """Return why there is no draft of the check's agency yet, and when there will be one."""
        if first := self.target.first_period:
            return NotDoneError(Outcome.SKIPPED, f"the events are on no statement, as they count before {first}")
        periods = self.target.remote.get("/periods", {})["items"]
        oldest = min((one for one in periods if one["state"] != "sealed"), key=lambda one: str(one["period"]))
        when = f"check again after {oldest['cut_off']}"
        return NotDoneError(Outcome.WAITING, f"no month with events of a check is closed: {when}")

    def notifications(self) -> str:
        """Subscribe, let an event be held, and wait until its notification is delivered, also to a bus.

        The receiver is the stack's own API. It refuses what has no signature of AWS, so it answers 403: that shows a
        delivery all the way. An emulator sends to a name that nobody has.
        """
        remote, path = self.target.remote, f"/subscriptions/{plan.SUBSCRIPTION}"
        address = f"{remote.url}/events" if self.target.aws else plan.NO_RECEIVER
        kinds = [NotificationKind.EVENT_HELD.value]
        status, answer = remote.put(path, {"address": address, "kinds": kinds, "agency": AGENCY})
        if status == HTTPStatus.CONFLICT:
            raise NotDoneError(Outcome.SKIPPED, str(answer["detail"]))
        if status not in _DONE:
            raise StepFailedError(failure("PUT", path, status, answer))
        event = plan.waiting(self.run, plan.time_of(self.target.first_period, clock.now()), self.currency)
        self.sent = [*self.sent, event]
        self._send([event])
        began = clock.now()
        delivery = self._delivered(plan.SUBSCRIPTION)
        outcome = f"{delivery['outcome']} {delivery['http_status'] or ''}".strip()
        if self.target.aws and delivery["outcome"] not in _REACHED:
            raise StepFailedError(f"the receiver was not reached: {outcome}")
        found = [f"the webhook has the outcome {outcome}"]
        if any(one["name"] == BUS for one in remote.pages("/subscriptions", {})):
            of_bus = self._delivered(BUS, delivery["id"])
            if of_bus["outcome"] != DeliveryOutcome.DELIVERED:
                raise StepFailedError(f"the bus did not get the event: {of_bus['outcome']}")
            found.append("the bus has the event")
        return f"{', '.join(found)}, after {(clock.now() - began).total_seconds():.0f} s"

    def _delivered(self, subscription: str, id_: str = "") -> Json:
        """Wait until a subscription has a delivery, that of a notification or the newest, and return it."""
        path = f"/subscriptions/{subscription}/deliveries"

        def delivered() -> Json | None:
            found = self.target.remote.get(path, {"limit": _DELIVERIES})["items"]
            return next((one for one in found if id_ in {"", one["id"]}), None)

        return self._wait_for(delivered, _NOTIFIED_WITHIN, f"the subscription {subscription} has no delivery")

    # ------------------------------------------------------------ parts

    def _listed(self) -> list[Event]:
        """Return all events of all checks in the ledger."""
        since = {"after": iso_millis(self._first() - _CLOCKS)}
        return list(self.target.remote.pages(f"/sources/{segment(SOURCE)}/events", since))

    def _first(self) -> datetime:
        """Return when the agency was registered, before the first event of the first check."""
        if self.registered_at is None:
            path = f"/documents/{segment(f'agency:{AGENCY}')}/versions/1"
            self.registered_at = parse_iso(self.target.remote.get(path, {})["written_at"])
        return self.registered_at

    def _send(self, events: Sequence[Event]) -> list[Result]:
        """Send events until each has a verdict that stays; return the outcomes."""
        results = self.target.remote.record(events)
        if left := [one for one in results if one.verdict is Verdict.UNAVAILABLE]:
            raise StepFailedError(f"{counted(len(left), 'event')} could not be recorded: {reasons(left[0])}")
        return results

    def _recorded(self, events: Sequence[Event]) -> list[Result]:
        """Send events; raise ``StepFailedError`` if one is not in the ledger afterwards."""
        results = self._send(events)
        if wrong := [one for one in results if one.verdict not in IN_LEDGER]:
            raise StepFailedError(f"not recorded: {_verdicts(wrong)}")
        return results

    def _download(self, sealed: Json, file: IO[bytes]) -> None:
        """Download a sealed file by its link; raise ``StepFailedError`` if it is not the one that was sealed."""
        name = sealed["key"].rpartition("/")[2]
        status, digest, size = self.target.outside.download(sealed["url"], file, f"GET the link of {name}")
        if status != HTTPStatus.OK:
            raise StepFailedError(f"the link of {name} got {status}, expected 200")
        if (digest, size) != (sealed["sha256"], sealed["size"]):
            raise StepFailedError(f"{name} has other bytes than those that were sealed")
        file.seek(0)

    def _wait_for(self, probe: Callable[[], T | None], within: timedelta, late: str, pause: float = _POLL) -> T:
        """Call a probe until it returns something; raise ``StepFailedError`` if it is too late."""
        until = clock.now() + within
        while (found := probe()) is None:
            if clock.now() >= until:
                raise StepFailedError(f"{late} (after {counted(round(within.total_seconds() / 60), 'minute')})")
            clock.sleep(pause)
        return found


def _own_lines(file: IO[bytes]) -> Counter[str]:
    """Count the sealed lines of the checks by id."""
    with gzip.open(file) as content:
        text = TextIOWrapper(cast("IO[bytes]", content), "utf-8", newline="")
        return Counter(row["id"] for row in csv.DictReader(text) if row["source"] == SOURCE)


def _verdicts(results: Sequence[Result]) -> str:
    named = [f"{one.id} is {one.verdict.value}{_because(one)}" for one in results[:_MOST_NAMED]]
    more = len(results) - len(named)
    return ", ".join(named) + (f" and {more} more" if more else "")


def _because(result: Result) -> str:
    return f" ({why})" if (why := reasons(result)) else ""


def _figures(one: tuple[str, Totals]) -> str:
    currency, totals = one
    return f"{totals.net} and commission {totals.commission} {currency}"


class Step(NamedTuple):
    """A step: what it does, what only AWS shows of it, and what it needs.

    ``after``: the steps that must have passed. ``needs``: the output that a deployed stack must have.
    """

    name: str
    title: str
    run: Callable[[Check], str]
    only_aws: str
    after: tuple[str, ...] = ()
    needs: str = ""


CLEAN: Final = Step(
    "clean", "Events cancelled out", Check.clean, "that voids reach the counters through the streams", ("register",)
)
"""The last step, which is done after a failure and after Ctrl-C, too."""
STEPS: Final[Sequence[Step]] = (
    Step("strangers", "Callers without a signature", Check.strangers, "that API Gateway refuses them"),
    Step("register", "Agency registered", Check.register, "that IAM admits the caller to writes"),
    Step(
        "earlier",
        "Earlier checks cancelled out",
        Check.clean,
        "that a role may read the indexes it needs",
        ("register",),
    ),
    Step("record", "Events recorded", Check.record, "DynamoDB's own conditions, and its latency", ("earlier",)),
    Step("again", "Events sent again", Check.again, "the same, with another instance of the function", ("record",)),
    Step("count", "Events counted", Check.count, "that Lambda reads the streams, and how late", ("record",)),
    Step("seal", "Quarter-hour sealed", Check.seal, "that EventBridge Scheduler starts the run", ("record",)),
    Step("links", "Sealed files downloaded", Check.links, "S3's signatures, and its refusals", ("seal",)),
    Step(
        "console",
        "Console from outside",
        Check.console,
        "headers behind API Gateway, and that the bucket's CORS rules admit the console",
        needs=PEOPLE,
    ),
    Step(
        "statements",
        "Statement released",
        Check.statements,
        "that the watch and the state machine run on their schedules",
        ("register",),
    ),
    Step(
        "notifications",
        "Notifications sent",
        Check.notifications,
        "that a delivery reaches a receiver in the Internet, and an event the bus",
        ("record",),
    ),
)
