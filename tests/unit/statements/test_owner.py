"""The owner of the marketplace: what its document may hold, and what a complete statement needs of it."""

from decimal import Decimal
from typing import Any

import pytest

from quarterhour.statements.owner import Owner, read_owner

WHOLE: dict[str, Any] = {
    "legal_name": "Corner Market Ltd",
    "address": "1 Dock Street\nLondon E1 8JN",
    "country": "GB",
    "vat_id": "GB980780684",
    "iban": "GB29 NWBK 6016 1331 9268 19",
    "payment_days": Decimal(14),
}


def test_an_owner_with_all_fields_is_complete() -> None:
    owner = read_owner(WHOLE)
    assert isinstance(owner, Owner)
    assert (owner.iban, owner.payment_days, owner.missing) == ("GB29 NWBK 6016 1331 9268 19", 14, [])


def test_what_a_complete_statement_lacks_is_named() -> None:
    owner = read_owner({"legal_name": "Corner Market Ltd", "payment_days": Decimal(0)})
    assert isinstance(owner, Owner)
    assert owner.missing == ["address", "country", "vat_id", "iban"]


def test_a_statement_shows_the_iban_and_one_of_schema_1_does_not() -> None:
    owner = read_owner(WHOLE)
    assert isinstance(owner, Owner)
    shown = {"legal_name", "address", "country", "vat_id", "contact", "logo"}
    assert set(owner.as_dict(with_iban=False)) == shown
    assert set(owner.as_dict(with_iban=True)) == {*shown, "iban"}


@pytest.mark.parametrize("days", [Decimal(-1), Decimal("1.5"), Decimal(366), "14", True])
def test_days_of_payment_are_whole_and_at_most_a_year(days: object) -> None:
    problems = read_owner({**WHOLE, "payment_days": days})
    assert not isinstance(problems, Owner)
    ((field, expected),) = [(one.field, one.expected) for one in problems]
    assert (field, expected) == ("content.payment_days", "a whole number of days from 0 to 365")


def test_an_iban_with_wrong_check_digits_is_refused() -> None:
    problems = read_owner({**WHOLE, "iban": "GB28NWBK60161331926819"})
    assert not isinstance(problems, Owner)
    assert [(one.field, one.problem) for one in problems] == [("content.iban", "is 'GB28NWBK60161331926819'")]
