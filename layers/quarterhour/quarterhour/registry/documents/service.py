"""Writing documents: read the latest version, plan the next, write it under a condition."""

from dataclasses import dataclass
from typing import Self

from quarterhour.aws.entity import Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.resources import Resources
from quarterhour.aws.retries import optimistically
from quarterhour.model import clock
from quarterhour.registry.documents.keys import latest_key, version_key
from quarterhour.registry.documents.permissions import Permissions, permissions_values
from quarterhour.registry.documents.plan import WrittenDocument, new_version, repeated
from quarterhour.registry.documents.store import DocumentStore


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
