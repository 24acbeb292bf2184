"""The pure part of statuses and disputes: the changes that a status allows, and disputes of single lines."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self
from urllib.parse import quote

from quarterhour.ledger.events.event import reference
from quarterhour.ledger.postings.posting import Facts
from quarterhour.model.clock import parse_iso
from quarterhour.model.errors import ConflictError, FieldProblem, ForbiddenError
from quarterhour.model.fields import shown
from quarterhour.model.identifiers import Account, Identity
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.statements.listing import statement_of
from quarterhour.statements.plan import StatementPlan
from quarterhour.statements.status.keys import change_index, change_key, dispute_index, dispute_key, dispute_place
from quarterhour.web.access import Caller, Role

if TYPE_CHECKING:
    from quarterhour.ledger.events.api import EventName
    from quarterhour.statements import api as statements_api
    from quarterhour.statements.status import api

MOST_CHANGES_BEFORE_DISPUTE: Final = 400
"""With this many changes of its status, a statement takes no further dispute; those that are open can be resolved."""


class Status(StrEnum):
    """The status of a statement: whether the agency agrees with it."""

    ISSUED = "issued"
    ACCEPTED = "accepted"
    DISPUTED = "disputed"
    RESOLVED = "resolved"
    CANCELLED = "cancelled"
    """A document reverses it whole. It is issued again once a new statement of the same lines is released."""


class DisputeStatus(StrEnum):
    """Whether a dispute is resolved."""

    OPEN = "open"
    RESOLVED = "resolved"


class Party(StrEnum):
    """Who made a change: a person of the agency, or the marketplace (its machines and staff)."""

    AGENCY = "agency"
    MARKETPLACE = "marketplace"

    @classmethod
    def of(cls, caller: Caller) -> Self:
        """Return the party of a caller."""
        return cls.MARKETPLACE if caller.is_of_marketplace else cls.AGENCY


FOLLOWING: Final[Mapping[Status, tuple[Status, ...]]] = {
    Status.ISSUED: (Status.ACCEPTED, Status.DISPUTED),
    Status.ACCEPTED: (),
    Status.DISPUTED: (Status.RESOLVED,),
    Status.RESOLVED: (),
    Status.CANCELLED: (),
}
"""The statuses that may follow each status."""
OF_AGENCY: Final = (Status.ACCEPTED, Status.DISPUTED)
"""The statuses that people of an agency may set."""
SILENCE: Final = "silence"
"""Who accepts a statement that is not answered in time."""
DISPUTABLE: Final = (Status.ISSUED, Status.DISPUTED)
"""The statuses in which a line of a statement can be disputed."""
MAY_DISPUTE: Final = frozenset({Role.AGENCY})
"""The roles of people who may dispute lines, and set the statuses of an agency."""
MAY_RESOLVE: Final = frozenset({Role.FINANCE})
"""The roles of people who may resolve disputes, and set every status."""


class StatementName(NamedTuple):
    """The name of a statement: its period and its account."""

    period: Period
    account: Account

    def __str__(self) -> str:
        """Return the name as a message shows it."""
        return f"the statement of {shown(self.account.agency)} in {self.account.currency} for {self.period}"

    def as_dict(self) -> "statements_api.NamedStatement":
        """Return the attributes that name it."""
        return {"period": str(self.period), "agency": self.account.agency, "currency": self.account.currency}

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Parse the attributes that name it."""
        return cls(Period.parse(values["period"]), Account(values["agency"], values["currency"]))


@dataclass(frozen=True, slots=True)
class StatementDecision:
    """Who decided, when (ISO 8601) and why."""

    by: str
    party: Party
    at: str
    reason: str

    def is_same(self, other: "StatementDecision") -> bool:
        """Return whether another decision of the same person has the same reason: then it is a retry."""
        return (self.by, self.party, self.reason) == (other.by, other.party, other.reason)

    def as_dict(self) -> dict[str, str]:
        """Return the decision as it is stored."""
        return {"by": self.by, "party": self.party, "at": self.at, "reason": self.reason}

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Parse what ``as_dict`` returned."""
        return cls(values["by"], Party(values["party"]), values["at"], values["reason"])

    def shown_to(self, caller: Caller) -> "api.PartyDecision":
        """Return the decision as a caller may see it: people of agencies do not see the marketplace's operators."""
        shown: api.PartyDecision = {"party": self.party, "at": self.at, "reason": self.reason}
        if caller.is_of_marketplace or self.party is not Party.MARKETPLACE:
            shown["by"] = self.by
        return shown


