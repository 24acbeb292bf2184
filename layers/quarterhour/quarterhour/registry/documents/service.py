"""Writing documents: read the latest version, plan the next, write it under a condition."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from quarterhour.aws.entity import Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.expressions import NEW, put_request
from quarterhour.aws.items import Request
from quarterhour.aws.resources import Resources
from quarterhour.aws.retries import optimistically, with_retries
from quarterhour.model import clock
from quarterhour.registry.documents.keys import latest_key, version_key
from quarterhour.registry.documents.permissions import Permissions, permissions_values
from quarterhour.registry.documents.plan import WrittenDocument, new_version, repeated

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


_TABLE = "the Entity table"


def version_request(table: str, items: Sequence[Values], seen: int) -> Request:
    """Build the transaction that writes a version's items, on condition that the version seen is still the latest."""
    latest, *others = items
    condition = ("version = :seen", {"seen": seen}) if seen else (NEW, {})
    puts = [put_request(table, latest, *condition), *(put_request(table, other, NEW) for other in others)]
    return {"TransactItems": [{"Put": put} for put in puts]}


@dataclass(frozen=True, slots=True)
class DocumentStore:
    """Writes the documents' items to the Entity table."""

    client: "DynamoDBClient"
    table: str

    def add(self, items: Sequence[Values], seen: int) -> None:
        """Write a version's items; raise botocore's ``ClientError`` if ``seen`` is no longer the latest version."""
        request = version_request(self.table, items, seen)
        with_retries(lambda: self.client.transact_write_items(**request), _TABLE)

    def put(self, values: Mapping[str, Any]) -> None:
        """Write an item, in place of an existing one."""
        request = put_request(self.table, values)
        with_retries(lambda: self.client.put_item(**request), _TABLE)


@dataclass(frozen=True, slots=True)
class DocumentService:
    """Writes documents: each version once, as the successor of the version that its sender has seen."""

    entities: EntityReader
    store: DocumentStore

    @classmethod
    def of(cls, resources: Resources) -> Self:
        """Return the service of a function."""
        return cls(resources.entities, DocumentStore(resources.dynamodb, resources.entity_table))

    def write(self, draft: WrittenDocument, by: str) -> tuple[Values, bool]:
        """Write a draft; return its version, and whether this call wrote it (or an earlier try did).

        Raises ``ConflictError`` if another version follows the one seen; nothing is written then.
        """

        def attempt() -> tuple[Values, bool]:
            latest = self.entities.get(latest_key(draft.document))
            current = int(latest["version"]) if latest else 0
            if current != draft.seen:
                existing = self.entities.get(version_key(draft.document, draft.version))
                return repeated(draft, existing, current), False
            items = new_version(draft, latest, by, clock.now())
            self.store.add(items, draft.seen)
            return items[0], True

        return optimistically(attempt, draft.document)

    def permit(self, document: str, permissions: Permissions, by: str) -> None:
        """Replace the permissions of a document."""
        self.store.put(permissions_values(document, permissions, by, clock.now()))
