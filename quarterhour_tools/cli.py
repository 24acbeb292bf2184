"""The command line `quarterhour`."""

import argparse
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict
from datetime import datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import IO, Any, Final

from botocore.exceptions import BotoCoreError, ClientError
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn, TextColumn
from rich.table import Column, Table
from rich.text import Text

from quarterhour.ledger.events.http import MAX_BATCH
from quarterhour.model import clock
from quarterhour.model.fields import printable
from quarterhour.proof.folder import verify_folder
from quarterhour.proof.reports import OpenObject
from quarterhour.proof.verify import verify
from quarterhour.statements.keys import LINES
from quarterhour_tools.accounting import dac7, journal, payments, payouts, vat
from quarterhour_tools.bucket import Folder, prepare_folder
from quarterhour_tools.csv import command as csv_command
from quarterhour_tools.emulator.engines import DYNAMODB_LOCAL, MOTO
from quarterhour_tools.emulator.faults import Faults, Spec
from quarterhour_tools.emulator.server import HOST, Server
from quarterhour_tools.emulator.serving import serve_from
from quarterhour_tools.emulator.stack import Stack, open_stack
from quarterhour_tools.errors import INTERRUPTED, INTERRUPTED_MESSAGE, ToolError
from quarterhour_tools.loading import agencies, event_import, event_send, exchange_rates, owner, rate_cards
from quarterhour_tools.loading.event_file import Source, open_source
from quarterhour_tools.loading.event_through import WAYS
from quarterhour_tools.operations import bill, deployment, drafts, forget, held, intake, rerate, restore, statements
from quarterhour_tools.operations.check import command as check
from quarterhour_tools.output import as_json, counted, plain_console, print_table
from quarterhour_tools.reconciliation import command as reconcile
from quarterhour_tools.replay import demo, year, year_run
from quarterhour_tools.replay.replay import VERDICTS, Accounts, Prepared, Replay, ReplayResult, replaying
from quarterhour_tools.sign_in import provider
from quarterhour_tools.sign_in.people import PEOPLE
from quarterhour_tools.warehouse import command as sql

