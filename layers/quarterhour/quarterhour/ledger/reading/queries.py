"""Reading the ledger: an event by its identity, the events of a span in the order of positions, explanations."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from quarterhour.aws.entity import Range, Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.items import Item, Request, to_item
from quarterhour.aws.resources import Resources
from quarterhour.aws.retries import with_retries
from quarterhour.aws.tables import get_item, get_items
from quarterhour.aws.workers import Workers
from quarterhour.customers.tokens import CustomerNames, TokenOf
from quarterhour.ledger.events.event import CUSTOMER, SALE, VOID, reference, without_operator
from quarterhour.ledger.keys import CHECKPOINT_KEY, linked_event_of, linked_range, sealed_through_of
from quarterhour.ledger.postings.partitions import highest_shards
from quarterhour.ledger.postings.posting import Facts
from quarterhour.ledger.postings.reading import Unarchive, as_stored, read_postings
from quarterhour.ledger.postings.segments import LedgerKey, identity_of, key_of_item, posting_at, postings_of
from quarterhour.ledger.reading.event_pages import (
    EXAMINED_AT_ONCE,
    FETCHED_AT_ONCE,
    Batch,
    Bounds,
    EventPage,
    EventSpan,
    PartitionPage,
    Place,
    merge_pages,
    position_of,
    quarter_hour_of,
    shown_event,
)
from quarterhour.ledger.reading.explanation import applied_rate_card, computation_of, explanation_of, facts_at
from quarterhour.ledger.reading.lookups import LOOKED_UP, quarter_hours_of, ranges
from quarterhour.ledger.reading.sealed_index import INDEXED, chunks_between, merged
from quarterhour.ledger.reading.story import StoryEntry, story_page
from quarterhour.ledger.recording.claim_items import is_reservation, rerated_terms
from quarterhour.ledger.recording.order_fees import fees_of, order_key
from quarterhour.ledger.recording.pricing import BY_DEFAULT, CommissionTerms
from quarterhour.model import clock
from quarterhour.model.clock import iso_millis, parse_iso
from quarterhour.model.errors import NotFoundError
from quarterhour.model.fields import is_name
from quarterhour.model.identifiers import SEPARATOR, Identity, Partition, item_position
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.registry.rate_cards.plan import LookedAt
from quarterhour.registry.rate_cards.queries import RateCardQueries
from quarterhour.web.access import Caller
from quarterhour.web.paging import RESERVE_SECONDS, Page, Paging

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from quarterhour.ledger.reading import api

LINKED_AT_ONCE: Final = 1000
"""How many of the events that refer to a sale are read at a time."""
LOOKUPS_A_PAGE: Final = 1000
"""How many items of the lookups are read at a time; they are small."""
CHUNKS_A_PAGE: Final = 10
"""How many chunks of an index are read at a time."""


def events_request(table: str, partition: Partition, bounds: Bounds, limit: int) -> Request:
    """Build the Query that reads up to ``limit`` items of a partition within bounds, strongly consistent.

    The first item is the segment of the posting ``after``, whose further postings follow.
    """
    within_segment = bounds.after != item_position(bounds.after)
    low = item_position(bounds.after) if within_segment else bounds.low
    request: Request = {
        "TableName": table,
        "KeyConditionExpression": "quarter_hour = :partition AND #position BETWEEN :low AND :high",
        "ExpressionAttributeNames": {"#position": "position"},
        "ExpressionAttributeValues": to_item({":partition": str(partition), ":low": low, ":high": bounds.high}),
        "ConsistentRead": True,
        "Limit": limit,
    }
    if within_segment or not bounds.after:
        return request
    return {**request, "ExclusiveStartKey": to_item({"quarter_hour": str(partition), "position": bounds.after})}


def seen_by(caller: Caller, facts: Facts) -> Facts:
    """Return the facts of an event as a caller may see them."""
    return facts if caller.is_of_marketplace else without_operator(facts)


class Recorded(NamedTuple):
    """A recorded event: its facts in the ledger, and its terms by the last re-rating, if there was one."""

    facts: Facts
    rerated: CommissionTerms | None


def _ledger_key(claim: Item) -> LedgerKey:
    """Return the key of a claimed event in the ledger."""
    return claim["quarter_hour"]["S"], claim["position"]["S"]


@dataclass(frozen=True, slots=True)
class EventLookup:
    """Finds recorded events by their identity."""

    client: "DynamoDBClient"
    identity_table: str
    ledger_table: str
    unarchive: Unarchive = as_stored

    @classmethod
    def of(cls, resources: Resources, unarchive: Unarchive) -> Self:
        """Return the lookup of a function."""
        identity_table, ledger_table = (resources.env.text(name) for name in ("IDENTITY_TABLE", "LEDGER_TABLE"))
        return cls(resources.dynamodb, identity_table, ledger_table, unarchive)

    def find(self, identity: Identity) -> Recorded | None:
        """Return a recorded event, or ``None`` if it is not in the ledger or its identity has expired."""
        claim = get_item(self.client, self.identity_table, {"event": str(identity)})
        if claim is None or is_reservation(claim):
            return None
        key = _ledger_key(claim)
        item = get_item(self.client, self.ledger_table, key_of_item(key))
        posting = posting_at(self.unarchive([item])[0], key[1]) if item else None
        return Recorded(posting, rerated_terms(claim)) if posting and identity_of(posting) == identity else None

    def visible(self, identities: Iterable[Identity], caller: Caller) -> Recorded:
        """Return the first of these events that is recorded and visible to the caller, as the caller may see it.

        Raises ``NotFoundError`` if there is none.
        """
        for identity in identities:
            found = self.find(identity)
            if found and caller.may_see(found.facts["agency"]):
                return found._replace(facts=seen_by(caller, found.facts))
        raise NotFoundError("there is no such event, or none that you may see")

    def is_visible(self, name: str, caller: Caller) -> bool:
        """Return whether the event ``<source>#<id>`` is recorded and the caller may see its agency."""
        source, _, id_ = name.partition(SEPARATOR)
        if not (is_name(source) and is_name(id_)):
            return False
        found = self.find(Identity(source, id_))
        return found is not None and caller.may_see(found.facts["agency"])

    def event(self, identities: Iterable[Identity], caller: Caller) -> "api.Event":
        """Return the first of these events that is recorded and visible to the caller, with its receipt.

        Raises ``NotFoundError`` if there is none.
        """
        return shown_event(self.visible(identities, caller).facts)

    def order_fees(self, facts: Facts) -> dict[str, str]:
        """Return which line bears each fee that the order of an event pays once: its id, by the name of the charge."""
        key = order_key(facts)
        item = get_item(self.client, self.identity_table, {"event": key}) if key else None
        return {name: owner.id for name, owner in fees_of(item).owners.items()} if item else {}

    def find_all(self, identities: Sequence[Identity], workers: Workers) -> list[Facts]:
        """Return the facts of those of these events that are in the ledger, in any order."""
        claims = get_items(self.client, self.identity_table, [{"event": str(one)} for one in identities], workers)
        keys = {_ledger_key(claim): claim["event"]["S"] for claim in claims if not is_reservation(claim)}
        found = read_postings(self.client, self.ledger_table, keys.keys(), workers, self.unarchive)
        return [posting for key, posting in found.items() if str(identity_of(posting)) == keys[key]]


