"""Rates: what a statement must hold, and what follows from it and from what stands."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.aws.entity import Values
from quarterhour.aws.items import from_item, to_item
from quarterhour.exchange_rates.exchange_rate import EXCHANGE_RATE_STATES, ExchangeRate, Statement, read_statement
from quarterhour.exchange_rates.keys import code, currency_of, latest_key, rate_pk, stated_key, stated_until
from quarterhour.exchange_rates.plan import Move, decide, place_of
from quarterhour.model.clock import iso_millis
from quarterhour.model.errors import ConflictError, InvalidError
from quarterhour.snapshots.layers import parse_layers
from quarterhour.snapshots.plan import snapshots
from quarterhour.snapshots.queries import trend
from tests.support.builders import AT, millis, record

MINUTE = timedelta(minutes=1)
MILLISECOND = timedelta(milliseconds=1)
STATED = ExchangeRate(Decimal("1.0842"), "ECB", "EUR", AT)
codes = st.text(st.characters(min_codepoint=65, max_codepoint=90), min_size=3, max_size=3)


def standing(rate: ExchangeRate = STATED, version: int = 3) -> Values:
    """Return a rate as it is read back."""
    return from_item(to_item({**latest_key("GBP"), **rate.values(version)}))


def move(rate: ExchangeRate, latest: Values | None = None, there: Values | None = None) -> Move:
    found = decide("GBP", rate, latest, there)
    assert isinstance(found, Move)
    return found


# ---------------------------------------------------------------- keys


@given(codes)
def test_a_currency_comes_back_from_its_key(currency: str) -> None:
    assert currency_of(rate_pk(currency)) == code(currency) == currency
    assert EXCHANGE_RATE_STATES.names(rate_pk(currency)) == {"currency": currency}


@pytest.mark.parametrize("pk", ["RATE#", "RATE#EURO", "RATE#eur", "RATE#€UR", "ACCOUNT#42#GBP", "RATE#GBP#1", ""])
def test_what_is_no_currencys_key_is_refused(pk: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        currency_of(pk)


@given(stated=millis, at=millis)
def test_a_rate_is_in_force_from_the_instant_that_it_is_stated_for(stated: datetime, at: datetime) -> None:
    wanted = stated_until("GBP", at)
    assert (wanted.low <= stated_key("GBP", stated)["sk"] <= wanted.high) == (stated <= at)
    assert not wanted.low <= latest_key("GBP")["sk"] <= wanted.high


# ---------------------------------------------------------------- statements


def body(**changed: object) -> dict[str, Any]:
    sent: dict[str, Any] = {"units_per_base": "1.0842", "source": "ECB", "as_of": "2026-10-23T01:00:00Z", **changed}
    return {name: value for name, value in sent.items() if value is not None}


def test_a_statement_is_read_exactly_and_to_the_millisecond() -> None:
    found = read_statement(body(units_per_base=Decimal("1.08420"), as_of="2026-10-23T03:00:00.1239+02:00"), AT)
    assert found == Statement(Decimal("1.08420"), "ECB", AT.replace(hour=1, minute=0, second=0, microsecond=123_000))
    assert read_statement(body(as_of=None), AT).as_of is None
    assert read_statement(body(as_of=iso_millis(AT)), AT).as_of == AT


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"units_per_base": None}, "units_per_base"),
        *[({"units_per_base": bad}, "units_per_base") for bad in ("0", "-1", "1e3", "", "1,5", True, [1], "1" * 39)],
        ({"source": None}, "source"),
        *[({"source": bad}, "source") for bad in ("", "a\nb", "x" * 65, 7)],
        *[({"as_of": bad}, "as_of") for bad in ("2026-10-23", "now", 7, iso_millis(AT + MILLISECOND), "9999-01-01")],
        *[({"as_of": bad}, "as_of") for bad in ("0977-09-03T13:53:33Z", "1969-12-31T23:59:59Z")],
        ({"base": "EUR"}, "base"),
    ],
)
def test_what_is_no_statement_is_told_by_its_field(changed: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidError) as told:
        read_statement(body(**changed), AT)
    assert [problem.field.strip("'") for problem in told.value.problems] == [field]


def test_every_problem_is_told_at_once() -> None:
    with pytest.raises(InvalidError) as told:
        read_statement({"rate": 1}, AT)
    assert len(told.value.problems) == 3


# ---------------------------------------------------------------- what follows


def test_the_first_rate_comes_into_force_and_into_the_history() -> None:
    found = move(STATED)
    assert found.version is None
    assert found.latest.items() >= {"pk": "RATE#GBP", "sk": "latest", "version": 1, "gsi1sk": "RATE#GBP"}.items()
    assert found.stated == {
        "pk": "RATE#GBP",
        "sk": "AS_OF#2026-10-23T01:30:12.345Z",
        "units_per_base": "1.0842",
        "source": "ECB",
        "base": "EUR",
        "version": 1,
        "last_updated": "2026-10-23T01:30:12.345Z",
    }


def test_a_later_rate_moves_the_version_on() -> None:
    later = ExchangeRate(Decimal("1.1"), "me", "", AT + MILLISECOND)
    found = move(later, standing())
    assert (found.version, found.latest["version"], found.latest["last_updated"]) == (3, 4, iso_millis(later.as_of))
    assert ExchangeRate.of(from_item(to_item(found.stated))) == later


def test_what_was_stated_already_stands() -> None:
    same = ExchangeRate(Decimal("1.08420"), "ECB", "EUR", AT)
    assert decide("GBP", same, standing(), standing()) == standing()
    old = standing(ExchangeRate(Decimal(1), "ECB", "EUR", AT - MINUTE), 2)
    assert decide("GBP", ExchangeRate(Decimal(1), "ECB", "EUR", AT - MINUTE), standing(), old) == old


@pytest.mark.parametrize(
    "other",
    [
        ExchangeRate(Decimal("1.0843"), "ECB", "EUR", AT),
        ExchangeRate(Decimal("1.0842"), "me", "EUR", AT),
        ExchangeRate(Decimal("1.0842"), "ECB", "USD", AT),
    ],
)
def test_another_rate_as_of_the_same_instant_is_refused(other: ExchangeRate) -> None:
    with pytest.raises(ConflictError, match=r"1\.0842 GBP"):
        decide("GBP", other, standing(), standing())


@given(earlier=st.timedeltas(timedelta(0), timedelta(days=9000)))
def test_no_rate_comes_in_behind_the_one_in_force(earlier: timedelta) -> None:
    with pytest.raises(ConflictError, match="in the order of time"):
        decide("GBP", ExchangeRate(Decimal(1), "ECB", "EUR", AT - earlier), standing(), None)


def test_a_statement_without_an_instant_is_from_now_on() -> None:
    said = Statement(Decimal("1.1"), "ECB", None)
    now = AT + timedelta(microseconds=999)
    assert place_of(said, "EUR", None, now) == AT
    assert place_of(said, "EUR", standing(), now) == AT + MILLISECOND, "behind the one in force, within its millisecond"
    assert place_of(said, "EUR", standing(), AT + MINUTE) == AT + MINUTE
    same = Statement(Decimal("1.0842"), "ECB", None)
    assert place_of(same, "EUR", standing(), AT + MINUTE) == AT, "nothing new is said"
    assert place_of(same, "USD", standing(), AT + MINUTE) == AT + MINUTE
    assert place_of(Statement(Decimal(1), "ECB", AT - MINUTE), "EUR", standing(), now) == AT - MINUTE


# ---------------------------------------------------------------- windows


def test_the_windows_keep_a_rate_as_they_keep_an_account() -> None:
    layers = parse_layers("change=1h,5m=24h,1h=31d")
    found, poison = snapshots([record(1, to_item(move(STATED).latest))], layers)
    assert not poison
    assert [one.values["sk"] for one in found] == [
        "change#2026-10-23T01:30:12.345Z#000000000001",
        "5m#2026-10-23T01:30:00Z",
        "1h#2026-10-23T01:00:00Z",
    ]
    for one in found:
        assert ExchangeRate.of(one.values) == STATED


@pytest.mark.parametrize(("before", "direction"), [("1.0841", "up"), ("1.08420", "stable"), ("1.1", "down")])
def test_the_trend_is_that_of_the_units(before: str, direction: str) -> None:
    figures = EXCHANGE_RATE_STATES.figures
    told = trend(figures({"units_per_base": "1.0842"}), figures({"units_per_base": before}), EXCHANGE_RATE_STATES.main)
    assert told["trend"] == direction


def test_a_rate_is_shown_without_its_keys() -> None:
    assert EXCHANGE_RATE_STATES.state(standing()) == {
        "units_per_base": "1.0842",
        "source": "ECB",
        "base": "EUR",
        "version": 3,
        "as_of": "2026-10-23T01:30:12.345Z",
    }
    assert EXCHANGE_RATE_STATES.state(standing(ExchangeRate(Decimal(1), "me", "", AT)))["base"] is None
