"""The route of the search."""

from collections.abc import Sequence
from typing import Final

from quarterhour.model.fields import TEXT
from quarterhour.web import http, parameters
from quarterhour.web.access import Search, everyone
from quarterhour.web.routing import Routes

MOST: Final = 20
"""The most results of a kind."""


def read(routes: Routes, searches: Sequence[Search]) -> None:
    """Register the reading route. Each search looks up its kinds by keys, at a cost that does not grow."""

    @routes.get("/search", allow=everyone, query=("q",))
    def search() -> http.Response:
        """Return the accounts, statements, events, orders and customers that a text names exactly."""
        text, caller = routes.parameters().required("q", TEXT, parameters.text), routes.caller()
        found = (by_room(text, caller, MOST).items() for by_room in searches)
        return http.response(200, {kind: results for some in found for kind, results in some})
