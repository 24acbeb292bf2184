"""Tiers, pure: what is charged of a turnover whose percentage depends on it. All is exact; nothing is rounded here.

A scheme is written in one text, which sealed lines hold: ``month/account/graduated/0=12/10000=10`` or
``year/group=North%20West/volume/0=12/10000=10``. Each step holds from its turnover on, until that of the next one.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple, Self
from urllib.parse import quote, unquote

from quarterhour.model import money
from quarterhour.model.periods import Period

MAX_STEPS: Final = 20
SHARE_PLACES: Final = 20
"""The decimal places at which a share of a charge is cut off."""
_GROUP: Final = "group="
_HUNDRED: Final = Decimal(100)
_CENT: Final = Decimal("0.01")


class Per(StrEnum):
    """The span whose turnover counts: a month, three months or a year of the calendar."""

    MONTH = "month"
    CALENDAR_QUARTER = "quarter"
    YEAR = "year"

    @property
    def months(self) -> int:
        """The number of its months."""
        return {Per.MONTH: 1, Per.CALENDAR_QUARTER: 3, Per.YEAR: 12}[self]

    def first(self, period: Period) -> Period:
        """Return the first month of the span in which a month lies."""
        return Period(period.year, (period.month - 1) // self.months * self.months + 1)


class Mode(StrEnum):
    """How the steps apply: each to its own part of the turnover, or the one that is reached to all of it."""

    GRADUATED = "graduated"
    VOLUME = "volume"


class Step(NamedTuple):
    """From which turnover on a percentage holds."""

    start: Decimal
    percent: Decimal


class Tier(NamedTuple):
    """A step with its end, ``None`` for the last one, the turnover that it applies to, and the commission of that."""

    start: Decimal
    end: Decimal | None
    percent: Decimal
    turnover: Decimal
    commission: Decimal


@dataclass(frozen=True, slots=True)
class Scheme:
    """Tiers as a rate card agrees on them. ``group``: the group whose turnover counts; ``None``: the account's own."""

    per: Per
    group: str | None
    mode: Mode
    steps: tuple[Step, ...]

    def __post_init__(self) -> None:
        """Raise ``ValueError`` unless the steps begin at 0 and rise, with percentages from 0 to 100."""
        starts = [step.start for step in self.steps]
        if not 1 <= len(starts) <= MAX_STEPS or starts[0] != 0:
            raise ValueError(f"tiers have 1 to {MAX_STEPS} steps, the first of them from 0")
        if any(before >= after for before, after in pairwise(starts)):
            raise ValueError("each step begins above the one before")
        if not all(0 <= step.percent <= _HUNDRED for step in self.steps):
            raise ValueError("a percentage is from 0 to 100")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse what ``str`` returns; raise ``ValueError`` for any other text."""
        per, of, mode, *steps = [*text.split("/"), "", ""]
        if of != "account" and not of.startswith(_GROUP):
            raise ValueError(f"{text!r} says neither account nor group")
        group = None if of == "account" else unquote(of.removeprefix(_GROUP))
        found = cls(Per(per), group, Mode(mode), tuple(map(_step, steps[:-2])))
        if str(found) != text:
            raise ValueError(f"{text!r} is written {str(found)!r}")
        return found

    def __str__(self) -> str:
        """Return the text of the scheme."""
        of = "account" if self.group is None else _GROUP + quote(self.group, safe="")
        return "/".join((self.per, of, self.mode, *(f"{_written(start)}={_written(of)}" for start, of in self.steps)))

    def reached(self, turnover: Decimal) -> Tier:
        """Return the step that a turnover has reached, with no turnover of its own; below 0 it is the first one."""
        index = max(0, sum(step.start <= turnover for step in self.steps) - 1)
        return self._tier(index, money.ZERO)

    def at(self, start: Decimal, total: Decimal) -> Tier:
        """Return the step of a turnover that begins at ``start``, where ``total`` decides what volume reaches."""
        return self.reached(total if self.mode is Mode.VOLUME else start)

    def between(self, start: Decimal, end: Decimal, total: Decimal) -> list[Tier]:
        """Return the tiers of the turnover from ``start`` to ``end``, where ``total`` decides what volume reaches.

        Going back gives what going forth charged, negated. No tier is without turnover.
        """
        if self.mode is Mode.VOLUME:
            found = [self.reached(total)._replace(turnover=money.subtract(end, start))]
        else:
            found = [
                self._tier(index, money.subtract(self._within(index, end), self._within(index, start)))
                for index in range(len(self.steps))
            ]
        return [tier._replace(commission=commission_of(tier.turnover, tier.percent)) for tier in found if tier.turnover]

    def _within(self, index: int, turnover: Decimal) -> Decimal:
        """Return a turnover brought within the bounds of a step; the first one has no lower bound."""
        start, end = self.steps[index].start, self._end(index)
        below_end = turnover if end is None else min(turnover, end)
        return below_end if index == 0 else max(below_end, start)

    def _end(self, index: int) -> Decimal | None:
        return self.steps[index + 1].start if index + 1 < len(self.steps) else None

    def _tier(self, index: int, turnover: Decimal) -> Tier:
        start, percent = self.steps[index]
        return Tier(start, self._end(index), percent, turnover, money.ZERO)


@lru_cache(maxsize=512)
def scheme_of(text: str) -> Scheme:
    """Return the scheme of a text, parsed once; raise ``ValueError`` if it is none."""
    return Scheme.parse(text)


def steps_of(scheme: Scheme, turnover: Decimal) -> list[Tier]:
    """Return the tiers of a turnover, in their order; none of 0. A negative one pays the first step's percentage."""
    return scheme.between(money.ZERO, turnover, turnover)