_CANNOT: Final = 2
_ACCOUNTING: Final[dict[str, Any]] = {
    "journal": journal,
    "vat": vat,
    "dac7": dac7,
    "payouts": payouts,
    "payments": payments,
    "reconcile": reconcile,
}
_FIGURES: Final = ("events", "gross", "refunds", "commission", "payments")
_MOST_DAYS: Final = 36_500
_SHOWN: Final = 40
"""The most accounts that a table shows."""
_LONGEST_NAME: Final = 200
_FEWEST_MONTHS: Final = 2
"""The fewest months of the demo's year: one that is released, and one to close."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code: 0 done, 1 not proven, 2 not possible, 130 interrupted."""
    # SIGTERM interrupts too, so that child processes end with this one.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    try:
        args = _parser().parse_args(arguments)
        code: int = args.run(args)
    except (ToolError, OSError, BotoCoreError, ClientError) as error:
        print(f"quarterhour: {printable(error)}", file=sys.stderr)
        return _CANNOT
    except KeyboardInterrupt:
        print(INTERRUPTED_MESSAGE, file=sys.stderr)
        return INTERRUPTED
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="quarterhour",
        description="Quarterhour on one machine: a commission ledger, from the same template and functions as in AWS.",
        epilog="Exit codes: 0 done and verified, 1 not verified, or some lines could not be read, delivered or used, "
        "2 could not run, 130 interrupted.",
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    _add_up(commands)
    _add_replay(commands)
    _add_sealed(commands)
    _add_accounting(commands)
    _add_loading(commands)
    checked = commands.add_parser(
        "check",
        help="try a deployed stack from outside, and write what AWS answered to a page",
        description="Try a deployed stack: record events of an agency that only checks use, send them again, wait "
        "until they are counted and sealed, download the files, look at the console, release the statements of "
        "earlier checks, send a notification, and void the events. The amounts of the agency are 0 afterwards, also "
        "after Ctrl-C. After a "
        "crash, the next check first voids what is left. Exit code 1 if a step failed.",
    )
    check.configure(checked)
    rebuild = commands.add_parser(
        "rebuild",
        help="repair counters from the sealed ledger",
        description="Repair the counters of one account or of all accounts from the sealed ledger, "
        "day by day, while new events are recorded.",
    )
    deployment.configure_rebuild(rebuild)

    unpark = commands.add_parser(
        "unpark",
        help="apply parked records; list parked events, or take them to correct them",
        description="Apply the records and events that were parked after failures, once the cause is fixed. With "
        "--list, only list the parked events of the queue and the bus; with --take, move them into a file to correct "
        "them. Exit code 1 if some stay parked.",
    )
    intake.configure(unpark)

    held_ = commands.add_parser(
        "held",
        help="list, release or discard held events",
        description="List the events that are held, release one (it is posted without what it waits for), "
        "or discard one for good. The reason is kept with the operator's name.",
    )
    held.configure(held_)

    forgets = commands.add_parser(
        "forget",
        help="forget a customer's name, or the text of a message",
        description="Forget a customer: the key and the name are deleted, and nobody can tell any more whose the token "
        "in the stored data is. With --redact, remove the text of a message. With --list, show the forgotten customers "
        "by token, without names. With --move, once, prepare data from before the vault.",
    )
    forget.configure(forgets)

    billed = commands.add_parser(
        "bill",
        help="send missed changes of orders to billing again",
        description="Send the payments and cancellations of orders in a span of time to billing again. They are found "
        "in the orders' histories. Nothing is posted twice while the deployment remembers its identity.",
    )
    bill.configure(billed)

    reseal = commands.add_parser(
        "reseal",
        help="write lost files of a report run, or of a month's statements, again",
        description="Write the files that are missing in the S3 bucket again: those of a report run from the ledger, "
        "those of a month's statements from the sealed lines. The same bytes, or nothing.",
    )
    deployment.configure_reseal(reseal)

    rerating = commands.add_parser(
        "rerate",
        help="post the differences to another rate card as adjustments",
        description="Compute the commissions of recorded events under another rate card, and post the differences as "
        "adjustments that refer to the events. A second run posts only missing adjustments, and nothing twice. "
        "Exit code 1 if some could not be posted.",
    )
    rerate.configure(rerating)

    rates = commands.add_parser(
        "rates",
        help="enter exchange rates from a CSV file",
        description="Enter exchange rates from a CSV file, or from that of the European Central Bank, in the order of "
        "time. A second run changes nothing. Exit code 1 if some were refused.",
    )
    exchange_rates.configure(rates)

    registered = commands.add_parser(
        "agencies",
        help="register agencies from a file",
        description="Register the agencies of a file: those that are new, and those whose latest version differs. If a "
        "line is invalid, nothing is sent. Running it again changes nothing. Exit code 1 if agencies were invalid or "
        "refused.",
    )
    agencies.configure(registered)

    issuer = commands.add_parser(
        "owner",
        help="register the marketplace's owner, who issues the statements",
        description="Register the owner of the marketplace from a JSON file, if the latest version differs, and print "
        "what a complete statement lacks. Running it again changes nothing.",
    )
    owner.configure(issuer)

    restored = commands.add_parser(
        "restore",
        help="write a table's lost items from a recovered copy",
        description="Write the items that a table in AWS has lost, from a copy that was recovered to a point in time. "
        "It overwrites nothing; without --write it only counts.",
    )
    restore.configure(restored)

    described = commands.add_parser(
        "openapi",
        help="print the OpenAPI document of the HTTP API",
        description="Print the OpenAPI document of the HTTP API, generated from the functions' routes.",
    )
    described.set_defaults(run=_openapi)

    shown = commands.add_parser(
        "demo",
        help="run a generated day and year of a marketplace and show the results",
        description="Run a generated day of a marketplace through the emulator, with retries, duplicates, conflicts, "
        "refunds and bad items, and then a year of forty agencies. Compare the results with the expected ones.",
    )
    demo.configure(shown)
    shown.set_defaults(run=demo.run)
    return parser


