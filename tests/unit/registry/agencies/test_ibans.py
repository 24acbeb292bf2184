"""IBANs: the check digits and the form of their country."""

import pytest

from quarterhour.registry.agencies.ibans import is_iban
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


@cases(
    "iban",
    [
        "DE89370400440532013001",  # a digit
        "DE88370400440532013000",  # its check digits
        "DE8937040044053201300",  # its length
        "ZZ89370400440532013000",  # its country
        "DE89370400440532O13000",  # a letter
        "DE89-3704-0044-0532-0130-00",
        "DE8937040044053201300０",  # noqa: RUF001 - a wide digit
        " ",
        "DE",
        "1",
    ],
)
def test_another_text_is_none(iban: str) -> None:
    assert not is_iban(iban)
