"""`quarterhour replay`: sends files of events through the whole system, on a clock that follows the events."""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.progress import Progress

from quarterhour.ledger.events.http import MAX_BATCH
from quarterhour.model import money
from quarterhour.model.fields import printable
from quarterhour_tools.bucket import prepare_folder
from quarterhour_tools.emulator.engines import DYNAMODB_LOCAL, EMBEDDED
from quarterhour_tools.emulator.faults import Faults, Spec
from quarterhour_tools.emulator.options import add_stack_options, intake_parameters, new_server, stack_parameters
from quarterhour_tools.emulator.serving import serve_from
from quarterhour_tools.emulator.stack import Stack, open_stack
from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading import agencies, exchange_rates, owner, rate_cards, settings
from quarterhour_tools.loading.event_file import Source, open_source
from quarterhour_tools.loading.event_through import WAYS
from quarterhour_tools.output import as_json, counted, plain_console, progress_bar
from quarterhour_tools.replay.replay import Prepared, Replay, replaying
from quarterhour_tools.replay.result import VERDICTS, ReplayResult
from quarterhour_tools.statements.drafts import show_drafts
from quarterhour_tools.statements.tables import print_accounts, print_statements

NAME: Final = "replay"
DESCRIPTION: Final = (
    "Send files of events through the whole system in the emulator: ingest, streams, counters, snapshots, "
    "reports. The clock is virtual and follows the events' times, never backwards. At the end, the streams are "
    "drained, the last quarter-hour is reported, and the sealed files are proven. Exit code 1 if lines could not "
    "be read or delivered, exchange rates were refused, or counters and sealed files differ."
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour replay``."""
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="NDJSON of CloudEvents, plain or .gz; - for standard input"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="write the sealed files into this new or empty folder")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument(
        "--batch",
        type=int,
        default=MAX_BATCH,
        metavar="N",
        help=f"the most events of one request, 1 to {MAX_BATCH} (default {MAX_BATCH})",
    )
    parser.add_argument(
        "--through",
        choices=WAYS,
        help="send the events as messages of the queue, as events of the bus, or as files of the inbox, one a "
        "quarter-hour, and not as requests",
    )
    parser.add_argument(
        "--orders",
        action="store_true",
        help="send sales that name their order (order_id) as orders; each is paid at once and billed from the stream",
    )
    _add_documents(parser)
    parser.add_argument(
        "--statements",
        action="store_true",
        help="seal each period after its cut-off, release its drafts that pass all checks, and let time pass until the "
        "last event's period is sealed",
    )
    parser.add_argument(
        "--reason",
        metavar="TEXT",
        help="with --statements, release the drafts, too, that only a check of their taxes holds back; TEXT says why "
        "the taxes are right",
    )
    parser.add_argument(
        "--faults",
        type=_faults,
        metavar="SPEC",
        help="inject faults into AWS calls: KIND=CHANCE, KIND@POSITION and seed=N with commas, such as all=0.05,seed=7",
    )
    _add_console(parser)
    add_stack_options(parser)


def _add_documents(parser: argparse.ArgumentParser) -> None:
    """Add the options of what is written before the events, or at its time."""
    parser.add_argument(
        "--rates",
        metavar="FILE",
        help=f"enter the exchange rates of a file, each at its time: {exchange_rates.FILE_HELP}",
    )
    parser.add_argument(
        "--agencies",
        metavar="FILE",
        help=f"register the agencies of a file before the first event, or at registered_at: {agencies.FILE_HELP}. An "
        "agency may have several versions, each with its valid_from, and optionally registered_at, the instant at "
        "which the version is written",
    )
    parser.add_argument(
        "--owner", type=Path, metavar="FILE", help=f"register the owner before the first event: {owner.FILE_HELP}"
    )
    parser.add_argument(
        "--settings", type=Path, metavar="FILE", help=f"the settings from the beginning: {settings.FILE_HELP}"
    )
    parser.add_argument(
        "--rate-cards",
        type=Path,
        metavar="DIR",
        help=f"write rate cards before the first event: {rate_cards.FILE_HELP}",
    )


def _add_console(parser: argparse.ArgumentParser) -> None:
    """Add the options of the console that is served at the end."""
    parser.add_argument(
        "--open",
        action="store_true",
        help="then serve the console, and open it in the browser, until Ctrl-C. The clock runs on from the end of the "
        "replay, so the last event's month is this month, and it is not closed",
    )
    parser.add_argument(
        "--no-browser", dest="browser", action="store_false", help="with --open, only serve the console"
    )
    parser.add_argument(
        "--port", type=int, default=8080, help="with --open, port to listen on (default 8080; 0: any free port)"
    )


def _faults(text: str) -> Faults:
    try:
        return Faults(Spec.parse(text))
    except (ToolError, OSError) as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("--faults: ")) from error


def run(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    if not 1 <= args.batch <= MAX_BATCH:
        raise ToolError(f"--batch must be between 1 and {MAX_BATCH}")
    documents = [
        *([owner.read(args.owner)] if args.owner else ()),
        *(agencies.read_versions(args.agencies) if args.agencies else ()),
        *(rate_cards.read(args.rate_cards) if args.rate_cards else ()),
    ]
    decided = settings.read(args.settings).content if args.settings else None
    if args.reason and not args.statements:
        raise ToolError("--reason needs --statements: it says why the taxes on them are right")
    if args.through and args.orders:
        raise ToolError("--orders sends requests: leave out --through")
    parameters = intake_parameters(args) if args.through else stack_parameters(args)
    if args.out:
        prepare_folder(args.out)
    errors = Console(stderr=True, highlight=False)
    logs: dict[str, Any] = {"logs": sys.stderr} if args.verbose else {}
    with ExitStack() as context:
        server = context.enter_context(new_server(args.port)) if args.open else None
        s3_url = server.url if server else ""
        sources = [context.enter_context(open_source(name)) for name in args.files]
        faults = context.enter_context(args.faults.installed()) if args.faults else None
        # Operator commands call what is served by the names of `quarterhour up`.
        plain = args.open and args.engine in {EMBEDDED, DYNAMODB_LOCAL}
        common: dict[str, Any] = {"virtual": True, "faults": faults, "settings": decided, **logs}
        stack = context.enter_context(open_stack(args.engine, parameters, s3_url=s3_url, plain=plain, **common))
        stack.start()
        outcome, ends = _replayed(args, stack, sources, documents, errors)
        if args.out:
            stack.bucket.copy_to(args.out)
        if faults:
            struck = Counter(kind.value for _, kind in faults.struck)
            counts = ", ".join(f"{number:,} {kind}" for kind, number in struck.most_common())
            print(f"faults at {len(faults.struck):,} of {len(faults.calls):,} calls: {counts}", file=sys.stderr)
        if args.json:
            print(as_json(outcome.as_dict()))
        else:
            _show(outcome)
        for problem in outcome.problems:
            print(printable(problem), file=sys.stderr)
        if server:
            serve_from(server, stack, ends, browser=args.browser)
    return 0 if outcome.verified and not outcome.exchange_rates.get(exchange_rates.REFUSED) else 1


def _replayed(
    args: argparse.Namespace, stack: Stack, sources: Sequence[Source], documents: Sequence[Prepared], errors: Console
) -> tuple[ReplayResult, datetime]:
    """Send the files, and return the outcome and the time at the end."""
    with ExitStack() as context:
        bar = context.enter_context(progress_bar(errors))
        replay = context.enter_context(
            replaying(
                stack,
                lambda line: bar.console.print(printable(line), markup=False, soft_wrap=True),
                args.batch,
                orders=args.orders,
                statements=args.statements,
                through=args.through,
                reason=args.reason,
            )
        )
        replay.prepare(documents)
        if args.rates:
            replay.expect_exchange_rates(exchange_rates.read(args.rates))
        for name, source in zip(args.files, sources, strict=True):
            _play(replay, name, source, bar)
        closing = bar.add_task("reporting", total=None, status="")
        outcome = replay.finish(closes=not args.open)
        bar.remove_task(closing)
        return outcome, replay.clock.now()


def _play(replay: Replay, name: str, source: Source, bar: Progress) -> None:
    task = bar.add_task(Path(name).name, total=source.size, status="")

    def progress() -> None:
        status = f"{replay.sent:,} events, clock at {replay.clock.now():%Y-%m-%d %H:%M}"
        bar.update(task, completed=source.position(), status=status)

    replay.play(source.lines, progress)
    bar.remove_task(task)


def _show(outcome: ReplayResult) -> None:
    console = plain_console()
    verdicts = ", ".join(f"{outcome.verdicts.get(name, 0):,} {name}" for name in VERDICTS)
    console.print(f"{outcome.sent:,} sent: {verdicts}")
    sealed = f"{counted(outcome.sealed_quarter_hours, 'quarter-hour')} with {counted(outcome.lines, 'line')}"
    console.print(f"{counted(outcome.runs, 'run')} sealed {sealed}")
    if outcome.exchange_rates:
        console.print(
            ", ".join(
                f"{number:,} exchange rates {result}" for result, number in sorted(outcome.exchange_rates.items())
            )
        )
    print_accounts(console, outcome.counters)
    released = [one.of_list for one in outcome.statements or ()]
    for _, listed in groupby(released, lambda one: one.period):
        print_statements(console, listed)
    if outcome.drafts:
        show_drafts(console, outcome.drafts)
        console.print(
            "--owner and --agencies register what a statement needs before its draft is made, and --reason TEXT"
        )
        console.print("releases drafts that only a check of their taxes holds back")
    for currency, some in outcome.before_first_period.items():
        console.print(
            f"before {outcome.first_period}, the first period with statements: {counted(some.events, 'event')}, net "
            f"{money.plain(some.net)} {currency}, commission {money.plain(some.commission)}, on no statement",
            style="bold yellow",
        )
    lost = [
        f"{counted(number, 'line')} {what}"
        for number, what in ((outcome.unread, "could not be read"), (outcome.undelivered, "could not be delivered"))
        if number
    ]
    result = "verified: counters and sealed files agree" if outcome.verified else "NOT verified"
    if lost:
        result += f": {', '.join(lost)}"
    console.print(result, style="green" if outcome.verified else "bold red")
