"""Drafts of statements, pure: the sums and the lines of an account for a period, and what is decided about them.

A draft has no parties, no tax and no number. It depends on sealed lines alone, so its content never changes.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from quarterhour.ledger.recording.pricing import BY_DEFAULT
from quarterhour.model import money
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.schema import SCHEMA, check_schema
from quarterhour.reports.lines import escape_formula, unescape_formula
from quarterhour.statements.drafts.figures import AccountSums, Sum
from quarterhour.statements.keys import DRAFT, LINES, draft_index, draft_key
from quarterhour.statements.listing import ListTotals, SealedObject, read_rows
from quarterhour.statements.plan import StatementPlan

if TYPE_CHECKING:
    from quarterhour.statements.drafts import api

FIGURES: Final = ("brought_forward", "net", "commission_exact", "payments")
"""The exact figures of a draft in its list: decimals in the account's currency."""
_FILES: Final = (DRAFT, LINES)
COLUMNS: Final = (
    *("agency", "currency", *FIGURES, "lines", "prior_period_lines"),
    *("draft_sha256", "draft_size", "csv_sha256", "csv_size"),
)
"""The columns of the list of a period's drafts."""
_DAY: Final = timedelta(days=1)


class DraftState(StrEnum):
    """The state of a draft."""

    NEW = "new"
    """It was just made. The next run of the releases decides about it: the settings' ``release`` is ``automatic``."""
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


class Draft(NamedTuple):
    """A draft. ``orders``: sums by order, as a statement shows them. ``lines``: the file of the lines."""

    account: Account
    sums: AccountSums
    orders: Sequence[Mapping[str, Any]]
    lines: SealedObject

    def document(self, plan: StatementPlan) -> dict[str, Any]:
        """Return the content of ``draft.json``."""
        return {
            "schema": SCHEMA,
            "period": str(plan.period),
            "recorded_until": str(plan.bound),
            "agency": self.account.agency,
            "currency": self.account.currency,
            "sums": self.sums.as_dict(),
            "orders": list(self.orders),
            "lines_file": {"name": LINES, "sha256": self.lines.sha256, "size": self.lines.size},
        }

    @classmethod
    def of(cls, content: bytes) -> Self:
        """Parse the content of ``draft.json``; raise ``UnknownSchemaError`` for another schema."""
        values = json.loads(content)
        check_schema(values["schema"])
        file = values["lines_file"]
        return cls(
            Account(values["agency"], values["currency"]),
            AccountSums.of(values["sums"]),
            values["orders"],
            SealedObject(file["sha256"], int(file["size"])),
        )

    @property
    def figures(self) -> dict[str, Decimal]:
        """The exact figures by the names in ``FIGURES``."""
        sums = self.sums
        return {
            "brought_forward": sums.brought_forward,
            "net": sums.net,
            "commission_exact": sums.commission,
            "payments": sums.payments,
        }

    def item(self, plan: StatementPlan, file: SealedObject) -> "DraftItem":
        """Return the item of the draft before the first decision; ``file``: that of its content."""
        files = {DRAFT: file, LINES: self.lines}
        listed = ListedDraft(self.account, self.figures, self.sums.lines, self.sums.prior_period_lines, files)
        state = DraftState.NEW if plan.is_automatic else DraftState.OPEN
        item = DraftItem(plan.period, plan.bound, listed, self.default_rate_lines, self.tax_points(plan.period), state)
        return replace(item, of_period=self.sums.charges.whole, lacking_lines=self.sums.charges.lacking)

    @property
    def default_rate_lines(self) -> int:
        """The number of lines whose commission is by the default commission rate."""
        return sum(some.lines for (origin, _), some in self.sums.terms.items() if origin == BY_DEFAULT)

    def tax_points(self, period: Period) -> list[tuple[date, date]]:
        """Return the tax points as spans of days without a gap, in order: what is charged of a period has its end."""
        spans: list[tuple[date, date]] = []
        of_period = [period.last_day] if self.sums.charges.of_period else []
        for day in sorted({*map(date.fromisoformat, self.sums.tax_points), *of_period}):
            if spans and spans[-1][1] + _DAY == day:
                spans[-1] = spans[-1][0], day
            else:
                spans.append((day, day))
        return spans


