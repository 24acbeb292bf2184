"""The map of WooCommerce's webhooks: orders and their refunds as events.

Payloads: https://woocommerce.github.io/woocommerce-rest-api-docs/#webhooks and ``#order-properties`` there. A payload
is known by its form, not by its topic:

- an order (``order.created``, ``order.updated``, ``order.restored``): a sale for each item of an order that is paid,
  and a refund for each of ``refunds``. These have their total alone, and no time: a refund is shared by what the items
  cost of the order's total, and counts when it is recorded. An order that is cancelled, or failed, after it was paid is
  voided.
- a refund that was deleted (the topic "Action" with ``woocommerce_refund_deleted``): its void.
- a deleted order (``order.deleted``), of which WooCommerce sends the id alone: nothing. Cancel it before you delete it.

The sales are those of the export file with one row per item (``file_formats/csv/maps/woocommerce_items.toml``).
"""

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from quarterhour.file_formats.webhooks.delivery import Delivery, Excluded, Mapped, MapSettings
from quarterhour.file_formats.webhooks.payload import (
    PAID,
    LeftOut,
    PayloadError,
    agency_in,
    amount_of,
    currency_of,
    event,
    id_of,
    object_of,
    objects,
    plain,
    shares,
    state_of,
    text_of,
    time_of,
)
from quarterhour.ledger.events.event import REFUND, SALE, VOID
from quarterhour.model import money
from quarterhour.model.fields import shown

SOURCE: Final = "woocommerce"
"""The source of the export file's events."""
_STATES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("completed", "processing", "refunded"), PAID),
    **dict.fromkeys(("pending", "on-hold", "checkout-draft", "auto-draft", "draft"), "not paid"),
    "failed": "failed",
    **dict.fromkeys(("cancelled", "trash"), "cancelled"),
}
_TAKEN_BACK: Final = frozenset({"failed", "cancelled"})
"""The rules of the statuses that take back the sales of an order that was paid."""
_ON_DELIVERY: Final = "cod"
"""The way of paying by which an order is a sale before it is paid."""
_DELETED: Final = "woocommerce_refund_deleted"


def events_of(delivery: Delivery) -> Mapped:
    """Return the events of an order, or of a refund that was deleted; raise ``PayloadError`` if they cannot be read."""
    payload, settings = object_of(delivery.payload), delivery.settings
    source = settings.source or SOURCE
    if "action" in payload:
        return _action(payload, source, settings)
    if "line_items" in payload and "status" in payload:
        return _Order(payload, source, settings).mapped()
    if payload.keys() == {"id"}:
        return Mapped(excluded=[Excluded("deleted orders")])
    raise PayloadError("the payload is no order and no deleted refund")


def _action(payload: Mapping[str, Any], source: str, settings: MapSettings) -> Mapped:
    """Return the void of a refund that was deleted: of its id alone, which is all that WooCommerce sends."""
    if payload.get("action") != _DELETED:
        return Mapped(excluded=[Excluded("other actions")])
    refund = f"refund:{id_of(payload.get('arg'), 'arg')}"
    data = {"refers_to": refund, "reason": "the refund was deleted"}
    return Mapped([event((source, f"{refund}:undone"), VOID, settings.agency.fixed, "", data)])