@dataclass(frozen=True, slots=True)
class ExplanationQueries:
    """Explains the commissions of recorded events."""

    events: EventLookup
    rate_cards: RateCardQueries

    def explain(self, identities: Iterable[Identity], caller: Caller) -> "api.Explanation":
        """Return the explanation of the first of these events that is recorded and visible to the caller.

        Raises ``NotFoundError`` if there is none.
        """
        facts, rerated = self.events.visible(identities, caller)
        explanation = explanation_of(facts, list(self._looked_at(facts)))
        if owners := self.events.order_fees(facts):
            explanation["order_fees"] = owners
        if rerated is None:
            return explanation
        facts = facts_at(rerated, facts)
        applied = applied_rate_card(facts)
        looked_at = [self.rate_cards.version(applied)] if applied else []
        return {**explanation, "in_force": computation_of(facts, looked_at)}

    def _looked_at(self, facts: Facts) -> Iterator[LookedAt]:
        applied = applied_rate_card(facts)
        if applied or facts.get("terms") == BY_DEFAULT:
            recorded_at = parse_iso(facts["recorded_at"])
            at = parse_iso(facts["time"]) if facts.get("time") else recorded_at
            yield from self.rate_cards.looked_at(facts["agency"], at, recorded_at, applied)


@dataclass(frozen=True, slots=True)
class StoryQueries:
    """Reads the stories of sales: a sale and everything that refers to it."""

    events: EventLookup
    entities: EntityReader
    workers: Workers

    def story(self, identities: Iterable[Identity], caller: Caller, paging: Paging) -> "api.Story":
        """Return a page of the story of the first of these events that is recorded and visible to the caller.

        A correction leads to the story of its sale, and the void of a refund to that of the refund's sale. Raises
        ``NotFoundError`` if there is no such event.
        """
        first = self._first(self.events.visible(identities, caller).facts, caller)
        left = Decimal(first["amount"]) if first["type"] == SALE else None
        return story_page(StoryEntry(first, 0, left), self._linked(first, caller), paging)

    def _first(self, facts: Facts, caller: Caller) -> Facts:
        sale = reference(facts["source"], facts) if facts["type"] != SALE else None
        found = self.events.find(sale) if sale else None
        if found is None or not caller.may_see(found.facts["agency"]):
            return facts
        return self._first(found.facts, caller) if facts["type"] == VOID else found.facts

    def _linked(self, first: Facts, caller: Caller) -> list[StoryEntry]:
        """Return the recorded events that refer to an event, as the caller may see them."""
        listed = self.entities.read(linked_range(Identity(first["source"], first["id"])), LINKED_AT_ONCE)
        linked = {one.identity: one for one in map(linked_event_of, listed)}
        found = [(facts, linked[identity_of(facts)]) for facts in self.events.find_all(list(linked), self.workers)]
        return [StoryEntry(seen_by(caller, facts), one.changes, one.left) for facts, one in found]


