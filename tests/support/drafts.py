"""Drafts as a period's run leaves them: their items, and their files."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any, Final

from quarterhour.aws.items import to_item
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.reports.digests import hexdigest
from quarterhour.statements.document.statement import as_bytes
from quarterhour.statements.drafts.draft import (
    FIGURES,
    Draft,
    DraftDecision,
    DraftItem,
    DraftState,
    ListedDraft,
    draft_totals,
)
from quarterhour.statements.drafts.figures import AccountSums, Kind, Sum
from quarterhour.statements.keys import DRAFT, LINES, period_key, statement_prefix
from quarterhour.statements.listing import SealedObject
from quarterhour.statements.plan import StatementPlan
from tests.support.system import World

AT: Final = "2026-11-04T00:20:00.000Z"
"""When the decisions of tests are made."""


def draft_item(  # noqa: PLR0913 - the facts of a draft
    agency: str = "42",
    period: str = "2026-10",
    state: DraftState = DraftState.OPEN,
    *,
    currency: str = "GBP",
    commission: str = "12.50",
    days: Sequence[tuple[str, str]] = (("2026-10-05", "2026-10-05"),),
    by_default: int = 0,
    revision: int = 0,
    number: str = "",
    decisions: Sequence[DraftDecision] = (),
) -> DraftItem:
    """Return the item of a draft. ``days``: its tax points. ``by_default``: its lines at the default rate."""
    figures = dict.fromkeys(FIGURES, Decimal(0)) | {"commission_exact": Decimal(commission)}
    files = {DRAFT: SealedObject("d" * 64, 10), LINES: SealedObject("c" * 64, 20)}
    listed = ListedDraft(Account(agency, currency), figures, 1, 0, files)
    tax_points = [(date.fromisoformat(first), date.fromisoformat(last)) for first, last in days]
    return DraftItem(
        Period.parse(period),
        QuarterHour.parse("202611040000"),
        listed,
        by_default,
        tax_points,
        state,
        revision,
        number,
        tuple(decisions),
    )


def decision(state: DraftState, by: str = "ann", reason: str = "") -> DraftDecision:
    """Return a decision that gave a draft a state."""
    return DraftDecision(state, by, AT, reason)


def keep_draft(world: World, plan: StatementPlan, account: Account) -> None:
    """Store an open draft of a sale of 10 as the run of a plan does: its items and ``draft.json``."""
    sums, day = AccountSums(), plan.period.first_day
    sums.add((Kind.SALES, False), str(day), ("card", "0.1"), str(day), Sum(1, Decimal(10), Decimal(1)))
    lines = SealedObject("0" * 64, 100)
    draft = Draft(account, sums, [], lines)
    content = as_bytes(draft.document(plan))
    item, totals = draft.item(plan, SealedObject(hexdigest(content), len(content))), draft_totals()
    totals.add("drafts", account.currency, 1, draft.figures)
    period = {**period_key(plan.period), **plan.as_dict(), **totals.as_dict(), "manifest_sha256": "0" * 64}
    items: list[dict[str, Any]] = [
        replace(item, state=DraftState.OPEN).as_item(),
        {**period, "before_first_period": {}},
    ]
    for values in items:
        world.stack.dynamodb.put_item(TableName=world.stack.ref("EntityTable"), Item=to_item(values))
    bucket, key = world.stack.ref("ReportBucket"), statement_prefix(plan.period, account) + DRAFT
    world.stack.engine.s3().put_object(Bucket=bucket, Key=key, Body=content)
