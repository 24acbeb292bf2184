"""Journal entries as a DATEV file, pure: the format EXTF 700, category 21 (Buchungsstapel), version 13.

A row moves one amount between an agency's account (Konto) and another one (Gegenkonto), so each row balances in itself.

Each field fits the expression that DATEV publishes for it. A document whose exchange rate or amounts do not fit is
posted in the ledger's currency, with the figures that it states there.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Final, NamedTuple

from text_unidecode import unidecode

from quarterhour.model import money
from quarterhour.model.errors import FieldProblem
from quarterhour.model.fields import shown
from quarterhour.registry.agencies.agency import REVERSE_CHARGE
from quarterhour_tools.accounting.account_map import AccountMap, DatevSettings, MapProblemsError
from quarterhour_tools.accounting.document import StatementDocument
from quarterhour_tools.accounting.journal_entries import JournalEntry

ENCODING: Final = "cp1252"
_BELEGINFO: Final = 8
_ZUSATZ: Final = 20


def _pairs(first: str, second: str, number: int) -> Iterator[str]:
    for one in range(1, number + 1):
        yield from (f"{first} {one}", f"{second} {one}")


COLUMNS: Final = (
    *("Umsatz (ohne Soll/Haben-Kz)", "Soll/Haben-Kennzeichen", "WKZ Umsatz", "Kurs", "Basis-Umsatz"),
    *("WKZ Basis-Umsatz", "Konto", "Gegenkonto (ohne BU-Schlüssel)", "BU-Schlüssel", "Belegdatum", "Belegfeld 1"),
    *("Belegfeld 2", "Skonto", "Buchungstext", "Postensperre", "Diverse Adressnummer", "Geschäftspartnerbank"),
    *("Sachverhalt", "Zinssperre", "Beleglink"),
    *_pairs("Beleginfo - Art", "Beleginfo - Inhalt", _BELEGINFO),
    *("KOST1 - Kostenstelle", "KOST2 - Kostenstelle", "Kost-Menge", "EU-Land u. UStID (Bestimmung)"),
    *("EU-Steuersatz (Bestimmung)", "Abw. Versteuerungsart", "Sachverhalt L+L", "Funktionsergänzung L+L"),
    *("BU 49 Hauptfunktionstyp", "BU 49 Hauptfunktionsnummer", "BU 49 Funktionsergänzung"),
    *_pairs("Zusatzinformation - Art", "Zusatzinformation- Inhalt", _ZUSATZ),
    *("Stück", "Gewicht", "Zahlweise", "Forderungsart", "Veranlagungsjahr", "Zugeordnete Fälligkeit", "Skontotyp"),
    *("Auftragsnummer", "Buchungstyp", "USt-Schlüssel (Anzahlungen)", "EU-Land (Anzahlungen)"),
    *("Sachverhalt L+L (Anzahlungen)", "EU-Steuersatz (Anzahlungen)", "Erlöskonto (Anzahlungen)", "Herkunft-Kz"),
    *("Buchungs GUID", "KOST-Datum", "SEPA-Mandatsreferenz", "Skontosperre", "Gesellschaftername"),
    *("Beteiligtennummer", "Identifikationsnummer", "Zeichnernummer", "Postensperre bis"),
    *("Bezeichnung SoBil-Sachverhalt", "Kennzeichen SoBil-Buchung", "Festschreibung", "Leistungsdatum"),
    *("Datum Zuord. Steuerperiode", "Fälligkeit", "Generalumkehr (GU)", "Steuersatz", "Land"),
    *("Abrechnungsreferenz", "BVV-Position", "EU-Land u. UStID (Ursprung)", "EU-Steuersatz (Ursprung)"),
    "Abw. Skontokonto",
)
"""The columns of version 13, by DATEV's own names."""

_DIGITS: Final = 2
_LARGEST: Final = Decimal(10) ** 10
_LONGEST_TEXT: Final = 60
_LONGEST_NUMBER: Final = 36
_LONGEST_VAT_ID: Final = 15
_LONGEST_NAME: Final = 30
_RATE_DIGITS: Final = 6
_KEY_DIGITS: Final = 4
_RATE: Final = re.compile(r"[1-9]\d{0,3},\d{2,6}")
"""The exchange rates that DATEV takes: none below 1."""
_NOT_IN_NUMBERS: Final = re.compile(r"[^A-Za-z0-9_$&%*+/-]")
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_./ ]")


class _Row(NamedTuple):
    """A posting: ``amount`` debits the agency's account if it is above 0; ``issuer``: it in the issuer's currency.

    ``rate``: the exchange rate, for a posting in a foreign currency.
    """

    entry: JournalEntry
    account: str
    amount: Decimal
    issuer: Decimal | None
    vat_code: str = ""
    vat_id: str = ""
    rate: str = ""
    currency: str = ""