@dataclass(frozen=True, slots=True)
class ListedDraft:
    """A draft in the list of its period. ``figures``: by the names in ``FIGURES``. ``files``: by file name."""

    account: Account
    figures: Mapping[str, Decimal]
    lines: int
    prior_period_lines: int
    files: Mapping[str, SealedObject]

    def as_row(self) -> list[str]:
        """Return the cells of the draft's row."""
        return [
            escape_formula(self.account.agency),
            self.account.currency,
            *(money.plain(self.figures[name]) for name in FIGURES),
            str(self.lines),
            str(self.prior_period_lines),
            *(str(value) for name in _FILES for value in self.files[name]),
        ]

    @classmethod
    def of_row(cls, row: Sequence[str]) -> Self:
        """Parse the cells of a row; raise ``ValueError`` or ``ArithmeticError`` for any others."""
        values = dict(zip(COLUMNS, row, strict=True))
        hashes = iter(row[-2 * len(_FILES) :])
        return cls(
            Account(unescape_formula(values["agency"]), values["currency"]),
            {name: Decimal(values[name]) for name in FIGURES},
            int(values["lines"]),
            int(values["prior_period_lines"]),
            {name: SealedObject(next(hashes), int(next(hashes))) for name in _FILES},
        )


def read_drafts(file: Iterable[str]) -> Iterator[ListedDraft]:
    """Yield the drafts of a list; raise ``ValueError`` or ``ArithmeticError`` if it is malformed."""
    return map(ListedDraft.of_row, read_rows(file, COLUMNS))


def draft_totals() -> ListTotals:
    """Return the totals of a list without drafts."""
    return ListTotals({"drafts": 0}, FIGURES)


@dataclass(frozen=True, slots=True)
class DraftItem:
    """The item of a draft: its row in the list of its period, and what was decided about it.

    ``bound``: the last quarter-hour whose lines it may have. ``default_rate_lines``: the number of lines whose
    commission is by the default commission rate. ``tax_points``: as spans of days without a gap. ``revision``: the
    number of its released documents. ``number``: of its statement, empty without one. ``decisions``: in their order.
    ``before_first_period``: the lines of the account that the run has found and that are on no statement.
    ``of_period``: what of the exact commission is charged of the whole period, and so for no line. ``lacking_lines``:
    the number of lines that are charged without the tax or the shipping of which their rate card speaks.
    """

    period: Period
    bound: QuarterHour
    listed: ListedDraft
    default_rate_lines: int
    tax_points: Sequence[tuple[date, date]]
    state: DraftState
    revision: int = 0
    number: str = ""
    decisions: tuple[DraftDecision, ...] = ()
    before_first_period: Sum | None = None
    of_period: Decimal = money.ZERO
    lacking_lines: int = 0

    @property
    def account(self) -> Account:
        """The account."""
        return self.listed.account

    @property
    def key(self) -> tuple[Period, Account]:
        """Its period and its account."""
        return self.period, self.account

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
        listed = self.listed
        due = self.state if self.state in DUE else ""
        before = self.before_first_period
        return {
            **({"before_first_period": before.as_list()} if before else {}),
            **({"of_period": money.plain(self.of_period)} if self.of_period else {}),
            **({"lacking_lines": self.lacking_lines} if self.lacking_lines else {}),
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
            "default_rate_lines": self.default_rate_lines,
            "tax_points": [[first.isoformat(), last.isoformat()] for first, last in self.tax_points],
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
            listed,
            int(values["default_rate_lines"]),
            [(date.fromisoformat(first), date.fromisoformat(last)) for first, last in values["tax_points"]],
            DraftState(values["state"]),
            int(values["revision"]),
            values["number"],
            tuple(map(DraftDecision.of, values["decisions"])),
            Sum.of(values["before_first_period"]) if "before_first_period" in values else None,
            Decimal(values.get("of_period", "0")),
            int(values.get("lacking_lines", 0)),
        )
