"""The responses about what was sold, as types."""

from typing import NotRequired

from typing_extensions import TypedDict

from quarterhour.model.api import Currency, Day, Decimal, Instant, Location, SalesTotals


class CurrencyTotals(SalesTotals):
    """Totals of sales in one currency."""

    currency: Currency


class LocationSales(TypedDict):
    """The sales of a day at a location and the locations below it."""

    day: Day
    location: Location
    sales: list[CurrencyTotals]


class SoldTotals(CurrencyTotals):
    """Totals of events in one currency, with amounts of the events `sale.recorded` among them, or null."""

    lowest: Decimal | None
    highest: Decimal | None
    latest: Decimal | None
    """That of the sale with the last position in the ledger."""
    latest_at: Instant | None
    """When that sale was recorded."""


class Sold(TypedDict):
    """What was sold on a day: of a product, of a category, or in total."""

    day: Day
    product: NotRequired[str | None]
    """With `by=product`; null for events that name none."""
    category: NotRequired[str | None]
    """With `by=category`; null for events that name none."""
    others: NotRequired[bool | None]
    """True if it is what a run sold beyond the products that it names."""
    sales: list[SoldTotals]
