"""Rate cards in requests and responses, as types."""

from typing import Annotated, Literal, NotRequired

from typing_extensions import TypedDict

from quarterhour.model.api import Currency, Decimal, Location, Percent, SentDecimal, SentInstant, Text, constrained
from quarterhour.model.charges import MAX_CHARGES, MAX_NAME
from quarterhour.model.tiers import MAX_STEPS
from quarterhour.registry.documents.api import DocumentVersion
from quarterhour.registry.rate_cards.charge_content import MAX_DECIMALS
from quarterhour.registry.rate_cards.rate_card import MAX_RULES, MAX_VALUES

AmountPart = Literal["amount", "net", "goods"]
FixedPer = Literal["item", "order"]
GivenBack = Literal["share", "keep", "keep_fixed"]
PartMonths = Literal["whole", "by_days"]
Texts = Text | Annotated[list[Text], constrained(minItems=1, maxItems=MAX_VALUES)]
Locations = Location | Annotated[list[Location], constrained(minItems=1, maxItems=MAX_VALUES)]

_TierStep = TypedDict("_TierStep", {"from": Decimal})
_SentTierStep = TypedDict("_SentTierStep", {"from": SentDecimal})


class TierStep(_TierStep):
    """A step of tiers: from which turnover on a percentage holds."""

    percent: Decimal


class Tiers(TypedDict):
    """Percentages by the turnover of a span."""

    per: Literal["month", "quarter", "year"]
    of: Literal["account", "group"]
    mode: Literal["graduated", "volume"]
    steps: list[TierStep]


class Charge(TypedDict):
    """A charge of a rule."""

    name: Text
    percent: NotRequired[Decimal]
    of: NotRequired[AmountPart]
    fixed: NotRequired[Decimal]
    fixed_per: NotRequired[FixedPer]
    minimum: NotRequired[Decimal]
    maximum: NotRequired[Decimal]
    refund: NotRequired[GivenBack]
    decimals: NotRequired[int]
    tiers: NotRequired[Tiers]
    amount: NotRequired[Decimal]
    per: NotRequired[Literal["month"]]
    part_months: NotRequired[PartMonths]


class Rule(TypedDict):
    """A rule of a rate card: a percentage alone, or charges."""

    percent: NotRequired[Decimal]
    charges: NotRequired[list[Charge]]
    category: NotRequired[Text | list[Text]]
    location: NotRequired[Location | list[Location]]
    product: NotRequired[Text | list[Text]]
    currency: NotRequired[Currency]


class RateCardInForce(DocumentVersion):
    """The version of a rate card that is in force."""

    rules: list[Rule]


class RateCardsInForce(TypedDict):
    """The rate cards in force for an agency that the caller may read, in the order of precedence."""

    items: list[RateCardInForce]


class SentTierStep(_SentTierStep):
    """A step of tiers. The first one begins at 0, and each above the one before."""

    percent: Percent


class SentTiers(TypedDict):
    """Percentages by the turnover of a span: net sales of the lines that the charge prices, by calendar."""

    per: Literal["month", "quarter", "year"]
    of: NotRequired[Literal["account", "group"] | None]
    """Whose turnover counts: that of the account, the default, or of all accounts of the group in its currency."""
    mode: Literal["graduated", "volume"]
    """Each part of the turnover at its own percentage, or all of it at the one that is reached."""
    steps: Annotated[list[SentTierStep], constrained(minItems=1, maxItems=MAX_STEPS)]


class SentCharge(TypedDict):
    """A charge of a rule: a percentage with an optional fee, tiers, or a fee or minimum for each month."""

    name: Annotated[Text, constrained(maxLength=MAX_NAME)]
    percent: NotRequired[Percent | None]
    """0 to 100, with at most 10 places; 0 without it."""
    of: NotRequired[AmountPart | None]
    """What the percentage is of: the amount, the default; `net` without `data.tax`; `goods` without shipping too."""
    fixed: NotRequired[SentDecimal | None]
    """A fee for each item: `data.quantity` of them, or 1."""
    fixed_per: NotRequired[FixedPer | None]
    """`order`: the fee is charged once for each order, with the line that is recorded first."""
    minimum: NotRequired[SentDecimal | None]
    """The least that an event is charged; with `per`, the least commission of a month."""
    maximum: NotRequired[SentDecimal | None]
    """The most that an event is charged."""
    refund: NotRequired[GivenBack | None]
    """What a refund gives back: its share, the default; nothing; or its share of all but the fee. A void gives all."""
    decimals: NotRequired[Annotated[int, constrained(minimum=0, maximum=MAX_DECIMALS)] | None]
    """To how many decimals the charge is rounded on each event, as the settings round."""
    tiers: NotRequired[SentTiers | None]
    """In place of a percentage; the statement charges them."""
    amount: NotRequired[SentDecimal | None]
    """A fee for each month."""
    per: NotRequired[Literal["month"] | None]
    part_months: NotRequired[PartMonths | None]
    """Of the fee of a month in which the agency is registered for a part: all of it, the default, or by days."""


class SentRule(TypedDict):
    """A rule of a rate card: its conditions and its charges. An omitted condition matches every event."""

    percent: NotRequired[Percent | None]
    """Without `charges`: of one charge, `commission`, as are the three that follow."""
    fixed: NotRequired[SentDecimal | None]
    minimum: NotRequired[SentDecimal | None]
    maximum: NotRequired[SentDecimal | None]
    charges: NotRequired[Annotated[list[SentCharge], constrained(minItems=1, maxItems=MAX_CHARGES)] | None]
    """What an event is charged, by name."""
    category: NotRequired[Texts | None]
    """Only for events of this `data.category`, or of one of these."""
    location: NotRequired[Locations | None]
    """Only for events at this location or within it: `GB#London` covers `GB#London#Soho`, and not `GB#Londonderry`."""
    product: NotRequired[Texts | None]
    """Only for events of this `data.product`, or of one of these."""
    currency: NotRequired[Currency | None]
    """Only for events in this currency; required with sums, which are in it."""


class RateCard(TypedDict):
    """A rate card of an agency, a group or all: of the rules that match an event, the most specific one applies."""

    valid_from: SentInstant
    """The instant from which the version is in force."""
    valid_to: NotRequired[SentInstant | None]
    """The instant at which it ends; from then on, the next rate card in the order of precedence applies."""
    rules: Annotated[list[SentRule], constrained(minItems=1, maxItems=MAX_RULES)]
