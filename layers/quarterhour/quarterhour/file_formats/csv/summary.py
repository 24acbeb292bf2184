"""What became of the rows of a file: events, exclusions by rule, bad rows, each with sums. They add up to the file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Self

from quarterhour.model import money

if TYPE_CHECKING:
    from quarterhour.file_formats.csv import api
    from quarterhour.file_formats.csv.events import MappedEvent

CurrencySums = Mapping[str, Decimal]
"""Sums of money by currency."""


@dataclass(frozen=True, slots=True)
class ConvertedRow:
    """A row that became `events`, or that the `rule` of an exclusion leaves out, or that is `bad` for a reason.

    `line` is where it starts. `amounts` is what it adds to the sums of the file; `None` if that cannot be read. A
    problem of the file as a whole, such as a wrong total, is bad and no row. `left_out` are parts of the row that make
    no event, each with its rule and its amounts, which `amounts` do not have.
    """

    line: int
    events: "tuple[MappedEvent, ...]" = ()
    rule: str = ""
    bad: str = ""
    amounts: CurrencySums | None = None
    is_row: bool = True
    left_out: tuple[tuple[str, CurrencySums], ...] = ()


@dataclass(slots=True)
class RowSums:
    """A number of rows and their sums by currency; the amounts of `unread` rows cannot be read."""

    rows: int = 0
    unread: int = 0
    amounts: dict[str, Decimal] = field(default_factory=dict)

    def add(self, amounts: CurrencySums | None, rows: int = 1) -> None:
        """Add a row, or amounts of more rows."""
        self.rows += rows
        if amounts is None:
            self.unread += rows
            return
        for currency, amount in amounts.items():
            self.amounts[currency] = money.add(self.amounts.get(currency, money.ZERO), amount)

    def plus(self, other: "RowSums") -> "RowSums":
        """Return the sums of both."""
        both = RowSums(self.rows + other.rows, self.unread + other.unread, dict(self.amounts))
        both.add(other.amounts, 0)
        return both

    def as_dict(self) -> "api.RowSums":
        """Return the sums as JSON."""
        amounts = {currency: money.plain(amount) for currency, amount in sorted(self.amounts.items())}
        return {"rows": self.rows, "amounts": amounts, "unread": self.unread}

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Self:
        """Return the sums of their JSON."""
        return cls(values["rows"], values["unread"], {name: Decimal(one) for name, one in values["amounts"].items()})


@dataclass(slots=True)
class FileSummary:
    """The rows of a file so far. `events` counts the events of the `converted` rows.

    `problems` counts what is wrong with the file and with no row: totals that differ, or that are missing.
    """

    events: int = 0
    problems: int = 0
    converted: RowSums = field(default_factory=RowSums)
    excluded: dict[str, RowSums] = field(default_factory=dict)
    bad: RowSums = field(default_factory=RowSums)

    def add(self, row: ConvertedRow) -> None:
        """Add a row, or a problem of the file."""
        if not row.is_row:
            self.problems += 1
        elif row.bad:
            self.bad.add(row.amounts)
        elif row.rule:
            self.exclude(row.rule, row.amounts)
        else:
            self.events += len(row.events)
            self.converted.add(row.amounts)
        for rule, amounts in row.left_out:
            self.exclude(rule, amounts, 0)

    def exclude(self, rule: str, amounts: CurrencySums | None, rows: int = 1) -> None:
        """Add a row, or more amounts, that a rule excludes."""
        self.excluded.setdefault(rule, RowSums()).add(amounts, rows)

    @property
    def file(self) -> RowSums:
        """The rows of the file and their sums."""
        whole = self.converted.plus(self.bad)
        for one in self.excluded.values():
            whole = whole.plus(one)
        return whole

    @property
    def is_good(self) -> bool:
        """Whether no row is bad, and nothing is wrong with the file."""
        return not (self.bad.rows or self.problems)

    def plus(self, other: "FileSummary") -> "FileSummary":
        """Return the summary of the rows of both."""
        rules = {**self.excluded, **other.excluded}
        return FileSummary(
            self.events + other.events,
            self.problems + other.problems,
            self.converted.plus(other.converted),
            {rule: self.excluded.get(rule, RowSums()).plus(other.excluded.get(rule, RowSums())) for rule in rules},
            self.bad.plus(other.bad),
        )

    def as_dict(self) -> "api.FileSummary":
        """Return the summary as JSON."""
        sums: api.FileSums = {
            "events": self.converted.as_dict(),
            "excluded": [{**one.as_dict(), "rule": rule} for rule, one in self.excluded.items()],
            "bad": self.bad.as_dict(),
            "file": self.file.as_dict(),
        }
        return {
            "rows": self.file.rows,
            "events": self.events,
            "excluded": sum(one.rows for one in self.excluded.values()),
            "bad": self.bad.rows,
            "problems": self.problems,
            "sums": sums,
        }

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Self:
        """Return the summary of its JSON."""
        sums = values["sums"]
        excluded = {one["rule"]: RowSums.parse(one) for one in sums["excluded"]}
        converted, bad = RowSums.parse(sums["events"]), RowSums.parse(sums["bad"])
        return cls(values["events"], values["problems"], converted, excluded, bad)
