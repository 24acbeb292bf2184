"""The route of an agency's rate cards; each rate card is a document."""

from typing import TYPE_CHECKING

from quarterhour.aws.entity import Values
from quarterhour.aws.resources import Resources
from quarterhour.model import clock, instants
from quarterhour.registry.agencies.queries import AgencyQueries
from quarterhour.registry.documents.plan import shown_version
from quarterhour.registry.documents.queries import DocumentQueries
from quarterhour.registry.rate_cards.queries import RateCardQueries
from quarterhour.registry.rate_cards.rate_card import rate_card_of
from quarterhour.web import http
from quarterhour.web.access import own_agency
from quarterhour.web.parameters import INSTANT
from quarterhour.web.routing import Routes, Spellings

if TYPE_CHECKING:
    from quarterhour.registry.rate_cards import api


def read(routes: Routes, resources: Resources) -> None:
    """Register the reading route."""
    rate_cards, documents = RateCardQueries(resources.entities), DocumentQueries(resources.entities)
    agencies = AgencyQueries(documents)

    @routes.get("/agencies/<agency>/rate-cards", allow=own_agency, query=("at",))
    def rate_cards_in_force(agency: Spellings) -> http.Response:
        """Return the rate cards in force for an agency, in the order of precedence: those that the caller may read."""
        now, caller = clock.now(), routes.caller()
        at = routes.parameters().optional("at", INSTANT, instants.instant, now)
        in_force = rate_cards.in_force(agencies.registered_name(agency), at, now)
        readable = [(document, values) for document, values in in_force if documents.may_read(document, caller)]
        shown: api.RateCardsInForce = {"items": [_shown(document, values) for document, values in readable]}
        return http.response(200, shown)


def _shown(document: str, values: Values) -> "api.RateCardInForce":
    return {**shown_version(document, values), "rules": [rule.as_dict() for rule in rate_card_of(values).rules]}
