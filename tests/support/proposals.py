"""Proposals of versions of documents that tests keep, as people would have made them."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from quarterhour.aws.items import to_item
from quarterhour.registry.documents.plan import WrittenDocument, read_draft
from quarterhour.registry.documents.proposals import proposal_of
from quarterhour.registry.routes import KINDS
from tests.support.system import World


def drafted(document: str, content: Mapping[str, Any], seen: int) -> WrittenDocument:
    """Return a version of a document to propose."""
    return read_draft(document, {"seen": Decimal(seen), "content": content}, KINDS)


def keep_proposal(world: World, draft: WrittenDocument) -> None:
    """Keep a version as proposed by ann, who waits for a second person."""
    item = proposal_of(draft, "ann", world.clock.now())
    world.stack.dynamodb.put_item(TableName=world.stack.ref("EntityTable"), Item=to_item(item))
