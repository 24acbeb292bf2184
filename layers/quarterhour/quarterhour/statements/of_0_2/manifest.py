"""A period's manifest of 0.2.0: bounds, numbers, totals by currency and hashes, chained to the previous period."""

from typing import Any

from quarterhour.statements.drafts.manifest import bounds
from quarterhour.statements.keys import list_key
from quarterhour.statements.listing import ListTotals, SealedObject
from quarterhour.statements.plan import StatementPlan


def manifest(plan: StatementPlan, totals: ListTotals, numbers: tuple[int, int], listed: SealedObject) -> dict[str, Any]:
    """Return the manifest of a period. ``numbers``: the next ones after it; ``listed``: the file of the list."""
    return {
        **bounds(plan),
        "numbers": {
            name: {"prefix": prefix, "first": first, "next": following}
            for name, prefix, first, following in zip(
                ("statements", "credit_notes"), plan.prefixes, plan.numbers, numbers, strict=True
            )
        },
        **totals.as_dict(),
        "files": [{"key": list_key(plan.period), "sha256": listed.sha256, "size": listed.size}],
    }
