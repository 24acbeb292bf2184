"""Explains a group of lines, the pure part: which lines match, which are missing, and in what the others differ.

A group has all lines of one kind with one key, for example the charge and the sales of an order. Every line of a group
is in exactly one finding. So the findings' sums are the group's sums, whatever is paired with what.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Final, NamedTuple

from quarterhour.model import money
from quarterhour.model.identifiers import Identity
from quarterhour_tools.reconciliation.lines import (
    ComparedLine,
    LedgerLine,
    ProviderLine,
    Sums,
    counts,
    fee_currency,
    sums,
)

REASONS: Final = ("amount", "currency", "fee", "period", "agency")
AMOUNT: Final = "amount"
FEE: Final = "fee"
MEASURES: Final = (AMOUNT, FEE)
"""What is added up."""
NOT_RECORDED: Final = "fee not in the ledger"
"""The label of fees of lines that match, of which the ledger has no fee."""


class Status(StrEnum):
    """What became of lines."""

    MATCHED = "matched"
    MISSING_HERE = "missing here"
    """In the provider's file, and not in the ledger."""
    MISSING_THERE = "missing there"
    """In the ledger, and not in the provider's file."""
    DIFFERENT = "different"


class Finding(NamedTuple):
    """Lines of both sides that belong together. ``reasons``: in what they differ. ``note``: more about it."""

    status: Status
    provider: tuple[ProviderLine, ...] = ()
    ledger: tuple[LedgerLine, ...] = ()
    reasons: tuple[str, ...] = ()
    note: str = ""

    @property
    def lines(self) -> list[ComparedLine]:
        """The lines of both sides."""
        return [*self.provider, *self.ledger]

    @property
    def label(self) -> str:
        """The status with its reasons: ``different: amount, fee``."""
        return f"{self.status}: {', '.join(self.reasons)}" if self.reasons else str(self.status)

    def counts(self, period: str) -> bool:
        """Return whether one of the lines is a part of the totals of a period."""
        return any(counts(line, period) for line in self.lines)


Net = Mapping[tuple[str, str, str], Decimal]
"""The sums of amounts by currency, agency and period, without those that are 0."""


def explain(provider: Sequence[ProviderLine], ledger: Sequence[LedgerLine]) -> Iterator[Finding]:
    """Yield the findings of a group: each of its lines is in exactly one."""
    units: list[list[ProviderLine]] = []
    fees: list[ProviderLine] = []
    for line in sorted(provider, key=lambda one: one.row):
        if line.amount is None:
            fees.append(line)
        else:
            units.append([line])
    if fees:
        # A fee alone belongs to the line with an amount.
        units[:1] = [[*(units[0] if units else []), *fees]]
    yield from _paired(units, sorted(ledger, key=_identity))


Unit = Sequence[ProviderLine]
"""Lines of a provider that belong together: one with an amount, and the fees of it."""


def _paired(units: Sequence[Unit], ledger: Sequence[LedgerLine]) -> Iterator[Finding]:
    """Yield the findings of units and of lines of the ledger that have one key."""
    everything = [line for unit in units for line in unit]
    by_agency = all(line.agency is not None for line in everything)
    if units and ledger and net(everything, by_agency=by_agency) == net(ledger, by_agency=by_agency):
        yield _together(everything, ledger)
        return
    corrected = any(line.corrects for line in ledger)
    if not corrected:
        same, units, ledger = _same(units, ledger, by_agency=by_agency)
        yield from same
    if units and ledger and (corrected or 1 in {len(units), len(ledger)}):
        yield _together([line for unit in units for line in unit], ledger)
    else:
        yield from _by_size(units, ledger)


def _same(
    units: Sequence[Unit], ledger: Sequence[LedgerLine], *, by_agency: bool
) -> tuple[list[Finding], list[Unit], list[LedgerLine]]:
    """Return the findings of each unit with a line of the same sums, and the units and lines that have none."""
    lines = defaultdict[frozenset[tuple[object, Decimal]], list[LedgerLine]](list)
    for line in reversed(ledger):
        lines[_signature([line], by_agency=by_agency)].append(line)
    found, left = list[Finding](), list[Unit]()
    for unit in units:
        if candidates := lines[_signature(unit, by_agency=by_agency)]:
            found.append(_together(unit, [candidates.pop()]))
        else:
            left.append(unit)
    return found, left, sorted((line for some in lines.values() for line in some), key=_identity)


def _by_size(units: Sequence[Unit], ledger: Sequence[LedgerLine]) -> Iterator[Finding]:
    """Yield units and lines in pairs, in the order of their amounts; what one side has more is missing there."""
    units = sorted(units, key=lambda unit: (unit[0].currency, unit[0].amount or money.ZERO, unit[0].row))
    ledger = sorted(ledger, key=lambda line: (line.currency, line.amount, line.identity))
    for unit, one in zip(units, ledger, strict=False):
        yield _together(unit, [one])
    for unit in units[len(ledger) :]:
        missing = unit[0].missing
        yield Finding(Status.MISSING_HERE, tuple(unit), note=f"names no {missing}" if missing else "")
    for one in ledger[len(units) :]:
        yield Finding(Status.MISSING_THERE, ledger=(one,))


