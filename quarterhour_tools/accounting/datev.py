"""Journal entries as a DATEV file, pure: the format EXTF 700, category 21 (Buchungsstapel), version 13.

A row moves one amount between an agency's account (Konto) and another one (Gegenkonto), so each balances in itself.

Each field fits the expression that DATEV publishes for it. A document whose exchange rate or amounts do not fit is
posted in the ledger's currency, with the figures that it states there.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Final, NamedTuple

from text_unidecode import unidecode

from quarterhour.model import money
from quarterhour.model.errors import FieldProblem
from quarterhour.model.fields import shown
from quarterhour_tools.accounting.account_map import AccountMap, DatevSettings, MapProblemsError
from quarterhour_tools.accounting.document import StatementDocument
from quarterhour_tools.accounting.journal_entries import JournalEntry, Posting, Role
from quarterhour_tools.accounting.journal_files import JournalFiles

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
_NO_AUTOMATIC: Final = "40"
"""The tax key that keeps an automatic account from taking VAT out of an amount (Aufhebung der Automatik)."""
_DATE: Final = "%d%m%Y"
_RATE: Final = re.compile(r"[1-9]\d{0,3},\d{2,6}")
"""The exchange rates that DATEV takes: none below 1."""
_NOT_IN_NUMBERS: Final = re.compile(r"[^A-Za-z0-9_$&%*+/-]")
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_./ ]")


class _Row(NamedTuple):
    """A row of a posting: ``amount`` debits the agency's account if it is above 0; ``issuer``: it in their currency.

    ``rate``: the exchange rate, for an amount in a foreign currency. ``key``: the tax key.
    """

    entry: JournalEntry
    posting: Posting
    account: str
    amount: Decimal
    issuer: Decimal | None
    key: str = ""
    rate: str = ""
    currency: str = ""


def datev_files(entries: Sequence[JournalEntry], accounts: AccountMap, made_at: datetime, name: str) -> JournalFiles:
    """Return the DATEV files of entries, one for each fiscal year; ``name``: of the stack, cut after 30 characters.

    An amount with VAT is one row with it, if a tax key or an automatic account takes the VAT out. Otherwise the VAT has
    a row; the key 40 then keeps an account from taking out VAT once more, unless the map says that it is not automatic.
    Documents that the format cannot hold are left out. Raises ``MapProblemsError`` if the map has no settings of DATEV.
    """
    settings = accounts.datev
    if settings is None:
        expected = "[datev] with consultant, client, fiscal_year and account_length"
        raise MapProblemsError([FieldProblem("datev", "is missing", expected)])
    problems: list[FieldProblem] = []
    left_out: set[str] = set()
    years: dict[date, list[_Row]] = {}
    for entry in entries:
        rows = list(_rows(entry, accounts.currency))
        if found := list(_problems(entry, rows, accounts.currency, settings)):
            problems += [one for one in found if one not in problems]
            left_out.add(entry.document.number)
            continue
        for row in rows:
            years.setdefault(fiscal_year_of(row.posting.day, settings.fiscal_year), []).append(row)
    files = {
        "" if year == max(years) else f"-{year.year}": _file(rows, settings, accounts.currency, made_at, name)
        for year, rows in sorted(years.items())
    }
    return JournalFiles(files, problems, frozenset(left_out))


def _file(rows: Sequence[_Row], settings: DatevSettings, currency: str, made_at: datetime, name: str) -> bytes:
    days = [row.posting.day for row in rows]
    header = _header(settings, currency, (min(days), max(days)), made_at, name)
    lines = [";".join(header), ";".join(COLUMNS), *(";".join(_cells(row, currency)) for row in rows)]
    return "".join(f"{line}\r\n" for line in lines).encode(ENCODING)


def fiscal_year_of(day: date, first: tuple[int, int]) -> date:
    """Return the first day of the fiscal year of a day; ``first``: its month and day."""
    begins = date(day.year, *first)
    return begins if begins <= day else date(day.year - 1, *first)


def _rows(entry: JournalEntry, ledger: str) -> Iterator[_Row]:
    """Yield the rows of an entry, each in its document's currency or in the ledger's; none has the amount 0."""
    rows = [row for one in entry.postings for row in _rows_of(entry, one) if not row.amount.is_zero()]
    currency, rate = entry.document.account.currency, _rate(entry.document, ledger)
    if currency == ledger or rate is None:
        yield from (row._replace(currency=currency) for row in rows)
        return
    written = _comma(round(rate, _RATE_DIGITS))
    if _RATE.fullmatch(written) and all(map(_fits_abroad, rows)):
        yield from (row._replace(currency=currency, rate=written) for row in rows)
        return
    for row in rows:
        if row.issuer:
            yield row._replace(currency=ledger, amount=row.issuer)


def _fits_abroad(row: _Row) -> bool:
    """Return whether DATEV takes a posting in a foreign currency, beside which an amount of the ledger's must stand."""
    return _fits(row.amount) and bool(row.issuer) and _fits(row.issuer)


