"""Planning of an entered exchange rate: its items, its instant, or the conflict with existing rates."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.aws.entity import Values
from quarterhour.aws.items import from_item, to_item
from quarterhour.model.clock import MILLISECOND, iso_millis
from quarterhour.model.errors import ConflictError
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.registry.exchange_rates.exchange_rate import ExchangeRate, ExchangeRateRequest
from quarterhour.registry.exchange_rates.plan import (
    LastUse,
    RateChange,
    effective_at,
    is_earlier,
    plan_earlier,
    plan_latest,
    require_same,
)
from quarterhour.snapshots.layers import LAYERS
from quarterhour.snapshots.plan import snapshots
from tests.support.builders import AT, change_record
from tests.unit.registry.exchange_rates.test_exchange_rate import ENTERED, stored_rate

MINUTE = timedelta(minutes=1)


def planned(rate: ExchangeRate, latest: Values | None = None) -> RateChange:
    return plan_latest("GBP", rate, latest)


def earlier_by(span: timedelta) -> ExchangeRate:
    return ExchangeRate(Decimal(1), "ECB", "EUR", AT - span)


def test_the_first_rate_comes_into_force_and_into_the_history() -> None:
    found = planned(ENTERED)
    assert found.version is None
    assert found.latest.items() >= {"pk": "RATE#GBP", "sk": "latest", "version": 1, "gsi1sk": "RATE#GBP"}.items()
    assert found.entered == {
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
    assert ExchangeRate.of(from_item(to_item(found.entered))) == later


def test_a_rate_that_was_entered_already_stays() -> None:
    same = ExchangeRate(Decimal("1.08420"), "ECB", "EUR", AT)
    require_same("GBP", same, stored_rate())
    require_same("GBP", earlier_by(MINUTE), stored_rate(earlier_by(MINUTE), 2))


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
        require_same("GBP", other, stored_rate())


def test_a_rate_is_earlier_than_the_one_in_force_by_its_instant() -> None:
    assert is_earlier(earlier_by(MILLISECOND), stored_rate())
    assert not is_earlier(earlier_by(-MILLISECOND), stored_rate())
    assert not is_earlier(earlier_by(MILLISECOND), None)


@given(span=st.timedeltas(MILLISECOND, timedelta(days=9000)), used=st.timedeltas(timedelta(0), timedelta(days=9000)))
def test_an_earlier_rate_is_added_if_no_report_has_converted_a_later_quarter_hour(
    span: timedelta, used: timedelta
) -> None:
    rate, use = earlier_by(span), LastUse(QuarterHour.at(AT - used), "2026-10-23T0130-0230")
    if use.quarter_hour.end > rate.as_of:
        with pytest.raises(ConflictError, match="the report 2026-10-23T0130-0230 relies on"):
            plan_earlier("GBP", rate, stored_rate(), use)
    else:
        assert plan_earlier("GBP", rate, stored_rate(), use) == plan_earlier("GBP", rate, stored_rate(), None)


def test_an_earlier_rate_comes_into_the_history_with_the_version_of_the_next() -> None:
    found = plan_earlier("GBP", earlier_by(MINUTE), stored_rate(), None)
    assert found.entered == {
        "pk": "RATE#GBP",
        "sk": "AS_OF#2026-10-23T01:29:12.345Z",
        "units_per_base": "1",
        "source": "ECB",
        "base": "EUR",
        "version": stored_rate()["version"],
        "last_updated": "2026-10-23T01:29:12.345Z",
    }


def test_the_last_use_of_rates_is_parsed_as_it_was_stored() -> None:
    use = LastUse(QuarterHour.at(AT), "2026-10-23T0130-0230")
    assert LastUse.of(from_item(to_item(use.values("GBP")))) == use


def test_a_request_without_an_instant_is_from_now_on() -> None:
    request = ExchangeRateRequest(Decimal("1.1"), "ECB", None)
    now = AT + timedelta(microseconds=999)
    assert effective_at(request, "EUR", None, now) == AT
    assert effective_at(request, "EUR", stored_rate(), now) == AT + MILLISECOND, (
        "after the one in force, within its millisecond"
    )
    assert effective_at(request, "EUR", stored_rate(), AT + MINUTE) == AT + MINUTE
    same = ExchangeRateRequest(Decimal("1.0842"), "ECB", None)
    assert effective_at(same, "EUR", stored_rate(), AT + MINUTE) == AT, "nothing new is entered"
    assert effective_at(same, "USD", stored_rate(), AT + MINUTE) == AT + MINUTE
    assert effective_at(ExchangeRateRequest(Decimal(1), "ECB", AT - MINUTE), "EUR", stored_rate(), now) == AT - MINUTE


def test_the_windows_keep_a_rate_as_they_keep_an_account() -> None:
    layers = LAYERS
    before, after = (to_item(planned(replace(ENTERED, as_of=at)).latest) for at in (AT, AT + timedelta(hours=1)))
    found, poison = snapshots([change_record(1, before, after)], layers, AT)
    assert not poison
    assert [one.values["sk"] for one in found] == [
        "change#2026-10-23T01:30:12.345Z#000000000001",
        "5m#2026-10-23T01:30:00Z",
        "1h#2026-10-23T01:00:00Z",
    ]
    for one in found:
        assert ExchangeRate.of(one.values) == ENTERED
