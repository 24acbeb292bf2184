"""Reading the ledger: events by identity, events of a span in the order of their positions, explanations."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Self

from quarterhour.aws.entity import CHECKPOINT_KEY, SHARDS_KEY
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.items import Item, Request, to_item
from quarterhour.aws.retries import with_retries
from quarterhour.aws.tables import get_item, get_items
from quarterhour.aws.workers import Workers
from quarterhour.documents.keys import rate_card_name, version_key
from quarterhour.ledger.explanation import Facts, card_version, explained
from quarterhour.ledger.source_index import Place, chunks_between, places_of
from quarterhour.model import clock
from quarterhour.model.clock import MILLISECOND, iso_millis
from quarterhour.model.errors import NotFoundError
from quarterhour.model.identifiers import Identity, Partition, Position
from quarterhour.model.instants import rounded_up
from quarterhour.model.quarter_hours import LENGTH, QuarterHour, span
from quarterhour.rate_cards.rate_card import RateCard, rate_card_of
from quarterhour.web.access import Caller
from quarterhour.web.paging import MAX_BYTES, Page, Paging, size_of, within

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PARTITIONS_A_PAGE: Final = 96
"""How many partitions a page looks into at the most, but one quarter-hour at the least."""
EVENTS_A_PAGE: Final = 1000
"""How many events a page that shows one agency looks at, about."""
CHUNKS_A_PAGE: Final = 10
"""How many chunks of a source's log are read at a time."""

_NOT_SHOWN: Final = frozenset({"schema", "quarter_hour"})


@dataclass(frozen=True, slots=True)
class Bounds:
    """From which position on, and before which, events are read; ``after`` is one to go on behind."""

    low: str
    high: str
    after: str = ""


def bounds(start: datetime, end: datetime) -> Bounds:
    """Return the bounds of what was recorded from the start to before the end."""
    return Bounds(*(iso_millis(rounded_up(at, MILLISECOND)) for at in (start, end)))


def events_request(table: str, partition: Partition, within_: Bounds, most: int) -> Request:
    """Build the Query that reads so many events of a partition, strongly consistent."""
    request = {
        "TableName": table,
        "KeyConditionExpression": "quarter_hour = :partition AND #position BETWEEN :low AND :high",
        "ExpressionAttributeNames": {"#position": "position"},
        "ExpressionAttributeValues": to_item(
            {":partition": str(partition), ":low": within_.low, ":high": within_.high}
        ),
        "ConsistentRead": True,
        "Limit": most,
    }
    if not within_.after:
        return request
    return {**request, "ExclusiveStartKey": to_item({"quarter_hour": str(partition), "position": within_.after})}


@dataclass(frozen=True, slots=True)
class Span:
    """What is asked for: from and before which position, and the first and the last quarter-hour that can hold any."""

    bounds: Bounds
    first: QuarterHour
    last: QuarterHour

    @classmethod
    def of(cls, start: datetime, end: datetime, now: datetime) -> Self:
        """Return the span from the start to before the end; nothing is recorded ahead of now."""
        last = min(QuarterHour.at(end - MILLISECOND), QuarterHour.at(now).next)
        return cls(bounds(start, end), QuarterHour.at(start), last)

    def place(self, name: str, after: str) -> tuple[QuarterHour, str]:
        """Read the place at which a page begins; raise ``ValueError`` where it is none of this span."""
        quarter_hour = within(self.first, QuarterHour.parse(name), self.last)
        if after and _quarter_hour_of(within(self.bounds.low, after, self.bounds.high)) != quarter_hour:
            raise ValueError(f"{after} is not in {quarter_hour}")
        return quarter_hour, after


@dataclass(frozen=True, slots=True)
class Answer:
    """A page of one partition, and the position up to which it tells all; empty where that is all there is."""

    items: Sequence[Item]
    known: str


def merged(answers: Sequence[Answer]) -> tuple[list[Item], str]:
    """Merge the pages of a quarter-hour's partitions, in the order of positions, as far as all of them are known.

    Returns the events, and the position up to which they are known; empty where they are all.
    """
    known = min((answer.known for answer in answers if answer.known), default="")
    items = (item for answer in answers for item in answer.items if not known or _position(item) <= known)
    return sorted(items, key=_position), known


def shown(item: Item) -> dict[str, str]:
    """Return an event as it is shown: what stands in the ledger, with the names of its receipt."""
    facts = {name: value["S"] for name, value in item.items() if name not in _NOT_SHOWN}
    return {"partition": item["quarter_hour"]["S"], **facts}


@dataclass(slots=True)
class Collected:
    """The events of a page while it is put together, at most so many, and not too large for an answer."""

    limit: int
    only: Mapping[str, str]
    looked_at: int = 0
    size: int = 0
    items: list[dict[str, Any]] = field(default_factory=list)

    def add(self, item: Item) -> None:
        """Take an event, where it is one of those that are asked for: those of an agency, or of a source."""
        self.looked_at += 1
        event = shown(item)
        if all(event[name] == value for name, value in self.only.items()):
            self.items.append(event)
            self.size += size_of(event)

    @property
    def most(self) -> int:
        """How many more events may be looked at."""
        return (EVENTS_A_PAGE if self.only else self.limit) - self.looked_at

    @property
    def full(self) -> bool:
        """Whether the page takes no more."""
        return len(self.items) >= self.limit or self.size >= MAX_BYTES or self.most <= 0


