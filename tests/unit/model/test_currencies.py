"""The currencies, compared with the lists of libraries, and the times at which they were money."""

from datetime import UTC, date, datetime
from itertools import chain

import iso4217
import pytest
from babel.core import get_global

from quarterhour.model import money
from quarterhour.model.currencies import IN_USE, LIVES, MINOR_DIGITS, not_of_its_time
from tests.support.cases import cases

SAME_FOR_YEARS = 6
"""The lists name the end of the exchange, or the end of the account, which are at most so many years apart."""


def test_the_currencies_are_those_of_iso_4217_with_a_minor_unit() -> None:
    listed = {currency.code: currency.exponent for currency in iso4217.Currency if currency.exponent is not None}
    assert listed == {code: digits for code, digits in MINOR_DIGITS.items() if code in IN_USE}
    assert MINOR_DIGITS.keys() == IN_USE | LIVES.keys()
    assert not IN_USE & LIVES.keys()


def test_the_ends_of_withdrawn_currencies_are_about_those_of_the_cldr() -> None:
    ends: dict[str, list[tuple[int, int, int] | None]] = {}
    for code, _, end, _ in chain.from_iterable(get_global("territory_currencies").values()):
        ends.setdefault(code, []).append(end)
    known = {
        code: [one for one in found if one]
        for code, found in ends.items()
        if code in LIVES and all(found) and LIVES[code][1] > "1990"
    }
    for code, found in known.items():
        years = [date(*one).year for one in found]
        assert min(abs(int(LIVES[code][1][:4]) - year) for year in years) <= SAME_FOR_YEARS, code
    withdrawn_since_1990 = {code for code, found in ends.items() if all(found) and max(filter(None, found))[0] >= 1990}
    assert withdrawn_since_1990 - LIVES.keys() - IN_USE <= {
        "BAN",
        "CNX",
        "MCF",
        "MDC",
        "MKN",
        "MVP",
        "XFO",
        "XFU",
        "XRE",
        "YUR",
    }


@cases("code", ["XAU", "XXX", "XTS", "gbp", "GB", "GBPX", "", "ABC", 826, None])
def test_metals_test_codes_and_unknown_codes_are_not_currencies(code: object) -> None:
    assert not money.is_currency(code)


@pytest.mark.parametrize(
    ("code", "digits"), [("HRK", 2), ("BGN", 2), ("DEM", 2), ("ITL", 0), ("ESP", 0), ("TRL", 0), ("BYR", 0), ("SLL", 2)]
)
def test_the_minor_units_of_withdrawn_currencies_are_those_of_iso(code: str, digits: int) -> None:
    assert money.minor_digits(code) == digits


@pytest.mark.parametrize(
    ("code", "at", "later", "why"),
    [
        ("HRK", datetime(2022, 12, 31, tzinfo=UTC), False, None),
        ("HRK", datetime(2023, 1, 31, 23, tzinfo=UTC), False, None),
        ("HRK", datetime(2023, 2, 1, 13, tzinfo=UTC), False, None),
        ("HRK", datetime(2023, 2, 2, tzinfo=UTC), False, "is HRK, which was withdrawn in 2023-01"),
        ("HRK", datetime(2026, 2, 2, tzinfo=UTC), True, None),
        ("HRK", datetime(1994, 4, 30, 9, tzinfo=UTC), True, "is HRK, which began in 1994-05"),
        ("HRK", datetime(1994, 4, 30, 11, tzinfo=UTC), False, None),
        ("DEM", datetime.max.replace(tzinfo=UTC), False, "is DEM, which was withdrawn in 2002-03"),
        ("DEM", datetime.min.replace(tzinfo=UTC), True, "is DEM, which began in 1970-01"),
        ("EUR", datetime.min.replace(tzinfo=UTC), False, None),
    ],
)
def test_a_withdrawn_currency_is_money_of_its_time(code: str, at: datetime, *, later: bool, why: str | None) -> None:
    assert not_of_its_time(code, at, later=later) == why
