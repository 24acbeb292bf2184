"""Drafts of statements, pure: the sums and the lines of an account for a period, before it is decided to release them.

A draft has no parties, no tax and no number. It depends on sealed lines alone, so it never changes.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, Final, NamedTuple, Self

from quarterhour.ledger.recording.pricing import BY_DEFAULT
from quarterhour.model import money
from quarterhour.model.identifiers import Account
from quarterhour.reports.lines import escape_formula, unescape_formula
from quarterhour.statements.drafts.figures import AccountSums
from quarterhour.statements.keys import DRAFT, LINES
from quarterhour.statements.listing import SealedObject, read_rows
from quarterhour.statements.plan import StatementPlan

FIGURES: Final = ("brought_forward", "net", "commission_exact", "payments")
"""The exact figures of a draft in its list: decimals in the account's currency."""
_FILES: Final = (DRAFT, LINES)
COLUMNS: Final = (
    *("agency", "currency", *FIGURES, "lines", "prior_period_lines"),
    *("draft_sha256", "draft_size", "csv_sha256", "csv_size"),
)
"""The columns of the list of a period's drafts."""
_DAY: Final = timedelta(days=1)


class Draft(NamedTuple):
    """A draft. ``orders``: sums by order, as a statement shows them. ``lines``: the file of the lines."""

    account: Account
    sums: AccountSums
    orders: Sequence[Mapping[str, Any]]
    lines: SealedObject

    def document(self, plan: StatementPlan) -> dict[str, Any]:
        """Return the content of ``draft.json``."""
        return {
            "schema": plan.schema,
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
        """Parse the content of ``draft.json``."""
        values = json.loads(content)
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

    @property
    def default_rate_lines(self) -> int:
        """The number of lines whose commission is by the default commission rate."""
        return sum(some.lines for (origin, _), some in self.sums.terms.items() if origin == BY_DEFAULT)

    @property
    def tax_points(self) -> list[tuple[date, date]]:
        """The tax points as spans of days without a gap, in order."""
        spans: list[tuple[date, date]] = []
        for day in sorted(map(date.fromisoformat, self.sums.tax_points)):
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


@dataclass(slots=True)
class DraftTotals:
    """The numbers of drafts and lines in a list, and the sums of its figures by currency."""

    drafts: int = 0
    lines: int = 0
    currencies: dict[str, dict[str, Decimal]] = field(default_factory=dict)

    def add(self, listed: ListedDraft) -> None:
        """Add a draft."""
        self.drafts += 1
        self.lines += listed.lines
        sums = self.currencies.setdefault(listed.account.currency, dict.fromkeys(FIGURES, money.ZERO))
        for name in FIGURES:
            sums[name] = money.add(sums[name], listed.figures[name])

    def as_dict(self) -> dict[str, Any]:
        """Return the totals as the manifest and the table hold them."""
        return {
            "drafts": self.drafts,
            "lines": self.lines,
            "currencies": {
                currency: {name: money.plain(value) for name, value in sums.items()}
                for currency, sums in sorted(self.currencies.items())
            },
        }
