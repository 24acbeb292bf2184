"""What is charged of a turnover, pure: of a month, or of a span of months, less what was charged before of the span.

The turnover of a span that goes on is passed on from month to month, with what was charged of it so far. Each month
charges the difference. A group's commission is shared by its agencies in proportion to their turnover.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, NamedTuple, Self

from quarterhour.model import money
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.model.tiers import Per, Scheme, scheme_of, shares
from quarterhour.statements.drafts.charge_sums import CountedTurnover, Definition, PeriodCharge, written

Stack = tuple[str, Per, str | None]
"""What lies on each other: the schemes of a charge, a span and a group, or (``None``) the account itself."""


class Passed(NamedTuple):
    """What an account's turnover of a definition has come to in a span, and what was charged of it."""

    counted: CountedTurnover
    charged: Decimal


PassedOn = Mapping[Definition, Passed]
NOTHING_PASSED: Final[PassedOn] = {}


@dataclass(slots=True)
class GroupTurnovers:
    """The turnover of groups so far, by currency and stack, then by scheme."""

    _found: dict[tuple[str, Stack], dict[str, CountedTurnover]] = field(default_factory=dict)

    def add(self, account: Account, so_far: Mapping[Definition, CountedTurnover]) -> None:
        """Add what counts for an account's groups."""
        for (name, text), counted in so_far.items():
            scheme = scheme_of(text)
            if scheme.group is not None:
                of_stack = self._found.setdefault((account.currency, stack_of(name, scheme)), {})
                before = of_stack.get(text)
                of_stack[text] = before.plus(counted) if before else counted

    def of(self, currency: str, stack: Stack) -> Mapping[str, CountedTurnover]:
        """Return the turnover of a group by scheme."""
        return self._found[currency, stack]


def stack_of(name: str, scheme: Scheme) -> Stack:
    """Return the stack in which a charge's scheme lies."""
    return name, scheme.per, scheme.group


def so_far(turnover: Mapping[Definition, CountedTurnover], passed: PassedOn) -> dict[Definition, CountedTurnover]:
    """Return what counts in the spans up to now: what was passed on, and the turnover of this month."""
    found = {definition: one.counted for definition, one in passed.items()}
    for definition, counted in turnover.items():
        before = found.get(definition)
        found[definition] = before.plus(counted) if before else counted
    return found


def tier_charges(
    account: Account, turnover: Mapping[Definition, CountedTurnover], passed: PassedOn, groups: GroupTurnovers
) -> Iterator[tuple[PeriodCharge, Passed]]:
    """Yield each charge by tiers of an account's month, and what it passes on to the next one."""
    own = so_far(turnover, passed)
    stacks: dict[Stack, dict[str, CountedTurnover]] = {}
    for (name, text), counted in own.items():
        stacks.setdefault(stack_of(name, scheme_of(text)), {})[text] = counted
    for stack, of_account in sorted(stacks.items(), key=lambda entry: (*entry[0][:2], entry[0][2] or "")):
        name, _, group = stack
        whole = of_account if group is None else groups.of(account.currency, stack)
        ordered = sorted(whole.items(), key=lambda entry: (entry[1].first, entry[0]))
        basis = [[text, written(one.turnover)] for text, one in ordered]
        turnovers = [(text, one.turnover) for text, one in ordered]
        for text, tiers in shares(turnovers, {text: one.turnover for text, one in of_account.items()}):
            definition = name, text
            before = passed[definition].charged if definition in passed else money.ZERO
            charged = money.total(tier.commission for tier in tiers)
            counted = own[definition]
            facts: dict[str, Any] = {
                "turnover": written(counted.turnover),
                "charged_before": written(before),
                "stack": basis,
            }
            amount = money.subtract(charged, before)
            yield PeriodCharge(name, text, amount, facts, tuple(tiers)), Passed(counted, charged)


class PassedRow(NamedTuple):
    """What an account passes on of a definition, as a period keeps it."""

    account: Account
    definition: Definition
    passed: Passed

    def goes_on(self, period: Period) -> bool:
        """Return whether the span has a month after a period."""
        per = scheme_of(self.definition[1]).per
        return per.first(period.next) <= period

    def as_list(self) -> list[str]:
        """Return the row as plain values."""
        (first, turnover), charged = self.passed
        figures = written(turnover), written(charged)
        return [self.account.agency, self.account.currency, *self.definition, first, *figures]

    @classmethod
    def of(cls, values: list[str]) -> Self:
        """Parse what ``as_list`` returned."""
        agency, currency, name, text, first, turnover, charged = values
        passed = Passed(CountedTurnover(first, Decimal(turnover)), Decimal(charged))
        return cls(Account(agency, currency), (name, text), passed)
