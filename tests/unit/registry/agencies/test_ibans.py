"""IBANs: the check digits and the form of their country."""

import pytest

from quarterhour.registry.agencies.ibans import is_iban, read_iban
from tests.support.cases import cases


@pytest.mark.parametrize(
    "iban",
    [
        "DE89370400440532013000",
        "DE89 3704 0044 0532 0130 00",
        "gb29nwbk60161331926819",
        "NL91ABNA0417164300",
        "BE68539007547034",
    ],
)
def test_an_iban_of_its_country_is_one(iban: str) -> None:
    assert is_iban(iban)
    assert read_iban(iban) == iban.replace(" ", "").upper()


@pytest.mark.parametrize(
    "text",
    [
        "IBAN: de89-3704-0044-0532-0130-00",
        "IBAN-Nr. DE89370400440532013000",
        "IBAN no.: DE89 3704 0044 0532 0130 00,",
        "DE89\u00a03704.0044 0532\t0130\u202f00",
        "\u202aDE89 3704 0044 0532 0130 00\u202c",
    ],
)
def test_an_iban_has_one_form_however_people_write_it(text: str) -> None:
    assert read_iban(text) == "DE89370400440532013000"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("DE88370400440532013000", "has wrong check digits"),
        ("DE8937040044053201300", "has 21 characters, not 22"),
        ("ZZ89370400440532013000", "begins with the letters of no country that has IBANs"),
        ("-", "has no letters and digits"),
        ("DE89!", "has other characters than letters and digits"),
    ],
)
def test_an_iban_is_refused_with_what_is_wrong(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=f", which {why}$"):
        read_iban(text)


@cases(
    "iban",
    [
        "DE89370400440532013001",  # a digit
        "DE88370400440532013000",  # its check digits
        "DE8937040044053201300",  # its length
        "ZZ89370400440532013000",  # its country
        "DE89370400440532O13000",  # a letter
        "DE8937040044053201300０",  # noqa: RUF001 - a wide digit
        " ",
        "DE",
        "1",
    ],
)
def test_another_text_is_none(iban: str) -> None:
    assert not is_iban(iban)
