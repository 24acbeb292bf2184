"""Explaining a commission, the pure part: where its price terms come from, and the steps that compute it.

Everything follows from the recorded facts of the event, in the ledger or in a sealed line.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from quarterhour.documents.keys import rate_card_name
from quarterhour.ledger.pricing import BY_RATE_CARD, BY_SALE, sold_in
from quarterhour.model import money
from quarterhour.model.clock import iso_exact
from quarterhour.rate_cards import arithmetic
from quarterhour.rate_cards.arithmetic import Step
from quarterhour.rate_cards.rate_card import RateCard

Facts = Mapping[str, str]
"""The recorded attributes of an event, as text by name; an empty column of a sealed line counts as missing."""

_SHOWN: Final = ("source", "id", "type", "agency", "currency", "amount", "time", "recorded_at")
_UNKNOWN: Final = "unknown"
"""The origin of prices recorded before the ledger held price terms."""
_NO_ITEM: Final = "no item is sold or given back, so the rule's percentage counts alone"


def rate_card_version(facts: Facts) -> int | None:
    """Return the version of the agency's rate card that priced an event, or ``None`` if none did."""
    origin = facts.get("terms", "")
    return int(origin.removeprefix(BY_RATE_CARD)) if origin.startswith(BY_RATE_CARD) else None


def commission_steps(facts: Facts) -> Iterator[Step]:
    """Yield the steps that compute an event's commission; the last one gives the recorded commission."""
    text = facts.get("arithmetic")
    if text:
        yield from arithmetic.read(text).steps()
    else:
        amount, commission_rate = Decimal(facts["amount"]), Decimal(facts["commission_rate"])
        yield Step(
            "rate", f"{money.plain(commission_rate)} of {money.plain(amount)}", money.multiply(amount, commission_rate)
        )


def commission_matches(facts: Facts) -> bool:
    """Return whether an event's recorded commission equals the one computed from its price terms."""
    *_, last = commission_steps(facts)
    return last.gives == Decimal(facts["commission"])


def explanation_of(facts: Facts, rate_card: RateCard | None) -> dict[str, Any]:
    """Return the explanation of an event's commission: the origin of its price terms, and each computing step.

    ``rate_card`` is the version that priced the event, if one did.
    """
    return {
        **{name: facts[name] for name in _SHOWN if facts.get(name)},
        "terms": _price_terms(facts, rate_card),
        "steps": [{**step._asdict(), "gives": money.plain(step.gives)} for step in commission_steps(facts)],
        "commission": facts["commission"],
    }


def _price_terms(facts: Facts, rate_card: RateCard | None) -> dict[str, Any]:
    version = rate_card_version(facts)
    if version is None:
        origin = {"from": facts.get("terms") or _UNKNOWN}
        return {**origin, "sale": facts["refers_to"]} if origin["from"] == BY_SALE else origin
    name = rate_card_name(facts["agency"])
    terms: dict[str, Any] = {"from": BY_RATE_CARD.strip(), "document": name, "version": version}
    if rate_card is None:
        return terms
    details = {name: value for name, value in facts.items() if value}
    rule = rate_card.rule_for(sold_in(facts["type"], Decimal(facts["amount"]), facts["currency"], details))
    terms |= {"valid_from": iso_exact(rate_card.valid_from), "rule": rule.as_dict() if rule else None}
    return terms if rule is None or rule.is_plain or facts.get("arithmetic") else {**terms, "note": _NO_ITEM}