def _add_up(commands: Any) -> None:  # noqa: ANN401 - argparse does not name the type
    up = commands.add_parser(
        "up",
        help="run the emulator: serve the API, with streams and schedules",
        description="Run the emulator: serve the API on this machine, with streams and schedules on its clock, until "
        "Ctrl-C. It keeps its data in memory, so they are lost when it stops.",
    )
    up.add_argument("--port", type=int, default=8080, help="port to listen on (default 8080; 0: any free port)")
    up.add_argument(
        "--host",
        default=HOST,
        metavar="ADDRESS",
        help=f"address to listen on (default {HOST}); for functions in containers, an address that they can reach",
    )
    up.add_argument(
        "--sign-in",
        action="store_true",
        help="let made-up people sign in to the console, at an OpenID provider on this machine. It needs Node.js 18 or "
        "later and npm, and is installed into a cache folder at its first use. Requests then need a token, or a "
        "signature for IAM",
    )
    up.add_argument(
        "--demo",
        action="store_true",
        help="begin with a made-up year that ends today: a marketplace with forty agencies, whose last month is to be "
        "closed. It is made by the functions, which takes about a minute",
    )
    up.add_argument(
        "--demo-months",
        type=_months,
        default=year.MONTHS,
        metavar="N",
        help=f"with --demo, the full months of the year, {_FEWEST_MONTHS} to {year.MONTHS} (default {year.MONTHS})",
    )
    up.add_argument(
        "--local-receivers",
        action="store_true",
        help="let webhooks be sent to this machine, such as http://127.0.0.1:9000/hook; on AWS, this is impossible",
    )
    _add_stack_options(up)
    up.set_defaults(run=_up)


def _add_replay(commands: Any) -> None:  # noqa: ANN401 - argparse does not name the type
    replay = commands.add_parser(
        "replay",
        help="send files of events through the whole system on a virtual clock",
        description="Send files of events through the whole system in the emulator: ingest, streams, counters, "
        "snapshots, reports. The clock is virtual and follows the events' times, never backwards. At the end, the "
        "streams are drained, the last quarter-hour is reported, and the sealed files are proven. Exit code 1 if lines "
        "could not be read or delivered, exchange rates were refused, or counters and sealed files differ.",
    )
    replay.add_argument(
        "files", nargs="+", metavar="FILE", help="NDJSON of CloudEvents, plain or .gz; - for standard input"
    )
    replay.add_argument("--out", type=Path, metavar="DIR", help="write the sealed files into this new or empty folder")
    replay.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    replay.add_argument(
        "--batch",
        type=int,
        default=MAX_BATCH,
        metavar="N",
        help=f"the most events of one request, 1 to {MAX_BATCH} (default {MAX_BATCH})",
    )
    replay.add_argument(
        "--through",
        choices=WAYS,
        help="send the events as messages of the queue, as events of the bus, or as files of the inbox, one a "
        "quarter-hour, and not as requests",
    )
    replay.add_argument(
        "--orders",
        action="store_true",
        help="send sales that name their order (order_id) as orders; each is paid at once and billed from the stream",
    )
    replay.add_argument(
        "--rates", metavar="FILE", help=f"enter the exchange rates of a file, each at its time: {exchange_rates.HELP}"
    )
    replay.add_argument(
        "--agencies",
        metavar="FILE",
        help=f"register the agencies of a file before the first event, or at registered_at: {agencies.HELP}. An agency "
        "may have several versions, each with its valid_from, and optionally registered_at, the instant at which the "
        "version is written",
    )
    replay.add_argument(
        "--owner", type=Path, metavar="FILE", help=f"register the owner before the first event: {owner.HELP}"
    )
    replay.add_argument(
        "--cards", type=Path, metavar="DIR", help=f"write rate cards before the first event: {rate_cards.HELP}"
    )
    replay.add_argument(
        "--statements",
        action="store_true",
        help="seal each period after its cut-off, release its drafts that pass all checks, and let time pass until the "
        "last event's period is sealed",
    )
    replay.add_argument(
        "--faults",
        type=_faults,
        metavar="SPEC",
        help="inject faults into AWS calls: KIND=CHANCE, KIND@POSITION and seed=N with commas, such as all=0.05,seed=7",
    )
    replay.add_argument(
        "--open",
        action="store_true",
        help="then serve the console, and open it in the browser, until Ctrl-C. The clock runs on from the end of the "
        "replay, so the last event's month is this month, and it is not closed",
    )
    replay.add_argument(
        "--no-browser", dest="browser", action="store_false", help="with --open, only serve the console"
    )
    replay.add_argument(
        "--port", type=int, default=8080, help="with --open, port to listen on (default 8080; 0: any free port)"
    )
    _add_stack_options(replay)
    replay.set_defaults(run=_replay)


