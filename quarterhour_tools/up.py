"""`quarterhour up`: runs the emulator, which serves the API with streams and schedules."""

import argparse
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from quarterhour.model import clock
from quarterhour_tools.demo import year, year_run
from quarterhour_tools.emulator.engines import DYNAMODB_LOCAL, EMBEDDED
from quarterhour_tools.emulator.options import add_stack_options, intake_parameters, new_server, stack_parameters
from quarterhour_tools.emulator.server import HOST
from quarterhour_tools.emulator.stack import Stack, open_stack
from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading import settings
from quarterhour_tools.output import progress_bar
from quarterhour_tools.replay.replay import replaying
from quarterhour_tools.sign_in import provider
from quarterhour_tools.sign_in.people import PEOPLE

NAME: Final = "up"
DESCRIPTION: Final = (
    "Run the emulator: serve the API on this machine, with streams and schedules on its clock, until Ctrl-C. It "
    "keeps its data in memory, so they are lost when it stops."
)
_FEWEST_MONTHS: Final = 2
"""The fewest months of the demo's year: one that is released, and one to close."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour up``."""
    parser.add_argument("--port", type=int, default=8080, help="port to listen on (default 8080; 0: any free port)")
    parser.add_argument(
        "--host",
        default=HOST,
        metavar="ADDRESS",
        help=f"address to listen on (default {HOST}); for functions in containers, an address that they can reach",
    )
    parser.add_argument(
        "--sign-in",
        action="store_true",
        help="let made-up people sign in to the console, at an OpenID provider on this machine. It needs Node.js 18 or "
        "later and npm, and is installed into a cache folder at its first use. Requests then need a token, or a "
        "signature for IAM",
    )
    parser.add_argument(
        "--demo",
        action="store_true",
        help="begin with a made-up year that ends today: a marketplace with forty agencies, whose last month is to be "
        "closed. It is made by the functions, which takes about a minute",
    )
    parser.add_argument(
        "--demo-months",
        type=_months,
        default=year.MONTHS,
        metavar="N",
        help=f"with --demo, the full months of the year, {_FEWEST_MONTHS} to {year.MONTHS} (default {year.MONTHS})",
    )
    parser.add_argument(
        "--settings", type=Path, metavar="FILE", help=f"the settings from the beginning: {settings.FILE_HELP}"
    )
    parser.add_argument(
        "--local-receivers",
        action="store_true",
        help="let webhooks be sent to this machine, such as http://127.0.0.1:9000/hook; on AWS, this is impossible",
    )
    add_stack_options(parser)


def _months(text: str) -> int:
    if not text.isdecimal() or not _FEWEST_MONTHS <= int(text) <= year.MONTHS:
        raise argparse.ArgumentTypeError(f"expected a number of months, {_FEWEST_MONTHS} to {year.MONTHS}")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    if args.sign_in:
        _check_sign_in(args)
    if args.demo:
        _check_demo(args)
    logs: dict[str, Any] = {"logs": sys.stderr} if args.verbose else {}
    given_settings = settings.read(args.settings).content if args.settings else {}
    decided = {**given_settings, **(year_run.SETTINGS if args.demo else {})}
    # An engine that we start holds no other stack, so resources can have the names that `sam local` uses.
    plain = args.engine in {EMBEDDED, DYNAMODB_LOCAL}
    with ExitStack() as context:
        server = context.enter_context(new_server(args.port, args.host))
        given = {
            "Notifications": "off" if args.demo else "webhooks",
            **intake_parameters(args),
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
                settings=decided,
                **logs,
            )
        )
        stack.start()
        if args.demo:
            _make_year(stack, args.demo_months)
        stack.anonymous = not args.sign_in
        rate = year_run.AFTERWARDS if args.demo else stack.template.parameters["ReportRate"]
        _print_start(stack, server.url, rate, str(given["JwtIssuer"]) if args.sign_in else "")
        with suppress(KeyboardInterrupt):
            server.serve(stack)
    print("Stopped.")
    return 0


def _print_start(stack: Stack, url: str, rate: str, issuer: str) -> None:
    """Print where the stack is, what it answers, and who can sign in at an issuer."""
    print(f"Open {url} in a browser for the console.")
    if issuer:
        print(f"These people can sign in, at {issuer}:")
        for person in PEOPLE.values():
            print(f"  {person.name} - {person.work}")
    print(f"Quarterhour on {url} - engine {stack.engine.name}, reports at {rate}")
    for route in stack.answered_routes():
        print(f"  {route.method:5} {route.path}")
    print("Data are in memory and are lost when it stops. Ctrl-C stops it.", flush=True)


def _make_year(stack: Stack, months: int) -> None:
    """Fill a stack with the demo's year, which ends now."""
    errors = Console(stderr=True, highlight=False)
    print("Making a year of a made-up marketplace. This takes about a minute.", file=sys.stderr, flush=True)
    calendar = year.Calendar(clock.now(), months)
    with replaying(stack) as replay, progress_bar(errors) as bar:
        task = bar.add_task("a year", total=1, status="")
        ended = year_run.run_year(stack, replay, calendar, progress=lambda share: bar.update(task, completed=share))
    if ended.refused:
        raise ToolError(f"the year is not as expected: {ended.refused[0]}")
    print(f"{ended.last_period} is to be closed: {ended.waiting[ended.last_period]} drafts wait for a person.")


def _check_demo(args: argparse.Namespace) -> None:
    """Raise ``ToolError`` for options that do not go with ``--demo``."""
    if args.engine != EMBEDDED:
        raise ToolError(f"--demo needs the engine {EMBEDDED}: leave out --engine")
    for name in stack_parameters(args):
        if name in year_run.PARAMETERS:
            raise ToolError(f"--demo sets the parameter {name}: leave it out")


def _check_sign_in(args: argparse.Namespace) -> None:
    """Raise ``ToolError`` for options that do not go with ``--sign-in``."""
    if args.host != HOST:
        raise ToolError(f"--sign-in works on {HOST} only, because browsers require https elsewhere: leave out --host")
    for name, _ in args.parameter:
        if name in provider.parameters(""):
            raise ToolError(f"--sign-in sets the parameter {name}: leave out --parameter {name}")
