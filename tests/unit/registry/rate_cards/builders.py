"""Builders of rate cards, rules and priced events for tests."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from quarterhour.ledger.events.event import Event
from quarterhour.ledger.recording.pricing import CommissionTerms, terms_of
from quarterhour.registry.documents.keys import rate_card_name
from quarterhour.registry.rate_cards.charge import LineCharge, Sold
from quarterhour.registry.rate_cards.plan import InForce
from quarterhour.registry.rate_cards.rate_card import RateCard, Rule, read_rate_card

OCTOBER = datetime(2026, 10, 1, tzinfo=UTC)


def content(*rules: dict[str, Any], valid_from: str = "2026-10-01T00:00:00Z", **more: Any) -> dict[str, Any]:
    """Return the content of a rate card with these rules, or with one of 10 %."""
    return {"valid_from": valid_from, "rules": list(rules) or [{"percent": "10"}], **more}


def rate_card(*rules: dict[str, Any], valid_from: str = "2026-10-01T00:00:00Z", **more: Any) -> RateCard:
    """Return a valid rate card."""
    read = read_rate_card(content(*rules, valid_from=valid_from, **more))
    assert isinstance(read, RateCard), read
    return read


def sold(amount: str = "100", currency: str = "GBP", items: str | None = "1", **of: Any) -> Sold:
    """Return the part of an event that a rate card prices."""
    return Sold(Decimal(amount), currency, None if items is None else Decimal(items), **of)


def commission_of(percent: str, **fees: str) -> list[dict[str, Any]]:
    """Return the charges of a rule that has the charge ``commission`` alone."""
    return [{"name": "commission", "percent": percent, **fees}]


def priced(event: Event, *rules: dict[str, Any], version: int = 1, **more: Any) -> CommissionTerms:
    """Return an event's terms by a rate card of these rules, or at the default rate without rules."""
    own = rate_card_name(event.account.agency)
    return terms_of(event, [InForce(own, version, rate_card(*rules, **more))] if rules else [], Decimal("0.25"))


categories = st.sampled_from(["", "books", "toys"])
places = st.sampled_from(["", "GB", "GB#London", "GB#London#Soho", "GBX", "DE"])
codes = st.sampled_from(["GBP", "EUR"])
fees = st.none() | st.decimals(0, 50, places=2)
percents = st.decimals(0, 100, places=3)


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    """Draw rules with few different conditions, so that several cover the same event."""
    least, most = sorted([draw(st.decimals(0, 50, places=2)) for _ in range(2)])
    fixed, minimum, maximum = draw(fees), draw(st.none() | st.just(least)), draw(st.none() | st.just(most))
    return Rule(
        (LineCharge(percent=draw(percents), fixed=fixed, minimum=minimum, maximum=maximum),),
        category=tuple(filter(None, [draw(categories)])),
        location=tuple(filter(None, [draw(places)])),
        currency=draw(st.none() | codes if fixed is minimum is maximum is None else codes),
    )


rate_cards = st.builds(
    RateCard,
    st.just(OCTOBER),
    st.lists(rules(), max_size=12, unique_by=lambda rule: (rule.category, rule.location, rule.currency)).map(tuple),
    st.none(),
    st.just(False),  # noqa: FBT003 - drawn
)
any_sold = st.builds(
    Sold,
    st.decimals(-(10**6), 10**6, places=2),
    codes,
    st.none() | st.integers(0, 100).map(Decimal),
    categories,
    places,
    st.just(""),
    st.none(),
    st.none(),
    st.just(False),  # noqa: FBT003 - drawn
)
