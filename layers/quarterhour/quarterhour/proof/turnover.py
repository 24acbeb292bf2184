"""What a period charges of its turnover by tiers, for verification: it shares no arithmetic with what makes statements.

It follows the turnover of each account from month to month, and recomputes what each draft charges of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_DOWN, Context, Decimal
from typing import Any, Final, NamedTuple

from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.proof.arithmetic import EXACT, exact_sum, text_of
from quarterhour.proof.compare import Json, differences
from quarterhour.proof.line_sums import TurnoverOf

_MONTHS: Final = {"month": 1, "quarter": 3, "year": 12}
_SHARES: Final = Context(prec=200, rounding=ROUND_DOWN)
_PLACES: Final = Decimal(1).scaleb(-20)
_TIERS: Final = ("account", "group=")
_ZERO: Final = Decimal(0)
TierDefinition = tuple[str, str]
"""The name of a charge, and the text of its tiers."""
StackKey = tuple[str, str, str, str]
"""Currency, name, span, and the group or ``account`` with its agency: what lies on each other."""


class Kept(NamedTuple):
    """The position of the first line of a definition in its span, its turnover, and what was charged of it."""

    first: str
    turnover: Decimal
    charged: Decimal = _ZERO


class _Scheme(NamedTuple):
    """The parts of a definition."""

    per: str
    of: str
    mode: str
    steps: tuple[tuple[Decimal, Decimal], ...]

    @classmethod
    def of_text(cls, text: str) -> "_Scheme":
        per, of, mode, *steps = text.split("/")
        pairs = (step.split("=") for step in steps)
        return cls(per, of, mode, tuple((Decimal(start), Decimal(percent)) for start, percent in pairs))

    def rows(self, start: Decimal, end: Decimal, total: Decimal) -> list[list[Decimal | None]]:
        """Return the tiers of the turnover between two bounds: from, to, percentage and turnover of each."""
        ends = [step[0] for step in self.steps[1:]] + [None]
        bounded = list(zip(self.steps, ends, strict=True))
        if self.mode == "volume":
            (step, percent), to = [one for one in bounded if one[0][0] <= total or one is bounded[0]][-1]
            found: list[list[Decimal | None]] = [[step, to, percent, EXACT.subtract(end, start)]]
        else:
            found = []
            for (step, percent), to in bounded:
                low = None if step == self.steps[0][0] else step
                inside = EXACT.subtract(_clamped(end, low, to), _clamped(start, low, to))
                found.append([step, to, percent, inside])
        return [row for row in found if row[3]]

    def percent_at(self, turnover: Decimal) -> list[Decimal | None]:
        """Return from, to and percentage of the step that a turnover has reached."""
        reached = max([0, *(number for number, (start, _) in enumerate(self.steps) if start <= turnover)])
        to = self.steps[reached + 1][0] if reached + 1 < len(self.steps) else None
        return [self.steps[reached][0], to, self.steps[reached][1]]


def _clamped(value: Decimal, low: Decimal | None, high: Decimal | None) -> Decimal:
    if low is not None and value < low:
        return low
    return high if high is not None and value > high else value


@dataclass(slots=True)
class _Draft:
    """The turnover of a draft's lines, and its key with the charges of the period that it shows."""

    turnover: TurnoverOf
    key: str = ""
    shown: Sequence[Json] = ()


