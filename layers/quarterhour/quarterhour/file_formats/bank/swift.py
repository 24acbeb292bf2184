"""Reads MT940, the statement of SWIFT.

The fields of a file are split here, so that none is lost; the library mt-940 reads those of a line, ``:61:`` and
``:86:``. Given a whole statement, it would drop a line that has no type, and add what is said of the account to the
last line.
"""

import logging
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import zip_longest
from typing import Any, Final, NoReturn

from quarterhour.file_formats.bank.line import (
    LONGEST_NAME,
    MT940,
    BankFile,
    BankFileError,
    BankLine,
    check_count,
    joined,
    reference_of,
)
from quarterhour.file_formats.bank.statement import BankBalance, StatementPage, bank_file

_FIELD: Final = re.compile(r"^:(\d\d|NS)([A-Z]?):", re.MULTILINE)
_ENVELOPE: Final = re.compile(r"^(?:-\}?[^\S\n]*(?:\{|$)|\{1:)", re.MULTILINE)
"""Where the text between two statements begins: the end of a message, or the header of the next one."""
_BALANCE: Final = re.compile(r"([CD])(\d{6})([A-Z]{3})(\d{1,15}(?:,\d*)?|,\d+)\s*", re.IGNORECASE)
_IBAN: Final = re.compile(r"/(?:IBAN|CNTP)/([A-Z]{2}\d{2}[A-Z0-9]{6,30})")
_NAME: Final = re.compile(r"/(?:NAME|CNTP/[A-Z0-9]*/[A-Z0-9]*)/([^/]+)")
_SUBFIELD: Final = re.compile(r"\?\d\d")
_EXPECTED: Final = "MT940 with the fields :20:, :25:, :60F:, :61: and :62F:"

_Reader = Callable[[str], Mapping[str, Any]]


@dataclass(slots=True)
class _Message:
    """The fields of a statement, or of a page of one; ``lines``: each ``:61:`` with what follows it."""

    account: str = ""
    number: str = ""
    opening: tuple[str, str] | None = None
    closing: tuple[str, str] | None = None
    lines: list[str] = field(default_factory=list)

    def take(self, tag: str, letter: str, value: str) -> None:
        """Add a field; raise ``BankFileError`` if it cannot follow those before it."""
        match tag:
            case "25":
                self.account = value.partition("\n")[0].strip()
            case "28":
                self.number = "".join(value.split())
            case "60":
                if self.opening or self.lines:
                    self._refuse("has an opening balance amid the lines")
                self.opening = letter, value
            case "61":
                if self.closing:
                    self._refuse("has a line after the closing balance")
                self.lines.append(f":61:{value}")
            case "86" | "NS" if self.lines and not self.closing:
                self.lines[-1] += f"\n:{tag}:{value}"
            case "62":
                self.closing = letter, value
            case _:
                pass

    def _refuse(self, problem: str) -> NoReturn:
        raise BankFileError(f"{problem} of {self.account[:LONGEST_NAME] or 'an account without a number'}", _EXPECTED)


def read_mt940(content: bytes) -> BankFile:
    """Return the statements of an MT940; raise ``BankFileError`` if it is none."""
    messages = [one for one in _messages(_decoded(content)) if one.opening or one.closing or one.lines]
    if not any(one.account or one.opening for one in messages):
        raise BankFileError("is not MT940", _EXPECTED)
    check_count(sum(len(one.lines) for one in messages))
    read = _line_reader()
    return bank_file(MT940, [_page(one, read) for one in messages])


def _decoded(content: bytes) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _messages(text: str) -> Iterator[_Message]:
    """Yield the statements of a file, which begin with ``:20:``, or with their account after an earlier statement."""
    message = _Message()
    for tag, letter, value in _fields(text):
        if tag == "20" or (message.closing and tag in {"25", "28", "60"}):
            yield message
            message = _Message() if tag == "20" else _Message(account=message.account, number=message.number)
        message.take(tag, letter, value)
    yield message


