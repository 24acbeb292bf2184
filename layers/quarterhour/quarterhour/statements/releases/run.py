"""Runs the releases: decide about new drafts, store the plan, number the documents, write and publish them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from quarterhour.aws.items import chunks
from quarterhour.model import clock
from quarterhour.model.clock import iso_millis
from quarterhour.model.money import Rounding
from quarterhour.model.periods import Period
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.statements.drafts.draft_items import DraftDecision, DraftState
from quarterhour.statements.drafts.line_files import WRITTEN_AT_A_TIME
from quarterhour.statements.drafts.service import in_time
from quarterhour.statements.plan import StatementSettings
from quarterhour.statements.releases.checks import failed
from quarterhour.statements.releases.context import DraftContexts
from quarterhour.statements.releases.decisions import refused
from quarterhour.statements.releases.plan import Releasable, ReleasePlan, next_plan, numbered
from quarterhour.statements.releases.publish import ReleasePublisher
from quarterhour.statements.releases.released import BY
from quarterhour.statements.releases.roster import is_numbered, read_numbered, write_roster
from quarterhour.statements.releases.store import ReleaseStore
from quarterhour.statements.releases.write import ReleaseWriter
from quarterhour.statements.status.store import StatementStatusStore
from quarterhour.statements.store import ProgressStore

if TYPE_CHECKING:
    from quarterhour.model.identifiers import Account
    from quarterhour.statements.document.statement import PartyVersions
    from quarterhour.statements.drafts.draft_items import DraftItem


@dataclass(slots=True)
class ReleaseResult:
    """The numbers of the releases of an invocation, and of their documents.

    ``complete`` is false if the time ran short: then another invocation must continue.
    """

    releases: list[int] = field(default_factory=list)
    documents: int = 0
    complete: bool = True

    def as_dict(self) -> dict[str, Any]:
        """Return the result as the function's response."""
        return {"releases": self.releases, "documents": self.documents}


class ReleaseRunner:
    """Releases what was decided, each draft once, whatever interrupts it."""

    def __init__(  # noqa: PLR0913, PLR0917 - the stores of a release
        self,
        store: ReleaseStore,
        files: SealedFiles,
        statements: ProgressStore,
        statuses: StatementStatusStore,
        contexts: DraftContexts,
        settings: StatementSettings,
    ) -> None:
        self._store = store
        self._files = files
        self._statements = statements
        self._contexts = contexts
        self._settings = settings
        self.writer = ReleaseWriter(store, files, contexts)
        self._publisher = ReleasePublisher(store, files, statuses)

    def run(self, remaining_seconds: Callable[[], float]) -> ReleaseResult:
        """Release all drafts that are decided, or as many as the time allows.

        Raises ``SealedFileError`` if a file exists with other bytes or is gone, ``OvertakenError`` if another run has
        taken over, ``UnavailableError`` if AWS keeps failing. The next invocation continues where this one stopped.
        """
        result = ReleaseResult()
        self._decide()
        while plan := self._plan():
            if not in_time(self._steps(plan), remaining_seconds):
                result.complete = False
                return result
            result.documents += self._publisher.publish(plan, read_numbered(self._files, plan))
            result.releases.append(plan.number)
        return result

    # ------------------------------------------------------------ which drafts

    def _decide(self) -> None:
        """Decide about new drafts: release those without a failed check, and leave the others to a person."""
        new = (one for one in self._store.due() if one.state is DraftState.NEW)
        in_periods = sorted(new, key=lambda one: (one.period, one.account))
        for period, of_period in groupby(in_periods, key=lambda one: one.period):
            if not self._contexts.is_published(period):
                continue
            for some in chunks(list(of_period), WRITTEN_AT_A_TIME):
                now = clock.now()
                contexts = self._contexts.gather(some, now, counted=False)
                released = DraftDecision(DraftState.RELEASING, BY, iso_millis(now), "")
                self._store.decide_all(
                    [
                        refused(draft, found, BY, iso_millis(now))
                        if (found := failed(draft, context))
                        else draft.decided(released)
                        for draft, context in zip(some, contexts, strict=True)
                    ]
                )

    def _releasable(self) -> Releasable:
        """Return the drafts that a release can take now; those that fail a check by now are not to be released then.

        Parties can have changed since somebody decided. If an earlier draft is refused, the later ones of its account
        are, too.
        """
        while True:
            due = [one for one in self._store.due() if one.state is not DraftState.NEW]
            accounts = {one.account for one in due if one.state is DraftState.RELEASING}
            waiting = {(one.period, one.account) for one in self._store.without_statement() if one.account in accounts}
            waiting |= {(one.period, one.account) for one in due if one.state is DraftState.RELEASING}
            releasing = [one for one in self._store.drafts(waiting) if one.state is DraftState.RELEASING]
            parties: dict[tuple[Period, Account], PartyVersions] = {}
            not_released: list[DraftItem] = []
            for some in chunks(sorted(releasing, key=lambda one: (one.period, one.account)), WRITTEN_AT_A_TIME):
                now = clock.now()
                for draft, context in zip(some, self._contexts.gather(some, now, counted=False), strict=True):
                    parties[draft.period, draft.account] = context.versions
                    if found := failed(draft, context):
                        not_released.append(refused(draft, found, BY, iso_millis(now)))
            if not not_released:
                cancelling = [one for one in due if one.state is DraftState.CANCELLING]
                return Releasable([*cancelling, *releasing], parties)
            self._store.decide_all(not_released)

    def _plan(self) -> ReleasePlan | None:
        """Return the plan under way, or a new one; ``None`` if there is nothing to release."""
        while True:
            progress = self._store.progress()
            if progress.plan:
                return progress.plan
            if not self._releasable().drafts:
                return None
            plan = next_plan(progress, self._statements.progress().numbers, clock.now(), self._settings)
            self._store.save_plan(progress, plan)  # another run may have stored its plan first

    # ------------------------------------------------------------ the steps

    def _steps(self, plan: ReleasePlan) -> Iterator[Callable[[], bool]]:
        """Yield the steps before publishing, in their order; each returns whether it had anything to do."""
        yield partial(self._number, plan)
        for group in range(read_numbered(self._files, plan).groups):
            yield partial(self.writer.write, plan, group)

    def _number(self, plan: ReleasePlan) -> bool:
        """Number the documents, unless that is done already; return whether it was not."""
        if is_numbered(self._files, plan):
            return False
        found = self._releasable()
        statements = self._store.statements((one.period, one.account) for one in found.drafts if one.revision)
        accounts = sorted({one.account for one in found.drafts})
        last = self._store.last_documents(accounts, self._statements.progress().last_of_0_2)
        write_roster(self._files, plan, list(numbered(plan, found, statements, last, self._rounding_of)))
        return True

    def _rounding_of(self, period: Period) -> Rounding:
        return self._contexts.plan_of(period).rounding
