"""The last step of 0.2.0: write the list, the items and the manifest of a period, and finish its run."""

import io
from collections.abc import Iterator
from contextlib import ExitStack
from heapq import merge
from tempfile import TemporaryFile
from typing import IO, Any, cast

from quarterhour.reports.digests import hexdigest, stream_digest
from quarterhour.statements.document.statement import as_bytes
from quarterhour.statements.drafts.sealing import Sealer, Upload
from quarterhour.statements.drafts.work_objects import read_values
from quarterhour.statements.keys import list_key, manifest_key, period_key, roster_key, written_key
from quarterhour.statements.listing import (
    COLUMNS_OF_0_2,
    FIGURES_OF_0_2,
    Listed,
    ListTotals,
    ListWriter,
    SealedObject,
)
from quarterhour.statements.of_0_2.manifest import manifest
from quarterhour.statements.of_0_2.roster import read_numbers
from quarterhour.statements.plan import StatementPlan
from quarterhour.statements.store import Published, StatementStores


def publish(stores: StatementStores, plan: StatementPlan, sealer: Sealer) -> int:
    """Publish a period whose groups are written; return the number of its statements and credit notes."""
    totals = ListTotals(FIGURES_OF_0_2)
    with stores.files.copied(roster_key(plan.period)) as file:
        numbers = read_numbers(file)
    with ExitStack() as opened, TemporaryFile() as file:
        groups = [
            map(
                Listed.of_row_of_0_2,
                read_values(opened.enter_context(stores.files.copied(written_key(plan.period, group)))),
            )
            for group in range(plan.groups)
        ]
        text = io.TextIOWrapper(cast("IO[bytes]", file), encoding="utf-8", newline="", write_through=True)
        writer = ListWriter(text, COLUMNS_OF_0_2)

        def items() -> Iterator[dict[str, Any]]:
            for one in merge(*groups, key=lambda one: one.account):
                writer.write(one.as_row_of_0_2())
                totals.add(one)
                yield {**one.as_item(plan.period), "bound": str(plan.bound)}

        stores.projections.write(items())
        text.flush()
        size = file.tell()
        file.seek(0)
        listed = SealedObject(stream_digest(file), size)
        content = as_bytes(manifest(plan, totals, numbers, listed))
        sha256 = hexdigest(content)
        files = [
            Upload(list_key(plan.period), file, listed.sha256),
            Upload(manifest_key(plan.period), content, sha256),
        ]
        sealer.seal_period(plan, sha256, files)
    item = {**period_key(plan.period), **plan.as_dict(), **totals.as_dict(), "manifest_sha256": sha256}
    stores.projections.write([item])
    stores.progress.finish(plan, Published(sha256, numbers))
    return totals.statements + totals.credit_notes
