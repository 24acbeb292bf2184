"""How the commission of a recorded event came about, told from what stands in the ledger or in a sealed line alone."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from quarterhour.documents.keys import rate_card_name
from quarterhour.ledger.pricing import BY_CARD, BY_SALE, sold_by
from quarterhour.model import money
from quarterhour.model.clock import iso_exact
from quarterhour.rate_cards import arithmetic
from quarterhour.rate_cards.arithmetic import Step
from quarterhour.rate_cards.rate_card import RateCard

Facts = Mapping[str, str]
"""What is recorded of an event, as text under its names; what a sealed line leaves empty counts as left out."""

_SHOWN: Final = ("source", "id", "type", "agency", "currency", "amount", "time", "recorded_at")
_UNKNOWN: Final = "unknown"
"""Of events that were recorded before their terms were."""
_NO_ITEM: Final = "no item is sold or given back, so the rule's percentage counts alone"


def card_version(facts: Facts) -> int | None:
    """Return which version of its agency's rate card an event was charged by, ``None`` where by none."""
    terms = facts.get("terms", "")
    return int(terms.removeprefix(BY_CARD)) if terms.startswith(BY_CARD) else None


def reckoned(facts: Facts) -> Iterator[Step]:
    """Reckon an event's commission step by step; the last one gives what was recorded."""
    text = facts.get("arithmetic")
    if text:
        yield from arithmetic.read(text).steps()
    else:
        amount, rate = Decimal(facts["amount"]), Decimal(facts["commission_rate"])
        yield Step("rate", f"{money.plain(rate)} of {money.plain(amount)}", money.multiply(amount, rate))


def is_due(facts: Facts) -> bool:
    """Tell whether an event's commission is what its terms give."""
    *_, last = reckoned(facts)
    return last.gives == Decimal(facts["commission"])


def explained(facts: Facts, card: RateCard | None) -> dict[str, Any]:
    """Return how an event's commission came about: where its terms come from, and each step of the arithmetic.

    ``card`` is the version that it was charged by, where it was by one.
    """
    return {
        **{name: facts[name] for name in _SHOWN if facts.get(name)},
        "terms": _terms(facts, card),
        "steps": [{**step._asdict(), "gives": money.plain(step.gives)} for step in reckoned(facts)],
        "commission": facts["commission"],
    }


def _terms(facts: Facts, card: RateCard | None) -> dict[str, Any]:
    version = card_version(facts)
    if version is None:
        terms = {"from": facts.get("terms") or _UNKNOWN}
        return {**terms, "sale": facts["refers_to"]} if terms["from"] == BY_SALE else terms
    told: dict[str, Any] = {"from": BY_CARD.strip(), "document": rate_card_name(facts["agency"]), "version": version}
    if card is None:
        return told
    details = {name: value for name, value in facts.items() if value}
    rule = card.rule_for(sold_by(facts["type"], Decimal(facts["amount"]), facts["currency"], details))
    told |= {"valid_from": iso_exact(card.valid_from), "rule": rule.as_dict() if rule else None}
    return told if rule is None or rule.is_plain or facts.get("arithmetic") else {**told, "note": _NO_ITEM}
