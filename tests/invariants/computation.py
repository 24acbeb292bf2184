"""What a marketplace must charge for each event: computed from the events as they were sent, by no code of the product.

All is exact, in fractions. Amounts here have few decimal places, so a refund's share is cut off at 8 of them.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from fractions import Fraction
from math import floor
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import quote
from zoneinfo import ZoneInfo

from tests.support.events import Cloud

PLACES: Final = 8
"""Where the share of a charge that a refund gives back is cut off."""
SALE: Final = "sale.recorded"
REFUND: Final = "sale.refunded"
VOID: Final = "sale.voided"
ADJUSTMENT: Final = "adjustment.recorded"
PAYMENT: Final = "payment.recorded"
ALWAYS: Final = datetime(1, 1, 1, tzinfo=UTC)
NONE: Final = Fraction(0)

Account = tuple[str, str]
"""An agency and a currency."""
Content = Mapping[str, Any]
K = TypeVar("K")


def cut(value: Fraction, places: int = PLACES) -> Fraction:
    """Return a number without the decimal places after the last one that is kept."""
    return Fraction(int(value * 10**places), 10**places)


def rounded(value: Fraction, places: int, mode: str) -> Fraction:
    """Return a number rounded to so many decimal places, by ``half-even`` or ``half-up`` (away from 0)."""
    scaled = abs(value) * 10**places
    nearest = floor(scaled + Fraction(1, 2)) if mode == "half-up" else round(scaled)
    return Fraction(nearest, 10**places) * (-1 if value < 0 else 1)


@dataclass(frozen=True)
class Charged:
    """Sums of what is charged by name, and of what counts as turnover by name and tiers; those of 0 are left out."""

    amounts: Mapping[str, Fraction] = field(default_factory=dict)
    turnover: Mapping[tuple[str, str], Fraction] = field(default_factory=dict)

    def plus(self, other: "Charged", sign: int = 1) -> "Charged":
        """Return the sums of both, or the difference."""
        return Charged(_plus(self.amounts, other.amounts, sign), _plus(self.turnover, other.turnover, sign))


def _plus(some: Mapping[K, Fraction], others: Mapping[K, Fraction], sign: int) -> dict[K, Fraction]:
    both = {key: some.get(key, NONE) + sign * others.get(key, NONE) for key in {**some, **others}}
    return {key: value for key, value in both.items() if value}


class Versions:
    """The versions of a document, by the instants from which they are valid; a newer one replaces all later starts."""

    def __init__(self) -> None:
        self.all: list[Content] = []
        self._starts: list[tuple[datetime, Content]] = []

    def write(self, content: Content) -> None:
        """Write a version."""
        start = instant(content["valid_from"]) if content.get("valid_from") else ALWAYS
        self.all.append(content)
        self._starts = [*(one for one in self._starts if one[0] < start), (start, content)]

    def at(self, when: datetime) -> Content | None:
        """Return the version that is in force, unless it has ended."""
        found = [content for start, content in self._starts if start <= when]
        return found[-1] if found and is_valid(found[-1], when) else None


def instant(text: str) -> datetime:
    """Parse an instant."""
    return datetime.fromisoformat(text)


def is_valid(content: Content, when: datetime) -> bool:
    """Return whether a version has begun and has not ended."""
    start, end = content.get("valid_from"), content.get("valid_to")
    return (not start or instant(start) <= when) and (not end or when < instant(end))


class Part(NamedTuple):
    """A part of what a sale is charged, or of what counts as its turnover: ``value`` less what is given back of it.

    ``keeps``: what refunds leave, and a void does not. ``of``: the part of the amount. ``places``: to which a charge is
    rounded. ``of_order``: it is what an order is charged once.
    """

    name: str
    value: Fraction
    keeps: Fraction = NONE
    of: str = "amount"
    places: int | None = None
    scheme: str = ""
    of_order: bool = False


class Left(NamedTuple):
    """What is left of a sale; ``tax`` and ``shipping`` are ``None`` as long as they are in proportion."""

    amount: Fraction
    tax: Fraction | None = None
    shipping: Fraction | None = None
    is_void: bool = False


@dataclass
class Line:
    """What an event adds: to an account in a period, with its tax point. ``kind``: that of an adjustment."""

    id: str
    type: str
    account: Account
    recorded_at: datetime
    period: str
    is_prior: bool
    tax_point: date
    amount: Fraction
    charged: Charged
    kind: str = ""


@dataclass
class Sold:
    """A sale, or a refund without one, with its terms and what is left of it."""

    event: Cloud
    line: Line
    at: datetime
    parts: list[Part]
    left: Left
    order: "Order | None" = None
    has_own_terms: bool = True
    """Whether a rate card or the default rate has priced it, and not the event."""

    def basis(self, of: str, left: Left | None = None) -> Fraction:
        """Return a part of the amount, or of what is left of it."""
        data = self.event["data"]
        tax, shipping = (Fraction(data.get(name, 0)) for name in ("tax", "shipping"))
        if left is None:
            return part_of(Fraction(data["amount"]), tax, shipping, of)
        return part_of(left.amount, left.tax or NONE, left.shipping or NONE, of)

    def charged(self, left: Left, mode: str, *, order: bool = True) -> Charged:
        """Return what is charged for what is left; ``order``: with what an order is charged once."""
        amounts: defaultdict[str, Fraction] = defaultdict(Fraction)
        turnover: defaultdict[tuple[str, str], Fraction] = defaultdict(Fraction)
        for part in self.parts:
            if part.of_order and not order:
                continue
            back = (part.value - part.keeps) * self._given_back(part.of, left)
            back = cut(back) if part.places is None else rounded(back, part.places, mode)
            value = part.value - back - (part.keeps if left.is_void else NONE)
            if part.scheme:
                turnover[part.name, part.scheme] += value
            else:
                amounts[part.name] += value
        return Charged().plus(Charged(amounts, turnover))

    def _given_back(self, of: str, left: Left) -> Fraction:
        """Return the share of a part of the amount that was given back."""
        whole, basis = self.basis("amount"), self.basis(of)
        if of == "amount" or not basis or left.tax is None:
            return (whole - left.amount) / whole if whole else NONE
        return (basis - self.basis(of, left)) / basis


def part_of(amount: Fraction, tax: Fraction, shipping: Fraction, of: str) -> Fraction:
    """Return what a charge is of."""
    return amount - {"amount": NONE, "net": tax, "goods": tax + shipping}[of]


@dataclass
class Order:
    """An order of one source and account: which line bears each fee, its lines, and what voided lines left with it."""

    owners: dict[str, str] = field(default_factory=dict)
    lines: set[str] = field(default_factory=set)
    voided: set[str] = field(default_factory=set)
    left: dict[str, Fraction] = field(default_factory=dict)


class Computation:
    """The events that a marketplace has recorded, in their order, and what each adds."""

    def __init__(self, zone: str, grace_days: int, rounding: str, default_rate: str) -> None:
        self.zone = ZoneInfo(zone)
        self.grace_days = grace_days
        self.rounding = rounding
        self.default_rate = Fraction(default_rate)
        self.documents: defaultdict[str, Versions] = defaultdict(Versions)
        """Rate cards and registrations (``agency:42``)."""
        self.lines: dict[str, Line] = {}
        self.sold: dict[str, Sold] = {}
        self.refunds: dict[str, tuple[str, Cloud]] = {}
        """Linked refunds that stand, with their sales."""
        self._orders: dict[tuple[str, ...], Order] = {}

    # ------------------------------------------------------------ what is recorded

    def record(self, event: Cloud, recorded_at: datetime) -> Line:
        """Take an event that was recorded."""
        data, at = event["data"], instant(event["time"]) if "time" in event else recorded_at
        account = event["subject"], data["currency"]
        period, is_prior = self._period(at, recorded_at)
        amount, kind = Fraction(data.get("amount", 0)), data.get("kind", "")
        day = at.astimezone(self.zone).date()
        line = Line(event["id"], event["type"], account, recorded_at, period, is_prior, day, amount, Charged(), kind)
        self.lines[line.id] = line
        if of := data.get("refers_to"):
            line.tax_point = self._dated(of)
        if event["type"] == PAYMENT:
            pass
        elif "commission" in data:
            line.charged = line.charged.plus(Charged({"commission": Fraction(data["commission"])}))
        elif "rerating" in data:
            line.charged = self._rerated(event, self.sold[of])
        elif of:
            self._correct(event, line, of)
        else:
            self._sell(event, line, at)
        return line

    def _period(self, at: datetime, recorded_at: datetime) -> tuple[str, bool]:
        """Return the month of an event: its own, or the earliest one that is not cut off."""
        own, now = (one.astimezone(self.zone).replace(tzinfo=None) for one in (at, recorded_at))
        open_ = date.fromordinal(now.date().toordinal() - self.grace_days).isoformat()[:7]
        month, current = own.isoformat()[:7], now.isoformat()[:7]
        return min(max(month, open_), current), month < open_

    def _dated(self, of: str) -> date:
        sale = self.refunds[of][0] if of in self.refunds else of
        return self.lines[sale].tax_point

    # ------------------------------------------------------------ sales

    def _sell(self, event: Cloud, line: Line, at: datetime) -> None:
        data = event["data"]
        sold = Sold(event, line, at, [], Left(line.amount))
        if "commission_rate" in data:
            sold.has_own_terms = False
            sold.parts = [Part("commission", line.amount * Fraction(data["commission_rate"]))]
        else:
            self._price(sold)
        self.sold[line.id] = sold
        line.charged = sold.charged(sold.left, self.rounding)

    def _price(self, sold: Sold) -> None:
        group = self.group(sold.line.account[0], sold.at)
        for document in applicable(sold.line.account[0], group):
            rate_card = self.documents[document].at(sold.at)
            rule = rule_for(rate_card, sold.event) if rate_card else None
            if rate_card and rule:
                sold.parts = list(parts(rule, sold, group, self.rounding))
                self._order(sold, rate_card, rule)
                return
        sold.parts = [Part("commission", sold.line.amount * self.default_rate)]

    def group(self, agency: str, at: datetime) -> str:
        """Return the group of an agency."""
        return (self.documents[f"agency:{agency}"].at(at) or {}).get("group") or ""

    def _order(self, sold: Sold, rate_card: Content, rule: Content) -> None:
        """Make a sale a line of its order, if its rate card has a fee that an order pays once, and keep what it bears.

        A line that is priced again may own fees that no line owns, unless it is void.
        """
        data, event = sold.event["data"], sold.event
        if not data.get("order_id") or event["type"] != SALE or not sold.line.amount:
            return
        if not any(is_once(charge) for one in rate_card["rules"] for charge in charges_of(one)):
            return
        key = event["source"], *sold.line.account, data["order_id"]
        order = sold.order = self._orders.setdefault(key, Order())
        order.lines.add(sold.line.id)
        for charge in charges_of(rule):
            if is_once(charge) and sold.line.id not in order.voided:
                order.owners.setdefault(charge["name"], sold.line.id)
        sold.parts = [one for one in sold.parts if not one.of_order or order.owners.get(one.name) == sold.line.id]

    # ------------------------------------------------------------ corrections

    def _correct(self, event: Cloud, line: Line, of: str) -> None:
        taken_back = self.refunds.pop(of, None)
        if not taken_back and event["type"] == VOID and self.sold[of].event["type"] == REFUND:
            sold = self.sold[of]
            line.amount, line.charged = -sold.line.amount, Charged().plus(sold.line.charged, -1)
            return
        sold = self.sold[taken_back[0] if taken_back else of]
        before, said = sold.left, event["data"]
        if taken_back:
            said = {name: -Fraction(taken_back[1]["data"][name]) for name in SAID if name in taken_back[1]["data"]}
            line.amount = -Fraction(taken_back[1]["data"]["amount"])
        elif event["type"] == VOID:
            line.amount, said = -before.amount, {}
        else:
            self.refunds[line.id] = of, event
        is_void = event["type"] == VOID and not taken_back
        sold.left = left_after(sold, line.amount, said)._replace(is_void=is_void or before.is_void)
        order = sold.order if is_void and not before.is_void else None
        stays = order is not None and bool(order.lines - order.voided - {line_id(sold)})
        decided = stays or before.is_void
        old, new = (sold.charged(one, self.rounding, order=not decided) for one in (before, sold.left))
        line.charged = new.plus(old, -1)
        if order:
            self._leave(sold, order, before, line, stays=stays)

    def _leave(self, sold: Sold, order: Order, before: Left, line: Line, *, stays: bool) -> None:
        """Leave what a voided line bears with its order, or give back what the order was left with the last line."""
        order.voided.add(line_id(sold))
        if stays:
            bears = sold.charged(before, self.rounding).plus(sold.charged(before, self.rounding, order=False), -1)
            order.left.update(bears.amounts)
            return
        line.charged = line.charged.plus(Charged(order.left), -1)
        order.owners, order.left = {}, {}

    def _rerated(self, event: Cloud, sold: Sold) -> Charged:
        """Charge a sale by another rate card, for what is left of it."""
        before = sold.charged(sold.left, self.rounding)
        self._apply(event, sold)
        return sold.charged(sold.left, self.rounding).plus(before, -1)

    def _apply(self, event: Cloud, sold: Sold) -> None:
        named = event["data"]["rerating"]
        rate_card = self.documents[named["rate_card"]].all[named["version"] - 1]
        rule = rule_for(rate_card, sold.event)
        assert rule, "the rate card has no rule for the sale"
        sold.parts = list(parts(rule, sold, self.group(sold.line.account[0], sold.at), self.rounding))
        self._order(sold, rate_card, rule)


SAID: Final = ("tax", "shipping")


def line_id(sold: Sold) -> str:
    """Return the id of a sale."""
    return sold.line.id


def left_after(sold: Sold, amount: Fraction, said: Mapping[str, Any]) -> Left:
    """Return what is left of a sale after an amount was taken off it, with the parts that the refund says.

    A refund that says no parts takes them in proportion: to the sale, or, once a refund has said others, to what is
    left. What is taken back is in the proportion of the sale, as far as that much was sold.
    """
    before, data, whole = sold.left, sold.event["data"], sold.basis("amount")
    sizes = {name: Fraction(data.get(name, 0)) for name in SAID}
    after = before.amount + amount
    in_proportion = all(Fraction(said[name]) * whole == sizes[name] * amount for name in SAID if name in said)
    if not any(sizes.values()) or (before.tax is None and in_proportion):
        return before._replace(amount=after)
    found: dict[str, Fraction] = {}
    for name in SAID:
        now = getattr(before, name)
        left = cut(sizes[name] * before.amount / whole) if now is None else now
        if name in said:
            taken = Fraction(said[name])
        elif amount > 0 or now is None:
            taken = cut(sizes[name] * amount / whole)
        else:
            taken = cut(now * amount / before.amount)
        found[name] = left + taken
    goods = whole - sizes["tax"] - sizes["shipping"]
    tax = within(found["tax"], after - sizes["shipping"] - goods, min(sizes["tax"], after))
    shipping = within(found["shipping"], after - tax - goods, min(sizes["shipping"], after - tax))
    return before._replace(amount=after, tax=tax, shipping=shipping)


def within(value: Fraction, least: Fraction, most: Fraction) -> Fraction:
    """Return a part brought within what the other parts leave for it."""
    return min(max(value, least, NONE), max(most, NONE))


# ---------------------------------------------------------------- rate cards


def applicable(agency: str, group: str) -> list[str]:
    """Return the rate cards of an agency, in the order of precedence."""
    return [f"rate-card:{agency}", *([f"rate-card:group/{group}"] if group else []), "rate-card:default"]


def charges_of(rule: Content) -> list[Content]:
    """Return the charges of a rule for its lines."""
    charges = rule.get("charges") or [{"name": "commission", "percent": rule["percent"]}]
    return [one for one in charges if "per" not in one]


def is_once(charge: Content) -> bool:
    """Return whether an order pays a fee of a charge once."""
    return charge.get("fixed_per") == "order"


def rule_for(rate_card: Content, event: Cloud) -> Content | None:
    """Return the most specific rule for an event."""
    ranked = [(rank, rule) for rule in rate_card["rules"] if (rank := _rank(rule, event["data"]))]
    return max(ranked, key=lambda one: one[0])[1] if ranked else None


def _rank(rule: Content, data: Content) -> tuple[int, ...] | None:
    """Return how specific a rule is: by product, category, depth of the location, currency; ``None`` if not at all."""
    if not charges_of(rule) or rule.get("currency", data["currency"]) != data["currency"]:
        return None
    values = {name: one if isinstance(one, list) else [one] for name in CONDITIONS if (one := rule.get(name))}
    for name in ("category", "product"):
        if name in values and data.get(name) not in values[name]:
            return None
    path = data.get("location", "").split("#")
    depths = [
        len(one.split("#")) for one in values.get("location", ()) if path[: len(one.split("#"))] == one.split("#")
    ]
    if "location" in values and not depths:
        return None
    return "product" in values, "category" in values, max(depths, default=0), "currency" in rule


CONDITIONS: Final = ("category", "location", "product")


def parts(rule: Content, sold: Sold, group: str, mode: str) -> Iterator[Part]:
    """Yield what each charge of a rule makes of a sale."""
    for charge in charges_of(rule):
        of, refund = charge.get("of", "amount"), charge.get("refund", "share")
        basis = sold.basis(of)
        has_items = bool(sold.line.amount)
        if "tiers" in charge:
            keeps = basis if refund == "keep" and has_items else NONE
            yield _of_sign(Part(charge["name"], basis, keeps, of, scheme=scheme(charge["tiers"], group)))
            continue
        once = is_once(charge) and has_items and bool(sold.event["data"].get("order_id"))
        fixed = NONE if once else Fraction(charge.get("fixed", 0))
        items = abs(Fraction(1 if is_once(charge) else sold.event["data"].get("quantity", 1)))
        value = _value(charge, sold, basis, fixed * items, mode)
        keeps = {"share": NONE, "keep": abs(value), "keep_fixed": min(fixed * items, abs(value))}[refund]
        part = Part(charge["name"], value, keeps, of, charge.get("decimals"))
        yield _of_sign(part)
        if once and sold.line.amount > 0:
            fee = _value(charge, sold, basis, Fraction(charge["fixed"]), mode) - value
            yield part._replace(value=fee, keeps=NONE if refund == "share" else fee, of_order=True)


def _of_sign(part: Part) -> Part:
    """Return a part of which a refund without a sale gives back only what it does not keep."""
    return part._replace(value=part.value + abs(part.keeps), keeps=NONE) if part.value < 0 else part


def _value(charge: Content, sold: Sold, basis: Fraction, fixed: Fraction, mode: str) -> Fraction:
    """Return a charge within its bounds, rounded, with the sign of the sale."""
    size = abs(basis) * Fraction(charge.get("percent", 0)) / 100
    if sold.line.amount:  # a sale of 0 has no fee and no bounds
        size = max(size + fixed, Fraction(charge.get("minimum", 0)))
        size = min(size, Fraction(charge["maximum"])) if "maximum" in charge else size
    size = rounded(size, charge["decimals"], mode) if "decimals" in charge else size
    return -size if sold.line.amount < 0 else size


def scheme(tiers: Content, group: str) -> str:
    """Return the text by which turnover is counted."""
    of = f"group={quote(group, safe='')}" if tiers.get("of") == "group" and group else "account"
    steps = [f"{plain(step['from'])}={plain(step['percent'])}" for step in tiers["steps"]]
    return "/".join((tiers["per"], of, tiers["mode"], *steps))


def plain(text: str) -> str:
    """Return a number without zeros at the end of its decimal places."""
    return text.rstrip("0").rstrip(".") if "." in text else text
