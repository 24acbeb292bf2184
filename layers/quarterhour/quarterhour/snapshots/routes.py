"""The route of the windows: all accounts, or exchange rates, that changed in one."""

from collections.abc import Mapping
from typing import Final

from quarterhour.aws.resources import Resources
from quarterhour.model import instants
from quarterhour.snapshots.kind import EntityKind
from quarterhour.snapshots.layers import LAYERS
from quarterhour.snapshots.queries import Layers, SnapshotQueries
from quarterhour.web import http, parameters
from quarterhour.web.access import staff
from quarterhour.web.parameters import MOMENT, PAGE, among, one_of
from quarterhour.web.routing import Routes

_Shown = Mapping[str, object]

ACCOUNTS: Final = "accounts"
"""The kind of states that a window shows if the request names none."""


def read(routes: Routes, resources: Resources, states: Mapping[str, EntityKind[_Shown, _Shown, _Shown]]) -> None:
    """Register the reading route; ``states`` are the kinds of states by name, ``ACCOUNTS`` among them."""
    layers = Layers(LAYERS)
    kinds = {name: SnapshotQueries(resources.entities, kind) for name, kind in states.items()}

    @routes.get("/windows/<layer>/<start>", allow=staff, query=("kind", *PAGE))
    def window(layer: str, start: str) -> http.Response:
        """Return all accounts, or exchange rates, that changed in a window, with their states at its end."""
        query = routes.parameters()
        name = parameters.decoded(layer)
        with_windows = parameters.parsed("layer", name, layers.expected_windows, layers.with_windows)
        at = parameters.parsed("start", parameters.decoded(start), MOMENT, instants.moment)
        kind = query.optional("kind", one_of(kinds), lambda kind: among(kinds, kind), kinds[ACCOUNTS])
        paging = query.paging()
        return http.response(200, kind.window(with_windows, at, paging, routes.seconds_left))
