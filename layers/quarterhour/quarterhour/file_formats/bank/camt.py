"""Reads CAMT.053, the statement of ISO 20022, in all of its versions. Only booked entries count."""

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Final

from quarterhour.file_formats.bank.line import (
    CAMT,
    LONGEST_NAME,
    Balances,
    BankFile,
    BankFileError,
    BankLine,
    check_balances,
    check_count,
    joined,
    reference_of,
)
from quarterhour.file_formats.bank.xml import Element, parse
from quarterhour.model import money

_OTHERS: Final = {"BkToCstmrAcctRpt": "camt.052", "BkToCstmrDbtCdtNtfctn": "camt.054"}
_EXPECTED: Final = "a statement of the whole day, camt.053"
_OPENING: Final = ("OPBD", "PRCD")
_CLOSING: Final = ("CLBD",)
_CREDIT: Final = "CRDT"
_BOOKED: Final = "BOOK"
_YES: Final = frozenset({"true", "1"})
_PARTY: Final = ("RltdPties/{0}/Nm", "RltdPties/{0}/Pty/Nm", "RltdPties/Ultmt{0}/Nm", "RltdPties/Ultmt{0}/Pty/Nm")


def read_camt(content: bytes) -> BankFile:
    """Return the lines of a CAMT.053; raise ``BankFileError`` if it is none."""
    root = parse(content)
    message = root.first("BkToCstmrStmt")
    if message is None:
        found = next((_OTHERS[one.name] for one in root.children if one.name in _OTHERS), "another XML file")
        raise BankFileError(f"is {found}", _EXPECTED)
    lines: list[BankLine] = []
    problems: list[str] = []
    for number, statement in enumerate(message.all("Stmt"), 1):
        account = statement.value("Acct/Id/IBAN", "Acct/Id/Othr/Id")
        currency = statement.value("Acct/Ccy")
        of = f"statement {number} of {account or 'an account without a number'}"
        own: list[BankLine] = []
        for entry in statement.all("Ntry"):
            if _status(entry) == _BOOKED:
                parts, wrong = _entry_lines(entry, account, currency)
                own += parts
                problems += wrong
                check_count(len(lines) + len(own))
        balances = Balances(of, _balance(statement, _OPENING), _balance(statement, _CLOSING))
        problems += check_balances(balances, own)
        lines += own
    return BankFile(CAMT, tuple(lines), tuple(problems))


def _status(entry: Element) -> str:
    return entry.value("Sts/Cd", "Sts") or _BOOKED


def _entry_lines(entry: Element, account: str, currency: str) -> tuple[list[BankLine], list[str]]:
    """Return a line for each transaction of an entry, or one for all if they have no amounts."""
    whole = _line(entry, None, account, currency)
    details = list(entry.all("NtryDtls/TxDtls"))
    if len(details) <= 1:
        return [_line(entry, details[0] if details else None, account, currency)], []
    amounts = [_own_amount(one, whole) for one in details]
    problems = []
    if None not in amounts:
        if money.total(one for one in amounts if one is not None) == whole.amount:
            parts = [
                _line(entry, one, account, currency)._replace(amount=amount)
                for one, amount in zip(details, amounts, strict=True)
                if amount is not None
            ]
            return parts, []
        amount = money.plain(whole.amount)
        problems.append(f"the parts of a batch of {whole.booked_on} do not add up to its {amount} {whole.currency}")
    reference = joined(_line(entry, one, account, currency).reference for one in details)
    return [whole._replace(reference=reference)], problems


def _line(entry: Element, detail: Element | None, account: str, account_currency: str) -> BankLine:
    found = entry.first("Amt")
    if found is None:
        raise BankFileError("has an entry without an amount", _EXPECTED)
    reversal = entry.value("RvslInd").lower() in _YES
    is_credit = entry.value("CdtDbtInd") == _CREDIT
    # The parties of a reversal are those of what it reverses.
    other = "Dbtr" if is_credit != reversal else "Cdtr"
    one = detail or entry
    bank_reference = reference_of(one.value("Refs/AcctSvcrRef")) or reference_of(entry.value("AcctSvcrRef"))
    return BankLine(
        booked_on=_date(entry),
        amount=_signed(found.text, is_credit=is_credit),
        currency=found.attributes.get("Ccy", account_currency),
        account=account[:LONGEST_NAME],
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


def _balance(statement: Element, codes: tuple[str, ...]) -> Decimal | None:
    for code in codes:
        for one in statement.all("Bal"):
            if one.value("Tp/CdOrPrtry/Cd") == code:
                return _signed(one.value("Amt"), is_credit=one.value("CdtDbtInd") == _CREDIT)
    return None


def _signed(text: str, *, is_credit: bool) -> Decimal:
    amount = money.parse_decimal(text.strip())
    if amount is None or amount < 0:
        raise BankFileError(f"has the amount {text.strip()[:40]!r}", "amounts such as 121.00")
    return amount if is_credit else money.negated(amount)


def _date(entry: Element) -> date:
    text = entry.value("BookgDt/Dt", "BookgDt/DtTm", "ValDt/Dt", "ValDt/DtTm")
    try:
        return date.fromisoformat(text[:10])
    except ValueError as error:
        raise BankFileError(f"has an entry with the date {text[:40]!r}", "dates such as 2026-11-05") from error
