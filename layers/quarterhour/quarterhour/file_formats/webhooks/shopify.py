"""The map of Shopify's webhooks: orders and refunds as events.

Payloads: https://shopify.dev/docs/api/webhooks, https://shopify.dev/docs/api/admin-rest/latest/resources/order and
https://shopify.dev/docs/api/admin-rest/latest/resources/refund. A payload is known by its form, not by its topic:

- an order (``orders/paid``, ``orders/updated``, ``orders/cancelled``): a sale for each item that is paid. Its amount is
  what the item costs after its discounts. An order that was cancelled without a refund is voided, item by item.
- a refund (``refunds/create``): what is refunded of each item. ``order_adjustments`` say how far that is from the
  money: less is taken off the items, and more is a refund of the order as a whole, as shipping is.
- an order edit (``orders/edited``): nothing. ``orders/updated`` has the items that it adds or of which it adds some,
  and ``refunds/create`` those that it removes. ``quantity`` never falls: removed items stay in it. So the amount of an
  item is a running total (``ledger/recording/running_totals.py``), of which the highest counts.

The events are those of the export file, which has no ids of items (``file_formats/csv/maps/shopify_orders.toml``): an
item is known by its order's id, its SKU, its name and its vendor, and equal items of an order are one. So a refund,
which does not name the order's items by their place, finds its sale.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from quarterhour.file_formats.item_key import key_of
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
from quarterhour.ledger.events.event import REFUND, RUNNING_TOTAL, SALE, VOID, YES
from quarterhour.model import money
from quarterhour.model.fields import shown

SOURCE: Final = "shopify-orders"
"""The source of the export file's events."""
_STATES: Final[Mapping[str, str]] = {
    **dict.fromkeys(("paid", "partially_refunded", "refunded"), PAID),
    **dict.fromkeys(("pending", "authorized", "unpaid"), "not paid"),
    "partially_paid": "paid in part",
    **dict.fromkeys(("voided", "expired"), "voided"),
}
_EDIT: Final = "order edits, whose money is in orders/updated and refunds/create"
_MONEY: Final = "shop_money"
_FAILED: Final = frozenset({"failure", "error"})


@dataclass(slots=True)
class _Item:
    """Equal items of an order, or what is refunded of them: their amount, and the tax in it or beyond it."""

    key: str
    agency: str
    product: str
    amount: Decimal = money.ZERO
    tax: Decimal = money.ZERO
    shipping: Decimal = money.ZERO

    def add(self, amount: Decimal, tax: Decimal) -> None:
        """Add an equal item."""
        self.amount, self.tax = money.add(self.amount, amount), money.add(self.tax, tax)


def events_of(delivery: Delivery) -> Mapped:
    """Return the events of an order, a refund or an order edit; raise ``PayloadError`` if they cannot be read."""
    payload, settings = object_of(delivery.payload), delivery.settings
    if "order_edit" in payload:
        return Mapped(excluded=[Excluded(_EDIT)])
    if "refund_line_items" in payload:
        return _Refund(payload, settings).mapped()
    if "line_items" in payload and "financial_status" in payload:
        return _Order(payload, settings).mapped()
    raise PayloadError("the payload is no order, no refund and no order edit")


def _amount(of: Mapping[str, Any], name: str) -> Decimal:
    """Return an amount in the shop's currency: of its set, else the plain one; 0 if there is none."""
    in_shop = _in_shop(of, name)
    value = in_shop.get("amount") if in_shop else of.get(name)
    return money.ZERO if value is None else amount_of(value, name)


