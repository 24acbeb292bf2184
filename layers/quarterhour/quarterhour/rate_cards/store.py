"""Reading the rate cards in force from the documents, in one call as a rule.

The latest version of a rate card holds the timeline of all versions, so older versions are read only for old events.
Nothing is cached between requests: a new version prices every request that begins after it was written.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quarterhour.aws.entity import Key
from quarterhour.aws.items import from_item
from quarterhour.aws.tables import get_items
from quarterhour.aws.workers import Workers
from quarterhour.documents.keys import RATE_CARD, document_of, latest_key, rate_card_name, version_key
from quarterhour.documents.timeline import timeline_of
from quarterhour.rate_cards.plan import NO_RATE_CARDS, RateCardQuery, RateCards
from quarterhour.rate_cards.rate_card import rate_card_of

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


@dataclass(frozen=True, slots=True)
class RateCardStore:
    """Reads the rate cards among the documents of the Entity table."""

    client: "DynamoDBClient"
    table: str
    workers: Workers

    def read(self, queries: Collection[RateCardQuery]) -> RateCards:
        """Return the rate cards of agencies, each in force at an instant, read strongly consistent.

        Raises ``UnavailableError`` if some could not be read.
        """
        if not queries:
            return NO_RATE_CARDS
        latest = self._items(
            [latest_key(rate_card_name(agency)) for agency in sorted({agency for agency, _ in queries})]
        )
        timelines = {agency: timeline_of(values) for agency, values in latest}
        versions = {(agency, int(values["version"])): rate_card_of(values) for agency, values in latest}
        missing = RateCards(timelines, versions).missing(queries)
        older = self._items([version_key(rate_card_name(agency), version) for agency, version in sorted(missing)])
        versions |= {(agency, int(values["version"])): rate_card_of(values) for agency, values in older}
        return RateCards(timelines, versions)

    def _items(self, keys: Sequence[Key]) -> list[tuple[str, dict[str, Any]]]:
        items = map(from_item, get_items(self.client, self.table, keys, self.workers))
        return [(document_of(values["pk"]).removeprefix(RATE_CARD), values) for values in items]
