"""The second step: add up the accounts of all days, on one roster."""

from contextlib import ExitStack
from tempfile import TemporaryFile

from quarterhour.reports.digests import stream_digest
from quarterhour.statements.day_lines import read_totals
from quarterhour.statements.keys import day_totals_key, roster_key
from quarterhour.statements.plan import StatementPlan
from quarterhour.statements.roster import pack_roster, roster
from quarterhour.statements.store import StatementStores


def add_up(stores: StatementStores, plan: StatementPlan) -> bool:
    """Write the roster, unless that is done already; return whether it was not."""
    key = roster_key(plan.period)
    if stores.files.exists(key):
        return False
    with ExitStack() as opened, TemporaryFile() as file:
        days = [
            read_totals(opened.enter_context(stores.files.copied(day_totals_key(plan.period, day))))
            for day in plan.days
        ]
        pack_roster(roster(days), file)
        file.seek(0)
        stores.files.create(key, file, stream_digest(file))
    return True
