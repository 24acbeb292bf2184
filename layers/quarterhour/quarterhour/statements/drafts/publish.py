"""The last step: write the list, the items and the manifest of a period, and finish its run."""

import io
from collections.abc import Iterator
from contextlib import ExitStack
from heapq import merge
from tempfile import TemporaryFile
from typing import IO, cast

from quarterhour.reports.digests import hexdigest, stream_digest
from quarterhour.statements.document.statement import as_bytes
from quarterhour.statements.drafts.draft import COLUMNS, DraftTotals
from quarterhour.statements.drafts.draft_items import DraftFacts, DraftItem, DraftState
from quarterhour.statements.drafts.manifest import manifest
from quarterhour.statements.drafts.sealing import Sealer, Upload
from quarterhour.statements.drafts.work_objects import read_values
from quarterhour.statements.keys import draft_list_key, manifest_key, period_key, written_key
from quarterhour.statements.listing import ListWriter, SealedObject
from quarterhour.statements.plan import StatementPlan
from quarterhour.statements.store import Published, StatementStores


def publish(stores: StatementStores, plan: StatementPlan, sealer: Sealer) -> int:
    """Publish a period whose groups are written; return the number of its drafts."""
    totals = DraftTotals()
    state = DraftState.NEW if plan.is_automatic else DraftState.OPEN
    with ExitStack() as opened, TemporaryFile() as file:
        groups = [
            map(
                DraftFacts.of,
                read_values(opened.enter_context(stores.files.copied(written_key(plan.period, group)))),
            )
            for group in range(plan.groups)
        ]
        text = io.TextIOWrapper(cast("IO[bytes]", file), encoding="utf-8", newline="", write_through=True)
        writer = ListWriter(text, COLUMNS)

        def drafts() -> Iterator[DraftItem]:
            for one in merge(*groups, key=lambda one: one.listed.account):
                writer.write(one.listed.as_row())
                totals.add(one.listed)
                yield DraftItem(plan.period, plan.bound, one, state)

        # What exists was written by this run before, and may have been decided about since.
        stores.drafts.insert(drafts())
        text.flush()
        size = file.tell()
        file.seek(0)
        listed = SealedObject(stream_digest(file), size)
        content = as_bytes(manifest(plan, totals, listed))
        sha256 = hexdigest(content)
        files = [
            Upload(draft_list_key(plan.period), file, listed.sha256),
            Upload(manifest_key(plan.period), content, sha256),
        ]
        sealer.seal_period(plan, sha256, files)
    item = {**period_key(plan.period), **plan.as_dict(), **totals.as_dict(), "manifest_sha256": sha256}
    stores.projections.write([item])
    stores.progress.finish(plan, Published(sha256, plan.numbers))
    return totals.drafts
