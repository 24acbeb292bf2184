"""The first step: collect the sealed lines of a day, as sums by account and as pieces by group of accounts."""

from datetime import date

from quarterhour.model.periods import time_zone
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.reports.digests import hexdigest
from quarterhour.reports.keys import Part
from quarterhour.reports.lines import read_raw
from quarterhour.reports.plan import Run, SealedFile
from quarterhour.statements.drafts.day_lines import Collector, pack_totals
from quarterhour.statements.keys import day_totals_key, piece_key
from quarterhour.statements.plan import StatementPlan
from quarterhour.statements.store import StatementStores


def collect(stores: StatementStores, plan: StatementPlan, day: date) -> bool:
    """Collect a day's lines, unless that is done already; return whether it was not.

    The day's totals are written last, so they say that its pieces are there.
    """
    key = day_totals_key(plan.period, day)
    if stores.files.exists(key):
        return False
    collector = Collector(plan, time_zone(plan.zone))
    for _, runs in stores.runs.days(day, min(plan.bound, QuarterHour.last_of(day))):
        for run in runs:
            _collect_run(stores, plan, run, collector, day)
    _write_piece(stores, plan, collector, day)
    content = pack_totals(collector)
    stores.files.create(key, content, hexdigest(content))
    return True


def _collect_run(stores: StatementStores, plan: StatementPlan, run: Run, collector: Collector, day: date) -> None:
    for name, values in sorted(run["sealed"].items()):
        part = Part.parse(name)
        with stores.files.checked(part, SealedFile.of(values)) as file:
            pins = stores.pins.pinned(part.quarter_hour, plan.base) if plan.base else {}
            for _ in collector.add(part.quarter_hour, read_raw(file), pins):
                _write_piece(stores, plan, collector, day)


def _write_piece(stores: StatementStores, plan: StatementPlan, collector: Collector, day: date) -> None:
    """Write the lines in memory, a file for each group of accounts that has some."""
    piece = collector.take()
    if piece is None:
        return
    for group, content in piece.files(plan):
        key = piece_key(plan.period, day, collector.pieces - 1, group)
        stores.files.create(key, content, hexdigest(content))
