"""`quarterhour payouts`: pays out the credits of agencies whose customers' money the marketplace collects.

Each payout is recorded before the file is written, as a payment that names its statement. So nothing is paid twice: a
later run counts the payment once it is sealed, and before that, its own event of the same id is refused. A run that is
repeated after a crash finds what it has recorded, sealed or not, and writes it again.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, NamedTuple

from quarterhour_client import Result, Verdict
from rich import box
from rich.table import Column, Table
from rich.text import Text

from quarterhour.ledger.events.event import PAYMENT
from quarterhour.model import clock, money
from quarterhour.model.clock import iso_seconds, parse_iso
from quarterhour.model.fields import printable
from quarterhour.model.identifiers import Account, Identity
from quarterhour.model.periods import time_zone
from quarterhour.statements.status.plan import Status
from quarterhour_tools.accounting.credit_transfer import (
    SCHEMA,
    SCHEMAS,
    BankAccount,
    Transfers,
    country_of,
    credit_transfers,
    is_in_sepa,
    name_at_banks,
)
from quarterhour_tools.accounting.document import StatementDocument
from quarterhour_tools.accounting.documents import configure_files, statement_documents
from quarterhour_tools.accounting.payees import AT_ONCE, payees_before, payees_now
from quarterhour_tools.accounting.payout_plan import (
    SOURCE,
    LeftOut,
    Payout,
    PayoutFacts,
    PayoutPlan,
    PayoutRun,
    event_of,
    is_of,
    open_credits,
    plan_payouts,
    reason_of,
    transfers_of,
)
from quarterhour_tools.accounting.postal_address import postal_address
from quarterhour_tools.accounting.sealed_payments import SealedPayment, sealed_payments
from quarterhour_tools.bucket import Objects
from quarterhour_tools.errors import ToolError
from quarterhour_tools.output import counted, plain_console, print_table
from quarterhour_tools.statements.files import sealed_periods
from quarterhour_tools.target.deployment import api, month, sealed_files
from quarterhour_tools.target.remote import IN_LEDGER, Remote, reasons, segment

NAME: Final = "payouts"
DESCRIPTION: Final = (
    "Write a file of SEPA credit transfers (pain.001) with what is open of the statements of agencies whose "
    "customers' money the marketplace collects. With a stack, each payout is recorded first, as a payment that names "
    "its statement, so nothing is paid twice. The same command again writes the same file. Exit code 1 if a credit "
    "could not be paid."
)
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,34}", re.ASCII)
_AHEAD: Final = timedelta(minutes=15)
"""How much later than this machine's clock an event may be recorded."""
_LONGEST_AHEAD: Final = timedelta(days=365)
"""The most days from today until the bank is to pay."""


