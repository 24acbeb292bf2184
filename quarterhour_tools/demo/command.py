"""`quarterhour demo`: runs a generated day and a generated year through the emulator, and compares the results.

The day is sent, read, reported and proven. Then all of it is sent again, and nothing new may be recorded. At last, its
month is sealed: drafts are released, one waits, one statement is cancelled and issued again. The next month corrects a
sale. The year is that of another marketplace, and larger.
"""

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any, Final, cast
from urllib.parse import quote

from rich import box
from rich.console import Console
from rich.progress import Progress
from rich.table import Column, Table

from quarterhour.model.totals import Totals
from quarterhour.reports.keys import MANIFEST, REPORTS, SUMMARY
from quarterhour.reports.lines import read_lines
from quarterhour.statements.listing import Document
from quarterhour_tools.bucket import Objects, prepare_folder
from quarterhour_tools.demo import local_api
from quarterhour_tools.demo.marketplace import MIDNIGHT, DayLine, ExpectedSums, expected_accounts, marketplace_day
from quarterhour_tools.demo.month_end import (
    LATE,
    LATE_AGENCY,
    MONTH,
    MOVED,
    MOVED_AGENCY,
    NEXT_MONTH,
    WRONG,
    Correction,
    StatementFigures,
    StatementKey,
    correction_of,
    differing_statements,
    expected_statements,
    month_end_documents,
)
from quarterhour_tools.demo.year import Calendar
from quarterhour_tools.demo.year_agencies import BASE_CURRENCY
from quarterhour_tools.demo.year_run import PARAMETERS, SETTINGS, YEAR_ENDS, YearEnd, run_year
from quarterhour_tools.emulator.engines import EMBEDDED
from quarterhour_tools.emulator.http_api import Request, Response
from quarterhour_tools.emulator.server import Server
from quarterhour_tools.emulator.serving import serve_from
from quarterhour_tools.emulator.stack import Stack, open_stack
from quarterhour_tools.replay.replay import Replay, replaying
from quarterhour_tools.replay.result import ReplayResult
from quarterhour_tools.statements.drafts import show_drafts
from quarterhour_tools.statements.tables import print_statements
from quarterhour_tools.target.remote import segment

NAME: Final = "demo"
DESCRIPTION: Final = (
    "Run a generated day of a marketplace through the emulator, with retries, duplicates, conflicts, refunds and "
    "bad items, and then a year of forty agencies. Compare the results with the expected ones."
)
NOON: Final = MIDNIGHT + timedelta(hours=12)
COLUMNS: Final = ("recorded_at", "id", "agency", "currency", "amount", "commission_rate", "commission")
"""The columns of a sealed line that are shown."""
WIDTH: Final = 110
"""The longest line without a terminal, in characters."""

Figures = tuple[int, Decimal, Decimal, Decimal]
"""The figures of an account: events, gross, refunds, commission."""


# ---------------------------------------------------------------- expected and actual results


@dataclass(frozen=True, slots=True)
class LineVerdict:
    """The ledger's answer to one line: its verdict, and the fields with errors."""

    verdict: str
    blamed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Judged:
    """The lines of one kind: their number, the expected verdict, and how many got it."""

    kind: str
    verdict: str
    lines: int
    right: int


def judge(day: Sequence[DayLine], answers: Sequence[LineVerdict]) -> list[Judged]:
    """Compare the answers to a day's lines with their labels; a rejection must also name the right field."""
    lines = Counter((line.kind, line.verdict) for line in day)
    right = Counter(
        (line.kind, line.verdict)
        for line, answer in zip(day, answers, strict=False)
        if answer.verdict == line.verdict and (line.blamed is None or line.blamed in answer.blamed)
    )
    return [Judged(kind, verdict, number, right[kind, verdict]) for (kind, verdict), number in lines.items()]


def differing(sources: Sequence[Mapping[str, Figures]]) -> list[str]:
    """Return the accounts, `<agency>#<currency>`, whose figures differ between the sources."""
    accounts = sorted({account for source in sources for account in source})
    return [account for account in accounts if len({source.get(account) for source in sources}) > 1]


def figures(sums: ExpectedSums | Totals) -> Figures:
    """Return the figures of sums or totals, for a comparison."""
    return sums.events, sums.gross, sums.refunds, sums.commission


