"""Runs the releases: decide about the drafts that are due, number their documents, write and publish them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from quarterhour.aws.items import chunks
from quarterhour.model import clock
from quarterhour.model.clock import iso_millis
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.statements.drafts.draft import DUE, DraftDecision, DraftItem, DraftState
from quarterhour.statements.drafts.line_files import WRITTEN_AT_A_TIME
from quarterhour.statements.drafts.service import in_time
from quarterhour.statements.listing import statement_of
from quarterhour.statements.plan import StatementSettings
from quarterhour.statements.releases.checks import failed
from quarterhour.statements.releases.context import DraftContexts
from quarterhour.statements.releases.decisions import refused
from quarterhour.statements.releases.items import BY
from quarterhour.statements.releases.plan import Releasable, ReleasePlan, next_plan, numbered
from quarterhour.statements.releases.publish import ReleasePublisher
from quarterhour.statements.releases.roster import is_numbered, read_numbered, write_roster
from quarterhour.statements.releases.store import ReleaseStore
from quarterhour.statements.releases.write import ReleaseWriter
from quarterhour.statements.status.store import StatementStatusStore

if TYPE_CHECKING:
    from quarterhour.model.identifiers import Account
    from quarterhour.model.periods import Period
    from quarterhour.statements.parties import PartyVersions


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

    def __init__(
        self,
        store: ReleaseStore,
        files: SealedFiles,
        statuses: StatementStatusStore,
        contexts: DraftContexts,
        settings: StatementSettings,
    ) -> None:
        self._store = store
        self._files = files
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
        while planned := self._plan():
            plan, releasable = planned
            if not in_time(self._steps(plan, releasable), remaining_seconds):
                result.complete = False
                return result
            result.documents += self._publisher.publish(plan, read_numbered(self._files, plan))
            result.releases.append(plan.number)
        return result

    def _plan(self) -> tuple[ReleasePlan, Releasable | None] | None:
        """Return the plan under way, or a new one with what it releases; ``None`` if there is nothing to release."""
        ours: ReleasePlan | None = None
        releasable: Releasable | None = None
        while True:
            progress = self._store.progress()
            if progress.plan:
                # What was read before another run stored its plan may be released by now.
                return progress.plan, releasable if progress.plan == ours else None
            releasable = self._releasable()
            if not releasable.drafts:
                return None
            ours = next_plan(progress, clock.now(), self._settings)
            self._store.save_plan(progress, ours)  # another run may have stored its plan first

    def _steps(self, plan: ReleasePlan, releasable: Releasable | None) -> Iterator[Callable[[], bool]]:
        """Yield the steps before publishing, in their order; each returns whether it had anything to do."""
        yield partial(self._number, plan, releasable)
        for group in range(read_numbered(self._files, plan).groups):
            yield partial(self.writer.write, plan, group)

    def _number(self, plan: ReleasePlan, releasable: Releasable | None) -> bool:
        """Number the documents, unless that is done already; return whether it was not."""
        if is_numbered(self._files, plan):
            return False
        found = releasable or self._releasable()
        reissued = [one.key for one in found.drafts if one.revision]
        statements = {key: statement_of(item) for key, item in self._store.statements(reissued).items()}
        last = self._store.last_documents(sorted({one.account for one in found.drafts}))
        entries = numbered(plan, found, statements, last, lambda period: self._contexts.plan_of(period).rounding)
        write_roster(self._files, plan, list(entries))
        return True

    # ------------------------------------------------------------ which drafts

    def _due(self) -> list[DraftItem]:
        """Return the drafts that the release changes, and those of their accounts that the index does not list yet."""
        due = self._store.due()
        known = {one.key for one in due}
        accounts = {one.account for one in due if one.state is not DraftState.CANCELLING}
        waiting = (one.key for one in self._store.without_statement() if one.account in accounts)
        further = self._store.drafts(set(waiting) - known) if accounts else []
        return [*due, *(one for one in further if one.state in DUE)]

    def _releasable(self) -> Releasable:
        """Decide about the drafts that are due; return those that a release can take now."""
        while True:
            releasable = self._decided(self._due())
            if releasable:
                return releasable

    def _decided(self, due: Sequence[DraftItem]) -> Releasable | None:
        """Release each draft that passes its checks; return what to release, ``None`` if others decided meanwhile.

        A new draft that fails a check is left to a person. So is one that a person has released: parties can have
        changed since. If an earlier draft is refused, the later ones of its account are, too.
        """
        releasing: list[DraftItem] = []
        parties: dict[tuple[Period, Account], PartyVersions] = {}
        in_periods = sorted((one for one in due if one.state is not DraftState.CANCELLING), key=lambda one: one.key)
        for period, of_period in groupby(in_periods, key=lambda one: one.period):
            if not self._contexts.is_published(period):
                continue
            for some in chunks(list(of_period), WRITTEN_AT_A_TIME):
                now, changed = clock.now(), []
                for draft, context in zip(some, self._contexts.gather(some, now, counted=False), strict=True):
                    if found := failed(draft, context):
                        changed.append(refused(draft, found, BY, iso_millis(now)))
                        continue
                    if draft.state is DraftState.NEW:
                        changed.append(draft.decided(DraftDecision(DraftState.RELEASING, BY, iso_millis(now), "")))
                    releasing.append(draft)
                    parties[draft.key] = context.versions
                if not self._store.decide_all(changed):
                    return None
        cancelling = [one for one in due if one.state is DraftState.CANCELLING]
        return Releasable([*cancelling, *releasing], parties)
