"""SEPA credit transfers as the bytes of a pain.001.001.09 file, pure: the same input gives the same file."""

import re
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Final, NamedTuple

from text_unidecode import unidecode

from quarterhour.model.clock import iso_seconds

EURO: Final = "EUR"
SCHEMA: Final = "pain.001.001.09"
LONGEST_ID: Final = 35
"""Characters of an identification."""
_ECONOMIC_AREA: Final = "AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IS IT LI LT LU LV MT NL NO PL PT RO SE SI SK"
_OTHER_MEMBERS: Final = "AD AL CH GB GI MC MD ME MK RS SM VA"
_SEPA: Final = frozenset(f"{_ECONOMIC_AREA} {_OTHER_MEMBERS}".split())
"""The countries of IBANs in the SEPA area. A territory that has no IBANs uses those of its country."""
_LONGEST_NAME: Final = 70
_LONGEST_REMITTANCE: Final = 140
_NOT_IN_IDS: Final = re.compile(r"[^A-Za-z0-9.-]")
_NOT_IN_TEXTS: Final = re.compile(r"[^A-Za-z0-9/?:().,'+ -]")
"""What is not in the Latin character set that all banks take."""
_CREATED: Final = re.compile(rb"(?<=<CreDtTm>)[^<]*")
_IDS: Final = re.compile(rb"(?<=<MsgId>)[^<]*|(?<=<PmtInfId>)[^<]*")
_NO_BIC: Final = b"<FinInstnId><Othr><Id>NOTPROVIDED</Id></Othr></FinInstnId>"
"""How a bank is named by the IBAN alone."""


class BankAccount(NamedTuple):
    """Whose account it is, and its IBAN; blanks in the IBAN do not count."""

    name: str
    iban: str


class Transfers(NamedTuple):
    """The transfers of a run, all from one account on one day.

    ``message_id`` identifies the run at the bank, which refuses a second file with the same one.
    """

    message_id: str
    created_at: datetime
    debtor: BankAccount
    execution_date: date


class CreditTransfer(NamedTuple):
    """A transfer of euros; ``reference``: the end-to-end id, which the recipient sees."""

    recipient: BankAccount
    amount: Decimal
    reference: str
    remittance: str


def credit_transfers(run: Transfers, transfers: Sequence[CreditTransfer]) -> bytes:
    """Return the file of at least one transfer.

    Letters that not all banks take are replaced. Raises ``ValueError`` if the file does not follow the official schema.
    """
    # Loading the library takes half a second; only this file needs it.
    from sepaxml import SepaTransfer  # noqa: PLC0415
    from sepaxml.validation import ValidationError, try_valid_xml  # noqa: PLC0415

    settings = {"name": name_at_banks(run.debtor.name), "IBAN": _iban(run.debtor.iban), "currency": EURO, "batch": True}
    file = SepaTransfer(settings, schema=SCHEMA, clean=False)
    for one in transfers:
        file.add_payment(
            {
                "name": name_at_banks(one.recipient.name),
                "IBAN": _iban(one.recipient.iban),
                "amount": int(one.amount.scaleb(2)),
                "execution_date": run.execution_date,
                "endtoend_id": identification(one.reference),
                "description": _text(one.remittance, _LONGEST_REMITTANCE),
            }
        )
    content = _with_ids(file.export(validate=False), run)
    try:
        try_valid_xml(content, SCHEMA)
    except ValidationError as error:
        raise ValueError(f"the file is not valid by {SCHEMA}: {error.__cause__}") from error
    return content


def identification(text: str) -> str:
    """Return a text as an identification: at most 35 letters, digits, dots and hyphens."""
    return _NOT_IN_IDS.sub("-", unidecode(text))[:LONGEST_ID]


def _with_ids(content: bytes, run: Transfers) -> bytes:
    """Return a file with the run's own ids and time, in place of the library's random ones and of the present."""
    created = iso_seconds(run.created_at).encode()
    content = _IDS.sub(identification(run.message_id).encode(), _CREATED.sub(created, content))
    return content.replace(b"<FinInstnId />", _NO_BIC)


def name_at_banks(text: str) -> str:
    """Return a name in characters that all banks take; empty if it has none."""
    return _text(text, _LONGEST_NAME)


def country_of(iban: str) -> str:
    """Return the country's code of an IBAN."""
    return _iban(iban)[:2]


def is_in_sepa(iban: str) -> bool:
    """Return whether an IBAN is of a country in the SEPA area: only these take SEPA credit transfers."""
    return country_of(iban) in _SEPA


def _text(text: str, most: int) -> str:
    return " ".join(_NOT_IN_TEXTS.sub(" ", unidecode(text)).split())[:most].strip()


def _iban(text: str) -> str:
    return "".join(text.split()).upper()
