"""Rewrites lost files of a sealed period from the sealed lines: with the same bytes, or not at all."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field

from quarterhour.aws.entity_table import EntityReader
from quarterhour.model.errors import SealedFileError
from quarterhour.model.periods import Period
from quarterhour.statements.drafts.collect import collect
from quarterhour.statements.drafts.draft import DraftItem
from quarterhour.statements.drafts.publish import publish
from quarterhour.statements.drafts.roster import add_up
from quarterhour.statements.drafts.sealing import Upload
from quarterhour.statements.drafts.service import RESERVE_SECONDS
from quarterhour.statements.drafts.write import write
from quarterhour.statements.keys import draft_key, manifest_key, statement_prefix
from quarterhour.statements.plan import StatementPlan
from quarterhour.statements.store import StatementStores, plan_of_period, sealed_period


@dataclass(slots=True)
class StatementResealResult:
    """The number of a period's files that exist as they were sealed, and the keys of those that were rewritten.

    ``next``: the part with which another invocation must continue; ``None`` after the last one.
    """

    files: int = 0
    written: list[str] = field(default_factory=list)
    next: int | None = None

    as_dict = asdict


@dataclass(frozen=True, slots=True)
class SameBytesDraftSealer:
    """Creates files that are lost, if they have the hashes of the table, and notes them in ``result``."""

    stores: StatementStores
    entities: EntityReader
    result: StatementResealResult

    def seal_files(self, plan: StatementPlan, drafts: Sequence[DraftItem], files: Sequence[Upload]) -> None:
        """Create the lost files of some drafts, side by side."""
        items = self.entities.get_many([draft_key(plan.period, one.account) for one in drafts])
        sealed = {values["sk"]: {name: sha256 for name, (sha256, _) in values["files"].items()} for values in items}
        for one in drafts:
            if sealed.get(str(one.account)) != {name: file.sha256 for name, file in one.listed.files.items()}:
                raise other_bytes(statement_prefix(plan.period, one.account))
        self._note(files, self.stores.workers.map(self._create, files))

    def seal_period(self, plan: StatementPlan, manifest_sha256: str, files: Sequence[Upload]) -> None:
        """Create the list and the manifest of the period, if they are lost."""
        if sealed_period(self.entities, plan.period)["manifest_sha256"] != manifest_sha256:
            raise other_bytes(manifest_key(plan.period))
        self._note(files, [self._create(file) for file in files])

    def _create(self, file: Upload) -> bool:
        return self.stores.files.create(*file)

    def _note(self, files: Sequence[Upload], are_new: Sequence[bool]) -> None:
        self.result.files += len(files)
        self.result.written += [file.key for file, is_new in zip(files, are_new, strict=True) if is_new]


@dataclass(frozen=True, slots=True)
class StatementResealer:
    """Runs the steps of a sealed period again, and creates only files that have the hashes of the table."""

    stores: StatementStores
    entities: EntityReader

    def reseal(self, period: str, group: int, remaining_seconds: Callable[[], float]) -> StatementResealResult:
        """Rewrite the lost files of a sealed period, from a group of accounts on, as many as the time allows.

        Raises ``NotFoundError`` if the period is not sealed. Raises ``SealedFileError`` at the first file that exists
        with other bytes, or for which the sealed lines give other bytes than were sealed; that file stays as it is.
        """
        result = StatementResealResult()
        sealer = SameBytesDraftSealer(self.stores, self.entities, result)
        plan = plan_of_period(self.entities, Period.parse(period))
        began = False
        for day in plan.days:
            if began and remaining_seconds() < RESERVE_SECONDS:
                result.next = group
                return result
            began |= collect(self.stores, plan, day)
        began |= add_up(self.stores, plan)
        for one in range(group, plan.groups):
            if began and remaining_seconds() < RESERVE_SECONDS:
                result.next = one
                return result
            write(self.stores, plan, one, sealer)
            began = True
        publish(self.stores, plan, sealer)
        return result


def other_bytes(key: str) -> SealedFileError:
    """Return the error that a file would be written with other bytes than were sealed."""
    return SealedFileError(f"{key} was sealed with other bytes than the sealed lines give now: restore its version")