def _fits(amount: Decimal | None) -> bool:
    return amount is not None and money.places(amount.normalize()) <= _DIGITS and abs(amount) < _LARGEST


def _rows_of(entry: JournalEntry, one: Posting) -> Iterator[_Row]:
    accounts, issuer = one.accounts, one.issuer
    if not one.tax or accounts.vat_code or (accounts.is_automatic and accounts.is_gross):
        yield _Row(entry, one, accounts.account, one.gross, issuer and issuer.gross, accounts.vat_code)
        return
    key = "" if accounts.is_automatic is False else _NO_AUTOMATIC
    yield _Row(entry, one, accounts.account, one.base, issuer and issuer.base, key)
    yield _Row(entry, one, accounts.vat_account or "", one.tax, issuer and issuer.tax)


def _problems(
    entry: JournalEntry, rows: Sequence[_Row], ledger: str, settings: DatevSettings
) -> Iterator[FieldProblem]:
    """Yield what the format cannot hold of an entry."""
    document = entry.document
    if document.account.currency != ledger and not _rate(document, ledger):
        problem = f"is in {document.account.currency}, without its exchange rate in {ledger}"
        yield FieldProblem(document.number, problem, "tax_in, which a statement has with a base currency")
    for one in entry.postings:
        if one.accounts.vat_code and not _is_tax_key(one.accounts.vat_code):
            problem = f"is {one.accounts.vat_code}"
            yield FieldProblem(f"{one.accounts.key}.vat_code", problem, "a tax key of DATEV, 1 to 4 digits")
        if len("".join(one.vat_id.split())) > _LONGEST_VAT_ID:
            expected = f"at most {_LONGEST_VAT_ID} characters, as DATEV has"
            yield FieldProblem(document.number, f"has the VAT id {shown(one.vat_id)}", expected)
    for row in rows:
        if not _fits(row.amount):
            problem = f"has the amount {money.plain(row.amount)} {row.currency}"
            yield FieldProblem(document.number, problem, "at most 10 digits and 2 decimals, as DATEV has")
        for account in (entry.account, row.account):
            # Those of parties have one digit more than those of the general ledger.
            if len(account) > settings.account_length + 1:
                problem = f"is {settings.account_length}, and the account {account} has {len(account)} digits"
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
    """Return the cells of a row."""
    document, posting = row.entry.document, row.posting
    own = document.account.currency
    service = f"{posting.service:{_DATE}}" if posting.service else ""
    is_charged = posting.role is not Role.PAYMENTS
    filled = {
        "Umsatz (ohne Soll/Haben-Kz)": _amount(row.amount),
        "Soll/Haben-Kennzeichen": _text("S" if row.amount > 0 else "H"),
        "WKZ Umsatz": _text(row.currency),
        "Konto": row.entry.account,
        "Gegenkonto (ohne BU-Schlüssel)": row.account,
        "BU-Schlüssel": _text(row.key.zfill(_KEY_DIGITS)) if row.key else "",
        "Belegdatum": f"{posting.day:%d%m}",
        "Belegfeld 1": _text(_NOT_IN_NUMBERS.sub("-", posting.number)[:_LONGEST_NUMBER]),
        "Buchungstext": _text(_cut(_written(posting.text), _LONGEST_TEXT)),
        "EU-Land u. UStID (Bestimmung)": _text("".join(posting.vat_id.split())) if posting.vat_id else "",
        "Festschreibung": "0",
        "Leistungsdatum": service,
        "Datum Zuord. Steuerperiode": f"{document.period.last_day:{_DATE}}" if service else "",
        "Fälligkeit": f"{document.due_on:{_DATE}}" if is_charged and document.due_on else "",
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
