"""Reading the rate cards in force from the documents, with the registrations of the agencies, in two calls as a rule.

The latest version of a document holds the timeline of all versions, so older versions are read only for old events. A
third call is needed only for an older version of a group's rate card. Nothing is cached between requests: a new version
prices every request that begins after it was written.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import starmap
from typing import TYPE_CHECKING

from quarterhour.aws.entity import Key
from quarterhour.aws.items import from_item
from quarterhour.aws.tables import get_items
from quarterhour.aws.workers import Workers
from quarterhour.registry.documents.keys import DEFAULT_RATE_CARD, RATE_CARD, document_of, latest_key, version_key
from quarterhour.registry.documents.timeline import timeline_of
from quarterhour.registry.rate_cards.plan import NO_RATE_CARDS, RateCardQuery, RateCards, Version, own_documents
from quarterhour.registry.rate_cards.rate_card import rate_card_of

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


@dataclass(frozen=True, slots=True)
class RateCardStore:
    """Reads the rate cards and the registrations among the documents of the Entity table."""

    client: "DynamoDBClient"
    table: str
    workers: Workers

    def read(self, queries: Collection[RateCardQuery], versions: Collection[Version] = ()) -> RateCards:
        """Return the rate cards of agencies, each in force at an instant, read strongly consistent.

        With further ``versions``, those of them that exist. Raises ``UnavailableError`` if some could not be read.
        """
        if not (queries or versions):
            return NO_RATE_CARDS
        agencies = sorted({agency for agency, _ in queries})
        documents = [document for agency in agencies for document in own_documents(agency)]
        latest = map(latest_key, [*documents, DEFAULT_RATE_CARD] if queries else ())
        rate_cards = self._with(NO_RATE_CARDS, [*latest, *starmap(version_key, sorted(versions))])
        of_groups = map(latest_key, sorted(rate_cards.group_rate_cards(queries)))
        while keys := [*of_groups, *starmap(version_key, sorted(rate_cards.missing(queries)))]:
            rate_cards = self._with(rate_cards, keys)
        return rate_cards

    def _with(self, rate_cards: RateCards, keys: Iterable[Key]) -> RateCards:
        """Return the rate cards with what the items of these keys add to them."""
        items = list(map(from_item, get_items(self.client, self.table, list(keys), self.workers)))
        read = [(document_of(values["pk"]), values) for values in items]
        timelines = {document: timeline_of(values) for document, values in read if "timeline" in values}
        versions = {
            (document, int(values["version"])): rate_card_of(values)
            for document, values in read
            if document.startswith(RATE_CARD)
        }
        return RateCards({**rate_cards.timelines, **timelines}, {**rate_cards.versions, **versions})
