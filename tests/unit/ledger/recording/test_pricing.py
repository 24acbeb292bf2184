"""Prices: by the event, its sale, its agency's rate card, or the default rate; and their explanations."""

from dataclasses import replace
from datetime import timedelta
from decimal import ROUND_DOWN, Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.ledger.events.event import Event
from quarterhour.ledger.reading.explanation import (
    applied_rate_card,
    commission_matches,
    commission_steps,
    explanation_of,
)
from quarterhour.ledger.recording.claims import Claim
from quarterhour.ledger.recording.linked import LinkedClaim
from quarterhour.ledger.recording.plan import ledger_values
from quarterhour.ledger.recording.pricing import (
    CommissionTerms,
    commission_too_long,
    needed_rate_cards,
    origin_of,
    rate_card_in,
    terms_of,
)
from quarterhour.model import money
from quarterhour.registry.rate_cards.plan import InForce, LookedAt
from quarterhour.registry.rate_cards.rate_card import RateCard
from tests.support.builders import AT, alone, event, linked_of, payment, settings, void
from tests.unit.registry.rate_cards.builders import (
    categories,
    codes,
    commission_of,
    places,
    priced,
    rate_card,
    rate_cards,
)

BOOKS = {
    "category": "books",
    "currency": "GBP",
    "charges": [{"name": "commission", "percent": "8", "fixed": "0.30", "minimum": "2", "maximum": "9"}],
}
RATE_CARD = ({"percent": "12.5"}, BOOKS)


def of(*rules: dict[str, Any], type_: str = "sale.recorded", **data: Any) -> tuple[str, str, str]:
    """Return an event's commission by a rate card, the origin of its terms, and its arithmetic."""
    sent = event(type_=type_, **data)
    terms = priced(sent, *rules, version=3)
    commission = terms.commission(sent.amount)
    assert commission is not None
    return money.plain(commission), terms.origin, terms.arithmetic


@pytest.mark.parametrize(
    ("data", "paid"),
    [
        ({"amount": "100"}, ("12.500", "card 3", "")),
        ({"amount": "100", "category": "toys"}, ("12.500", "card 3", "")),
        ({"amount": "100", "commission_rate": "0.2", "category": "books"}, ("20.0", "event", "")),
        (
            {"amount": "100", "category": "books"},
            ("8.30", "card 3", "percent=8 of=100 fixed=0.30 items=1 least=2 most=9"),
        ),
        (
            {"amount": "100", "category": "books", "quantity": "4"},
            ("9", "card 3", "percent=8 of=100 fixed=0.30 items=4 least=2 most=9"),
        ),
        ({"amount": "1", "category": "books"}, ("2", "card 3", "percent=8 of=1 fixed=0.30 items=1 least=2 most=9")),
        ({"amount": "100", "category": "books", "currency": "EUR"}, ("12.500", "card 3", "")),
    ],
)
def test_a_sale_is_priced_by_the_most_specific_rule_unless_it_names_its_commission_rate(
    data: dict[str, Any], paid: Any
) -> None:
    assert of(*RATE_CARD, **data) == paid


def test_a_sale_without_a_covering_rule_is_priced_at_the_default_rate() -> None:
    assert of(amount="100") == of(BOOKS, amount="100") == ("25.00", "default", "")


@pytest.mark.parametrize(
    ("data", "commission"),
    [
        ({"amount": "-100", "type_": "sale.refunded", "quantity": "-2"}, "-8.60"),
        ({"amount": "-1", "type_": "sale.refunded"}, "-2"),
        ({"amount": "0", "type_": "sale.refunded"}, "0.00"),
        ({"amount": "0.00", "quantity": "3"}, "0.0000"),
        ({"amount": "-100", "type_": "adjustment.recorded", "quantity": "2"}, "-8.00"),
        ({"amount": "0", "type_": "adjustment.recorded"}, "0.00"),
    ],
)
def test_an_unlinked_claim_mirrors_a_sale_and_events_without_items_pay_the_percentage_alone(
    data: dict[str, Any], commission: str
) -> None:
    assert of(*RATE_CARD, category="books", **data)[0] == commission


