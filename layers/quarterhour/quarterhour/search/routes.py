"""The route of the search."""

from quarterhour.model.fields import TEXT
from quarterhour.search.queries import SearchQueries
from quarterhour.web import http, parameters
from quarterhour.web.access import everyone
from quarterhour.web.routing import Routes


def read(routes: Routes, queries: SearchQueries) -> None:
    """Register the reading route."""

    @routes.get("/search", allow=everyone, query=("q",))
    def search() -> http.Response:
        """Return the accounts, statements, events, orders and customers that a text names exactly."""
        text = routes.parameters().required("q", TEXT, parameters.text)
        return http.response(200, queries.search(text, routes.caller()))
