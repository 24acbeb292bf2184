"""Pages of ledger events, the pure part: spans of positions, merging partitions, filters, and the limits of a page."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final, Self

from quarterhour.ledger.events.event import PARTS, RERATING, Rerating
from quarterhour.ledger.postings.posting import LACKS
from quarterhour.ledger.postings.segments import PostingValues
from quarterhour.model.clock import MILLISECOND, iso_millis
from quarterhour.model.identifiers import Position, item_position
from quarterhour.model.instants import rounded_up
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.web.paging import MAX_BYTES, size_of, within

if TYPE_CHECKING:
    from quarterhour.ledger.reading import api

EXAMINED_AT_ONCE: Final = 10_000
"""How many events a filtered page examines at most in one read of the ledger's partitions."""
FETCHED_AT_ONCE: Final = 250
"""How many events a filtered page fetches at most by the keys of an index: each can be in another segment."""
POSTINGS_AN_ITEM: Final = 10
"""How many postings an item of the ledger is thought to hold until some are read."""

_OPTIONAL: Final = (
    "time",
    "terms",
    "arithmetic",
    "product",
    "quantity",
    "unit_price",
    "customer",
    "order_id",
    "line",
    "location",
    "refers_to",
    "extra",
    "attributes",
    "recorded_by",
    "approved_by",
    "category",
    "refers_to_source",
    "reason",
    "kind",
    "period",
    "prior_period",
    "tax_point",
    "statement",
    *PARTS,
    LACKS,
    "charges",
)
"""The attributes that an event need not have."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The positions to read: from ``low`` to before ``high``, and only those after ``after`` if it is not empty.

    ``after`` is the position of a posting or of an item, which stands for all its postings.
    """

    low: str
    high: str
    after: str = ""


def bounds(start: datetime, end: datetime) -> Bounds:
    """Return the bounds of the events recorded from the start to before the end."""
    return Bounds(*(iso_millis(rounded_up(at, MILLISECOND)) for at in (start, end)))


@dataclass(frozen=True, slots=True)
class EventSpan:
    """The bounds of a query, with the first and the last quarter-hour that can hold events within them."""

    bounds: Bounds
    first: QuarterHour
    last: QuarterHour

    @classmethod
    def of(cls, start: datetime, end: datetime, now: datetime) -> Self:
        """Return the span from the start to before the end. It ends with the current time, as later events are none."""
        last = min(QuarterHour.at(end - MILLISECOND), QuarterHour.at(now).next)
        return cls(bounds(start, end), QuarterHour.at(start), last)

    def place(self, name: str, after: str) -> tuple[QuarterHour, str]:
        """Return where a page begins: a quarter-hour and the position after which to continue.

        Raises ``ValueError`` for a place outside this span.
        """
        quarter_hour = within(self.first, QuarterHour.parse(name), self.last)
        if after and quarter_hour_of(within(self.bounds.low, after, self.bounds.high)) != quarter_hour:
            raise ValueError(f"{after} is not in {quarter_hour}")
        return quarter_hour, after


@dataclass(frozen=True, slots=True)
class PartitionPage:
    """Events of one partition, and the last item up to which they are complete; empty at the partition's end.

    ``examined``: how many events were read for them. ``scanned``: of how many items.
    """

    events: Sequence[PostingValues]
    complete_through: str
    examined: int
    scanned: int


Place = tuple[str, ...]
"""Where the next page begins: a quarter-hour and a position; see ``EventSpan.place``."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Events that one read found, in the order of positions, and the place behind all that the read examined."""

    events: Sequence[PostingValues]
    behind: Place | None


def merge_pages(pages: Sequence[PartitionPage]) -> tuple[list[PostingValues], str]:
    """Merge the pages of a quarter-hour's partitions in the order of positions.

    Returns the events up to the item through which every page is complete, and its position. It is empty if all pages
    reach the end of their partition.
    """
    complete_through = min((page.complete_through for page in pages if page.complete_through), default="")
    events = (
        event
        for page in pages
        for event in page.events
        if not complete_through or item_position(event["position"]) <= complete_through
    )
    return sorted(events, key=position_of), complete_through


def shown_event(facts: Mapping[str, str]) -> "api.Event":
    """Return an event as the API shows it: its ledger attributes, under the names of its receipt."""
    event: api.Event = {
        "partition": facts["quarter_hour"],
        "position": facts["position"],
        "recorded_at": facts["recorded_at"],
        "source": facts["source"],
        "id": facts["id"],
        "type": facts["type"],
        "agency": facts["agency"],
        "currency": facts["currency"],
        "amount": facts["amount"],
        "commission_rate": facts["commission_rate"],
        "commission": facts["commission"],
    }
    add_optional(event, facts)
    return event


def add_optional(event: "api.Event", facts: Mapping[str, str]) -> None:
    """Add to a shown event what its facts have of the attributes that an event need not have."""
    for name in _OPTIONAL:
        if name in facts:
            event[name] = facts[name]
    if RERATING in facts:
        event["rerating"] = Rerating.parse(facts[RERATING]).as_dict()


@dataclass(slots=True)
class EventPage:
    """A page of events under construction, limited in its events and its bytes.

    ``only``: the attributes that an event must have to be on the page, such as its agency or its source. ``seen``
    returns the facts of an event as the reader may see them.
    """

    limit: int
    only: Mapping[str, str]
    seen: Callable[[Mapping[str, str]], Mapping[str, str]]
    examined: int = 0
    scanned: int = 0
    size: int = 0
    items: "list[api.Event]" = field(default_factory=list)

    def add(self, facts: PostingValues) -> None:
        """Add an event, if it matches."""
        if all(facts.get(name) == value for name, value in self.only.items()):
            event = shown_event(self.seen(facts))
            self.items.append(event)
            self.size += size_of(event)

    def to_examine(self, most: int) -> int:
        """Return how many events to read next: those that the page lacks.

        A filtered page reads at least as many as before, up to ``most``: so it examines at most about twice the events
        that it needs, in few reads.
        """
        lacking = self.limit - len(self.items)
        return max(lacking, min(self.examined, most)) if self.only else lacking

    def items_to_read(self, most: int) -> int:
        """Return how many items to read next for the events ``to_examine``, by those that were read so far."""
        an_item = self.examined // self.scanned if self.scanned else POSTINGS_AN_ITEM
        return -(-self.to_examine(most) // max(1, an_item))

    @property
    def full(self) -> bool:
        """Whether the page has reached one of its limits."""
        return len(self.items) >= self.limit or self.size >= MAX_BYTES


def position_of(event: PostingValues) -> str:
    """Return the position of an event."""
    return event["position"]


def quarter_hour_of(position: str) -> QuarterHour:
    """Return the quarter-hour of a position; raise ``ValueError`` if the text is no position."""
    return QuarterHour.at(Position.parse(position).recorded_at)
