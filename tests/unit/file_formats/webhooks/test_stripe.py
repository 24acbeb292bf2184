"""Stripe's webhooks: their events, and that the export file of payments has the same."""

import io
import random
from decimal import Decimal
from typing import Any, Final

import pytest

from quarterhour.file_formats.csv.events import converted
from quarterhour.file_formats.csv.lines import numbered
from quarterhour.file_formats.csv.map import load_map
from quarterhour.file_formats.csv.summary import ConvertedRow
from quarterhour.file_formats.csv.table import read_table
from quarterhour.file_formats.webhooks.delivery import AgencyRule, Delivery, Mapped, MapSettings, Provider
from quarterhour.file_formats.webhooks.maps import events_of
from quarterhour.model import exact_json
from quarterhour_tools.csv.maps import read_map
from tests.support.small_ledger import SmallLedger

SALE, REFUND, VOID = "sale.recorded", "sale.refunded", "sale.voided"
FIXED: Final = MapSettings(AgencyRule(fixed="42"))
CREATED: Final = 1_790_841_600
"""2026-10-01T08:00:00Z."""


def mapped(thing: dict[str, Any], settings: MapSettings = FIXED, **over: Any) -> Mapped:
    payload = {"id": "evt_1", "object": "event", "livemode": True, "type": "any", "data": {"object": thing}} | over
    return events_of(Delivery(Provider.STRIPE, "", exact_json.parse(exact_json.write(payload)), settings))


def charge(**over: Any) -> dict[str, Any]:
    return {
        "object": "charge",
        "id": "ch_1",
        "amount": 9000,
        "amount_captured": 9000,
        "captured": True,
        "created": CREATED,
        "currency": "eur",
        "livemode": True,
        "metadata": {"order_id": "A-1"},
        "status": "succeeded",
    } | over


def refund(**over: Any) -> dict[str, Any]:
    return {
        "object": "refund",
        "id": "re_1",
        "charge": "ch_1",
        "amount": 2500,
        "created": CREATED + 60,
        "currency": "eur",
        "status": "succeeded",
        "reason": "requested_by_customer",
    } | over


def dispute(**over: Any) -> dict[str, Any]:
    return {**refund(), "object": "dispute", "id": "dp_1", "reason": "fraudulent", "status": "lost"} | over


def shown(found: Mapped) -> list[tuple[str, str, str | None, str | None]]:
    assert found.problem is None
    return [(one["id"], one["type"], one["data"].get("amount"), one["data"].get("refers_to")) for one in found.events]


def rules(found: Mapped) -> list[tuple[str, dict[str, Decimal]]]:
    assert (found.problem, list(found.events)) == (None, [])
    return [(one.rule, dict(one.amounts)) for one in found.excluded]


COLUMNS: Final = (
    "id,Created date (UTC),Amount,Amount Refunded,Currency,Status,Dispute Status,Disputed Amount,Dispute Date (UTC),"
    "order_id (metadata)"
)


def cents(number: int) -> str:
    return str(Decimal(number).scaleb(-2))


def converted_file(rows: str) -> list[ConvertedRow]:
    csv_map = load_map(read_map("stripe_payments"))
    text = io.StringIO(f"{COLUMNS}\n{rows}\n", newline="")
    table = read_table(numbered(text), csv_map.file, csv_map.used_by)
    return list(converted(table, csv_map, {"agency": "42", "webhooks": "yes"}))


def test_a_charge_is_the_sale_of_the_export_file() -> None:
    [row] = converted_file("ch_1,2026-10-01 08:00:00,90.00,25.00,eur,Disputed,lost,25.00,2026-10-01 08:01:00,A-1")
    [sale] = mapped(charge()).events
    [of_dispute] = mapped(dispute()).events
    assert [one.body for one in row.events] == [sale, of_dispute]
    assert row.left_out == (("refunds, which the webhooks have one by one", {"EUR": Decimal("-25.00")}),)


@pytest.mark.parametrize(
    ("currency", "units", "amount"),
    [("usd", 5, "0.05"), ("jpy", 500, "500"), ("kwd", 12345, "12.345"), ("mga", 7, "7.00"), ("isk", 500, "5")],
)
def test_amounts_are_in_the_smallest_unit_of_their_currency(currency: str, units: int, amount: str) -> None:
    assert shown(mapped(charge(currency=currency, amount=units, amount_captured=units)))[0][2] == amount


@pytest.mark.parametrize(
    ("over", "rule"),
    [
        ({"status": "failed"}, "failed"),
        ({"status": "pending"}, "pending"),
        ({"captured": False}, "not captured"),
        ({"livemode": False}, "test mode"),
    ],
)
def test_a_charge_that_took_no_money_is_left_out(over: dict[str, Any], rule: str) -> None:
    assert rules(mapped(charge(**over))) == [(rule, {"EUR": Decimal("90.00")})]


def test_a_capture_of_less_gives_the_rest_back() -> None:
    assert shown(mapped(charge(amount_captured=6000))) == [
        ("ch_1", SALE, "90.00", None),
        ("ch_1:uncaptured", REFUND, "-30.00", "ch_1"),
    ]


