"""A period's manifest: bounds, numbers, totals by currency and hashes, chained to the previous period."""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from quarterhour.model import money
from quarterhour.model.clock import iso_seconds
from quarterhour.statements.keys import list_key
from quarterhour.statements.listing import CREDIT_NOTE, FIGURES, Listed, SealedObject
from quarterhour.statements.plan import StatementPlan

_ADDED: Final = tuple(name for name in FIGURES if name != "commission_exact")


@dataclass(slots=True)
class ListTotals:
    """The numbers of statements, credit notes and lines in a list, and the sums of its figures by currency."""

    statements: int = 0
    credit_notes: int = 0
    lines: int = 0
    currencies: dict[str, dict[str, Decimal]] = field(default_factory=dict)

    def add(self, listed: Listed) -> None:
        """Add a statement."""
        if listed.document == CREDIT_NOTE:
            self.credit_notes += 1
        else:
            self.statements += 1
        self.lines += listed.lines
        sums = self.currencies.setdefault(listed.account.currency, dict.fromkeys(_ADDED, money.ZERO))
        for name in _ADDED:
            sums[name] = money.add(sums[name], listed.figures[name])

    def as_dict(self) -> dict[str, Any]:
        """Return the totals as the manifest and the table hold them."""
        return {
            "statements": self.statements,
            "credit_notes": self.credit_notes,
            "lines": self.lines,
            "currencies": {
                currency: {name: money.plain(value) for name, value in sums.items()}
                for currency, sums in sorted(self.currencies.items())
            },
        }


def manifest(plan: StatementPlan, totals: ListTotals, numbers: tuple[int, int], listed: SealedObject) -> dict[str, Any]:
    """Return the manifest of a period. ``numbers``: the next ones after it; ``listed``: the file of the list."""
    period, sha256 = plan.previous
    run, run_sha256 = plan.report
    return {
        "schema": plan.schema,
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
        "numbers": {
            name: {"prefix": prefix, "first": first, "next": following}
            for name, prefix, first, following in zip(
                ("statements", "credit_notes"), plan.prefixes, plan.numbers, numbers, strict=True
            )
        },
        **totals.as_dict(),
        "files": [{"key": list_key(plan.period), "sha256": listed.sha256, "size": listed.size}],
    }
