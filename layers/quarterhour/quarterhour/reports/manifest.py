"""A run's manifest and summary: what it covers, counts, sums and hashes, chained to the run before it."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from quarterhour import money
from quarterhour.clock import iso_seconds
from quarterhour.ledger.keys import Account
from quarterhour.reports.keys import MANIFEST, SUMMARY, lines_key, run_prefix
from quarterhour.reports.lines import harmless
from quarterhour.reports.plan import Plan, Sealed
from quarterhour.totals import Totals


def summary(accounts: Mapping[Account, Totals]) -> bytes:
    """Return the CSV summary: a line an account, exact, and the commission as a statement would show it."""
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
        ]
    )
    for account, totals in accounts.items():
        figures = [money.plain(value) for value in (totals.gross, totals.refunds, totals.net, totals.commission)]
        rounded = money.plain(money.on_statement(totals.commission, account.currency))
        writer.writerow([harmless(account.agency), account.currency, totals.events, *figures, rounded])
    return text.getvalue().encode()


def manifest(plan: Plan, sealed: Sequence[Sealed], accounts: Mapping[Account, Totals], summary_: bytes) -> bytes:
    """Return the manifest of a run; nothing in it depends on when or how often it is written."""
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
        "buckets": [
            {
                "bucket": str(quarter),
                "shards": plan.shards,
                "lines": one.lines,
                "file": {"key": lines_key(quarter), "sha256": one.sha256, "size": one.size} if one.lines else None,
            }
            for quarter, one in zip(plan.quarters, sealed, strict=True)
        ],
        "lines": sum(one.lines for one in sealed),
        "accounts": [
            {"agency": account.agency, "currency": account.currency, **totals.as_dict()}
            for account, totals in accounts.items()
        ],
        "files": [{"key": run_prefix(plan.run) + SUMMARY, "sha256": hexdigest(summary_), "size": len(summary_)}],
    }
    return (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()


def documents(plan: Plan, sealed: Sequence[Sealed], accounts: Mapping[Account, Totals]) -> dict[str, bytes]:
    """Return what stands beside the lines of a run, by key: the manifest comes last, as it names the others."""
    prefix = run_prefix(plan.run)
    summary_ = summary(accounts)
    return {prefix + SUMMARY: summary_, prefix + MANIFEST: manifest(plan, sealed, accounts, summary_)}


def hexdigest(content: bytes) -> str:
    """Return the SHA-256 of a file's content in hexadecimal."""
    return sha256(content).hexdigest()
