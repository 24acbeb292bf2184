"""Reading the ledger: the events recorded from one instant to another, in the order of their positions."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from quarterhour import aws, clock, control
from quarterhour.aws import Item, Request
from quarterhour.clock import iso_millis
from quarterhour.ledger.keys import Partition, Position
from quarterhour.paging import Page, Paging, within
from quarterhour.parameters import rounded_up
from quarterhour.quarters import LENGTH, Quarter, span
from quarterhour.reading import EntityReader

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PARTITIONS_A_PAGE: Final = 96
"""How many partitions a page looks into at the most, but one quarter-hour at the least."""
EVENTS_A_PAGE: Final = 1000
"""How many events a page that shows one agency looks at, about."""
BYTES_A_PAGE: Final = 4 << 20
"""How many bytes of events a page shows, about: Lambda answers 6 MB at the most."""

_ONE_MILLISECOND: Final = timedelta(milliseconds=1)
_NOT_SHOWN: Final = frozenset({"schema", "quarter_hour"})


@dataclass(frozen=True, slots=True)
class Bounds:
    """From which position on, and before which, events are read; ``after`` is one to go on behind."""

    low: str
    high: str
    after: str = ""


def bounds(start: datetime, end: datetime) -> Bounds:
    """Return the bounds of what was recorded from the start to before the end."""
    return Bounds(*(iso_millis(rounded_up(at, _ONE_MILLISECOND)) for at in (start, end)))


def events_request(table: str, partition: Partition, within_: Bounds, most: int) -> Request:
    """Build the Query that reads so many events of a partition, strongly consistent."""
    request = {
        "TableName": table,
        "KeyConditionExpression": "quarter_hour = :partition AND #position BETWEEN :low AND :high",
        "ExpressionAttributeNames": {"#position": "position"},
        "ExpressionAttributeValues": aws.to_item(
            {":partition": str(partition), ":low": within_.low, ":high": within_.high}
        ),
        "ConsistentRead": True,
        "Limit": most,
    }
    if not within_.after:
        return request
    return {**request, "ExclusiveStartKey": aws.to_item({"quarter_hour": str(partition), "position": within_.after})}


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
    agency: str | None
    looked_at: int = 0
    size: int = 0
    items: list[dict[str, Any]] = field(default_factory=list)

    def add(self, item: Item) -> None:
        """Take an event, where it is of the agency that is asked for."""
        self.looked_at += 1
        event = shown(item)
        if self.agency in {None, event["agency"]}:
            self.items.append(event)
            self.size += len(json.dumps(event))

    @property
    def most(self) -> int:
        """How many more events may be looked at."""
        return (self.limit if self.agency is None else EVENTS_A_PAGE) - self.looked_at

    @property
    def full(self) -> bool:
        """Whether the page takes no more."""
        return len(self.items) >= self.limit or self.size >= BYTES_A_PAGE or self.most <= 0


@dataclass(frozen=True, slots=True)
class LedgerQueries:
    """What readers ask of the ledger."""

    client: "DynamoDBClient"
    ledger_table: str
    entities: EntityReader
    workers: aws.Workers

    def events(self, start: datetime, end: datetime, agency: str | None, paging: Paging) -> Page:
        """Return the events recorded from the start to before the end, of one agency or (``None``) of all.

        The work of a page is bounded, so it may be short, or empty, though others follow.
        """
        whole = bounds(start, end)
        first, last = Quarter.at(start), min(Quarter.at(end - _ONE_MILLISECOND), Quarter.at(clock.now()).next)

        def place(name: str, after: str) -> tuple[Quarter, str]:
            quarter = within(first, Quarter.parse(name), last)
            if after and Quarter.at(Position.parse(within(whole.low, after, whole.high)).recorded_at) != quarter:
                raise ValueError(f"{after} is not in {quarter}")
            return quarter, after

        at, after = paging.start(place, (first, ""))
        shards = self._shards()
        page = Collected(paging.limit, agency)
        until = min(last, Quarter(at.start + (max(1, PARTITIONS_A_PAGE // shards) - 1) * LENGTH))
        for quarter in span(at, until):
            bounds_ = Bounds(whole.low, whole.high, after if quarter == at else "")
            items, known = self._quarter(quarter, shards, bounds_, page.most)
            for item in items:
                page.add(item)
                if page.full:
                    return Page(page.items, (str(quarter), _position(item)))
            if known:
                return Page(page.items, (str(quarter), known))
        return Page(page.items, (str(until.next), "") if until < last else None)

    def _quarter(self, quarter: Quarter, shards: int, within_: Bounds, most: int) -> tuple[list[Item], str]:
        """Read about so many events of a quarter-hour, from all of its partitions side by side."""
        each = -(-most // shards)
        requests = [
            events_request(self.ledger_table, Partition(quarter, shard), within_, each) for shard in range(shards)
        ]
        return merged(self.workers.map(self._answer, requests))

    def _answer(self, request: Request) -> Answer:
        answer = aws.persist(lambda: self.client.query(**request), "the Ledger table")
        last = answer.get("LastEvaluatedKey")
        return Answer(answer["Items"], last["position"]["S"] if last else "")

    def _shards(self) -> int:
        """Return the highest number of shards ever used, so that none is left out."""
        values = self.entities.get(control.SHARDS)
        return int(values["shards"]) if values else 1


def _position(item: Item) -> str:
    return str(item["position"]["S"])
