"""Reads CAMT.053, the statement of ISO 20022, in all of its versions. Only booked entries are payments."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Final, NamedTuple

from quarterhour.file_formats.bank.line import (
    CAMT,
    LONGEST_NAME,
    NOT_BOOKED,
    BankFile,
    BankFileError,
    BankLine,
    check_count,
    joined,
    reference_of,
)
from quarterhour.file_formats.bank.statement import BankBalance, StatementPage, bank_file
from quarterhour.file_formats.bank.xml import Element, parse
from quarterhour.model import money

_OTHERS: Final = {"BkToCstmrAcctRpt": "camt.052", "BkToCstmrDbtCdtNtfctn": "camt.054"}
_EXPECTED: Final = "a statement of the whole day, camt.053"
_OPENING: Final = ("OPBD", "PRCD", "ITBD")
_CLOSING: Final = ("CLBD", "ITBD")
"""The codes of balances: of a day, or else of a page."""
_CREDIT: Final = "CRDT"
_BOOKED: Final = "BOOK"
_YES: Final = frozenset({"true", "1"})
_NO: Final = frozenset({"false", "0"})
_PARTY: Final = ("RltdPties/{0}/Nm", "RltdPties/{0}/Pty/Nm", "RltdPties/Ultmt{0}/Nm", "RltdPties/Ultmt{0}/Pty/Nm")


class _Account(NamedTuple):
    """The account of a statement, its currency, and when the statement was made."""

    account: str
    currency: str
    made_at: str


def read_camt(content: bytes) -> BankFile:
    """Return the statements of a CAMT.053; raise ``BankFileError`` if it is none."""
    root = parse(content)
    message = root.first("BkToCstmrStmt")
    if message is None:
        found = next((_OTHERS[one.name] for one in root.children if one.name in _OTHERS), "another XML file")
        raise BankFileError(f"is {found}", _EXPECTED)
    pages, problems = [], []
    for statement in message.all("Stmt"):
        page, wrong = _page(statement)
        pages.append(page)
        problems += wrong
    if not pages:
        raise BankFileError("has no statement", _EXPECTED)
    file = bank_file(CAMT, pages)
    return replace(file, problems=(*file.problems, *problems))


def _page(statement: Element) -> tuple[StatementPage, list[str]]:
    """Return a statement or a page of one, and what is wrong about its batches."""
    account = statement.value("Acct/Id/IBAN", "Acct/Id/Othr/Id")[:LONGEST_NAME]
    opening, closing = _balance(statement, _OPENING), _balance(statement, _CLOSING, last=True)
    currency = statement.value("Acct/Ccy") or (opening.currency if opening else "")
    own = _Account(account, currency, statement.value("FrToDt/ToDtTm", "CreDtTm"))
    lines: list[BankLine] = []
    problems: list[str] = []
    for entry in statement.all("Ntry"):
        parts, wrong = _entry_lines(entry, own)
        lines += parts if _status(entry) == _BOOKED else (one._replace(excluded=NOT_BOOKED) for one in parts)
        problems += wrong
        check_count(len(lines))
    number = statement.value("ElctrncSeqNb", "LglSeqNb", "Id")[:LONGEST_NAME]
    page_number, is_last = (statement.value(f"StmtPgntn/{one}") for one in ("PgNb", "LastPgInd"))
    return StatementPage(
        account, number, opening, closing, tuple(lines), page_number not in {"", "1"}, is_last.lower() in _NO
    ), problems


def _status(entry: Element) -> str:
    return entry.value("Sts/Cd", "Sts") or _BOOKED


def _entry_lines(entry: Element, own: _Account) -> tuple[list[BankLine], list[str]]:
    """Return a line for each transaction of an entry, or one for all if they have no amounts."""
    whole = _line(entry, None, own)
    details = list(entry.all("NtryDtls/TxDtls"))
    if len(details) <= 1:
        return [_line(entry, details[0] if details else None, own)], []
    amounts = [_own_amount(one, whole) for one in details]
    problems = []
    if None not in amounts:
        if money.total(one for one in amounts if one is not None) == whole.amount:
            parts = [
                _line(entry, one, own)._replace(amount=amount)
                for one, amount in zip(details, amounts, strict=True)
                if amount is not None
            ]
            return parts, []
        amount = money.plain(whole.amount)
        problems.append(f"the parts of a batch of {whole.booked_on} do not add up to its {amount} {whole.currency}")
    reference = joined(_line(entry, one, own).reference for one in details)
    return [whole._replace(reference=reference)], problems


def _line(entry: Element, detail: Element | None, own: _Account) -> BankLine:
    found = entry.first("Amt")
    if found is None:
        raise BankFileError("has an entry without an amount", _EXPECTED)
    one = detail or entry
    # A payment that is returned is booked by a separate entry, without the mark of a reversal.
    reversal = entry.value("RvslInd").lower() in _YES or one.first("RtrInf") is not None
    is_credit = entry.value("CdtDbtInd") == _CREDIT
    # The parties of a reversal are those of what it reverses.
    other = "Dbtr" if is_credit != reversal else "Cdtr"
    bank_reference = reference_of(one.value("Refs/AcctSvcrRef")) or reference_of(entry.value("AcctSvcrRef"))
    return BankLine(
        booked_on=_date(entry, own),
        amount=_signed(found.text, is_credit=is_credit),
        currency=found.attributes.get("Ccy", own.currency),
        account=own.account,
        name=one.value(*(path.format(other) for path in _PARTY))[:LONGEST_NAME],
        iban=one.value(f"RltdPties/{other}Acct/Id/IBAN", f"RltdPties/{other}Acct/Id/Othr/Id")[:LONGEST_NAME],
        reference=joined(_references(one, entry)),
        bank_reference=bank_reference,
        reversal=reversal,
    )


def _references(one: Element, entry: Element) -> Iterator[str]:
    for path in (
        *("RmtInf/Ustrd", "RmtInf/Strd/CdtrRefInf/Ref", "RmtInf/Strd/RfrdDocInf/Nb", "RmtInf/Strd/AddtlRmtInf"),
        *("Refs/EndToEndId", "Refs/InstrId", "AddtlTxInf"),
    ):
        yield from (found.text for found in one.all(path))
    yield entry.value("AddtlNtryInf")


def _own_amount(detail: Element, whole: BankLine) -> Decimal | None:
    """Return the amount of a transaction in the currency of its entry, with its sign; ``None`` if it has none."""
    sign = detail.value("CdtDbtInd")
    is_credit = sign == _CREDIT if sign else whole.amount >= 0
    for path in ("Amt", "AmtDtls/TxAmt/Amt", "AmtDtls/InstdAmt/Amt"):
        found = detail.first(path)
        if found is not None and found.attributes.get("Ccy", whole.currency) == whole.currency:
            return _signed(found.text, is_credit=is_credit)
    return None


def _balance(statement: Element, codes: tuple[str, ...], *, last: bool = False) -> BankBalance | None:
    """Return the balance of the first of these codes that the statement has: the earliest, or the last."""
    for code in codes:
        found = [_read_balance(one) for one in statement.all("Bal") if one.value("Tp/CdOrPrtry/Cd") == code]
        if found:
            ordered = sorted(found, key=lambda one: one.day or date.min)
            return ordered[-1 if last else 0]
    return None


def _read_balance(one: Element) -> BankBalance:
    amount = one.first("Amt")
    text = one.value("Dt/Dt", "Dt/DtTm")
    try:
        day = date.fromisoformat(text[:10]) if text else None
    except ValueError as error:
        raise BankFileError(f"has a balance of the date {text[:40]!r}", "dates such as 2026-11-05") from error
    currency = amount.attributes.get("Ccy", "") if amount else ""
    return BankBalance(
        _signed(amount.text if amount else "", is_credit=one.value("CdtDbtInd") == _CREDIT), currency, day
    )


def _signed(text: str, *, is_credit: bool) -> Decimal:
    amount = money.parse_decimal(text.strip())
    if amount is None or amount < 0:
        raise BankFileError(f"has the amount {text.strip()[:40]!r}", "amounts such as 121.00")
    return amount if is_credit else money.negated(amount)


def _date(entry: Element, own: _Account) -> date:
    text = entry.value("BookgDt/Dt", "BookgDt/DtTm", "ValDt/Dt", "ValDt/DtTm")
    if not text and _status(entry) != _BOOKED:
        text = own.made_at
    try:
        return date.fromisoformat(text[:10])
    except ValueError as error:
        raise BankFileError(f"has an entry with the date {text[:40]!r}", "dates such as 2026-11-05") from error
