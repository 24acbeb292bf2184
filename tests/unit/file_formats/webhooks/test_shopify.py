"""Shopify's webhooks: their events, and that the export file has the same."""

import io
from decimal import Decimal
from itertools import permutations
from typing import Any, Final

import pytest

from quarterhour.file_formats.csv.events import converted
from quarterhour.file_formats.csv.lines import numbered
from quarterhour.file_formats.csv.map import load_map
from quarterhour.file_formats.csv.table import read_table
from quarterhour.file_formats.item_key import key_of
from quarterhour.file_formats.webhooks.delivery import AgencyRule, Delivery, Mapped, MapSettings, Provider
from quarterhour.file_formats.webhooks.maps import events_of
from quarterhour.model import exact_json
from quarterhour_tools.csv.maps import read_map
from tests.support.shop_year import BASE, Year, money_set
from tests.support.small_ledger import SmallLedger

VENDOR: Final = MapSettings(AgencyRule(field="vendor"))
MUG: Final = f"1:{key_of(('MUG', 'Mug', 'Oak'))}"
SALE, REFUND, VOID = "sale.recorded", "sale.refunded", "sale.voided"
Shown = tuple[str, str, str | None, str | None]


def mapped(payload: object, settings: MapSettings = VENDOR) -> Mapped:
    return of_text(exact_json.write(payload), settings)


def of_text(text: str, settings: MapSettings = VENDOR) -> Mapped:
    return events_of(Delivery(Provider.SHOPIFY, "", exact_json.parse(text), settings))


def rows_of(text: str) -> list[dict[str, Any]]:
    csv_map = load_map(read_map("shopify_orders"))
    table = read_table(numbered(io.StringIO(text, newline="")), csv_map.file, csv_map.used_by)
    rows = list(converted(table, csv_map, {"webhooks": "yes"}))
    assert not [one.bad for one in rows if one.bad]
    return [event.body for row in rows for event in row.events]


def shown(found: Mapped) -> list[Shown]:
    assert found.problem is None
    return [(one["id"], one["type"], one.get("subject"), one["data"].get("amount")) for one in found.events]


def line(**over: Any) -> dict[str, Any]:
    return {"id": 11, "sku": "MUG", "name": "Mug", "vendor": "Oak", "price": "12.50", "quantity": 2} | over


def order(*lines: dict[str, Any], **over: Any) -> dict[str, Any]:
    return {
        "id": 1,
        "name": "#1001",
        "currency": "EUR",
        "created_at": "2026-10-01T12:00:00+02:00",
        "financial_status": "paid",
        "line_items": list(lines),
    } | over


def refund(*lines: dict[str, Any], **over: Any) -> dict[str, Any]:
    return {
        "id": 5,
        "order_id": 1,
        "created_at": "2026-10-02T12:00:00+02:00",
        "refund_line_items": list(lines),
        "transactions": [{"kind": "refund", "status": "success", "currency": "EUR", "amount": "1.00"}],
    } | over


def back(subtotal: object, item: dict[str, Any], **over: Any) -> dict[str, Any]:
    return {"subtotal": subtotal, "line_item": item} | over


