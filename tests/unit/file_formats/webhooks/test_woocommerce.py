"""WooCommerce's webhooks: their events, and that the export file with one row per item has the same sales."""

import io
import json
import random
from decimal import Decimal
from typing import Any, Final

import pytest

from quarterhour.file_formats.csv.events import converted
from quarterhour.file_formats.csv.lines import numbered
from quarterhour.file_formats.csv.map import load_map
from quarterhour.file_formats.csv.table import read_table
from quarterhour.file_formats.webhooks.delivery import AgencyRule, Delivery, Mapped, MapSettings, Provider
from quarterhour.file_formats.webhooks.maps import events_of
from quarterhour.model import exact_json
from quarterhour_tools.csv.maps import read_map
from tests.support.small_ledger import SmallLedger

SALE, REFUND, VOID = "sale.recorded", "sale.refunded", "sale.voided"
FIXED: Final = MapSettings(AgencyRule(fixed="42"))


def mapped(payload: object, settings: MapSettings = FIXED) -> Mapped:
    return events_of(Delivery(Provider.WOOCOMMERCE, "", exact_json.parse(exact_json.write(payload)), settings))


def item(id_: int, total: str, **over: Any) -> dict[str, Any]:
    return {"id": id_, "sku": f"S-{id_}", "name": "Mug", "quantity": 1, "total": total, "total_tax": "1.90"} | over


def order(*items: dict[str, Any], **over: Any) -> dict[str, Any]:
    return {
        "id": 11,
        "number": "1001",
        "status": "processing",
        "currency": "EUR",
        "date_created": "2026-10-01T10:15:00",
        "date_created_gmt": "2026-10-01T08:15:00",
        "date_paid_gmt": "2026-10-01T08:16:00",
        "total": "47.00",
        "total_tax": "3.80",
        "line_items": list(items),
        "shipping_lines": [],
        "fee_lines": [],
        "refunds": [],
        "meta_data": [],
    } | over


def shown(found: Mapped) -> list[tuple[str, str, str | None, str | None]]:
    assert found.problem is None
    return [(one["id"], one["type"], one.get("subject"), one["data"].get("amount")) for one in found.events]


COLUMNS: Final = "order_number,date,status,order_currency,item_id,item_sku,item_total,item_refunded"


def of_file(rows: str) -> list[dict[str, Any]]:
    """Return the events of an export file with these rows."""
    csv_map = load_map(read_map("woocommerce_items"))
    text = io.StringIO(f"{COLUMNS}\n{rows}\n", newline="")
    table = read_table(numbered(text), csv_map.file, csv_map.used_by)
    found = list(converted(table, csv_map, {"agency": "42", "webhooks": "yes", "zone": "Europe/Berlin"}))
    assert not [one.bad for one in found if one.bad]
    return [event.body for row in found for event in row.events]


def test_the_items_of_an_order_are_the_sales_of_the_export_file() -> None:
    text = (
        "1001,2026-10-01 10:15:00,processing,EUR,101,S-101,28.92,16.00\n"
        "1001,2026-10-01 10:15:00,processing,EUR,102,,18.1,0\n"
    )
    found = mapped(order(item(101, "28.92"), item(102, "18.10", sku="")))
    assert of_file(text) == found.events
    assert shown(found) == [("1001:101", SALE, "42", "28.92"), ("1001:102", SALE, "42", "18.10")]


@pytest.mark.parametrize(
    ("status", "rule"),
    [("pending", "not paid"), ("on-hold", "not paid"), ("checkout-draft", "not paid"), ("failed", "failed")],
)
def test_an_order_that_was_never_paid_is_left_out(status: str, rule: str) -> None:
    found = mapped(order(item(1, "1"), status=status, date_paid_gmt=None))
    assert (list(found.events), found.excluded[0].rule) == ([], rule)
    assert (
        mapped(order(item(1, "1"), status="shipped-to-mars")).problem
        == "the status is 'shipped-to-mars', which is not known"
    )


def test_an_order_that_was_paid_and_is_cancelled_is_voided() -> None:
    sale, void = ("1001:1", SALE, "42", "10.00"), ("1001:1:cancelled", VOID, "42", None)
    assert shown(mapped(order(item(1, "10"), status="cancelled"))) == [sale, void]
    on_delivery = order(item(1, "10"), status="cancelled", date_paid_gmt=None, payment_method="cod")
    assert shown(mapped(on_delivery)) == [sale, void]
    assert shown(mapped(order(item(1, "10"), status="cancelled", date_paid_gmt=None))) == []


@pytest.mark.parametrize(
    ("settings", "amount", "tax", "shipping"),
    [
        ({}, "10.00", None, None),
        ({"with_tax": True}, "11.90", "1.90", None),
        ({"with_shipping": True}, "14.90", None, "4.90"),
        ({"with_tax": True, "with_shipping": True}, "17.73", "2.83", "4.90"),
    ],
)
def test_tax_and_shipping_are_in_the_amounts_or_left_out(
    settings: dict[str, bool], amount: str, tax: str | None, shipping: str | None
) -> None:
    lines = [{"total": "4.90", "total_tax": "0.93"}]
    payload = order(item(1, "10.00"), shipping_lines=lines, fee_lines=[{"total": "2.00"}], total_tax="2.83")
    found = mapped(payload, FIXED._replace(**settings))  # type: ignore[arg-type]
    data = found.events[0]["data"]
    assert (data["amount"], data.get("tax"), data.get("shipping")) == (amount, tax, shipping)
    left_out = {"fees"} | ({"shipping"} if not shipping else set()) | ({"taxes"} if not tax else set())
    assert {one.rule for one in found.excluded} == left_out


