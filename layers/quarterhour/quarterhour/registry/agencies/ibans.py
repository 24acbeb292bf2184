"""IBANs: checked by the rules of their country, check digits included."""

from typing import Final

IBAN: Final = "an IBAN with correct check digits, such as DE89 3704 0044 0532 0130 00"


def is_iban(text: str) -> bool:
    """Return whether a text is an IBAN that its country can have issued; blanks in it do not count."""
    # Only a request that holds an IBAN needs the library.
    from stdnum import iban  # noqa: PLC0415

    return text.isascii() and text.replace(" ", "").isalnum() and iban.is_valid(text)
