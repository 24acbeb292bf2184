"""Reads a bank's file in any of its formats, which its content shows."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from quarterhour.file_formats.bank import camt, swift, table
from quarterhour.file_formats.bank.line import CAMT, CSV, FORMATS, MT940, BankFile, BankFileError, in_minor_units

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
    return replace(found, lines=tuple(map(in_minor_units, found.lines)))


def _detected(content: bytes) -> str:
    if _XML.match(content):
        return CAMT
    return MT940 if _MT940.search(content.replace(b"\r", b"\n")) else CSV
