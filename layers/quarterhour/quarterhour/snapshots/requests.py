"""Requests for snapshots and other listings in the order of time: their parameters, read and dispatched."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from quarterhour.model import instants
from quarterhour.model.instants import DAY
from quarterhour.snapshots.kind import NamedT_co, StateT_co
from quarterhour.snapshots.queries import Layers, SnapshotQueries
from quarterhour.web.paging import ItemT, Page, Paging
from quarterhour.web.parameters import INSTANT, MOMENT, PAGE, Parameters

if TYPE_CHECKING:
    from quarterhour.web import api

_LISTED: Final = {"from": ("from", "to", *PAGE), "last": ("last", "next"), "date": ("date", *PAGE)}
_CHOICES: Final = {"from": _LISTED["from"], "at": ("at",), **_LISTED}
LISTED: Final = ("from", "to", "last", "date", *PAGE)
"""The parameters of a listing in the order of time."""
PARAMETERS: Final = ("layer", "at", *LISTED)
"""The parameters of a request for the states of an entity."""

Span = Callable[[datetime, datetime, Paging], Page[ItemT]]
Last = Callable[[Paging], Page[ItemT]]


def states(
    query: Parameters, layers: Layers, snapshots: SnapshotQueries[StateT_co, NamedT_co, ItemT], find: Callable[[], str]
) -> "ItemT | api.Page[ItemT]":
    """Return the states of an entity in a layer: of a span or a day, the last ones, or the one as of an instant.

    ``find`` returns the entity's partition key; it is called only after the parameters were found valid.
    """
    layer = query.required("layer", layers.expected, layers.named)
    choice = query.choose(_CHOICES, "layer")
    if choice == "at":
        at = query.required("at", INSTANT, instants.instant)
        return snapshots.at(find(), layer, at)
    return _page(
        query,
        choice,
        lambda start, end, paging: snapshots.span(find(), layer, start, end, paging),
        lambda paging: snapshots.last(find(), layer, paging),
    )


def listed(query: Parameters, span: Span[ItemT], last: Last[ItemT]) -> "api.Page[ItemT]":
    """Return a page of a listing: of a span or a day in the order of time, or the last entries, newest first."""
    return _page(query, query.choose(_LISTED), span, last)


def _page(query: Parameters, choice: str, span: Span[ItemT], last: Last[ItemT]) -> "api.Page[ItemT]":
    match choice:
        case "last":
            paging = query.paging("last")
            return paging.body(last(paging))
        case "date":
            start = query.required("date", DAY, instants.midnight)
            end = start + timedelta(days=1)
        case _:
            start, end = query.span(MOMENT, instants.moment)
    paging = query.paging()
    return paging.body(span(start, end, paging))
