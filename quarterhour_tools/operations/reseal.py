"""`quarterhour reseal`: writes lost files of a report run, or of a month's statements, again."""

import argparse
from typing import Any, Final

from quarterhour.model.periods import Period
from quarterhour.reports.keys import is_run_id
from quarterhour_tools.errors import ToolError
from quarterhour_tools.target.deployment import configure_target, invoke

NAME: Final = "reseal"
DESCRIPTION: Final = (
    "Write the files that are missing in the S3 bucket again: those of a report run from the ledger, those of a "
    "month's statements from the sealed lines. The same bytes, or nothing."
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour reseal``."""
    parser.add_argument("sealed", metavar="RUN|PERIOD", help="the run, such as 2026-10-23T0130-0230, or the month")
    configure_target(parser)


def run(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    if not is_run_id(args.sealed):
        return _reseal_period(args)
    while True:
        answer = invoke(args, "Report", {"reseal": args.sealed})
        _print_written(answer)
        if answer["complete"]:
            break
    print(f"{answer['files']} files are as they were sealed")
    return 0


def _reseal_period(args: argparse.Namespace) -> int:
    try:
        event: dict[str, Any] = {"reseal": str(Period.parse(args.sealed)), "from": 0}
    except ValueError:
        expected = "such as 2026-10-23T0130-0230 in GET /reports, or such as 2026-11"
        raise ToolError(f"{args.sealed!r} is not a run or a month: write it {expected}") from None
    files = 0
    while event["from"] is not None:
        answer = invoke(args, "Statements", event)
        _print_written(answer)
        files += answer["files"]
        event["from"] = answer["next"]
    print(f"{files} files are as they were sealed")
    return 0


def _print_written(answer: dict[str, Any]) -> None:
    for key in answer["written"]:
        print(f"{key}: written again", flush=True)
