"""Reading the ledger: an event by its identity, the events of a span in the order of positions, explanations."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from quarterhour.aws.entity import CHECKPOINT_KEY, SHARDS_KEY
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.items import Item, Request, to_item
from quarterhour.aws.retries import with_retries
from quarterhour.aws.tables import get_item, get_items
from quarterhour.aws.workers import Workers
from quarterhour.documents.keys import rate_card_name, version_key
from quarterhour.ledger.event_pages import (
    Bounds,
    EventPage,
    PartitionPage,
    Span,
    merge_pages,
    position_of,
    quarter_hour_of,
)
from quarterhour.ledger.explanation import Facts, explanation_of, rate_card_version
from quarterhour.ledger.source_index import LedgerKey, chunks_between, merged
from quarterhour.model import clock
from quarterhour.model.clock import iso_millis
from quarterhour.model.errors import NotFoundError
from quarterhour.model.identifiers import Identity, Partition
from quarterhour.model.quarter_hours import LENGTH, QuarterHour, span
from quarterhour.rate_cards.rate_card import RateCard, rate_card_of
from quarterhour.web.access import Caller
from quarterhour.web.paging import Page, Paging

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PARTITIONS_A_PAGE: Final = 96
"""How many partitions a page reads at most; it reads all partitions of one quarter-hour in any case."""
CHUNKS_A_PAGE: Final = 10
"""How many chunks of a source's index are read at a time."""


def events_request(table: str, partition: Partition, bounds: Bounds, limit: int) -> Request:
    """Build the Query that reads up to ``limit`` events of a partition within bounds, strongly consistent."""
    request = {
        "TableName": table,
        "KeyConditionExpression": "quarter_hour = :partition AND #position BETWEEN :low AND :high",
        "ExpressionAttributeNames": {"#position": "position"},
        "ExpressionAttributeValues": to_item({":partition": str(partition), ":low": bounds.low, ":high": bounds.high}),
        "ConsistentRead": True,
        "Limit": limit,
    }
    if not bounds.after:
        return request
    return {**request, "ExclusiveStartKey": to_item({"quarter_hour": str(partition), "position": bounds.after})}


@dataclass(frozen=True, slots=True)
class EventLookup:
    """Finds recorded events by their identity."""

    client: "DynamoDBClient"
    identity_table: str
    ledger_table: str

    def find(self, identity: Identity) -> Facts | None:
        """Return the facts of an event, or ``None`` if it is not in the ledger or its identity has expired."""
        claim = get_item(self.client, self.identity_table, {"event": str(identity)})
        if claim is None:
            return None
        key = {name: claim[name]["S"] for name in ("quarter_hour", "position")}
        item = get_item(self.client, self.ledger_table, key)
        return {name: value["S"] for name, value in item.items()} if item else None


@dataclass(frozen=True, slots=True)
class ExplanationQueries:
    """Explains the commissions of recorded events."""

    events: EventLookup
    entities: EntityReader

    def explain(self, identities: Iterable[Identity], caller: Caller) -> dict[str, Any]:
        """Return the explanation of the first of these events that is recorded and visible to the caller.

        Raises ``NotFoundError`` if there is none.
        """
        for identity in identities:
            facts = self.events.find(identity)
            if facts and caller.may_see(facts["agency"]):
                return explanation_of(facts, self._rate_card(facts))
        raise NotFoundError("there is no such event, or none that you may see")

    def _rate_card(self, facts: Facts) -> RateCard | None:
        version = rate_card_version(facts)
        values = self.entities.get(version_key(rate_card_name(facts["agency"]), version)) if version else None
        return rate_card_of(values) if values else None