@pytest.mark.parametrize(
    ("only", "amount", "paid"),
    [
        ({"minimum": "3.00"}, "1.50", "3.00"),
        ({"minimum": "3.00"}, "100", "11.00"),
        ({"maximum": "5"}, "100", "5"),
        ({"maximum": "5"}, "1.50", "0.1650"),
        ({"fixed": "0.30"}, "1.50", "0.4650"),
    ],
)
def test_a_rule_with_one_bound_or_one_fee_applies_it(only: dict[str, str], amount: str, paid: str) -> None:
    rule = {"currency": "GBP", "charges": commission_of("11", **only)}
    commission, terms_, arithmetic = of(rule, amount=amount)
    assert (commission, terms_, bool(arithmetic)) == (paid, "card 3", True)


def test_an_adjustment_may_name_its_commission() -> None:
    assert of(*RATE_CARD, type_="adjustment.recorded", amount="0", commission="-1.25") == (
        "-1.25",
        "event",
        "named=-1.25",
    )


@pytest.mark.parametrize("amount", ["100.00", "-100.00", "9" * 38])
def test_a_payment_bears_no_commission_and_its_explanation_says_so(amount: str) -> None:
    paid = payment(amount=amount)
    facts = recorded(paid, {"currency": "GBP", "charges": [{"name": "commission", "percent": "50", "fixed": "1"}]})
    assert (facts["terms"], Decimal(facts["commission"]), "arithmetic" in facts) == ("payment", Decimal(0), False)
    assert commission_matches(facts)
    assert not commission_matches({**facts, "commission": "0.01"})
    explained = explanation_of(facts, [])
    assert explained["terms"] == {"from": "payment", "note": "a payment bears no commission"}
    assert [step["says"] for step in explained["steps"]] == [f"0 of {amount}"]


def test_only_events_without_a_named_price_need_a_rate_card_at_their_own_time_or_now() -> None:
    earlier = AT - timedelta(days=3)
    events = [
        event("a"),
        replace(event("b"), time=earlier),
        event("c", commission_rate="0.1"),
        event("d", type_="adjustment.recorded", commission="1"),
        event("e", type_="sale.refunded", amount="-1", refers_to="a"),
        payment("f", agency="7"),
    ]
    assert needed_rate_cards(events, AT) == {("42", AT), ("42", earlier)}


# ---------------------------------------------------------------- linked refunds


def sale(*rules: dict[str, Any], **data: Any) -> Claim:
    """Return the claim of a sale that is priced by a rate card."""
    sold = event(**data)
    return alone(Claim.of(sold, AT, settings(), priced(sold, *rules)))


def refunded(of: Claim, amount: object, id_: str = "r") -> LinkedClaim:
    sent = event(id_, "sale.refunded", amount=amount, refers_to="order-1")
    return linked_of(sent, of)


def commission(of: Claim, amount: object) -> Decimal:
    found = of.terms.commission(Decimal(str(amount)))
    assert found is not None
    return found


def test_a_refund_gets_its_share_of_the_sales_commission() -> None:
    sold = sale(*RATE_CARD, amount="100.00", category="books")
    refund = refunded(sold, "-25.00")
    assert (refund.claim.terms.origin, refund.claim.terms.commission_rate) == ("sale", Decimal("0.08"))
    assert refund.claim.terms.arithmetic == "share=8.3000 of=100.00 before=0.00 after=25.00"
    assert commission(refund.claim, "-25.00") == Decimal("-2.075")


def test_a_refund_of_a_sale_at_a_plain_rate_has_the_same_rate() -> None:
    refund = refunded(sale({"percent": "12.5"}, amount="100.00"), "-0.001")
    assert (refund.claim.terms, commission(refund.claim, "-0.001")) == (
        CommissionTerms(Decimal("0.125"), "sale"),
        Decimal("-0.000125"),
    )


