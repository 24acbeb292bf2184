"""Rewrites lost files of a stated period from the sealed lines: with the same bytes, or not at all."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from quarterhour.aws.entity_table import EntityReader
from quarterhour.model.errors import NotFoundError, SealedFileError
from quarterhour.model.periods import Period
from quarterhour.statements.keys import manifest_key, period_key, statement_key, statement_prefix
from quarterhour.statements.listing import Listed
from quarterhour.statements.plan import StatementPlan, StatementSettings
from quarterhour.statements.service import (
    RESERVE_SECONDS,
    StatementResult,
    StatementRunner,
    StatementStores,
    Upload,
)


@dataclass(slots=True)
class StatementResealResult:
    """The number of a period's files that exist as they were sealed, and the keys of those that were rewritten.

    ``next``: the group of accounts with which another invocation must continue; ``None`` after the last one.
    """

    files: int = 0
    written: list[str] = field(default_factory=list)
    next: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the result as the function's response."""
        return {"files": self.files, "written": self.written, "next": self.next}


class StatementResealer(StatementRunner):
    """Runs the steps of a stated period again, and creates only files that have the hashes of the table."""

    def __init__(self, stores: StatementStores, settings: StatementSettings, entities: EntityReader) -> None:
        super().__init__(stores, settings)
        self._entities = entities
        self._result = StatementResealResult()

    def reseal(self, period: str, group: int, remaining_seconds: Callable[[], float]) -> StatementResealResult:
        """Rewrite the lost files of a stated period, from a group of accounts on, as many as the time allows.

        Raises ``NotFoundError`` if the period is not stated. Raises ``SealedFileError`` at the first file that exists
        with other bytes, or for which the sealed lines give other bytes than were sealed; that file stays as it is.
        """
        result = self._result = StatementResealResult()
        plan = StatementPlan.of(self._stated(Period.parse(period)))
        began = False
        for day in plan.days:
            if began and remaining_seconds() < RESERVE_SECONDS:
                result.next = group
                return result
            began |= self._collect(plan, day)
        began |= self._number(plan)
        for one in range(group, plan.groups):
            if began and remaining_seconds() < RESERVE_SECONDS:
                result.next = one
                return result
            self._write_group(plan, one)
            began = True
        self._publish(plan, StatementResult())
        return result

    def _stated(self, period: Period) -> dict[str, Any]:
        values = self._entities.get(period_key(period))
        if values is None:
            raise NotFoundError(f"the period {period} is not stated")
        return values

    def _seal(self, plan: StatementPlan, statements: Sequence[Listed], files: Sequence[Upload]) -> None:
        items = self._entities.get_many([statement_key(plan.period, one.account) for one in statements])
        sealed = {values["sk"]: {name: sha256 for name, (sha256, _) in values["files"].items()} for values in items}
        for one in statements:
            if sealed.get(str(one.account)) != {name: file.sha256 for name, file in one.files.items()}:
                raise _other_bytes(statement_prefix(plan.period, one.account))
        self._add(files, self._stores.workers.map(self._create, files))

    def _seal_period(self, plan: StatementPlan, manifest_sha256: str, files: Sequence[Upload]) -> None:
        if self._stated(plan.period)["manifest_sha256"] != manifest_sha256:
            raise _other_bytes(manifest_key(plan.period))
        self._add(files, [self._create(file) for file in files])

    def _add(self, files: Sequence[Upload], are_new: Sequence[bool]) -> None:
        self._result.files += len(files)
        self._result.written += [key for (key, *_), is_new in zip(files, are_new, strict=True) if is_new]


def _other_bytes(key: str) -> SealedFileError:
    return SealedFileError(f"{key} was sealed with other bytes than the sealed lines give now: restore its version")