def _fields(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield each field of a file: its number, its letter, and its value without what is between two messages."""
    found = list(_FIELD.finditer(text))
    for one, following in zip_longest(found, found[1:]):
        value = text[one.end() : following.start() if following else len(text)]
        if following is None or following[1] == "20":
            value = _ENVELOPE.split(value, maxsplit=1)[0]
        yield one[1], one[2], value.strip()


def _page(message: _Message, read: _Reader) -> StatementPage:
    opening, closing = (_balance(one[1]) if one else None for one in (message.opening, message.closing))
    currency = opening.currency if opening else ""
    return StatementPage(
        account=message.account[:LONGEST_NAME],
        number=message.number[:LONGEST_NAME],
        opening=opening,
        closing=closing,
        lines=tuple(
            _line(_read(number, one, read), message.account, currency) for number, one in enumerate(message.lines, 1)
        ),
        continues=bool(message.opening and message.opening[0] == "M"),
        is_continued=bool(message.closing and message.closing[0] == "M"),
    )


def _balance(text: str) -> BankBalance:
    found = _BALANCE.fullmatch(text.partition("\n")[0])
    day = _day(found[2]) if found else None
    if found is None or day is None:
        raise BankFileError(f"has the balance {text[:40]!r}", "balances such as C261105EUR121,00")
    amount = Decimal(found[4].replace(",", "."))
    return BankBalance(amount if found[1].upper() == "C" else -amount, found[3].upper(), day)


def _day(digits: str) -> date | None:
    try:
        return datetime.strptime(digits, "%y%m%d").replace(tzinfo=UTC).date()
    except ValueError:
        return None


def _line_reader() -> _Reader:
    """Return what reads the fields of one line."""
    # Only a request with such a file needs the library, which takes long to load.
    import mt940  # noqa: PLC0415

    # It logs the lines that it cannot read, and no log may hold them.
    logging.getLogger("mt940").setLevel(logging.CRITICAL)
    options = mt940.Options.all()

    def read(text: str) -> Mapping[str, Any]:
        found = mt940.models.Transactions(options=options)
        (one,) = found.parse(text)
        return one.data

    return read


def _read(number: int, text: str, read: _Reader) -> Mapping[str, Any]:
    problem = f"has a field that cannot be read, number {number} of the fields :61: of a statement"
    try:
        data = read(text)
    except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise BankFileError(problem, _EXPECTED) from error
    # The library takes the rest of an amount such as 1.234,56 for a reference.
    if not data.get("id") and str(data.get("customer_reference") or "").lstrip().startswith((",", ".")):
        raise BankFileError(problem, _EXPECTED)
    return data


def _line(data: Mapping[str, Any], account: str, currency: str) -> BankLine:
    details = str(data.get("transaction_details") or "")
    name = data.get("applicant_name") or _found(_NAME, details)
    iban = data.get("applicant_iban") or data.get("gvc_applicant_iban") or _found(_IBAN, details)
    texts = (
        *(data.get(one) for one in ("purpose", "additional_purpose", "end_to_end_reference", "customer_reference")),
        *(data.get("extra_details"), "" if data.get("purpose") else _SUBFIELD.sub(" ", details)),
    )
    booked: Any = data.get("entry_date") or data["date"]
    return BankLine(
        booked_on=date(booked.year, booked.month, booked.day),
        amount=Decimal(data["amount"].amount),
        currency=currency,
        account=account[:LONGEST_NAME],
        name=str(name or "").strip()[:LONGEST_NAME],
        iban=str(iban or "").strip()[:LONGEST_NAME],
        reference=joined(texts),
        bank_reference=reference_of(data.get("bank_reference")),
        reversal=str(data.get("status") or "").upper().startswith("R"),
    )


def _found(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text.replace("\n", ""))
    return found[1] if found else ""