@given(
    amount=st.decimals(0, 10**6, places=2),
    parts=st.lists(st.integers(1, 1000), max_size=10),
    rule=st.fixed_dictionaries({name: st.decimals(0, 50, places=3).map(str) for name in ("fixed", "minimum")}),
)
def test_all_refunds_of_a_sale_never_exceed_its_commission(
    amount: Decimal, parts: list[int], rule: dict[str, str]
) -> None:
    claim = sale({"currency": "GBP", "charges": commission_of("7", **rule)}, amount=amount)
    charged = left = commission(claim, amount)
    for number, part in enumerate([*parts, None]):
        assert claim.refundable is not None
        back = (
            claim.refundable.left if part is None else (claim.refundable.left * part / 1000).quantize(Decimal("0.01"))
        )
        refund = refunded(claim, money.negated(back), f"r{number}")
        left += commission(refund.claim, money.negated(back))
        assert 0 <= left <= charged
        claim = refund.after
    assert left == 0, "the whole commission is refunded with the whole amount"


def keeping(percent: str, fixed: str, bounds: dict[str, str] | None = None, **data: Any) -> Claim:
    """Return the claim of a sale by a rule whose refunds keep the fixed fee."""
    charges = commission_of(percent, fixed=fixed, refund="keep_fixed", **(bounds or {}))
    return sale({"currency": "GBP", "charges": charges}, **data)


@given(
    amount=st.decimals("0.01", 10**6, places=2),
    quantity=st.integers(0, 5),
    parts=st.lists(st.integers(1, 1000), max_size=5),
    fixed=st.decimals(0, 50, places=3),
    bounds=st.fixed_dictionaries({}, optional={name: st.sampled_from(["2", "20"]) for name in ("minimum", "maximum")}),
    last=st.sampled_from(["refund", "void"]),
)
def test_the_commission_after_a_full_refund_is_the_fixed_fee_and_after_a_void_nothing(  # noqa: PLR0913, PLR0917 - drawn
    amount: Decimal, quantity: int, parts: list[int], fixed: Decimal, bounds: dict[str, str], last: str
) -> None:
    bounds = {} if bounds == {"minimum": "20", "maximum": "2"} else bounds
    claim = keeping("7", str(fixed), bounds, amount=amount, quantity=str(quantity))
    charged = left = commission(claim, amount)
    fee = min(fixed * quantity, charged)
    for number, part in enumerate(parts):
        assert claim.refundable is not None
        back = money.negated((claim.refundable.left * part / 1001).quantize(Decimal("0.01"), ROUND_DOWN))
        refund = refunded(claim, back, f"r{number}")
        left += commission(refund.claim, back)
        assert fee <= left <= charged
        claim = refund.after
    assert claim.refundable is not None
    rest = money.negated(claim.refundable.left)
    ended = linked_of(void(), claim) if last == "void" else refunded(claim, rest)
    assert left + commission(ended.claim, rest) == (0 if last == "void" else fee)


def test_the_arithmetic_says_which_fee_is_kept_and_what_a_void_gives_back() -> None:
    sold = keeping("7", "0.30", amount="10.00", quantity="2")
    assert sold.terms.arithmetic == "percent=7 of=10.00 fixed=0.30 items=2 kept=0.60"
    part = refunded(sold, "-2.50")
    assert part.claim.terms.arithmetic == "share=0.7000 of=10.00 before=0.00 after=2.50"
    rest = linked_of(void(), part.after)
    assert rest.claim.terms.arithmetic == "share=0.7000 of=10.00 before=2.50 after=10.00 fee=0.60"
    assert commission(rest.claim, "-7.50") == Decimal("-1.125")


@pytest.mark.parametrize(("amount", "paid"), [("-10", "-0.70"), ("-1", "0.00"), ("0", "0.00")])
def test_a_refund_without_its_sale_gives_back_no_kept_fee_either(amount: str, paid: str) -> None:
    sent = event(type_="sale.refunded", amount=amount)
    percent = "0" if amount == "-1" else "7"
    charges = commission_of(percent, fixed="0.30", maximum="1.00", refund="keep_fixed")
    terms = priced(sent, {"currency": "GBP", "charges": charges})
    found = terms.commission(sent.amount)
    assert found is not None
    assert money.plain(found) == paid


# ---------------------------------------------------------------- rate cards that fall back

