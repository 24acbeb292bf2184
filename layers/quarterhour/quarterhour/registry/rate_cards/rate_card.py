"""A rate card, the pure part: its schema, the rule that covers an event, and the charges by that rule."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache, partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from quarterhour.model import exact_json, fields, texts
from quarterhour.model.charges import MAX_CHARGES
from quarterhour.model.errors import FieldProblem
from quarterhour.model.fields import Fields
from quarterhour.model.identifiers import SEPARATOR
from quarterhour.registry.documents.keys import DEFAULT_RATE_CARD, GROUP, RATE_CARD, is_rate_card
from quarterhour.registry.documents.plan import DocumentKind, Valid
from quarterhour.registry.rate_cards.arithmetic import ChargePart
from quarterhour.registry.rate_cards.charge import LineCharge, MonthlyCharge, Pricing, Sold
from quarterhour.registry.rate_cards.charge_content import SHORT, read_charges

if TYPE_CHECKING:
    from quarterhour.registry.rate_cards import api

MAX_RULES: Final = 200
MAX_VALUES: Final = 50
"""The most values of one condition."""
_FIELDS: Final = frozenset({"valid_from", "valid_to", "rules"})
_RULE: Final = frozenset({"category", "location", "product", "currency", "charges", *SHORT})


class Rule(NamedTuple):
    """Charges, and the conditions under which they are charged.

    A condition without values fits everything, and one with several fits each of them. ``charges``: for each line;
    ``monthly``: whatever is sold.
    """

    charges: tuple[LineCharge, ...]
    category: tuple[str, ...] = ()
    location: tuple[str, ...] = ()
    product: tuple[str, ...] = ()
    currency: str | None = None
    monthly: tuple[MonthlyCharge, ...] = ()

    def rank(self, sold: Sold) -> tuple[bool, bool, int, bool] | None:
        """Return how specific the rule is for an event: by product, category, depth of the location, and currency.

        ``None`` if it does not cover the event: a condition does not fit, or it charges nothing for a line. A location
        fits all locations within it.
        """
        if (
            not self.charges
            or self.currency not in {None, sold.currency}
            or (self.category and sold.category not in self.category)
            or (self.product and sold.product not in self.product)
        ):
            return None
        depth = 0
        if self.location:
            within = f"{sold.location}{SEPARATOR}"
            depth = max(
                (one.count(SEPARATOR) + 1 for one in self.location if within.startswith(f"{one}{SEPARATOR}")), default=0
            )
            if not depth:
                return None
        return bool(self.product), bool(self.category), depth, self.currency is not None

    def entries(self, sold: Sold, pricing: Pricing) -> Iterator[ChargePart]:
        """Yield how each charge is computed for an event."""
        for charge in self.charges:
            yield from charge.entries(sold, pricing)

    def lacks(self, sold: Sold) -> str:
        """Return what the charges need and the event does not say, in words: ``tax``, ``shipping``, or both."""
        return " ".join(sorted(frozenset().union(*(sold.lacks(one.of) for one in self.charges)), reverse=True))

    def is_as_specific_as(self, other: "Rule") -> bool:
        """Return whether there is an event that both rules cover, neither of them being more specific for it."""
        return (
            bool(self.charges and other.charges)
            and self.currency == other.currency
            and _overlap(self.category, other.category)
            and _overlap(self.product, other.product)
            and _overlap(self.location, other.location)
        )

    def as_dict(self) -> "api.Rule":
        """Return the rule as the API shows it: one value of a condition by itself, several as a list."""
        shown: api.Rule = {}
        if len(self.charges) == 1 and self.charges[0].is_short and not self.monthly:
            shown["percent"] = self.charges[0].as_dict()["percent"]
        else:
            shown["charges"] = [*(one.as_dict() for one in self.charges), *(one.as_dict() for one in self.monthly)]
        if self.category:
            shown["category"] = _shown(self.category)
        if self.location:
            shown["location"] = _shown(self.location)
        if self.product:
            shown["product"] = _shown(self.product)
        if self.currency:
            shown["currency"] = self.currency
        return shown


def _overlap(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return one == other or not set(one).isdisjoint(other)


def _shown(values: tuple[str, ...]) -> str | list[str]:
    return values[0] if len(values) == 1 else list(values)


class RateCard(NamedTuple):
    """An agency's rules from an instant on, and until another one if it ends.

    ``is_once``: whether a charge of it has a fee that an order pays once.
    """

    valid_from: datetime
    rules: tuple[Rule, ...]
    valid_to: datetime | None = None
    is_once: bool = False

    def is_valid(self, at: datetime) -> bool:
        """Return whether the rate card is valid at an instant."""
        return self.valid_from <= at and (self.valid_to is None or at < self.valid_to)

    def rule_for(self, sold: Sold) -> Rule | None:
        """Return the most specific rule that covers the event, or ``None``. No two rules are equally specific."""
        ranked = ((rank, rule) for rule in self.rules if (rank := rule.rank(sold)))
        best = max(ranked, key=lambda one: one[0], default=None)
        return best and best[1]

    def monthly(self, currency: str) -> list[MonthlyCharge]:
        """Return what is charged for each month in a currency."""
        return [charge for rule in self.rules if rule.currency == currency for charge in rule.monthly]

    @property
    def is_rounded(self) -> bool:
        """Whether a charge of it is rounded on each event."""
        return any(charge.decimals is not None for rule in self.rules for charge in rule.charges)

    @property
    def is_of_group(self) -> bool:
        """Whether tiers of it count the turnover of a group."""
        return any(charge.of_group for rule in self.rules for charge in rule.charges)


def read_rate_card(content: object) -> RateCard | tuple[FieldProblem, ...]:
    """Return the rate card in a document's content, or every problem in it."""
    if not isinstance(content, Mapping):
        return (FieldProblem("content", "is not an object", "an object with valid_from and rules"),)
    outer = Fields(content, "content.")
    outer.report_unknown(_FIELDS)
    valid_from = outer.value("valid_from", fields.INSTANT, fields.instant)
    valid_to = outer.value("valid_to", fields.INSTANT, fields.instant, optional=True)
    if valid_from and valid_to and valid_to <= valid_from:
        outer.problem("valid_to", "is not after valid_from", "a later instant")
    listed = outer.value("rules", f"a list of 1 to {MAX_RULES} rules", partial(_listed, most=MAX_RULES)) or ()
    rules = [_read_rule(one, f"content.rules[{number}].", outer) for number, one in enumerate(listed)]
    _refuse_ties(rules, outer)
    _refuse_names(rules, outer)
    if outer.problems:
        return fields.bounded(outer.problems, "a rate card as described")
    read = tuple(filter(None, rules))
    return RateCard(valid_from, read, valid_to, any(charge.is_once for rule in read for charge in rule.charges))


