"""The routes of the ledger: of recorded events, held events, and previews of re-ratings."""

from collections.abc import Callable
from datetime import datetime

from quarterhour.aws.resources import Resources
from quarterhour.ledger.held import routes as held
from quarterhour.ledger.postings.reading import Unarchive
from quarterhour.ledger.reading import routes as reading
from quarterhour.ledger.reading.queries import EventLookup, LedgerQueries
from quarterhour.ledger.reading.search import EventSearch
from quarterhour.ledger.recording.order_fee_store import OrderFeeStore
from quarterhour.ledger.rerating import routes as rerating
from quarterhour.ledger.rerating.queries import ReratingQueries
from quarterhour.model import clock
from quarterhour.model.periods import Period
from quarterhour.registry.documents.queries import DocumentQueries
from quarterhour.registry.settings.store import SettingsReader
from quarterhour.web.access import IsVisible, Search
from quarterhour.web.routing import Routes


def read(routes: Routes, resources: Resources, unarchive: Unarchive, began: Callable[[], datetime | None]) -> None:
    """Register the reading routes; ``began`` returns the start of the first sealed quarter-hour, if there is one."""
    ledger, settings = LedgerQueries.of(resources, unarchive, began), SettingsReader.of(resources)

    def first_period() -> Period | None:
        return settings.settings().calendars.at(clock.now()).first_period

    reading.read_spans(routes, ledger, first_period)
    reading.read_one(routes, resources, EventLookup.of(resources, unarchive), first_period)
    order_fees = OrderFeeStore(resources.dynamodb, resources.env.text("IDENTITY_TABLE"), resources.workers)
    rerating.read(routes, ReratingQueries(ledger, DocumentQueries(resources.entities), settings, order_fees))
    held.read(routes, resources)


def write(routes: Routes, resources: Resources) -> None:
    """Register the writing routes."""
    held.write(routes, resources)


def visibility(resources: Resources, unarchive: Unarchive) -> IsVisible:
    """Return the function that returns whether an event exists and is visible to a caller."""
    return EventLookup.of(resources, unarchive).is_visible


def search(resources: Resources, unarchive: Unarchive) -> Search:
    """Return the search for events."""
    return EventSearch(resources.entities, EventLookup.of(resources, unarchive), resources.workers).found
