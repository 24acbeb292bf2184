"""Writing documents: read the latest version, plan the next, write it under a condition."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from quarterhour.aws.entity import Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.expressions import NEW, put_request
from quarterhour.aws.items import Request
from quarterhour.aws.resources import Resources
from quarterhour.aws.retries import optimistically, with_retries
from quarterhour.model import clock
from quarterhour.model.errors import ConflictError
from quarterhour.model.fields import shown
from quarterhour.registry.documents.keys import AGENCY, FREE, Alias, alias_in, alias_key, latest_key, version_key
from quarterhour.registry.documents.permissions import Permissions, permissions_values
from quarterhour.registry.documents.plan import WrittenDocument, aliases_in, new_version, repeated

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


_TABLE = "the Entity table"


class AliasChange(NamedTuple):
    """The aliases that a version adds to those of its document, and those that it takes away."""

    document: str
    added: Collection[Alias] = ()
    removed: Collection[Alias] = ()

    def requests(self, table: str) -> list[Request]:
        """Build the parts of a transaction, which fails if an alias is of another document."""
        its_own = "document = :document"
        given, is_free = {"document": self.document, "free": FREE}, f"{NEW} OR {its_own} OR document = :free"
        added = (
            put_request(table, {**alias_key(one), "document": self.document}, is_free, given)
            for one in sorted(self.added)
        )
        # Not deleted: no function may delete documents, and the parts of a transaction are checked together.
        removed = (
            put_request(table, {**alias_key(one), "document": FREE}, its_own, {"document": self.document})
            for one in sorted(self.removed)
        )
        return [{"Put": put} for put in (*added, *removed)]


def version_request(table: str, items: Sequence[Values], seen: int, aliases: AliasChange) -> Request:
    """Build the transaction that writes a version's items, on condition that the version seen is still the latest."""
    latest, *others = items
    condition = ("version = :seen", {"seen": seen}) if seen else (NEW, {})
    puts = [put_request(table, latest, *condition), *(put_request(table, other, NEW) for other in others)]
    return {"TransactItems": [*({"Put": put} for put in puts), *aliases.requests(table)]}


@dataclass(frozen=True, slots=True)
class DocumentStore:
    """Writes the documents' items to the Entity table."""

    client: "DynamoDBClient"
    table: str

    def add(self, items: Sequence[Values], seen: int, aliases: AliasChange) -> None:
        """Write a version's items; raise botocore's ``ClientError`` if ``seen`` is no longer the latest version."""
        request = version_request(self.table, items, seen, aliases)
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
            before, after = aliases_in(latest), draft.valid.aliases if draft.valid else frozenset()
            change = AliasChange(draft.document, after - before, before - after)
            self._check_free(change)
            self.store.add(items, draft.seen, change)
            return items[0], True

        return optimistically(attempt, draft.document)

    def _check_free(self, change: AliasChange) -> None:
        """Raise ``ConflictError`` if an alias that is added is of another document."""
        if not change.added:
            return
        for one in self.entities.get_many([alias_key(alias) for alias in sorted(change.added)]):
            if one["document"] not in {change.document, FREE}:
                alias = alias_in(one)
                whose = shown(one["document"].removeprefix(AGENCY))
                raise ConflictError(f"{alias.list}'s {shown(alias.text)} is of {whose} already: remove it there first")

    def permit(self, document: str, permissions: Permissions, by: str) -> None:
        """Replace the permissions of a document."""
        self.store.put(permissions_values(document, permissions, by, clock.now()))
