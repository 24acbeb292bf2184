"""What a sale is charged by name after any refunds, voids and re-ratings, against figures computed apart."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from quarterhour.ledger.events.event import Event, Rejection
from quarterhour.ledger.reading.explanation import commission_matches
from quarterhour.ledger.recording.claims import Claim
from quarterhour.ledger.recording.linked import Gathered, LinkedClaim, Target, linked_claim
from quarterhour.ledger.recording.plan import ledger_values
from quarterhour.ledger.recording.pricing import terms_of
from quarterhour.model import money
from quarterhour.model.charges import read_charges, total
from quarterhour.model.money import Rounding
from quarterhour.registry.rate_cards.charge import Pricing
from quarterhour.registry.rate_cards.plan import InForce
from tests.support.builders import AT, alone, event, settings, void
from tests.unit.registry.rate_cards.builders import rate_card

OWN = "rate-card:42"
SCHEME = "month/account/graduated/0=12/100=10"
TIERS = {
    "per": "month",
    "mode": "graduated",
    "steps": [{"from": "0", "percent": "12"}, {"from": "100", "percent": "10"}],
}

figures = st.decimals(0, 30, places=2).map(str)


@st.composite
def charges(draw: st.DrawFn, name: str) -> dict[str, Any]:
    """Draw a charge of any kind."""
    of = draw(st.sampled_from(["amount", "net", "goods"]))
    if draw(st.integers(0, 4)) == 0:
        return {"name": name, "tiers": TIERS, "of": of, "refund": draw(st.sampled_from(["share", "keep"]))}
    charge: dict[str, Any] = {"name": name, "percent": draw(figures), "of": of, "fixed": draw(figures)}
    if draw(st.booleans()):
        charge["minimum"], charge["maximum"] = sorted([draw(figures), draw(figures)], key=Decimal)
    if draw(st.booleans()):
        charge["decimals"] = draw(st.integers(2, 4))
    return {**charge, "refund": draw(st.sampled_from(["share", "keep", "keep_fixed"]))}


rate_cards = st.tuples(charges("commission"), charges("payment fee")).map(list)
cents = st.integers(1, 100_000).map(lambda number: Decimal(number) / 100)


# ---------------------------------------------------------------- the sale, in plain numbers


@dataclass
class PlainSale:
    """A sale with its parts, and what is left of it; ``kept``: whether what refunds keep is still charged."""

    amount: Decimal
    tax: Decimal
    shipping: Decimal
    quantity: int
    rounding: str
    kept: bool = True
    left: dict[str, Fraction] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.left = {name: Fraction(whole) for name, whole in self.wholes().items()}

    def wholes(self) -> dict[str, Decimal]:
        return {"amount": self.amount, "net": self.amount - self.tax, "goods": self.amount - self.tax - self.shipping}

    def charged(self, charge: dict[str, Any]) -> tuple[Fraction, Fraction]:
        """Return what a charge comes to for the whole sale, and what refunds keep of it."""
        basis = self.wholes()[charge["of"]]
        if "tiers" in charge:
            return Fraction(basis), Fraction(basis if charge["refund"] == "keep" else 0)
        fee = Decimal(charge["fixed"]) * self.quantity
        value = basis * Decimal(charge["percent"]) / 100 + fee
        if "minimum" in charge:
            value = min(max(value, Decimal(charge["minimum"])), Decimal(charge["maximum"]))
        value, fee = self.rounded(value, charge), self.rounded(fee, charge)
        kept = {"share": Decimal(0), "keep": value, "keep_fixed": min(fee, value)}[charge["refund"]]
        return Fraction(value), Fraction(kept)

    def rounded(self, value: Decimal, charge: dict[str, Any]) -> Decimal:
        if "decimals" not in charge:
            return value
        mode = ROUND_HALF_UP if self.rounding == "half-up" else ROUND_HALF_EVEN
        return value.quantize(Decimal(1).scaleb(-charge["decimals"]), mode)

    def due(self, charge: dict[str, Any]) -> Fraction:
        """Return what a charge comes to for what is left, before any share is cut off or rounded."""
        whole, kept = self.charged(charge)
        basis = self.wholes()[charge["of"]]
        of, left = (basis, self.left[charge["of"]]) if basis else (self.amount, self.left["amount"])
        return (whole - kept) * left / Fraction(of) + (kept if self.kept else 0)


# ---------------------------------------------------------------- the ledger


class Ledger:
    """One sale and its corrections, claimed and posted by the product's code."""

    def __init__(self, sold: Event, rate_cards: list[list[dict[str, Any]]], rounding: str) -> None:
        self.settings = settings(rounding=Rounding(rounding))
        written = [rate_card({"currency": "GBP", "charges": charged_by}) for charged_by in rate_cards]
        self.rate_cards = {(OWN, number): one for number, one in enumerate(written, 1)}
        terms = terms_of(sold, [InForce(OWN, 1, written[0])], Decimal("0.1"), Pricing(self.settings.rounding))
        self.sale = alone(Claim.of(sold, AT, self.settings, terms))
        self.claims: dict[str, Claim] = {}
        self.facts = {"s": ledger_values(sold, self.sale)}

    def post(self, sent: Event) -> Decimal | None:
        """Post a correction, and return its amount; ``None`` if it is rejected."""
        of = sent.details["refers_to"]
        target = Target(self.sale if of == "s" else self.claims[of], self.facts[of])
        claims = {self.sale.identity: self.sale}
        facts = {self.sale.identity: self.facts["s"]}
        planned = linked_claim(sent, target, Gathered(claims, facts, {}, self.rate_cards), AT, self.settings)
        if isinstance(planned, Rejection):
            return None
        assert isinstance(planned, LinkedClaim)
        self.sale = planned.after
        for _, after in planned.corrected[1:]:
            self.claims[of] = after
        claim = alone(planned.claim)
        self.claims[sent.identity.id] = claim
        content = claim.content(sent)
        self.facts[sent.identity.id] = ledger_values(content, claim)
        return content.amount

    def charged(self) -> dict[str, Decimal]:
        """Return the sums of all postings by name, and of the turnover of tiers by ``<name>@``."""
        assert all(map(commission_matches, self.facts.values()))
        posted = (read_charges(one.get("charges", ""), Decimal(one["commission"])) for one in self.facts.values())
        sums = total(posted)
        assert {scheme for _, scheme in sums.turnover} <= {SCHEME}
        return {**sums.amounts, **{f"{name}@": counted for (name, _), counted in sums.turnover.items()}}


