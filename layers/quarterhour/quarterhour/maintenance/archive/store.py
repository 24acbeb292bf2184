"""The archive's calls to DynamoDB, and the builders of their requests."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.expressions import update_request
from quarterhour.aws.items import Item, Request
from quarterhour.aws.tables import conditional_write, put_items
from quarterhour.aws.workers import Workers
from quarterhour.maintenance.archive.keys import ARCHIVE_KEY
from quarterhour.model.errors import UnavailableError
from quarterhour.model.quarter_hours import QuarterHour

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_TABLE: Final = "the Entity table"


def through_request(table: str, through: QuarterHour) -> Request:
    """Build the UpdateItem that moves the end of the archive forward, and never back."""
    forward = "attribute_not_exists(archived_through) OR archived_through < :through"
    return update_request(table, ARCHIVE_KEY, "SET archived_through = :through", forward, {"through": str(through)})


@dataclass(frozen=True, slots=True)
class ArchiveStore:
    """The progress of the archive, and the archived items."""

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
