"""`quarterhour rebuild`: repairs counters from the sealed ledger, by the repair function."""

import argparse
from typing import Final

from quarterhour.model import clock
from quarterhour.model.identifiers import Account
from quarterhour_tools.errors import ToolError
from quarterhour_tools.output import counted
from quarterhour_tools.target.deployment import configure_target, invoke

NAME: Final = "rebuild"
DESCRIPTION: Final = (
    "Repair the counters of one account or of all accounts from the sealed ledger, day by day, while new events "
    "are recorded."
)
_POLL_SECONDS: Final = 5


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour rebuild``."""
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("account", nargs="?", metavar="ACCOUNT", help="the account, such as 42#GBP")
    which.add_argument("--all", action="store_true", help="every account")
    parser.add_argument(
        "--from",
        dest="first",
        metavar="DAY",
        help="the first day, such as 2026-10-23, to continue an interrupted rebuild; earlier days stay unchanged",
    )
    configure_target(parser)


def run(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    event = {"action": "rebuild"}
    if args.first:
        event["from"] = args.first
    if args.account:
        try:
            event["account"] = str(Account.parse(args.account))
        except ValueError as error:
            raise ToolError(f"{args.account!r} is not an account: write AGENCY#CURRENCY, such as 42#GBP") from error
    days = repaired = 0
    while True:
        answer = invoke(args, "Repair", event)
        if answer["execution"]:
            print(f"many days are rebuilt side by side: {answer['execution']}", flush=True)
        while answer["execution"]:
            clock.sleep(_POLL_SECONDS)
            answer = invoke(args, "Repair", {"action": "follow", "execution": answer["execution"]})
        days += answer["days"]
        repaired += answer["repaired"]
        if answer["next"] is None:
            break
        event["from"] = answer["next"]
        so_far = f"{counted(days, 'day')} checked, {counted(repaired, 'counter')} repaired so far"
        print(f"before {answer['next']}: {so_far}", flush=True)
    checked = f"{counted(days, 'day')} and {counted(answer['accounts'], 'account')} checked"
    print(f"{checked}, {counted(repaired, 'counter')} repaired")
    return 0
