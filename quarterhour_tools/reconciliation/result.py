"""The result of a reconciliation: as rows of a CSV file, and as a document for the console. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any, Final

from quarterhour.file_formats.csv.summary import FileSummary
from quarterhour.model import fields, money
from quarterhour.model.clock import iso_millis
from quarterhour.model.money import plain
from quarterhour.model.periods import Period
from quarterhour.registry.reconciliation.result import MAX_DIFFERENCES, MAX_PROBLEMS, MAX_ROW_SUMS, MAX_TEXT
from quarterhour.reports.lines import escape_formula
from quarterhour_tools.reconciliation.lines import Sums, kind_of_group, sums
from quarterhour_tools.reconciliation.plan import Explanation, Finding, Status
from quarterhour_tools.reconciliation.proposals import Proposed

COLUMNS: Final = (
    *("line", "name", "kind", "label", "currency", "provider", "ledger", "difference"),
    *("provider_fee", "ledger_fee", "fee_difference", "agency", "ledger_agency", "period", "ledger_period", "events"),
    *("note", "proposed"),
)
"""The columns of the file for people: one row for each finding and currency, so each column of figures adds up."""
_TEXTS: Final = frozenset(COLUMNS) - {
    *("provider", "ledger", "difference", "provider_fee", "ledger_fee", "fee_difference"),
}
SHOWN: Final = (
    "line",
    "name",
    "kind",
    "label",
    "currency",
    "provider",
    "ledger",
    "difference",
    "agency",
    "events",
    "note",
)
"""The columns that the document for the console has of a difference."""

ResultRow = dict[str, str]


@dataclass(slots=True)
class Reconciliation:
    """What a reconciliation found. ``outside``: the provider's lines that no total of the period has."""

    period: Period
    provider: str
    file: str
    made_at: datetime
    sealed_until: datetime | None
    explanation: Explanation
    provider_totals: Sums = field(default_factory=Sums)
    ledger_totals: Sums = field(default_factory=Sums)
    summary: FileSummary = field(default_factory=FileSummary)
    outside: int = 0
    problems: list[str] = field(default_factory=list)
    problem_count: int = 0
    differences: list[ResultRow] = field(default_factory=list)
    proposals: int = 0

    @property
    def rows(self) -> int:
        """The number of rows of the file."""
        return self.summary.file.rows

    @property
    def difference_count(self) -> int:
        """The number of findings that are no match."""
        return sum(number for label, number in self.explanation.findings.items() if label != Status.MATCHED)

    @property
    def matched(self) -> int:
        """The number of findings that match."""
        return self.explanation.findings.get(Status.MATCHED, 0)

    def totals(self) -> Iterator[dict[str, str]]:
        """Yield the totals of both sides by measure and currency, and their difference."""
        for measure, currency in sorted(self.provider_totals.keys() | self.ledger_totals.keys()):
            left, right = (
                one.get((measure, currency), money.ZERO) for one in (self.provider_totals, self.ledger_totals)
            )
            figures = (left, right, money.add(left, money.negated(right)))
            yield {
                "measure": measure,
                "currency": currency,
                **dict(zip(("provider", "ledger", "difference"), map(plain, figures), strict=True)),
            }

    def sums(self) -> Iterator[dict[str, Any]]:
        """Yield what each label explains of a total."""
        for (measure, currency, label), row in sorted(self.explanation.rows.items()):
            yield {
                "measure": measure,
                "currency": currency,
                "label": label,
                "findings": row.findings,
                "provider": plain(row.provider),
                "ledger": plain(row.ledger),
                "difference": plain(row.difference),
            }

    def row_sums(self) -> Iterator[dict[str, Any]]:
        """Yield what became of the rows of the file: their kind, the rule that excludes them, number and sums."""
        kinds = [("file", "", self.summary.file), ("lines", "", self.summary.converted), ("bad", "", self.summary.bad)]
        kinds += [("excluded", rule, sums_) for rule, sums_ in sorted(self.summary.excluded.items())]
        for kind, rule, sums_ in kinds:
            yield {"kind": kind, "rule": rule, **sums_.as_dict()}

    def document(self) -> dict[str, Any]:
        """Return the content of the document for the console."""
        return {
            "period": str(self.period),
            "provider": self.provider,
            "file": self.file[:MAX_TEXT],
            "made_at": iso_millis(self.made_at),
            **({"sealed_until": iso_millis(self.sealed_until)} if self.sealed_until else {}),
            **{name: getattr(self, name) for name in ("rows", "outside")},
            "row_sums": list(islice(self.row_sums(), MAX_ROW_SUMS)),
            **{name: getattr(self, name) for name in ("difference_count", "problem_count", "proposals")},
            "problems": [one[:MAX_TEXT] for one in self.problems[:MAX_PROBLEMS]],
            "totals": list(self.totals()),
            "sums": list(self.sums()),
            "differences": [
                {name: row[name][:MAX_TEXT] for name in SHOWN} for row in self.differences[:MAX_DIFFERENCES]
            ],
        }


def result_rows(finding: Finding, period: str, proposed: Proposed) -> Iterator[ResultRow]:
    """Yield the rows of a finding: one for each currency in which it has a sum."""
    left, right = sums(finding.provider, period), sums(finding.ledger, period)
    currencies = sorted({currency for _, currency in left.keys() | right.keys()})
    first = finding.lines[0]
    texts = {
        "line": _joined(str(line.row) for line in finding.provider),
        "name": _joined(line.name for line in finding.provider),
        "kind": _kind(finding),
        "label": finding.label,
        "agency": _joined(line.agency or "" for line in finding.provider),
        "ledger_agency": _joined(line.agency for line in finding.ledger),
        "period": _joined(line.period for line in finding.provider),
        "ledger_period": _joined(line.period for line in finding.ledger),
        "events": _joined(str(line.identity) for line in finding.ledger),
        "note": "; ".join(filter(None, (finding.note, proposed.why))),
        "proposed": _joined(event["id"] for event in proposed.events),
    }
    for currency in currencies or [first.currency]:
        figures: ResultRow = {}
        for measure, names in (
            ("amount", ("provider", "ledger", "difference")),
            ("fee", ("provider_fee", "ledger_fee", "fee_difference")),
        ):
            ours, theirs = (one.get((measure, currency), money.ZERO) for one in (left, right))
            values = (ours, theirs, money.add(ours, money.negated(theirs)))
            figures |= dict(zip(names, map(plain, values), strict=True))
        yield {name: {**texts, **figures, "currency": currency}[name] for name in COLUMNS}


def cells(row: ResultRow) -> list[str]:
    """Return the cells of a row, so that no spreadsheet runs one as a formula."""
    return [escape_formula(row[name]) if name in _TEXTS else row[name] for name in COLUMNS]


def _kind(finding: Finding) -> str:
    return kind_of_group(finding.lines[0].group)


def _joined(texts: Iterable[str]) -> str:
    """Return different texts in their order, as one line."""
    return fields.printable(" ".join(dict.fromkeys(filter(None, texts))), MAX_TEXT - 10)
