"""SEPA credit transfers as the bytes of a pain.001 file, pure: the same input gives the same file."""

import re
from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Final, NamedTuple

from text_unidecode import unidecode

from quarterhour.model.clock import iso_seconds
from quarterhour_tools.accounting.postal_address import PostalAddress

EURO: Final = "EUR"
SCHEMA: Final = "pain.001.001.09"
SCHEMAS: Final = (SCHEMA, "pain.001.001.03")
"""The schemas of files: the one that the scheme uses now, and the one before it, which some banks still ask for."""
LARGEST: Final = Decimal("999999999.99")
"""The largest amount of a SEPA credit transfer."""
LONGEST_ID: Final = 35
"""Characters of an identification."""
_ECONOMIC_AREA: Final = "AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IS IT LI LT LU LV MT NL NO PL PT RO SE SI SK"
_OTHER_MEMBERS: Final = "AD AL CH GB GI MC MD ME MK RS SM VA"
_SEPA: Final = frozenset(f"{_ECONOMIC_AREA} {_OTHER_MEMBERS}".split())
_IN_ECONOMIC_AREA: Final = frozenset(_ECONOMIC_AREA.split())
"""The countries of IBANs in the SEPA area. A territory that has no IBANs uses those of its country."""
_LONGEST_NAME: Final = 70
_LONGEST_TOWN: Final = 35
_LONGEST_POST_CODE: Final = 16
_LONGEST_REMITTANCE: Final = 140
_NOT_IN_IDS: Final = re.compile(r"[^A-Za-z0-9.-]")
_NOT_IN_TEXTS: Final = re.compile(r"[^A-Za-z0-9/?:().,'+ -]")
"""What is not in the Latin character set that all banks take."""
_IN_PLACE_OF: Final = str.maketrans(
    {
        **dict.fromkeys('!"#$%*<=>@^', "."),
        "&": "+",
        ";": ",",
        "[": "(",
        "]": ")",
        "{": "(",
        "}": ")",
        "\\": "/",
        "|": "/",
        "_": "-",
        "~": "-",
        "`": "'",
    }
)
"""What banks write for the other signs of ASCII, by the European Payments Council (EPC217-08)."""
_CREATED: Final = re.compile(rb"(?<=<CreDtTm>)[^<]*")
_IDS: Final = re.compile(rb"(?<=<MsgId>)[^<]*|(?<=<PmtInfId>)[^<]*")
_NO_BIC: Final = b"<FinInstnId><Othr><Id>NOTPROVIDED</Id></Othr></FinInstnId>"
"""How a bank is named by the IBAN alone."""


class BankAccount(NamedTuple):
    """Whose account it is, its IBAN, and the owner's address if it is known; blanks in the IBAN do not count."""

    name: str
    iban: str
    address: PostalAddress | None = None


class Transfers(NamedTuple):
    """The transfers of a run, all from one account on one day.

    ``message_id`` identifies the run at the bank, which refuses a second file with the same one.
    """

    message_id: str
    created_at: datetime
    debtor: BankAccount
    execution_date: date
    schema: str = SCHEMA


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

    settings = {**_party(run.debtor), "currency": EURO, "batch": True}
    file = SepaTransfer(settings, schema=run.schema, clean=False)
    for one in transfers:
        file.add_payment(
            {
                **_party(one.recipient),
                "amount": int(one.amount.scaleb(2)),
                "execution_date": run.execution_date,
                "endtoend_id": identification(one.reference),
                "description": _text(one.remittance, _LONGEST_REMITTANCE),
            }
        )
    content = _with_ids(file.export(validate=False), run)
    try:
        try_valid_xml(content, run.schema)
    except ValidationError as error:
        raise ValueError(f"the file is not valid by {run.schema}: {error.__cause__}") from error
    return content


def _party(account: BankAccount) -> dict[str, object]:
    """Return what the library writes of a party."""
    party: dict[str, object] = {"name": name_at_banks(account.name), "IBAN": _iban(account.iban)}
    if (address := account.address) and (town := _text(address.town, _LONGEST_TOWN)):
        party["address"] = {
            "street_name": _text(address.street, _LONGEST_NAME),
            "postcode": _text(address.post_code, _LONGEST_POST_CODE),
            "town": town,
            "country": address.country,
        }
    return party


def identification(text: str) -> str:
    """Return a text as an identification: at most 35 letters, digits, dots and hyphens."""
    return _NOT_IN_IDS.sub("-", unidecode(text))[:LONGEST_ID]


def _with_ids(content: bytes, run: Transfers) -> bytes:
    """Return a file with the run's own ids and time, in place of the library's random ones and of the present."""
    created = iso_seconds(run.created_at).encode()
    content = _IDS.sub(identification(run.message_id).encode(), _CREATED.sub(created, content))
    return content.replace(b"<FinInstnId />", _NO_BIC)


def name_at_banks(text: str) -> str:
    """Return a name in characters that all banks take; empty if it has no letter or digit."""
    name = _text(text, _LONGEST_NAME)
    return name if any(map(str.isalnum, name)) else ""


def country_of(iban: str) -> str:
    """Return the country's code of an IBAN."""
    return _iban(iban)[:2]


def is_in_sepa(iban: str) -> bool:
    """Return whether an IBAN is of a country in the SEPA area: only these take SEPA credit transfers."""
    return country_of(iban) in _SEPA


def needs_address(payer: str, recipient: str) -> bool:
    """Return whether a transfer between two IBANs needs the payer's address: one of them is outside the EEA."""
    return not {country_of(payer), country_of(recipient)} <= _IN_ECONOMIC_AREA


def _text(text: str, most: int) -> str:
    """Return a text in characters that all banks take; it neither begins nor ends with a slash, nor has two."""
    latin = _NOT_IN_TEXTS.sub(" ", unidecode(text).translate(_IN_PLACE_OF))
    return re.sub(r"/[/ ]*/", "/", " ".join(latin.split()))[:most].strip("/ ")


def _iban(text: str) -> str:
    return "".join(text.split()).upper()