@dataclass(frozen=True, slots=True)
class StatementChange:
    """A change of a statement's status. ``line``: the disputed line; ``correction``: the event that resolved it."""

    status: Status
    decision: StatementDecision
    line: Identity | None = None
    correction: Identity | None = None

    def as_item(self, name: StatementName, number: int) -> dict[str, Any]:
        """Return the item of the change; no item is ever changed."""
        return {
            **change_key(*name, number),
            **change_index(*name, number),
            **name.as_dict(),
            "status": self.status,
            **self.decision.as_dict(),
            "line": _identity(self.line),
            "correction": _identity(self.correction),
        }

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Parse what ``as_item`` returned."""
        return cls(
            Status(values["status"]),
            StatementDecision.of(values),
            _read_identity(values.get("line")),
            _read_identity(values.get("correction")),
        )

    def shown_to(self, caller: Caller) -> "api.StatementChange":
        """Return the change as a caller may see it."""
        decision = self.decision.shown_to(caller)
        shown: api.StatementChange = {
            "status": self.status,
            "party": decision["party"],
            "at": decision["at"],
            "reason": decision["reason"],
        }
        if "by" in decision:
            shown["by"] = decision["by"]
        if self.line:
            shown["line"] = _named(self.line)
        if self.correction:
            shown["correction"] = _named(self.correction)
        return shown


@dataclass(frozen=True, slots=True)
class StatementHistory:
    """A statement's item, and the changes of its status in their order."""

    statement: Mapping[str, Any]
    changes: tuple[StatementChange, ...] = ()
    by_silence: bool = False
    """Whether silence accepted the statement: that change, the last one, is not stored."""

    @property
    def name(self) -> StatementName:
        """The statement's name."""
        return StatementName.of(self.statement)

    @property
    def status(self) -> Status:
        """The current status."""
        return self.changes[-1].status if self.changes else Status.ISSUED

    @property
    def is_disputed_itself(self) -> bool:
        """Whether the statement was disputed as a whole, not only lines of it; not if it replaces a disputed one."""
        since = takewhile(lambda one: one.status is not Status.CANCELLED, reversed(self.changes))
        return any(one.status is Status.DISPUTED and one.line is None for one in since)

    @property
    def open_lines(self) -> frozenset[Identity]:
        """The lines whose disputes are open: a line is disputed once at most, and its resolution names it again."""
        named = Counter(one.line for one in self.changes if one.line)
        return frozenset(line for line, times in named.items() if times == 1)

    def may_become(self, caller: Caller) -> list[Status]:
        """Return the statuses that a caller may set now."""
        following = (one for one in FOLLOWING[self.status] if may_set(one, caller))
        return [one for one in following if not (one is Status.RESOLVED and self.open_lines)]

    @classmethod
    def of(cls, items: Iterable[Mapping[str, Any]]) -> Self | None:
        """Parse the items of a statement, in either order; ``None`` without the statement itself."""
        ordered = sorted(items, key=lambda values: str(values["sk"]))
        if not ordered or "status" in ordered[0]:  # a list can begin or end within the changes
            return None
        return cls(ordered[0], tuple(map(StatementChange.of, ordered[1:])))

    def as_of(self, now: datetime) -> "StatementHistory":
        """Return the history, accepted by silence if the statement is issued and was not answered in time.

        The days for an answer are those of the statement. The last one ends with the day that the statement shows.
        """
        statement = statement_of(self.statement)
        at, until = statement.silence_at, statement.dispute_until
        if not (at and until) or self.status is not Status.ISSUED or now < parse_iso(at):
            return self
        days = (until - statement.issued_on).days
        reason = f"not answered within {days} {'day' if days == 1 else 'days'}"
        decision = StatementDecision(SILENCE, Party.AGENCY, at, reason)
        return replace(self, changes=(*self.changes, StatementChange(Status.ACCEPTED, decision)), by_silence=True)

    def shown_to(self, caller: Caller) -> "api.ShownStatus":
        """Return the status with its history as a caller may see it, and what the caller may do now."""
        return {
            "status": self.status,
            "changes": len(self.changes),
            "history": [one.shown_to(caller) for one in self.changes],
            "may_become": self.may_become(caller),
            "may_dispute_lines": self.status in DISPUTABLE and caller.has(MAY_DISPUTE),
            "may_resolve_lines": bool(self.open_lines) and caller.has(MAY_RESOLVE),
        }