class Recorded(NamedTuple):
    """The payouts that the ledger has, the instant of the first, and those that it refused."""

    payouts: list[Payout]
    since: datetime
    refused: list[LeftOut]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour payouts``."""
    configure_files(parser)
    parser.add_argument(
        "--name", type=_name, required=True, help="the run's name, such as 2026-12-05: the bank takes each once"
    )
    parser.add_argument("--date", type=_date, required=True, metavar="DATE", help="the day on which the bank pays")
    parser.add_argument(
        "--minimum",
        type=_amount,
        default=money.ZERO,
        metavar="AMOUNT",
        help="carry forward the credits of accounts with less (default: pay all)",
    )
    parser.add_argument(
        "--period",
        type=month,
        metavar="MONTH",
        help="the last period whose statements are paid (default: the last one)",
    )
    parser.add_argument(
        "--refund",
        action="append",
        default=[],
        metavar="AGENCY",
        help="pay the credits of this agency, too, though it collects itself; may be given more than once",
    )
    parser.add_argument("--schema", choices=SCHEMAS, default=SCHEMA, help=f"the file's schema (default: {SCHEMA})")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="the XML file to write")


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise argparse.ArgumentTypeError("expected 1 to 35 letters, digits, dots and hyphens")
    return text


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError("expected a date such as 2026-12-07") from error


def _amount(text: str) -> Decimal:
    amount = money.parse_decimal(text)
    if amount is None or amount < 0:
        raise argparse.ArgumentTypeError("expected an amount such as 25 or 25.00")
    return amount


def run(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    files = sealed_files(args)
    remote = None if args.folder else api(args, AT_ONCE)
    plan, reversals = _plan(files, remote, PayoutRun(args.name, args.minimum, args.period, frozenset(args.refund)))
    left_out = list(plan.left_out)
    paid: Sequence[Payout] = plan.payouts
    if paid:
        _check_date(args.date, paid)
        debtor = _debtor(paid)
        content = _file(args, debtor, paid, clock.now())  # fails before anything is recorded
        if remote:
            recorded = _record(remote, paid, args.name, args.date, reversals)
            paid = recorded.payouts
            left_out += recorded.refused
            content = _file(args, debtor, paid, recorded.since) if paid else b""
        if paid:
            args.out.write_bytes(content)
    _show(args, paid, left_out)
    return 0 if all(one.waits for one in left_out) else 1


def _plan(files: Objects, remote: Remote | None, run: PayoutRun) -> tuple[PayoutPlan, dict[str, str]]:
    """Return the plan of a run, and the ids of unsealed payments that may take a payout back, by its statement."""
    periods = sealed_periods(files)
    if not periods or (run.last and run.last < periods[0]):
        raise ToolError(f"no period up to {run.last} is sealed" if run.last else "no period is sealed yet")
    documents = list(statement_documents(files, periods))
    payments, until = sealed_payments(files, periods[0], {one.account for one in documents})
    if remote is None:
        return plan_payouts(documents, payments, run), {}
    unsealed = list(_unsealed(remote, until)) if until else []
    of_run = [one for one in unsealed if is_of(one, run.name)]
    facts = _facts(remote, documents, [*payments, *of_run], run)
    reversals = {one.statement: one.identity.id for one in unsealed if one.amount > 0 and one.statement}
    return plan_payouts(documents, [*payments, *of_run], run, facts), reversals


def _facts(
    remote: Remote, documents: Sequence[StatementDocument], payments: Sequence[SealedPayment], run: PayoutRun
) -> PayoutFacts:
    """Return what the stack knows of the agencies that have a credit, and of those that the run has paid."""
    others = [one for one in payments if not is_of(one, run.name)]
    credits_ = [document for document, _ in open_credits(documents, others)]
    since: dict[str, datetime] = {}
    for one in payments:
        if is_of(one, run.name):
            at, agency = parse_iso(one.recorded_at), one.account.agency
            since[agency] = min(at, since.get(agency, at))
    disputed = {
        one["number"]
        for period in sorted({one.period for one in credits_})
        for one in remote.pages("/statements", {"period": str(period), "status": Status.DISPUTED.value})
    }
    agencies = sorted({one.account.agency for one in credits_})
    return PayoutFacts(payees_now(remote, agencies), payees_before(remote, since), frozenset(disputed))


def _unsealed(remote: Remote, since: datetime) -> Iterator[SealedPayment]:
    """Yield the payments that are recorded since an instant, and that are not sealed yet."""
    until = max(clock.now(), since) + _AHEAD
    span = {"from": iso_seconds(since), "to": iso_seconds(until), "type": PAYMENT}
    for one in remote.pages("/events", span):
        account = Account(one["agency"], one["currency"])
        identity, amount = Identity(one["source"], one["id"]), Decimal(one["amount"])
        statement, reason = one.get("statement") or "", one.get("reason") or ""
        yield SealedPayment(account, identity, amount, statement, reason, one["recorded_at"])


def _check_date(execution_date: date, payouts: Sequence[Payout]) -> None:
    """Raise ``ToolError`` if banks do not take the date; a run that has recorded payouts goes on with its date."""
    if any(one.is_recorded for one in payouts):
        return
    newest = max((one.document for one in payouts), key=lambda one: one.age)
    today = clock.now().astimezone(time_zone(newest.time_zone)).date()
    if execution_date < today:
        raise ToolError(f"--date {execution_date} is before today ({today}): a bank pays no earlier")
    if execution_date > today + _LONGEST_AHEAD:
        raise ToolError(f"--date {execution_date} is more than {_LONGEST_AHEAD.days} days after today ({today})")


def _debtor(payouts: Sequence[Payout]) -> BankAccount:
    """Return the account of the newest statement's issuer; raise ``ToolError`` if the document ``owner`` lacks it."""
    owner = max((one.document for one in payouts), key=lambda one: one.age).owner
    if not owner.legal_name or not owner.iban:
        lacking = "iban" if owner.legal_name else "legal_name"
        raise ToolError(f"the owner has no {lacking} on the statements: register it with quarterhour owner")
    if not name_at_banks(owner.legal_name):
        raise ToolError("the owner's legal_name has no character that banks take: register one with quarterhour owner")
    if not is_in_sepa(owner.iban):
        country = country_of(owner.iban)
        raise ToolError(f"the owner's iban is of {country}, which is outside the SEPA area: register another one")
    return BankAccount(owner.legal_name, owner.iban, postal_address(owner._asdict()))


