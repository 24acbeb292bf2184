"""The DynamoDB stores of the releases: progress and plan, drafts, last documents, and the statements' items."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.expressions import put_request
from quarterhour.aws.items import Request, to_item
from quarterhour.aws.plan_store import PlanStore
from quarterhour.aws.retries import with_retries
from quarterhour.aws.tables import conditional_write
from quarterhour.aws.workers import Workers
from quarterhour.model.errors import NotFoundError
from quarterhour.model.fields import shown
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.statements.drafts.draft import DUE, DraftItem
from quarterhour.statements.keys import draft_key, due_drafts, last_document_key, open_drafts, statement_key
from quarterhour.statements.listing import Document
from quarterhour.statements.releases.keys import PROGRESS_KEY
from quarterhour.statements.releases.plan import LAST, ReleasePlan, ReleaseProgress

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_TABLE: Final = "the Entity table"
_PAGE: Final = 200


def decide_request(table: str, draft: DraftItem, seen: int) -> Request:
    """Build the PutItem of a draft after a decision, if nobody has decided about it since it was read."""
    return put_request(table, draft.as_item(), "changes = :seen", {"seen": seen})


def later_request(table: str, item: dict[str, Any]) -> Request:
    """Build the PutItem of an item of a release, if the item there is not of a later one."""
    later = "attribute_not_exists(#release) OR #release < :release"
    return put_request(table, item, later, {"release": item["release"]})


@dataclass(frozen=True, slots=True)
class ReleaseStore:
    """Reads and writes what the releases keep in the Entity table."""

    client: "DynamoDBClient"
    table: str
    workers: Workers

    @property
    def entities(self) -> EntityReader:
        """The reader of the table."""
        return EntityReader(self.client, self.table)

    @property
    def _plans(self) -> PlanStore:
        return PlanStore(self.client, self.table, PROGRESS_KEY, LAST)

    def progress(self) -> ReleaseProgress:
        """Return the progress; before the first plan, that of nothing."""
        values = self._plans.read()
        return ReleaseProgress.of(values) if values else ReleaseProgress()

    def save_plan(self, progress: ReleaseProgress, plan: ReleasePlan) -> None:
        """Store a plan, unless another run has stored one first."""
        self._plans.save(plan.as_dict(), progress.last or None)

    def finish(self, plan: ReleasePlan, sha256: str, series: dict[str, int]) -> None:
        """Make a release the last one; raise ``OvertakenError`` if its plan is not the one under way."""
        done = {LAST: plan.number, "manifest_sha256": sha256, "series": series}
        self._plans.finish(plan.as_dict(), plan.number - 1 or None, done)

    # ------------------------------------------------------------ drafts

    def due_release(self) -> int | None:
        """Return the number of the release that is under way or has drafts to release; ``None`` without one."""
        progress = self.progress()
        if progress.plan or next(self.entities.read_index(due_drafts(), 1), None):
            return progress.last + 1
        return None

    def due(self) -> list[DraftItem]:
        """Return the drafts that the next run changes, read with strong consistency."""
        entries = map(DraftItem.of, self.entities.read_index(due_drafts(), _PAGE))
        current = self.drafts((one.period, one.account) for one in entries)
        return [one for one in current if one.state in DUE]

    def without_statement(self) -> Iterator[DraftItem]:
        """Yield the drafts that have no statement, by period and account, from an index that may lag behind."""
        return map(DraftItem.of, self.entities.read_index(open_drafts(), _PAGE))

    def draft(self, period: Period, account: Account) -> DraftItem:
        """Return a draft, read with strong consistency; raise ``NotFoundError`` if there is none."""
        values = self.entities.get(draft_key(period, account))
        if values is None:
            raise NotFoundError(f"there is no draft of {shown(account.agency)} in {account.currency} for {period}")
        return DraftItem.of(values)

    def drafts(self, keys: Iterable[tuple[Period, Account]]) -> list[DraftItem]:
        """Return drafts, read with strong consistency; without those that do not exist."""
        return list(map(DraftItem.of, self.entities.get_many([draft_key(*key) for key in keys])))

    def decide(self, draft: DraftItem, seen: int) -> bool:
        """Write a draft after a decision; return whether it is written.

        It is not if the draft has another number of decisions than ``seen``.
        """
        request = decide_request(self.table, draft, seen)
        return conditional_write(lambda: self.client.put_item(**request), _TABLE).applied

    def decide_all(self, drafts: Sequence[DraftItem]) -> bool:
        """Write drafts after a decision each, side by side; return whether all are written.

        One is not if somebody has decided about it since it was read.
        """
        return all(self.workers.map(lambda draft: self.decide(draft, len(draft.decisions) - 1), drafts))

    # ------------------------------------------------------------ statements

    def statements(self, keys: Iterable[tuple[Period, Account]]) -> dict[tuple[Period, Account], dict[str, Any]]:
        """Return the items of statements, read with strong consistency; without those that do not exist."""
        items = self.entities.get_many([statement_key(*key) for key in keys])
        return {(Period.parse(one["period"]), Account(one["agency"], one["currency"])): one for one in items}

    def last_documents(self, accounts: Sequence[Account]) -> dict[Account, Document]:
        """Return the last document of each account that has one, read with strong consistency."""
        return {
            Account(one["agency"], one["currency"]): Document.of(one)
            for one in self.entities.get_many([last_document_key(account) for account in accounts])
        }

    def write_later(self, items: Sequence[dict[str, Any]]) -> None:
        """Write items of a release side by side; leave those of a later release as they are."""

        def write(item: dict[str, Any]) -> None:
            request = later_request(self.table, item)
            conditional_write(lambda: self.client.put_item(**request), _TABLE)

        self.workers.map(write, items)

    def put(self, item: dict[str, Any]) -> None:
        """Write an item that is the same each time."""
        with_retries(lambda: self.client.put_item(TableName=self.table, Item=to_item(item)), _TABLE)
