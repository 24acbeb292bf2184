"""Reads drafts with their checks, and releases."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Self

from quarterhour.aws.resources import Resources
from quarterhour.aws.workers import Workers
from quarterhour.model import clock, money
from quarterhour.model.clock import iso_seconds
from quarterhour.model.errors import NotFoundError
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.statements.drafts.draft import DraftItem
from quarterhour.statements.keys import draft_place, open_drafts
from quarterhour.statements.previews.queries import PreviewQueries
from quarterhour.statements.previews.unbilled import paid_since
from quarterhour.statements.previews.unreleased import UnreleasedStatements
from quarterhour.statements.releases.checks import Check, checks
from quarterhour.statements.releases.context import DraftContexts
from quarterhour.statements.releases.keys import releases
from quarterhour.statements.releases.plan import document_kind
from quarterhour.statements.releases.store import ReleaseStore
from quarterhour.web.paging import Page, Paging

if TYPE_CHECKING:
    from quarterhour.statements.releases import api

_PAGE: Final = 200
EXAMINED: Final = 1_000
"""The most drafts that a page examines; a page of one agency can be short though more follow."""
PREVIEWED: Final = 200
"""The most drafts of a page with previews: each reads the file of its draft."""


@dataclass(frozen=True, slots=True)
class DraftQueries:
    """Reads drafts and releases. Previews are read side by side."""

    store: ReleaseStore
    contexts: DraftContexts
    files: SealedFiles
    previews: PreviewQueries
    workers: Workers

    @classmethod
    def of(cls, resources: Resources, remaining_seconds: Callable[[], float]) -> Self:
        """Return the queries of a function. ``remaining_seconds``: those of the current request."""
        return cls(
            ReleaseStore(resources.dynamodb, resources.entity_table, resources.workers),
            DraftContexts.of(resources),
            SealedFiles.of(resources),
            PreviewQueries.of(resources, remaining_seconds),
            resources.workers,
        )

    def drafts(
        self, period: Period | None, agency: str | None, paging: Paging, *, previewed: bool = False
    ) -> "Page[api.ListedDraft | api.PreviewedDraft]":
        """Return a page of the drafts without a statement, by period and account, with the checks they do not pass.

        ``previewed``: with commission, tax and closing balance of the statement that each would be now. Such a page
        has at most ``PREVIEWED`` drafts.
        """
        if previewed:
            paging = replace(paging, limit=min(paging.limit, PREVIEWED))
        after = paging.start(str, "")
        examined = list(islice(self._after(after), EXAMINED))
        published = {one for one in {draft.period for draft in examined} if self.contexts.is_published(one)}
        periods = published & ({period} if period else published)
        fitting = [one for one in examined if one.period in periods and agency in {None, one.account.agency}][
            : paging.limit + 1
        ]
        contexts = self.contexts.gather(fitting, clock.now())
        shown_drafts: dict[str, api.ListedDraft | api.PreviewedDraft] = {
            _place(one): shown_draft(one, checks(one, context)) for one, context in zip(fitting, contexts, strict=True)
        }
        if previewed:
            shown = fitting[: paging.limit]
            for one, preview in zip(shown, self.workers.map(self._preview, shown), strict=True):
                commission, tax, closing = preview
                listed = shown_drafts[_place(one)]
                shown_drafts[_place(one)] = {**listed, "commission": commission, "tax": tax, "closing": closing}
        page = paging.cut(fitting, lambda one: shown_drafts[_place(one)], _place)
        if page.after is None and len(examined) == EXAMINED:
            return Page(page.items, (_place(examined[-1]),))
        return page

    def _after(self, place: str) -> Iterator[DraftItem]:
        entries = self.store.entities.read_index(open_drafts(place) if place else open_drafts(), _PAGE)
        return (DraftItem.of(values) for values in entries if values["gsi1sk"] > place)

    def _preview(self, draft: DraftItem) -> tuple[str | None, str | None, str | None]:
        """Return commission, tax and closing balance of a draft's statement; ``None`` if a release has just made it."""
        try:
            preview = self.previews.preview(draft.account, draft.period)
        except NotFoundError:
            return None, None, None
        return preview["commission"], preview["tax"], preview["closing"]

    def draft(self, period: Period, account: Account) -> "api.DraftWithStatement":
        """Return a draft with its decisions, its checks, and the statement that it would be now, if it has none.

        Raises ``NotFoundError`` if there is no such draft.
        """
        draft = self.store.draft(period, account)
        now = clock.now()
        (context,) = self.contexts.gather([draft], now)
        decisions = [one.as_dict() for one in draft.decisions]
        return {
            **shown_draft(draft, checks(draft, context)),
            "decisions": decisions,
            "statement": None if draft.number else self._statement(draft, now),
        }

    def _statement(self, item: DraftItem, now: datetime) -> dict[str, Any]:
        """Return the content of ``statement.json`` as it would be without a number, if it were released now."""
        account = item.account
        last = self.store.last_documents([account]).get(account)
        unreleased = UnreleasedStatements(self.store.entities, self.files, self.contexts.plan_of)
        draft, statement = unreleased.read(item.period, account, now, last, is_reissued=item.revision > 0)
        kind = document_kind(draft.sums.commission, account.currency, statement.plan.rounding)
        statement = replace(statement, kind=kind)
        if item.revision:
            progress = self.previews.statements.progress()
            statement = replace(statement, paid=paid_since(self.store.entities, progress, account))
        return statement.content(draft.orders, draft.lines)

    def releases(self, paging: Paging) -> "Page[api.ReleasedDocuments]":
        """Return a page of the releases, the newest first."""
        after = paging.start(str, None)
        items = self.store.entities.read(releases(after), _PAGE)
        return paging.cut(items, shown_release, lambda values: str(values["sk"]))


def _place(draft: DraftItem) -> str:
    return draft_place(draft.period, draft.account)


def shown_draft(draft: DraftItem, found: Sequence[Check]) -> "api.ListedDraft":
    """Return a draft as lists show it."""
    listed = draft.listed
    return {
        "period": str(draft.period),
        "agency": draft.account.agency,
        "currency": draft.account.currency,
        "state": draft.state,
        "brought_forward": money.plain(listed.figures["brought_forward"]),
        "net": money.plain(listed.figures["net"]),
        "commission_exact": money.plain(listed.figures["commission_exact"]),
        "payments": money.plain(listed.figures["payments"]),
        "lines": listed.lines,
        "prior_period_lines": listed.prior_period_lines,
        "recorded_until": iso_seconds(draft.bound.end),
        "number": draft.number or None,
        "seen": len(draft.decisions),
        "last_decision": draft.decisions[-1].as_dict() if draft.decisions else None,
        "checks": [one.as_dict() for one in found],
    }


def shown_release(values: Mapping[str, Any]) -> "api.ReleasedDocuments":
    """Return a release as lists show it."""
    return {
        "release": int(values["number"]),
        "planned_at": values["planned_at"],
        "code_version": values["code_version"],
        "manifest_sha256": values["manifest_sha256"],
        "statements": int(values["statements"]),
        "credit_notes": int(values["credit_notes"]),
        "lines": int(values["lines"]),
        "currencies": values["currencies"],
    }
