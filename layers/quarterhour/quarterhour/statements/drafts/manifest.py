"""A period's manifest: bounds, totals by currency and the hash of the list of drafts, chained to the previous one."""

from typing import Any

from quarterhour.model.clock import iso_seconds
from quarterhour.model.schema import SCHEMA
from quarterhour.statements.keys import draft_list_key
from quarterhour.statements.listing import ListTotals, SealedObject
from quarterhour.statements.plan import StatementPlan


def manifest(plan: StatementPlan, totals: ListTotals, listed: SealedObject) -> dict[str, Any]:
    """Return the manifest of a period: what was sealed, and what came before. ``listed``: the file of the list."""
    period, sha256 = plan.previous
    run, run_sha256 = plan.report
    return {
        "schema": SCHEMA,
        "period": str(plan.period),
        "first_period": str(plan.first_period),
        "from": iso_seconds(plan.starts),
        "to": iso_seconds(plan.ends),
        "time_zone": plan.zone,
        "cut_off": iso_seconds(plan.cut_off),
        "bound": str(plan.bound),
        "previous_bound": str(plan.after) if plan.after else None,
        "planned_at": plan.planned_at,
        "code_version": plan.code_version,
        "base_currency": plan.base or None,
        "previous": {"period": period, "sha256": sha256} if period else None,
        "report": {"run": run, "sha256": run_sha256},
        "rounding": plan.rounding.value,
        **totals.as_dict(),
        "files": [{"key": draft_list_key(plan.period), "sha256": listed.sha256, "size": listed.size}],
    }
