"""The story of a sale, the pure part: the sale and everything that refers to it, with what is left after each step."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Final

from quarterhour.ledger.event import REFUND, SALE, VOID
from quarterhour.ledger.event_pages import shown_event
from quarterhour.ledger.explanation import Facts
from quarterhour.model import money
from quarterhour.web.paging import Paging

_SUMMARY: Final = ("source", "id", "agency", "currency")
_REVERSALS: Final = frozenset({REFUND, VOID})


def steps(first: Facts, linked: Iterable[Facts]) -> list[dict[str, Any]]:
    """Return an event and those that refer to it, in the order of recording.

    Each has the commission of all events so far (``commission_after``). Those of a sale also have what is left of its
    amount (``left_after``).
    """
    left, commission = Decimal(first["amount"]), Decimal(first["commission"])
    shown = [_step(first, first, left, commission)]
    for facts in sorted(linked, key=lambda facts: facts["position"]):
        commission = money.add(commission, Decimal(facts["commission"]))
        if facts["type"] in _REVERSALS:
            left = money.add(left, Decimal(facts["amount"]))
        shown.append(_step(first, facts, left, commission))
    return shown


def story_page(first: Facts, linked: Iterable[Facts], paging: Paging) -> dict[str, Any]:
    """Return a page of a story: the first event, the figures after the last step, and the page's steps."""
    all_steps = steps(first, linked)
    last = all_steps[-1]
    start = paging.start(int, 0)
    numbered = enumerate(all_steps[start:], start + 1)
    page = paging.cut(numbered, lambda step: step[1], lambda step: str(step[0]))
    summary = {name: first[name] for name in _SUMMARY}
    figures = {name.removesuffix("_after"): last[name] for name in ("left_after", "commission_after") if name in last}
    return {**summary, **figures, **paging.body(page)}


def _step(first: Facts, facts: Facts, left: Decimal, commission: Decimal) -> dict[str, Any]:
    shown = shown_event(facts)
    if first["type"] == SALE:
        shown["left_after"] = money.plain(left)
    return {**shown, "commission_after": money.plain(commission)}
