"""The form of a rate card: what it holds is the content that the ledger reads, and the content in words."""

import json
from typing import Any

import pytest

from quarterhour.model import exact_json
from quarterhour.registry.rate_cards.rate_card import RateCard, read_rate_card
from tests.support.console_modules import NEEDS_NODE, evaluated

pytestmark = NEEDS_NODE

FIELDS = "agencies/rate-card-content.js"
WORDS = "lib/rate-words.js"
BEGIN = [("valid_from", "2026-11-01T00:00"), ("valid_to", "")]
ALL = [("product", ""), ("category", ""), ("location", ""), ("currency", "")]
PERCENT = [("charge", "commission"), ("kind", "percent"), ("percent", "12.5"), ("fixed", ""), ("minimum", "")]
USUAL = [("maximum", ""), ("of", "amount"), ("fixed_per", "item"), ("refund", "share"), ("decimals", "")]


def content_of(*fields: tuple[str, str]) -> Any:
    """Return the content that a form with these fields holds, which the ledger reads."""
    entries = json.dumps([*BEGIN, *fields])
    form = "((all) => ({ get: (name) => (all.find(([one]) => one === name) || [])[1] ?? null, "
    form += f"[Symbol.iterator]: () => all[Symbol.iterator]() }}))({entries})"
    content = evaluated(FIELDS, f"module.contentOf({form})")
    assert isinstance(read_rate_card(exact_json.parse(json.dumps(content))), RateCard), content
    return content["rules"]


def test_a_percentage_alone_is_written_in_its_short_form() -> None:
    assert content_of(*ALL, *PERCENT, *USUAL) == [{"percent": "12.5"}]


def test_charges_tiers_and_fees_of_the_month_are_read_in_the_order_of_the_form() -> None:
    books = [("product", ""), ("category", "books | maps"), ("location", "GB"), ("currency", "GBP")]
    fee = [("charge", "fee"), ("kind", "percent"), ("percent", "1.4"), ("fixed", "0.25"), ("of", "net")]
    kept = [("fixed_per", "order"), ("refund", "keep"), ("decimals", "2")]
    tiers = [("charge", "commission"), ("kind", "tiers"), ("of", "amount"), ("tiers_per", "month")]
    steps = [
        ("tiers_of", "account"),
        ("tiers_mode", "volume"),
        ("from", "0"),
        ("percent", "12"),
        ("from", "10"),
        ("percent", "8"),
    ]
    listing = [("charge", "listing"), ("kind", "fee"), ("amount", "39.00"), ("part_months", "by_days")]
    pounds = [*ALL[:3], ("currency", "GBP")]
    assert content_of(*books, *PERCENT, *USUAL, *fee, *kept, *ALL, *tiers, *steps, *pounds, *listing) == [
        {
            "category": ["books", "maps"],
            "location": "GB",
            "currency": "GBP",
            "charges": [
                {"name": "commission", "percent": "12.5"},
                {
                    "name": "fee",
                    "percent": "1.4",
                    "fixed": "0.25",
                    "of": "net",
                    "fixed_per": "order",
                    "refund": "keep",
                    "decimals": 2,
                },
            ],
        },
        {
            "charges": [
                {
                    "name": "commission",
                    "tiers": {
                        "steps": [{"from": "0", "percent": "12"}, {"from": "10", "percent": "8"}],
                        "per": "month",
                        "of": "account",
                        "mode": "volume",
                    },
                }
            ]
        },
        {
            "currency": "GBP",
            "charges": [{"name": "listing", "per": "month", "amount": "39.00", "part_months": "by_days"}],
        },
    ]


STEPS = [{"from": "0", "percent": "12"}, {"from": "1000", "percent": "10"}]


@pytest.mark.parametrize(
    ("charge", "words"),
    [
        ({"percent": "8", "of": "net", "minimum": "0.50"}, "8 % without tax, 0.50 at least"),
        (
            {"percent": "1.4", "fixed": "0.25", "fixed_per": "order", "refund": "keep"},
            "1.4 %, 0.25 an order, kept on refunds",
        ),
        ({"amount": "39.00", "per": "month"}, "39.00 a month"),
        ({"minimum": "50.00", "per": "month"}, "50.00 a month at least"),
        (
            {"tiers": {"per": "quarter", "of": "group", "mode": "graduated", "steps": STEPS}},
            (
                "12 % from 0, 10 % from 1,000 of turnover of the group in a quarter of the calendar, "
                "each part at its own rate"
            ),
        ),
    ],
)
def test_a_charge_is_shown_in_words(charge: dict[str, Any], words: str) -> None:
    assert evaluated(WORDS, f"module.chargeWords({json.dumps(charge)})") == words