def test_a_refund_is_shared_by_what_the_items_cost_and_a_deleted_one_is_voided() -> None:
    paid = order(item(1, "20.00"), item(2, "10.00"), total="40.00", refunds=[{"id": 77, "total": "-4.00"}])
    assert shown(mapped(paid))[2:] == [("refund:77", REFUND, "42", "-3.00")]
    whole = paid | {"refunds": [{"id": 78, "total": "-36.00"}, {"id": 77, "total": "-4.00"}]}
    assert shown(mapped(whole))[2:] == [("refund:77", REFUND, "42", "-3.00"), ("refund:78", REFUND, "42", "-27.00")]
    deleted = mapped({"action": "woocommerce_refund_deleted", "arg": 77})
    assert deleted.events == [
        {
            "specversion": "1.0",
            "source": "woocommerce",
            "id": "refund:77:undone",
            "type": VOID,
            "subject": "42",
            "data": {"refers_to": "refund:77", "reason": "the refund was deleted"},
        }
    ]


def test_the_agency_is_fixed_or_a_meta_key_of_an_item_or_of_the_order() -> None:
    by_meta = MapSettings(AgencyRule(field="_vendor_id"))
    one = item(1, "20.00", meta_data=[{"key": "_vendor_id", "value": 7}])
    payload = order(one, item(2, "10.00"), meta_data=[{"key": "_vendor_id", "value": "8"}], total="30.00")
    refunded = payload | {"refunds": [{"id": 77, "total": "-3.00"}]}
    assert shown(mapped(refunded, by_meta)) == [
        ("1001:1", SALE, "7", "20.00"),
        ("1001:2", SALE, "8", "10.00"),
        ("refund:77", REFUND, "7", "-2.00"),
        ("refund:77:1", REFUND, "8", "-1.00"),
    ]
    assert mapped(order(item(1, "1")), by_meta).problem == "there is no _vendor_id, which names the agency"


def test_a_deleted_order_is_nothing_and_other_payloads_are_problems() -> None:
    assert mapped({"id": 5}).excluded[0].rule == "deleted orders"
    assert mapped({"action": "woocommerce_add_to_cart", "arg": "x"}).excluded[0].rule == "other actions"
    assert mapped({"product": 5}).problem == "the payload is no order and no deleted refund"


@pytest.mark.parametrize("seed", range(12))
def test_a_year_in_any_order_and_twice_is_what_the_orders_come_to(seed: int) -> None:
    pick = random.Random(seed)  # noqa: S311 - made-up orders
    deliveries: list[dict[str, Any]] = []
    rows: list[str] = []
    net = Decimal(0)
    for number in range(60):
        prices = [pick.randint(1, 9999) for _ in range(pick.randint(1, 4))]
        items = [item(number * 10 + place, str(Decimal(price).scaleb(-2))) for place, price in enumerate(prices)]
        whole = Decimal(sum(prices) + 490).scaleb(-2)
        made = order(*items, number=str(number), total=str(whole), status="pending", date_paid_gmt=None)
        paid = made | {"status": pick.choice(["processing", "completed"]), "date_paid_gmt": "2026-10-02T00:00:00"}
        end = pick.choice(["pending", "paid", "cancelled", "refunded"])
        status = {"paid": paid["status"]}.get(end, end)
        rows += [
            f"{number},2026-10-01 10:15:00,{status},EUR,{one['id']},{one['sku']},{one['total']},{one['total']}"
            for one in items
        ]
        deliveries.append(made)
        if end != "pending":
            deliveries.append(paid)
        if end == "paid":
            net += Decimal(sum(prices)).scaleb(-2)
        if end == "cancelled":
            deliveries.append(paid | {"status": "cancelled"})
        if end == "refunded":
            part = Decimal(pick.randint(1, int(whole * 100) - 1)).scaleb(-2)
            first = {"id": number * 2, "total": str(-part)}
            deliveries.append(paid | {"refunds": [first]})
            deliveries.append(
                paid | {"refunds": [first, {"id": number * 2 + 1, "total": str(part - whole)}], "status": "refunded"}
            )
    twice = deliveries * 2
    pick.shuffle(twice)
    of_webhooks = [event for one in twice for event in mapped(one).events]
    exported, half = of_file("\n".join(rows)), len(of_webhooks) // 2
    for history in (of_webhooks, exported + of_webhooks, of_webhooks[:half] + exported + of_webhooks[half:]):
        ledger = SmallLedger()
        for event in history:
            ledger.add(event)
        assert (ledger.conflicts, ledger.held) == ([], [])
        assert ledger.net() == {"42": net}


def test_whatever_a_payload_holds_is_mapped_or_a_problem() -> None:
    payload = order(item(1, "10.00"), refunds=[{"id": 1, "total": "-1"}], shipping_lines=[{"total": "1"}])
    for value in (None, True, [], {}, "", "x", -1, 1.5, "9" * 60, [1], {"a": 1}):
        for name in payload:
            assert isinstance(mapped(payload | {name: value}), Mapped)
        for name in item(1, "1"):
            assert isinstance(mapped(order(item(1, "1") | {name: value})), Mapped)


def test_a_map_of_the_shop_says_what_its_own_statuses_mean() -> None:
    texts = {"paid": ["completed", "shipped"], "not paid": ["pending"], "cancelled": ["returned"]}
    lines = "".join(f'"{name}" = {json.dumps(given)}\n' for name, given in texts.items())
    own = FIXED._replace(map=f'like = "woocommerce_items"\n[lookups.state.texts]\n{lines}')
    assert shown(mapped(order(item(1, "10"), status="shipped"), own)) == [("1001:1", SALE, "42", "10.00")]
    assert len(mapped(order(item(1, "10"), status="returned"), own).events) == 2, "it was paid: a sale and its void"
    assert mapped(order(item(1, "10"), status="processing"), own).problem is None, "the others mean what they mean"