OF_EU = InForce("rate-card:group/eu", 4, rate_card({"percent": "20", "category": "books"}))
OF_ALL = InForce("rate-card:default", 2, rate_card({"percent": "30", "category": "toys"}))


@pytest.mark.parametrize(
    ("category", "in_force", "paid"),
    [
        ("books", [OF_EU, OF_ALL], ("0.2", "card 4 rate-card:group/eu")),
        ("toys", [OF_EU, OF_ALL], ("0.3", "card 2 rate-card:default")),
        ("games", [OF_EU, OF_ALL], ("0.25", "default")),
        ("games", [], ("0.25", "default")),
        ("toys", [InForce("rate-card:42", 1, rate_card({"percent": "10"})), OF_ALL], ("0.1", "card 1")),
    ],
)
def test_the_first_rate_card_with_a_rule_for_the_event_prices_it(
    category: str, in_force: list[InForce], paid: tuple[str, str]
) -> None:
    terms = terms_of(event(category=category), in_force, Decimal("0.25"))
    assert (terms.commission_rate, terms.origin) == (Decimal(paid[0]), paid[1])


@given(document=st.sampled_from(["rate-card:42", "rate-card:group/a b", "rate-card:default"]), version=st.integers(1))
def test_the_rate_card_of_a_price_is_read_back_from_its_origin(document: str, version: int) -> None:
    assert rate_card_in(origin_of(document, version, "42"), "42") == (document, version)
    assert rate_card_in("default", "42") is rate_card_in("sale", "42") is rate_card_in("", "42") is None


def test_the_explanation_shows_which_rate_cards_were_looked_at_and_which_applied() -> None:
    sold = event(amount="100", category="toys")
    terms = terms_of(sold, [OF_EU, OF_ALL], Decimal("0.25"))
    facts = ledger_values(sold, alone(Claim.of(sold, AT, settings(), terms)))
    looked_at = [LookedAt("rate-card:42"), LookedAt(*OF_EU), LookedAt(*OF_ALL)]
    assert explanation_of(facts, looked_at)["terms"] == {
        "from": "card",
        "document": "rate-card:default",
        "version": 2,
        "looked_at": [
            {"document": "rate-card:42", "result": "not in force"},
            {"document": "rate-card:group/eu", "version": 4, "result": "no rule for this event"},
            {"document": "rate-card:default", "version": 2, "result": "applied"},
        ],
        "valid_from": "2026-10-01T00:00:00Z",
        "rule": {"category": "toys", "percent": "30"},
    }


# ---------------------------------------------------------------- explanations from stored facts

OWN = [LookedAt("rate-card:42", 3, rate_card(*RATE_CARD))]


def recorded(sent: Event, *rules: dict[str, Any]) -> dict[str, str]:
    return ledger_values(sent, alone(Claim.of(sent, AT, settings(), priced(sent, *rules, version=3))))


@given(
    of=rate_cards,
    amount=st.decimals(-(10**6), 10**6, places=2),
    data=st.fixed_dictionaries({"currency": codes, "quantity": st.integers(-9, 9).map(str)}),
    more=st.tuples(categories, places),
    rate=st.none() | st.decimals(0, 1, places=3),
    kind=st.sampled_from(["sale.recorded", "sale.refunded", "adjustment.recorded"]),
)
def test_the_recorded_facts_give_the_commission_again(  # noqa: PLR0913 - all that a commission depends on
    *,
    of: RateCard,
    amount: Decimal,
    data: dict[str, str],
    more: tuple[str, str],
    rate: Decimal | None,
    kind: str,
) -> None:
    signed = {"sale.recorded": abs(amount), "sale.refunded": -abs(amount)}.get(kind, amount)
    details = {name: text for name, text in zip(("category", "location"), more, strict=True) if text}
    sent = event(type_=kind, amount=str(signed), **data, **details, **({"commission_rate": str(rate)} if rate else {}))
    terms = terms_of(sent, [InForce("rate-card:42", 7, of)], Decimal("0.125"))
    facts = ledger_values(sent, alone(Claim.of(sent, AT, settings(), terms)))
    *_, (_, last) = commission_steps(facts)
    assert money.plain(last.gives) == facts["commission"]
    assert applied_rate_card(facts) == (("rate-card:42", 7) if facts["terms"] == "card 7" else None)
    explanation = explanation_of(facts, [LookedAt("rate-card:42", 7, of)])
    assert explanation["steps"][-1]["gives"] == explanation["commission"] == facts["commission"]


