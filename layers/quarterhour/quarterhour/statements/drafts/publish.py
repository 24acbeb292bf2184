"""The last step: write the items, the list and the manifest of a period, and finish its run."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from heapq import merge
from itertools import islice
from tempfile import TemporaryFile
from typing import Any, Final

from quarterhour.model.clock import iso_seconds
from quarterhour.model.identifiers import Account
from quarterhour.model.schema import SCHEMA
from quarterhour.reports.digests import hexdigest
from quarterhour.statements.document.statement import as_bytes
from quarterhour.statements.drafts.day_lines import read_before_first_period
from quarterhour.statements.drafts.draft import COLUMNS, DraftItem, draft_totals
from quarterhour.statements.drafts.figures import Sum
from quarterhour.statements.drafts.sealing import DraftSealer, Upload
from quarterhour.statements.drafts.work_objects import read_values
from quarterhour.statements.keys import (
    day_totals_key,
    draft_list_key,
    manifest_key,
    period_key,
    turnover_key,
    turnover_work_key,
    written_key,
)
from quarterhour.statements.listing import ListTotals, SealedObject, write_list
from quarterhour.statements.plan import StatementPlan
from quarterhour.statements.store import StatementStores


def manifest(plan: StatementPlan, totals: ListTotals, files: Mapping[str, SealedObject]) -> dict[str, Any]:
    """Return the manifest of a period: what was sealed, and what came before. ``files``: by key, the list first."""
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
        "files": [{"key": key, "sha256": file.sha256, "size": file.size} for key, file in files.items()],
    }


def _before_first_period(stores: StatementStores, plan: StatementPlan) -> dict[Account, Sum]:
    """Return the sums of the run's lines that are on no statement, as their period is before the first, by account."""
    total: dict[Account, Sum] = {}
    for day in plan.days:
        with stores.files.copied(day_totals_key(plan.period, day)) as file:
            for account, some in read_before_first_period(file).items():
                total.setdefault(account, Sum()).join(some)
    return total


def _by_currency(sums: Mapping[Account, Sum]) -> dict[str, dict[str, Any]]:
    """Return sums of accounts by currency, as the item of the period holds them."""
    total: dict[str, Sum] = {}
    for account, some in sums.items():
        total.setdefault(account.currency, Sum()).join(some)
    return {currency: some.as_dict("net") for currency, some in sorted(total.items())}


_INSERTED_AT_A_TIME: Final = 500


def _turnover(stores: StatementStores, plan: StatementPlan) -> bytes | None:
    """Return the file of the turnover that the period passes on; ``None`` if it passes on none."""
    key = turnover_work_key(plan.period)
    return stores.files.open(key).read() if stores.files.exists(key) else None


def publish(stores: StatementStores, plan: StatementPlan, sealer: DraftSealer) -> int:
    """Publish a period whose groups are written; return the number of its drafts."""
    totals, before = draft_totals(), _before_first_period(stores, plan)

    def rows(drafts: Iterator[DraftItem]) -> Iterator[list[str]]:
        """Insert the items of the drafts; yield their rows."""
        while some := list(islice(drafts, _INSERTED_AT_A_TIME)):
            # What exists was written by this run before, and may have been decided about since.
            stores.drafts.insert([replace(one, before_first_period=before.get(one.account)) for one in some])
            for one in some:
                totals.add("drafts", one.account.currency, one.listed.lines, one.listed.figures)
                yield one.listed.as_row()

    with ExitStack() as opened, TemporaryFile() as file:
        written = [written_key(plan.period, group) for group in range(plan.groups)]
        groups = [map(DraftItem.of, read_values(opened.enter_context(stores.files.copied(key)))) for key in written]
        listed = write_list(file, COLUMNS, rows(merge(*groups, key=lambda one: one.account)))
        uploads = [Upload(draft_list_key(plan.period), file, listed.sha256)]
        sealed = {uploads[0].key: listed}
        turnover = _turnover(stores, plan)
        if turnover is not None:
            uploads.append(Upload(turnover_key(plan.period), turnover, hexdigest(turnover)))
            sealed[uploads[1].key] = SealedObject(uploads[1].sha256, len(turnover))
        content = as_bytes(manifest(plan, totals, sealed))
        sha256 = hexdigest(content)
        sealer.seal_period(plan, sha256, [*uploads, Upload(manifest_key(plan.period), content, sha256)])
    item = {**period_key(plan.period), **plan.as_dict(), **totals.as_dict(), "manifest_sha256": sha256}
    passed_on = {} if turnover is None else {"turnover": list(sealed[turnover_key(plan.period)])}
    stores.projections.write([{**item, **passed_on, "before_first_period": _by_currency(before)}])
    stores.progress.finish(plan, sha256)
    return totals.entries
