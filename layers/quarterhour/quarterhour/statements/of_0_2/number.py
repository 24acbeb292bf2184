"""The second step of 0.2.0: number the accounts of all days and of the previous period, in one roster."""

import io
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from tempfile import TemporaryFile

from quarterhour.reports.digests import stream_digest
from quarterhour.statements.drafts.day_lines import read_totals
from quarterhour.statements.keys import day_totals_key, list_key, roster_key
from quarterhour.statements.listing import Listed, read_list_of_0_2
from quarterhour.statements.of_0_2.roster import Numbers, pack_roster, roster
from quarterhour.statements.plan import StatementPlan
from quarterhour.statements.store import StatementStores


def number(stores: StatementStores, plan: StatementPlan) -> bool:
    """Number the accounts, unless that is done already; return whether it was not."""
    key = roster_key(plan.period)
    if stores.files.exists(key):
        return False
    numbers = Numbers.of(plan)
    with ExitStack() as opened, TemporaryFile() as file:
        days = [
            read_totals(opened.enter_context(stores.files.copied(day_totals_key(plan.period, day))))
            for day in plan.days
        ]
        previous = opened.enter_context(_previous(stores, plan))
        pack_roster(roster(days, previous, numbers), numbers, file)
        file.seek(0)
        stores.files.create(key, file, stream_digest(file))
    return True


@contextmanager
def _previous(stores: StatementStores, plan: StatementPlan) -> Iterator[Iterator[Listed]]:
    """Open the statements of the previous period."""
    if plan.previous_period is None:
        yield iter(())
        return
    with (
        stores.files.copied(list_key(plan.previous_period)) as file,
        io.TextIOWrapper(file, encoding="utf-8", newline="") as text,
    ):
        yield read_list_of_0_2(text)
