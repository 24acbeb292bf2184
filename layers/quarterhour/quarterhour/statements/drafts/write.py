"""The third step: write the drafts of a group of accounts, each with the file of its lines."""

from collections.abc import Sequence
from contextlib import ExitStack
from itertools import islice
from tempfile import TemporaryFile

from quarterhour.model.identifiers import Account
from quarterhour.reports.digests import hexdigest, stream_digest
from quarterhour.statements.document.statement import as_bytes
from quarterhour.statements.drafts.draft import Draft, DraftItem
from quarterhour.statements.drafts.figures import AccountSums
from quarterhour.statements.drafts.line_files import WRITTEN_AT_A_TIME, Blocks, LinesFile, blocks_of
from quarterhour.statements.drafts.orders import orders_of
from quarterhour.statements.drafts.roster import read_roster
from quarterhour.statements.drafts.sealing import DraftSealer, Upload
from quarterhour.statements.drafts.work_objects import value_writer
from quarterhour.statements.keys import DRAFT, LINES, roster_key, statement_prefix, written_key
from quarterhour.statements.listing import SealedObject
from quarterhour.statements.plan import StatementPlan
from quarterhour.statements.store import StatementStores


def is_written(stores: StatementStores, plan: StatementPlan, group: int) -> bool:
    """Return whether the drafts of a group are written."""
    return stores.files.exists(written_key(plan.period, group))


def write(stores: StatementStores, plan: StatementPlan, group: int, sealer: DraftSealer) -> None:
    """Write the drafts of a group; their items come last, so they say that the group is written."""
    with ExitStack() as opened, TemporaryFile() as file:
        entries = (
            entry
            for entry in read_roster(opened.enter_context(stores.files.copied(roster_key(plan.period))))
            if plan.group_of(entry[0]) == group
        )
        blocks = Blocks(blocks_of(stores, plan, group, opened))
        with value_writer(file) as write_value:
            while some := list(islice(entries, WRITTEN_AT_A_TIME)):
                for draft in _write_drafts(plan, some, blocks, sealer):
                    write_value(draft.as_item())
        file.seek(0)
        stores.files.create(written_key(plan.period, group), file, stream_digest(file))


def _write_drafts(
    plan: StatementPlan, entries: Sequence[tuple[Account, AccountSums]], blocks: Blocks, sealer: DraftSealer
) -> list[DraftItem]:
    """Write the files of some drafts side by side; return the items of the drafts."""
    written: list[DraftItem] = []
    uploads: list[Upload] = []
    with ExitStack() as opened:
        for account, sums in entries:
            prefix = statement_prefix(plan.period, account)
            lines = opened.enter_context(LinesFile())
            for block in blocks.of(account):
                lines.write(block)
            draft = Draft(account, sums, orders_of(lines.first()), lines.seal(sums.lines, prefix))
            content = as_bytes(draft.document(plan))
            file = SealedObject(hexdigest(content), len(content))
            uploads += [
                Upload(prefix + LINES, lines.file, draft.lines.sha256),
                Upload(prefix + DRAFT, content, file.sha256),
            ]
            written.append(draft.item(plan, file))
        sealer.seal_files(plan, written, uploads)
    return written
