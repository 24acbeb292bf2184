"""Reads statements with their status and history, and disputes."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from quarterhour.aws.entity import Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.model import clock
from quarterhour.model.identifiers import SEPARATOR, Account
from quarterhour.model.periods import Period
from quarterhour.statements.keys import (
    sealed_periods,
    statement_index,
    statements_of_agency,
    statements_of_period,
)
from quarterhour.statements.queries import shown_documents, shown_statement
from quarterhour.statements.status.keys import (
    LOWEST,
    MOST_CHANGES,
    change_key,
    disputes_by_age,
    with_changes,
)
from quarterhour.statements.status.plan import Dispute, DisputeStatus, StatementHistory, Status
from quarterhour.web.access import Caller
from quarterhour.web.paging import MAX_LIMIT, Page, Paging

if TYPE_CHECKING:
    from quarterhour.statements.status import api

EXAMINED: Final = MAX_LIMIT + 1
"""The most statements that a page examines; a page of one status can be short though more follow."""
_PAGE: Final = 200
_STATEMENT: Final = itemgetter("period", "agency", "currency")


@dataclass(frozen=True, slots=True)
class StatementFilter:
    """A query for statements: of a period, of an agency, in a status; ``None`` for any."""

    period: Period | None
    agency: str | None
    status: Status | None


@dataclass(frozen=True, slots=True)
class StatementStatusQueries:
    """Reads statements with their status, and disputes."""

    entities: EntityReader

    def history(self, period: Period, account: Account) -> StatementHistory | None:
        """Return a statement with its changes, read with strong consistency; ``None`` if there is none."""
        history = StatementHistory.of(self.entities.read(with_changes(period, account), _PAGE))
        return history.as_of(clock.now()) if history else None

    def statements(self, query: StatementFilter, paging: Paging) -> "Page[api.ListedStatement]":
        """Return a page of statements, those of the newest period first, each with its status.

        Those of one agency come from an index, which can be behind by a moment.
        """
        examined: list[StatementHistory] = []

        def fitting() -> Iterator[StatementHistory]:
            for one in islice(self._listed(query, paging.start(_read_place, None), paging.limit + 1), EXAMINED):
                examined.append(one)
                if query.status in {None, one.status}:
                    yield one

        page = paging.cut(fitting(), shown_with_status, _place_of)
        if page.after is None and len(examined) == EXAMINED:
            return Page(page.items, (_place_of(examined[-1]),))
        return page

    def _listed(
        self, query: StatementFilter, after: tuple[Period, Account] | None, page: int
    ) -> Iterator[StatementHistory]:
        if query.agency is None:
            return self._of_periods(query.period, after, page)
        entries = statements_of_agency(query.agency, query.period)
        if after is None:
            return _histories(self.entities.read_index(entries, page))
        last = statement_index(*after)["gsi1sk"]
        entries = replace(entries, high=min(entries.high, last))
        return _histories(one for one in self.entities.read_index(entries, page) if one["gsi1sk"] < last)

    def _of_periods(
        self, period: Period | None, after: tuple[Period, Account] | None, page: int
    ) -> Iterator[StatementHistory]:
        """Yield the statements of a period or of all, after a statement."""
        start, account = after or (None, None)
        for one in [period] if period else self._sealed(start):
            behind = change_key(one, account, MOST_CHANGES)["sk"] if account and one == start else None
            yield from _histories(self.entities.read(statements_of_period(one, behind), page))

    def _sealed(self, start: Period | None) -> Iterator[Period]:
        """Yield the sealed periods, the newest first: all, or those from one on."""
        periods = sealed_periods()
        if start:
            periods = replace(periods, high=str(start))
        return (Period.parse(values["sk"]) for values in self.entities.read(periods, _PAGE))

    def disputes(
        self, status: DisputeStatus, agency: str | None, paging: Paging, caller: Caller
    ) -> "Page[api.Dispute]":
        """Return a page of disputes, the oldest first, as the caller may see them."""
        after = paging.start(_dispute_place, LOWEST)
        entries = self.entities.read_index(disputes_by_age(status, agency, after), paging.limit + 1)
        later = (values for values in entries if values["gsi1sk"] > after)
        return paging.cut(
            later, lambda values: Dispute.of(values).shown_to(caller), lambda values: str(values["gsi1sk"])
        )


def shown_with_status(history: StatementHistory) -> "api.ListedStatement":
    """Return a statement as lists show it: its figures, current status, number of changes, and documents."""
    return {
        **shown_statement(history.statement),
        "status": history.status,
        "changes": len(history.changes),
        "documents": shown_documents(history.statement),
    }


def _histories(items: Iterable[Values]) -> Iterator[StatementHistory]:
    """Yield the statements in items that are grouped by statement."""
    histories = (StatementHistory.of(list(some)) for _, some in groupby(items, _STATEMENT))
    return (one.as_of(clock.now()) for one in histories if one)


def _place_of(history: StatementHistory) -> str:
    """Return a statement's place in lists, for a page to continue after: ``2026-11#42#GBP``."""
    period, account = history.name
    return f"{period}{SEPARATOR}{account}"


def _read_place(text: str) -> tuple[Period, Account]:
    period, _, account = text.partition(SEPARATOR)
    return Period.parse(period), Account.parse(account)


def _dispute_place(place: str) -> str:
    if not place >= LOWEST:
        raise ValueError(place)
    return place
