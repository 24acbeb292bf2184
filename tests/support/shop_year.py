"""A made-up year of a Shopify shop: its webhooks, its export file, and what each vendor sold."""

import csv
import io
import json
import random
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

VENDORS: Final = ("Oak Studio", "Elm Press", "Ash & Söhne")
CATALOGUE: Final = [
    (f"Fern {kind} - {size} 👩‍🎨", f"{kind[:2].upper()}-{size}" if size != "L" else "", price, vendor)
    for kind, price, vendor in zip(("Print", "Mug", "Bag"), (1999, 1250, 8995), VENDORS, strict=True)
    for size in ("S", "M", "L")
]
COLUMNS: Final = (
    *("Name", "Email", "Financial Status", "Currency", "Subtotal", "Shipping", "Taxes", "Total", "Discount Amount"),
    *("Created at", "Lineitem quantity", "Lineitem name", "Lineitem price", "Lineitem sku", "Cancelled at", "Id"),
    *("Lineitem requires shipping", "Lineitem taxable", "Refunded Amount", "Vendor", "Lineitem discount"),
)
BASE: Final = 9_007_199_254_740_993
"""The first whole number that a float cannot hold."""

Delivery = tuple[str, str]
"""A topic and its payload."""


def shown(cents: int) -> str:
    """Return cents as the text of an amount."""
    return str(Decimal(cents).scaleb(-2).quantize(Decimal("0.01")))


def money_set(cents: int) -> dict[str, Any]:
    """Return an amount in the shop's currency, beside that of a customer abroad."""
    return {
        "shop_money": {"amount": shown(cents), "currency_code": "EUR"},
        "presentment_money": {"amount": shown(cents * 7), "currency_code": "DKK"},
    }