@dataclass(slots=True)
class TurnoverProof:
    """Follows the turnover of all accounts; a period's drafts are added, and then checked together."""

    _kept: dict[Account, dict[TierDefinition, Kept]] = field(default_factory=dict)
    _drafts: dict[Account, _Draft] = field(default_factory=dict)

    def add(self, account: Account, key: str, turnover: TurnoverOf, shown: Sequence[Json]) -> None:
        """Add a draft with its key and the charges of the period that it shows."""
        if turnover or shown or account in self._kept:
            self._drafts[account] = _Draft(turnover, key, shown)

    def problems(self, period: Period) -> Iterator[tuple[str, str]]:
        """Yield what is wrong with the drafts of a period, by key; then go on to the next period."""
        drafts = {account: self._drafts.pop(account, _Draft({})) for account in sorted({*self._drafts, *self._kept})}
        own = {account: self._so_far(account, draft.turnover) for account, draft in drafts.items()}
        whole = _stacks(own)
        kept: dict[Account, dict[TierDefinition, Kept]] = {}
        for account, draft in drafts.items():
            expected = []
            for definition, charge, after in self._charges(account, own[account], whole):
                if Decimal(charge["amount"]) or definition in draft.turnover:
                    expected.append(charge)
                if _goes_on(definition[1], period):
                    kept.setdefault(account, {})[definition] = after
            if not draft.key:
                if expected:
                    yield "", f"has no draft of {account}, which is charged by tiers"
                continue
            shown = [one for one in draft.shown if one["definition"].split("/")[1].startswith(_TIERS)]
            for problem in differences(shown, expected, "sums.charges.of_period"):
                yield draft.key, problem
        self._kept = kept

    def passed_on(self) -> list[list[str]]:
        """Return what the last period has passed on, as its file holds it."""
        return [
            [account.agency, account.currency, *definition, first, _text(turnover), _text(charged)]
            for account, found in self._kept.items()
            for definition, (first, turnover, charged) in found.items()
        ]

    def _so_far(self, account: Account, turnover: TurnoverOf) -> dict[TierDefinition, Kept]:
        found = dict(self._kept.get(account, {}))
        for definition, (first, amount) in turnover.items():
            before = found.get(definition, Kept(first, _ZERO))
            found[definition] = Kept(min(before.first, first), exact_sum(before.turnover, amount), before.charged)
        return found

    def _charges(
        self, account: Account, own: Mapping[TierDefinition, Kept], whole: Mapping[StackKey, Mapping[str, Kept]]
    ) -> Iterator[tuple[TierDefinition, dict[str, Any], Kept]]:
        """Yield each charge by tiers of an account, and what is kept of it."""
        for key in sorted({_key(account, *definition) for definition in own}):
            ordered = sorted(whole[key].items(), key=lambda entry: (entry[1].first, entry[0]))
            total = exact_sum(*(one.turnover for _, one in ordered))
            start = _ZERO
            for text, of_stack in ordered:
                end, definition = exact_sum(start, of_stack.turnover), (key[1], text)
                if definition in own:
                    kept = own[definition]
                    rows = _shares(_Scheme.of_text(text), (start, end, total), kept.turnover)
                    charged = exact_sum(*(row[4] or _ZERO for row in rows))
                    shown = {
                        "name": key[1],
                        "definition": text,
                        "amount": _text(EXACT.subtract(charged, kept.charged)),
                        "turnover": _text(kept.turnover),
                        "charged_before": _text(kept.charged),
                        "stack": [[one, _text(of_one.turnover)] for one, of_one in ordered],
                        "tiers": [_shown(row) for row in rows],
                    }
                    yield definition, shown, kept._replace(charged=charged)
                start = end


def _key(account: Account, name: str, text: str) -> StackKey:
    scheme = _Scheme.of_text(text)
    of = scheme.of if scheme.of.startswith("group=") else f"account/{account.agency}"
    return account.currency, name, scheme.per, of


def _stacks(own: Mapping[Account, Mapping[TierDefinition, Kept]]) -> dict[StackKey, dict[str, Kept]]:
    """Return the turnover of each stack by scheme: of an account, or of all accounts of a group."""
    found: dict[StackKey, dict[str, Kept]] = {}
    for account, of_account in own.items():
        for (name, text), kept in of_account.items():
            of_stack = found.setdefault(_key(account, name, text), {})
            before = of_stack.get(text, Kept(kept.first, _ZERO))
            of_stack[text] = Kept(min(before.first, kept.first), exact_sum(before.turnover, kept.turnover))
    return found


def _shares(scheme: _Scheme, bounds: tuple[Decimal, Decimal, Decimal], own: Decimal) -> list[list[Decimal | None]]:
    """Return the tiers of a turnover between bounds, with what they charge; of a group's, an account's share."""
    start, end, total = bounds
    whole = EXACT.subtract(end, start)
    if not whole:
        step = scheme.percent_at(total if scheme.mode == "volume" else start)
        return [[*step, own, _percent(own, step[2])]] if own else []
    rows = []
    for *step, turnover in scheme.rows(start, end, total):
        charged = _percent(turnover, step[2])
        figures = turnover or _ZERO, charged
        if own != whole:
            figures = (_part(figures[0], own, whole), _part(figures[1], own, whole))
        rows.append([*step, *figures])
    return rows


def _part(value: Decimal, own: Decimal, whole: Decimal) -> Decimal:
    return _SHARES.quantize(_SHARES.divide(EXACT.multiply(value, own), whole), _PLACES)


def _percent(turnover: Decimal | None, percent: Decimal | None) -> Decimal:
    return EXACT.multiply(turnover or _ZERO, (percent or _ZERO).scaleb(-2))


def _shown(row: Sequence[Decimal | None]) -> dict[str, str | None]:
    names = ("from", "to", "percent", "turnover", "commission")
    return {name: None if value is None else _text(value) for name, value in zip(names, row, strict=True)}


def _text(value: Decimal) -> str:
    return text_of(EXACT.normalize(value))


def _goes_on(text: str, period: Period) -> bool:
    """Return whether the span of a definition has a month after a period."""
    return period.month % _MONTHS[text.split("/", maxsplit=1)[0]] != 0
