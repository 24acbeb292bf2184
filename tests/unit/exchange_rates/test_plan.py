"""Planning of a stated exchange rate: its items, its instant, or the conflict with existing rates."""

from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.aws.entity import Values
from quarterhour.aws.items import from_item, to_item
from quarterhour.exchange_rates.exchange_rate import ExchangeRate, Statement
from quarterhour.exchange_rates.plan import RateChange, effective_at, plan_change
from quarterhour.model.clock import MILLISECOND, iso_millis
from quarterhour.model.errors import ConflictError
from quarterhour.snapshots.layers import parse_layers
from quarterhour.snapshots.plan import snapshots
from tests.support.builders import AT, record
from tests.unit.exchange_rates.test_exchange_rate import STATED, stored_rate

MINUTE = timedelta(minutes=1)


def planned(rate: ExchangeRate, latest: Values | None = None, there: Values | None = None) -> RateChange:
    found = plan_change("GBP", rate, latest, there)
    assert isinstance(found, RateChange)
    return found


def test_the_first_rate_comes_into_force_and_into_the_history() -> None:
    found = planned(STATED)
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


def test_a_later_rate_increments_the_version() -> None:
    later = ExchangeRate(Decimal("1.1"), "me", "", AT + MILLISECOND)
    found = planned(later, stored_rate())
    assert (found.version, found.latest["version"], found.latest["last_updated"]) == (3, 4, iso_millis(later.as_of))
    assert ExchangeRate.of(from_item(to_item(found.stated))) == later


def test_a_rate_that_was_stated_already_stays() -> None:
    same = ExchangeRate(Decimal("1.08420"), "ECB", "EUR", AT)
    assert plan_change("GBP", same, stored_rate(), stored_rate()) == stored_rate()
    old = stored_rate(ExchangeRate(Decimal(1), "ECB", "EUR", AT - MINUTE), 2)
    assert plan_change("GBP", ExchangeRate(Decimal(1), "ECB", "EUR", AT - MINUTE), stored_rate(), old) == old


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
        plan_change("GBP", other, stored_rate(), stored_rate())


@given(earlier=st.timedeltas(timedelta(0), timedelta(days=9000)))
def test_a_rate_before_the_one_in_force_is_refused(earlier: timedelta) -> None:
    with pytest.raises(ConflictError, match="in the order of time"):
        plan_change("GBP", ExchangeRate(Decimal(1), "ECB", "EUR", AT - earlier), stored_rate(), None)


def test_a_statement_without_an_instant_is_from_now_on() -> None:
    statement = Statement(Decimal("1.1"), "ECB", None)
    now = AT + timedelta(microseconds=999)
    assert effective_at(statement, "EUR", None, now) == AT
    assert effective_at(statement, "EUR", stored_rate(), now) == AT + MILLISECOND, (
        "after the one in force, within its millisecond"
    )
    assert effective_at(statement, "EUR", stored_rate(), AT + MINUTE) == AT + MINUTE
    same = Statement(Decimal("1.0842"), "ECB", None)
    assert effective_at(same, "EUR", stored_rate(), AT + MINUTE) == AT, "nothing new is stated"
    assert effective_at(same, "USD", stored_rate(), AT + MINUTE) == AT + MINUTE
    assert effective_at(Statement(Decimal(1), "ECB", AT - MINUTE), "EUR", stored_rate(), now) == AT - MINUTE


def test_the_windows_keep_a_rate_as_they_keep_an_account() -> None:
    layers = parse_layers("change=1h,5m=24h,1h=31d")
    found, poison = snapshots([record(1, to_item(planned(STATED).latest))], layers)
    assert not poison
    assert [one.values["sk"] for one in found] == [
        "change#2026-10-23T01:30:12.345Z#000000000001",
        "5m#2026-10-23T01:30:00Z",
        "1h#2026-10-23T01:00:00Z",
    ]
    for one in found:
        assert ExchangeRate.of(one.values) == STATED
