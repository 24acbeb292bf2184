"""`quarterhour verify`: proves the sealed files, reports and statements, from a copy of them alone."""

import argparse
import sys
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import IO, Final

from quarterhour.model.fields import printable
from quarterhour.proof.folder import verify_folder
from quarterhour.proof.reports import OpenObject
from quarterhour.proof.verify import verify
from quarterhour.statements.keys import LINES
from quarterhour_tools.bucket import Folder
from quarterhour_tools.output import as_json, counted, plain_console
from quarterhour_tools.statements.tables import print_accounts
from quarterhour_tools.target.deployment import configure_target, sealed_files

NAME: Final = "verify"
DESCRIPTION: Final = (
    "Prove the sealed files. Of the reports: manifests, hashes, chain, order, commissions and sums. Of the "
    "statements: that each sealed line is on the right one, and that every figure follows from the lines."
)
_MOST_DAYS: Final = 36_500


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour verify``."""
    where = configure_target(parser)
    where.add_argument(
        "folder",
        type=Path,
        nargs="?",
        metavar="DIR",
        help="the folder of replay --out, or a copy of the S3 bucket",
    )
    where.add_argument(
        "--statement",
        type=Path,
        metavar="DIR",
        help="the folder of one statement (statement.json, .html and .xml, lines.csv.gz): prove it without other files",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    parser.add_argument(
        "--dedup-retention-days",
        type=_days,
        default=0,
        metavar="N",
        help="the deployment's parameter DedupRetentionDays: days for which it remembers identities (default 0: for "
        "ever); an identity that is sealed twice within them is a problem",
    )


def _days(text: str) -> int:
    if not text.isdecimal() or int(text) > _MOST_DAYS:
        raise argparse.ArgumentTypeError(f"expected a number of days, 0 to {_MOST_DAYS}")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    if args.statement:
        return _verify_statement(args)
    sealed = sealed_files(args)
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
        print_accounts(console, dict(sorted(found.accounts.items())))
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
