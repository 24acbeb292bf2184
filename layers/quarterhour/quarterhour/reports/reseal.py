"""Sealed files that are gone, written once more from the ledger: the same bytes, or nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from quarterhour.errors import NotFoundError, SealedFileError
from quarterhour.parameters import shown
from quarterhour.quarters import Quarter
from quarterhour.reports.keys import is_run_id, lines_key
from quarterhour.reports.lines import SealedFile
from quarterhour.reports.manifest import documents, hexdigest
from quarterhour.reports.plan import Plan, Sealed, Tally, sealed_of
from quarterhour.reports.store import ReportStore


@dataclass(slots=True)
class Resealed:
    """The files of a run that stand and are as they were sealed, and those among them that had to be written."""

    files: int = 0
    written: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return it as the function answers it."""
        return {"files": self.files, "written": self.written}

    def note(self, key: str, *, written: bool) -> None:
        """Add a file."""
        self.files += 1
        if written:
            self.written.append(key)


def reseal(store: ReportStore, run: str) -> Resealed:
    """Write what is gone of a run's files, or of the one under way as far as it has come.

    Raises ``NotFoundError`` where there is no such run, ``SealedFileError`` at the first file for which the ledger
    gives other bytes than were sealed, or in whose place others stand: that file is left as it is.
    """
    result = Resealed()
    values = store.run(run) if is_run_id(run) else None
    if values:
        plan = Plan.of(values["plan"])
        sealed = sealed_of(plan, values["sealed"])
        tallies = _lines(store, plan, sealed, result)
        _documents(store, plan, sealed, tallies, values["manifest_sha256"], result)
        return result
    at = store.checkpoint()
    if at is None or at.plan is None or at.plan.run != run:
        raise NotFoundError(f"there is no run {shown(run)}")
    _lines(store, at.plan, at.plan.sealed, result)
    return result


def _lines(store: ReportStore, plan: Plan, sealed: Sequence[Sealed], result: Resealed) -> list[Tally]:
    return [_quarter(store, plan, quarter, one, result) for quarter, one in zip(plan.quarters, sealed, strict=False)]


def _quarter(store: ReportStore, plan: Plan, quarter: Quarter, sealed: Sealed, result: Resealed) -> Tally:
    key = lines_key(quarter)
    packed = SealedFile(store.read(plan.partitions(quarter)), plan.schema)
    try:
        if packed.sealed != sealed:
            raise SealedFileError(f"{key} was sealed with other bytes than the ledger gives now: restore its version")
        if sealed.lines:
            result.note(key, written=store.create(key, packed.file, sealed.sha256))
        return packed.content.accounts
    finally:
        packed.close()


def _documents(  # noqa: PLR0913, PLR0917 - the whole of what a run's manifest is made of
    store: ReportStore,
    plan: Plan,
    sealed: Sequence[Sealed],
    tallies: Sequence[Tally],
    manifest_sha256: str,
    result: Resealed,
) -> None:
    pins = [store.pinned(quarter, plan.base) if plan.base else {} for quarter in plan.quarters]
    files = documents(plan, sealed, tallies, pins)
    digests = {key: hexdigest(content) for key, content in files.items()}
    if list(digests.values())[-1] != manifest_sha256:
        raise SealedFileError(f"{list(files)[-1]} was written with other bytes: restore its version")
    for key, content in files.items():
        result.note(key, written=store.create(key, content, digests[key]))
