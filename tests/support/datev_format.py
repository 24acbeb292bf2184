"""DATEV's published description of the Buchungsstapel, format 700, version 13: the expressions of the fields we write.

Sources: developer.datev.de, DATEV-Format, format description: "Header" and "Booking batch" (header of 31 fields, 125
columns). An expression is of a field as it is in the file, with its quotation marks; a field may be empty.
"""

import re
from typing import Final

_WHOLE_DAY: Final = r"(0[1-9]|[1-2]\d|3[0-1])(0[1-9]|1[0-2])20\d{2}"
_DAY: Final = r"20\d{2}(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])"
HEADER: Final = (
    *(r'"(EXTF|DTVF)"', "700", "(16|20|21|46|48|65)", '"Buchungsstapel"', "(2|4|5|13)"),
    *(rf"{_DAY}(2[0-3]|[01]\d)[0-5]\d[0-5]\d{{4}}", "", r'"\w{0,2}"', r'"\w{0,25}"', r'"\w{0,25}"', r"\d{4,7}"),
    *(r"\d{1,5}", _DAY, "[4-8]", _DAY, _DAY, r'"[\w./ ]{0,30}"', '"([A-Z]{2}){0,2}"', "[12]", "(0|30|40|50|64)"),
    *("[01]", '"[A-Z]{3}"', "", '""', "", "", r'"(\d{2}){0,2}"', r"\d{0,4}", "", '""', '".{0,16}"'),
)
"""The expressions of the header's fields, in their order."""
_AMOUNT: Final = r"(?!0{1,10},00)\d{1,10},\d{2}"
_ACCOUNT: Final = r"(?!0{1,9}$)\d{1,9}"
FIELDS: Final = {
    "Umsatz (ohne Soll/Haben-Kz)": _AMOUNT,
    "Soll/Haben-Kennzeichen": '"[SH]"',
    "WKZ Umsatz": '"[A-Z]{3}"',
    "Kurs": r"[1-9]\d{0,3},\d{2,6}",
    "Basis-Umsatz": _AMOUNT,
    "WKZ Basis-Umsatz": '"[A-Z]{3}"',
    "Konto": _ACCOUNT,
    "Gegenkonto (ohne BU-Schlüssel)": _ACCOUNT,
    "BU-Schlüssel": r'"\d{4}"',
    "Belegdatum": r"\d{4}",
    "Belegfeld 1": r'"[\w$&%*+\-/]{0,36}"',
    "Buchungstext": '".{0,60}"',
    "Beleginfo - Art 1": '".{0,20}"',
    "Beleginfo - Inhalt 1": '".{0,210}"',
    "EU-Land u. UStID (Bestimmung)": '".{0,15}"',
    "Festschreibung": "[01]",
    "Leistungsdatum": _WHOLE_DAY,
    "Datum Zuord. Steuerperiode": _WHOLE_DAY,
    "Fälligkeit": _WHOLE_DAY,
}
"""The expressions of the columns that are not empty."""
_CELL: Final = re.compile(r'"(?:[^"]|"")*"|[^;"]*')


def check_datev(file: bytes) -> None:
    """Assert that each field is empty or fits its expression, and that fields that need each other are set."""
    header, columns, *rows, end = file.decode("cp1252").split("\r\n")
    assert end == ""
    cells = _cells(header)
    assert len(cells) == len(HEADER)
    for number, (cell, expression) in enumerate(zip(cells, HEADER, strict=True), 1):
        assert not cell or re.fullmatch(expression, cell, re.ASCII), f"header {number}: {cell}"
    names = columns.split(";")
    for row in rows:
        filled = {name: cell for name, cell in zip(names, _cells(row), strict=True) if cell}
        for name, cell in filled.items():
            assert re.fullmatch(FIELDS[name], cell, re.ASCII), f"{name}: {cell}"
        foreign = {"Kurs", "Basis-Umsatz", "WKZ Basis-Umsatz"}
        assert filled.keys() & foreign in (set(), foreign)
        assert {"Umsatz (ohne Soll/Haben-Kz)", "Soll/Haben-Kennzeichen", "Konto", "Belegdatum"} < filled.keys()


def _cells(line: str) -> list[str]:
    found, at = [], 0
    while True:
        cell = _CELL.match(line, at)
        assert cell is not None
        found.append(cell[0])
        at = cell.end() + 1
        if at > len(line):
            return found