def _identity(line: LedgerLine) -> Identity:
    return line.identity


def _signature(lines: Sequence[ComparedLine], *, by_agency: bool) -> frozenset[tuple[object, Decimal]]:
    return frozenset(net(lines, by_agency=by_agency).items())


def net(lines: Iterable[ComparedLine], *, by_agency: bool, measure: str = AMOUNT) -> Net:
    """Return the sums of a measure by currency, agency (if it is compared) and period, without those that are 0."""
    total: dict[tuple[str, str, str], Decimal] = {}
    for line in lines:
        value, currency = (line.amount, line.currency) if measure == AMOUNT else (line.fee, fee_currency(line))
        if value is not None:
            key = (currency, line.agency or "" if by_agency else "", line.period)
            total[key] = money.add(total.get(key, money.ZERO), value)
    return {key: value for key, value in total.items() if value}


def _together(provider: Sequence[ProviderLine], ledger: Sequence[LedgerLine]) -> Finding:
    """Return the finding of lines that belong together: matched, or different with the reasons.

    Fees are compared if the ledger has one.
    """
    by_agency = all(line.agency is not None for line in provider)
    reasons = set[str]()
    for measure in MEASURES:
        if measure == AMOUNT or any(line.fee is not None for line in ledger):
            left, right = (net(lines, by_agency=by_agency, measure=measure) for lines in (provider, ledger))
            reasons |= _reasons(left, right, measure)
    status = Status.DIFFERENT if reasons else Status.MATCHED
    return Finding(status, tuple(provider), tuple(ledger), tuple(one for one in REASONS if one in reasons))


def _reasons(left: Net, right: Net, measure: str) -> set[str]:
    """Return in what two sums of a measure differ: nothing if they are the same."""
    if left == right:
        return set()
    if not (left and right):
        return {measure}
    places = ("currency", "agency", "period")
    found = {name for place, name in enumerate(places) if {key[place] for key in left} != {key[place] for key in right}}
    if "currency" in found and measure == FEE:
        if sorted(left.values()) != sorted(right.values()):
            found.add(FEE)
    elif _by_currency(left) != _by_currency(right) and "currency" not in found:
        found.add(measure)
    return found or {measure}


def _by_currency(sums_: Net) -> dict[str, Decimal]:
    total: dict[str, Decimal] = {}
    for (currency, _, _), value in sums_.items():
        total[currency] = money.add(total.get(currency, money.ZERO), value)
    return {currency: value for currency, value in total.items() if value}


@dataclass(slots=True)
class Explained:
    """What one label explains of one measure in one currency."""

    findings: int = 0
    provider: Decimal = money.ZERO
    ledger: Decimal = money.ZERO

    @property
    def difference(self) -> Decimal:
        """What the provider has more than the ledger."""
        return money.add(self.provider, money.negated(self.ledger))


@dataclass(slots=True)
class Explanation:
    """The sums of findings in a period by measure, currency and label."""

    period: str
    rows: dict[tuple[str, str, str], Explained] = field(default_factory=dict)
    findings: dict[str, int] = field(default_factory=dict)

    def add(self, finding: Finding) -> None:
        """Add a finding that counts in the period."""
        self.findings[finding.label] = self.findings.get(finding.label, 0) + 1
        left, right = sums(finding.provider, self.period), sums(finding.ledger, self.period)
        for key in left.keys() | right.keys():
            row = self.rows.setdefault((*key, _label(key[0], finding)), Explained())
            row.findings += 1
            row.provider = money.add(row.provider, left.get(key, money.ZERO))
            row.ledger = money.add(row.ledger, right.get(key, money.ZERO))

    def check(self, provider: Sums, ledger: Sums) -> None:
        """Raise ``UnexplainedError`` unless the rows add up to the totals that were counted while reading.

        So the difference of the totals is the sum of the rows' differences, and lines that match explain none of it.
        """
        for measure, currency in provider.keys() | ledger.keys() | {key[:2] for key in self.rows}:
            rows = [row for key, row in self.rows.items() if key[:2] == (measure, currency)]
            left, right = (one.get((measure, currency), money.ZERO) for one in (provider, ledger))
            difference = money.add(left, money.negated(right))
            if (
                money.total(row.provider for row in rows) != left
                or money.total(row.ledger for row in rows) != right
                or money.total(row.difference for row in rows) != difference
            ):
                raise UnexplainedError(f"the findings do not add up to the {measure} of {difference} {currency}")
        for (measure, currency, label), row in self.rows.items():
            if label == Status.MATCHED and row.difference:
                raise UnexplainedError(f"lines that match differ by {row.difference} {currency} in their {measure}")


class UnexplainedError(Exception):
    """The findings do not explain the difference of the totals: a fault of the program."""


def _label(measure: str, finding: Finding) -> str:
    """Return the label under which a finding explains a measure."""
    has_fee = any(line.fee is not None for line in finding.ledger)
    if measure == FEE and finding.provider and finding.ledger and not has_fee:
        return NOT_RECORDED
    return finding.label