@dataclass(frozen=True, slots=True)
class Sending:
    """The result of one sending of the whole day: its judged lines, and the outcome of the replay so far."""

    judged: list[Judged]
    outcome: ReplayResult

    @property
    def accounts(self) -> list[dict[str, Figures]]:
        """Return the figures of all accounts, from the counters and from the sealed lines."""
        return [
            {str(account): figures(totals) for account, totals in accounts.items()}
            for accounts in (self.outcome.counters, self.outcome.ledger)
        ]


def problems(expected: Mapping[str, Figures], api: Mapping[str, Figures], first: Sending, again: Sending) -> list[str]:
    """Return a message for each difference from the expected results."""
    found = [
        f"{each.lines - each.right} of {each.lines} lines ({each.kind}) were not {each.verdict}"
        for each in (*first.judged, *again.judged)
        if each.right != each.lines
    ]
    found += [f"{account}: the figures differ" for account in differing([expected, api, *first.accounts])]
    found += [f"{account}: changed by the second sending" for account in differing([expected, *again.accounts])]
    found += [*first.outcome.problems, *again.outcome.problems]
    return found


# ---------------------------------------------------------------- the command


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `quarterhour demo`."""
    parser.add_argument("--seed", type=int, default=7, metavar="N", help="the seed of what is generated (default 7)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write the day's sealed files to this new folder")
    parser.add_argument("--details", action="store_true", help="also show verdicts, files, accounts and statements")
    parser.add_argument("--open", action="store_true", help="then show the year in the console, in the browser")
    parser.add_argument(
        "--no-browser", dest="browser", action="store_false", help="with --open, only serve the console"
    )


def run(args: argparse.Namespace) -> int:
    """Run the day and the year, show and check the results; return 0 if everything agrees, else 1."""
    if args.out:
        prepare_folder(args.out)
    console, errors = _console(), Console(stderr=True)
    details = _console(quiet=not args.details)
    with Progress(console=errors, transient=True, disable=not errors.is_terminal) as bar:
        day = _run_day(args, details, console, bar)
        with (
            Server(0) if args.open else nullcontext() as server,
            open_stack(
                EMBEDDED, PARAMETERS, virtual=True, s3_url=server.url if server else "", settings=SETTINGS
            ) as stack,
        ):
            task = bar.add_task("a year", total=1)
            with replaying(stack) as replay:
                ended = run_year(
                    stack, replay, Calendar(YEAR_ENDS), args.seed, lambda share: bar.update(task, completed=share)
                )
                outcome = replay.outcome()
            bar.stop()
            _show_year(details, ended, outcome)
            wrong = [*day.wrong, *ended.problems(outcome)]
            _show_in_short(console, day, ended, outcome)
            for problem in wrong:
                console.print(problem, style="bold red")
            if not wrong:
                console.print("Everything agrees; --details shows the tables.", style="bold green")
            if args.out:
                _show_next(console, args.out)
            if server:
                page = f"/console/close/{ended.last_period}"
                serve_from(server, stack, replay.clock.now(), page, browser=args.browser)
    return 1 if wrong else 0


def _console(*, quiet: bool = False) -> Console:
    console = Console(highlight=False, markup=False, quiet=quiet)
    if not console.is_terminal:
        console.width = WIDTH
    return console


@dataclass(frozen=True, slots=True)
class DayResult:
    """The results of the day: of the first sending, of the second, and of the month's end; and what is wrong."""

    first: Sending
    again: Sending
    closed: "MonthEnd"
    wrong: list[str]