@dataclass(frozen=True, slots=True)
class EventLookup:
    """Finds recorded events by their identity."""

    client: "DynamoDBClient"
    identity_table: str
    ledger_table: str

    def find(self, identity: Identity) -> Facts | None:
        """Return the facts of an event; ``None`` where it is not in the ledger, or its identity has expired."""
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
        """Return the explanation of the first of these events that is recorded and that the caller may see.

        Raises ``NotFoundError`` where there is none.
        """
        for identity in identities:
            facts = self.events.find(identity)
            if facts and caller.may_see(facts["agency"]):
                return explained(facts, self._rate_card(facts))
        raise NotFoundError("there is no such event, or none that you may see")

    def _rate_card(self, facts: Facts) -> RateCard | None:
        version = card_version(facts)
        values = self.entities.get(version_key(rate_card_name(facts["agency"]), version)) if version else None
        return rate_card_of(values) if values else None


@dataclass(frozen=True, slots=True)
class LedgerQueries:
    """What readers ask of the ledger."""

    client: "DynamoDBClient"
    ledger_table: str
    entities: EntityReader
    workers: Workers

    def events(self, start: datetime, end: datetime, agency: str | None, paging: Paging) -> Page:
        """Return the events recorded from the start to before the end, of one agency or (``None``) of all.

        The work of a page is bounded, so it may be short, or empty, though others follow.
        """
        span_ = Span.of(start, end, clock.now())
        collected = Collected(paging.limit, {"agency": agency} if agency else {})
        return self._collect(span_, paging.start(span_.place, (span_.first, "")), collected)

    def of_source(self, source: str, start: datetime, end: datetime, paging: Paging) -> Page:
        """Return the events of one source recorded from the start to before the end.

        What is sealed is found by the source's log, at a cost that follows the source's own events; what came after is
        looked for in the ledger.
        """
        sealed_until = self._sealed_until()
        if sealed_until is None:
            return Page([])
        span_ = Span.of(start, end, clock.now())
        first, after = paging.start(span_.place, (span_.first, ""))
        collected = Collected(paging.limit, {"source": source})
        if first.start < sealed_until:
            # Where a page began behind all that was sealed, more may have been since: it is not begun anew.
            left = replace(span_.bounds, low=max(span_.bounds.low, iso_millis(first.start)), after=after)
            for item in self._logged(source, left, sealed_until, paging.limit + 1):
                if collected.full:
                    last = collected.items[-1]["position"]
                    return Page(collected.items, (str(_quarter_hour_of(last)), last))
                collected.add(item)
            first, after = QuarterHour.at(sealed_until), ""
            if collected.items or first > span_.last:
                return Page(collected.items, (str(first), "") if first <= span_.last else None)
        return self._collect(span_, (first, after), collected)

    def _logged(self, source: str, within_: Bounds, until: datetime, most: int) -> list[Item]:
        """Return the first events of a source that its log names, within bounds and before an instant."""
        end = min(within_.high, iso_millis(until))
        chunks = self.entities.read(chunks_between(source, within_.after or within_.low, end), CHUNKS_A_PAGE)
        places = (place for chunk in chunks for place in places_of(chunk))
        wanted = islice(_rising(places, within_.after, within_.low, end), most)
        keys = [{"quarter_hour": partition, "position": position} for partition, position in wanted]
        items = get_items(self.client, self.ledger_table, keys, self.workers)
        return sorted(items, key=_position)

    def _sealed_until(self) -> datetime | None:
        """Return up to when the ledger is sealed; ``None`` before the first event."""
        values = self.entities.get(CHECKPOINT_KEY)
        return QuarterHour.parse(values["sealed_through"]).end if values else None

    def _collect(self, span_: Span, begin: tuple[QuarterHour, str], page: Collected) -> Page:
        """Put a page together from the partitions themselves."""
        at, after = begin
        shards = self._shards()
        until = min(span_.last, QuarterHour(at.start + (max(1, PARTITIONS_A_PAGE // shards) - 1) * LENGTH))
        for quarter_hour in span(at, until):
            bounds_ = replace(span_.bounds, after=after if quarter_hour == at else "")
            items, known = self._quarter_hour(quarter_hour, shards, bounds_, page.most)
            for item in items:
                page.add(item)
                if page.full:
                    return Page(page.items, (str(quarter_hour), _position(item)))
            if known:
                return Page(page.items, (str(quarter_hour), known))
        return Page(page.items, (str(until.next), "") if until < span_.last else None)

    def _quarter_hour(
        self, quarter_hour: QuarterHour, shards: int, within_: Bounds, most: int
    ) -> tuple[list[Item], str]:
        """Read about so many events of a quarter-hour, from all of its partitions side by side."""
        each = -(-most // shards)
        requests = [
            events_request(self.ledger_table, Partition(quarter_hour, shard), within_, each) for shard in range(shards)
        ]
        return merged(self.workers.map(self._answer, requests))

    def _answer(self, request: Request) -> Answer:
        answer = with_retries(lambda: self.client.query(**request), "the Ledger table")
        last = answer.get("LastEvaluatedKey")
        return Answer(answer["Items"], last["position"]["S"] if last else "")

    def _shards(self) -> int:
        """Return the highest number of shards ever used, so that none is left out."""
        values = self.entities.get(SHARDS_KEY)
        return int(values["shards"]) if values else 1


def _position(item: Item) -> str:
    return str(item["position"]["S"])


def _quarter_hour_of(position: str) -> QuarterHour:
    return QuarterHour.at(Position.parse(position).recorded_at)


def _rising(places: Iterable[Place], after: str, low: str, end: str) -> Iterator[Place]:
    """Yield the places between two positions and behind one, each once; chunks can name the same."""
    for partition, position in places:
        if position >= end:
            return
        if position > after and position >= low:
            yield partition, position
            after = position