def _in_shop(of: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    both = of.get(f"{name}_set")
    in_shop = both.get(_MONEY) if isinstance(both, dict) else None
    return in_shop if isinstance(in_shop, dict) else {}


def _sum(values: object, name: str, what: str) -> Decimal:
    return money.total(_amount(one, name) for one in objects(values, what))


def _discounts(item: Mapping[str, Any]) -> Decimal:
    """Return the discounts of an item: what is allocated to it, of the order's discounts too."""
    allocated = objects(item.get("discount_allocations"), "discount_allocations")
    return _sum(allocated, "amount", "discount_allocations") if allocated else _amount(item, "total_discount")


def _key(item: Mapping[str, Any]) -> str:
    return key_of(text_of(item.get(name)) for name in ("sku", "name", "vendor"))


def _rule_of(item: Mapping[str, Any]) -> str:
    """Return the rule that leaves an item out; empty if none does."""
    if item.get("gift_card") is True:
        return "gift cards"
    return "tips" if item.get("tip") or item.get("tip_payment_gateway") else ""


class _Items:
    """The items of one order by their keys."""

    def __init__(self) -> None:
        self.by_key: dict[str, _Item] = {}

    def add(self, item: Mapping[str, Any], agency: str, amount: Decimal, tax: Decimal) -> None:
        """Add an item; raise ``PayloadError`` if an equal one is of another agency."""
        key = _key(item)
        found = self.by_key.setdefault(key, _Item(key, agency, text_of(item.get("sku"))))
        if found.agency != agency:
            raise PayloadError(f"{shown(item.get('name'))} is sold by {shown(found.agency)} and by {shown(agency)}")
        found.add(amount, tax)

    def with_amounts(self) -> list[_Item]:
        """Return the items that cost something."""
        return [one for one in self.by_key.values() if one.amount]


class _Order:
    """An order, of which each item is a sale."""

    def __init__(self, order: Mapping[str, Any], settings: MapSettings) -> None:
        self._order, self._settings = order, settings
        self._source = settings.source or SOURCE
        self._id = id_of(order.get("id"), "id")
        self._currency = currency_of(order.get("currency"), "currency")
        self._included = order.get("taxes_included") is True
        self._left_out = LeftOut()

    def mapped(self) -> Mapped:
        """Return the sales of a paid order, and their voids if it was cancelled without a refund."""
        status = text_of(self._order.get("financial_status"))
        if self._order.get("test") is True and not self._settings.with_test:
            return self._whole("test orders")
        state = state_of(self._settings.map, status) or _STATES.get(status)
        if state is None:
            raise PayloadError(f"financial_status is {shown(self._order.get('financial_status'))}, which is not known")
        if state != PAID:
            return self._whole(state)
        items = self._items()
        self._leave_out()
        at = time_of(self._order.get("created_at"), "created_at")
        events = [self._sale(one, at) for one in items]
        cancelled_at = self._order.get("cancelled_at")
        if cancelled_at is not None and not objects(self._order.get("refunds"), "refunds"):
            events += [self._void(one, time_of(cancelled_at, "cancelled_at")) for one in items]
        return Mapped(events, self._left_out.all())

    def _whole(self, rule: str) -> Mapped:
        return Mapped(excluded=[Excluded(rule, {self._currency: _amount(self._order, "total_price")})])

    def _items(self) -> list[_Item]:
        items = _Items()
        for item in objects(self._order["line_items"], "line_items"):
            of = amount_of(item.get("quantity"), "quantity")
            amount = money.subtract(money.multiply(_amount(item, "price"), of), _discounts(item))
            if amount < 0:
                raise PayloadError(f"{shown(item.get('name'))} costs {money.plain(amount)} after its discounts")
            if rule := _rule_of(item):
                self._left_out.add(rule, amount, self._currency)
                continue
            agency = agency_in(self._settings.agency, item, self._order)
            items.add(item, agency, amount, _sum(item.get("tax_lines"), "price", "tax_lines"))
        found = items.with_amounts()
        self._add_shipping(found)
        return found

    def _add_shipping(self, items: list[_Item]) -> None:
        """Add their shares of shipping to items, or leave it out."""
        lines = [
            one for one in objects(self._order.get("shipping_lines"), "shipping_lines") if not one.get("is_removed")
        ]
        shipping = money.total(money.subtract(_amount(one, "price"), _discounts(one)) for one in lines)
        tax = money.total(_sum(one.get("tax_lines"), "price", "tax_lines") for one in lines)
        if not self._settings.with_shipping or not items:
            self._left_out.add("shipping", shipping, self._currency)
            return
        weights = [one.amount for one in items]
        within = tax if self._included and self._settings.with_tax is not None else money.ZERO
        of_items = shares(money.subtract(shipping, within), weights, self._currency)
        taxes = shares(tax, weights, self._currency)
        for item, of_item, tax_of_item in zip(items, of_items, taxes, strict=True):
            item.shipping = of_item
            if self._included and self._settings.with_tax is not None:
                item.amount = money.add(item.amount, tax_of_item)
            item.tax = money.add(item.tax, tax_of_item)

    def _leave_out(self) -> None:
        """Leave out what is in the order's total and belongs to no item."""
        taxes = _amount(self._order, "total_tax")
        if self._settings.with_tax is False or (self._settings.with_tax is None and not self._included):
            self._left_out.add("taxes", taxes, self._currency)
        self._left_out.add("tips", _amount(self._order, "total_tip_received"), self._currency)
        for rule in ("duties", "additional fees"):
            name = f"original_total_{rule.replace(' ', '_')}"
            self._left_out.add(rule, _amount(self._order, name), self._currency)

    def _sale(self, item: _Item, at: str) -> dict[str, Any]:
        parts = _parts(item, self._settings, included=self._included)
        data = _data(parts, self._currency) | {
            "order_id": text_of(self._order.get("name")).removeprefix("#") or self._id,
            "line": item.key,
            "product": item.product,
        }
        return _of_item((self._source, f"{self._id}:{item.key}"), SALE, item.agency, at, data)

    def _void(self, item: _Item, at: str) -> dict[str, Any]:
        sale = f"{self._id}:{item.key}"
        data = {"currency": self._currency, "refers_to": sale, "reason": "cancelled"}
        return _of_item((self._source, f"{sale}:cancelled"), VOID, item.agency, at, data)


def _of_item(identity: tuple[str, str], type_: str, agency: str, at: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return an event of an item, whose quantity an order edit may raise later."""
    return {**event(identity, type_, agency, at, data), RUNNING_TOTAL: YES}


def _parts(item: _Item, settings: MapSettings, *, included: bool) -> dict[str, Decimal]:
    """Return the amount of an item by the settings, with the tax and the shipping in it."""
    amount = money.add(item.amount, item.shipping)
    if settings.with_tax is None:
        return {"amount": amount, "shipping": item.shipping}
    net = money.subtract(amount, item.tax) if included else amount
    if not settings.with_tax:
        return {"amount": net, "shipping": item.shipping}
    return {"amount": money.add(net, item.tax), "tax": item.tax, "shipping": item.shipping}


def _data(parts: Mapping[str, Decimal], currency: str) -> dict[str, Any]:
    """Return amounts as the data of an event; of a part of 0 none."""
    amounts = {name: plain(one, currency) for name, one in parts.items() if one or name == "amount"}
    return {**amounts, "currency": currency}


class _Refund:
    """A refund: what is given back of each item, and of the order as a whole."""

    def __init__(self, refund: Mapping[str, Any], settings: MapSettings) -> None:
        self._refund, self._settings = refund, settings
        self._source = settings.source or SOURCE
        self._id, self._order = id_of(refund.get("id"), "id"), id_of(refund.get("order_id"), "order_id")
        self._lines = objects(refund["refund_line_items"], "refund_line_items")
        self._transactions = objects(refund.get("transactions"), "transactions")
        self._adjustments = objects(refund.get("order_adjustments"), "order_adjustments")
        self._left_out = LeftOut()

    def mapped(self) -> Mapped:
        """Return the refunds of items, and of the order as a whole."""
        if self._transactions and all(one.get("test") is True for one in self._transactions):
            if not self._settings.with_test:
                return Mapped(excluded=[Excluded("test orders")])
        elif self._transactions and all(text_of(one.get("status")) in _FAILED for one in self._transactions):
            return Mapped(excluded=[Excluded("refunds that failed")])
        if not (self._lines or self._adjustments or self._transactions):
            return Mapped(excluded=[Excluded("refunds of nothing")])
        self._currency = self._its_currency()
        at = time_of(self._refund.get("created_at"), "created_at")
        items = self._items().with_amounts()
        shipping, difference = self._of_order()
        less = min(max(difference, money.ZERO), money.total(one.amount for one in items))
        taken = shares(less, [one.amount for one in items], self._currency)
        events = [self._of_item(one, off, at) for one, off in zip(items, taken, strict=True) if one.amount != off]
        beyond = money.add(shipping, max(money.negated(difference), money.ZERO))
        if not self._lines and not self._adjustments:
            beyond = self._paid()
        events += self._of_whole(items, beyond, at)
        self._left_out.add("duties", _amount(self._refund, "total_duties"), self._currency)
        return Mapped(events, self._left_out.all())

    def _its_currency(self) -> str:
        sets = [(one, "subtotal") for one in self._lines] + [(one, "amount") for one in self._adjustments]
        codes = [code for one, name in sets if (code := _in_shop(one, name).get("currency_code"))]
        codes += [code for one in self._transactions if (code := one.get("currency"))]
        return currency_of(codes[0] if codes else None, "the currency of the refund")

    def _items(self) -> _Items:
        items, included = _Items(), self._taxes_included()
        for line in self._lines:
            item = line.get("line_item")
            if not isinstance(item, dict):
                raise PayloadError("a refund_line_item has no line_item, which names what is refunded")
            amount, tax = _amount(line, "subtotal"), _amount(line, "total_tax")
            if amount < 0:
                raise PayloadError(f"subtotal is {money.plain(amount)}, and must be 0 or more")
            if rule := _rule_of(item):
                self._left_out.add(rule, money.negated(amount), self._currency)
                continue
            made = _parts(_Item("", "", "", amount, tax), self._settings, included=included)
            agency = agency_in(self._settings.agency, item, linked=True)
            items.add(item, agency, made["amount"], made.get("tax", money.ZERO))
        return items

    def _taxes_included(self) -> bool:
        """Return whether the amounts of items have their tax in them, which a refund does not say itself.

        The money that was paid back decides it. Raises ``PayloadError`` if that is neither with the tax nor without.
        """
        tax = money.total(_amount(one, "total_tax") for one in self._lines)
        if self._settings.with_tax is None or not tax:
            return False
        paid = self._paid()
        whole = money.total(_amount(one, "subtotal") for one in self._lines)
        for one in self._adjustments:
            whole = money.subtract(whole, money.add(_amount(one, "amount"), _amount(one, "tax_amount")))
        if paid not in {whole, money.add(whole, tax)}:
            raise PayloadError("the money paid back does not show whether the amounts of items have their tax in them")
        return paid == whole

    def _paid(self) -> Decimal:
        return money.total(_amount(one, "amount") for one in self._transactions if one.get("status") == "success")

    def _of_order(self) -> tuple[Decimal, Decimal]:
        """Return the shipping that is refunded, and by how much less than its items the refund is."""
        shipping = difference = money.ZERO
        for one in self._adjustments:
            amount = _amount(one, "amount")
            if self._settings.with_tax:
                amount = money.add(amount, _amount(one, "tax_amount"))
            if one.get("kind") != "shipping_refund":
                difference = money.add(difference, amount)
            elif self._settings.with_shipping:
                shipping = money.subtract(shipping, amount)
            else:
                self._left_out.add("shipping refunds", amount, self._currency)
        return shipping, difference

    def _of_item(self, item: _Item, off: Decimal, at: str) -> dict[str, Any]:
        sale, amount = f"{self._order}:{item.key}", money.subtract(item.amount, off)
        tax = shares(item.tax, [amount, off], self._currency)[0] if off else item.tax
        parts = {"amount": money.negated(amount), "tax": money.negated(tax)}
        data = _data(parts, self._currency) | {"refers_to": sale, "line": item.key, "product": item.product}
        return _of_item((self._source, f"{sale}:refund:{self._id}"), REFUND, item.agency, at, data)

    def _of_whole(self, items: list[_Item], amount: Decimal, at: str) -> list[dict[str, Any]]:
        """Return the refunds of an amount that is of no item, by the agencies whose items are refunded."""
        if not amount:
            return []
        weights: dict[str, Decimal] = {}
        for one in items:
            weights[one.agency] = money.add(weights.get(one.agency, money.ZERO), one.amount)
        if self._settings.agency.fixed:
            weights = {self._settings.agency.fixed: Decimal(1)}
        if not weights or "" in weights:
            raise PayloadError(f"{plain(amount, self._currency)} are refunded of no item, so that no agency is known")
        parts = zip(weights, shares(amount, list(weights.values()), self._currency), strict=True)
        ids = [f"{self._order}:refund:{self._id}:{number}" for number in range(1, len(weights) + 1)]
        data = {"currency": self._currency, "reason": "refund of no item", "extra": {"order": self._order}}
        return [
            event(
                (self._source, id_), REFUND, agency, at, {"amount": plain(money.negated(part), self._currency), **data}
            )
            for id_, (agency, part) in zip(ids, parts, strict=True)
            if part
        ]
