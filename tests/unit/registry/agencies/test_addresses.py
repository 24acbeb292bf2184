"""Post codes as people type them, and the address of a party with its town."""

from typing import Any

import pytest

from quarterhour.registry.agencies.addresses import read_post_code, street_lines, whole_address
from tests.support.cases import cases


@cases(
    ("typed", "country", "expected"),
    [
        ("20457", "DE", "20457"),
        ("D-20457", "DE", "20457"),
        ("d\u00a020457", "DE", "20457"),
        ("1012js", "NL", "1012 JS"),
        ("sw1a1aa", "GB", "SW1A 1AA"),
        ("KA7\u30001AA", "GB", "KA7 1AA"),
        ("SE-11122", "SE", "111 22"),
        ("1010", "LV", "LV-1010"),
        ("LV\u20131010", "LV", "LV-1010"),
        ("00950", "PL", "00-950"),
        ("1100148", "PT", "1100-148"),
        ("100141234", "US", "10014-1234"),
        ("10014", "US", "10014"),
        ("k1a0b1", "CA", "K1A 0B1"),
        ("01310-100", "BR", "01310-100"),
        ("ab 1", None, "AB 1"),
    ],
)
def test_a_post_code_has_the_form_of_its_country(typed: str, country: str | None, expected: str) -> None:
    assert read_post_code(typed, country) == expected
    assert read_post_code(expected, country) == expected


@cases(
    ("typed", "country", "why"),
    [
        ("2045", "DE", "has not the form of DE such as 20457"),
        ("20457", "GB", "has not the form of GB such as SW1A 1AA"),
        ("1001", "US", "has not the form of US such as 10014"),
        ("\u0661\u0662\u0663\u0664\u0665", "DE", "has not the form of DE such as 20457"),
    ],
)
def test_a_post_code_is_refused_with_the_form_that_it_has_not(typed: str, country: str, why: str) -> None:
    with pytest.raises(ValueError, match=f", which {why}$"):
        read_post_code(typed, country)


@pytest.mark.parametrize("typed", ["", " - ", "x" * 17, "12#4"])
def test_what_no_country_has_is_refused(typed: str) -> None:
    with pytest.raises(ValueError, match=r"^is "):
        read_post_code(typed, None)


TOWN = {"post_code": "1012 JS", "town": "Amsterdam"}


@cases(
    ("party", "whole", "street"),
    [
        ({"address": "Dam 1"}, "Dam 1", ["Dam 1"]),
        ({"address": "Dam 1", **TOWN}, "Dam 1\n1012 JS Amsterdam", ["Dam 1"]),
        ({"address": "Dam 1\n1012js amsterdam\nNL", **TOWN}, "Dam 1\n1012js amsterdam\nNL", ["Dam 1", "NL"]),
        ({"address": "Amsterdamweg 1", **TOWN}, "Amsterdamweg 1\n1012 JS Amsterdam", ["Amsterdamweg 1"]),
        ({"address": None, **TOWN}, "1012 JS Amsterdam", []),
        ({"address": "Quay 1", "post_code": None, "town": "Tripoli"}, "Quay 1\nTripoli", ["Quay 1"]),
        ({"address": None}, None, []),
    ],
)
def test_an_address_names_its_town_once(party: dict[str, Any], whole: str | None, street: list[str]) -> None:
    assert whole_address(party) == whole
    assert street_lines(party) == street
