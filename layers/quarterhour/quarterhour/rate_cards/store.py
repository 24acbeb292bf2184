"""Reading the rate cards in force from the documents: all that a request needs, in one call as a rule.

The latest version of a card tells from when on each version is in force, so older ones are read only where an event is
as old. Nothing is kept from one request to the next: a new version counts for every request that begins after it was
written.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from quarterhour.aws.entity import Key
from quarterhour.aws.items import from_item
from quarterhour.aws.tables import get_items
from quarterhour.aws.workers import Workers
from quarterhour.documents.keys import agency_of, latest_key, rate_card_name, version_key
from quarterhour.documents.timeline import timeline_of
from quarterhour.rate_cards.plan import NO_RATE_CARDS, RateCards, Wanted
from quarterhour.rate_cards.rate_card import rate_card_of

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


@dataclass(frozen=True, slots=True)
class RateCardStore:
    """The rate cards among the documents."""

    client: "DynamoDBClient"
    table: str
    workers: Workers

    def read(self, wanted: Collection[Wanted]) -> RateCards:
        """Return the cards in force for some agencies at some instants, strongly consistent.

        Raises ``UnavailableError`` where some stay unread.
        """
        if not wanted:
            return NO_RATE_CARDS
        latest = self._items(
            [latest_key(rate_card_name(agency)) for agency in sorted({agency for agency, _ in wanted})]
        )
        timelines = {agency: timeline_of(values) for agency, values in latest}
        versions = {(agency, int(values["version"])): rate_card_of(values) for agency, values in latest}
        missing = RateCards(timelines, versions).missing(wanted)
        older = self._items([version_key(rate_card_name(agency), version) for agency, version in sorted(missing)])
        versions |= {(agency, int(values["version"])): rate_card_of(values) for agency, values in older}
        return RateCards(timelines, versions)

    def _items(self, keys: Sequence[Key]) -> list[tuple[str, dict[str, Any]]]:
        items = map(from_item, get_items(self.client, self.table, keys, self.workers))
        return [(agency_of(values["pk"]), values) for values in items]