def _add_sealed(commands: Any) -> None:  # noqa: ANN401 - argparse does not name the type
    proof = commands.add_parser(
        "verify",
        help="prove the sealed files: reports and statements",
        description="Prove the sealed files. Of the reports: manifests, hashes, chain, order, commissions and sums. Of "
        "the statements: that each sealed line is on the right one, and that every figure follows from the lines.",
    )
    where = proof.add_mutually_exclusive_group(required=True)
    where.add_argument(
        "folder",
        type=Path,
        nargs="?",
        metavar="DIR",
        help="the folder of replay --out, or a copy of the S3 bucket",
    )
    where.add_argument("--stack", metavar="NAME", help="the deployed CloudFormation stack, whose S3 bucket is read")
    where.add_argument(
        "--statement",
        type=Path,
        metavar="DIR",
        help="the folder of one statement (statement.json, .html and .xml, lines.csv.gz): prove it without other files",
    )
    proof.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    proof.add_argument(
        "--dedup-retention-days",
        type=_days,
        default=0,
        metavar="N",
        help="the deployment's parameter DedupRetentionDays: days for which it remembers identities (default 0: for "
        "ever); an identity that is sealed twice within them is a problem",
    )
    proof.set_defaults(run=_verify, url=None)

    listed = commands.add_parser(
        "statements",
        help="list, download and open the statements of a period; list and decide drafts",
        description="List the statements of a period, from a folder, a deployed stack or an emulator; download their "
        "files, and open them in the browser. With --drafts, list the drafts that have no statement yet, and why. "
        "Release them, hold one back, or cancel a statement. With --run, seal the periods that are due, without "
        "waiting for the watch.",
    )
    statements.configure(listed)

    sql.configure(commands.add_parser("sql", help=sql.HELP, description=sql.DESCRIPTION))


def _add_accounting(commands: Any) -> None:  # noqa: ANN401 - argparse does not name the type
    for name, module in _ACCOUNTING.items():
        module.configure(commands.add_parser(name, help=module.HELP, description=module.DESCRIPTION))


def _add_loading(commands: Any) -> None:  # noqa: ANN401 - argparse does not name the type
    csv = commands.add_parser(
        "csv",
        help="convert a CSV file of sales into events",
        description="Convert a CSV file of sales into NDJSON of events, by a TOML map; or propose a map for it.",
    )
    csv_command.configure(csv)
    csv.set_defaults(run=csv_command.run)

    sent = commands.add_parser("send", help=event_send.HELP, description=event_send.DESCRIPTION)
    event_send.configure(sent)

    imported = commands.add_parser(
        "import",
        help="check a file of events whole, then record them",
        description="Check a file of events whole: its totals by account and month, compared with expected ones. Then "
        "record the events. An import that was interrupted continues where it stopped, and nothing is recorded twice. "
        "Exit code 1 if the totals differ, or if an event is not in the ledger at the end.",
    )
    event_import.configure(imported)


