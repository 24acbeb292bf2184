"""The routes of the sales by location."""

from quarterhour.locations.keys import read_location
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

    def sales(location: str) -> http.Response:
        query = routes.parameters()
        span = query.span(DAY, instants.day)
        least = max(1, levels(location))
        level = query.whole("level", least, MAX_LEVELS, least)
        paging = query.paging()
        return http.response(200, paging.body(locations.sales(location, level, span, paging)))

    @routes.get("/locations", allow=staff, query=("from", "to", "level", *PAGE))
    def sales_everywhere() -> http.Response:
        """Return the sales of each day, by country or by the locations at a deeper level."""
        return sales("")

    @routes.get("/locations/<location>", allow=staff, query=("from", "to", "level", *PAGE))
    def sales_within(location: str) -> http.Response:
        """Return the sales of each day at a location and within it, in total or by the locations at a deeper level."""
        return sales(parameters.parsed("location", parameters.decoded(location), fields.LOCATION, read_location))
