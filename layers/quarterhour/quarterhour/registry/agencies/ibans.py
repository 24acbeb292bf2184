"""IBANs: checked by the form of their country, and by their check digits."""

from typing import Final

IBAN: Final = "an IBAN with correct check digits, such as DE89 3704 0044 0532 0130 00"


def is_iban(text: str) -> bool:
    """Return whether a text is an IBAN in the form of its country with right check digits; blanks in it do not count.

    Lists of a country's banks are not looked at: they age, and a list without a bank would refuse its right numbers.
    """
    # Only a request that holds an IBAN needs the library.
    from stdnum import iban  # noqa: PLC0415

    return text.isascii() and text.replace(" ", "").isalnum() and iban.is_valid(text, check_country=False)
