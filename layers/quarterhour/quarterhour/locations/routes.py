"""The routes of the sales by place."""

from quarterhour.locations.keys import read_place
from quarterhour.locations.plan import MAX_LEVELS, levels
from quarterhour.locations.queries import LocationQueries
from quarterhour.model import fields, instants
from quarterhour.model.instants import DAY
from quarterhour.web import http, parameters
from quarterhour.web.access import staff
from quarterhour.web.parameters import PAGE
from quarterhour.web.routing import Routes


def read(routes: Routes, locations: LocationQueries) -> None:
    """Register the reading routes."""

    def sales(place: str) -> http.Response:
        query = routes.parameters()
        span = query.span(DAY, instants.day)
        least = max(1, levels(place))
        level = query.whole("level", least, MAX_LEVELS, least)
        paging = query.paging()
        return http.response(200, paging.body(locations.sales(place, level, span, paging)))

    @routes.get("/locations", allow=staff, query=("from", "to", "level", *PAGE))
    def sales_everywhere() -> http.Response:
        """Return the sales of each day, by country or by the places at a deeper level."""
        return sales("")

    @routes.get("/locations/<place>", allow=staff, query=("from", "to", "level", *PAGE))
    def sales_at_a_place(place: str) -> http.Response:
        """Return the sales of each day at a place and within it, in total or by the places at a deeper level."""
        return sales(parameters.parsed("place", parameters.decoded(place), fields.PLACE, read_place))
