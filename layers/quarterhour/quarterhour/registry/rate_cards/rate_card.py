"""A rate card, the pure part: its schema, the rule that covers an event, and the charge by that rule."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from quarterhour.model import exact_json, fields, money
from quarterhour.model.errors import FieldProblem
from quarterhour.model.fields import Fields
from quarterhour.model.identifiers import SEPARATOR
from quarterhour.registry.documents.keys import DEFAULT_RATE_CARD, GROUP, RATE_CARD, is_rate_card
from quarterhour.registry.documents.plan import DocumentKind, Valid
from quarterhour.registry.rate_cards.arithmetic import Charge

if TYPE_CHECKING:
    from quarterhour.registry.rate_cards import api

MAX_RULES: Final = 200
_FIELDS: Final = frozenset({"valid_from", "rules", "refund_fixed"})
_FEE: Final = f"0 or more, {fields.AMOUNT}"
_CONDITIONS: Final = ("category", "location", "currency")
_FEES: Final = ("fixed", "minimum", "maximum")
_RULE: Final = frozenset({"percent", *_CONDITIONS, *_FEES})


class Sold(NamedTuple):
    """The part of an event that a rate card prices: an amount, the number of items, their category and location.

    The commission has the sign of the amount. ``items`` is ``None`` if no item is sold or given back; then only the
    percentage is charged.
    """

    amount: Decimal
    currency: str
    items: Decimal | None
    category: str = ""
    location: str = ""


class Rule(NamedTuple):
    """A percentage and fees, and the conditions under which they are charged.

    A condition that is ``None`` fits everything. The fees are amounts in the rule's currency. ``refund_fixed``: whether
    refunds give back the fixed fee, as the rate card says.
    """

    percent: Decimal
    category: str | None = None
    location: str | None = None
    currency: str | None = None
    fixed: Decimal | None = None
    minimum: Decimal | None = None
    maximum: Decimal | None = None
    refund_fixed: bool = True

    def covers(self, sold: Sold) -> bool:
        """Return whether all conditions of the rule fit; a location fits all locations within it."""
        return (
            self.category in {None, sold.category}
            and self.currency in {None, sold.currency}
            and (self.location is None or f"{sold.location}{SEPARATOR}".startswith(f"{self.location}{SEPARATOR}"))
        )

    @property
    def rank(self) -> tuple[bool, int, bool]:
        """The specificity of the rule: by its category first, then the depth of its location, then its currency."""
        depth = 0 if self.location is None else len(self.location.split(SEPARATOR))
        return self.category is not None, depth, self.currency is not None

    @property
    def is_plain(self) -> bool:
        """Whether the rule charges a percentage without fees."""
        return self.fixed is self.minimum is self.maximum is None

    def charge(self, sold: Sold) -> Charge:
        """Return the charge of the rule."""
        if sold.items is None:
            return Charge(self.percent, sold.amount)
        if self.fixed is None:
            return Charge(self.percent, sold.amount, least=self.minimum, most=self.maximum)
        kept = None if self.refund_fixed else money.multiply(self.fixed, sold.items)
        return Charge(self.percent, sold.amount, self.fixed, sold.items, self.minimum, self.maximum, kept)

    def as_dict(self) -> "api.Rule":
        """Return the rule as the API shows it."""
        shown: api.Rule = {"percent": money.plain(self.percent)}
        for condition in _CONDITIONS:
            if (value := getattr(self, condition)) is not None:
                shown[condition] = value
        for fee in _FEES:
            if (amount := getattr(self, fee)) is not None:
                shown[fee] = money.plain(amount)
        if self.fixed is not None and not self.refund_fixed:
            shown["refund_fixed"] = False
        return shown


class RateCard(NamedTuple):
    """An agency's rules from an instant on."""

    valid_from: datetime
    rules: tuple[Rule, ...]

    def rule_for(self, sold: Sold) -> Rule | None:
        """Return the most specific rule that covers the event, or ``None``. No two rules are equally specific."""
        return max((rule for rule in self.rules if rule.covers(sold)), key=lambda rule: rule.rank, default=None)