@dataclass(frozen=True, slots=True)
class LedgerQueries:
    """Reads pages of events from the ledger.

    ``began`` returns the start of the first sealed quarter-hour, or ``None`` if none is sealed yet.
    """

    client: "DynamoDBClient"
    ledger_table: str
    entities: EntityReader
    workers: Workers
    began: Callable[[], datetime | None]
    token_of: TokenOf
    unarchive: Unarchive = as_stored

    @classmethod
    def of(cls, resources: Resources, unarchive: Unarchive, began: Callable[[], datetime | None]) -> Self:
        """Return the queries of a function."""
        table, entities, workers = resources.env.text("LEDGER_TABLE"), resources.entities, resources.workers
        token_of = CustomerNames.of(resources).token_of
        return cls(resources.dynamodb, table, entities, workers, began, token_of, unarchive)

    def events(  # noqa: PLR0913, PLR0917 - a query, its reader, and its limits
        self,
        start: datetime,
        end: datetime,
        only: Mapping[str, str],
        paging: Paging,
        remaining_seconds: Callable[[], float],
        caller: Caller,
    ) -> "Page[api.Event]":
        """Return a page of the events recorded from the start to before the end that have the attributes ``only``.

        Sealed events of one agency or one source are read through their index, at a cost that follows these events;
        those of an order or a customer in the quarter-hours that have some. Other events are searched in the ledger's
        partitions. A page is short although another follows only if its bytes
        or the time are at their limit.
        """
        span_ = EventSpan.of(start, end, clock.now())
        begin = paging.start(span_.place, (span_.first, ""))
        if CUSTOMER in only and caller.is_of_marketplace:  # nobody else may ask for a name
            only = {**only, CUSTOMER: self.token_of(only[CUSTOMER])}
        page = EventPage(paging.limit, only, partial(seen_by, caller))
        for batch in self._batches(page, span_, begin):
            for event in batch.events:
                page.add(event)
                if page.full:
                    return Page(page.items, _place_of(position_of(event)))
            if remaining_seconds() < RESERVE_SECONDS:
                return Page(page.items, batch.behind)
        return Page(page.items)

    def _batches(self, page: EventPage, span_: EventSpan, begin: tuple[QuarterHour, str]) -> Iterator[Batch]:
        """Yield the events from a place to the end of the span: those in an index, which has all sealed ones, first."""
        checkpoint = self.entities.get(CHECKPOINT_KEY)
        if checkpoint is None:  # nothing was ever recorded
            return
        sealed_through = sealed_through_of(checkpoint)
        attribute = next((name for name in (*LOOKED_UP, *INDEXED) if name in page.only), None)
        if attribute and begin[0] <= sealed_through:
            of_index = self._looked_up if attribute in LOOKED_UP else self._from_index
            yield from of_index(page, span_, begin, attribute, sealed_through)
            begin = sealed_through.next, ""
        at, after = self._skipped(begin, sealed_through)
        yield from self._from_partitions(page, span_, (at, after), _through(at, span_.last))

    def _skipped(self, begin: tuple[QuarterHour, str], sealed_through: QuarterHour) -> tuple[QuarterHour, str]:
        """Return the place at which to begin, without the quarter-hours before the first event."""
        if begin[0] > sealed_through:
            return begin
        began = self.began()
        return max(begin, (QuarterHour.at(began) if began else sealed_through.next, ""))

    def _from_index(
        self,
        page: EventPage,
        span_: EventSpan,
        begin: tuple[QuarterHour, str],
        attribute: str,
        sealed_through: QuarterHour,
    ) -> Iterator[Batch]:
        """Yield the events in the index of an attribute, from a place to the end of the index or of the span.

        The index covers all sealed quarter-hours.
        """
        first, after = begin
        low = max(span_.bounds.low, iso_millis(first.start))
        end = min(span_.bounds.high, iso_millis(sealed_through.end))
        chunks = self.entities.read(chunks_between(attribute, page.only[attribute], after or low, end), CHUNKS_A_PAGE)
        keys = _rising(merged(chunks), after, low, end)
        while some := list(islice(keys, page.to_examine(FETCHED_AT_ONCE))):
            found = read_postings(self.client, self.ledger_table, some, self.workers, self.unarchive)
            page.examined += len(some)
            yield Batch(sorted(found.values(), key=position_of), _place_of(some[-1][1]))

    def _looked_up(
        self,
        page: EventPage,
        span_: EventSpan,
        begin: tuple[QuarterHour, str],
        attribute: str,
        sealed_through: QuarterHour,
    ) -> Iterator[Batch]:
        """Yield the events of the sealed quarter-hours that can have some of an order or a customer, from a place."""
        first, last = self._skipped(begin, sealed_through)[0], min(sealed_through, span_.last)
        items = self.workers.map(self._lookups, ranges(attribute, page.only[attribute], first, last))
        found = quarter_hours_of(page.only[attribute], chain.from_iterable(items))
        rest = (str(sealed_through.next), "") if sealed_through < span_.last else None
        for batch in self._from_partitions(page, span_, begin, (one for one in found if first <= one <= last)):
            yield batch if batch.behind else Batch(batch.events, rest)

    def _lookups(self, of_month: Range) -> list[Values]:
        return list(self.entities.read(of_month, LOOKUPS_A_PAGE))

    def _from_partitions(
        self,
        page: EventPage,
        span_: EventSpan,
        begin: tuple[QuarterHour, str],
        quarter_hours: Iterable[QuarterHour],
    ) -> Iterator[Batch]:
        """Yield the events in the ledger's partitions of rising quarter-hours, from a place to the end of the span."""
        shards = 0
        following = iter(quarter_hours)
        at = next(following, None)
        after = begin[1] if at == begin[0] else ""
        while at is not None:
            shards = shards or highest_shards(self.entities.client, self.entities.table)
            bounds = replace(span_.bounds, after=after)
            each = -(-page.items_to_read(EXAMINED_AT_ONCE) // shards)
            partitions = (Partition(at, shard) for shard in range(shards))
            requests = [events_request(self.ledger_table, partition, bounds, each) for partition in partitions]
            pages = [self._page(response, after) for response in self.workers.map(self._query, requests)]
            page.examined += sum(one.examined for one in pages)
            page.scanned += sum(one.scanned for one in pages)
            events, after = merge_pages(pages)
            if not after:
                at = next(following, None)
            yield Batch(events, (str(at), after) if at else None)

    def _query(self, request: Request) -> Any:  # noqa: ANN401 - boto3's own type is too narrow
        return with_retries(lambda: self.client.query(**request), "the Ledger table")

    def _page(self, response: Any, after: str) -> PartitionPage:  # noqa: ANN401 - boto3's own type is too narrow
        """Return the events of a response that are after a position."""
        last = response.get("LastEvaluatedKey")
        events = [posting for item in self.unarchive(response["Items"]) for posting in postings_of(item)]
        return PartitionPage(
            [event for event in events if position_of(event) > after],
            last["position"]["S"] if last else "",
            len(events),
            len(response["Items"]),
        )


def _through(first: QuarterHour, last: QuarterHour) -> Iterator[QuarterHour]:
    """Yield the quarter-hours from one to another."""
    while first <= last:
        yield first
        first = first.next


def _place_of(position: str) -> Place:
    """Return the place behind a position."""
    return str(quarter_hour_of(position)), position


def _rising(keys: Iterable[LedgerKey], after: str, low: str, end: str) -> Iterator[LedgerKey]:
    """Yield the keys from ``low`` to before ``end`` and after ``after``, each once: chunks can repeat keys.

    If ``after`` is the position of a whole item, all of its postings are before it.
    """
    shown = after if after == item_position(after) else ""
    for partition, position in keys:
        if position >= end:
            return
        if position > after and position >= low and item_position(position) != shown:
            yield partition, position
            after = position
