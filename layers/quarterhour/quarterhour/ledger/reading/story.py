"""The story of a sale, the pure part: the sale and everything that refers to it, with what is left after each entry."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Final, NamedTuple

from quarterhour.ledger.events.event import REFUND, VOID
from quarterhour.ledger.postings.posting import Facts
from quarterhour.ledger.reading.event_pages import shown_event
from quarterhour.model import money
from quarterhour.web.paging import Paging

_SUMMARY: Final = ("source", "id", "agency", "currency")
_REVERSALS: Final = frozenset({REFUND, VOID})


class StoryEntry(NamedTuple):
    """An event of a story. ``left``: what is left of the sale's amount after it; ``None`` if there is no sale."""

    facts: Facts
    left: Decimal | None


def entries(first: StoryEntry, linked: Iterable[StoryEntry]) -> list[dict[str, Any]]:
    """Return an event and those that refer to it, in the order in which the ledger applied them.

    Each has the commission of all events so far (``commission_after``). Those of a sale also have what is left of its
    amount (``left_after``).
    """
    shown = []
    commission = money.ZERO
    for entry in [first, *sorted(linked, key=_applied)]:
        commission = money.add(commission, Decimal(entry.facts["commission"]))
        left_after = {} if entry.left is None else {"left_after": money.plain(entry.left)}
        shown.append({**shown_event(entry.facts), **left_after, "commission_after": money.plain(commission)})
    return shown


def _applied(entry: StoryEntry) -> tuple[Decimal, bool, str, bool, str]:
    """Return the sort key of a correction.

    Positions do not suffice: those of one millisecond sort by a hash, and a claim that moves gets a later one. But what
    is left of a sale never grows. Of corrections that leave the same, the one that reduced the sale to it was first.
    """
    facts = entry.facts
    reduces = facts["type"] in _REVERSALS and not Decimal(facts["amount"]).is_zero()
    taken = money.ZERO if entry.left is None else money.negated(entry.left)
    return taken, not reduces, facts["recorded_at"], facts["type"] == VOID, facts["position"]


def story_page(first: StoryEntry, linked: Iterable[StoryEntry], paging: Paging) -> dict[str, Any]:
    """Return a page of a story: the first event, the figures after the last entry, and the page's entries."""
    all_entries = entries(first, linked)
    last = all_entries[-1]
    start = paging.start(int, 0)
    numbered = enumerate(all_entries[start:], start + 1)
    page = paging.cut(numbered, lambda one: one[1], lambda one: str(one[0]))
    summary = {name: first.facts[name] for name in _SUMMARY}
    figures = {name.removesuffix("_after"): last[name] for name in ("left_after", "commission_after") if name in last}
    return {**summary, **figures, **paging.body(page)}
