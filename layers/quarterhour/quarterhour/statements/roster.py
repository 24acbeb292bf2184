"""The roster of a period: every account that has lines of the period, with its sums."""

from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import groupby
from typing import IO

from quarterhour.model.identifiers import Account
from quarterhour.statements.figures import AccountSums
from quarterhour.statements.work_objects import read_values, value_writer


def roster(days: Iterable[Iterable[tuple[Account, AccountSums]]]) -> Iterator[tuple[Account, AccountSums]]:
    """Yield each account with the sums of all days; memory does not grow with the accounts.

    ``days``: each day's sums in the order of the accounts, the days in their order.
    """
    for account, some in groupby(merge(*days, key=lambda entry: entry[0]), key=lambda entry: entry[0]):
        sums = AccountSums()
        for _, found in some:
            sums += found
        yield account, sums


def pack_roster(entries: Iterable[tuple[Account, AccountSums]], file: IO[bytes]) -> None:
    """Write the work object of a roster: a value for each account."""
    with value_writer(file) as write:
        for account, sums in entries:
            write([account.agency, account.currency, sums.as_dict()])


def read_roster(file: IO[bytes]) -> Iterator[tuple[Account, AccountSums]]:
    """Yield the accounts of a roster; raise ``ValueError`` if the object is damaged."""
    for agency, currency, sums in read_values(file):
        yield Account(agency, currency), AccountSums.of(sums)
