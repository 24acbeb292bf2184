"""The currencies, compared with a library's list."""

import iso4217

from quarterhour.model import money
from quarterhour.model.currencies import MINOR_DIGITS
from tests.support.cases import cases


def test_the_currencies_are_those_of_iso_4217_with_a_minor_unit() -> None:
    listed = {currency.code: currency.exponent for currency in iso4217.Currency if currency.exponent is not None}
    assert listed == MINOR_DIGITS


@cases("code", ["XAU", "XXX", "XTS", "gbp", "GB", "GBPX", "", "ABC", 826, None])
def test_metals_test_codes_and_unknown_codes_are_not_currencies(code: object) -> None:
    assert not money.is_currency(code)
