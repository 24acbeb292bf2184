"""Reads MT940, the statement of SWIFT, with the library mt-940."""

import io
import logging
import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any, Final

from quarterhour.file_formats.bank.line import (
    LONGEST_NAME,
    MT940,
    Balances,
    BankFile,
    BankFileError,
    BankLine,
    check_balances,
    check_count,
    joined,
    reference_of,
)

_ENVELOPE: Final = re.compile(r"\A.*?(?=^:20:)", re.DOTALL | re.MULTILINE)
_END: Final = re.compile(r"^-\}?\s*$", re.MULTILINE)
_LINE: Final = re.compile(r"^:61:", re.MULTILINE)
_NEEDED: Final = re.compile(r"^:(?:25|60[FM]):", re.MULTILINE)
_IBAN: Final = re.compile(r"/(?:IBAN|CNTP)/([A-Z]{2}\d{2}[A-Z0-9]{6,30})")
_NAME: Final = re.compile(r"/(?:NAME|CNTP/[A-Z0-9]*/[A-Z0-9]*)/([^/]+)")
_SUBFIELD: Final = re.compile(r"\?\d\d")
_EXPECTED: Final = "MT940 with the fields :20:, :25:, :60F: and :61:"


def read_mt940(content: bytes) -> BankFile:
    """Return the lines of an MT940; raise ``BankFileError`` if it is none."""
    # Only a request with such a file needs the library, which takes long to load.
    import mt940  # noqa: PLC0415

    # It logs the lines that it cannot read, and no log may hold them.
    logging.getLogger("mt940").setLevel(logging.CRITICAL)
    text = _END.sub("", _ENVELOPE.sub("", _decoded(content)))
    if not _NEEDED.search(text):
        raise BankFileError("is not MT940", _EXPECTED)
    check_count(len(_LINE.findall(text)))
    try:
        # A handle: of a text, the library would read the file that has this name.
        statements = mt940.parse_statements(io.StringIO(text), options=mt940.Options.all())
        found = [_read(number, one) for number, one in enumerate(statements, 1)]
    except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise BankFileError("has a field that cannot be read", _EXPECTED) from error
    return BankFile(
        MT940,
        tuple(line for lines, _ in found for line in lines),
        tuple(problem for _, problems in found for problem in problems),
    )


def _decoded(content: bytes) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("cp1252", errors="replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _read(number: int, statement: Any) -> tuple[list[BankLine], list[str]]:  # noqa: ANN401 - the library's own
    account = str(statement.data.get("account_identification") or "").strip()
    opening = _balance(statement.data, "opening")
    closing = _balance(statement.data, "closing")
    if opening is None and not statement.transactions:
        return [], []
    currency = statement.currency or ""
    lines = [_line(one.data, account, currency) for one in statement.transactions if "amount" in one.data]
    return lines, check_balances(Balances(f"statement {number} of {account}", opening, closing), lines)


def _balance(data: Mapping[str, Any], which: str) -> Decimal | None:
    for kind in ("final", "intermediate"):
        balance = data.get(f"{kind}_{which}_balance")
        if balance is not None:
            return Decimal(balance.amount.amount)
    return None


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
        currency=str(data["amount"].currency or currency),
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
