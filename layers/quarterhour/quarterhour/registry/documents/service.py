"""Writing documents: read the latest version, plan the next, write it under a condition."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from quarterhour.aws.entity import Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.expressions import NEW, put_request
from quarterhour.aws.items import Request
from quarterhour.aws.resources import Resources
from quarterhour.aws.retries import optimistically, with_retries
from quarterhour.model import clock, exact_json
from quarterhour.model.errors import ConflictError, NotFoundError
from quarterhour.model.fields import shown
from quarterhour.registry.documents.keys import (
    AGENCY,
    FREE,
    Alias,
    alias_in,
    alias_key,
    latest_key,
    proposal_key,
    version_key,
)
from quarterhour.registry.documents.permissions import Permissions, permissions_values
from quarterhour.registry.documents.plan import (
    DocumentKind,
    WrittenDocument,
    aliases_in,
    new_version,
    read_draft,
    repeated,
)
from quarterhour.registry.documents.proposals import (
    Decision,
    ProposalRequest,
    check_same,
    decided,
    is_open,
    planned_decision,
    proposal_of,
)

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

    def add(self, items: Sequence[Values], seen: int, aliases: AliasChange, released: Values | None = None) -> None:
        """Write a version's items, and the proposal that it was with the decision to release it.

        Raises botocore's ``ClientError`` if ``seen`` is no longer the latest version, or somebody decided meanwhile.
        """
        request = version_request(self.table, items, seen, aliases)
        if released is not None:
            request["TransactItems"].append({"Put": close_request(self.table, released)})
        with_retries(lambda: self.client.transact_write_items(**request), _TABLE)

    def propose(self, proposal: Values, before: Values | None) -> None:
        """Write a proposal in place of the last one; raise ``ClientError`` if there is another one by now."""
        still, given = NEW, {}
        if before is not None:
            still, given = (
                "created_at = :at AND sha256 = :sha256",
                {"at": before["created_at"], "sha256": before["sha256"]},
            )
        self._put(put_request(self.table, proposal, still, given))

    def close(self, proposal: Values) -> None:
        """Write a proposal about which is decided; raise ``ClientError`` if somebody decided meanwhile."""
        self._put(close_request(self.table, proposal))

    def put(self, values: Mapping[str, Any]) -> None:
        """Write an item, in place of an existing one."""
        self._put(put_request(self.table, values))

    def _put(self, request: Request) -> None:
        with_retries(lambda: self.client.put_item(**request), _TABLE)


def close_request(table: str, proposal: Values) -> Request:
    """Build the put of a proposal about which is decided, on condition that nobody has decided meanwhile."""
    given = {"sha256": proposal["sha256"], "at": proposal["created_at"]}
    still = "sha256 = :sha256 AND created_at = :at AND attribute_not_exists(decision)"
    return put_request(table, proposal, still, given)


@dataclass(frozen=True, slots=True)
class DocumentService:
    """Writes documents: each version once, as the successor of the version that its sender has seen.

    Where two people must agree, what one writes is a proposal, and a second one makes it a version.
    """

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
            latest, current = self._latest(draft.document)
            if current != draft.seen:
                return self._repeated(draft, current), False
            items = new_version(draft, latest, by, clock.now())
            self._add(draft, latest, items)
            return items[0], True

        return optimistically(attempt, draft.document)

    def proposal(self, draft: WrittenDocument, by: str) -> Values | None:
        """Propose a draft for a second person; return its proposal, or ``None`` if it is a version already.

        The same draft again, also of somebody else, changes nothing. Raises ``ConflictError`` if another version
        follows the one seen, or if another content is proposed.
        """

        def attempt() -> Values | None:
            latest, current = self._latest(draft.document)
            if current != draft.seen:
                self._repeated(draft, current)
                return None
            now = clock.now()
            new_version(draft, latest, by, now)  # Raises what writing it would raise.
            before = self.entities.get(proposal_key(draft.document))
            if before is not None and is_open(before, current):
                check_same(before, draft)
                return before
            proposal = proposal_of(draft, by, now)
            self.store.propose(proposal, before)
            return proposal

        return optimistically(attempt, draft.document)

    def waiting(self, draft: WrittenDocument) -> Values | None:
        """Return the open proposal of just this draft, if there is one."""
        found = self.entities.get(proposal_key(draft.document))
        same = found is not None and is_open(found, draft.seen) and found["sha256"] == draft.sha256
        return found if same else None

    def decide(self, document: str, request: ProposalRequest, by: str, kinds: Sequence[DocumentKind]) -> Values:
        """Release or discard the proposal of a document; return it with the decision.

        Raises ``NotFoundError`` if there is none, and ``ConflictError`` if it does not allow the decision.
        """

        def attempt() -> Values:
            proposal = self.entities.get(proposal_key(document))
            if proposal is None:
                raise NotFoundError(f"no version of {shown(document)} is proposed")
            latest, current = self._latest(document)
            if not planned_decision(document, proposal, current, request, by):
                return proposal
            now = clock.now()
            closed = decided(proposal, request, by, now)
            if request.decision is Decision.DISCARD:
                self.store.close(closed)
                return closed
            content = exact_json.parse(proposal["content"])
            draft = read_draft(document, {"seen": Decimal(proposal["seen"]), "content": content}, kinds)
            self._add(draft, latest, new_version(draft, latest, proposal["created_by"], now, by), closed)
            return closed

        return optimistically(attempt, document)

    def _latest(self, document: str) -> tuple[Values | None, int]:
        """Return the latest version of a document and its number: 0 if there is no such document."""
        latest = self.entities.get(latest_key(document))
        return latest, int(latest["version"]) if latest else 0

    def _repeated(self, draft: WrittenDocument, current: int) -> Values:
        """Return the version that a draft is already; raise ``ConflictError`` if another one has its place."""
        return repeated(draft, self.entities.get(version_key(draft.document, draft.version)), current)

    def _add(
        self, draft: WrittenDocument, latest: Values | None, items: Sequence[Values], released: Values | None = None
    ) -> None:
        """Write the items of a version, once the aliases that it adds are free."""
        before, after = aliases_in(latest), draft.valid.aliases if draft.valid else frozenset()
        change = AliasChange(draft.document, after - before, before - after)
        self._check_free(change)
        self.store.add(items, draft.seen, change, released)

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