def datev_journal(entries: Sequence[JournalEntry], accounts: AccountMap, made_at: datetime, name: str) -> bytes:
    """Return the DATEV file of entries; ``name``: of the stack, at most 30 characters of which are written.

    A commission with a VAT code is posted with its tax, which DATEV takes out by the code. Without one, the tax has a
    row. Raises ``MapProblemsError`` for what the format cannot hold.
    """
    settings, rows = accounts.datev, list(_rows(entries, accounts.currency))
    problems = list(_problems(rows, accounts))
    if problems or settings is None:
        raise MapProblemsError(problems)
    days = [entry.document.issued_on for entry in entries]
    header = _header(settings, accounts.currency, (min(days), max(days)), made_at, name)
    lines = [";".join(header), ";".join(COLUMNS), *(";".join(_cells(row, accounts.currency)) for row in rows)]
    return "".join(f"{line}\r\n" for line in lines).encode(ENCODING)


def fiscal_year_of(day: date, first: tuple[int, int]) -> date:
    """Return the first day of the fiscal year of a day; ``first``: its month and day."""
    begins = date(day.year, *first)
    return begins if begins <= day else date(day.year - 1, *first)


def _rows(entries: Iterable[JournalEntry], ledger: str) -> Iterator[_Row]:
    """Yield the postings of entries, each in its document's currency or in the ledger's; none has the amount 0."""
    for entry in entries:
        rows = [row for row in _rows_of(entry) if not row.amount.is_zero()]
        currency, rate = entry.document.account.currency, _rate(entry.document, ledger)
        if currency == ledger or rate is None:
            yield from (row._replace(currency=currency) for row in rows)
            continue
        written = _comma(round(rate, _RATE_DIGITS))
        if _RATE.fullmatch(written) and all(map(_fits_abroad, rows)):
            yield from (row._replace(currency=currency, rate=written) for row in rows)
            continue
        for row in rows:
            if row.issuer:
                yield row._replace(currency=ledger, amount=row.issuer)


def _fits_abroad(row: _Row) -> bool:
    """Return whether DATEV takes a posting in a foreign currency, beside which an amount of the ledger's must stand."""
    return _fits(row.amount) and bool(row.issuer) and _fits(row.issuer)


def _fits(amount: Decimal | None) -> bool:
    return amount is not None and money.places(amount.normalize()) <= _DIGITS and abs(amount) < _LARGEST


def _rows_of(entry: JournalEntry) -> Iterator[_Row]:
    for one in entry.revenues:
        vat_id = entry.document.customer.vat_id or "" if one.accounts.scheme == REVERSE_CHARGE else ""
        code, vat_account, issuer = one.accounts.vat_code, one.accounts.vat_account, one.issuer
        if code or vat_account is None:
            yield _Row(entry, one.accounts.account, one.gross, issuer and issuer.gross, code, vat_id)
        else:
            yield _Row(entry, one.accounts.account, one.base, issuer and issuer.base, "", vat_id)
            yield _Row(entry, vat_account, one.tax, issuer and issuer.tax)
    for transfer in entry.transfers:
        yield _Row(entry, transfer.account, transfer.amount, transfer.issuer)


def _problems(rows: Sequence[_Row], accounts: AccountMap) -> Iterator[FieldProblem]:
    """Yield what the format cannot hold, each thing once."""
    settings = accounts.datev
    if settings is None:
        expected = "[datev] with consultant, client, fiscal_year and account_length"
        yield FieldProblem("datev", "is missing", expected)
    if not rows:
        yield FieldProblem("period", "has no entries", "at least one, as a DATEV file names its first and last date")
    elif settings:
        years = sorted({fiscal_year_of(row.entry.document.issued_on, settings.fiscal_year) for row in rows})
        if len(years) > 1:
            expected = "documents issued in one fiscal year; choose a month of issue with --issued"
            yield FieldProblem("datev.fiscal_year", f"begins twice, on {years[0]} and on {years[1]}", expected)
    for document in dict.fromkeys(row.entry.document for row in rows):
        if document.account.currency != accounts.currency and not _rate(document, accounts.currency):
            problem = f"is {accounts.currency}, and {document.number} is in {document.account.currency}"
            expected = f"a document with its exchange rate in {accounts.currency} (tax_in); or choose with --currency"
            yield FieldProblem("currency", problem, expected)
    yield from _row_problems(rows)
    if settings:
        yield from _length_problems(rows, settings.account_length)
    if codes := sorted({row.vat_code for row in rows if row.vat_code and not _is_tax_key(row.vat_code)}):
        yield FieldProblem("revenue.vat_code", f"is {', '.join(codes)}", "a tax key of DATEV, 1 to 4 digits")