def read_rate_card(content: object) -> RateCard | tuple[FieldProblem, ...]:
    """Return the rate card in a document's content, or every problem in it."""
    if not isinstance(content, Mapping):
        return (FieldProblem("content", "is not an object", "an object with valid_from and rules"),)
    outer = Fields(content, "content.")
    outer.report_unknown(_FIELDS)
    valid_from = outer.value("valid_from", fields.INSTANT, fields.instant)
    refund_fixed = outer.value("refund_fixed", "true or false", _flag, optional=True)
    listed = outer.value("rules", f"a list of 1 to {MAX_RULES} rules", _listed) or ()
    rules = [_read_rule(one, f"content.rules[{number}].", outer) for number, one in enumerate(listed)]
    _refuse_duplicates(rules, outer)
    if outer.problems:
        return fields.bounded(outer.problems, "a rate card as described")
    return RateCard(valid_from, tuple(rule._replace(refund_fixed=refund_fixed is not False) for rule in rules if rule))


def _valid(content: object) -> Valid | tuple[FieldProblem, ...]:
    rate_card = read_rate_card(content)
    return Valid(rate_card.valid_from) if isinstance(rate_card, RateCard) else rate_card


_NAMES: Final = (
    f"{RATE_CARD}<agency>, {RATE_CARD}{GROUP}<group> or {DEFAULT_RATE_CARD}; agency and group have {fields.NAME}"
)
RATE_CARDS: Final = DocumentKind(RATE_CARD, is_rate_card, _NAMES, _valid)
"""Rate cards as a kind of document."""


def rate_card_of(version: Mapping[str, Any]) -> RateCard:
    """Return the rate card in a stored version of its document; raise ``ValueError`` if it is invalid."""
    rate_card = read_rate_card(exact_json.parse(version["content"]))
    if not isinstance(rate_card, RateCard):
        raise ValueError(f"no rate card: {rate_card}")  # noqa: TRY004 - it is a tuple of problems, not a wrong type
    return rate_card


def _read_rule(value: object, prefix: str, outer: Fields) -> Rule | None:
    if not isinstance(value, Mapping):
        outer.problems.append(FieldProblem(prefix.rstrip("."), "is not an object", "an object with percent"))
        return None
    before = len(outer.problems)
    inner = Fields(value, prefix, outer.problems)
    inner.report_unknown(_RULE)
    percent = inner.value("percent", fields.PERCENT, fields.percent)
    category = inner.value("category", fields.TEXT, fields.label, optional=True)
    location = inner.value("location", fields.LOCATION, fields.location, optional=True)
    currency = inner.value("currency", fields.CURRENCY, fields.currency, optional=True)
    fixed, least, most = (inner.value(name, _FEE, _fee, optional=True) for name in _FEES)
    if currency is None and not (fixed is least is most is None):
        inner.problem("currency", "is missing", "the currency of fixed, minimum and maximum")
    if least is not None and most is not None and least > most:
        inner.problem("minimum", f"is {money.plain(least)}", f"the maximum, {money.plain(most)}, or less")
    if len(outer.problems) > before:
        return None
    return Rule(percent, category, location, currency, fixed, least, most)


def _refuse_duplicates(rules: list[Rule | None], outer: Fields) -> None:
    """Add a problem for each rule with the conditions of an earlier one: neither would be more specific."""
    first: dict[tuple[str | None, ...], int] = {}
    for number, rule in enumerate(rules):
        if rule is not None:
            conditions = (rule.category, rule.location, rule.currency)
            if first.setdefault(conditions, number) != number:
                outer.problem(f"rules[{number}]", f"is for the same as rules[{first[conditions]}]", "one rule for it")


def _listed(value: object) -> list[object] | None:
    return value if isinstance(value, list) and 1 <= len(value) <= MAX_RULES else None


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def _fee(value: object) -> Decimal | None:
    fee = money.parse_decimal(value)
    return fee if fee is not None and fee >= 0 else None
