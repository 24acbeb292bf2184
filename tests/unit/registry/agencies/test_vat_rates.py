"""The VAT rates of countries by date."""

from datetime import date, timedelta
from decimal import Decimal

import pytest

from quarterhour.registry.agencies.vat_ids import MEMBER_STATES
from quarterhour.registry.agencies.vat_rates import vat_rates


@pytest.mark.parametrize(
    ("country", "day", "standard"),
    [
        ("DE", "2020-06-30", "19"), ("DE", "2020-07-01", "16"), ("DE", "2020-12-31", "16"), ("DE", "2021-01-01", "19"),
        ("IE", "2020-09-01", "21"), ("IE", "2021-03-01", "23"), ("LU", "2023-12-31", "16"), ("LU", "2024-01-01", "17"),
        ("EE", "2023-12-31", "20"), ("EE", "2024-01-01", "22"), ("EE", "2025-07-01", "24"), ("FI", "2024-08-31", "24"),
        ("FI", "2024-09-01", "25.5"),
        ("SK", "2024-12-31", "20"), ("SK", "2025-01-01", "23"), ("RO", "2025-07-31", "19"),
        ("RO", "2025-08-01", "21"), ("GB", "2026-10-01", "20"), ("IM", "2026-10-01", "20"), ("MC", "2026-10-01", "20"),
        ("HU", "1990-01-01", "27"),
    ],
)  # fmt: skip
def test_the_standard_rate_of_a_country_begins_on_its_day(country: str, day: str, standard: str) -> None:
    found = vat_rates(country, date.fromisoformat(day))
    assert found is not None
    assert found[0] == Decimal(standard)


def test_reduced_rates_are_known_by_date() -> None:
    assert Decimal("12.5") in (vat_rates("GB", date(2021, 12, 1)) or ())
    assert Decimal("12.5") not in (vat_rates("GB", date(2022, 4, 1)) or ())
    assert Decimal(9) in (vat_rates("LT", date(2025, 12, 31)) or ())
    assert Decimal(9) not in (vat_rates("LT", date(2026, 1, 1)) or ())


def test_every_member_state_has_its_rates_on_every_day_and_its_standard_rate_is_the_highest() -> None:
    days = [date(2016, 1, 1) + timedelta(days=15 * number) for number in range(280)]
    for country in (*MEMBER_STATES, "GB"):
        for day in days:
            rates = vat_rates(country, day)
            assert rates is not None
            assert rates[0] == max(rates), (country, day)
            assert len(set(rates)) == len(rates)


def test_other_countries_are_not_known() -> None:
    assert vat_rates("US", date(2026, 10, 1)) is None
