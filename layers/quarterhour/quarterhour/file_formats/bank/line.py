"""The lines of a bank's file, pure: their form, their ids, and whether their sums agree with the balances."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Final, NamedTuple

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


@dataclass(frozen=True, slots=True)
class BankFile:
    """What a file says: its format, its lines, and what is wrong about the whole, such as sums that differ."""

    format: str
    lines: tuple[BankLine, ...]
    problems: tuple[str, ...] = ()


class Balances(NamedTuple):
    """The balances of an account's statement in a file; ``None`` if it has none. ``of`` names the statement."""

    of: str
    opening: Decimal | None
    closing: Decimal | None


def line_ids(lines: Iterable[BankLine]) -> list[str]:
    """Return an id for each line, the same in every file that has it.

    It is a hash of account, date, amount and the bank's reference; without one, of what was sent. Lines that are equal
    in these are counted, so that two equal payments of a day are two.
    """
    seen = Counter[tuple[str, ...]]()
    ids = []
    for one in lines:
        own = (one.bank_reference,) if one.bank_reference else (_letters(one.reference), _letters(one.iban or one.name))
        content = (_letters(one.account), one.booked_on.isoformat(), money.plain(one.amount), one.currency, *own)
        seen[content] += 1
        text = json.dumps([*content, seen[content]])
        ids.append(f"bank-{hashlib.sha256(text.encode()).hexdigest()[:32]}")
    return ids


def check_balances(balances: Balances, lines: Sequence[BankLine]) -> list[str]:
    """Return what is wrong about the balances of a statement and its lines, in words."""
    lacking = [name for name in ("opening", "closing") if getattr(balances, name) is None]
    if balances.opening is None or balances.closing is None:
        return [f"{balances.of} has no {' and no '.join(lacking)} balance: it may be cut off"]
    result = money.add(balances.opening, money.total(one.amount for one in lines))
    if result == balances.closing:
        return []
    figures = [money.plain(one) for one in (balances.opening, result, balances.closing)]
    return [f"{balances.of}: its opening balance of {figures[0]} and its lines give {figures[1]}, not {figures[2]}"]


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
