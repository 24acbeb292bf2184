"""The lines of a bank's file, pure: their form, their ids, and whether their sums agree with the balances."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Final, Literal, NamedTuple

from quarterhour.model import money

CAMT: Final = "camt.053"
MT940: Final = "mt940"
CSV: Final = "csv"
FORMATS: Final = (CAMT, MT940, CSV)
FILE: Final = "application/octet-stream"
"""The content type of a bank's file."""
MOST_LINES: Final = 5_000
"""The most lines of a file: the response about them must fit into one of Lambda's."""
LONGEST: Final = 500
"""The most characters that are kept of a reference."""
LONGEST_NAME: Final = 140
"""The most characters that are kept of any other text."""
NOT_BOOKED: Final = "not_booked"
"""The rule by which a line is excluded that the bank has not booked: pending, or for information."""
REPEATED: Final = "repeated"
"""The rule by which a line is excluded whose statement is in the file twice."""
_NO_REFERENCE: Final = frozenset({"", "NONREF", "NOTPROVIDED", "NOTPROVIDED.", "NONE", "N/A"})
"""What banks write in place of a reference."""


class BankFileError(Exception):
    """The file is not one of a bank; ``problem`` and ``expected`` are as in a ``FieldProblem``."""

    def __init__(self, problem: str, expected: str) -> None:
        super().__init__(f"{problem}: expected {expected}")
        self.problem = problem
        self.expected = expected


class BankLine(NamedTuple):
    """A movement of the marketplace's bank account.

    ``amount`` is positive for money that came in. ``name`` and ``iban`` are of the other party. ``reference`` is all
    that was sent with it, ``bank_reference`` the bank's own. ``reversal``: it takes back an earlier movement.
    ``statement``: the place of its statement in the file, ``None`` if the file has none. ``excluded``: the rule by
    which it is no movement, ``NOT_BOOKED`` or ``REPEATED``; empty if it is one.
    """

    booked_on: date
    amount: Decimal
    currency: str
    account: str = ""
    name: str = ""
    iban: str = ""
    reference: str = ""
    bank_reference: str = ""
    reversal: bool = False
    statement: int | None = None
    excluded: Literal["", "not_booked", "repeated"] = ""


class BankStatement(NamedTuple):
    """A statement of a file: its place from 1, what it opens and closes with, and the sum of its booked lines.

    ``number``: the bank's own. ``repeats``: the place of the statement before it that is the same.
    """

    statement: int
    account: str
    number: str
    currency: str
    since: date | None
    until: date | None
    opening: Decimal
    closing: Decimal
    amount: Decimal
    lines: int
    repeats: int | None = None

    @property
    def key(self) -> tuple[str, str, Decimal, Decimal]:
        """What two copies of a statement have in common, beside their lines."""
        return self.account, self.currency, self.opening, self.closing


class BadBankRow(NamedTuple):
    """A row of CSV that is no line: its line in the file, why, and its text; its amount if that can be read."""

    line: int
    reason: str
    text: str
    amount: Decimal | None = None
    currency: str = ""


@dataclass(frozen=True, slots=True)
class BankFile:
    """What a file says: its format, its lines, its statements, and what needs a look, such as missing statements.

    ``bad``: the rows of CSV that cannot be read.
    """

    format: str
    lines: tuple[BankLine, ...]
    statements: tuple[BankStatement, ...] = ()
    problems: tuple[str, ...] = ()
    bad: tuple[BadBankRow, ...] = ()


def in_minor_units(line: BankLine) -> BankLine:
    """Return a line whose amount has the decimal places of its currency; raise ``BankFileError`` if it has more."""
    if not money.is_currency(line.currency):
        raise BankFileError(f"has the currency {line.currency[:40]!r}", "codes of ISO 4217 such as EUR")
    amount = money.on_statement(line.amount, line.currency)
    if amount != line.amount:
        raise BankFileError(f"has the amount {money.plain(line.amount)}", f"the decimal places of {line.currency}")
    return line._replace(amount=amount)


def line_ids(lines: Iterable[BankLine]) -> list[str]:
    """Return an id for each line, the same in every file that has it.

    It is a hash of account, date, amount and the bank's reference; without one, of what was sent. Lines that are equal
    in these are counted, so that two equal payments of a day are two. Those that are excluded do not count.
    """
    seen = Counter[tuple[str, ...]]()
    ids = []
    for one in lines:
        content = (*line_content(one), *([one.excluded] if one.excluded else []))
        seen[content] += 1
        text = json.dumps([*content, seen[content]])
        ids.append(f"bank-{hashlib.sha256(text.encode()).hexdigest()[:32]}")
    return ids


def line_content(line: BankLine) -> tuple[str, ...]:
    """Return by what a line is known in every file that has it."""
    own = (
        (line.bank_reference,) if line.bank_reference else (_letters(line.reference), _letters(line.iban or line.name))
    )
    return _letters(line.account), line.booked_on.isoformat(), money.plain(line.amount), line.currency, *own


def reference_of(text: str | None) -> str:
    """Return a reference without blanks around it; empty if the text stands for none."""
    found = (text or "").strip()
    return "" if found.upper() in _NO_REFERENCE else found[:LONGEST_NAME]


def joined(texts: Iterable[str | None], longest: int = LONGEST) -> str:
    """Return texts in one line, each once, without what stands for no reference."""
    found = (" ".join((text or "").split()) for text in texts)
    kept = [text for text in found if text.upper() not in _NO_REFERENCE]
    return " ".join(dict.fromkeys(kept))[:longest]


def check_count(count: int) -> None:
    """Raise ``BankFileError`` if a file has more lines than are matched at a time."""
    if count > MOST_LINES:
        raise BankFileError(f"has more than {MOST_LINES:,} lines", "a file of fewer days")


def _letters(text: str) -> str:
    """Return the letters and digits of a text: banks break lines and write blanks as they like."""
    return "".join(one for one in text.upper() if one.isalnum())
