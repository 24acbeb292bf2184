"""Changes the status of statements, disputes lines, and resolves disputes once a correction is recorded."""

from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any, Final, NamedTuple, Self

from quarterhour.aws.resources import Resources
from quarterhour.aws.retries import optimistically
from quarterhour.aws.workers import Workers
from quarterhour.ledger.events.event import reference
from quarterhour.ledger.postings.posting import Facts
from quarterhour.ledger.reading.queries import EventLookup
from quarterhour.ledger.recording.pricing import BY_REFUND
from quarterhour.model import clock
from quarterhour.model.clock import iso_millis
from quarterhour.model.errors import ConflictError, NotFoundError
from quarterhour.model.identifiers import Identity
from quarterhour.reports.archived import ArchivedPostings
from quarterhour.statements.status.keys import LOWEST
from quarterhour.statements.status.plan import (
    Dispute,
    DisputeStatus,
    Party,
    StatementChange,
    StatementDecision,
    StatementHistory,
    StatementName,
    Status,
    StatusRequest,
    check_party,
    correction_of,
    is_on,
    opened,
    planned_change,
    resolved,
)
from quarterhour.statements.status.requests import DisputeRequest
from quarterhour.statements.status.store import StatementStatusStore
from quarterhour.web.access import Caller

MOST: Final = 2000
"""The most open disputes that a tick looks at; the next tick continues after them."""
_WATCH: Final = "watch"


class DisputeTick(NamedTuple):
    """The result of a look at the open disputes."""

    resolved: int
    open: int

    def as_dict(self) -> dict[str, Any]:
        """Return the object that the watch returns and logs."""
        return self._asdict()