def _file(args: argparse.Namespace, debtor: BankAccount, payouts: Sequence[Payout], created_at: datetime) -> bytes:
    try:
        return credit_transfers(Transfers(args.name, created_at, debtor, args.date, args.schema), transfers_of(payouts))
    except ValueError as error:
        raise ToolError(str(error)) from error


def _record(
    remote: Remote, payouts: Sequence[Payout], run: str, execution_date: date, reversals: Mapping[str, str]
) -> Recorded:
    """Record payouts; raise ``ToolError`` if it is unknown whether one is recorded: the same command tries again."""
    results = remote.record([event_of(one, run, execution_date) for one in payouts])
    if left := [one for one in results if one.verdict is Verdict.UNAVAILABLE]:
        problem = printable(reasons(left[0]))
        raise ToolError(f"the ledger is unavailable: no file is written; the same command goes on: {problem}")
    paid, since, refused = [], [], []
    for one, result in zip(payouts, results, strict=True):
        if result.verdict in IN_LEDGER and result.receipt is not None:
            paid.append(one)
            since.append(result.receipt["recorded_at"])
        else:
            why = _why(result, _recorded(remote, result), run)
            if reversal := reversals.get(one.document.number):
                why += f"; its reversal {reversal} is not sealed yet: run the command again after the next report"
            refused.append(LeftOut(one.document, one.amount, why))
    return Recorded(paid, min(map(parse_iso, since), default=clock.now()), refused)


def _recorded(remote: Remote, result: Result) -> Mapping[str, Any] | None:
    """Return the event that has the identity of a payout that is not in the ledger; ``None`` if none has."""
    is_other = result.verdict is Verdict.CONFLICT
    return remote.get(f"/events/{segment(SOURCE)}/{segment(result.id)}", {}) if is_other else None


def _why(result: Result, recorded: Mapping[str, Any] | None, run: str) -> str:
    """Return why a payout is not in the ledger; ``recorded``: the event that has its identity."""
    if recorded is None:
        return f"{result.verdict.value}: {reasons(result)}"
    if recorded.get("reason") == reason_of(run):
        return "this run has paid it on another date"
    return f"paid already: {recorded.get('reason')}"


def _show(args: argparse.Namespace, paid: Sequence[Payout], left_out: Sequence[LeftOut]) -> None:
    console = plain_console()
    table = Table("number", "agency", "currency", Column("amount", justify="right"), "", box=box.SIMPLE, padding=0)
    rows = [(one.document, one.amount, "paid") for one in paid]
    rows += [(one.document, one.amount, f"left out: {one.reason}") for one in left_out]
    for document, amount, text in rows:
        account = document.account
        cells = (document.number, printable(account.agency), account.currency, money.plain(amount), printable(text))
        table.add_row(*map(Text, cells))
    if rows:
        print_table(console, table)
    if not paid:
        console.print("nothing is paid: no file is written")
        return
    amount = money.ZERO
    for one in paid:
        amount = money.add(amount, one.amount)
    console.print(f"{args.out}: {counted(len(paid), 'transfer')}, {money.plain(amount)} EUR on {args.date}")
    if args.folder:
        print("not recorded, as there is no stack: name it with --stack or --url", file=sys.stderr)
