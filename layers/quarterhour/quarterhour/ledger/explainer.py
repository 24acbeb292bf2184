"""Explaining a recorded event's commission: find the event by its identity, and the card that it was charged by."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quarterhour import aws
from quarterhour.access import Caller
from quarterhour.aws import Item
from quarterhour.documents.keys import rate_card, version_key
from quarterhour.errors import NotFoundError
from quarterhour.ledger.explain import card_version, explained
from quarterhour.ledger.keys import Identity
from quarterhour.ratecards.card import RateCard, card_of
from quarterhour.reading import EntityReader

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


@dataclass(frozen=True, slots=True)
class Explainer:
    """The tables in which the facts of a commission stand."""

    client: "DynamoDBClient"
    identity_table: str
    ledger_table: str
    entities: EntityReader

    def explain(self, identities: Iterable[Identity], caller: Caller) -> dict[str, Any]:
        """Return how the commission came about of the first of these events that is recorded, and the caller's to see.

        Raises ``NotFoundError`` where none is, or its identity is no longer remembered.
        """
        for identity in identities:
            facts = self._facts(identity)
            if facts and caller.may_see(facts["agency"]):
                return explained(facts, self._card(facts))
        raise NotFoundError("there is no such event, or none that you may see")

    def _facts(self, identity: Identity) -> dict[str, str] | None:
        claim = self._item(self.identity_table, {"event": str(identity)})
        place = {name: claim[name]["S"] for name in ("quarter_hour", "position")} if claim else None
        item = self._item(self.ledger_table, place) if place else None
        return {name: value["S"] for name, value in item.items()} if item else None

    def _card(self, facts: dict[str, str]) -> RateCard | None:
        version = card_version(facts)
        values = self.entities.get(version_key(rate_card(facts["agency"]), version)) if version else None
        return card_of(values) if values else None

    def _item(self, table: str, key: dict[str, str]) -> Item | None:
        request = aws.get_item_request(table, key)
        return aws.persist(lambda: self.client.get_item(**request), f"the table {table}").get("Item")
