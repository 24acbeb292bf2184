"""The roster of a period of 0.2.0: every account with a statement, its sums, number and previous statement."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import merge
from itertools import groupby
from typing import IO, Final, Self

from quarterhour.model import money
from quarterhour.model.identifiers import Account
from quarterhour.statements.document.statement import StatementEntry
from quarterhour.statements.drafts.figures import AccountSums
from quarterhour.statements.drafts.work_objects import last_value, read_values, value_writer
from quarterhour.statements.listing import CREDIT_NOTE, STATEMENT_DOCUMENT, LastDocument, Listed
from quarterhour.statements.plan import StatementPlan

_DIGITS: Final = 6


@dataclass(slots=True)
class Numbers:
    """The next numbers of statements and of credit notes: each without a gap, in the order of the accounts."""

    plan: StatementPlan
    statement: int
    credit_note: int

    @classmethod
    def of(cls, plan: StatementPlan) -> Self:
        """Return the next numbers before a run."""
        return cls(plan, *plan.numbers)

    def next(self, document: str) -> str:
        """Return the next number of a kind of document, such as ``S-000001``, and count it."""
        if document == CREDIT_NOTE:
            number, self.credit_note = self.credit_note, self.credit_note + 1
            return f"{self.plan.prefixes[1]}{number:0{_DIGITS}d}"
        number, self.statement = self.statement, self.statement + 1
        return f"{self.plan.prefixes[0]}{number:0{_DIGITS}d}"

    @property
    def as_pair(self) -> tuple[int, int]:
        """Both numbers, as a plan holds them."""
        return self.statement, self.credit_note


def document_of(sums: AccountSums, currency: str) -> str:
    """Return whether the sums make a statement, or a credit note: their exact commission, rounded, is negative.

    Tax does not decide: the number of a document does not depend on a tax profile.
    """
    return CREDIT_NOTE if money.on_statement(sums.commission, currency) < 0 else STATEMENT_DOCUMENT


def roster(
    days: Iterable[Iterable[tuple[Account, AccountSums]]], previous: Iterable[Listed], numbers: Numbers
) -> Iterator[StatementEntry]:
    """Yield each account that has lines of the period, or had a closing balance other than 0.

    ``days``: each day's sums in the order of the accounts, the days in their order. ``previous``: the statements of the
    previous period, in that order too. Memory does not grow with the accounts.
    """
    earlier: Iterator[tuple[Account, AccountSums | Listed]] = ((one.account, one) for one in previous)
    merged: Iterator[tuple[Account, AccountSums | Listed]] = merge(*days, earlier, key=lambda entry: entry[0])
    for account, some in groupby(merged, key=lambda entry: entry[0]):
        sums, before = AccountSums(), None
        for _, found in some:
            if isinstance(found, Listed):
                before = found
            else:
                sums += found
        if sums.lines or (before and before.closing):
            document = document_of(sums, account.currency)
            previous_ = _last_document(before, numbers.plan)
            yield StatementEntry(account, numbers.next(document), document, sums, previous_)


def pack_roster(entries: Iterable[StatementEntry], numbers: Numbers, file: IO[bytes]) -> None:
    """Write the work object of a roster: a value for each account, then the next numbers."""
    with value_writer(file) as write:
        for one in entries:
            previous = one.previous.listed.as_row_of_0_2() if one.previous else None
            write([one.account.agency, one.account.currency, one.number, one.document, one.sums.as_dict(), previous])
        write({"numbers": list(numbers.as_pair)})


def read_roster(file: IO[bytes], plan: StatementPlan) -> Iterator[StatementEntry]:
    """Yield the accounts of a roster; raise ``ValueError`` if the object is damaged."""
    for values in read_values(file):
        if isinstance(values, list):
            agency, currency, number, document, sums, previous = values
            before = Listed.of_row_of_0_2(previous) if previous else None
            entry = (Account(agency, currency), number, document, AccountSums.of(sums))
            yield StatementEntry(*entry, _last_document(before, plan))


def _last_document(before: Listed | None, plan: StatementPlan) -> LastDocument | None:
    return LastDocument(plan.previous_period, before) if before and plan.previous_period else None


def read_numbers(file: IO[bytes]) -> tuple[int, int]:
    """Return the next numbers after the run from the object of its roster."""
    statement, credit_note = last_value(file)["numbers"]
    return int(statement), int(credit_note)
