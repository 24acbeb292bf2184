"""What a request for snapshots asks for, whatever kind of entity it is about."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final

from quarterhour.model import instants
from quarterhour.model.instants import DAY
from quarterhour.snapshots.queries import Layers, SnapshotQueries
from quarterhour.web.paging import Page, Paging
from quarterhour.web.parameters import INSTANT, MOMENT, PAGE, Parameters

_LISTED: Final = {"from": ("from", "to", *PAGE), "last": ("last", "next"), "date": ("date", *PAGE)}
_CHOICES: Final = {"from": _LISTED["from"], "at": ("at",), **_LISTED}
LISTED: Final = ("from", "to", "last", "date", *PAGE)
"""What a request for a listing in the order of time may name."""
PARAMETERS: Final = ("layer", "at", *LISTED)
"""What a request for the states of an entity may name."""

Span = Callable[[datetime, datetime, Paging], Page]
Last = Callable[[Paging], Page]


def states(asked: Parameters, layers: Layers, snapshots: SnapshotQueries, find: Callable[[], str]) -> dict[str, Any]:
    """Return the states of an entity in a layer: of a span or a day, the last ones, or the one as of an instant.

    ``find`` returns the entity's partition key; it is called when the request is known to be sound.
    """
    layer = asked.required("layer", layers.expected, layers.named)
    choice = asked.choose(_CHOICES, "layer")
    if choice == "at":
        at = asked.required("at", INSTANT, instants.instant)
        return snapshots.at(find(), layer, at)
    return _page(
        asked,
        choice,
        lambda start, end, paging: snapshots.span(find(), layer, start, end, paging),
        lambda paging: snapshots.last(find(), layer, paging),
    )


def listed(asked: Parameters, span: Span, last: Last) -> dict[str, Any]:
    """Return a page of a listing in the order of time: of a span or a day, or the last ones, the newest first."""
    return _page(asked, asked.choose(_LISTED), span, last)


def _page(asked: Parameters, choice: str, span: Span, last: Last) -> dict[str, Any]:
    match choice:
        case "last":
            paging = asked.paging("last")
            return paging.body(last(paging))
        case "date":
            start = asked.required("date", DAY, instants.midnight)
            end = start + timedelta(days=1)
        case _:
            start, end = asked.span(MOMENT, instants.moment)
    paging = asked.paging()
    return paging.body(span(start, end, paging))
