"""Reads a bank's file in any of its formats, which its content shows."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from quarterhour.file_formats.bank import camt, swift, table
from quarterhour.file_formats.bank.line import CAMT, CSV, FORMATS, MT940, BankFile, BankFileError, BankLine
from quarterhour.model import money

_READERS: Final[Mapping[str, Callable[[bytes], BankFile]]] = {
    CAMT: camt.read_camt,
    MT940: swift.read_mt940,
    CSV: table.read_table,
}
_XML: Final = re.compile(rb"\A(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?\s*\0?<")
_MT940: Final = re.compile(rb"^(?:\xef\xbb\xbf)?(?::20:|\{1:)", re.MULTILINE)


def read_bank_file(content: bytes, format_: str | None = None) -> BankFile:
    """Return the lines of a file, in a format or in the one that its content shows; raise ``BankFileError``."""
    if not content.strip():
        raise BankFileError("is empty", f"a file of {', '.join(FORMATS)}")
    found = _READERS[format_ or _detected(content)](content)
    return replace(found, lines=tuple(map(_in_minor_units, found.lines)))


def _in_minor_units(line: BankLine) -> BankLine:
    """Return a line whose amount has the decimal places of its currency."""
    if not money.is_currency(line.currency):
        raise BankFileError(f"has the currency {line.currency[:40]!r}", "codes of ISO 4217 such as EUR")
    amount = money.on_statement(line.amount, line.currency)
    if amount != line.amount:
        raise BankFileError(f"has the amount {money.plain(line.amount)}", f"the decimal places of {line.currency}")
    return line._replace(amount=amount)


def _detected(content: bytes) -> str:
    if _XML.match(content):
        return CAMT
    return MT940 if _MT940.search(content.replace(b"\r", b"\n")) else CSV
