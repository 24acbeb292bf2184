"""The command line `quarterhour`: the list of its commands, and what they have in common."""

import argparse
import signal
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final, Protocol, cast

from botocore.exceptions import BotoCoreError, ClientError

from quarterhour.model.fields import printable
from quarterhour.model.texts import one_form
from quarterhour_tools.errors import INTERRUPTED, INTERRUPTED_MESSAGE, ToolError

COMMANDS: Final[Mapping[str, str]] = {
    "up": "up",
    "replay": "replay.command",
    "verify": "verify",
    "statements": "statements.command",
    "sql": "warehouse.command",
    "journal": "accounting.journal",
    "vat": "accounting.vat",
    "dac7": "accounting.dac7",
    "payouts": "accounting.payouts",
    "payments": "accounting.payments",
    "reconcile": "reconciliation.command",
    "csv": "csv.command",
    "send": "loading.event_send",
    "deliver": "loading.webhook",
    "import": "loading.event_import",
    "check": "operations.check.command",
    "rebuild": "operations.rebuild",
    "unpark": "operations.intake",
    "held": "operations.held",
    "forget": "operations.forget",
    "bill": "operations.bill",
    "reseal": "operations.reseal",
    "rerate": "operations.rerate",
    "rates": "loading.exchange_rates",
    "agencies": "loading.agencies",
    "owner": "loading.owner",
    "settings": "loading.settings",
    "restore": "operations.restore",
    "openapi": "openapi.command",
    "demo": "demo.command",
}
"""The module of each command, by the command's name. It is imported when the command is used."""

_CANNOT: Final = 2


class Command(Protocol):
    """The module of a command."""

    NAME: str
    HELP: str
    DESCRIPTION: str

    def configure(self, parser: argparse.ArgumentParser) -> None:
        """Add the arguments of the command."""

    def run(self, args: argparse.Namespace) -> int:
        """Run the command; return its exit code."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code: 0 done, 1 not proven, 2 not possible, 130 interrupted."""
    # SIGTERM interrupts too, so that child processes end with this one.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    given = list(map(_in_one_form, sys.argv[1:] if arguments is None else arguments))
    try:
        args = _parser(given).parse_args(given)
        code: int = args.run(args)
    except (ToolError, OSError, BotoCoreError, ClientError) as error:
        print(f"quarterhour: {printable(error)}", file=sys.stderr)
        return _CANNOT
    except KeyboardInterrupt:
        print(INTERRUPTED_MESSAGE, file=sys.stderr)
        return INTERRUPTED
    return code


def command(name: str) -> Command:
    """Return the module of a command."""
    return cast("Command", import_module(f"quarterhour_tools.{COMMANDS[name]}"))


def _in_one_form(argument: str) -> str:
    """Return an argument in one form, so that a name is found as it is stored; the name of a file stays as it is."""
    try:
        return argument if argument.isascii() or Path(argument).exists() else one_form(argument)
    except (OSError, ValueError):  # too long for the name of a file
        return one_form(argument)


def _parser(given: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of the command that is given; without one, that of all commands, which takes a second."""
    parser = argparse.ArgumentParser(
        prog="quarterhour",
        description="Quarterhour on one machine: a commission ledger, from the same template and functions as in AWS.",
        epilog="Exit codes: 0 done and verified, 1 not verified, or some lines could not be read, delivered or used, "
        "2 could not run, 130 interrupted.",
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name in given[:1] if given and given[0] in COMMANDS else COMMANDS:
        one = command(name)
        own = commands.add_parser(name, help=one.HELP, description=one.DESCRIPTION)
        own.set_defaults(run=one.run)
        one.configure(own)
    return parser
