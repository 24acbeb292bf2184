"""The statements of a bank's file, pure: joins pages, checks sums, and finds repeats, overlaps and gaps."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Final, NamedTuple

from quarterhour.file_formats.bank.line import (
    LONGEST_NAME,
    NOT_BOOKED,
    REPEATED,
    BankFile,
    BankFileError,
    BankLine,
    BankStatement,
    check_count,
    line_content,
)
from quarterhour.model import money

_MOST_NAMED: Final = 10
"""The most statements that a refusal names."""
_EXPECTED: Final = "statements whose opening balance and lines give their closing balance"


_Content = Counter[tuple[str, ...]]
"""The lines of a statement, by what they are known."""
_Key = tuple[str, str, Decimal, Decimal]


class BankBalance(NamedTuple):
    """A balance of an account at the start or the end of a day."""

    amount: Decimal
    currency: str
    day: date | None = None


@dataclass(frozen=True, slots=True)
class StatementPage:
    """A statement as it is in the file, or one of its pages.

    ``continues``: a page precedes it. ``is_continued``: a page follows. A balance that the file lacks is ``None``.
    """

    account: str
    number: str
    opening: BankBalance | None
    closing: BankBalance | None
    lines: tuple[BankLine, ...]
    continues: bool = False
    is_continued: bool = False


def bank_file(format_: str, pages: Iterable[StatementPage]) -> BankFile:
    """Return the file of all pages; raise ``BankFileError`` if a statement is not whole or two of them overlap."""
    joined = list(_joined(pages))
    check_count(sum(len(one.lines) for one in joined))
    checked = [_checked(number, one) for number, one in enumerate(joined, 1)]
    wrong = [one for one in checked if isinstance(one, str)]
    if wrong:
        more = f"; and {len(wrong) - _MOST_NAMED} more" if len(wrong) > _MOST_NAMED else ""
        raise BankFileError(f"does not add up: {'; '.join(wrong[:_MOST_NAMED])}{more}", _EXPECTED)
    statements = [one for one in checked if isinstance(one, BankStatement)]
    lines: list[BankLine] = []
    contents: list[_Content] = []
    before: dict[_Key, list[int]] = {}
    for index, (page, statement) in enumerate(zip(joined, statements, strict=True)):
        numbered = [one._replace(statement=statement.statement) for one in page.lines]
        contents.append(Counter(line_content(one) for one in numbered if not one.excluded))
        same = before.setdefault(statement.key, [])
        if repeated := _repeated(statement, (statements[one] for one in same if contents[one] == contents[index])):
            statements[index] = statement._replace(repeats=repeated)
            numbered = [one._replace(excluded=one.excluded or REPEATED) for one in numbered]
        else:
            same.append(index)
        lines += numbered
    problems = [*_cut_off(joined), *_gaps(statements, contents)]
    if len(problems) > _MOST_NAMED:
        problems[_MOST_NAMED:] = [f"and {len(problems) - _MOST_NAMED} more such statements"]
    return BankFile(format_, tuple(lines), tuple(statements), tuple(problems))


def _joined(pages: Iterable[StatementPage]) -> Iterator[StatementPage]:
    """Yield the pages, those of one statement as one."""
    last: StatementPage | None = None
    for one in pages:
        if last is not None and last.is_continued and one.continues and last.account == one.account:
            last = replace(last, closing=one.closing, lines=last.lines + one.lines, is_continued=one.is_continued)
            continue
        if last is not None:
            yield last
        last = one
    if last is not None:
        yield last


def _checked(number: int, page: StatementPage) -> BankStatement | str:
    """Return a statement that adds up, or what is off, in words."""
    name = _name(number, page)
    if page.opening is None or page.closing is None:
        lacking = [text for text, one in (("opening", page.opening), ("closing", page.closing)) if one is None]
        return f"{name} has no {' and no '.join(lacking)} balance and may be cut off"
    currency = page.opening.currency
    if others := sorted({page.closing.currency, *(one.currency for one in page.lines)} - {currency}):
        return f"{name} is in {currency} and has amounts in {', '.join(others)[:LONGEST_NAME]}"
    booked = [one.amount for one in page.lines if one.excluded != NOT_BOOKED]
    moved = money.total(booked)
    result = money.add(page.opening.amount, moved)
    if result != page.closing.amount:
        difference = money.add(page.closing.amount, money.negated(result))
        return (
            f"{name} opens with {money.plain(page.opening.amount)} {currency}, its {len(booked)} lines are "
            f"{money.plain(moved)} and give {money.plain(result)}, and it closes with "
            f"{money.plain(page.closing.amount)}: {money.plain(difference)} is off"
        )
    days = page.opening.day, page.closing.day
    amounts = page.opening.amount, page.closing.amount, moved
    return BankStatement(number, page.account, page.number, currency, *days, *amounts, len(booked))


def _name(number: int, page: StatementPage | BankStatement) -> str:
    own = f" ({page.number})" if page.number else ""
    return f"statement {number}{own} of {page.account or 'an account without a number'}"


def _named(one: BankStatement) -> str:
    return _name(one.statement, one)


def _repeated(statement: BankStatement, same: Iterable[BankStatement]) -> int | None:
    """Return the statement before this one that is the same; ``same``: those with its balances and its lines."""
    for one in same:
        # Two days whose lines add up to 0 can have the same balances.
        if one.number == statement.number or not statement.amount.is_zero():
            return one.statement
    return None


def _cut_off(pages: Sequence[StatementPage]) -> Iterator[str]:
    """Yield which statements have pages that are not in the file."""
    for number, one in enumerate(pages, 1):
        if one.continues:
            yield f"{_name(number, one)} begins with a later page: the pages before it are not in this file"
        if one.is_continued:
            yield f"{_name(number, one)} ends with a page that is not the last: the pages after it are not in this file"


def _gaps(statements: Sequence[BankStatement], contents: Sequence[_Content]) -> Iterator[str]:
    """Yield which statements follow on no other one of their account; raise ``BankFileError`` if they overlap one."""
    by_account: dict[tuple[str, str], list[int]] = {}
    for index, one in enumerate(statements):
        if one.repeats is None:
            by_account.setdefault((one.account, one.currency), []).append(index)
    for indexes in by_account.values():
        unlinked = _unlinked(statements, indexes)
        _check_overlaps(statements, contents, indexes, unlinked)
        for index in unlinked[1:]:
            opening = money.plain(statements[index].opening)
            yield (
                f"{_named(statements[index])} opens with {opening}, with which no other one of its account closes: "
                f"the statements between them are not in this file"
            )


def _unlinked(statements: Sequence[BankStatement], indexes: Sequence[int]) -> list[int]:
    """Return the statements of an account that begin where no other one ends, by their days."""
    closings = Counter(statements[index].closing for index in indexes)
    found = []
    for index in sorted(indexes, key=lambda index: statements[index].since or date.min):
        if closings[statements[index].opening] > 0:
            closings[statements[index].opening] -= 1
        else:
            found.append(index)
    return found


def _check_overlaps(
    statements: Sequence[BankStatement], contents: Sequence[_Content], indexes: Sequence[int], unlinked: Sequence[int]
) -> None:
    """Raise ``BankFileError`` if a statement that follows on no other one has lines of one."""
    if len(unlinked) <= 1:
        return
    having: dict[tuple[str, ...], list[int]] = {}
    for index in indexes:
        for content in contents[index]:
            having.setdefault(content, []).append(index)
    for index in unlinked:
        for content in contents[index]:
            for other in having[content][:2]:
                if other != index:
                    common = (contents[index] & contents[other]).total()
                    pair = " and ".join(_named(statements[one]) for one in sorted((index, other)))
                    expected = "statements that do not overlap: send these as files of their own"
                    raise BankFileError(f"has {common} of the same lines in {pair}, which overlap", expected)
