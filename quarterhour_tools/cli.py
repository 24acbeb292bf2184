"""The command line `quarterhour`: the list of its commands, and what they have in common."""

import argparse
import signal
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final, Protocol, cast

from quarterhour.model.fields import printable
from quarterhour.model.texts import one_form
from quarterhour_tools.errors import INTERRUPTED, INTERRUPTED_MESSAGE, ToolError

COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "up": ("up", "run the emulator: serve the API, with streams and schedules"),
    "replay": ("replay.command", "send files of events through the whole system on a virtual clock"),
    "verify": ("verify", "prove the sealed files: reports and statements"),
    "statements": ("statements.command", "list, download and open the statements of a period; list and decide drafts"),
    "sql": ("warehouse.command", "run SQL over sealed files"),
    "journal": ("accounting.journal", "write the journal entries of a period for an accounting system"),
    "vat": ("accounting.vat", "sum up the VAT of a period's statements"),
    "dac7": ("accounting.dac7", "write the figures of DAC7: what each agency sold in a year, by calendar quarter"),
    "roll-forward": (
        "accounting.roll_forward",
        "show the balances of all accounts over a month: opening, movements, closing",
    ),
    "receivables": ("accounting.receivables", "show what was open of all documents at the end of a day, by age"),
    "payouts": ("accounting.payouts", "pay out the credits of agencies by SEPA credit transfer"),
    "payments": ("accounting.payments", "match a bank's file to statements, and record payments"),
    "reconcile": (
        "reconciliation.command",
        "compare a payment provider's file with the ledger, and explain every difference",
    ),
    "csv": ("csv.command", "convert a CSV file of sales into events"),
    "send": ("loading.event_send", "send a file of events to a running stack"),
    "deliver": ("loading.webhook", "sign a webhook's payload and post it to a connection, as its provider would"),
    "import": ("loading.event_import", "check a file of events whole, then record them"),
    "check": ("operations.check.command", "try a deployed stack from outside, and write what AWS answered to a page"),
    "rebuild": ("operations.rebuild", "repair counters from the sealed ledger"),
    "unpark": ("operations.intake", "apply parked records; list parked events, or take them to correct them"),
    "held": ("operations.held", "list, release or discard held events"),
    "forget": ("operations.forget", "forget a customer's name, or the text of a message"),
    "bill": ("operations.bill", "send missed changes of orders to billing again"),
    "reseal": ("operations.reseal", "write lost files of a report run, or of a month's statements, again"),
    "rerate": ("operations.rerate", "post the differences to another rate card as adjustments"),
    "rates": ("loading.exchange_rates", "enter exchange rates from a CSV file"),
    "rate-cards": ("loading.rate_card_load", "write rate cards from a CSV table of rates"),
    "agencies": ("loading.agencies", "register agencies from a file"),
    "owner": ("loading.owner", "register the marketplace's owner, who issues the statements"),
    "settings": ("loading.settings", "write or show the settings that finance decides"),
    "restore": ("operations.restore", "write a table's lost items from a recovered copy"),
    "openapi": ("openapi.command", "print the OpenAPI document of the HTTP API"),
    "demo": ("demo.command", "run a generated day and year of a marketplace and show the results"),
}
"""The module of each command, and the line about it in the list of all, by the command's name.

A module is imported when its command is used.
"""

_CANNOT: Final = 2


class Command(Protocol):
    """The module of a command."""

    NAME: str
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
    except KeyboardInterrupt:
        print(INTERRUPTED_MESSAGE, file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        from quarterhour_tools.aws_errors import sentence_of  # noqa: PLC0415 - only an error needs it

        said = sentence_of(error)
        if said is None and not isinstance(error, (ToolError, OSError)):
            raise
        print(f"quarterhour: {printable(said or error)}", file=sys.stderr)
        return _CANNOT
    return code


def command(name: str) -> Command:
    """Return the module of a command."""
    return cast("Command", import_module(f"quarterhour_tools.{COMMANDS[name][0]}"))


def _in_one_form(argument: str) -> str:
    """Return an argument in one form, so that a name is found as it is stored; the name of a file stays as it is."""
    try:
        return argument if argument.isascii() or Path(argument).exists() else one_form(argument)
    except (OSError, ValueError):  # too long for the name of a file
        return one_form(argument)


def _parser(given: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of the command that is given; without one, that of the list of all commands."""
    parser = argparse.ArgumentParser(
        prog="quarterhour",
        description="Quarterhour on one machine: a commission ledger, from the same template and functions as in AWS.",
        epilog="Exit codes: 0 done and verified, 1 not verified, or some lines could not be read, delivered or used, "
        "2 could not run, 130 interrupted.",
    )
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for name, (_, line) in COMMANDS.items():
        own = commands.add_parser(name, help=line)
        if given[:1] == [name]:
            one = command(name)
            own.description = one.DESCRIPTION
            own.set_defaults(run=one.run)
            one.configure(own)
    return parser
