"""Payloads with anything anywhere: a map makes events or says what is wrong, and never fails otherwise."""

import json
import random
from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Final

import pytest

from quarterhour.file_formats.webhooks.accounts import completed
from quarterhour.file_formats.webhooks.delivery import AgencyRule, Delivery, MapSettings, Provider
from quarterhour.file_formats.webhooks.maps import events_of
from quarterhour.file_formats.webhooks.payload import PayloadError
from quarterhour.ledger.events.event import read_event
from quarterhour.model import exact_json
from tests.support.shop_year import Year

MUTATIONS: Final = 800
VALUES: Final[list[Any]] = [
    *(None, True, False, 0, -1, 1.5, 10**40, 1e300, 1e-30, "", "x", "-5", "1e5", "NaN", "9" * 60, "\ud800", "\u200b"),
    *([], {}, [1], [{}], [[]], {"amount": "x"}, {"shop_money": {"amount": "1e9", "currency_code": "XXX"}}),
    *("2026-13-01", "0." + "0" * 37 + "1", "1" * 38, "2026-10-01T00:00:00Z", "paid", "failed", "completed"),
]
STRIPE: Final = {
    "livemode": True,
    "account": "acct_1",
    "data": {
        "object": {
            "object": "charge",
            "id": "ch_1",
            "amount": 9000,
            "amount_captured": 8000,
            "captured": True,
            "created": 1_790_841_600,
            "currency": "eur",
            "metadata": {"order_id": "A-1"},
            "status": "succeeded",
            "refunds": {
                "data": [
                    {
                        "object": "refund",
                        "id": "re_1",
                        "charge": {"id": "ch_1"},
                        "amount": 2500,
                        "created": 1_790_841_600,
                        "currency": "eur",
                        "status": "failed",
                    }
                ]
            },
        }
    },
}
WOOCOMMERCE: Final = {
    "id": 11,
    "number": "1001",
    "status": "processing",
    "currency": "EUR",
    "date_created_gmt": "2026-10-01T08:15:00",
    "total": "47.00",
    "total_tax": "3.80",
    "line_items": [{"id": 1, "sku": "A", "total": "20.00", "meta_data": [{"key": "vendor", "value": 7}]}],
    "shipping_lines": [{"total": "4.90", "total_tax": "0.93"}],
    "fee_lines": [{"total": "1.00"}],
    "refunds": [{"id": 1, "total": "-1"}],
}


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of each value within a value."""
    yield place
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from places(one, (*place, key))


def changed(pick: random.Random, text: str) -> Any:
    """Return a payload with a few values replaced."""
    payload = json.loads(text)
    for _ in range(pick.choice([1, 1, 2, 4])):
        *way, last = pick.choice([one for one in places(payload) if one] or [(None,)])
        holder = payload
        for key in way:
            holder = holder[key]
        if last is not None:
            holder[last] = deepcopy(pick.choice(VALUES))
    return exact_json.parse(json.dumps(payload))


@pytest.mark.parametrize("provider", [Provider.SHOPIFY, Provider.STRIPE, Provider.WOOCOMMERCE])
def test_a_payload_becomes_events_or_a_problem(provider: Provider) -> None:
    pick = random.Random(1)  # noqa: S311 - made-up payloads
    shopify = [payload for _, payload in Year(7, orders=6).deliveries]
    texts = {Provider.STRIPE: [json.dumps(STRIPE)], Provider.WOOCOMMERCE: [json.dumps(WOOCOMMERCE)]}
    rules = [AgencyRule("42"), AgencyRule(field="vendor"), AgencyRule(field="a..b", is_external=True), AgencyRule()]
    made = 0
    for _ in range(MUTATIONS):
        payload = changed(pick, pick.choice(texts.get(provider, shopify)))
        tax, shipping, test = pick.choice([None, True, False]), pick.random() < 0.5, pick.random() < 0.5
        settings = MapSettings(pick.choice(rules), with_tax=tax, with_shipping=shipping, with_test=test)
        found = events_of(Delivery(provider, "", payload, settings))
        try:
            events = completed(found.events, {})
        except PayloadError:
            continue
        for event in events:
            read_event(event)
            made += 1
    assert made > MUTATIONS // 20
