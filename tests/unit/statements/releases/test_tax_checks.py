"""The checks of tax profiles that cannot be right."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from quarterhour.registry.agencies.agency import (
    EXEMPT,
    OUTSIDE_SCOPE,
    REVERSE_CHARGE,
    STANDARD,
    Agency,
    TaxProfile,
    TaxRate,
)  # fmt: skip
from quarterhour.registry.owner import Owner
from quarterhour.statements.releases.checks import Check, Level, unconfirmed
from quarterhour.statements.releases.tax_checks import doubts

OCTOBER = date(2026, 10, 5)
GERMAN, FRENCH, SPANISH = "DE136695976", "FR40303265045", "ESA13585625"


def found(country: str, scheme: str, percent: str = "0", owner: str = "DE", **more: Any) -> dict[str, str]:
    """Return the doubts about an agency's profile at one tax point."""
    tax = TaxProfile(scheme, Decimal(percent), **more)
    agency = Agency(datetime(2026, 1, 1, tzinfo=UTC), country=country, tax=tax)
    return doubts(Owner(country=owner), [(OCTOBER, agency)])


@pytest.mark.parametrize(
    ("profile", "check", "message"),
    [
        (("DE", STANDARD, "91"), "tax_percent", "91 % on 2026-10-05 is no VAT rate of DE (those are 19, 7)"),
        (("DE", STANDARD, "16"), "tax_percent", "16 % on 2026-10-05 is no VAT rate of DE (those are 19, 7)"),
        (("DE", REVERSE_CHARGE), "tax_place", "reverse charge in DE, where the owner charges VAT itself"),
        (("FR", OUTSIDE_SCOPE), "tax_place", "outside the scope of VAT, for an agency in FR"),
        (("US", REVERSE_CHARGE), "tax_place",
         "reverse charge in US, outside the European Union: it is outside the scope of VAT"),
    ],
)  # fmt: skip
def test_a_profile_that_cannot_be_right_is_named(profile: tuple[str, ...], check: str, message: str) -> None:
    assert found(*profile) == {check: message}


def test_a_business_elsewhere_in_the_union_owes_the_vat_itself() -> None:
    message = f"VAT of DE for a business in FR with the VAT id {FRENCH}"
    assert found("FR", STANDARD, "19", vat_id=FRENCH) == {"tax_place": message}
    assert found("FR", STANDARD, "19") == {}, "somebody without a VAT id may be a consumer"


def test_the_ec_sales_list_has_no_vat_id_of_the_owner_s_country() -> None:
    message = "reverse charge in FR with the VAT id DE136695976, which is of DE"
    assert found("FR", REVERSE_CHARGE, vat_id=GERMAN) == {"tax_vat_id": message}
    assert found("FR", REVERSE_CHARGE, vat_id=FRENCH) == {}


@pytest.mark.parametrize(
    "profile",
    [
        ("DE", STANDARD, "19"), ("DE", STANDARD, "7"), ("DE", STANDARD, "0"), ("DE", EXEMPT), ("US", OUTSIDE_SCOPE),
        ("GB", OUTSIDE_SCOPE), ("FR", EXEMPT),
        ("ES", REVERSE_CHARGE, "0", "GB"), ("GB", STANDARD, "20", "GB"), ("US", STANDARD, "91", "US"),
        ("US", REVERSE_CHARGE, "0", "CH"),
    ],
)  # fmt: skip
def test_a_profile_that_may_be_right_is_not(profile: tuple[str, ...]) -> None:
    assert found(*profile) == {}


def test_rates_of_kinds_and_categories_count_too() -> None:
    books = {"books": TaxRate(STANDARD, Decimal(8))}
    assert found("DE", STANDARD, "19", by_category=books) == {
        "tax_percent": "8 % on 2026-10-05 is no VAT rate of DE (those are 19, 7)"
    }
    fee = {"fee": TaxRate(REVERSE_CHARGE)}
    assert found("DE", STANDARD, "19", by_kind=fee) == {
        "tax_place": "reverse charge in DE, where the owner charges VAT itself"
    }
    assert found("DE", STANDARD, "19", by_kind={"fine": TaxRate(OUTSIDE_SCOPE)}) == {}


def test_each_day_has_the_rates_and_the_registration_of_its_own() -> None:
    """16 % is right until the end of 2020; the same problem is named once."""
    agency = Agency(datetime(2020, 1, 1, tzinfo=UTC), country="DE", tax=TaxProfile(STANDARD, Decimal(16)))
    days = [date(2020, 12, 30), date(2020, 12, 31), date(2021, 1, 1), date(2021, 1, 2)]
    assert doubts(Owner(country="DE"), [(day, agency) for day in days]) == {
        "tax_percent": "16 % on 2021-01-01 is no VAT rate of DE (those are 19, 7)"
    }
    spanish = agency._replace(country="ES", tax=TaxProfile(STANDARD, Decimal(19), SPANISH))
    both = [(days[2], agency), (days[3], spanish)]
    assert set(doubts(Owner(country="DE"), both)) == {"tax_percent", "tax_place"}


def test_a_reason_confirms_what_can_have_one() -> None:
    checks = [Check(name, Level.FAILED, "…") for name in ("tax_percent", "tax_place", "tax_vat_id", "owner")]
    assert unconfirmed(checks, "") == checks
    assert [one.name for one in unconfirmed(checks, "sold in Büsingen")] == ["tax_vat_id", "owner"]