def _run_day(args: argparse.Namespace, details: Console, console: Console, bar: Progress) -> DayResult:
    """Run the day, show its details, and return its results, with a message for each difference from the expected."""
    day = marketplace_day(args.seed)
    console.print(
        f"A day of a made-up marketplace (seed {args.seed}): {len(day)} lines, some of them late, wrong, changed or "
        "sent twice"
    )
    expected = {account: figures(sums) for account, sums in sorted(expected_accounts(day).items())}
    busiest = max(expected, key=lambda account: expected[account])
    corrected = correction_of(day)
    sealed_as_expected = expected_statements(expected_accounts(day), corrected)
    morning = [line for line in day if line.sent < NOON]
    with open_stack(EMBEDDED, virtual=True) as stack:
        witness = _Witness(stack)
        with replaying(cast("Stack", witness)) as replay:
            replay.prepare(month_end_documents())
            task = bar.add_task("the day, twice", total=2 * len(day))

            def send(lines: Sequence[DayLine]) -> None:
                texts = (f"{line}\n".encode() for line in lines)
                replay.play(texts, lambda: bar.update(task, completed=replay.sent))

            send(morning)
            live = local_api.get(stack, _path(busiest))
            send(day[len(morning) :])
            first = Sending(judge(day, witness.answers), replay.finish())
            api = {account: figures(Totals.of(local_api.get(stack, _path(account)))) for account in expected}
            send(day)
            repeated = [line.again(line.kind, timedelta()) for line in day]
            again = Sending(judge(repeated, witness.answers[len(day) :]), replay.finish())
            bar.update(task, description="the end of the month")
            closed = close_month(stack, replay, corrected, sealed_as_expected)
        bar.remove_task(task)
        _show_verdicts(details, first)
        _show_reports(details, first.outcome, stack.bucket)
        details.print(f"\nAt noon, GET {_path(busiest)} answered")
        details.print(f"  {json.dumps(live, ensure_ascii=False)}\n", soft_wrap=True)
        _show_accounts(details, expected, first)
        _show_statements(details, closed, corrected)
        wrong = problems(expected, api, first, again)
        wrong += [*differing_statements(sealed_as_expected, closed.figures), *closed.outcome.problems]
        if corrected.resolution not in _resolved(stack):
            wrong.append(f"{corrected.disputes}: the void did not resolve the dispute")
        if args.out:
            stack.bucket.copy_to(args.out)
    return DayResult(first, again, closed, wrong)


def _show_next(console: Console, out: Path) -> None:
    """Show the commands that go on from the files, and from the year."""
    for text in (
        f"quarterhour verify {out} proves the day's sealed files again.",
        "quarterhour up --demo serves a year until today in the console, with a month to close.",
    ):
        console.print(text, soft_wrap=True)


@dataclass(frozen=True, slots=True)
class MonthEnd:
    """The results of the month's end: when its drafts were made, and after all corrections."""

    made: ReplayResult
    outcome: ReplayResult

    @property
    def figures(self) -> dict[StatementKey, StatementFigures]:
        """The figures of all documents."""
        return {
            (
                str(one.of_list.period),
                one.of_list.account.agency,
                one.of_list.account.currency,
                one.of_list.revision,
            ): StatementFigures(*(one.of_list.figures[name] for name in StatementFigures._fields))
            for one in self.outcome.statements or ()
        }

    def documents(self, month: str, agency: str | None = None) -> list[Document]:
        """Return the documents of a month at the end, of one agency or of all."""
        listed = [one.of_list for one in self.outcome.statements or () if str(one.of_list.period) == month]
        return [one for one in listed if agency in {None, one.account.agency}]


def close_month(
    stack: Stack, replay: Replay, corrected: Correction, expected: Mapping[StatementKey, StatementFigures]
) -> MonthEnd:
    """Let the month be sealed; register, cancel, dispute and pay; let the next one be sealed; return the results."""
    replay.timeline.statements = True
    made = replay.finish()
    for draft in made.drafts:
        if draft["agency"] == LATE:
            local_api.put(stack, f"/agencies/{segment(LATE)}", {"seen": 0, "content": LATE_AGENCY})
            _decide(stack, draft, "release")
    moved = [one.of_list.account for one in made.statements or () if one.of_list.account.agency == MOVED]
    for account in moved:
        draft = {"period": MONTH, "agency": account.agency, "currency": account.currency}
        _decide(stack, draft, "cancel", WRONG)
        local_api.put(stack, f"/agencies/{segment(MOVED)}", {"seen": 1, "content": MOVED_AGENCY})
        _decide(stack, draft, "release")
    local_api.send(stack, "POST", corrected.disputes, corrected.dispute)
    replay.timeline.advance(replay.clock.now() + timedelta(hours=1))
    replay.play(corrected.lines(expected[MONTH, *corrected.account, 1].closing))
    return MonthEnd(made, replay.finish())


