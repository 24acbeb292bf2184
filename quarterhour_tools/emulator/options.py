"""The options of the commands that run an emulator."""

import argparse

from quarterhour_tools.emulator.engines import DYNAMODB_LOCAL, EMBEDDED
from quarterhour_tools.emulator.server import HOST, Server
from quarterhour_tools.errors import ToolError


def add_stack_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the stack that an emulator runs."""
    parser.add_argument(
        "--rate",
        metavar="RATE",
        help='schedule of the reports: "rate(1 hour)" (the default) or a cron such as "cron(0 8 ? * MON-FRI *)", '
        "from 15 minutes to 9 days apart",
    )
    parser.add_argument(
        "--engine",
        default=EMBEDDED,
        metavar="ENGINE",
        help=f"{EMBEDDED} (the default), {DYNAMODB_LOCAL} (needs Java 17), or the URL of a DynamoDB endpoint",
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


def stack_parameters(args: argparse.Namespace) -> dict[str, str | int]:
    """Return the parameters of the template that the options set."""
    given: dict[str, str | int] = dict(args.parameter)
    return {**given, "ReportRate": args.rate} if args.rate else given


def intake_parameters(args: argparse.Namespace) -> dict[str, str | int]:
    """Return the parameters of an emulator that takes events in by queue, bus and inbox, unless they say otherwise."""
    return {"Intake": "queue-and-bus", **stack_parameters(args)}


def new_server(port: int, host: str = HOST) -> Server:
    """Return a server that listens; raise ``ToolError`` if it cannot."""
    try:
        return Server(port, host)
    except (OSError, OverflowError) as error:
        raise ToolError(f"cannot listen on {host}:{port}: {error}") from error
