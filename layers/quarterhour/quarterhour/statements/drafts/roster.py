"""The second step: add up the accounts of all days, on the roster of the period, with what the whole period charges."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from heapq import merge
from itertools import groupby
from tempfile import TemporaryFile
from typing import IO

from quarterhour.model.identifiers import Account
from quarterhour.reports.digests import stream_digest
from quarterhour.statements.drafts.day_lines import read_totals
from quarterhour.statements.drafts.figures import AccountSums
from quarterhour.statements.drafts.monthly import read_terms
from quarterhour.statements.drafts.turnover import RosterCharges, RosterEntry, read_passed
from quarterhour.statements.drafts.work_objects import read_values, value_writer
from quarterhour.statements.keys import day_totals_key, roster_key, turnover_work_key
from quarterhour.statements.plan import StatementPlan
from quarterhour.statements.store import StatementStores


def add_up(stores: StatementStores, plan: StatementPlan) -> bool:
    """Write the roster, unless that is done already; return whether it was not."""
    key = roster_key(plan.period)
    if stores.files.exists(key):
        return False
    with ExitStack() as opened, TemporaryFile() as added_up, TemporaryFile() as charged:
        days = [
            read_totals(opened.enter_context(stores.files.copied(day_totals_key(plan.period, day))))
            for day in plan.days
        ]
        charges = RosterCharges(plan, read_passed(stores, plan), read_terms(stores, plan))
        pack_roster(charges.seen(roster(days)), added_up)
        file = added_up
        if charges.has_any:
            _charge(stores, plan, charges, added_up, charged)
            file = charged
        file.seek(0)
        stores.files.create(key, file, stream_digest(file))
    return True


def _charge(
    stores: StatementStores, plan: StatementPlan, charges: RosterCharges, added_up: IO[bytes], charged: IO[bytes]
) -> None:
    """Write the roster with what the whole period charges, and create the object of the turnover that it passes on."""

    def entries() -> Iterator[RosterEntry]:
        added_up.seek(0)
        return read_roster(added_up)

    with TemporaryFile() as turnover:
        pack_roster(charges.charged(entries, turnover), charged)
        turnover.seek(0)
        if any(read_values(turnover)):
            turnover.seek(0)
            stores.files.create(turnover_work_key(plan.period), turnover, stream_digest(turnover))


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