@dataclass(frozen=True, slots=True)
class LedgerQueries:
    """Reads pages of events from the ledger."""

    client: "DynamoDBClient"
    ledger_table: str
    entities: EntityReader
    workers: Workers

    def events(self, start: datetime, end: datetime, agency: str | None, paging: Paging) -> Page:
        """Return a page of the events recorded from the start to before the end, of one agency or (``None``) of all.

        A page examines a limited number of events, so it can be short or empty though more pages follow.
        """
        span_ = Span.of(start, end, clock.now())
        page = EventPage(paging.limit, {"agency": agency} if agency else {})
        return self._fill(page, span_, paging.start(span_.place, (span_.first, "")))

    def of_source(self, source: str, start: datetime, end: datetime, paging: Paging) -> Page:
        """Return a page of the events of one source recorded from the start to before the end.

        Sealed events are read through the source's index, at a cost in proportion to the source's own events. Later
        events are filtered from the ledger's partitions.
        """
        sealed_until = self._sealed_until()
        if sealed_until is None:
            return Page([])
        span_ = Span.of(start, end, clock.now())
        first, after = paging.start(span_.place, (span_.first, ""))
        page = EventPage(paging.limit, {"source": source})
        if first.start < sealed_until:
            # The page before may have ended in a quarter-hour that was sealed since: begin there, not at the start.
            rest = replace(span_.bounds, low=max(span_.bounds.low, iso_millis(first.start)), after=after)
            for item in self._indexed(source, rest, sealed_until, paging.limit + 1):
                if page.full:
                    last = page.items[-1]["position"]
                    return Page(page.items, (str(quarter_hour_of(last)), last))
                page.add(item)
            first, after = QuarterHour.at(sealed_until), ""
            if page.items or first > span_.last:
                return Page(page.items, (str(first), "") if first <= span_.last else None)
        return self._fill(page, span_, (first, after))

    def _indexed(self, source: str, bounds: Bounds, until: datetime, limit: int) -> list[Item]:
        """Return the first ``limit`` events in a source's index that are within bounds and before an instant."""
        end = min(bounds.high, iso_millis(until))
        chunks = self.entities.read(chunks_between(source, bounds.after or bounds.low, end), CHUNKS_A_PAGE)
        first = islice(_rising(merged(chunks), bounds.after, bounds.low, end), limit)
        keys = [{"quarter_hour": partition, "position": position} for partition, position in first]
        items = get_items(self.client, self.ledger_table, keys, self.workers)
        return sorted(items, key=position_of)

    def _sealed_until(self) -> datetime | None:
        """Return the end of the last sealed quarter-hour, or ``None`` before the first event."""
        values = self.entities.get(CHECKPOINT_KEY)
        return QuarterHour.parse(values["sealed_through"]).end if values else None

    def _fill(self, page: EventPage, span_: Span, begin: tuple[QuarterHour, str]) -> Page:
        """Fill a page from the ledger's partitions, and return it with the place of the next page."""
        at, after = begin
        shards = self._shards()
        until = min(span_.last, QuarterHour(at.start + (max(1, PARTITIONS_A_PAGE // shards) - 1) * LENGTH))
        for quarter_hour in span(at, until):
            bounds = replace(span_.bounds, after=after if quarter_hour == at else "")
            items, complete_through = self._quarter_hour(quarter_hour, shards, bounds, page.remaining)
            for item in items:
                page.add(item)
                if page.full:
                    return Page(page.items, (str(quarter_hour), position_of(item)))
            if complete_through:
                return Page(page.items, (str(quarter_hour), complete_through))
        return Page(page.items, (str(until.next), "") if until < span_.last else None)

    def _quarter_hour(
        self, quarter_hour: QuarterHour, shards: int, bounds: Bounds, limit: int
    ) -> tuple[list[Item], str]:
        """Return about ``limit`` events of a quarter-hour, read from all its partitions in parallel."""
        each = -(-limit // shards)
        requests = [
            events_request(self.ledger_table, Partition(quarter_hour, shard), bounds, each) for shard in range(shards)
        ]
        return merge_pages(self.workers.map(self._partition_page, requests))

    def _partition_page(self, request: Request) -> PartitionPage:
        response = with_retries(lambda: self.client.query(**request), "the Ledger table")
        last = response.get("LastEvaluatedKey")
        return PartitionPage(response["Items"], last["position"]["S"] if last else "")

    def _shards(self) -> int:
        """Return the highest number of shards ever used, so that every partition is read."""
        values = self.entities.get(SHARDS_KEY)
        return int(values["shards"]) if values else 1


def _rising(keys: Iterable[LedgerKey], after: str, low: str, end: str) -> Iterator[LedgerKey]:
    """Yield the keys from ``low`` to before ``end`` and after ``after``, each once: chunks can repeat keys."""
    for partition, position in keys:
        if position >= end:
            return
        if position > after and position >= low:
            yield partition, position
            after = position