@dataclass(frozen=True, slots=True)
class StatementStatusService:
    """Changes the status of statements, and opens and resolves disputes of their lines.

    All changes of a statement have numbers without a gap: of two that happen at once, one is planned again. Every
    request may be repeated.
    """

    store: StatementStatusStore
    events: EventLookup

    @classmethod
    def of(cls, resources: Resources) -> Self:
        """Return the service of a function."""
        events = EventLookup.of(resources, ArchivedPostings.of(resources))
        return cls(StatementStatusStore(resources.dynamodb, resources.entities), events)

    def change(self, name: StatementName, request: StatusRequest, caller: Caller) -> StatementHistory:
        """Change the status of a statement; return it with its changes.

        Raises ``ForbiddenError``, ``NotFoundError``, or ``ConflictError`` if the status does not allow the change.
        """
        check_party(request.status, caller)
        decision = _decision(caller, request.reason)

        def attempt() -> StatementHistory:
            history = self._history(name)
            change = planned_change(history, request, decision)
            if change is None:
                return history
            self._check_lines(history, change)
            return self._record(history, change)

        return optimistically(attempt, str(name))

    def dispute(self, name: StatementName, request: DisputeRequest, caller: Caller) -> tuple[Dispute, bool]:
        """Dispute a line; return the dispute, and whether this call opened it.

        Raises ``NotFoundError`` if the event is on no line of the statement, and ``ConflictError`` if the line was
        disputed before, or the status does not allow it.
        """
        decision = _decision(caller, request.reason)

        def attempt() -> tuple[Dispute, bool]:
            history = self._history(name)
            existing = self.store.dispute(name, request.line)
            if existing:
                if existing.opened.is_same(decision):
                    return existing, False
                raise ConflictError(f"this line was disputed before, and its dispute is {existing.status}")
            dispute, change = opened(history, request.line, self._refund_of(self._line(name, request.line)), decision)
            self._record(history, change, dispute)
            return dispute, True

        return optimistically(attempt, str(name))

    def resolve(self, name: StatementName, line: Identity, reason: str, caller: Caller) -> Dispute:
        """Resolve the dispute of a line by hand; return it.

        Raises ``NotFoundError`` if the line was never disputed, ``ConflictError`` if others have resolved the dispute.
        """
        decision = _decision(caller, reason)

        def attempt() -> Dispute:
            dispute = self.store.dispute(name, line)
            if dispute is None:
                raise NotFoundError(f"that line of {name} was never disputed")
            if dispute.resolved is None:
                return self._resolve(dispute.resolution(decision))
            if dispute.resolved.is_same(decision):
                return dispute
            raise ConflictError(f"that line's dispute was resolved before, at {dispute.resolved.at}")

        return optimistically(attempt, str(name))

    def correct(self, dispute: Dispute, correction: Facts) -> None:
        """Resolve a dispute by a correction, unless it is resolved by now."""
        source, id_ = correction["source"], correction["id"]
        reason = f"corrected: {correction['type']}"

        def attempt() -> None:
            current = self.store.dispute(dispute.statement, dispute.line)
            if current and current.status is DisputeStatus.OPEN:
                decision = StatementDecision(_WATCH, Party.MARKETPLACE, _now(), reason)
                self._resolve(current.resolution(decision, Identity(source, id_)))

        optimistically(attempt, str(dispute.statement))

    def _resolve(self, dispute: Dispute) -> Dispute:
        history = self._history(dispute.statement)
        others = self.store.open_lines(dispute.statement) - 1
        self._record(history, resolved(history, dispute, others), dispute)
        return dispute

    def _history(self, name: StatementName) -> StatementHistory:
        history = self.store.history(name)
        if history is None:
            raise NotFoundError(f"{name} does not exist")
        return history

    def _line(self, name: StatementName, line: Identity) -> Facts:
        """Return the facts of an event on a statement; raise ``NotFoundError``, which is the same for each reason."""
        plan, found = self.store.plan(name), self.events.find(line)
        if plan is None or found is None or not is_on(plan, name, found.facts):
            raise NotFoundError(f"{name} has no line of that event")
        return found.facts

    def _refund_of(self, facts: Facts) -> Facts:
        """Return the facts of the refund that a void takes back; of any other event, its own."""
        of = reference(facts["source"], facts) if facts.get("terms") == BY_REFUND else None
        found = self.events.find(of) if of else None
        return found.facts if found else facts

    def _check_lines(self, history: StatementHistory, change: StatementChange) -> None:
        """Raise ``ConflictError`` if a statement would be resolved while lines of it are disputed."""
        if change.status is Status.RESOLVED and (lines := self.store.open_lines(history.name)):
            disputes = "1 open dispute" if lines == 1 else f"{lines} open disputes"
            raise ConflictError(f"{history.name} has {disputes}: the last one that you resolve resolves it, too")

    def _record(
        self, history: StatementHistory, change: StatementChange, dispute: Dispute | None = None
    ) -> StatementHistory:
        self.store.record(change.as_item(history.name, len(history.changes) + 1), dispute)
        return StatementHistory(history.statement, (*history.changes, change))


@dataclass(frozen=True, slots=True)
class DisputeWatch:
    """Resolves open disputes once a correction of their line is recorded."""

    service: StatementStatusService
    workers: Workers

    def tick(self, seconds: float) -> DisputeTick:
        """Look at the open disputes, the oldest first, within so many seconds."""
        until = clock.now() + timedelta(seconds=seconds)
        store = self.service.store
        start = store.cursor()
        disputes = list(islice(store.open_disputes(start), MOST))
        looked_at = number_resolved = 0
        after = start
        for dispute in disputes:
            if clock.now() >= until:
                break
            looked_at += 1
            number_resolved += self._corrected(dispute)
            after = dispute.place
        if looked_at == len(disputes) < MOST:
            after = LOWEST
        if after != start:
            # More than a tick can look at: the next one continues here.
            store.set_cursor(after)
        return DisputeTick(number_resolved, looked_at - number_resolved)

    def _corrected(self, dispute: Dispute) -> bool:
        """Resolve a dispute if its line is corrected; return whether it is."""
        linked = self.service.store.linked(dispute.subject)
        correction = correction_of(dispute, self.service.events.find_all(linked, self.workers)) if linked else None
        if correction is None:
            return False
        self.service.correct(dispute, correction)
        return True


def _decision(caller: Caller, reason: str) -> StatementDecision:
    return StatementDecision(caller.name, Party.of(caller), _now(), reason)


def _now() -> str:
    return iso_millis(clock.now())
