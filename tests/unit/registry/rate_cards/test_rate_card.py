"""Rate cards: their schema, and the rule that covers an event."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given

from quarterhour.model import exact_json
from quarterhour.registry.rate_cards.rate_card import MAX_RULES, RateCard, Rule, Sold, rate_card_of, read_rate_card
from tests.support.cases import cases
from tests.unit.registry.rate_cards.builders import OCTOBER, any_sold, content, rate_card, rate_cards, sold

FULL = {
    "percent": "8.5",
    "category": "books",
    "location": "GB#London",
    "currency": "GBP",
    "fixed": "0.30",
    "minimum": "0.50",
    "maximum": "20",
}


def test_a_rate_card_is_read_with_every_field_of_a_rule() -> None:
    (rule,) = rate_card(FULL).rules
    assert rate_card(FULL).valid_from == OCTOBER
    assert rule == Rule(Decimal("8.5"), "books", "GB#London", "GBP", Decimal("0.30"), Decimal("0.50"), Decimal(20))
    assert rule.as_dict() == FULL


def test_json_numbers_are_read_exactly() -> None:
    read = read_rate_card(
        exact_json.parse('{"valid_from": "2026-10-01T00:00:00Z", "rules": [{"percent": 0.1000000000}]}')
    )
    assert isinstance(read, RateCard)
    assert str(read.rules[0].percent) == "0.1000000000"


@pytest.mark.parametrize(
    ("said", "shown"), [({}, {}), ({"refund_fixed": True}, {}), ({"refund_fixed": False}, {"refund_fixed": False})]
)
def test_a_rule_with_a_fixed_fee_says_if_refunds_keep_it(said: dict[str, bool], shown: dict[str, bool]) -> None:
    plain, fee = {"percent": "1"}, {"percent": "2", "currency": "GBP", "fixed": "0.30"}
    read = read_rate_card({**content(plain, fee), **said})
    assert isinstance(read, RateCard)
    assert [rule.as_dict() for rule in read.rules] == [plain, {**fee, **shown}]


BAD: dict[str, tuple[Any, str]] = {
    "no object": ([], "content"),
    "nothing": ({}, "content.valid_from"),
    "no rules": (content() | {"rules": []}, "content.rules"),
    "too many rules": (content(*[{"percent": "1", "category": str(n)} for n in range(MAX_RULES + 1)]), "content.rules"),
    "an instant without an offset": (content(valid_from="2026-10-01T00:00:00"), "content.valid_from"),
    "a word for yes": (content() | {"refund_fixed": "no"}, "content.refund_fixed"),
    "a field more": (content() | {"name": "autumn"}, "content.name"),
    "a rule that is not an object": (content() | {"rules": ["10 %"]}, "content.rules[0]"),
    "no percent": (content({"category": "books"}), "content.rules[0].percent"),
    "more than everything": (content({"percent": "100.1"}), "content.rules[0].percent"),
    "less than nothing": (content({"percent": "-1"}), "content.rules[0].percent"),
    "a percent too fine": (content({"percent": "1.12345678901"}), "content.rules[0].percent"),
    "a percent sign": (content({"percent": "10%"}), "content.rules[0].percent"),
    "an unknown condition": (content({"percent": "1", "color": "red"}), "content.rules[0].color"),
    "an empty part of a place": (content({"percent": "1", "location": "GB#"}), "content.rules[0].location"),
    "no currency that is one": (content({"percent": "1", "currency": "XYZ"}), "content.rules[0].currency"),
    "a fee of no currency": (content({"percent": "1", "fixed": "0.30"}), "content.rules[0].currency"),
    "a maximum of no currency": (content({"percent": "1", "maximum": "3"}), "content.rules[0].currency"),
    "a fee below 0": (content({"percent": "1", "currency": "GBP", "fixed": "-1"}), "content.rules[0].fixed"),
    "a minimum above the maximum": (
        content({"percent": "1", "currency": "GBP", "minimum": "2", "maximum": "1"}),
        "content.rules[0].minimum",
    ),
    "two rules for the same": (
        content({"percent": "1", "category": "books"}, {"percent": "1"}, {"percent": "2", "category": "books"}),
        "content.rules[2]",
    ),
}


@cases(("sent", "field"), BAD.values(), ids=BAD)
def test_an_invalid_rate_card_is_refused_with_the_field(sent: Any, field: str) -> None:
    problems = read_rate_card(sent)
    assert not isinstance(problems, RateCard)
    assert field in [one.field for one in problems]
    assert all(one.problem and one.expected for one in problems)


def test_every_problem_of_a_rate_card_is_returned() -> None:
    problems = read_rate_card(content({"percent": "x"}, {"percent": "1", "fixed": "y"}, valid_from="soon"))
    assert not isinstance(problems, RateCard)
    assert [one.field for one in problems] == [
        *("content.valid_from", "content.rules[0].percent", "content.rules[1].fixed"),
    ]


def test_a_stored_rate_card_is_read_back_and_an_invalid_one_raises_an_error() -> None:
    assert rate_card_of({"content": exact_json.canonical(content(FULL))}) == rate_card(FULL)
    with pytest.raises(ValueError, match="no rate card"):
        rate_card_of({"content": "{}"})


# ---------------------------------------------------------------- the rule of an event

RULES = (
    {"percent": "1"},
    {"percent": "2", "currency": "GBP"},
    {"percent": "3", "location": "GB"},
    {"percent": "4", "location": "GB#London"},
    {"percent": "5", "location": "GB#London", "currency": "GBP"},
    {"percent": "6", "category": "books"},
    {"percent": "7", "category": "books", "location": "GB"},
)


@cases(
    ("of", "percent"),
    [
        (sold(currency="EUR"), "1"),
        (sold(), "2"),
        (sold(location="GB"), "3"),
        (sold(location="GB#Leeds"), "3"),
        (sold(location="GBX", currency="EUR"), "1"),
        (sold(location="GB#London", currency="EUR"), "4"),
        (sold(location="GB#London#Soho"), "5"),
        (sold(location="GB#Londonderry"), "3"),
        (sold(category="toys", location="GB"), "3"),
        (sold(category="books"), "6"),
        (sold(category="books", location="GB#London"), "7"),
        (sold(category="books", location="DE"), "6"),
    ],
)
def test_rules_rank_by_category_then_by_depth_of_location_then_by_currency(of: Sold, percent: str) -> None:
    rule = rate_card(*RULES).rule_for(of)
    assert rule is not None
    assert rule.percent == Decimal(percent)


def test_an_event_that_no_rule_covers_has_no_rule() -> None:
    assert rate_card({"percent": "1", "category": "books"}).rule_for(sold()) is None


def is_within(place: str, prefix: str) -> bool:
    parts, limits = place.split("#"), prefix.split("#")
    return parts[: len(limits)] == limits


@given(rate_cards, any_sold)
def test_the_chosen_rule_covers_the_event_and_no_covering_rule_is_more_specific(of: RateCard, sold: Sold) -> None:
    def covers(rule: Rule) -> bool:
        return (
            (rule.category is None or rule.category == sold.category)
            and (rule.currency is None or rule.currency == sold.currency)
            and (rule.location is None or is_within(sold.location, rule.location))
        )

    covering = [rule for rule in of.rules if covers(rule)]
    chosen = of.rule_for(sold)
    assert (chosen is None) == (not covering)
    for other in covering:
        assert chosen is not None
        if other is chosen:
            continue
        said = [
            (rule.category is not None, len((rule.location or "").split("#")) if rule.location else 0, rule.currency)
            for rule in (chosen, other)
        ]
        assert said[0][0] >= said[1][0], "a rule for the category goes first"
        if said[0][0] == said[1][0]:
            assert said[0][1] >= said[1][1], "then the deeper place"
            if said[0][1] == said[1][1]:
                assert (said[0][2], said[1][2]) == (sold.currency, None), "then the currency; no two say the same"