class _Order:
    """An order, of which each item is a sale, and its refunds."""

    def __init__(self, order: Mapping[str, Any], source: str, settings: MapSettings) -> None:
        self._order, self._source, self._settings = order, source, settings
        self._number = (text_of(order.get("number")) or id_of(order.get("id"), "id")).removeprefix("#")
        self._currency = currency_of(order.get("currency"), "currency")
        self._total = amount_of(order.get("total"), "total")
        self._left_out = LeftOut()

    def mapped(self) -> Mapped:
        """Return the sales of a paid order and its refunds; the sales and their voids if they were taken back."""
        status = text_of(self._order.get("status")).removeprefix("wc-")
        rule = state_of(self._settings.map, status) or _STATES.get(status)
        if rule is None:
            raise PayloadError(f"the status is {shown(self._order.get('status'))}, which is not known")
        if rule != PAID and not (rule in _TAKEN_BACK and self._was_sold()):
            return Mapped(excluded=[Excluded(rule, {self._currency: self._total})])
        at = self._time(self._order, "date_created")
        sales = self._sales(at)
        if rule != PAID:
            return Mapped(sales + [self._void(one, rule) for one in sales], self._left_out.all())
        return Mapped(sales + self._refunds(sales), self._left_out.all())

    def _was_sold(self) -> bool:
        return bool(text_of(self._order.get("date_paid_gmt"))) or self._order.get("payment_method") == _ON_DELIVERY

    @staticmethod
    def _time(of: Mapping[str, Any], name: str) -> str:
        """Return the time of a field in UTC, which is written without an offset."""
        return time_of(f"{text_of(of.get(f'{name}_gmt'))}Z", f"{name}_gmt")

    def _sales(self, at: str) -> list[dict[str, Any]]:
        items = objects(self._order["line_items"], "line_items")
        prices = [amount_of(one.get("total"), "total") for one in items]
        if any(one < 0 for one in prices):
            raise PayloadError("an item has a total below 0")
        shipping = self._shipping(prices)
        return [
            event(
                (self._source, f"{self._number}:{id_of(item.get('id'), 'id')}"),
                SALE,
                agency_in(self._settings.agency, item, self._order),
                at,
                self._data(item, price, of_shipping)
                | {
                    "order_id": self._number,
                    "line": id_of(item.get("id"), "id"),
                    "product": text_of(item.get("sku")),
                },
            )
            for item, price, of_shipping in zip(items, prices, shipping, strict=True)
        ]

    def _shipping(self, prices: list[Decimal]) -> list[tuple[Decimal, Decimal]]:
        """Return the shares of items in the shipping and its tax; leave out what is in no amount."""
        lines = objects(self._order.get("shipping_lines"), "shipping_lines")
        shipping = money.total(amount_of(one.get("total"), "total") for one in lines)
        tax = money.total(amount_of(one.get("total_tax") or "0", "total_tax") for one in lines)
        fees = objects(self._order.get("fee_lines"), "fee_lines")
        self._left_out.add("fees", money.total(amount_of(one.get("total"), "total") for one in fees), self._currency)
        is_in = self._settings.with_shipping and any(prices)
        if not is_in:
            self._left_out.add("shipping", shipping, self._currency)
            shipping = tax = money.ZERO
        if not self._settings.with_tax:
            self._left_out.add("taxes", amount_of(self._order.get("total_tax") or "0", "total_tax"), self._currency)
        return list(zip(shares(shipping, prices, self._currency), shares(tax, prices, self._currency), strict=True))

    def _data(self, item: Mapping[str, Any], price: Decimal, of_shipping: tuple[Decimal, Decimal]) -> dict[str, Any]:
        """Return the amount of an item by the settings, with the tax and the shipping in it."""
        shipping, tax_of_shipping = of_shipping
        tax = money.ZERO
        if self._settings.with_tax:
            tax = money.add(amount_of(item.get("total_tax") or "0", "total_tax"), tax_of_shipping)
        parts = {"amount": money.total([price, shipping, tax]), "tax": tax, "shipping": shipping}
        amounts = {name: plain(one, self._currency) for name, one in parts.items() if one or name == "amount"}
        return {**amounts, "currency": self._currency}

    def _void(self, sale: Mapping[str, Any], rule: str) -> dict[str, Any]:
        data = {"currency": self._currency, "refers_to": sale["id"], "reason": f"the order was {rule}"}
        return event((self._source, f"{sale['id']}:cancelled"), VOID, sale["subject"], "", data)

    def _refunds(self, sales: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the refunds of the order, by the agencies of its items.

        Each is a part of all refunds so far, so that a full refund gives back the sales to the last cent.
        """
        found = objects(self._order.get("refunds"), "refunds")
        listed = sorted(((id_of(one.get("id"), "id"), one) for one in found), key=lambda one: (len(one[0]), one[0]))
        sums: dict[str, Decimal] = {}
        for sale in sales:
            sums[sale["subject"]] = money.add(sums.get(sale["subject"], money.ZERO), Decimal(sale["data"]["amount"]))
        events, before = [], money.ZERO
        for id_, refund in listed:
            through = money.add(before, amount_of(refund.get("total"), "total").copy_abs())
            for number, (agency, sold) in enumerate(sums.items()):
                amount = money.subtract(self._part(sold, before), self._part(sold, through))
                if amount:
                    events.append(self._refund((id_, number), agency, amount))
            before = through
        return events

    def _part(self, sold: Decimal, refunded: Decimal) -> Decimal:
        """Return what refunds of the whole order take from the sales of an agency."""
        if not self._total:
            return money.ZERO
        return money.rounded(
            Fraction(sold) * Fraction(min(refunded, self._total)) / Fraction(self._total), self._currency
        )

    def _refund(self, which: tuple[str, int], agency: str, amount: Decimal) -> dict[str, Any]:
        id_, number = which
        data = {"amount": plain(amount, self._currency), "currency": self._currency, "order_id": self._number}
        return event((self._source, f"refund:{id_}:{number}" if number else f"refund:{id_}"), REFUND, agency, "", data)
