"""A run's manifest and summary: what it covers, counts, sums and hashes, chained to the run before it."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

from quarterhour import money
from quarterhour.clock import iso_seconds
from quarterhour.ledger.keys import Account
from quarterhour.reports.base import FIGURES, InBase, Pins, as_list, in_base
from quarterhour.reports.keys import MANIFEST, SUMMARY, lines_key, run_prefix
from quarterhour.reports.lines import harmless
from quarterhour.reports.plan import Plan, Sealed, Tally, by_account
from quarterhour.totals import Totals

_IN_BASE: Final = ("base_currency", *(f"{name}_in_base_rounded_half_even" for name in FIGURES), "base_note")
_NONE: Final[Mapping[Account, InBase]] = {}


def summary(accounts: Mapping[Account, Totals], base: str = "", converted: Mapping[Account, InBase] = _NONE) -> bytes:
    """Return the CSV summary: a line an account, exact, and the commission as a statement would show it.

    With a base currency, each account's figures in it follow; where a rate is missing, a note says so in their place.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        [
            "agency",
            "currency",
            "events",
            "gross",
            "refunds",
            "net",
            "commission",
            "commission_rounded_half_even",
            *(_IN_BASE if base else ()),
        ]
    )
    for account, totals in accounts.items():
        figures = [money.plain(value) for value in (totals.gross, totals.refunds, totals.net, totals.commission)]
        rounded = money.plain(money.on_statement(totals.commission, account.currency))
        in_base = _in_base(account, converted[account], base) if base else []
        writer.writerow([harmless(account.agency), account.currency, totals.events, *figures, rounded, *in_base])
    return text.getvalue().encode()


def _in_base(account: Account, converted: InBase, base: str) -> list[str]:
    rounded = converted.rounded(base)
    if rounded is None:
        quarters = " ".join(map(str, converted.missing))
        return [base, *("" for _ in FIGURES), f"no rate of {account.currency} at the end of {quarters}"]
    return [base, *map(money.plain, rounded), ""]


def manifest(
    plan: Plan,
    sealed: Sequence[Sealed],
    accounts: Mapping[Account, Totals],
    summary_: bytes,
    pins: Sequence[Pins] = (),
) -> bytes:
    """Return the manifest of a run; nothing in it depends on when or how often it is written.

    ``pins``: the rates of each of its quarter-hours, where it has a base currency.
    """
    run, digest = plan.previous
    document: dict[str, Any] = {
        "schema": plan.schema,
        "run": plan.run,
        "from": iso_seconds(plan.first.start),
        "to": iso_seconds(plan.last.end),
        "planned_at": plan.planned_at,
        "code_version": plan.code_version,
        "shards": plan.shards,
        "previous": {"run": run, "sha256": digest} if run else None,
        **({"base_currency": plan.base} if plan.base else {}),
        "buckets": [
            {
                "bucket": str(quarter),
                "shards": plan.shards,
                "lines": one.lines,
                "file": {"key": lines_key(quarter), "sha256": one.sha256, "size": one.size} if one.lines else None,
                **({"rates": as_list(pins[number])} if plan.base else {}),
            }
            for number, (quarter, one) in enumerate(zip(plan.quarters, sealed, strict=True))
        ],
        "lines": sum(one.lines for one in sealed),
        "accounts": [
            {"agency": account.agency, "currency": account.currency, **totals.as_dict()}
            for account, totals in accounts.items()
        ],
        "files": [{"key": run_prefix(plan.run) + SUMMARY, "sha256": hexdigest(summary_), "size": len(summary_)}],
    }
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()


def accounts_of(document: Mapping[str, Any]) -> dict[Account, Totals]:
    """Read from a manifest what each account comes to in its run."""
    return {Account(one["agency"], one["currency"]): Totals.of(one) for one in document["accounts"]}


def documents(plan: Plan, sealed: Sequence[Sealed], tallies: Sequence[Tally], pins: Sequence[Pins]) -> dict[str, bytes]:
    """Return what stands beside the lines of a run, by key: the manifest comes last, as it names the others.

    ``pins``: the rates of each of its quarter-hours, where it has a base currency.
    """
    prefix = run_prefix(plan.run)
    accounts = by_account(tallies)
    converted = in_base(zip(plan.quarters, tallies, pins, strict=True), plan.base) if plan.base else {}
    summary_ = summary(accounts, plan.base, converted)
    return {prefix + SUMMARY: summary_, prefix + MANIFEST: manifest(plan, sealed, accounts, summary_, pins)}


def hexdigest(content: bytes) -> str:
    """Return the SHA-256 of a file's content in hexadecimal."""
    return sha256(content).hexdigest()
