"""The owner of the marketplace: what its document may hold, and what a complete statement needs of it."""

from decimal import Decimal
from typing import Any

import pytest

from quarterhour.registry.agencies.e_invoices import REACH_FIELDS
from quarterhour.registry.owner import FIELDS, MAX_LOGO, Owner, read_owner
from tests.support.cases import cases

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
    assert (owner.iban, owner.payment_days, owner.missing) == ("GB29NWBK60161331926819", 14, [])


def test_what_a_complete_statement_lacks_is_named() -> None:
    owner = read_owner({"legal_name": "Corner Market Ltd", "payment_days": Decimal(0)})
    assert isinstance(owner, Owner)
    assert owner.missing == ["address", "country", "vat_id", "iban"]


def test_a_statement_shows_the_parts_of_an_invoice_and_the_iban() -> None:
    owner = read_owner(WHOLE)
    assert isinstance(owner, Owner)
    assert set(owner.as_dict()) == {
        "legal_name",
        "address",
        "country",
        "vat_id",
        "contact",
        "logo",
        "iban",
        *REACH_FIELDS,
    }


@pytest.mark.parametrize("days", [Decimal(-1), Decimal("1.5"), Decimal(366), "14", True])
def test_days_of_payment_are_whole_and_at_most_a_year(days: object) -> None:
    problems = read_owner({**WHOLE, "payment_days": days})
    assert not isinstance(problems, Owner)
    ((field, expected),) = [(one.field, one.expected) for one in problems]
    assert (field, expected) == ("content.payment_days", "a whole number of days from 0 to 365")


def test_titles_are_by_country_and_one_stands_for_all_others() -> None:
    owner = read_owner({**WHOLE, "titles": {"AU": "tax_invoice", "other": "invoice"}})
    assert isinstance(owner, Owner)
    assert [owner.title_for(one) for one in ("AU", "DE", None)] == ["tax_invoice", "invoice", "invoice"]
    assert Owner(titles={"AU": "tax_invoice"}).title_for("DE") == Owner().title_for("AU") == "statement"


def test_an_iban_with_wrong_check_digits_is_refused() -> None:
    problems = read_owner({**WHOLE, "iban": "GB28NWBK60161331926819"})
    assert not isinstance(problems, Owner)
    assert [(one.field, one.problem) for one in problems] == [
        ("content.iban", "is 'GB28NWBK60161331926819', which has wrong check digits")
    ]


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no legal name": ({"legal_name": None}, "legal_name"),
    "an empty legal name": ({"legal_name": ""}, "legal_name"),
    "a legal name of which nothing is seen": ({"legal_name": "\u200b\u00a0"}, "legal_name"),
    "titles that are no object": ({"titles": ["invoice"]}, "titles"),
    "a title of no country": ({"titles": {"ZZ": "invoice"}}, "titles"),
    "an unknown title": ({"titles": {"DE": "Rechnung"}}, "titles"),
    "a title that is a list": ({"titles": {"DE": ["invoice"]}}, "titles"),
    "a blank address": ({"address": " \n"}, "address"),
    "an address of which nothing is seen": ({"address": "\t\n\u200b"}, "address"),
    "an unknown country": ({"country": "UK"}, "country"),
    "a VAT id with a wrong check digit": ({"vat_id": "GB980780685"}, "vat_id"),
    "a VAT id that is a number": ({"vat_id": Decimal(980780684)}, "vat_id"),
    "a contact that is a list": ({"contact": ["ann"]}, "contact"),
    "a contact of which nothing is seen": ({"contact": "\n\u2066"}, "contact"),
    "a logo from a network": ({"logo": "https://market.example/logo.png"}, "logo"),
    "a logo that is text": ({"logo": "data:text/html;base64,AAAA"}, "logo"),
    "a logo that is no base64": ({"logo": "data:image/png;base64,AAAAA"}, "logo"),
    "a logo that is too large": ({"logo": "data:image/png;base64," + "A" * MAX_LOGO}, "logo"),
    "an IBAN of no country": ({"iban": "XX29NWBK60161331926819"}, "iban"),
    "an IBAN that is a number": ({"iban": Decimal(82)}, "iban"),
    "days of payment in words": ({"payment_days": "thirty"}, "payment_days"),
    "a start without a time zone": ({"valid_from": "2026-10-01T00:00:00"}, "valid_from"),
    "an email address without a domain": ({"email": "billing"}, "email"),
    "a post code that is a number": ({"post_code": Decimal(20457)}, "post_code"),
    "a blank town": ({"town": " "}, "town"),
    "a telephone number of two digits": ({"phone": "+49"}, "phone"),
    "an electronic address of no scheme": ({"electronic_address": "9999:1"}, "electronic_address"),
    "a number of registration that is a number": ({"registration_number": Decimal(7)}, "registration_number"),
    "an unknown field": ({"tax": "20"}, "tax"),
}


@cases(("changed", "field"), BAD.values(), ids=BAD)
def test_an_invalid_owner_is_refused_with_the_field(changed: dict[str, Any], field: str) -> None:
    problems = read_owner({name: value for name, value in {**WHOLE, **changed}.items() if value is not None})
    assert not isinstance(problems, Owner)
    assert [one.field for one in problems] == [f"content.{field}"]
    assert all(one.problem and one.expected for one in problems)


def test_every_field_of_an_owner_has_a_bad_value() -> None:
    assert {field for _, field in BAD.values()} >= set(FIELDS)


def test_every_problem_of_an_owner_is_returned() -> None:
    problems = read_owner({"legal_name": "", "country": "UK", "iban": "none", "payment_days": Decimal(-1)})
    assert not isinstance(problems, Owner)
    assert [one.field for one in problems] == [
        *("content.legal_name", "content.country", "content.iban", "content.payment_days"),
    ]