@dataclass
class Year:
    """Deliveries, the rows of the export file, and the net sales of each vendor in cents."""

    seed: int
    orders: int = 60
    deliveries: list[Delivery] = field(default_factory=list)
    rows: list[dict[str, str]] = field(default_factory=list)
    net: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)  # noqa: S311 - made-up orders
        for number in range(1, self.orders + 1):
            self._order(number)

    @property
    def export(self) -> str:
        """The export file."""
        out = io.StringIO()
        writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(self.rows)
        return out.getvalue()

    def _order(self, number: int) -> None:
        pick = self.random
        items = [self._item(number, place) for place in range(1, pick.randint(2, 5))]
        self._discount(items)
        gift = pick.random() < 0.1
        status = pick.choice(["paid"] * 6 + ["pending", "voided", "partially_paid", "authorized"])
        at = f"2026-{pick.randint(1, 12):02}-{pick.randint(1, 28):02}T{pick.randint(0, 23):02}:15:07+02:00"
        order: dict[str, Any] = {
            "id": BASE * 10 + number,
            "name": f"#{1000 + number}",
            "created_at": at,
            "currency": "EUR",
            "financial_status": status,
            "taxes_included": False,
            "test": False,
            "cancelled_at": None,
            "refunds": [],
            "total_price": shown(sum(one["net"] for one in items) + 490),
            "total_tax_set": money_set(77),
            "total_tip_received": pick.choice(["0.00", "2.00"]),
            "line_items": [self._line(one) for one in items],
            "shipping_lines": [{"price_set": money_set(490), "price": "1.00", "discount_allocations": []}],
        }
        if gift:
            voucher = {"id": BASE + number, "gift_card": True, "name": "Gift Card", "sku": None, "vendor": "Shop"}
            order["line_items"].append({**voucher, "price": 50.0, "quantity": 1, "discount_allocations": []})
        is_paid = status == "paid"
        refunded = 0
        if is_paid:
            for one in items:
                self._add(one["vendor"], one["net"])
            if pick.random() < 0.15:
                order |= {"cancelled_at": at, "cancel_reason": "customer"}
                for one in items:
                    self._add(one["vendor"], -one["net"])
                self._send("orders/cancelled", order)
                self._send("orders/paid", {**order, "cancelled_at": None})
            else:
                self._send("orders/paid", order)
                if pick.random() < 0.3:
                    self._edit(order, items)
                refunded = self._refunds(order, items)
        else:
            self._send("orders/updated", order)
        self._export(order, items, refunded, gift=gift)

    def _item(self, number: int, place: int) -> dict[str, Any]:
        name, sku, price, vendor = self.random.choice(CATALOGUE)
        price = 0 if self.random.random() < 0.05 else price
        of = self.random.randint(1, 3)
        id_ = BASE + number * 100 + place
        return {"id": id_, "name": name, "sku": sku, "price": price, "vendor": vendor, "of": of, "net": price * of}

    def _discount(self, items: list[dict[str, Any]]) -> None:
        """Take something off one item, or off all, in odd parts."""
        for one in items:
            one["off"] = 0
        if self.random.random() < 0.4:
            for one in self.random.sample(items, self.random.randint(1, len(items))):
                one["off"] = self.random.randint(0, one["net"] // 2)
                one["net"] -= one["off"]

    def _line(self, one: dict[str, Any]) -> dict[str, Any]:
        price = Decimal(shown(one["price"]))
        line = {
            "id": one["id"],
            "name": one["name"],
            "sku": one["sku"] or None,
            "vendor": one["vendor"],
            "gift_card": False,
            "quantity": one["of"],
            "price": float(price) if one["id"] % 2 else str(price),
            "total_discount": "0.00",
            "tax_lines": [{"price": "0.50", "price_set": money_set(50)}],
            "discount_allocations": [{"amount": shown(one["off"]), "amount_set": money_set(one["off"])}],
        }
        return line | ({"price_set": money_set(one["price"])} if one["id"] % 3 else {})

    def _edit(self, order: dict[str, Any], items: list[dict[str, Any]]) -> None:
        """Send the order with more of one of its items, as an edit has left it."""
        one = self.random.choice(items)
        more = self.random.randint(1, 3)
        one["of"] += more
        one["net"] += more * one["price"]
        self._add(one["vendor"], more * one["price"])
        others = order["line_items"][len(items) :]
        order["line_items"] = [*map(self._line, items), *others]
        self._send("orders/edited", {"order_edit": {"id": order["id"] + 1, "order_id": order["id"]}})
        self._send("orders/updated", order)

    def _refunds(self, order: dict[str, Any], items: list[dict[str, Any]]) -> int:
        """Send refunds of parts of items, some with an amount of the order as a whole; return their sum."""
        whole, pick = 0, self.random
        left = [one["net"] for one in items]
        for number in range(pick.choice([0, 0, 0, 1, 1, 2])):
            lines = []
            for place, one in enumerate(items):
                part = pick.choice([0, left[place], left[place] // 3])
                if not part:
                    continue
                left[place] -= part
                lines.append((one, part))
            if not lines:
                continue
            self._send("refunds/create", self._refund(order, number, lines))
            for one, part in lines:
                self._add(one["vendor"], -part)
                whole += part
        return whole

    def _refund(self, order: dict[str, Any], number: int, lines: list[tuple[dict[str, Any], int]]) -> dict[str, Any]:
        return {
            "id": order["id"] * 10 + number,
            "order_id": order["id"],
            "created_at": order["created_at"],
            "note": "broken",
            "order_adjustments": [{"kind": "shipping_refund", "amount": "-4.90", "amount_set": money_set(-490)}],
            "transactions": [{"kind": "refund", "status": "success", "amount": "1.00", "test": False}],
            "refund_line_items": [
                {
                    "id": one["id"] + 7,
                    "line_item_id": one["id"],
                    "line_item": self._line(one),
                    "subtotal": float(shown(part)),
                    "subtotal_set": money_set(part),
                    "total_tax": 0,
                }
                for one, part in lines
            ],
        }

    def _send(self, topic: str, payload: dict[str, Any]) -> None:
        self.deliveries.append((topic, json.dumps(payload)))

    def _add(self, vendor: str, cents: int) -> None:
        self.net[vendor] = self.net.get(vendor, 0) + cents

    def _export(self, order: dict[str, Any], items: list[dict[str, Any]], refunded: int, *, gift: bool) -> None:
        """Add the rows of an order, of which the first has what is of the whole order."""
        subtotal = sum(one["net"] for one in items) + 5000 * gift
        whole = {
            "Financial Status": "partially_refunded" if refunded else order["financial_status"],
            "Currency": "EUR",
            "Subtotal": shown(subtotal),
            "Shipping": "4.90",
            "Taxes": "0.77",
            "Total": shown(subtotal + 490 + 77),
            "Discount Amount": shown(sum(one["off"] for one in items)),
            "Cancelled at": str(order["cancelled_at"] or "").replace("T", " ").replace("+02:00", " +0200"),
            "Refunded Amount": shown(refunded),
            "Id": str(order["id"]),
        }
        rows = [
            {
                "Lineitem name": one["name"],
                "Lineitem sku": one["sku"],
                "Lineitem price": shown(one["price"]),
                "Lineitem quantity": str(one["of"]),
                "Vendor": one["vendor"],
                "Lineitem requires shipping": "true",
                "Lineitem taxable": "true",
            }
            for one in items
        ]
        if gift:
            voucher = {
                "Lineitem name": "Gift Card",
                "Lineitem price": "50.00",
                "Lineitem quantity": "1",
                "Vendor": "Shop",
            }
            rows.append(voucher | {"Lineitem requires shipping": "false", "Lineitem taxable": "false"})
        at = order["created_at"].replace("T", " ").replace("+02:00", " +0200")
        for number, row in enumerate(rows):
            every = {"Name": order["name"], "Created at": at, "Lineitem discount": "0.00"}
            self.rows.append(every | row | (whole if not number else {}))
