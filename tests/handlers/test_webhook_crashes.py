"""A function that dies at any of its calls while it takes a shop's webhooks: the provider sends them again."""

from contextlib import suppress
from decimal import Decimal
from typing import Any, Final

import pytest

from quarterhour.file_formats.webhooks.delivery import Provider
from quarterhour_tools.emulator.faults import FaultKind, Faults, Killed, Spec
from tests.support.connections import connect, deliver, state
from tests.support.system import World, opened
from tests.support.tables import ledger

CALLS: Final = 24
"""More than taking an order and its refund has."""
ITEMS: Final = [
    {"sku": sku, "name": sku, "vendor": vendor, "price": "10.00", "quantity": 2}
    for sku, vendor in (("MUG", "Oak"), ("BAG", "Elm"), ("MUG", "Oak"))
]


def order(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "name": f"#{number}",
        "currency": "EUR",
        "created_at": "2026-10-01T12:00:00+02:00",
        "financial_status": "paid",
        "line_items": ITEMS,
    }


def refund(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "order_id": number,
        "created_at": "2026-10-02T12:00:00+02:00",
        "refund_line_items": [{"subtotal": 5.5, "line_item": one} for one in ITEMS],
        "transactions": [{"currency": "EUR", "status": "success", "amount": "16.50"}],
    }


def take(world: World, number: int) -> None:
    """Deliver a refund and then its order."""
    for payload in (refund(number), order(number)):
        deliver(world, payload, provider=Provider.SHOPIFY)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [FaultKind.KILL_BEFORE, FaultKind.KILL_AFTER])
def test_each_delivery_counts_once_whatever_dies(kind: FaultKind) -> None:
    with Faults(Spec.parse("")).installed() as faults, opened({"Intake": "queue"}) as world:
        connect(world, provider=Provider.SHOPIFY, agency={"field": "vendor"})
        for number in range(1, CALLS + 1):
            faults.arm(kind, number - 1)
            with suppress(Killed), faults.at_work():
                take(world, number)
            faults.disarm()
            take(world, number)
        assert faults.struck
        world.stack.invoke("watch", {})
        found: dict[str, Decimal] = {}
        for one in ledger(world):
            found[one["agency"]] = found.get(one["agency"], Decimal(0)) + Decimal(one["amount"])
        assert found == {"Oak": Decimal("29.00") * CALLS, "Elm": Decimal("14.50") * CALLS}
        assert state(world)["parked"] == 0
        assert world.read("/held")["items"] == []