def check(ledger: Ledger, book: PlainSale, charged_by: list[dict[str, Any]]) -> None:
    charged = ledger.charged()
    names = {f"{one['name']}@" if "tiers" in one else one["name"]: one for one in charged_by}
    assert all(not amount for name, amount in charged.items() if name not in names), "another charge is left"
    for name, one in names.items():
        due, found = book.due(one), Fraction(charged.get(name, 0))
        basis = book.wholes()[one["of"]]
        is_even = book.left[one["of"] if basis else "amount"] in {0, Fraction(basis or book.amount)}
        allowed = Fraction(0) if is_even else Fraction(1, 10**6)
        if "decimals" in one and not is_even:
            allowed = Fraction(1, 10 ** one["decimals"])
            assert money.places(money.trimmed(charged.get(name, Decimal(0)))) <= one["decimals"]
        assert abs(found - due) <= allowed, (name, found, due)


@given(
    rate_cards=st.lists(rate_cards, min_size=2, max_size=3),
    amount=cents,
    parts=st.tuples(st.integers(0, 60), st.integers(0, 40)),
    quantity=st.integers(1, 3),
    rounding=st.sampled_from(["half-up", "half-even"]),
    steps=st.lists(
        st.tuples(st.sampled_from(["refund", "own", "back", "rerate", "void", "rest"]), st.integers(1, 99)), max_size=8
    ),
)
def test_each_charge_is_what_is_due_for_what_is_left_whatever_happened(  # noqa: PLR0913, PLR0917 - drawn
    rate_cards: list[list[dict[str, Any]]],
    amount: Decimal,
    parts: tuple[int, int],
    quantity: int,
    rounding: str,
    steps: list[tuple[str, int]],
) -> None:
    tax, shipping = (round(amount * part / 100, 2) for part in parts)
    if tax + shipping > amount:
        shipping = amount - tax
    book = PlainSale(amount, tax, shipping, quantity, rounding)
    sold = event("s", amount=str(amount), quantity=str(quantity), tax=str(tax), shipping=str(shipping))
    ledger = Ledger(sold, rate_cards, rounding)
    charged_by = rate_cards[0]
    check(ledger, book, charged_by)
    numbers = iter(range(1, 1000))
    refunds: dict[str, dict[str, Fraction]] = {}
    own_parts = False
    for step, part in steps:
        for sent, taken, voids in planned(step, part, f"x{next(numbers)}", book, refunds):
            if ledger.post(sent) is None:
                continue
            if sent.rerating:
                charged_by = rate_cards[sent.rerating.version - 1]
            for name, gone in taken.items():
                book.left[name] -= gone
            says = "tax" in sent.details
            # One that says no parts, after one that did, is left again in the proportion of the whole sale.
            if sent.type == "sale.refunded" and (says or not own_parts):
                refunds[sent.identity.id] = taken
            own_parts = own_parts or says
            book.kept = book.kept and not voids
        check(ledger, book, charged_by)


def planned(
    step: str, part: int, id_: str, book: PlainSale, refunds: dict[str, dict[str, Fraction]]
) -> Iterator[tuple[Event, dict[str, Fraction], bool]]:
    """Yield a correction, what it takes off each part of the sale, and whether it is the sale's void."""
    left = book.left
    if step == "rerate":
        version = 1 + part % 2
        facts = {"rerating": {"rate_card": OWN, "version": Decimal(version), "by": "ann"}, "reason": "r"}
        yield event(id_, "adjustment.recorded", amount=None, refers_to="s", **facts), {}, False
    elif step == "void":
        yield void(id_, "s"), dict(left), True
    elif step == "back":
        if refunds:
            of = sorted(refunds)[part % len(refunds)]
            yield void(id_, of), {name: -gone for name, gone in refunds.pop(of).items()}, False
    elif left["amount"]:
        amount = Fraction(left["amount"]) if step == "rest" else Fraction(round(left["amount"] * part / 100, 2))
        share = amount / left["amount"]
        taken = {name: one * share for name, one in left.items()}
        own: dict[str, str] = {}
        if step == "own":
            tax = Fraction(round((left["amount"] - left["net"]) * part / 200, 2))
            tax = min(tax, amount, left["amount"] - left["net"])
            tax = max(tax, amount - left["net"])
            if tax.denominator not in {1, 2, 4, 5, 10, 20, 25, 50, 100}:
                return
            goods = min(left["goods"], amount - tax)
            goods = max(goods, amount - tax - (left["net"] - left["goods"]))
            shipping = amount - tax - goods
            if shipping.denominator not in {1, 2, 4, 5, 10, 20, 25, 50, 100}:
                return
            own = {"tax": str(-_decimal(tax)), "shipping": str(-_decimal(shipping))}
            taken = {"amount": amount, "net": amount - tax, "goods": goods}
        yield event(id_, "sale.refunded", amount=str(-_decimal(amount)), refers_to="s", **own), taken, False


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)