@dataclass(frozen=True, slots=True)
class StatusRequest:
    """A request to change a statement's status. ``seen``: the number of changes that its sender has seen."""

    status: Status
    reason: str
    seen: int


def may_set(status: Status, caller: Caller) -> bool:
    """Return whether a caller may ever set a status."""
    return caller.has(MAY_RESOLVE) or (status in OF_AGENCY and caller.has(MAY_DISPUTE))


def check_party(status: Status, caller: Caller) -> None:
    """Raise ``ForbiddenError`` if a caller may never set a status."""
    if not may_set(status, caller):
        raise ForbiddenError(f"people of an agency set a statement to {_listed(OF_AGENCY)}: ask the marketplace")


def planned_change(
    history: StatementHistory, request: StatusRequest, decision: StatementDecision
) -> StatementChange | None:
    """Return the change to write; ``None`` if the request is a retry of one that is written.

    Raises ``ConflictError`` if others have changed the status since, or if the status does not allow the change.
    """
    number = len(history.changes)
    if request.seen != number:
        existing = history.changes[request.seen] if request.seen < number else None
        if existing and existing.status is request.status and existing.decision.is_same(decision):
            return None
        _check_answerable(history, request.status)
        problem = FieldProblem("seen", f"is {request.seen}", f"{number}, once you have read the changes")
        raise ConflictError(f"{history.name} has {number} changes of its status, not {request.seen}", problem)
    _check_following(history, request.status)
    return StatementChange(request.status, decision)


def _check_answerable(history: StatementHistory, status: Status) -> None:
    """Raise ``ConflictError``, which says since when, if a statement is accepted by silence."""
    if history.by_silence:
        at = history.changes[-1].decision.at
        problem = FieldProblem("status", f"is {status}", f"an answer before {at}")
        raise ConflictError(f"{history.name} was accepted by silence at {at}, and cannot become {status}", problem)


def _check_following(history: StatementHistory, status: Status) -> None:
    """Raise ``ConflictError``, which says what may follow, if a status may not."""
    _check_answerable(history, status)
    allowed = FOLLOWING[history.status]
    if history.status is Status.CANCELLED:
        problem = FieldProblem(
            "status", f"is {status}", "a change of the statement that replaces it, once it is released"
        )
        raise ConflictError(f"{history.name} is cancelled: it owes nothing and does not change any more", problem)
    if status is Status.CANCELLED:
        problem = FieldProblem("status", f"is {status}", "a decision about its draft, with PUT /drafts and cancel")
        raise ConflictError(f"{history.name} is cancelled by a document that reverses it", problem)
    if status not in allowed:
        problem = FieldProblem("status", f"is {status}", f"{_listed(allowed)}, as the statement is {history.status}")
        raise ConflictError(f"{history.name} is {history.status}, and cannot become {status}", problem)


def _listed(statuses: Sequence[Status]) -> str:
    return " or ".join(statuses) or "no change"


# ---------------------------------------------------------------- disputes