def test_the_explanation_of_a_price_by_rate_card_has_version_rule_and_steps() -> None:
    explanation = explanation_of(recorded(event(amount="100", category="books", quantity="4"), *RATE_CARD), OWN)
    assert explanation == {
        "source": "shop",
        "id": "order-1",
        "type": "sale.recorded",
        "agency": "42",
        "currency": "GBP",
        "amount": "100",
        "recorded_at": "2026-10-23T01:30:12.345Z",
        "terms": {
            "from": "card",
            "document": "rate-card:42",
            "version": 3,
            "looked_at": [{"document": "rate-card:42", "version": 3, "result": "applied"}],
            "valid_from": "2026-10-01T00:00:00Z",
            "rule": BOOKS,
        },
        "steps": [
            {"name": "percent", "says": "8 % of 100", "gives": "8.00"},
            {"name": "fixed", "says": "0.30 for each of 4", "gives": "1.20"},
            {"name": "sum", "says": "both together", "gives": "9.20"},
            {"name": "minimum", "says": "2 at least", "gives": "9.20"},
            {"name": "maximum", "says": "9 at most", "gives": "9"},
        ],
        "commission": "9",
    }


@pytest.mark.parametrize(
    ("data", "origin"),
    [
        ({"commission_rate": "0.2"}, {"from": "event"}),
        ({}, {"from": "default"}),
    ],
)
def test_the_explanation_of_any_other_price_names_its_origin(data: dict[str, Any], origin: dict[str, str]) -> None:
    assert explanation_of(recorded(event(**data)), [])["terms"] == origin


@pytest.mark.parametrize(("amount", "says"), [("0.00", True), ("0.01", False)])
def test_the_explanation_notes_that_fees_do_not_count_without_items(amount: str, *, says: bool) -> None:
    explanation = explanation_of(recorded(event(amount=amount, category="books"), *RATE_CARD), OWN)
    assert explanation["terms"]["rule"] == BOOKS
    assert ("no item" in explanation["terms"].get("note", "")) == says
    assert (explanation["commission"] == "0.0000") == says


def test_an_old_fee_on_a_sale_of_0_is_still_explained_and_consistent() -> None:
    facts = recorded(event(amount="0.00", category="books"), *RATE_CARD)
    old = {**facts, "commission": "2", "arithmetic": "percent=8 of=0.00 fixed=0.30 items=1 least=2 most=9"}
    assert commission_matches(old)
    explanation = explanation_of(old, OWN)
    assert (explanation["steps"][-1]["gives"], "note" in explanation["terms"]) == ("2", False)


def test_the_explanation_of_a_refund_names_its_sale() -> None:
    refund = refunded(sale(*RATE_CARD, amount="100", category="books"), "-25")
    facts = ledger_values(event("r", "sale.refunded", amount="-25", refers_to="order-1"), refund.claim)
    explanation = explanation_of(facts, [])
    assert (explanation["terms"], explanation["commission"]) == ({"from": "sale", "sale": "order-1"}, "-2.07500000")
    assert [step["name"] for step in explanation["steps"]] == ["after", "before", "refund"]


def test_an_old_event_without_commission_terms_and_a_sealed_line_are_explained() -> None:
    facts = recorded(event())
    old = {name: text for name, text in facts.items() if name != "terms"}
    line = {**facts, **dict.fromkeys(("category", "arithmetic", "refers_to", "time", "location", "quantity"), "")}
    assert explanation_of(old, [])["terms"] == {"from": "unknown"}
    assert explanation_of(line, []) == explanation_of(facts, [])


def test_the_rejection_of_a_commission_that_is_too_long_names_the_expectation() -> None:
    refused = commission_too_long(event(amount="1" * 38))
    assert (refused.source, refused.id) == ("shop", "order-1")
    assert [one.field for one in refused.problems] == ["data.amount"]
