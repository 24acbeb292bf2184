"""The keys of exchange rates."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.registry.exchange_rates.exchange_rate import EXCHANGE_RATE_STATES
from quarterhour.registry.exchange_rates.keys import (
    currency_of,
    history_after,
    history_key,
    history_until,
    latest_key,
    parse_code,
    rate_pk,
)
from tests.support.builders import millis

codes = st.text(st.characters(min_codepoint=65, max_codepoint=90), min_size=3, max_size=3)


@given(codes)
def test_a_currency_is_parsed_from_its_key(currency: str) -> None:
    assert currency_of(rate_pk(currency)) == parse_code(currency) == currency
    assert EXCHANGE_RATE_STATES.check(rate_pk(currency)) == currency


@pytest.mark.parametrize("pk", ["RATE#", "RATE#EURO", "RATE#eur", "RATE#€UR", "ACCOUNT#42#GBP", "RATE#GBP#1", ""])
def test_the_key_of_no_currency_is_refused(pk: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        currency_of(pk)


@given(entered=millis, at=millis)
def test_a_rate_is_in_force_from_the_instant_that_it_is_entered_for(entered: datetime, at: datetime) -> None:
    range_ = history_until("GBP", at)
    assert (range_.low <= history_key("GBP", entered)["sk"] <= range_.high) == (entered <= at)
    assert not range_.low <= latest_key("GBP")["sk"] <= range_.high


@given(entered=millis, at=millis)
def test_the_rates_after_an_instant_are_those_that_are_not_in_force_by_then(entered: datetime, at: datetime) -> None:
    range_ = history_after("GBP", at)
    assert (range_.low <= history_key("GBP", entered)["sk"] <= range_.high) == (entered > at)
    assert not range_.low <= latest_key("GBP")["sk"] <= range_.high
