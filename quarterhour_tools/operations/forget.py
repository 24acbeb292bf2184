"""`quarterhour forget`: forgets a customer or the text of a message, lists what was forgotten."""

import argparse
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from quarterhour_tools.errors import ToolError
from quarterhour_tools.output import counted, print_table
from quarterhour_tools.target.deployment import configure_target, invoke, operator

NAME: Final = "forget"
DESCRIPTION: Final = (
    "Forget a customer: the key and the name are deleted, and nobody can tell any more whose the token in the "
    "stored data is. With --redact, remove the text of a message. With --list, show the forgotten customers by "
    "token, without names."
)

_TITLES: Final = ("at", "token", "by", "reason")
_MESSAGE: Final = ("kind", "subject", "user", "id")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour forget``."""
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("customer", nargs="?", metavar="CUSTOMER", help="the customer's name or token")
    what.add_argument(
        "--redact",
        nargs=len(_MESSAGE),
        metavar=tuple(name.upper() for name in _MESSAGE),
        help="remove the text of a message: of a user in a thread, such as orders 1001 ann m-1",
    )
    what.add_argument("--list", action="store_true", help="list the forgotten customers by token, the oldest first")
    parser.add_argument("--reason", metavar="TEXT", help="why, without the name; it is kept with your name")
    configure_target(parser)


def run(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    if args.list:
        return _list(args)
    if not args.reason:
        raise ToolError("--reason is missing: expected why this is forgotten, without the name")
    why = {"by": operator(args), "reason": args.reason}
    if args.redact:
        invoke(args, "Repair", {"action": "redact", **dict(zip(_MESSAGE, args.redact, strict=True)), **why})
        print("the text of the message is removed")
        return 0
    answer = invoke(args, "Repair", {"action": "forget", "customer": args.customer, **why})
    if answer["token"] is None:
        print("nothing is known of this customer: never recorded, or forgotten before")
        return 1
    print(f"forgotten: {answer['token']} stays")
    return 0


def _list(args: argparse.Namespace) -> int:
    table = Table(*_TITLES)
    for one in invoke(args, "Repair", {"action": "forgotten"})["items"]:
        table.add_row(*(Text(one[name]) for name in _TITLES))
    print_table(Console(), table)
    print(f"{counted(table.row_count, 'customer')} forgotten")
    return 0
