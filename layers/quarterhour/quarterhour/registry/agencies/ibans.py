"""IBANs: read as people write them, checked by the form of their country and by their check digits."""

import re
from typing import Final

from quarterhour.model.fields import shown
from quarterhour.registry.agencies.vat_ids import without_marks

IBAN: Final = "an IBAN with correct check digits, such as DE89 3704 0044 0532 0130 00"
_NAME: Final = re.compile(r"IBAN(?:N[OR]|NUM(?:MER|BER)?)?(?=[A-Z]{2}[0-9])")


def read_iban(text: str) -> str:
    """Return the canonical form of an IBAN: in capital letters, without blanks and marks.

    Raises ``ValueError`` with what is wrong: its country, its length, its form, or its check digits. Lists of a
    country's banks are not looked at: they age, and a list without a bank would refuse its right numbers.
    """
    # Only a request that holds an IBAN needs the library.
    from stdnum import exceptions, iban, numdb  # noqa: PLC0415

    compact = _NAME.sub("", without_marks(text), count=1)
    if not compact:
        raise ValueError(f"is {shown(text)}, which has no letters and digits")
    if not compact.isascii() or not compact.isalnum():
        raise ValueError(f"is {shown(text)}, which has other characters than letters and digits")
    found = numdb.get("iban").info(compact)[0][1]
    if not found:
        raise ValueError(f"is {shown(text)}, which begins with the letters of no country that has IBANs")
    length = 4 + sum(map(int, re.findall("[0-9]+", found["bban"])))
    if len(compact) != length:
        raise ValueError(f"is {shown(text)}, which has {len(compact)} characters, not {length}")
    try:
        return iban.validate(compact, check_country=False)
    except exceptions.InvalidChecksum:
        raise ValueError(f"is {shown(text)}, which has wrong check digits") from None
    except exceptions.ValidationError:
        raise ValueError(f"is {shown(text)}, which has another form than the IBANs of {compact[:2]}") from None


def is_iban(text: str) -> bool:
    """Return whether a text is an IBAN, as ``read_iban`` reads it."""
    try:
        return bool(read_iban(text))
    except ValueError:
        return False
