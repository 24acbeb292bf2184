"""How a commission is reckoned, as text that stands beside the event and gives the commission again, exactly.

``percent=12.5 of=125.00 fixed=0.30 items=2 least=0.50 most=15.00`` are a card's terms, ``share=5.30 of=10.00
before=2.00 after=6.00`` what a refund takes back of its sale's commission, ``named=-1.25`` what the event says itself.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Final, NamedTuple

from quarterhour.model import money

FEWEST_PLACES: Final = 8
"""To how many places, at the least, a share is told that comes to no end."""
_ONE_PERCENT: Final = Decimal("0.01")


class Step(NamedTuple):
    """A step of a reckoning: its name, what is done in words, and what it gives."""

    name: str
    says: str
    gives: Decimal


class Charge(NamedTuple):
    """A percentage of an amount and a fixed fee for each item, at least and at most so much.

    ``of`` has the sign of the commission, which the others follow.
    """

    percent: Decimal
    of: Decimal
    fixed: Decimal | None = None
    items: Decimal | None = None
    least: Decimal | None = None
    most: Decimal | None = None

    def steps(self) -> Iterator[Step]:
        """Reckon it, step by step."""
        value = money.multiply(self.of, rate(self.percent))
        yield Step("percent", f"{money.plain(self.percent)} % of {money.plain(self.of)}", value)
        if self.fixed is not None and self.items is not None:
            fee = self._signed(money.multiply(self.fixed, self.items))
            yield Step("fixed", f"{money.plain(self.fixed)} for each of {money.plain(self.items)}", fee)
            value = money.add(value, fee)
            yield Step("sum", "both together", value)
        if self.least is not None:
            value = self._signed(max(self.least, value.copy_abs()))
            yield Step("minimum", f"{money.plain(self.least)} at least", value)
        if self.most is not None:
            value = self._signed(min(self.most, value.copy_abs()))
            yield Step("maximum", f"{money.plain(self.most)} at most", value)

    def _signed(self, value: Decimal) -> Decimal:
        return money.negated(value) if self.of < 0 else value


class Share(NamedTuple):
    """What a refund takes back of its sale's commission.

    ``share`` is that commission, ``of`` the sale's amount; so much of it was refunded ``before``, and ``after``. The
    part that falls to what is refunded is cut off behind its last place, so all refunds together take back no more
    than the commission, and all of it with the last of the amount.
    """

    share: Decimal
    of: Decimal
    before: Decimal
    after: Decimal

    def steps(self) -> Iterator[Step]:
        """Reckon it, step by step."""
        after, before = self._of(self.after), self._of(self.before)
        sale = f"of {money.plain(self.share)} for {money.plain(self.of)}"
        yield Step("after", f"{money.plain(self.after)} refunded, {sale}", after)
        yield Step("before", f"{money.plain(self.before)} refunded before, {sale}", before)
        yield Step("refund", "the difference, given back", money.add(before, money.negated(after)))

    def _of(self, refunded: Decimal) -> Decimal:
        whole = len(money.plain(self.share.copy_abs()).partition(".")[0])
        places = min(max(FEWEST_PLACES, money.places(self.share)), money.MAX_DIGITS - whole)
        return money.part(self.share, refunded, self.of, places)


class Named(NamedTuple):
    """A commission that the event names itself."""

    named: Decimal

    def steps(self) -> Iterator[Step]:
        """Tell it."""
        yield Step("named", "named by the event", self.named)


Arithmetic = Charge | Share | Named
_KINDS: Final[Mapping[str, type[Arithmetic]]] = {"percent": Charge, "share": Share, "named": Named}
"""By the first word of the text."""


def write(arithmetic: Arithmetic) -> str:
    """Return the text: each figure under its name, in full."""
    figures = arithmetic._asdict().items()
    return " ".join(f"{name}={money.plain(value)}" for name, value in figures if value is not None)


def read(text: str) -> Arithmetic:
    """Read what ``write`` wrote; raise ``ValueError`` where it is something else."""
    words = [word.partition("=") for word in text.split(" ")]
    try:
        return _KINDS[words[0][0]](**{name: Decimal(value) for name, _, value in words})
    except (KeyError, TypeError, ArithmeticError) as error:
        raise ValueError(f"{text!r} is no arithmetic of a commission") from error


def commission(arithmetic: Arithmetic) -> Decimal | None:
    """Return what it comes to; ``None`` where that needs more than 38 digits."""
    try:
        *_, last = arithmetic.steps()
    except ArithmeticError:  # not even wider arithmetic holds it
        return None
    return last.gives if money.fits(last.gives) else None


def rate(percent: Decimal) -> Decimal:
    """Return a percentage as a share of 1: 12.5 as 0.125."""
    return money.multiply(percent, _ONE_PERCENT)
