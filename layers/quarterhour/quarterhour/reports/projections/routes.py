"""The routes of sales: by location, and by product or category."""

from quarterhour.aws.resources import Resources
from quarterhour.model import fields, instants
from quarterhour.model.instants import DAY
from quarterhour.reports.projections.keys import read_location
from quarterhour.reports.projections.plan import MAX_LEVELS, levels
from quarterhour.reports.projections.products import MARKETPLACE, By
from quarterhour.reports.projections.queries import LocationQueries, ProductQueries
from quarterhour.web import http, parameters
from quarterhour.web.access import everyone, staff
from quarterhour.web.parameters import PAGE, one_of
from quarterhour.web.routing import Routes


def read(routes: Routes, resources: Resources) -> None:
    """Register the reading routes."""
    locations, products = LocationQueries(resources.entities), ProductQueries(resources.entities)

    @routes.get("/sales", allow=everyone, query=("from", "to", "by", "agency", *PAGE))
    def sales() -> http.Response:
        """Return the sales of each day by product, by category or in total: of an agency, or of the marketplace."""
        query = routes.parameters()
        span = query.span(DAY, instants.day)
        by = query.optional("by", one_of(By), By, By.PRODUCT)
        agency = routes.caller().requested_agency(query)
        paging = query.paging()
        return http.response(200, paging.body(products.sales(agency or MARKETPLACE, by, span, paging)))

    def sales_at(location: str) -> http.Response:
        query = routes.parameters()
        span = query.span(DAY, instants.day)
        least = max(1, levels(location))
        level = query.whole("level", least, MAX_LEVELS, least)
        paging = query.paging()
        return http.response(200, paging.body(locations.sales(location, level, span, paging)))

    @routes.get("/locations", allow=staff, query=("from", "to", "level", *PAGE))
    def sales_everywhere() -> http.Response:
        """Return the sales of each day, by country or by the locations at a deeper level."""
        return sales_at("")

    @routes.get("/locations/<location>", allow=staff, query=("from", "to", "level", *PAGE))
    def sales_within(location: str) -> http.Response:
        """Return the sales of each day at a location and within it, in total or by the locations at a deeper level."""
        return sales_at(parameters.parsed("location", parameters.decoded(location), fields.LOCATION, read_location))
