"""The arithmetic of a commission, as text that is stored with the event and gives the exact charges again.

A charge of a rate card is ``percent=12.5 of=125.00 fixed=0.30 items=2 least=0.50 most=15.00``. ``kept=0.60`` after it
is what refunds do not give back, ``part=net`` says that ``of`` is without tax, and ``half_up=2`` that the charge is
rounded to 2 decimals. What an order is charged once is ``order=0.25 of=125.00``. An amount that counts for tiers is
``turnover=125.00 scheme=month/account/graduated/0=12/10000=10``. A refund's share of its sale's charge is
``share=5.30 of=10.00 before=2.00 after=6.00``; ``fee=0.60`` follows if a void gives back what refunds keep. What an
event names is ``named=-1.25``. The difference that a re-rating posts is ``due=11.25 paid=7.50``.

The name of a charge stands before its arithmetic: ``commission: percent=8 of=100; payment fee: percent=1.4 of=120``.
The charge ``commission`` needs no name if it is alone.
"""

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Final, NamedTuple

from quarterhour.model import money
from quarterhour.model.charges import COMMISSION, Charges
from quarterhour.model.money import Rounding

FEWEST_PLACES: Final = 8
"""The least number of decimal places of a share; a share without a finite decimal is cut off there."""
NET: Final = "net"
"""The part of an amount that is without tax."""
GOODS: Final = "goods"
"""The part of an amount that is without tax and shipping."""
_ONE_PERCENT: Final = Decimal("0.01")
_PARTS: Final[Mapping[str | None, str]] = {None: "", NET: " without tax", GOODS: " without tax and shipping"}


class PricingStep(NamedTuple):
    """A step of computing a commission: its name, the computation in words, and its result."""

    name: str
    says: str
    gives: Decimal


class Charge(NamedTuple):
    """A charge by a rate card: a percentage of an amount and a fixed fee for each item, within a minimum and a maximum.

    The charge has the sign of the amount ``of``; the fees have none. ``items`` is below 0 if they are given back.
    ``kept``: what a refund keeps, if anything. ``part``: which part of the event's amount ``of`` is. ``half_up`` or
    ``half_even``: to how many decimals, and how, the charge is rounded.
    """

    percent: Decimal
    of: Decimal
    fixed: Decimal | None = None
    items: Decimal | None = None
    least: Decimal | None = None
    most: Decimal | None = None
    kept: Decimal | None = None
    part: str | None = None
    half_up: Decimal | None = None
    half_even: Decimal | None = None

    def steps(self) -> Iterator[PricingStep]:
        """Yield the steps that compute the charge."""
        value = money.multiply(self.of, fraction(self.percent))
        words = f"{money.plain(self.percent)} % of {money.plain(self.of)}{_PARTS[self.part]}"
        yield PricingStep("percent", words, value)
        if self.fixed is not None and self.items is not None:
            items = self.items.copy_abs()
            fee = self._signed(money.multiply(self.fixed, items))
            yield PricingStep("fixed", f"{money.plain(self.fixed)} for each of {money.plain(items)}", fee)
            value = money.add(value, fee)
            yield PricingStep("sum", "both together", value)
        if self.least is not None:
            value = self._signed(max(self.least, value.copy_abs()))
            yield PricingStep("minimum", f"{money.plain(self.least)} at least", value)
        if self.most is not None:
            value = self._signed(min(self.most, value.copy_abs()))
            yield PricingStep("maximum", f"{money.plain(self.most)} at most", value)
        if rounded := _rounding(self):
            value = money.to_places(value, *rounded)
            yield PricingStep("rounded", f"to {rounded[0]} decimals, {rounded[1]}", value)
        if self.kept is not None and self._is_back:
            value = money.add(value, kept_of(self, value))
            yield PricingStep("kept", f"{money.plain(self.kept)} of it is kept, as the rate card says", value)

    @property
    def _is_back(self) -> bool:
        return self.of < 0 or (self.items is not None and self.items < 0)

    def _signed(self, value: Decimal) -> Decimal:
        return money.negated(value) if self._is_back else value


class OrderFee(NamedTuple):
    """What an order is charged once, with one of its lines, of whose amount ``of`` refunds give back a share."""

    order: Decimal
    of: Decimal
    kept: Decimal | None = None
    part: str | None = None
    half_up: Decimal | None = None
    half_even: Decimal | None = None

    def steps(self) -> Iterator[PricingStep]:
        """Yield the only step."""
        yield PricingStep("order", "once for the order, with the line that was recorded first", self.order)


