"""The third step of 0.2.0: write the statements of a group of accounts, with the files of each."""

from collections.abc import Iterable
from contextlib import ExitStack
from itertools import islice
from tempfile import TemporaryFile

from quarterhour.model.clock import parse_iso
from quarterhour.reports.digests import hexdigest, stream_digest
from quarterhour.statements.document.statement import Statement, as_bytes
from quarterhour.statements.drafts.line_files import WRITTEN_AT_A_TIME, Blocks, LinesFile, blocks_of
from quarterhour.statements.drafts.orders import orders_of_0_2
from quarterhour.statements.drafts.sealing import Sealer, Upload
from quarterhour.statements.drafts.work_objects import value_writer
from quarterhour.statements.keys import LINES, PAGE, STATEMENT, roster_key, statement_prefix, written_key
from quarterhour.statements.listing import Listed, SealedObject
from quarterhour.statements.of_0_2.roster import read_roster
from quarterhour.statements.page_of_0_2 import page_of_0_2
from quarterhour.statements.plan import StatementPlan
from quarterhour.statements.store import StatementStores


def write(stores: StatementStores, plan: StatementPlan, group: int, sealer: Sealer) -> None:
    """Write the statements of a group; their rows of the list come last, so they say that the group is written."""
    known = parse_iso(plan.planned_at)
    with ExitStack() as opened, TemporaryFile() as file:
        entries = (
            entry
            for entry in read_roster(opened.enter_context(stores.files.copied(roster_key(plan.period))), plan)
            if plan.group_of(entry.account) == group
        )
        blocks = Blocks(blocks_of(stores, plan, group, opened))
        with value_writer(file) as write_value:
            while some := list(islice(entries, WRITTEN_AT_A_TIME)):
                parties = stores.parties.parties([one.account for one in some], plan.parties_at, known)
                statements = (Statement(plan, *pair) for pair in zip(some, parties, strict=True))
                for listed in _write_statements(plan, statements, blocks, sealer):
                    write_value(listed.as_row_of_0_2())
        file.seek(0)
        stores.files.create(written_key(plan.period, group), file, stream_digest(file))


def _write_statements(
    plan: StatementPlan, statements: Iterable[Statement], blocks: Blocks, sealer: Sealer
) -> list[Listed]:
    """Write the files of some statements side by side; return their rows of the list."""
    written: list[Listed] = []
    uploads: list[Upload] = []
    with ExitStack() as opened:
        for statement in statements:
            lines = opened.enter_context(LinesFile(plan.schema))
            entry, prefix = statement.entry, statement_prefix(plan.period, statement.entry.account)
            for block in blocks.of(entry.account):
                lines.write(block)
            sealed = lines.seal(entry.sums.lines, prefix)
            document = statement.document(orders_of_0_2(lines.first()), sealed)
            contents = {STATEMENT: as_bytes(document), PAGE: page_of_0_2(document)}
            files = {name: SealedObject(hexdigest(content), len(content)) for name, content in contents.items()}
            uploads.append(Upload(prefix + LINES, lines.file, sealed.sha256))
            uploads += [Upload(prefix + name, content, files[name].sha256) for name, content in contents.items()]
            written.append(statement.listed({**files, LINES: sealed}))
        sealer.seal_files(plan, written, uploads)
    return written