def _add_stack_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--rate",
        metavar="RATE",
        help='schedule of the reports: "rate(1 hour)" (the default) or a cron such as "cron(0 8 ? * MON-FRI *)", '
        "from 15 minutes to 9 days apart",
    )
    parser.add_argument(
        "--engine",
        default=MOTO,
        metavar="ENGINE",
        help=f"{MOTO} (embedded, the default), {DYNAMODB_LOCAL} (needs Java 17), or the URL of a DynamoDB endpoint",
    )
    parser.add_argument(
        "--parameter",
        action="append",
        default=[],
        type=_parameter,
        metavar="NAME=VALUE",
        help="set a parameter of template.yaml, such as LedgerShards=4; may be repeated",
    )
    parser.add_argument("--verbose", action="store_true", help="print the functions' logs to standard error")


def _parameter(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError("expected NAME=VALUE")
    return name, value


def _months(text: str) -> int:
    if not text.isdecimal() or not _FEWEST_MONTHS <= int(text) <= year.MONTHS:
        raise argparse.ArgumentTypeError(f"expected a number of months, {_FEWEST_MONTHS} to {year.MONTHS}")
    return int(text)


def _days(text: str) -> int:
    if not text.isdecimal() or int(text) > _MOST_DAYS:
        raise argparse.ArgumentTypeError(f"expected a number of days, 0 to {_MOST_DAYS}")
    return int(text)


def _faults(text: str) -> Faults:
    try:
        return Faults(Spec.parse(text))
    except (ToolError, OSError) as error:
        raise argparse.ArgumentTypeError(str(error).removeprefix("--faults: ")) from error


def _parameters(args: argparse.Namespace) -> dict[str, str | int]:
    given: dict[str, str | int] = dict(args.parameter)
    return {**given, "ReportRate": args.rate} if args.rate else given


def _ways_in(args: argparse.Namespace) -> dict[str, str | int]:
    """Return the parameters of an emulator that takes events in by queue, bus and inbox, unless they say otherwise."""
    given = _parameters(args)
    return given if "Intake" in given else {"Intake": "on", "IntakeBusName": intake.BUS, **given}


# ---------------------------------------------------------------- up


def _up(args: argparse.Namespace) -> int:
    if args.sign_in:
        _check_sign_in(args)
    if args.demo:
        _check_demo(args)
    logs: dict[str, Any] = {"logs": sys.stderr} if args.verbose else {}
    # An engine that we start holds no other stack, so resources can have the names that `sam local` uses.
    plain = args.engine in {MOTO, DYNAMODB_LOCAL}
    with ExitStack() as context:
        server = context.enter_context(_server(args.port, args.host))
        given = {
            "Notifications": "off" if args.demo else "on",
            **_ways_in(args),
            **(year_run.PARAMETERS if args.demo else {}),
        }
        if args.sign_in:
            print("Starting the OpenID provider. Its first start installs it.", file=sys.stderr)
            origins = (server.url, f"http://localhost:{server.server_port}")
            given |= provider.parameters(context.enter_context(provider.running(origins)))
        stack = context.enter_context(
            open_stack(
                args.engine,
                given,
                s3_url=server.url,
                plain=plain,
                virtual=args.demo,
                local_receivers=args.local_receivers,
                **logs,
            )
        )
        stack.start()
        if args.demo:
            _make_year(stack, args.demo_months)
        stack.anonymous = not args.sign_in
        rate = year_run.AFTERWARDS if args.demo else stack.template.parameters["ReportRate"]
        print(f"Open {server.url} in a browser for the console.")
        if args.sign_in:
            print(f"These people can sign in, at {given['JwtIssuer']}:")
            for person in PEOPLE.values():
                print(f"  {person.name} - {person.work}")
        print(f"Quarterhour on {server.url} - engine {stack.engine.name}, reports at {rate}")
        for route in stack.answered_routes():
            print(f"  {route.method:5} {route.path}")
        print("Data are in memory and are lost when it stops. Ctrl-C stops it.", flush=True)
        with suppress(KeyboardInterrupt):
            server.serve(stack)
    print("Stopped.")
    return 0


def _server(port: int, host: str = HOST) -> Server:
    try:
        return Server(port, host)
    except (OSError, OverflowError) as error:
        raise ToolError(f"cannot listen on {host}:{port}: {error}") from error


def _make_year(stack: Stack, months: int) -> None:
    """Fill a stack with the demo's year, which ends now."""
    errors = Console(stderr=True, highlight=False)
    print("Making a year of a made-up marketplace. This takes about a minute.", file=sys.stderr, flush=True)
    calendar = year.Calendar(clock.now(), months)
    with replaying(stack) as replay, _progress(errors) as bar:
        task = bar.add_task("a year", total=1, status="")
        ended = year_run.run_year(stack, replay, calendar, progress=lambda share: bar.update(task, completed=share))
    if ended.refused:
        raise ToolError(f"the year is not as expected: {ended.refused[0]}")
    print(f"{ended.last_period} is to be closed: {ended.waiting[ended.last_period]} drafts wait for a person.")


def _check_demo(args: argparse.Namespace) -> None:
    """Raise ``ToolError`` for options that do not go with ``--demo``."""
    if args.engine != MOTO:
        raise ToolError(f"--demo needs the engine {MOTO}: leave out --engine")
    for name in _parameters(args):
        if name in year_run.PARAMETERS:
            raise ToolError(f"--demo sets the parameter {name}: leave it out")


def _check_sign_in(args: argparse.Namespace) -> None:
    """Raise ``ToolError`` for options that do not go with ``--sign-in``."""
    if args.host != HOST:
        raise ToolError(f"--sign-in works on {HOST} only, because browsers require https elsewhere: leave out --host")
    for name, _ in args.parameter:
        if name in provider.parameters(""):
            raise ToolError(f"--sign-in sets the parameter {name}: leave out --parameter {name}")


# ---------------------------------------------------------------- replay


def _replay(args: argparse.Namespace) -> int:
    if not 1 <= args.batch <= MAX_BATCH:
        raise ToolError(f"--batch must be between 1 and {MAX_BATCH}")
    documents = [
        *([owner.read(args.owner)] if args.owner else ()),
        *(agencies.read_versions(args.agencies) if args.agencies else ()),
        *(rate_cards.read(args.cards) if args.cards else ()),
    ]
    if args.through and args.orders:
        raise ToolError("--orders sends requests: leave out --through")
    parameters = _ways_in(args) if args.through else _parameters(args)
    if args.out:
        prepare_folder(args.out)
    errors = Console(stderr=True, highlight=False)
    logs: dict[str, Any] = {"logs": sys.stderr} if args.verbose else {}
    with ExitStack() as context:
        server = context.enter_context(_server(args.port)) if args.open else None
        s3_url = server.url if server else ""
        sources = [context.enter_context(open_source(name)) for name in args.files]
        faults = context.enter_context(args.faults.installed()) if args.faults else None
        stack = context.enter_context(
            open_stack(args.engine, parameters, s3_url=s3_url, virtual=True, faults=faults, **logs)
        )
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
        bar = context.enter_context(_progress(errors))
        replay = context.enter_context(
            replaying(
                stack,
                lambda line: bar.console.print(printable(line), markup=False, soft_wrap=True),
                args.batch,
                orders=args.orders,
                statements=args.statements,
                through=args.through,
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


def _progress(console: Console) -> Progress:
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[status]}"),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


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
    _show_accounts(console, outcome.counters)
    released = [one.of_list for one in outcome.statements or ()]
    for _, listed in groupby(released, lambda one: one.period):
        statements.show(console, listed)
    if outcome.drafts:
        drafts.show_drafts(console, outcome.drafts)
        console.print("--owner and --agencies register what a statement needs before its draft is made")
    lost = [
        f"{counted(number, 'line')} {what}"
        for number, what in ((outcome.unread, "could not be read"), (outcome.undelivered, "could not be delivered"))
        if number
    ]
    result = "verified: counters and sealed files agree" if outcome.verified else "NOT verified"
    if lost:
        result += f": {', '.join(lost)}"
    console.print(result, style="green" if outcome.verified else "bold red")


def _show_accounts(console: Console, accounts: Accounts) -> None:
    table = Table("agency", "currency", *(Column(name, justify="right") for name in _FIGURES))
    for account, totals in list(accounts.items())[:_SHOWN]:
        names = (Text(printable(name, _LONGEST_NAME)) for name in (account.agency, account.currency))
        table.add_row(*names, *(str(value) for value in totals.as_dict().values()))
    print_table(console, table)
    if len(accounts) > _SHOWN:
        console.print(f"... and {len(accounts) - _SHOWN} more accounts")


# ---------------------------------------------------------------- verify, openapi


def _verify(args: argparse.Namespace) -> int:
    if args.statement:
        return _verify_statement(args)
    sealed = deployment.sealed_files(args)
    proof = verify(sealed.open, sealed.keys(), timedelta(days=args.dedup_retention_days) or None)
    found = proof.reports
    if args.json:
        accounts = {str(account): totals.as_dict() for account, totals in sorted(found.accounts.items())}
        result = {"runs": found.runs, "quarter_hours": found.quarter_hours, "lines": found.lines, "accounts": accounts}
        verified = {
            "periods": proof.periods,
            "drafts": proof.drafts,
            "drafts_without_statement": proof.waiting,
            "releases": proof.releases,
            "documents": proof.documents,
            "statements": proof.statements,
            "statement_lines": proof.lines,
        }
        print(as_json({**result, **verified, "problems": proof.problems, "proven": proof.proven}))
    else:
        console = plain_console()
        counts = (
            counted(found.runs, "run"),
            counted(found.quarter_hours, "quarter-hour"),
            counted(found.lines, "line"),
        )
        console.print(", ".join(counts))
        if proof.periods:
            parts = (
                counted(proof.lines, "line"),
                counted(proof.drafts, "draft"),
                counted(proof.statements, "statement"),
            )
            console.print(f"{counted(proof.periods, 'period')} sealed: {', '.join(parts)}")
            waiting = f"{counted(proof.waiting, 'draft')} without a statement"
            made = f"{counted(proof.releases, 'release')} of {counted(proof.documents, 'document')}"
            console.print(f"{made}, {waiting}")
        _show_accounts(console, dict(sorted(found.accounts.items())))
        console.print("proven" if proof.proven else "NOT proven", style="green" if proof.proven else "bold red")
    for problem in proof.problems:
        print(printable(problem), file=sys.stderr)
    if not found.runs and not proof.problems:
        print(f"{args.stack or args.folder} holds no manifest", file=sys.stderr)
    return 0 if proof.proven else 1


def _verify_statement(args: argparse.Namespace) -> int:
    found = verify_folder(_document_files(args.statement))
    if args.json:
        print(as_json({**asdict(found), "consistent": found.consistent}))
    else:
        console = plain_console()
        if found.number:
            of = f"{found.number} of {found.account} for {found.period}"
            console.print(printable(f"{of}: {counted(found.lines, 'line')}, closing balance {found.closing}"))
            console.print(f"SHA-256 of statement.json: {found.sha256}")
        result = "consistent: every figure follows from the lines" if found.consistent else "NOT consistent"
        console.print(result, style="green" if found.consistent else "bold red")
        console.print("Not checked, as it needs other files:")
        for one in found.not_checked:
            console.print(f"  - {one}")
    for problem in found.problems:
        print(printable(problem), file=sys.stderr)
    return 0 if found.consistent else 1


def _document_files(folder: Path) -> OpenObject:
    """Return what opens the files of a document: the lines of a cancellation are those of the folder above."""
    own = Folder(folder)

    def opened(key: str) -> IO[bytes]:
        try:
            return own.open(key)
        except FileNotFoundError:
            path = folder.resolve()
            if key != LINES or not path.name.isdecimal():
                raise
            return Folder(path.parent).open(key)

    return opened


def _openapi(_args: argparse.Namespace) -> int:
    from quarterhour_tools.openapi.document import printed  # noqa: PLC0415 - slow to import, and only needed here

    sys.stdout.write(printed())
    return 0
