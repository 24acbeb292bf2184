"""Reading the exchange rate in force: which call finds it, and which rates do not count."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from quarterhour.aws.items import from_item, to_item
from quarterhour.model.clock import iso_millis
from quarterhour.registry.exchange_rates.exchange_rate import ExchangeRate
from quarterhour.registry.exchange_rates.store import ExchangeRateStore
from tests.support.builders import QUARTER_HOUR, utc
from tests.support.script import Scripted

RATE = ExchangeRate(Decimal("0.8"), "ECB", "EUR", utc("01:00"))
OTHER = replace(RATE, units_per_base=Decimal("0.5"))

pytestmark = pytest.mark.usefixtures("hands")


def rates_in(dynamodb: Scripted) -> ExchangeRateStore:
    client: Any = dynamodb
    return ExchangeRateStore(client, "Entity")


def found(*rates: ExchangeRate) -> Scripted:
    return Scripted({"Items": [to_item(rate.values(1)) for rate in rates]})


def test_the_exchange_rate_in_force_right_before_an_instant_is_the_newest_history_until_then() -> None:
    table = found(RATE, OTHER)
    assert rates_in(table).in_force("GBP", QUARTER_HOUR.end, "EUR") == RATE
    ((operation, request),) = table.calls
    last = iso_millis(QUARTER_HOUR.end - timedelta(milliseconds=1))
    assert (operation, request["ConsistentRead"], request["ScanIndexForward"]) == ("query", True, False)
    assert from_item(request["ExpressionAttributeValues"]) == {
        ":pk": "RATE#GBP",
        ":low": "AS_OF#",
        ":high": f"AS_OF#{last}",
    }


@pytest.mark.parametrize("base", ["USD", ""])
def test_an_exchange_rate_of_another_base_currency_is_ignored(base: str) -> None:
    assert rates_in(found(replace(RATE, base=base))).in_force("GBP", QUARTER_HOUR.end, "EUR") is None


def test_before_the_first_exchange_rate_none_is_in_force() -> None:
    assert rates_in(found()).in_force("GBP", QUARTER_HOUR.end, "EUR") is None
