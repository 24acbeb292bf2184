"""Rate cards: their schema, and the rule that covers an event."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given

from quarterhour.model import exact_json
from quarterhour.registry.rate_cards.charge import LineCharge, Sold
from quarterhour.registry.rate_cards.rate_card import MAX_RULES, RateCard, Rule, rate_card_of, read_rate_card
from tests.support.cases import cases
from tests.unit.registry.rate_cards.builders import (
    OCTOBER,
    any_sold,
    commission_of,
    content,
    rate_card,
    rate_cards,
    sold,
)

FULL = {
    "category": "books",
    "location": "GB#London",
    "currency": "GBP",
    "charges": [{"name": "commission", "percent": "8.5", "fixed": "0.30", "minimum": "0.50", "maximum": "20"}],
}


def test_a_rate_card_is_read_with_every_field_of_a_rule() -> None:
    (rule,) = rate_card(FULL).rules
    assert rate_card(FULL).valid_from == OCTOBER
    fees: dict[str, Any] = {"fixed": Decimal("0.30"), "minimum": Decimal("0.50"), "maximum": Decimal(20)}
    charge = LineCharge(percent=Decimal("8.5"), **fees)
    assert rule == Rule((charge,), ("books",), ("GB#London",), currency="GBP")
    assert rule.as_dict() == FULL


def test_a_rule_without_charges_has_the_entries_of_its_commission() -> None:
    fees = {"percent": "8.5", "fixed": "0.30", "minimum": "0.50", "maximum": "20"}
    assert rate_card({**FULL, "charges": None, **fees}).rules == rate_card(FULL).rules


def test_json_numbers_are_read_exactly() -> None:
    read = read_rate_card(
        exact_json.parse('{"valid_from": "2026-10-01T00:00:00Z", "rules": [{"percent": 0.1000000000}]}')
    )
    assert isinstance(read, RateCard)
    assert str(read.rules[0].charges[0].percent) == "0.1000000000"


CONTRACT = {
    "category": ["books", "music"],
    "location": "GB",
    "product": "Atlas",
    "currency": "GBP",
    "charges": [
        {"name": "commission", "percent": "8", "of": "net", "minimum": "0.50", "maximum": "40", "decimals": 2},
        {"name": "payment fee", "percent": "1.4", "fixed": "0.25", "fixed_per": "order", "refund": "keep"},
        {
            "name": "club",
            "tiers": {
                "per": "quarter",
                "of": "group",
                "mode": "volume",
                "steps": [{"from": "0", "percent": "12"}, {"from": "10000", "percent": "10"}],
            },
        },
    ],
}


def test_a_rule_is_shown_as_it_was_written() -> None:
    monthly = {
        "currency": "GBP",
        "charges": [
            {"name": "listing fee", "per": "month", "amount": "39.00", "part_months": "by_days"},
            {"name": "least", "per": "month", "minimum": "50.00"},
        ],
    }
    read = rate_card(CONTRACT, monthly, {"percent": "5"}, valid_to="2026-11-01T00:00:00Z")
    assert [rule.as_dict() for rule in read.rules] == [CONTRACT, monthly, {"percent": "5"}]
    assert [one.name for one in read.monthly("GBP")] == ["listing fee", "least"]
    assert read.monthly("EUR") == []
    assert (read.is_once, read.is_of_group, read.is_rounded) == (True, True, True)


@pytest.mark.parametrize(("at", "valid"), [(0, True), (30, True), (31, False)])
def test_a_rate_card_is_valid_until_it_ends(at: int, *, valid: bool) -> None:
    ending = rate_card(valid_to="2026-11-01T00:00:00Z")
    assert ending.is_valid(OCTOBER + timedelta(days=at)) is valid
    assert not ending.is_valid(OCTOBER - timedelta(seconds=1))
    assert rate_card().is_valid(OCTOBER + timedelta(days=at))


def of_months(**more: Any) -> dict[str, Any]:
    return {"currency": "GBP", **more, "charges": [{"name": "fee", "per": "month", "amount": "1"}]}


def charged(**charge: Any) -> Any:
    return content({"currency": "GBP", "charges": [{"name": "commission", **charge}]})


def tiered(*steps: dict[str, str], **more: Any) -> Any:
    tiers = {"per": "month", "mode": "graduated", "steps": list(steps) or [{"from": "0", "percent": "1"}]}
    return charged(tiers={**tiers, **more})


CHARGE = "content.rules[0].charges[0]"
BAD_CHARGES: dict[str, tuple[Any, str]] = {
    "percent beside charges": (content({"percent": "1", **CONTRACT}), "content.rules[0].percent"),
    "a fee beside charges": (content({"fixed": "1", **CONTRACT}), "content.rules[0].fixed"),
    "a fee without a currency": (content({"fixed": "1"}), "content.rules[0].fixed"),
    "no charges": (content({"charges": []}), "content.rules[0].charges"),
    "nine charges": (
        content({"charges": [{"name": f"fee {n}", "percent": "1"} for n in range(9)]}),
        "content.rules[0].charges",
    ),
    "nine names": (
        content(*({"category": str(n), "charges": [{"name": f"fee {n}", "percent": "1"}]} for n in range(9))),
        "content.rules",
    ),
    "a name twice": (content({"charges": [{"name": "a", "percent": "1"}] * 2}), "content.rules[0].charges[1].name"),
    "a name that breaks lines": (content({"charges": [{"name": "a;b", "percent": "1"}]}), f"{CHARGE}.name"),
    "no name": (content({"charges": [{"percent": "1"}]}), f"{CHARGE}.name"),
    "nothing to charge": (charged(of="net"), f"{CHARGE}.percent"),
    "a part that no amount has": (charged(percent="1", of="gross"), f"{CHARGE}.of"),
    "a fee per customer": (charged(fixed="1", fixed_per="customer"), f"{CHARGE}.fixed_per"),
    "how often without a fee": (charged(percent="1", fixed_per="order"), f"{CHARGE}.fixed_per"),
    "a kept fee without one": (charged(percent="1", refund="keep_fixed"), f"{CHARGE}.refund"),
    "no way to refund": (charged(percent="1", refund="all"), f"{CHARGE}.refund"),
    "seven decimals": (charged(percent="1", decimals=7), f"{CHARGE}.decimals"),
    "a fee finer than decimals": (charged(percent="1", fixed="0.125", decimals=2), f"{CHARGE}.fixed"),
    "tiers with a fee": (
        charged(fixed="1", tiers={"per": "month", "mode": "volume", "steps": [{"from": "0", "percent": "1"}]}),
        f"{CHARGE}.fixed",
    ),
    "no steps": (tiered(steps=[]), f"{CHARGE}.tiers.steps"),
    "steps that begin above 0": (tiered({"from": "1", "percent": "1"}), f"{CHARGE}.tiers.steps"),
    "a step twice": (tiered(*[{"from": "0", "percent": "1"}] * 2), f"{CHARGE}.tiers.steps"),
    "steps that fall": (
        tiered(*({"from": n, "percent": "1"} for n in ("0", "200", "100"))),
        f"{CHARGE}.tiers.steps",
    ),
    "a step over 100 %": (tiered({"from": "0", "percent": "101"}), f"{CHARGE}.tiers.steps"),
    "a step without percent": (tiered({"from": "0"}), f"{CHARGE}.tiers.steps"),
    "tiers per week": (tiered(per="week"), f"{CHARGE}.tiers.per"),
    "a mode that does not exist": (tiered(mode="cliff"), f"{CHARGE}.tiers.mode"),
    "tiers of a product": (tiered(of="product"), f"{CHARGE}.tiers.of"),
    "a monthly fee for a category": (content(of_months(category="books")), "content.rules[0].charges"),
    "a monthly fee without a currency": (content(of_months(currency=None)), f"{CHARGE}.amount"),
    "a monthly fee twice": (content(of_months(), of_months()), "content.rules[1].charges"),
    "a monthly fee and its minimum": (charged(per="month", amount="1", minimum="2"), f"{CHARGE}.amount"),
    "a monthly nothing": (charged(per="month"), f"{CHARGE}.amount"),
    "a yearly fee": (charged(per="year", amount="1"), f"{CHARGE}.per"),
    "a fee without how often": (charged(amount="1"), f"{CHARGE}.per"),
    "a minimum by days": (charged(per="month", minimum="1", part_months="by_days"), f"{CHARGE}.part_months"),
    "an end before the beginning": (content(valid_to="2026-10-01T00:00:00Z"), "content.valid_to"),
    "a category twice": (content({"percent": "1", "category": ["a", "a"]}), "content.rules[0].category"),
    "no category of a list": (content({"percent": "1", "category": []}), "content.rules[0].category"),
}


@cases(("sent", "field"), BAD_CHARGES.values(), ids=BAD_CHARGES)
def test_charges_that_say_nothing_or_too_much_are_refused(sent: Any, field: str) -> None:
    problems = read_rate_card(sent)
    assert not isinstance(problems, RateCard), problems
    assert {one.field for one in problems} == {field}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"category": ["a", "b"]}, {"category": ["b", "c"]}),
        ({"category": ["a", "b"], "location": "GB"}, {"category": "b", "location": ["DE", "GB"]}),
        ({"product": "Atlas"}, {"product": ["Atlas", "Globe"]}),
        ({"currency": "GBP"}, {"currency": "GBP"}),
    ],
)
def test_rules_of_which_neither_is_more_specific_are_refused(one: dict[str, Any], other: dict[str, Any]) -> None:
    problems = read_rate_card(content({"percent": "1", **one}, {"percent": "2", **other}))
    assert not isinstance(problems, RateCard)
    assert [problem.field for problem in problems] == ["content.rules[1]"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"category": ["a", "b"]}, {"category": ["c", "d"]}),
        ({"category": ["a", "b"]}, {"category": "a", "currency": "GBP"}),
        ({"location": ["GB", "DE"]}, {"location": "GB#London"}),
        ({"product": "Atlas"}, {"category": "books"}),
    ],
)
def test_rules_of_which_one_is_more_specific_wherever_both_apply_are_taken(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    assert isinstance(read_rate_card(content({"percent": "1", **one}, {"percent": "2", **other})), RateCard)


BAD: dict[str, tuple[Any, str]] = {
    "no object": ([], "content"),
    "nothing": ({}, "content.valid_from"),
    "no rules": (content() | {"rules": []}, "content.rules"),
    "too many rules": (content(*[{"percent": "1", "category": str(n)} for n in range(MAX_RULES + 1)]), "content.rules"),
    "an instant without an offset": (content(valid_from="2026-10-01T00:00:00"), "content.valid_from"),
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
    "a fee of no currency": (
        content({"charges": [{"name": "commission", "percent": "1", "fixed": "0.30"}]}),
        "content.rules[0].charges[0].fixed",
    ),
    "a maximum of no currency": (
        content({"charges": [{"name": "commission", "percent": "1", "maximum": "3"}]}),
        "content.rules[0].charges[0].maximum",
    ),
    "a fee below 0": (
        content({"currency": "GBP", "charges": [{"name": "commission", "percent": "1", "fixed": "-1"}]}),
        "content.rules[0].charges[0].fixed",
    ),
    "a minimum above the maximum": (
        content(
            {"currency": "GBP", "charges": [{"name": "commission", "percent": "1", "minimum": "2", "maximum": "1"}]}
        ),
        "content.rules[0].charges[0].minimum",
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
    fee = {"currency": "GBP", "charges": commission_of("1", fixed="y")}
    problems = read_rate_card(content({"percent": "x"}, fee, valid_from="soon"))
    assert not isinstance(problems, RateCard)
    assert [one.field for one in problems] == [
        *("content.valid_from", "content.rules[0].percent", "content.rules[1].charges[0].fixed"),
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
    {"percent": "8", "product": ["Atlas", "Globe"]},
    {"currency": "GBP", "charges": [{"name": "listing fee", "amount": "39", "per": "month"}]},
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
        (sold(category="books", product="Atlas"), "8"),
        (sold(category="toys", product="Globe", location="GB#London"), "8"),
    ],
)
def test_rules_rank_by_product_then_by_category_then_by_depth_of_location_then_by_currency(
    of: Sold, percent: str
) -> None:
    rule = rate_card(*RULES).rule_for(of)
    assert rule is not None
    assert rule.charges[0].percent == Decimal(percent)


def test_an_event_that_no_rule_covers_has_no_rule() -> None:
    assert rate_card({"percent": "1", "category": "books"}).rule_for(sold()) is None


def is_within(place: str, prefix: str) -> bool:
    parts, limits = place.split("#"), prefix.split("#")
    return parts[: len(limits)] == limits


@given(rate_cards, any_sold)
def test_the_chosen_rule_covers_the_event_and_no_covering_rule_is_more_specific(of: RateCard, sold: Sold) -> None:
    def covers(rule: Rule) -> bool:
        return (
            (not rule.category or sold.category in rule.category)
            and (rule.currency is None or rule.currency == sold.currency)
            and (not rule.location or any(is_within(sold.location, one) for one in rule.location))
        )

    covering = [rule for rule in of.rules if covers(rule)]
    chosen = of.rule_for(sold)
    assert (chosen is None) == (not covering)
    for other in covering:
        assert chosen is not None
        if other is chosen:
            continue
        said = [
            (bool(rule.category), len(rule.location[0].split("#")) if rule.location else 0, rule.currency)
            for rule in (chosen, other)
        ]
        assert said[0][0] >= said[1][0], "a rule for the category goes first"
        if said[0][0] == said[1][0]:
            assert said[0][1] >= said[1][1], "then the deeper place"
            if said[0][1] == said[1][1]:
                assert (said[0][2], said[1][2]) == (sold.currency, None), "then the currency; no two say the same"
