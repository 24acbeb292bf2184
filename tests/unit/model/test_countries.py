"""The table of countries, against the official list."""

import iso3166

from quarterhour.model.countries import COUNTRIES


def test_the_countries_are_those_of_iso_3166() -> None:
    assert {country.alpha2 for country in iso3166.countries} == COUNTRIES
