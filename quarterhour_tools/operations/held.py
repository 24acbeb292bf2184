"""`quarterhour held`: lists held events, and lets an operator release or discard one of them."""

import argparse
from typing import Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from quarterhour.ledger.keys import HeldStatus
from quarterhour.ledger.recording.held_event import HeldReason
from quarterhour_tools.output import counted, print_table
from quarterhour_tools.target.deployment import api, configure_target, invoke, operator

NAME: Final = "held"
DESCRIPTION: Final = (
    "List the events that are held, release one (it is posted without what it waits for), or discard one for "
    "good. The reason is kept with the operator's name."
)

_PAGE: Final = "1000"
_TITLES: Final = ("held at", "source", "id", "type", "agency", "currency", "amount", "reason", "why not posted")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour held``."""
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    listed = commands.add_parser("list", help="list the held events, the oldest first")
    listed.add_argument("--reason", choices=[one.value for one in HeldReason], help="only those that wait for this")
    listed.add_argument("--agency", metavar="NAME", help="only those of this agency")
    listed.add_argument("--discarded", action="store_true", help="those that were discarded")
    configure_target(listed)
    listed.set_defaults(action=None)
    for name, help_ in (
        ("release", "post a held event without what it waits for"),
        ("discard", "discard a held event for good; the reason is kept"),
    ):
        decide = commands.add_parser(name, help=help_)
        decide.add_argument("source", metavar="SOURCE", help="the event's source")
        decide.add_argument("id", metavar="ID", help="the event's id")
        decide.add_argument("--reason", required=True, metavar="TEXT", help="why; it is kept with your name")
        configure_target(decide)
        decide.set_defaults(action=name)


def run(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    return _decide(args) if args.action else _list(args)


def _list(args: argparse.Namespace) -> int:
    remote = api(args)
    query = {"status": HeldStatus.DISCARDED if args.discarded else HeldStatus.HELD, "limit": _PAGE}
    query |= {name: value for name in ("reason", "agency") if (value := getattr(args, name))}
    table = Table(*_TITLES)
    for one in remote.pages("/held", query):
        event = one["event"]
        cells = (one["held_at"], one["source"], one["id"], event["type"], event["agency"], event["currency"])
        table.add_row(*map(Text, (*cells, event["amount"], one["reason"], _why(one))))
    print_table(Console(), table)
    print(f"{counted(table.row_count, 'event')} {query['status']}")
    return 0


def _why(held: dict[str, Any]) -> str:
    decision = held.get("discarded")
    if decision:
        return f"discarded by {decision['by']} at {decision['at']}: {decision['reason']}"
    return "; ".join(f"{one['field']} {one['problem']}" for one in held["problems"])


def _decide(args: argparse.Namespace) -> int:
    named = {"source": args.source, "id": args.id}
    invoke(args, "Repair", {"action": args.action, **named, "by": operator(args), "reason": args.reason})
    if args.action == "discard":
        print(f"{args.source} {args.id}: discarded")
        return 0
    # The watch posts it: its appends to the ledger need the short timeout that the repair function lacks.
    posted = invoke(args, "Watch", {})["held"]["posted"]
    print(f"{args.source} {args.id}: released; {counted(posted, 'held event')} posted now")
    return 0