class Turnover(NamedTuple):
    """An amount that counts for tiers, which the statement charges. ``kept``: the part of it that refunds leave."""

    turnover: Decimal
    kept: Decimal | None = None
    part: str | None = None
    scheme: str = ""

    @property
    def of(self) -> Decimal:
        """The amount of which refunds take off a share."""
        return self.turnover

    def steps(self) -> Iterator[PricingStep]:
        """Yield the steps that compute the turnover."""
        yield PricingStep("turnover", f"counts for {self.scheme}{_PARTS[self.part]}", self.turnover)
        if self.kept is not None and self.turnover < 0:
            left = money.add(self.turnover, kept_of(self, self.turnover))
            yield PricingStep("kept", "refunds leave the turnover as it is, as the rate card says", left)


class Share(NamedTuple):
    """A refund's share of its sale's charge, or that of a void which takes a refund back.

    ``share``: the sale's charge, without what refunds keep. ``of``: the sale's amount. ``before``, ``after``: the
    refunded part of that amount before and after this refund. ``fee``: what refunds keep, which a void gives back too.
    ``scheme``: the tiers for which the sale's amount counts, if it is no charge.

    A share is cut off after its last decimal place, never rounded up. So all refunds of a sale together give back no
    more than ``share``, and exactly that when the whole amount is refunded. A charge that is rounded has rounded
    shares, of the whole refunded part each time, so that they add up as exactly.
    """

    share: Decimal
    of: Decimal
    before: Decimal
    after: Decimal
    fee: Decimal | None = None
    half_up: Decimal | None = None
    half_even: Decimal | None = None
    scheme: str = ""

    def steps(self) -> Iterator[PricingStep]:
        """Yield the steps that compute the charge."""
        after, before = self._of(self.after), self._of(self.before)
        sale = f"of {money.plain(self.share)} for {money.plain(self.of)}"
        yield PricingStep("after", f"{money.plain(self.after)} refunded, {sale}", after)
        yield PricingStep("before", f"{money.plain(self.before)} refunded before, {sale}", before)
        refund = money.add(before, money.negated(after))
        words = "given back" if self.after.copy_abs() >= self.before.copy_abs() else "charged again"
        yield PricingStep("refund", f"the difference, {words}", refund)
        if self.fee is not None:
            words = f"and {money.plain(self.fee)} that refunds keep, as the sale is void"
            yield PricingStep("fee", words, money.add(refund, money.negated(self.fee)))

    def _of(self, refunded: Decimal) -> Decimal:
        if rounded := _rounding(self):
            return money.rounded_part(self.share, refunded, self.of, *rounded)
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
    """What a re-rating changes: what is due for what is left of a sale, less what was paid for it.

    ``scheme``: the tiers for which it counts, if it is no charge.
    """

    due: Decimal
    paid: Decimal
    scheme: str = ""

    def steps(self) -> Iterator[PricingStep]:
        """Yield the steps that compute the charge."""
        yield PricingStep("due", "for what is left, by the rate card of the re-rating", self.due)
        yield PricingStep("paid", "for what is left, by the terms before", self.paid)
        words = "counts more or less" if self.scheme else "charged or given back"
        yield PricingStep("difference", f"the difference, {words}", money.subtract(self.due, self.paid))


Arithmetic = Charge | OrderFee | Turnover | Share | Named | Difference
OfSale = Charge | OrderFee | Turnover
"""What refunds give back a share of."""


class ChargePart(NamedTuple):
    """A part of a commission: the name of its charge, and how it is computed."""

    name: str
    how: Arithmetic

    @property
    def scheme(self) -> str:
        """The tiers for which its result counts; empty if it is charged."""
        return getattr(self.how, "scheme", "")


_KINDS: Final[Mapping[str, type[Arithmetic]]] = {
    "percent": Charge,
    "order": OrderFee,
    "turnover": Turnover,
    "share": Share,
    "named": Named,
    "due": Difference,
}
"""The kinds of arithmetic by the first name in their text."""
_WORDS: Final = frozenset({"part", "scheme"})
"""The names whose values are words and no figures."""
_ENTRY, _NAME = "; ", ": "