def _valid(content: object) -> Valid | tuple[FieldProblem, ...]:
    rate_card = read_rate_card(content)
    return Valid(rate_card.valid_from) if isinstance(rate_card, RateCard) else rate_card


_NAMES: Final = (
    f"{RATE_CARD}<agency>, {RATE_CARD}{GROUP}<group> or {DEFAULT_RATE_CARD}; agency and group have {fields.NAME}"
)
RATE_CARDS: Final = DocumentKind(RATE_CARD, is_rate_card, _NAMES, _valid, by_people=True)
"""Rate cards as a kind of document."""


def rate_card_of(version: Mapping[str, Any]) -> RateCard:
    """Return the rate card in a stored version of its document; raise ``ValueError`` if it is invalid."""
    return _parsed(version["content"])


@lru_cache(maxsize=64)
def _parsed(content: str) -> RateCard:
    rate_card = read_rate_card(exact_json.parse(content))
    if not isinstance(rate_card, RateCard):
        raise ValueError(f"no rate card: {rate_card}")  # noqa: TRY004 - it is a tuple of problems, not a wrong type
    return rate_card


def _read_rule(value: object, prefix: str, outer: Fields) -> Rule | None:
    if not isinstance(value, Mapping):
        outer.problems.append(FieldProblem(prefix.rstrip("."), "is not an object", "an object with percent or charges"))
        return None
    before = len(outer.problems)
    inner = Fields(value, prefix, outer.problems)
    inner.report_unknown(_RULE)
    category = inner.value("category", _several(fields.TEXT), partial(_values, read=fields.label), optional=True)
    location = inner.value("location", _several(fields.LOCATION), partial(_values, read=fields.location), optional=True)
    product = inner.value("product", _several(fields.TEXT), partial(_values, read=_product), optional=True)
    currency = inner.value("currency", fields.CURRENCY, fields.currency, optional=True)
    charges = read_charges(value, inner, prefix, currency)
    lines = tuple(one for one in charges if isinstance(one, LineCharge))
    monthly = tuple(one for one in charges if isinstance(one, MonthlyCharge))
    if monthly and (category or location or product):
        inner.problem("charges", "have one per month", "it in a rule without category, location and product")
    if len(outer.problems) > before:
        return None
    return Rule(lines, category or (), location or (), product or (), currency, monthly)


def _refuse_ties(rules: Sequence[Rule | None], outer: Fields) -> None:
    """Add a problem for each rule that is as specific as an earlier one for some event."""
    refused: set[int] = set()
    numbered = [(number, rule) for number, rule in enumerate(rules) if rule]
    for (earlier, one), (number, other) in combinations(numbered, 2):
        if number not in refused and one.is_as_specific_as(other):
            refused.add(number)
            outer.problem(f"rules[{number}]", f"is for the same as rules[{earlier}]", "one rule for it")


def _refuse_names(rules: Sequence[Rule | None], outer: Fields) -> None:
    """Add a problem if a rate card names too many charges, or a name is charged twice a month in a currency."""
    read = [rule for rule in rules if rule]
    names = {one.name for rule in read for one in rule.charges} | {one.name for rule in read for one in rule.monthly}
    if len(names) > MAX_CHARGES:
        outer.problem("rules", f"name {len(names)} charges", f"at most {MAX_CHARGES} names")
    seen: set[tuple[str | None, str]] = set()
    for number, rule in enumerate(rules):
        for charge in rule.monthly if rule else ():
            if (key := (rule.currency if rule else None, charge.name)) in seen:
                outer.problem(
                    f"rules[{number}].charges", f"charge {charge.name} again", "one charge per month of a name"
                )
            seen.add(key)


def _several(expected: str) -> str:
    return f"{expected}; or a list of at most {MAX_VALUES}"


def _values(value: object, read: Any) -> tuple[str, ...] | None:  # noqa: ANN401 - a parser of fields
    """Parse one value of a condition, or a list of different ones."""
    listed = _listed(value, MAX_VALUES) if isinstance(value, list) else [value]
    parsed = [read(one) for one in listed or ()]
    return tuple(parsed) if parsed and all(parsed) and len(set(parsed)) == len(parsed) else None


def _product(value: object) -> str | None:
    """Parse the product of a rule into the form in which events have it."""
    return texts.described(value, fields.MAX_TEXT) or None if isinstance(value, str) else None


def _listed(value: object, most: int) -> list[object] | None:
    return value if isinstance(value, list) and 1 <= len(value) <= most else None
