"""The routes of the registry: documents, and the kinds of documents that have routes of their own."""

from collections.abc import Callable, Collection
from typing import Final

from quarterhour.aws.resources import Resources
from quarterhour.registry.agencies import routes as agencies
from quarterhour.registry.agencies.agency import AGENCIES
from quarterhour.registry.agencies.queries import AgencyQueries
from quarterhour.registry.documents import routes as documents
from quarterhour.registry.documents.queries import DocumentQueries
from quarterhour.registry.exchange_rates import routes as exchange_rates
from quarterhour.registry.owner import OWNERS
from quarterhour.registry.rate_cards import routes as rate_cards
from quarterhour.registry.rate_cards.rate_card import RATE_CARDS
from quarterhour.registry.reconciliation.result import RESULTS
from quarterhour.registry.settings import settings
from quarterhour.registry.settings.store import SettingsReader
from quarterhour.web.access import IsVisible
from quarterhour.web.routing import Routes

KINDS: Final = (AGENCIES, OWNERS, RATE_CARDS, RESULTS, settings.KIND)
"""The kinds of document whose content has a schema."""


def read(routes: Routes, resources: Resources) -> None:
    """Register the reading routes."""
    documents.read(routes, resources, KINDS)
    agencies.read(routes, resources)
    rate_cards.read(routes, resources)
    exchange_rates.read(routes, resources)


def write(routes: Routes, resources: Resources) -> None:
    """Register the writing routes."""
    settings_reader = SettingsReader.of(resources)
    documents.write(routes, resources, KINDS, lambda: settings_reader.settings().needs_two)
    agencies.write(routes, resources)
    exchange_rates.write(routes, resources)


def registered(resources: Resources) -> Callable[[Collection[str]], set[str]]:
    """Return the function that returns those of some agencies that are registered."""
    return AgencyQueries(DocumentQueries(resources.entities)).registered_among


def visibility(resources: Resources) -> IsVisible:
    """Return the function that returns whether a registered agency exists and is visible to a caller."""
    return AgencyQueries(DocumentQueries(resources.entities)).is_visible
