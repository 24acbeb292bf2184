"""The item of a draft in the Entity table: its figures, and what was decided about it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from quarterhour.model import money
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.statements.drafts.draft import FIGURES, ListedDraft
from quarterhour.statements.keys import draft_index, draft_key
from quarterhour.statements.listing import SealedObject

if TYPE_CHECKING:
    from quarterhour.statements.drafts import api


class DraftState(StrEnum):
    """The state of a draft."""

    NEW = "new"
    """It was just made. The next run of the releases decides about it, as ``StatementRelease`` is ``automatic``."""
    OPEN = "open"
    HELD = "held"
    """It is kept back, for a reason."""
    PROPOSED = "proposed"
    """A first person wants to release it; a second one must agree."""
    RELEASING = "releasing"
    """The next run of the releases releases it."""
    RELEASED = "released"
    CANCEL_PROPOSED = "cancel_proposed"
    """A first person wants to cancel its statement; a second one must agree."""
    CANCELLING = "cancelling"
    """The next run of the releases cancels its statement. Then it is held."""


DUE: frozenset[DraftState] = frozenset({DraftState.NEW, DraftState.RELEASING, DraftState.CANCELLING})
"""The states that the next run of the releases changes."""
DONE: frozenset[DraftState] = frozenset({DraftState.RELEASED, DraftState.CANCEL_PROPOSED, DraftState.CANCELLING})
"""The states of a draft that has a statement."""


class DraftDecision(NamedTuple):
    """A decision about a draft: the state that it gave, who made it, when (ISO 8601) and why."""

    state: DraftState
    by: str
    at: str
    reason: str

    @classmethod
    def of(cls, values: Sequence[str]) -> Self:
        """Parse the decision as the item holds it."""
        state, by, at, reason = values
        return cls(DraftState(state), by, at, reason)

    def as_dict(self) -> "api.DraftDecision":
        """Return the decision as the API shows it."""
        return {"state": self.state, "by": self.by, "at": self.at, "reason": self.reason}


class DraftFacts(NamedTuple):
    """What the list and the table hold of a draft.

    ``default_rate_lines``: the number of lines whose commission is by the default commission rate. ``tax_points``: as
    spans of days without a gap.
    """

    listed: ListedDraft
    default_rate_lines: int
    tax_points: Sequence[tuple[date, date]]

    def as_list(self) -> list[Any]:
        """Return the facts as plain values."""
        return [self.listed.as_row(), self.default_rate_lines, self.spans]

    @property
    def spans(self) -> list[list[str]]:
        """The tax points as plain values."""
        return [[first.isoformat(), last.isoformat()] for first, last in self.tax_points]

    @classmethod
    def of(cls, values: Sequence[Any]) -> Self:
        """Parse what ``as_list`` returned."""
        row, default_rate_lines, spans = values
        return cls(ListedDraft.of_row(row), int(default_rate_lines), _spans(spans))


@dataclass(frozen=True, slots=True)
class DraftItem:
    """A draft in the table.

    ``bound``: the last quarter-hour whose lines it may have. ``revision``: the number of its released documents.
    ``number``: of its statement, empty without one. ``decisions``: in their order.
    """

    period: Period
    bound: QuarterHour
    facts: DraftFacts
    state: DraftState
    revision: int = 0
    number: str = ""
    decisions: tuple[DraftDecision, ...] = ()

    @property
    def account(self) -> Account:
        """The account."""
        return self.facts.listed.account

    @property
    def comes_first(self) -> bool:
        """Whether the later drafts of the account wait for it: nothing was ever released of it, or is to be now.

        They do not wait for one whose statement is cancelled, as opening balances follow the documents of the account.
        """
        return self.revision == 0 and self.state is not DraftState.RELEASING

    @property
    def refusal(self) -> str:
        """Why the last run of the releases has not released it; empty if it waits for a first decision."""
        return self.decisions[-1].reason if self.state is DraftState.OPEN and self.decisions else ""

    def decided(self, decision: DraftDecision) -> "DraftItem":
        """Return the draft after a decision."""
        return replace(self, state=decision.state, decisions=(*self.decisions, decision))

    def as_item(self) -> dict[str, Any]:
        """Return the item."""
        listed = self.facts.listed
        due = self.state if self.state in DUE else ""
        return {
            **draft_key(self.period, self.account),
            **draft_index(self.period, self.account, is_open=self.state not in DONE, due=due),
            "period": str(self.period),
            "agency": self.account.agency,
            "currency": self.account.currency,
            "bound": str(self.bound),
            **{name: money.plain(listed.figures[name]) for name in FIGURES},
            "lines": listed.lines,
            "prior_period_lines": listed.prior_period_lines,
            "files": {name: list(file) for name, file in listed.files.items()},
            "default_rate_lines": self.facts.default_rate_lines,
            "tax_points": self.facts.spans,
            "state": self.state,
            "revision": self.revision,
            "number": self.number,
            "decisions": [list(one) for one in self.decisions],
            "changes": len(self.decisions),
        }

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Parse what ``as_item`` returned."""
        listed = ListedDraft(
            Account(values["agency"], values["currency"]),
            {name: Decimal(values[name]) for name in FIGURES},
            int(values["lines"]),
            int(values["prior_period_lines"]),
            SealedObject.by_name(values["files"]),
        )
        return cls(
            Period.parse(values["period"]),
            QuarterHour.parse(values["bound"]),
            DraftFacts(listed, int(values["default_rate_lines"]), _spans(values["tax_points"])),
            DraftState(values["state"]),
            int(values["revision"]),
            values["number"],
            tuple(map(DraftDecision.of, values["decisions"])),
        )


def _spans(values: Sequence[Sequence[str]]) -> list[tuple[date, date]]:
    return [(date.fromisoformat(first), date.fromisoformat(last)) for first, last in values]
