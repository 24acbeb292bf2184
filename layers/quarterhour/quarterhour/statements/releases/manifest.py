"""A release's manifest: numbers, totals by currency and the hash of its list, chained to the previous release."""

from collections.abc import Mapping
from typing import Any

from quarterhour.model.schema import SCHEMA
from quarterhour.statements.listing import ListTotals, SealedObject
from quarterhour.statements.releases.keys import release_list_key
from quarterhour.statements.releases.plan import ReleasePlan


def manifest(plan: ReleasePlan, totals: ListTotals, series: Mapping[str, int], listed: SealedObject) -> dict[str, Any]:
    """Return the manifest of a release. ``series``: the next numbers after it; ``listed``: the file of the list."""
    return {
        "schema": SCHEMA,
        "release": plan.number,
        "planned_at": plan.planned_at,
        "code_version": plan.code_version,
        "previous": {"release": plan.number - 1, "sha256": plan.previous_sha256} if plan.previous_sha256 else None,
        "acceptance_days": plan.acceptance_days,
        "prefixes": dict(zip(("statements", "credit_notes"), plan.prefixes, strict=True)),
        "numbers": {
            prefix: {"first": int(plan.series.get(prefix, 1)), "next": int(following)}
            for prefix, following in sorted(series.items())
        },
        **totals.as_dict(),
        "files": [{"key": release_list_key(plan.number), "sha256": listed.sha256, "size": listed.size}],
    }