def _row_problems(rows: Iterable[_Row]) -> Iterator[FieldProblem]:
    for row in rows:
        number = row.entry.document.number
        if not _fits(row.amount):
            problem = f"has the amount {money.plain(row.amount)} {row.currency}"
            yield FieldProblem(number, problem, "at most 10 digits and 2 decimals, as DATEV has")
        if len("".join(row.vat_id.split())) > _LONGEST_VAT_ID:
            problem = f"has the VAT id {shown(row.vat_id)}"
            yield FieldProblem(number, problem, f"at most {_LONGEST_VAT_ID} characters, as DATEV has")


def _length_problems(rows: Iterable[_Row], length: int) -> Iterator[FieldProblem]:
    """Yield accounts that are too long: those of parties have one digit more than those of the general ledger."""
    accounts = dict.fromkeys(account for row in rows for account in (row.entry.account, row.account))
    for account in accounts:
        if len(account) > length + 1:
            problem = f"is {length}, and the account {account} has {len(account)} digits"
            yield FieldProblem("datev.account_length", problem, "accounts of at most one digit more, as DATEV has")


def _is_tax_key(code: str) -> bool:
    return code.isascii() and code.isdecimal() and len(code) <= _KEY_DIGITS


def _rate(document: StatementDocument, currency: str) -> Decimal | None:
    totals = document.tax_in
    return totals.exchange_rate if totals and totals.currency == currency and totals.exchange_rate > 0 else None


def _header(settings: DatevSettings, currency: str, days: tuple[date, date], made_at: datetime, name: str) -> list[str]:
    """Return the fields of the header, in DATEV's order."""
    first, last = days
    made = f"{made_at:%Y%m%d%H%M%S}{made_at.microsecond // 1000:03d}"
    year = fiscal_year_of(first, settings.fiscal_year)
    return [
        *(_text("EXTF"), "700", "21", _text("Buchungsstapel"), "13", made, "", "", "", ""),
        *(str(settings.consultant), str(settings.client), f"{year:%Y%m%d}", str(settings.account_length)),
        *(
            f"{first:%Y%m%d}",
            f"{last:%Y%m%d}",
            _text(_NOT_IN_NAMES.sub("_", name)[:_LONGEST_NAME]),
            _text(""),
            "1",
            "0",
            "0",
            _text(currency),
        ),
        *("", _text(""), "", "", _text(""), "", "", "", _text("")),
    ]


def _cells(row: _Row, ledger: str) -> list[str]:
    """Return the cells of a posting."""
    document = row.entry.document
    own = document.account.currency
    filled = {
        "Umsatz (ohne Soll/Haben-Kz)": _amount(row.amount),
        "Soll/Haben-Kennzeichen": _text("S" if row.amount > 0 else "H"),
        "WKZ Umsatz": _text(row.currency),
        "Konto": row.entry.account,
        "Gegenkonto (ohne BU-Schlüssel)": row.account,
        "BU-Schlüssel": _text(row.vat_code.zfill(_KEY_DIGITS)) if row.vat_code else "",
        "Belegdatum": f"{document.issued_on:%d%m}",
        "Belegfeld 1": _text(_NOT_IN_NUMBERS.sub("-", document.number)[:_LONGEST_NUMBER]),
        "Buchungstext": _text(_cut(_written(row.entry.text), _LONGEST_TEXT)),
        "EU-Land u. UStID (Bestimmung)": _text("".join(row.vat_id.split())) if row.vat_id else "",
        "Festschreibung": "0",
    }
    if row.rate and row.issuer is not None:
        filled |= {"Kurs": row.rate, "Basis-Umsatz": _amount(row.issuer), "WKZ Basis-Umsatz": _text(ledger)}
    elif own != row.currency:
        filled |= {"Beleginfo - Art 1": _text("Currency"), "Beleginfo - Inhalt 1": _text(own)}
    return [filled.get(column, "") for column in COLUMNS]


def _amount(value: Decimal) -> str:
    """Return the size of an amount with two decimals; another cell says which of debit and credit it is."""
    return _comma(value.copy_abs().quantize(Decimal("0.01")))


def _comma(value: Decimal) -> str:
    return money.plain(value).replace(".", ",")


def _text(value: str) -> str:
    doubled = value.replace('"', '""')
    return f'"{doubled}"'


def _cut(text: str, longest: int) -> str:
    """Return the start of a text that has no more characters than these when its quotation marks are doubled."""
    while len(text) + text.count('"') > longest:
        text = text[:-1]
    return text


def _written(text: str) -> str:
    """Return a text in the characters of the file's encoding; others are written in Latin letters."""
    return "".join(one if _is_encodable(one) else unidecode(one) for one in text)


def _is_encodable(character: str) -> bool:
    try:
        character.encode(ENCODING)
    except UnicodeEncodeError:
        return False
    return True
