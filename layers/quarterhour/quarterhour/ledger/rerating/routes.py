"""The routes of the previews of re-ratings."""

from quarterhour.ledger.rerating.queries import ReratingQueries
from quarterhour.ledger.rerating.requests import RERATING, effect_request, preview_request
from quarterhour.web import http
from quarterhour.web.access import Role, people
from quarterhour.web.routing import Routes


def read(routes: Routes, reratings: ReratingQueries) -> None:
    """Register the routes of the previews of re-ratings."""

    @routes.get("/rerating", allow=people(Role.FINANCE), query=RERATING)
    def preview() -> http.Response:
        """Return what the events of a span would be charged by another rate card, and the events that apply it."""
        request = preview_request(routes.parameters())
        return http.response(200, reratings.preview(request, routes.caller(), routes.seconds_left))

    @routes.post("/rerating", allow=people(Role.FINANCE))
    def effect() -> http.Response:
        """Return what the events of a span would be charged by a rate card that is not written yet."""
        request = effect_request(routes.body())
        return http.response(200, reratings.effect(request, routes.caller(), routes.seconds_left))