def write(entries: Iterable[ChargePart]) -> str:
    """Return the text of entries: ``name=figure`` for each figure, without exponents."""
    written = list(entries)
    is_alone = len(written) == 1 and written[0].name == COMMISSION and not written[0].scheme
    return _ENTRY.join(_words(one.how) if is_alone else f"{one.name}{_NAME}{_words(one.how)}" for one in written)


def _words(how: Arithmetic) -> str:
    return " ".join(
        f"{name}={value if name in _WORDS else money.plain(value)}"
        for name, value in how._asdict().items()
        if value is not None and value != ""
    )


def read(text: str) -> list[ChargePart]:
    """Return the entries in a text of ``write``; raise ``ValueError`` for any other text."""
    try:
        return list(map(_entry, text.split(_ENTRY)))
    except (KeyError, TypeError, ArithmeticError) as error:
        raise ValueError(f"{text!r} is no arithmetic of a commission") from error


def _entry(text: str) -> ChargePart:
    name, separator, words = text.partition(_NAME)
    pairs = [word.partition("=") for word in (words if separator else text).split(" ")]
    values: dict[str, Any] = {name: value if name in _WORDS else Decimal(value) for name, _, value in pairs}
    if values.get("part", NET) not in _PARTS:
        raise KeyError(text)
    return ChargePart(name if separator else COMMISSION, _KINDS[pairs[0][0]](**values))


def steps(entries: Iterable[ChargePart]) -> Iterator[tuple[str, PricingStep]]:
    """Yield the steps of entries with the names of their charges; the last one gives the commission."""
    results: list[Decimal] = []
    is_sum = False
    for entry in entries:
        step = None
        for step in entry.how.steps():
            yield entry.name, step
        is_sum = is_sum or bool(results) or bool(entry.scheme)
        results.append(money.ZERO if entry.scheme or step is None else step.gives)
    if is_sum:
        yield COMMISSION, PricingStep("commission", "all charges together", money.total(results))


def result(how: Arithmetic) -> Decimal:
    """Return the result of one arithmetic; raise ``ArithmeticError`` if it has far too many digits."""
    *_, last = how.steps()
    return last.gives


def charges(entries: Iterable[ChargePart]) -> Charges | None:
    """Return the charges that entries give, or ``None`` if one needs more than 38 digits.

    A turnover of 0 is none: the event is not the first one that its tiers price.
    """
    amounts: dict[str, Decimal] = {}
    turnover: dict[tuple[str, str], Decimal] = {}
    try:
        for entry in entries:
            gives = result(entry.how)
            if entry.scheme:
                key = entry.name, entry.scheme
                turnover[key] = money.add(turnover.get(key, money.ZERO), gives)
            else:
                amounts[entry.name] = money.add(amounts.get(entry.name, money.ZERO), gives)
    except ArithmeticError:  # more digits than even the wider context of ``money`` holds
        return None
    found = Charges(amounts, {key: counted for key, counted in turnover.items() if counted})
    fits = all(map(money.fits, (*amounts.values(), *turnover.values(), found.commission)))
    return found if fits else None


def kept_of(how: OfSale, value: Decimal) -> Decimal:
    """Return the part of a charge that a refund does not give back: what is kept, or all if that is less."""
    if how.kept is None:
        return money.ZERO
    rounded = None if isinstance(how, Turnover) else _rounding(how)
    kept = money.to_places(how.kept, *rounded) if rounded else how.kept
    return min(kept, value.copy_abs())


def share_of(how: OfSale, units: tuple[Decimal, Decimal, Decimal], *, is_void: bool) -> Share:
    """Return the share of a sale's charge that a linked event gives back, or charges again.

    ``units``: the sale's amount, and the refunded part of it before and after the event.
    """
    value = result(how)
    kept = kept_of(how, value) if value > 0 else money.ZERO
    scheme, half_up, half_even = (
        (how.scheme, None, None) if isinstance(how, Turnover) else ("", how.half_up, how.half_even)
    )
    fee = kept if is_void and kept else None
    return Share(money.subtract(value, kept), *units, fee, half_up, half_even, scheme)


def fraction(percent: Decimal) -> Decimal:
    """Return a percentage as a fraction of 1: 12.5 as 0.125."""
    return money.multiply(percent, _ONE_PERCENT)


def _rounding(how: Charge | OrderFee | Share) -> tuple[int, Rounding] | None:
    if how.half_up is not None:
        return int(how.half_up), Rounding.HALF_UP
    return None if how.half_even is None else (int(how.half_even), Rounding.HALF_EVEN)
