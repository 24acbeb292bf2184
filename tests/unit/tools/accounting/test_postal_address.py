"""The post code and the town of an address are those of one of its lines, or nothing is said."""

import pytest

from quarterhour_tools.accounting.postal_address import postal_address
from tests.support.cases import cases


@cases(
    ("address", "country", "expected"),
    [
        ("Dam 1\n1012 JS Amsterdam", "NL", ("Dam 1", "1012 JS", "Amsterdam")),
        ("Am Kai 7, Haus 3\nD-20095 Hamburg\nDeutschland", "DE", ("Am Kai 7, Haus 3", "20095", "Hamburg")),
        ("12345 Weg 7\n10115 Berlin", "DE", ("12345 Weg 7", "10115", "Berlin")),
        ("Postfach 1234\n8001 Z\u00fcrich", "CH", ("Postfach 1234", "8001", "Z\u00fcrich")),
        ("SE-111 22 Stockholm", "SE", ("", "111 22", "Stockholm")),
        ("1 High Street\nLondon SW1A 1AA", "GB", ("1 High Street", "SW1A 1AA", "London")),
        ("1 High Street\nLondon\nsw1a 1aa\nUnited Kingdom", "GB", ("1 High Street", "SW1A 1AA", "London")),
        ("1 Pier Avenue\nNew York, NY 10014", "US", ("1 Pier Avenue", "10014", "New York")),
        ("1 Quay Road\nAyr KA7 1AA", "GB", ("1 Quay Road", "KA7 1AA", "Ayr")),
        ("5 Quay, Dublin D01 F5P2", "IE", ("5 Quay", "D01 F5P2", "Dublin")),
    ],
)
def test_a_line_has_the_post_code_and_the_town(address: str, country: str, expected: tuple[str, str, str]) -> None:
    found = postal_address({"address": address, "country": country})
    assert found is not None
    assert found == (*expected, country)


@pytest.mark.parametrize(
    ("address", "country"),
    [
        (None, "NL"),
        ("Dam 1", "NL"),
        ("Dam 1\n1012 JS Amsterdam", None),
        ("Dam 1\n1012 JS Amsterdam", "DE"),
        ("Hauptstra\u00dfe 12345\nBerlin", "DE"),
        ("10 Downing Street London SW1A 2AA", "GB"),
        (f"1012 JS {'x' * 36}", "NL"),
        ("Main Street\n12345 Town", "LY"),
    ],
)
def test_nothing_is_guessed(address: str | None, country: str | None) -> None:
    assert postal_address({"address": address, "country": country}) is None


@cases(
    ("party", "expected"),
    [
        (
            {"address": "Dam 1\n1012JS  Amsterdam", "country": "NL", "post_code": "1012 JS", "town": "Amsterdam"},
            ("Dam 1", "1012 JS", "Amsterdam", "NL"),
        ),
        ({"country": "LY", "town": "Tripoli", "address": None}, ("", "", "Tripoli", "LY")),
        ({"town": "Amsterdam"}, None),
    ],
)
def test_the_registered_town_is_taken_first(party: dict[str, str], expected: tuple[str, ...] | None) -> None:
    assert postal_address(party) == expected
