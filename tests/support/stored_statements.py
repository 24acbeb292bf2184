"""Statements as a finished run leaves them in the Entity table, and months that are sealed within minutes."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from quarterhour.aws.items import to_item
from quarterhour.model.clock import iso_millis
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Calendar, Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.reports.digests import hexdigest
from quarterhour.statements.document.statement import as_bytes
from quarterhour.statements.drafts.draft import FIGURES as DRAFT_FIGURES
from quarterhour.statements.drafts.draft import Draft, DraftDecision, DraftState
from quarterhour.statements.drafts.figures import AccountSums
from quarterhour.statements.keys import DRAFT, LINES, PAGE, PROGRESS_KEY, STATEMENT, period_key, statement_prefix
from quarterhour.statements.listing import FIGURES, STATEMENT_DOCUMENT, Document, ListTotals, SealedObject
from quarterhour.statements.plan import SEALED, StatementPlan
from quarterhour.statements.releases.items import last_document_item, number_item, statement_item
from quarterhour.statements.releases.keys import release_key
from quarterhour.statements.releases.plan import ReleasePlan
from tests.support.agencies import ANYWHERE, tax
from tests.support.system import World, opened

LAST_HOUR: Final = datetime(2026, 10, 31, 23, 30, tzinfo=UTC)
"""Half an hour before October ends."""


def plan_of(period: str = "2026-10", bound: str = "202611040000", **changed: Any) -> StatementPlan:
    """Return the plan of a run, in UTC."""
    month, calendar = Period.parse(period), Calendar()
    values: dict[str, Any] = {
        "period": month,
        "first_period": month,
        "since": month.first_day - timedelta(days=2),
        "bound": QuarterHour.parse(bound),
        "after": None,
        "planned_at": iso_millis(QuarterHour.parse(bound).end),
        "code_version": "1.0",
        "zone": "UTC",
        "cut_off": calendar.cut_off(month),
        "starts": calendar.starts(month),
        "ends": calendar.starts(month.next),
        "previous": ("", ""),
        "report": ("2026-11-04T0000-0015", "0" * 64),
        **changed,
    }
    return StatementPlan(**values)


def document(
    agency: str = "42", currency: str = "GBP", period: str = "2026-10", number: str = "S-000001", **figures: str
) -> Document:
    """Return a statement without lines, with some figures, as the first release makes it."""
    return Document(
        Period.parse(period),
        Account(agency, currency),
        1,
        number,
        STATEMENT_DOCUMENT,
        "",
        {name: Decimal(figures.get(name, "0")) for name in FIGURES},
        0,
        0,
        {name: SealedObject("0" * 64, 100) for name in (STATEMENT, PAGE, LINES)},
        1,
        "2026-11-04T00:15:00.000Z",
        date(2026, 11, 4),
    )


def sealed_items(plan: StatementPlan, *statements: Document) -> list[dict[str, Any]]:
    """Return the items that the run of a plan and a release of its drafts leave.

    These are the items of the statements, of their accounts and numbers, of the period, and of the progress.
    """
    documents = [replace(one, period=plan.period, planned_at=plan.planned_at) for one in statements]
    return [
        *(statement_item(one, plan.bound) for one in documents),
        *(last_document_item([one]) for one in documents),
        *(number_item(one) for one in documents),
        period_item(plan, len(statements)),
        {
            **PROGRESS_KEY,
            "first_period": str(plan.first_period),
            SEALED: str(plan.period),
            "bound": str(plan.bound),
            "manifest_sha256": "0" * 64,
        },
    ]


def period_item(plan: StatementPlan, drafts: int) -> dict[str, Any]:
    """Return the item of a period with some drafts without lines."""
    totals = ListTotals({"drafts": drafts}, DRAFT_FIGURES)
    item = {**period_key(plan.period), **plan.as_dict(), **totals.as_dict(), "manifest_sha256": "0" * 64}
    return {**item, "before_first_period": {}}


def keep_sealed(world: World, plan: StatementPlan, *statements: Document) -> None:
    """Put into the Entity table what the run of a plan, and a release of its drafts, leave there."""
    for values in sealed_items(plan, *statements):
        world.stack.dynamodb.put_item(TableName=world.stack.ref("EntityTable"), Item=to_item(values))


def keep_draft(world: World, plan: StatementPlan, account: Account) -> None:
    """Put into the system what the run of a plan leaves of a draft without lines, and a release of no documents."""
    s3, bucket = world.stack.engine.s3(), world.stack.ref("ReportBucket")
    draft = Draft(account, AccountSums(), [], SealedObject("0" * 64, 100))
    content = as_bytes(draft.document(plan))
    s3.put_object(Bucket=bucket, Key=statement_prefix(plan.period, account) + DRAFT, Body=content)
    release = ReleasePlan(1, plan.planned_at, "1.0", ("S-", "C-"), {}, "")
    decided = DraftDecision(DraftState.OPEN, "release", plan.planned_at, "")
    for values in (
        draft.item(plan, SealedObject(hexdigest(content), len(content))).decided(decided).as_item(),
        period_item(plan, 1),
        {**release_key(1), **release.as_dict(), **ListTotals.of_release().as_dict(), "manifest_sha256": "0" * 64},
    ):
        world.stack.dynamodb.put_item(TableName=world.stack.ref("EntityTable"), Item=to_item(values))


@contextmanager
def end_of_october(parameters: Mapping[str, str | int] | None = None) -> Iterator[World]:
    """Deploy the system half an hour before October ends and is cut off; its owner is registered, whatever the tax."""
    with opened({"grace_days": 0, **(parameters or {})}, start=LAST_HOUR) as world:
        world.write("/documents/owner", ANYWHERE)
        yield world


def register(world: World, agency: str, **profile: str | None) -> None:
    """Register an agency, with what a statement needs and this tax profile, so its drafts are released at once."""
    world.write(f"/agencies/{agency}", tax(**(profile or {"scheme": "exempt", "percent": None, "vat_id": None})))


def seal_statements(world: World) -> Any:
    """Let an hour pass, make the drafts that are due and release them; return what the function returns."""
    world.pass_time(hours=1)
    world.report()
    result = world.stack.invoke("statements", {})
    world.drain()
    return result
