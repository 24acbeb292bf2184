"""What a request for snapshots asks for, whatever kind of entity it is about."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from quarterhour import parameters
from quarterhour.parameters import DAY, INSTANT, MOMENT, PAGE, Parameters
from quarterhour.snapshots.queries import Layers, SnapshotQueries

_CHOICES: Final = {"from": ("from", "to", *PAGE), "at": ("at",), "last": ("last", "next"), "date": ("date", *PAGE)}
PARAMETERS: Final = ("layer", "from", "to", "at", "last", "date", *PAGE)
"""What a request for the states of an entity may name."""


def states(asked: Parameters, layers: Layers, snapshots: SnapshotQueries, find: Callable[[], str]) -> dict[str, Any]:
    """Return the states of an entity in a layer: of a span or a day, the last ones, or the one as of an instant.

    ``find`` returns the entity's partition key; it is called when the request is known to be sound.
    """
    layer = asked.required("layer", layers.expected, layers.named)
    match asked.choose(_CHOICES, "layer"):
        case "at":
            at = asked.required("at", INSTANT, parameters.instant)
            return snapshots.at(find(), layer, at)
        case "last":
            paging = asked.paging("last")
            return paging.body(snapshots.last(find(), layer, paging))
        case "date":
            start = asked.required("date", DAY, parameters.midnight)
            end = start + timedelta(days=1)
        case _:
            start, end = asked.span(MOMENT, parameters.moment)
    paging = asked.paging()
    return paging.body(snapshots.span(find(), layer, start, end, paging))
