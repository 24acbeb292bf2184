"""Keys of the changes of a statement's status, and of disputes; built and parsed only here."""

from typing import Final

from quarterhour.aws.entity import IndexRange, Key, Range
from quarterhour.model.identifiers import SEPARATOR, Account, Identity, base58_prefix
from quarterhour.model.periods import Period
from quarterhour.statements.keys import statement_index, statement_key

DISPUTES: Final = f"DISPUTES{SEPARATOR}"
"""The prefix of the partition keys of disputes, in the table and in both indexes."""
CURSOR_KEY: Final[Key] = {"pk": "CONTROL", "sk": "disputes"}
"""The key of the control item with the place after which the next look at open disputes begins."""
LOWEST: Final = "0"
"""Sorts before every place of a dispute in the indexes."""
_HIGHEST: Final = "~"
_DIGITS: Final = 4
MOST_CHANGES: Final = 10**_DIGITS - 1
"""The most changes of a statement's status."""
_LINE: Final = 22


def change_key(period: Period, account: Account, number: int) -> Key:
    """Return the key of a change of a statement's status, from 1 on: ``STATEMENTS#2026-11``, ``42#GBP#0001``.

    The changes of a statement follow it in the order of the keys.
    """
    statement = statement_key(period, account)
    return {**statement, "sk": _numbered(statement["sk"], number)}


def change_index(period: Period, account: Account, number: int) -> dict[str, str]:
    """Return the index attributes of a change: in descending order, the changes of a statement precede it."""
    statement = statement_index(period, account)
    return {**statement, "gsi1sk": _numbered(statement["gsi1sk"], number)}


def _numbered(name: str, number: int) -> str:
    return f"{name}{SEPARATOR}{number:0{_DIGITS}d}"


def with_changes(period: Period, account: Account) -> Range:
    """Return a statement and the changes of its status, read with strong consistency."""
    key = statement_key(period, account)
    return Range(key["pk"], key["sk"], change_key(period, account, MOST_CHANGES)["sk"], consistent=True)


def dispute_key(period: Period, account: Account, line: Identity) -> Key:
    """Return the key of the dispute of a line: ``DISPUTES#2026-11``, ``42#GBP#`` and a hash of the line's identity."""
    return {"pk": f"{DISPUTES}{period}", "sk": f"{account}{SEPARATOR}{_hash(line)}"}


def disputes_of(period: Period, account: Account) -> Range:
    """Return the disputes of a statement's lines, read with strong consistency."""
    low = f"{account}{SEPARATOR}"
    return Range(f"{DISPUTES}{period}", low, low + _HIGHEST, consistent=True)


def dispute_place(at: str, line: Identity) -> str:
    """Return the place of a dispute in the indexes, by its instant: ``2026-12-05T10:00:00.000Z#`` and a hash."""
    return f"{at}{SEPARATOR}{_hash(line)}"


def dispute_index(status: str, agency: str, place: str) -> dict[str, str]:
    """Return the index attributes of a dispute: all of a status, and those of an agency, by age."""
    return {
        "gsi1pk": f"{DISPUTES}{status}",
        "gsi1sk": place,
        "gsi2pk": f"{DISPUTES}{status}{SEPARATOR}{agency}",
        "gsi2sk": place,
    }


def disputes_by_age(status: str, agency: str | None, after: str) -> IndexRange:
    """Return the disputes of a status from a place on, the oldest first: all, or those of an agency."""
    if agency is None:
        return IndexRange("gsi1", f"{DISPUTES}{status}", after, _HIGHEST)
    return IndexRange("gsi2", f"{DISPUTES}{status}{SEPARATOR}{agency}", after, _HIGHEST)


def _hash(line: Identity) -> str:
    return base58_prefix(line.hash, _LINE)