def _decide(stack: Stack, draft: Mapping[str, Any], decision: str, reason: str | None = None) -> None:
    """Decide about a draft, and run the release."""
    path = f"/drafts/{segment(draft['agency'])}/{draft['currency']}/{draft['period']}"
    seen = local_api.get(stack, path)["seen"]
    local_api.put(stack, path, {"decision": decision, "seen": seen, **({"reason": reason} if reason else {})})
    stack.invoke("statements", {})


class _Witness:
    """A stack that keeps the answers to all recorded lines, in the order of the lines."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self.answers: list[LineVerdict] = []

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - any attribute of the stack
        return getattr(self._stack, name)

    def request(self, request: Request) -> Response:
        response = self._stack.request(request)
        if request.method == "POST":
            self.answers += [
                LineVerdict(item["verdict"], frozenset(problem["field"] for problem in _problems(item)))
                for item in response.json().get("items", ())
            ]
        return response


def _path(account: str) -> str:
    return "/accounts/" + "/".join(quote(quote(part, safe=""), safe="") for part in account.split("#"))


def _resolved(stack: Stack) -> list[dict[str, str]]:
    """Return the corrections that resolved disputes."""
    return [one["correction"] for one in local_api.items(stack, "/disputes", status="resolved")]


# ---------------------------------------------------------------- output


def _show_verdicts(console: Console, sending: Sending) -> None:
    table = _table("sent", Column("lines", justify="right"), "must be", Column("were", justify="right"))
    for each in sorted(sending.judged, key=lambda each: -each.lines):
        table.add_row(each.kind, f"{each.lines:,}", each.verdict, f"{each.right:,}")
    console.print(table)


def _show_reports(console: Console, outcome: ReplayResult, bucket: Objects) -> None:
    """Show the fullest run: its quarter-hours, the first lines of one of them, its summary."""
    console.print(
        f"\n{outcome.runs} runs of the hourly report sealed {outcome.sealed_quarter_hours} quarter-hours"
        f" with {outcome.lines:,} lines. The fullest run:"
    )
    keys = bucket.keys()
    manifests = {
        key: json.loads(_read(bucket, key)) for key in keys if key.startswith(REPORTS) and key.endswith(MANIFEST)
    }
    key, manifest = max(manifests.items(), key=lambda pair: int(pair[1]["lines"]))
    table = _table("file", Column("lines", justify="right"), Column("bytes", justify="right"), "SHA-256")
    filled = [(each, file) for each in manifest["quarter_hours"] for file in each["files"]]
    for each, file in filled:
        table.add_row(file["key"], f"{each['lines']:,}", f"{file['size']:,}", file["sha256"][:12] + "…")
    console.print(table)
    _, first = filled[0]
    table = _table(*COLUMNS, title=f"{first['key']}, first lines")
    with bucket.open(first["key"]) as content:
        for line in islice(read_lines(content), 3):
            table.add_row(*(line[column] for column in COLUMNS))
    console.print(table)
    console.print(key.replace(MANIFEST, SUMMARY))
    console.print(_read(bucket, key.replace(MANIFEST, SUMMARY)), end="")


def _table(*columns: str | Column, title: str | None = None) -> Table:
    return Table(*columns, box=box.SIMPLE, padding=(0, 1, 0, 0), title=title, title_justify="left", title_style="")


def _problems(item: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return why an item was not recorded."""
    problems: list[dict[str, str]] = item.get("errors") or item.get("held", {}).get("problems", [])
    return problems


def _read(bucket: Objects, key: str) -> str:
    with bucket.open(key) as file:
        return file.read().decode()


def _show_accounts(console: Console, expected: Mapping[str, Figures], sending: Sending) -> None:
    """Show the counters of all accounts, and beside their commission that of the sealed lines and of plain sums."""
    counters, ledger = sending.accounts
    names = ("events", "gross", "refunds", "commission", "sealed lines", "plain sums")
    table = _table("account", *(Column(name, justify="right") for name in names))
    for account, (*rest, commission) in counters.items():
        others = (source[account][-1] if account in source else "missing" for source in (ledger, expected))
        table.add_row(account, *(str(figure) for figure in (*rest, commission, *others)))
    console.print(table)