@pytest.mark.parametrize("seed", range(6))
def test_a_year_in_any_order_and_twice_is_what_the_orders_come_to_and_its_file_changes_nothing(seed: int) -> None:
    year = Year(seed)
    deliveries = [payload for _, payload in year.deliveries * 2]
    year.random.shuffle(deliveries)
    of_file = rows_of(year.export)
    expected = {vendor: Decimal(cents).scaleb(-2) for vendor, cents in year.net.items()}
    for before in (0, len(deliveries) // 2, len(deliveries)):
        ledger = SmallLedger()
        for payload in deliveries[:before]:
            for one in of_text(payload).events:
                ledger.add(one)
        for one in of_file:
            ledger.add(one)
        for payload in deliveries[before:]:
            for one in of_text(payload).events:
                ledger.add(one)
        assert ledger.conflicts == []
        assert ledger.held == []
        assert ledger.net() == expected
    assert len(of_file) > year.orders // 2, "the file has most items, too"
    assert any(one["type"] == VOID for one in of_file)


def test_an_order_has_a_sale_for_each_item_after_its_discounts_by_the_money_of_the_shop() -> None:
    found = mapped(
        order(
            line(
                price="1.00",
                price_set=money_set(1250),
                discount_allocations=[{"amount": "9", "amount_set": money_set(301)}],
            ),
            line(id=12, sku="BAG", name="Bag", vendor="Elm", price=89.95, quantity=1, total_discount="9.95"),
        )
    )
    bag = f"1:{key_of(('BAG', 'Bag', 'Elm'))}"
    assert shown(found) == [(MUG, SALE, "Oak", "21.99"), (bag, SALE, "Elm", "80.00")]
    assert found.events[0] == {
        "specversion": "1.0",
        "source": "shopify-orders",
        "id": MUG,
        "type": SALE,
        "subject": "Oak",
        "runningtotal": "yes",
        "time": "2026-10-01T10:00:00Z",
        "data": {"amount": "21.99", "currency": "EUR", "order_id": "1001", "line": MUG[2:], "product": "MUG"},
    }


def test_equal_items_are_one_sale_to_which_each_of_their_refunds_refers() -> None:
    assert shown(mapped(order(line(), line(id=12, quantity=1)))) == [(MUG, SALE, "Oak", "37.50")]
    found = mapped(refund(back("12.50", line(id=12)), back(25.0, line())))
    assert shown(found) == [(f"{MUG}:refund:5", REFUND, "Oak", "-37.50")]
    assert found.events[0]["data"]["refers_to"] == MUG


def test_ids_beyond_what_a_float_holds_are_exact() -> None:
    found = mapped(order(line(), id=BASE))
    assert found.events[0]["id"] == f"{BASE}:{MUG[2:]}"
    assert mapped(refund(back("1", line()), id=BASE + 2, order_id=BASE)).events[0]["id"].endswith(f":{BASE + 2}")


def test_what_is_no_item_is_left_out_by_name() -> None:
    found = mapped(
        order(
            line(),
            line(sku="", name="Card", gift_card=True, price="50", quantity=1),
            line(sku="", name="Tip", tip={"payment_gateway": "x"}, price="3", quantity=1),
            shipping_lines=[{"price": "4.90"}, {"price": "9", "is_removed": True}],
            total_tax="1.10",
            original_total_duties_set=money_set(200),
            total_tip_received="2.00",
        )
    )
    assert shown(found) == [(MUG, SALE, "Oak", "25.00")]
    assert {one.rule: one.amounts for one in found.excluded} == {
        "gift cards": {"EUR": Decimal(50)},
        "tips": {"EUR": Decimal("5.00")},
        "shipping": {"EUR": Decimal("4.90")},
        "taxes": {"EUR": Decimal("1.10")},
        "duties": {"EUR": Decimal("2.00")},
    }


TAXED: Final = {"tax_lines": [{"price": "3.99"}]}


@pytest.mark.parametrize(
    ("included", "settings", "amount", "tax", "shipping"),
    [
        (False, {}, "25.00", None, None),
        (True, {}, "25.00", None, None),
        (False, {"with_tax": False}, "25.00", None, None),
        (True, {"with_tax": False}, "21.01", None, None),
        (False, {"with_tax": True}, "28.99", "3.99", None),
        (True, {"with_tax": True}, "25.00", "3.99", None),
        (True, {"with_tax": True, "with_shipping": True}, "31.00", "4.95", "5.04"),
        (False, {"with_tax": True, "with_shipping": True}, "35.95", "4.95", "6.00"),
        (True, {"with_tax": False, "with_shipping": True}, "26.05", None, "5.04"),
        (False, {"with_shipping": True}, "31.00", None, "6.00"),
        (True, {"with_shipping": True}, "31.00", None, "6.00"),
    ],
)
def test_tax_and_shipping_are_in_the_amounts_or_not(
    *, included: bool, settings: dict[str, bool], amount: str, tax: str | None, shipping: str | None
) -> None:
    lines = [{"price": "6.00", "tax_lines": [{"price": "0.96"}]}]
    payload = order(line(**TAXED), taxes_included=included, shipping_lines=lines, total_tax="4.95")
    by = VENDOR._replace(**settings)  # type: ignore[arg-type]
    [sale] = mapped(payload, by).events
    data = sale["data"]
    assert (data["amount"], data.get("tax"), data.get("shipping")) == (amount, tax, shipping)


def test_shipping_falls_on_the_items_to_the_last_cent() -> None:
    lines = [line(sku=str(number), quantity=1, price="1.00") for number in range(3)]
    found = mapped(order(*lines, shipping_lines=[{"price": "1.00"}]), VENDOR._replace(with_shipping=True))
    assert sorted(one["data"]["shipping"] for one in found.events) == ["0.33", "0.33", "0.34"]


@pytest.mark.parametrize(
    ("status", "rule"),
    [("pending", "not paid"), ("authorized", "not paid"), ("partially_paid", "paid in part"), ("voided", "voided")],
)
def test_an_order_that_is_not_paid_is_left_out_whatever_its_topic(status: str, rule: str) -> None:
    found = mapped(order(line(), financial_status=status, total_price="25.00"))
    assert list(found.events) == []
    assert [(one.rule, one.amounts) for one in found.excluded] == [(rule, {"EUR": Decimal("25.00")})]


def test_test_orders_are_left_out_unless_the_connection_takes_them() -> None:
    payload = order(line(), test=True)
    assert (list(mapped(payload).events), mapped(payload).excluded[0].rule) == ([], "test orders")
    assert len(mapped(payload, VENDOR._replace(with_test=True)).events) == 1
    tried = refund(
        back("1", line()), transactions=[{"test": True, "status": "success", "currency": "EUR", "amount": "1"}]
    )
    assert mapped(tried).excluded[0].rule == "test orders"


def test_a_cancelled_order_is_voided_unless_it_was_refunded() -> None:
    cancelled = order(line(), cancelled_at="2026-10-03T00:00:00Z", cancel_reason="fraud")
    found = mapped(cancelled)
    assert shown(found) == [(MUG, SALE, "Oak", "25.00"), (f"{MUG}:cancelled", VOID, "Oak", None)]
    assert found.events[1]["data"] == {"currency": "EUR", "refers_to": MUG, "reason": "cancelled"}
    refunded = mapped(cancelled | {"refunds": [{"id": 5}], "financial_status": "refunded"})
    assert shown(refunded) == [(MUG, SALE, "Oak", "25.00")]


def test_a_refund_of_less_or_more_than_its_items_is_what_was_paid_back() -> None:
    bag = line(sku="BAG", name="Bag", vendor="Elm")
    items = back("25.00", line()), back("75.00", bag)
    less = mapped(refund(*items, order_adjustments=[{"kind": "refund_discrepancy", "amount": "10.00"}]))
    assert [one["data"]["amount"] for one in less.events] == ["-22.50", "-67.50"]
    more = mapped(refund(*items, order_adjustments=[{"kind": "refund_discrepancy", "amount": "-8.00"}]))
    assert [(one["subject"], one["data"]["amount"], "refers_to" in one["data"]) for one in more.events] == [
        ("Oak", "-25.00", True),
        ("Elm", "-75.00", True),
        ("Oak", "-2.00", False),
        ("Elm", "-6.00", False),
    ]


def test_shipping_that_is_refunded_is_left_out_or_a_refund_of_the_order() -> None:
    payload = refund(back("25.00", line()), order_adjustments=[{"kind": "shipping_refund", "amount": "-4.90"}])
    out = mapped(payload)
    assert [(one.rule, one.amounts) for one in out.excluded] == [("shipping refunds", {"EUR": Decimal("-4.90")})]
    within = mapped(payload, VENDOR._replace(with_shipping=True))
    assert [one["data"]["amount"] for one in within.events] == ["-25.00", "-4.90"]


def test_a_refund_of_no_item_needs_an_agency_of_the_whole_shop() -> None:
    payload = refund(order_adjustments=[{"kind": "refund_discrepancy", "amount": "-10.00"}])
    assert mapped(payload).problem == "10.00 are refunded of no item, so that no agency is known"
    found = mapped(payload, MapSettings(AgencyRule(fixed="42")))
    assert shown(found) == [("1:refund:5:1", REFUND, "42", "-10.00")]
    assert shown(mapped(refund(), MapSettings(AgencyRule(fixed="42")))) == [("1:refund:5:1", REFUND, "42", "-1.00")]


def test_a_refund_that_failed_or_is_of_nothing_is_left_out() -> None:
    failed = [{"status": "failure", "currency": "EUR", "amount": "5.00"}]
    assert mapped(refund(back("5.00", line()), transactions=failed)).excluded[0].rule == "refunds that failed"
    assert mapped(refund(transactions=[])).excluded[0].rule == "refunds of nothing"


@pytest.mark.parametrize(
    ("with_tax", "paid", "amount"),
    [(True, "11.90", "-11.90"), (True, "10.00", "-10.00"), (False, "11.90", "-10.00"), (False, "10.00", "-8.10")],
)
def test_the_money_paid_back_shows_whether_prices_have_their_tax_in_them(
    *, with_tax: bool, paid: str, amount: str
) -> None:
    transactions = [{"status": "success", "currency": "EUR", "amount": paid}]
    payload = refund(back("10.00", line(), total_tax="1.90"), transactions=transactions)
    [one] = mapped(payload, VENDOR._replace(with_tax=with_tax)).events
    assert one["data"]["amount"] == amount
    nothing = payload | {"transactions": [], "order_adjustments": [{"amount_set": money_set(0)}]}
    unclear = mapped(nothing, VENDOR._replace(with_tax=with_tax))
    assert unclear.problem is not None
    assert "does not show" in unclear.problem


def test_the_agency_is_fixed_or_a_field() -> None:
    assert mapped(order(line())).events[0]["subject"] == "Oak"
    assert mapped(order(line(vendor=None))).problem == "there is no vendor, which names the agency"
    assert mapped(order(line(vendor=None)), MapSettings(AgencyRule(fixed="7"))).events[0]["subject"] == "7"
    by_property = MapSettings(AgencyRule(field="seller"))
    payload = line(properties=[{"name": "seller", "value": "9"}])
    assert mapped(order(payload), by_property).events[0]["subject"] == "9"
    assert "subject" not in mapped(refund(back("1", line())), by_property).events[0], "that of its sale"


def test_an_order_edit_is_nothing_by_itself() -> None:
    found = mapped({"order_edit": {"id": 1, "line_items": {"additions": [{"id": 3, "delta": 1}], "removals": []}}})
    assert (list(found.events), len(found.excluded), found.problem) == ([], 1, None)


BROKEN: Final[tuple[object, ...]] = (None, True, [], {}, "", "x", -1, "1e5", [1], {"a": 1}, "9" * 60)


@pytest.mark.parametrize("payload", [order(line()), refund(back("1.00", line()))], ids=["order", "refund"])
def test_whatever_a_payload_holds_is_mapped_or_a_problem(payload: dict[str, Any]) -> None:
    for name, value in permutations([*payload, *BROKEN], 2):
        if isinstance(name, str) and name in payload:
            found = mapped(payload | {name: value})
            assert isinstance(found, Mapped)
    for name in line():
        for value in BROKEN:
            item = line(**{name: value})
            assert isinstance(mapped(order(item)), Mapped)
            assert isinstance(mapped(refund(back(value, item))), Mapped)
    for value in BROKEN:
        assert mapped(value).problem
