"""Exchange rates: what a request must hold, and how a rate is stored and shown."""

from decimal import Decimal
from typing import Any

import pytest

from quarterhour.aws.entity import Values
from quarterhour.aws.items import from_item, to_item
from quarterhour.model.clock import MILLISECOND, iso_millis
from quarterhour.model.errors import InvalidError
from quarterhour.registry.exchange_rates.exchange_rate import (
    EXCHANGE_RATE_STATES,
    ExchangeRate,
    ExchangeRateRequest,
    read_request,
)
from quarterhour.registry.exchange_rates.keys import latest_key
from quarterhour.snapshots.queries import trend
from tests.support.builders import AT
from tests.support.cases import cases

ENTERED = ExchangeRate(Decimal("1.0842"), "ECB", "EUR", AT)


def stored_rate(rate: ExchangeRate = ENTERED, version: int = 3) -> Values:
    """Return a rate as it is read back."""
    return from_item(to_item({**latest_key("GBP"), **rate.values(version)}))


def body(**changed: object) -> dict[str, Any]:
    sent: dict[str, Any] = {"units_per_base": "1.0842", "source": "ECB", "as_of": "2026-10-23T01:00:00Z", **changed}
    return {name: value for name, value in sent.items() if value is not None}


def test_a_request_is_parsed_exactly_and_to_the_millisecond() -> None:
    found = read_request(body(units_per_base=Decimal("1.08420"), as_of="2026-10-23T03:00:00.1239+02:00"), AT)
    assert found == ExchangeRateRequest(
        Decimal("1.08420"), "ECB", AT.replace(hour=1, minute=0, second=0, microsecond=123_000)
    )
    assert read_request(body(as_of=None), AT).as_of is None
    assert read_request(body(as_of=iso_millis(AT)), AT).as_of == AT
    assert (read_request(body(), AT).base, read_request(body(base="EUR"), AT).base) == ("", "EUR")


@cases(
    ("changed", "field"),
    [
        ({"units_per_base": None}, "units_per_base"),
        *[({"units_per_base": bad}, "units_per_base") for bad in ("0", "-1", "1e3", "", "1,5", True, [1], "1" * 39)],
        ({"source": None}, "source"),
        *[({"source": bad}, "source") for bad in ("", "a\u200bb", "x" * 65, 7)],
        *[({"as_of": bad}, "as_of") for bad in ("2026-10-23", "now", 7, iso_millis(AT + MILLISECOND), "9999-01-01")],
        *[({"as_of": bad}, "as_of") for bad in ("0977-09-03T13:53:33Z", "1969-12-31T23:59:59Z")],
        *[({"base": bad}, "base") for bad in ("", "eur", "euro", 7)],
        ({"rate": "1"}, "rate"),
    ],
)
def test_a_bad_request_is_refused_with_its_field(changed: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidError) as error:
        read_request(body(**changed), AT)
    assert [problem.field.strip("'") for problem in error.value.problems] == [field]


def test_all_problems_are_listed_at_once() -> None:
    with pytest.raises(InvalidError) as error:
        read_request({"rate": 1}, AT)
    assert len(error.value.problems) == 3


@pytest.mark.parametrize(("before", "direction"), [("1.0841", "up"), ("1.08420", "stable"), ("1.1", "down")])
def test_the_trend_is_that_of_the_units(before: str, direction: str) -> None:
    figures = EXCHANGE_RATE_STATES.figures
    comparison = trend(
        figures({"units_per_base": "1.0842"}), figures({"units_per_base": before}), EXCHANGE_RATE_STATES.main
    )
    assert comparison["trend"] == direction


def test_a_rate_is_shown_without_its_keys() -> None:
    assert EXCHANGE_RATE_STATES.state(stored_rate()) == {
        "units_per_base": "1.0842",
        "source": "ECB",
        "base": "EUR",
        "version": 3,
        "as_of": "2026-10-23T01:30:12.345Z",
    }
    assert EXCHANGE_RATE_STATES.state(stored_rate(ExchangeRate(Decimal(1), "me", "", AT)))["base"] is None
