"""Reads orders: one with its items, a customer's orders by date and items by product, the queue of a status."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Self

from quarterhour.aws.entity import IndexRange, Range, Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.resources import Resources
from quarterhour.customers.tokens import CustomerNames, TokenOf
from quarterhour.ledger.events.billed import MAX_ITEMS
from quarterhour.model import clock
from quarterhour.model.clock import MILLISECOND, iso_millis
from quarterhour.model.errors import NotFoundError
from quarterhour.model.fields import is_name, shown
from quarterhour.model.instants import ALWAYS, instant, rounded_up
from quarterhour.orders.keys import (
    HEADER,
    customer_item_bounds,
    customer_pk,
    header_key,
    item_sk,
    order_pk,
    placed_sk,
    queue_partitions,
    queue_sk,
)
from quarterhour.orders.plan import INDEX_LAG, OrderHeader, found_order, shown_customer_item, shown_item, shown_order
from quarterhour.web.access import Caller
from quarterhour.web.paging import ItemT, Page, Paging, within

if TYPE_CHECKING:
    from quarterhour.orders import api
    from quarterhour.orders.api import FoundOrders


@dataclass(frozen=True, slots=True)
class OrderQueries:
    """Queries of the orders. ``orders`` and ``customers`` are the spellings that one name can have."""

    entities: EntityReader
    token_of: TokenOf

    @classmethod
    def of(cls, resources: Resources) -> Self:
        """Return the queries of a function."""
        return cls(resources.entities, CustomerNames.of(resources).token_of)

    def order(self, orders: Sequence[str], paging: Paging) -> "api.OrderWithItems":
        """Return the first order that exists, with a page of its items; raise ``NotFoundError`` if none does."""
        for order in orders:
            header = self._header(order)
            if header:
                return {**shown_order(header), **paging.body(self._items(order, paging))}
        raise NotFoundError(f"there is no order {shown(orders[0])}")

    def is_visible(self, order: str, caller: Caller) -> bool:
        """Return whether an order exists; only for the marketplace, as its items can be of several agencies."""
        return caller.is_of_marketplace and is_name(order) and self._header(order) is not None

    def found(self, text: str, caller: Caller, _most: int) -> "FoundOrders":
        """Return the order and the customer that a text names; only for the marketplace."""
        if not (caller.is_of_marketplace and is_name(text)):
            return {"orders": [], "customers": []}
        order = self._header(text)
        bought = self.of_customer([text], *ALWAYS, Paging(1, "")).items
        return {
            "orders": [found_order(order)] if order else [],
            "customers": [{"customer": text}] if bought else [],
        }

    def _header(self, order: str) -> OrderHeader | None:
        """Return the header of an order that is complete; ``None`` if there is none."""
        values = self.entities.get(header_key(order))
        header = OrderHeader.of(values) if values else None
        return header if header and header.is_complete else None

    def _items(self, order: str, paging: Paging) -> "Page[api.OrderItem]":
        low, high = item_sk(1), item_sk(MAX_ITEMS)
        after = paging.start(lambda sk: within(low, sk, high), None)
        # Strongly consistent: all items were written before the header was complete.
        items = Range(order_pk(order), low, high, after=after, consistent=True)
        return paging.cut(self.entities.read(items, paging.limit + 1), shown_item, lambda item: item["sk"])

    def of_customer(
        self, customers: Sequence[str], start: datetime, end: datetime, paging: Paging
    ) -> "Page[api.Order]":
        """Return a page of a customer's orders placed from ``start`` to before ``end``, the oldest first."""
        low, high = (placed_sk(iso_millis(rounded_up(at, MILLISECOND))) for at in (start, end))

        def read(customer: str) -> "Page[api.Order]":
            return self._page("gsi1", [customer_pk(self.token_of(customer))], low, high, paging)

        return _first(customers, read)

    def queue(self, status: str, start: datetime, end: datetime, paging: Paging) -> "Page[api.Order]":
        """Return a page of the orders in a status, placed from ``start`` to before ``end``, the oldest first."""
        low, high = (queue_sk(iso_millis(rounded_up(at, MILLISECOND))) for at in (start, end))
        return self._page("gsi2", queue_partitions(status), low, high, paging)

    def _page(self, index: str, partitions: Sequence[str], low: str, high: str, paging: Paging) -> "Page[api.Order]":
        """Return a page of the orders in some partitions of an index, merged by their sort keys."""
        sk = f"{index}sk"
        after = paging.start(lambda sort_key: within(low, sort_key, high), low)
        each = -(-(paging.limit + 2) // len(partitions))
        ranges = [IndexRange(index, pk, after, high) for pk in partitions]
        entries = (entry for entry in self.entities.read_indexes(ranges, each) if entry[sk] > after)
        return paging.cut(entries, lambda entry: shown_order(OrderHeader.of(entry)), lambda entry: str(entry[sk]))

    def items_of_customer(
        self, customers: Sequence[str], product: str | None, paging: Paging
    ) -> "Page[api.BoughtItem]":
        """Return a page of a customer's items, of one product or (``None``) of all, ordered by product and instant.

        It holds orders that were complete a moment before the first page was read. So the pages together show each
        order whole, or not at all.
        """
        low, high = customer_item_bounds(product)
        by, after = paging.start(
            lambda by, sk: (iso_millis(instant(by)), within(low, sk, high)),
            (iso_millis(clock.now() - INDEX_LAG), low),
        )

        def read(customer: str) -> "Page[api.BoughtItem]":
            items = IndexRange("gsi1", customer_pk(self.token_of(customer)), after, high)
            entries = (entry for entry in self.entities.read_index(items, paging.limit + 2) if entry["gsi1sk"] > after)
            complete = self._of_complete_orders(entries, by, paging.limit + 1)
            page = paging.cut(complete, shown_customer_item, lambda entry: entry["gsi1sk"])
            return Page(page.items, page.after and (by, *page.after))

        return _first(customers, read)

    def _of_complete_orders(self, entries: Iterator[Values], by: str, at_once: int) -> Iterator[Values]:
        """Yield the items whose order was complete by an instant, as its header shows."""
        while some := list(islice(entries, at_once)):
            keys = {entry["pk"]: {"pk": entry["pk"], "sk": HEADER} for entry in some}
            headers = self.entities.get_many(list(keys.values()))
            complete = {header["pk"] for header in headers if OrderHeader.of(header).was_complete(by)}
            yield from (entry for entry in some if entry["pk"] in complete)


def _first(names: Sequence[str], read: Callable[[str], Page[ItemT]]) -> Page[ItemT]:
    """Return the page of the first name that has items; an empty page if none has."""
    pages = (read(name) for name in names)
    return next((page for page in pages if page.items), Page([]))
