"""The arithmetic of a commission, as text that is stored with the event and gives the exact commission again.

A rate card's charge is ``percent=12.5 of=125.00 fixed=0.30 items=2 least=0.50 most=15.00``; ``kept=0.60`` follows if
refunds do not give back the fixed fee. A refund's share of its sale's commission is
``share=5.30 of=10.00 before=2.00 after=6.00``; ``fee=0.60`` follows if a void gives back a kept fee. A commission named
by the event is ``named=-1.25``. The difference that a re-rating posts is ``due=11.25 paid=7.50``.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Final, NamedTuple

from quarterhour.model import money

FEWEST_PLACES: Final = 8
"""The least number of decimal places of a share; a share without a finite decimal is cut off there."""
_ONE_PERCENT: Final = Decimal("0.01")


class PricingStep(NamedTuple):
    """A step of computing a commission: its name, the computation in words, and its result."""

    name: str
    says: str
    gives: Decimal


class Charge(NamedTuple):
    """A charge by a rate card: a percentage of an amount and a fixed fee for each item, within a minimum and a maximum.

    The commission has the sign of the amount ``of``; the fees have none. ``kept``: the fixed fee of all items, if a
    refund keeps it.
    """

    percent: Decimal
    of: Decimal
    fixed: Decimal | None = None
    items: Decimal | None = None
    least: Decimal | None = None
    most: Decimal | None = None
    kept: Decimal | None = None

    def kept_of(self, commission: Decimal) -> Decimal:
        """Return the part of a commission that a refund does not give back: the kept fee, or all if that is less."""
        return money.ZERO if self.kept is None else min(self.kept, commission.copy_abs())

    def steps(self) -> Iterator[PricingStep]:
        """Yield the steps that compute the commission."""
        value = money.multiply(self.of, fraction(self.percent))
        yield PricingStep("percent", f"{money.plain(self.percent)} % of {money.plain(self.of)}", value)
        if self.fixed is not None and self.items is not None:
            fee = self._signed(money.multiply(self.fixed, self.items))
            yield PricingStep("fixed", f"{money.plain(self.fixed)} for each of {money.plain(self.items)}", fee)
            value = money.add(value, fee)
            yield PricingStep("sum", "both together", value)
        if self.least is not None:
            value = self._signed(max(self.least, value.copy_abs()))
            yield PricingStep("minimum", f"{money.plain(self.least)} at least", value)
        if self.most is not None:
            value = self._signed(min(self.most, value.copy_abs()))
            yield PricingStep("maximum", f"{money.plain(self.most)} at most", value)
        if self.kept is not None and self.of < 0:
            value = money.add(value, self.kept_of(value))
            yield PricingStep("kept", f"{money.plain(self.kept)} of it is kept, as the fixed fee", value)

    def _signed(self, value: Decimal) -> Decimal:
        return money.negated(value) if self.of < 0 else value


class Share(NamedTuple):
    """A refund's share of its sale's commission, or that of a void which takes a refund back.

    ``share``: the sale's commission, without a fixed fee that refunds keep. ``of``: the sale's amount. ``before``,
    ``after``: the refunded part of that amount before and after this refund. ``fee``: the kept fee, which a void gives
    back too.

    A share is cut off after its last decimal place, never rounded up. So all refunds of a sale together give back no
    more than ``share``, and exactly that when the whole amount is refunded.
    """

    share: Decimal
    of: Decimal
    before: Decimal
    after: Decimal
    fee: Decimal | None = None

    def steps(self) -> Iterator[PricingStep]:
        """Yield the steps that compute the commission."""
        after, before = self._of(self.after), self._of(self.before)
        sale = f"of {money.plain(self.share)} for {money.plain(self.of)}"
        yield PricingStep("after", f"{money.plain(self.after)} refunded, {sale}", after)
        yield PricingStep("before", f"{money.plain(self.before)} refunded before, {sale}", before)
        refund = money.add(before, money.negated(after))
        words = "given back" if self.after.copy_abs() >= self.before.copy_abs() else "charged again"
        yield PricingStep("refund", f"the difference, {words}", refund)
        if self.fee is not None:
            words = f"and the fixed fee of {money.plain(self.fee)}, as the sale is void"
            yield PricingStep("fee", words, money.add(refund, money.negated(self.fee)))

    def _of(self, refunded: Decimal) -> Decimal:
        whole = len(money.plain(self.share.copy_abs()).partition(".")[0])
        places = min(max(FEWEST_PLACES, money.places(self.share)), money.MAX_DIGITS - whole)
        return money.part(self.share, refunded, self.of, places)


class Named(NamedTuple):
    """A commission that the event names."""

    named: Decimal

    def steps(self) -> Iterator[PricingStep]:
        """Yield the only step."""
        yield PricingStep("named", "named by the event", self.named)


class Difference(NamedTuple):
    """What a re-rating changes: the commission due for what is left of a sale, less the commission paid for it."""

    due: Decimal
    paid: Decimal

    def steps(self) -> Iterator[PricingStep]:
        """Yield the steps that compute the commission."""
        yield PricingStep("due", "for what is left, by the rate card of the re-rating", self.due)
        yield PricingStep("paid", "for what is left, by the terms before", self.paid)
        yield PricingStep(
            "difference", "the difference, charged or given back", money.add(self.due, money.negated(self.paid))
        )


Arithmetic = Charge | Share | Named | Difference
_KINDS: Final[Mapping[str, type[Arithmetic]]] = {
    "percent": Charge,
    "share": Share,
    "named": Named,
    "due": Difference,
}
"""The kinds of arithmetic by the first name in their text."""


def write(arithmetic: Arithmetic) -> str:
    """Return the text of an arithmetic: ``name=figure`` for each figure, without exponents."""
    figures = arithmetic._asdict().items()
    return " ".join(f"{name}={money.plain(value)}" for name, value in figures if value is not None)


def read(text: str) -> Arithmetic:
    """Return the arithmetic in a text of ``write``; raise ``ValueError`` for any other text."""
    words = [word.partition("=") for word in text.split(" ")]
    try:
        return _KINDS[words[0][0]](**{name: Decimal(value) for name, _, value in words})
    except (KeyError, TypeError, ArithmeticError) as error:
        raise ValueError(f"{text!r} is no arithmetic of a commission") from error


def commission(arithmetic: Arithmetic) -> Decimal | None:
    """Return the commission that an arithmetic gives, or ``None`` if it needs more than 38 digits."""
    try:
        *_, last = arithmetic.steps()
    except ArithmeticError:  # more digits than even the wider context of ``money`` holds
        return None
    return last.gives if money.fits(last.gives) else None


def fraction(percent: Decimal) -> Decimal:
    """Return a percentage as a fraction of 1: 12.5 as 0.125."""
    return money.multiply(percent, _ONE_PERCENT)