def test_a_refund_that_succeeded_counts_and_one_that_is_undone_is_voided() -> None:
    counted = ("re_1", REFUND, "-25.00", "ch_1")
    assert shown(mapped(refund())) == [counted]
    for status in ("failed", "canceled"):
        assert shown(mapped(refund(status=status))) == [counted, ("re_1:undone", VOID, None, "re_1")]
    for status in ("pending", "requires_action"):
        assert rules(mapped(refund(status=status))) == [("refunds that are pending", {"EUR": Decimal("25.00")})]
    assert rules(mapped(refund(charge=None))) == [("refunds of no charge", {"EUR": Decimal("25.00")})]
    assert mapped(refund(status="odd")).problem == "the status of the refund is 'odd', which is not known"


def test_a_dispute_is_a_refund_until_it_is_won() -> None:
    counted = ("ch_1:dispute", REFUND, "-25.00", "ch_1")
    for status in ("needs_response", "under_review", "lost"):
        assert shown(mapped(dispute(status=status))) == [counted]
    assert shown(mapped(dispute(status="won"))) == [counted, ("ch_1:dispute:undone", VOID, None, "ch_1:dispute")]
    assert rules(mapped(dispute(status="warning_closed"))) == [("inquiries", {"EUR": Decimal("25.00")})]


def test_a_refunded_charge_has_the_refunds_that_it_lists() -> None:
    listed = charge(refunds={"object": "list", "data": [refund(), refund(id="re_2", amount=100, status="pending")]})
    found = mapped(listed, type="charge.refunded", api_version="2020-08-27")
    assert shown(found) == [("ch_1", SALE, "90.00", None), ("re_1", REFUND, "-25.00", "ch_1")]
    assert shown(mapped(charge(), type="charge.refunded", api_version="2025-01-27.acacia")) == [
        ("ch_1", SALE, "90.00", None)
    ]
    old = mapped(charge(), type="charge.refunded", api_version="2023-10-16").problem
    assert old == "version 2023-10-16 of the API has no event for a refund: use 2024-10-28 or later"


def test_the_agency_is_fixed_or_the_account_of_connect_or_in_the_metadata() -> None:
    by_account = MapSettings(AgencyRule(field="account"))
    assert mapped(charge(), by_account, account="acct_9").events[0]["subject"] == "acct_9"
    assert mapped(refund(), by_account, account="acct_9").events[0]["subject"] == "acct_9"
    by_destination = MapSettings(AgencyRule(field="transfer_data.destination"))
    assert mapped(charge(transfer_data={"destination": "acct_7"}), by_destination).events[0]["subject"] == "acct_7"
    assert "subject" not in mapped(refund(), by_destination).events[0], "that of its charge"
    by_seller = MapSettings(AgencyRule(field="metadata.seller"))
    assert mapped(charge(metadata={"seller": "12"}), by_seller).events[0]["subject"] == "12"
    assert mapped(charge(), by_seller).problem == "there is no metadata.seller, which names the agency"


def test_events_of_other_objects_are_left_out() -> None:
    assert rules(mapped({"object": "payout", "amount": 5})) == [
        ("events of other objects than charges, refunds and disputes", {})
    ]
    broken: list[dict[str, Any]] = [{}, {"data": {}}, {"data": {"object": 5}}]
    for payload in broken:
        assert (
            events_of(Delivery(Provider.STRIPE, "", payload, FIXED)).problem == "the payload is no event with an object"
        )


@pytest.mark.parametrize("seed", range(12))
def test_a_year_in_any_order_and_twice_is_what_the_payments_come_to(seed: int) -> None:
    pick = random.Random(seed)  # noqa: S311 - made-up payments
    deliveries: list[dict[str, Any]] = []
    rows: list[str] = []
    net = 0
    for number in range(80):
        id_, amount = f"ch_{number}", pick.randint(2, 9999)
        paid = charge(id=id_, amount=amount, amount_captured=amount)
        deliveries += [charge(id=id_, amount=amount, captured=False), paid] if pick.random() < 0.3 else [paid]
        net += amount
        back = pick.randint(1, amount)
        over = {"charge": id_, "id": f"re_{number}", "amount": back}
        what = pick.choice(["none", "refund", "failed", "won", "lost"])
        if what in {"refund", "failed"}:
            deliveries += [refund(**over, status="pending"), refund(**over)]
            deliveries += [refund(**over, status="failed")] if what == "failed" else []
        if what in {"won", "lost"}:
            deliveries += [dispute(**over, status="needs_response"), dispute(**over, status=what)]
        net -= back if what in {"refund", "lost"} else 0
        refunded = cents(back) if what == "refund" else "0.00"
        disputed = f"{what},{cents(back)},2026-10-01 08:01:00" if what in {"won", "lost"} else ",,"
        rows.append(f"{id_},2026-10-01 08:00:00,{cents(amount)},{refunded},eur,Paid,{disputed},A-1")
    twice = deliveries * 2
    pick.shuffle(twice)
    of_webhooks = [event for one in twice for event in mapped(one).events]
    of_file = [event.body for row in converted_file("\n".join(rows)) for event in row.events]
    half = len(of_webhooks) // 2
    for history in (of_webhooks, of_file + of_webhooks, of_webhooks[:half] + of_file + of_webhooks[half:]):
        ledger = SmallLedger()
        for event in history:
            ledger.add(event)
        assert (ledger.conflicts, ledger.held) == ([], [])
        assert ledger.net() == {"42": Decimal(net).scaleb(-2)}


def test_whatever_a_payload_holds_is_mapped_or_a_problem() -> None:
    for thing in (charge(), refund(), dispute(status="won")):
        for name in thing:
            for value in (None, True, [], {}, "", "x", -1, 1.5, "9" * 60, [1], {"a": 1}):
                assert isinstance(mapped(thing | {name: value}), Mapped)
