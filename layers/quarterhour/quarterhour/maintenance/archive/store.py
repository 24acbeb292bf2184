"""The archive's calls to DynamoDB, and the builders of their requests."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from quarterhour.aws.entity import Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.items import Item, Request, to_item
from quarterhour.aws.tables import conditional_write, put_items
from quarterhour.aws.workers import Workers
from quarterhour.maintenance.archive.keys import ARCHIVE_KEY
from quarterhour.model.errors import UnavailableError
from quarterhour.model.identifiers import SEPARATOR, Account
from quarterhour.model.money import NO_CURRENCY
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.statements.keys import open_drafts
from quarterhour.statements.status.keys import LOWEST, disputes_by_age
from quarterhour.statements.status.plan import DisputeStatus

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_TABLE: Final = "the Entity table"
_A_PAGE: Final = 100


def through_request(table: str, through: QuarterHour) -> Request:
    """Build the UpdateItem that moves the end of the archive forward, and never back."""
    return {
        "TableName": table,
        "Key": to_item(dict(ARCHIVE_KEY)),
        "UpdateExpression": "SET archived_through = :through",
        "ConditionExpression": "attribute_not_exists(archived_through) OR archived_through < :through",
        "ExpressionAttributeValues": {":through": {"S": str(through)}},
    }


@dataclass(frozen=True, slots=True)
class ArchiveStore:
    """The progress of the archive, the archived items, and what makes a month wait."""

    client: "DynamoDBClient"
    ledger_table: str
    entities: EntityReader
    workers: Workers

    def through(self) -> QuarterHour | None:
        """Return the last quarter-hour whose items are archived; ``None`` if none is."""
        values = self.entities.get(ARCHIVE_KEY)
        return QuarterHour.parse(values["archived_through"]) if values else None

    def move(self, through: QuarterHour) -> None:
        """Store the last quarter-hour whose items are archived, unless another run has come further."""
        request = through_request(self.entities.table, through)
        conditional_write(lambda: self.client.update_item(**request), _TABLE)

    def replace(self, items: Sequence[Item]) -> None:
        """Put archived items in the places of their originals; raise ``UnavailableError`` if some were not put."""
        if put_items(self.client, self.ledger_table, items, self.workers):
            raise UnavailableError("the Ledger table did not take all items in time")

    def oldest_open_draft(self) -> Period | None:
        """Return the period of the oldest draft without a statement; those of views owe nothing, and never have one."""
        found = self.entities.read_index(open_drafts(), _A_PAGE)
        return next((period for period, account in map(_draft, found) if account.currency != NO_CURRENCY), None)

    def oldest_open_dispute(self) -> Period | None:
        """Return the earliest period of an open dispute."""
        found = self.entities.read_index(disputes_by_age(DisputeStatus.OPEN, None, LOWEST), _A_PAGE)
        return min((Period.parse(one["period"]) for one in found), default=None)


def _draft(entry: Values) -> tuple[Period, Account]:
    period, account = entry["gsi1sk"].split(SEPARATOR, 1)
    return Period.parse(period), Account.parse(account)