def _show_statements(console: Console, closed: MonthEnd, corrected: Correction) -> None:
    """Show the drafts and the statements of the day's month, and the statement of the corrected account in the next."""
    released = [one.of_list for one in closed.made.statements or ()]
    waiting = closed.made.drafts
    console.print(
        f"\nOnce {MONTH} was cut off and sealed, its {len(released) + len(waiting)} drafts were made. "
        f"{len(released)} passed all checks and were released at once:"
    )
    print_statements(console, released)
    if waiting:
        show_drafts(console, waiting)
        console.print(f"Then {LATE} was registered, and finance released its draft:")
        print_statements(console, closed.documents(MONTH, LATE))
    if moved := closed.documents(MONTH, MOVED):
        console.print(f"The statement of {MOVED} was cancelled, because {WRONG}, and issued again:")
        print_statements(console, moved)
    sale = corrected.sale
    agency, currency = corrected.account
    console.print(
        f"{agency} disputed the sale {sale['id']}: POST {corrected.disputes}\n"
        f"A void of the sale resolved the dispute, and {agency} paid its statement in {currency}. That of {NEXT_MONTH}:"
    )
    print_statements(console, closed.documents(NEXT_MONTH))


def _show_in_short(console: Console, day: DayResult, ended: YearEnd, outcome: ReplayResult) -> None:
    """Show what came of the day, of its month and of the year, a line each."""
    first, closed = day.first.outcome, day.closed.outcome
    verdicts, again = first.verdicts, day.again.outcome.verdicts
    refused = verdicts.get("conflict", 0) + verdicts.get("rejected", 0)
    documents = [one.of_list for one in closed.statements or ()]
    agencies = {account.agency for account in outcome.counters}
    agreement = "DIFFER from" if day.wrong else "agree with"
    verified = day.again.outcome.verified and closed.verified and outcome.verified
    for text in (
        (
            f"  recorded {verdicts.get('recorded', 0)}, found recorded before {verdicts.get('duplicate', 0)}, refused "
            f"{refused}, held for a missing sale {verdicts.get('held', 0)}"
        ),
        (
            f"  sealed by {first.runs} hourly reports: {first.lines} lines of {len(first.counters)} accounts, whose "
            f"sums {agreement} the live counters"
        ),
        f"  all {first.sent} lines sent once more: {again.get('recorded', 0) - verdicts.get('recorded', 0)} recorded",
        (
            f"  the month closed: {len(documents)} statements and credit notes, after a late registration, a wrong "
            "address and a dispute"
        ),
        (
            f"A year of another marketplace: {len(agencies)} agencies, {outcome.sent:,} lines, "
            f"{len(ended.statements)} months closed with {sum(ended.statements.values())} statements"
        ),
        (
            f"Proof of the {closed.runs + outcome.runs} manifests, their chains, all hashes, lines and sums: "
            f"{'good' if verified else 'FAILED'}"
        ),
    ):
        console.print(text)


def _show_year(console: Console, ended: YearEnd, outcome: ReplayResult) -> None:
    """Show a line for each month of the year, in the currency of most agencies."""
    console.print(f"\nThe year; {outcome.verdicts.get('held', 0)} lines are held")
    names = ("accounts", "events", *(f"{name} {BASE_CURRENCY}" for name in ("net", "commission", "payments")))
    table = _table("month", *(Column(name, justify="right") for name in (*names, "statements")), "")
    for month in sorted({key[-1] for key in ended.sums}):
        of_month = {key: sums for key, sums in ended.sums.items() if key[-1] == month}
        in_base = [sums for (_, currency, _), sums in of_month.items() if currency == BASE_CURRENCY]
        sums = (
            sum((one.gross + one.refunds for one in in_base), Decimal()),
            sum((one.commission for one in in_base), Decimal()),
            sum((one.payments for one in in_base), Decimal()),
        )
        waiting, released = ended.waiting.get(month, 0), ended.statements.get(month, 0)
        state = f"{waiting} drafts wait" if waiting else "" if released else "goes on"
        events = f"{sum(one.events for one in of_month.values()):,}"
        amounts = (f"{one:,.2f}" for one in sums)
        table.add_row(month, str(len(of_month)), events, *amounts, str(released or ""), state)
    console.print(table)
    console.print(f"Counters, sealed lines and plain sums of {len(ended.sums)} months of accounts: compared\n")
