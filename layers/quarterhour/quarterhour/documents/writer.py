"""Writing documents: gather what stands, plan, apply; again where somebody else was faster."""

from dataclasses import dataclass

from quarterhour import aws, clock
from quarterhour.documents.keys import latest_key, version_key
from quarterhour.documents.permissions import Permissions, permissions_values
from quarterhour.documents.plan import Draft, new_version, repeated
from quarterhour.documents.store import DocumentStore
from quarterhour.errors import UnavailableError
from quarterhour.reading import EntityReader, Values


@dataclass(frozen=True, slots=True)
class DocumentWriter:
    """Writes each version once, on top of the one that its sender has seen."""

    entities: EntityReader
    store: DocumentStore

    def write(self, draft: Draft, by: str) -> tuple[Values, bool]:
        """Return the version that stands for the draft, and whether it is new: not written by an earlier try.

        Raises ``ConflictError`` where another version stands in its place, and changes nothing then.
        """
        for attempt in range(aws.ATTEMPTS):
            latest = self.entities.get(latest_key(draft.document))
            current = int(latest["version"]) if latest else 0
            if current != draft.seen:
                standing = self.entities.get(version_key(draft.document, draft.version))
                return repeated(draft, standing, current), False
            items = new_version(draft, latest, by, clock.now())
            if self.store.add(items, draft.seen):
                return items[0], True
            aws.pause(attempt)
        raise UnavailableError("the Entity table did not take the version in time")

    def permit(self, document: str, permissions: Permissions, by: str) -> None:
        """Write who may read a document from now on."""
        self.store.put(permissions_values(document, permissions, by, clock.now()))