def stacked(turnovers: Sequence[tuple[Scheme, Decimal]]) -> list[list[Tier]]:
    """Return the tiers of each of several schemes that priced one turnover, one after the other.

    Each begins where the turnover of those before it ends. By volume, each applies the step that all of it reaches.
    """
    total = money.total(turnover for _, turnover in turnovers)
    found, start = [], money.ZERO
    for scheme, turnover in turnovers:
        end = money.add(start, turnover)
        found.append(scheme.between(start, end, total))
        start = end
    return found


def shares(turnovers: Sequence[tuple[str, Decimal]], own: Mapping[str, Decimal]) -> Iterator[tuple[str, list[Tier]]]:
    """Yield the schemes of an account among those that priced one turnover, each with its share of their tiers.

    ``turnovers``: by the text of the scheme, one after the other; ``own``: those of the account. Without a group, both
    are the same.
    """
    schemes = [(scheme_of(text), turnover) for text, turnover in turnovers]
    total = money.total(turnover for _, turnover in schemes)
    start = money.ZERO
    for (text, whole), (scheme, _), tiers in zip(turnovers, schemes, stacked(schemes), strict=True):
        if text in own:
            if own[text] == whole:
                yield text, tiers
            elif whole:
                yield text, [_share(tier, own[text], whole) for tier in tiers]
            else:  # sales of one agency, refunds of another
                tier = scheme.at(start, total)
                yield text, [tier._replace(turnover=own[text], commission=commission_of(own[text], tier.percent))]
        start = money.add(start, whole)


def _share(tier: Tier, own: Decimal, whole: Decimal) -> Tier:
    """Return the part of a group's tier in proportion to an account's turnover."""
    turnover, commission = (
        money.trimmed(money.part(one, own, whole, SHARE_PLACES)) for one in (tier.turnover, tier.commission)
    )
    return tier._replace(turnover=turnover, commission=commission)


def commission_of(turnover: Decimal, percent: Decimal) -> Decimal:
    """Return the exact percentage of a turnover."""
    return money.multiply(money.multiply(turnover, percent), _CENT)


def _step(text: str) -> Step:
    start, separator, percent = text.partition("=")
    values = money.parse_decimal(start), money.parse_decimal(percent)
    if not separator or values[0] is None or values[1] is None:
        raise ValueError(f"{text!r} is no step such as 10000=8")
    return Step(values[0], values[1])


def _written(value: Decimal) -> str:
    return money.plain(money.trimmed(value))
