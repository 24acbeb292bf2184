"""Fees that an order pays once, under crashes: exactly once as long as a line stands, and not at all after that."""

import json
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from itertools import count

import pytest

from quarterhour_tools.emulator.http_api import Request
from tests.invariants.crashing import Crashes
from tests.invariants.trial import Trial, on_trial
from tests.support.events import refund, sale, void

FEE = {"name": "payment fee", "percent": "0", "fixed": "0.25", "fixed_per": "order"}
CHARGES = [{"name": "commission", "percent": "10"}, FEE]


@pytest.fixture
def place() -> Iterator[Trial]:
    with on_trial() as made:
        rules = [{"currency": "GBP", "charges": CHARGES}]
        body = json.dumps({"seen": 0, "content": {"valid_from": "2026-01-01T00:00:00Z", "rules": rules}}).encode()
        put = Request("PUT", "/documents/rate-card:42", headers=(("content-type", "application/json"),), body=body)
        assert made.stack.request(put).status == 201
        yield made


def test_an_ingest_may_die_at_any_call_and_each_order_pays_its_fee_once(place: Trial, crashes: Crashes) -> None:
    numbers = count()
    expected: dict[str, Decimal] = {}

    def prepare(place: Trial) -> None:
        place.stack.cold_start("ingest")

    def act(place: Trial) -> None:
        n = next(numbers)
        kept, gone = f"k{n}", f"g{n}"
        lines = [sale(f"{order}{one}", "10.00", order_id=order) for order in (kept, gone) for one in "ab"]
        voids = [void(f"v{one}", one) for one in (f"{kept}a", f"{gone}a", f"{gone}b")]
        place.send([*lines, refund(f"r{kept}", "-4", f"{kept}b"), *voids])
        expected.update({kept: Decimal("0.25"), gone: Decimal(0)})

    crashes.at_each_call("ingest of orders that pay a fee once", place, prepare, act, lambda place: place.send_again())
    order_of: dict[str, str] = {}
    paid: defaultdict[str, Decimal] = defaultdict(Decimal)
    posted = place.ledger()
    for item in posted:
        order_of[item["id"]] = item.get("order_id", "")
    for item in posted:
        named = dict(one.split(":") for one in item["charges"].split(";"))
        paid[order_of[item.get("refers_to") or item["id"]]] += Decimal(named.get("payment fee", 0))
    assert {order: Decimal(paid[order]) for order in expected} == expected