@dataclass(frozen=True, slots=True)
class Dispute:
    """A disputed line of a statement.

    ``subject``: the event to which corrections refer: the line itself, or the sale that the line corrects.
    ``correction``: the event that resolved it, ``None`` if somebody did.
    """

    statement: StatementName
    line: Identity
    subject: Identity
    opened: StatementDecision
    resolved: StatementDecision | None = None
    correction: Identity | None = None

    @property
    def status(self) -> DisputeStatus:
        """Whether it is resolved."""
        return DisputeStatus.RESOLVED if self.resolved else DisputeStatus.OPEN

    @property
    def place(self) -> str:
        """Its place in the indexes."""
        return dispute_place(self.opened.at, self.line)

    def resolution(self, decision: StatementDecision, correction: Identity | None = None) -> "Dispute":
        """Return the dispute resolved by a decision, or by a correction."""
        return replace(self, resolved=decision, correction=correction)

    def as_item(self) -> dict[str, Any]:
        """Return the item of the dispute."""
        return {
            **dispute_key(*self.statement, self.line),
            **dispute_index(self.status, self.statement.account.agency, self.place),
            **self.statement.as_dict(),
            "status": self.status,
            "line": _identity(self.line),
            "subject": _identity(self.subject),
            "opened": self.opened.as_dict(),
            "resolved": self.resolved.as_dict() if self.resolved else None,
            "correction": _identity(self.correction),
        }

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Parse what ``as_item`` returned."""
        resolved = values.get("resolved")
        return cls(
            StatementName.of(values),
            Identity(**values["line"]),
            Identity(**values["subject"]),
            StatementDecision.of(values["opened"]),
            StatementDecision.of(resolved) if resolved else None,
            _read_identity(values.get("correction")),
        )

    def shown_to(self, caller: Caller) -> "api.Dispute":
        """Return the dispute as a caller may see it, with the path of the messages about its line."""
        period, account = self.statement
        shown: api.Dispute = {
            "period": str(period),
            "agency": account.agency,
            "currency": account.currency,
            "source": self.line.source,
            "id": self.line.id,
            "status": self.status,
            "opened": self.opened.shown_to(caller),
            "thread": f"/threads/lines/{_twice_encoded(str(self.line))}/messages",
        }
        if self.resolved:
            shown["resolved"] = self.resolved.shown_to(caller)
        if self.correction:
            shown["correction"] = _named(self.correction)
        return shown


def opened(
    history: StatementHistory, line: Identity, facts: Facts, decision: StatementDecision
) -> tuple[Dispute, StatementChange]:
    """Return the dispute of a line and the change of the statement's status that it makes.

    ``facts``: those of the line; of a void that takes a refund back, those of the refund. Raises ``ConflictError`` if
    the status does not allow it.
    """
    if history.status is not Status.DISPUTED:
        _check_following(history, Status.DISPUTED)
    if len(history.changes) >= MOST_CHANGES_BEFORE_DISPUTE:
        raise ConflictError(
            f"{history.name} has {len(history.changes)} changes of its status: no further line of it can be disputed"
        )
    subject = reference(facts["source"], facts) or Identity(facts["source"], facts["id"])
    return Dispute(history.name, line, subject, decision), StatementChange(Status.DISPUTED, decision, line)


def resolved(history: StatementHistory, dispute: Dispute, open_lines: int) -> StatementChange:
    """Return the change of the statement's status that a resolved dispute makes; ``open_lines``: the others' number.

    A statement that was disputed as a whole stays disputed, until that dispute is resolved too. One that was cancelled
    meanwhile stays cancelled, and the one that replaces it keeps its status.
    """
    if dispute.resolved is None:
        raise ValueError(f"the dispute of {dispute.line} is open")
    status = Status.DISPUTED if open_lines or history.is_disputed_itself else Status.RESOLVED
    if history.status is not Status.DISPUTED:
        status = history.status
    return StatementChange(status, dispute.resolved, dispute.line, dispute.correction)


def is_on(plan: StatementPlan, name: StatementName, facts: Facts) -> bool:
    """Return whether an event is on a statement; ``plan``: that of the statement's run."""
    if Account(facts["agency"], facts["currency"]) != name.account:
        return False
    quarter_hour = QuarterHour.at(parse_iso(facts["recorded_at"]))
    return quarter_hour <= plan.bound and plan.is_prior(facts["period"], str(quarter_hour)) is not None


def correction_of(dispute: Dispute, linked: Iterable[Facts]) -> Facts | None:
    """Return the first of the events that refer to the subject of a dispute that was recorded after it was opened."""
    after = (facts for facts in linked if facts["recorded_at"] > dispute.opened.at)
    return min(after, key=lambda facts: (facts["recorded_at"], facts["position"]), default=None)


def _identity(identity: Identity | None) -> "EventName | None":
    return _named(identity) if identity else None


def _named(identity: Identity) -> "EventName":
    return {"source": identity.source, "id": identity.id}


def _read_identity(values: Mapping[str, str] | None) -> Identity | None:
    return Identity(values["source"], values["id"]) if values else None


def _twice_encoded(name: str) -> str:
    """Return a name as a path holds it: API Gateway decodes it once, and takes a slash for a separator."""
    return quote(quote(name, safe=""), safe="")
