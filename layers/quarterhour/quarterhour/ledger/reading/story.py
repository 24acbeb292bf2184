"""The story of a sale, the pure part: the sale and everything that refers to it, with what is left after each entry."""

from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple

from quarterhour.ledger.events.event import ADJUSTMENT, RERATING
from quarterhour.ledger.postings.posting import Facts
from quarterhour.ledger.reading.event_pages import add_optional, shown_event
from quarterhour.model import money
from quarterhour.web.paging import Paging

if TYPE_CHECKING:
    from quarterhour.ledger.reading import api


class StoryEntry(NamedTuple):
    """An event of a story.

    ``changes``: how many events have changed the sale by then. ``left``: what is left of the sale's amount after it;
    ``None`` if there is no sale.
    """

    facts: Facts
    changes: int
    left: Decimal | None


def entries(first: StoryEntry, linked: Iterable[StoryEntry]) -> "list[api.StoryStep]":
    """Return an event and those that refer to it, in the order in which the ledger applied them.

    Each has the commission of all events so far (``commission_after``). Those of a sale also have what is left of its
    amount (``left_after``).
    """
    shown: list[api.StoryStep] = []
    commission = money.ZERO
    for entry in [first, *sorted(linked, key=_applied)]:
        commission = money.add(commission, Decimal(entry.facts["commission"]))
        shown.append(_shown(entry, commission))
    return shown


def _shown(entry: StoryEntry, commission: Decimal) -> "api.StoryStep":
    event = shown_event(entry.facts)
    step: api.StoryStep = {
        "partition": event["partition"],
        "position": event["position"],
        "recorded_at": event["recorded_at"],
        "source": event["source"],
        "id": event["id"],
        "type": event["type"],
        "agency": event["agency"],
        "currency": event["currency"],
        "amount": event["amount"],
        "commission_rate": event["commission_rate"],
        "commission": event["commission"],
        "commission_after": money.plain(commission),
    }
    add_optional(step, entry.facts)
    if entry.left is not None:
        step["left_after"] = money.plain(entry.left)
    return step


def _applied(entry: StoryEntry) -> tuple[int, bool, str, str]:
    """Return the sort key of a correction.

    Positions do not suffice: those of one millisecond sort by a hash, and a claim that moves gets a later one. But the
    sale counts its changes. Adjustments, which change nothing of it, come after the change that they found.
    """
    facts = entry.facts
    changes_nothing = facts["type"] == ADJUSTMENT and RERATING not in facts
    return entry.changes, changes_nothing, facts["recorded_at"], facts["position"]


def story_page(first: StoryEntry, linked: Iterable[StoryEntry], paging: Paging) -> "api.Story":
    """Return a page of a story: the first event, the figures after the last entry, and the page's entries."""
    all_entries = entries(first, linked)
    last = all_entries[-1]
    start = paging.start(int, 0)
    numbered = enumerate(all_entries[start:], start + 1)
    page = paging.cut(numbered, lambda one: one[1], lambda one: str(one[0]))
    body = paging.body(page)
    story: api.Story = {
        "source": first.facts["source"],
        "id": first.facts["id"],
        "agency": first.facts["agency"],
        "currency": first.facts["currency"],
        "commission": last["commission_after"],
        "items": body["items"],
        "next": body["next"],
    }
    if "left_after" in last:
        story["left"] = last["left_after"]
    return story
