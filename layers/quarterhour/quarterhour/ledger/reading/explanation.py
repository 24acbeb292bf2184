"""Explaining a commission, the pure part: where its commission terms come from, and the steps that compute it.

Everything follows from the recorded facts of the event, in the ledger or in a sealed line.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any, Final

from quarterhour.ledger.events.event import RERATING, Rerating
from quarterhour.ledger.postings.posting import Facts
from quarterhour.ledger.recording.pricing import (
    BY_PAYMENT,
    BY_RATE_CARD,
    BY_RERATING,
    BY_SALE,
    CommissionTerms,
    rate_card_in,
    sold_in,
)
from quarterhour.model import money
from quarterhour.model.clock import iso_exact
from quarterhour.registry.rate_cards import arithmetic
from quarterhour.registry.rate_cards.arithmetic import PricingStep
from quarterhour.registry.rate_cards.plan import LookedAt, Version

_SHOWN: Final = ("source", "id", "type", "agency", "currency", "amount", "time", "recorded_at")
_UNKNOWN: Final = "unknown"
"""The origin of the terms of events recorded before the ledger held commission terms."""
_OF_SALE: Final = (BY_SALE, BY_RERATING)
"""The origins of the terms that follow from a sale's."""
_NO_COMMISSION: Final = "a payment bears no commission"
_NO_ITEM: Final = "no item is sold or given back, so the rule's percentage counts alone"


def applied_rate_card(facts: Facts) -> Version | None:
    """Return the rate card that priced an event, or ``None`` if none did."""
    return rate_card_in(facts.get("terms", ""), facts["agency"])


def commission_steps(facts: Facts) -> Iterator[PricingStep]:
    """Yield the steps that compute an event's commission; the last one gives the recorded commission."""
    text = facts.get("arithmetic")
    if text:
        yield from arithmetic.read(text).steps()
    else:
        amount, commission_rate = Decimal(facts["amount"]), Decimal(facts["commission_rate"])
        yield PricingStep(
            "rate", f"{money.plain(commission_rate)} of {money.plain(amount)}", money.multiply(amount, commission_rate)
        )


def commission_matches(facts: Facts) -> bool:
    """Return whether an event's recorded commission equals the one computed from its commission terms."""
    *_, last = commission_steps(facts)
    return last.gives == Decimal(facts["commission"])


def explanation_of(facts: Facts, looked_at: Sequence[LookedAt]) -> dict[str, Any]:
    """Return the explanation of an event's commission: the origin of its commission terms, and each computing step.

    ``looked_at``: the rate cards that were looked at, in the order of precedence; the last one is that which priced the
    event, if one did.
    """
    return {**{name: facts[name] for name in _SHOWN if facts.get(name)}, **computation_of(facts, looked_at)}


def computation_of(facts: Facts, looked_at: Sequence[LookedAt]) -> dict[str, Any]:
    """Return the terms, the steps and the result of computing an event's commission."""
    return {
        "terms": _commission_terms(facts, looked_at),
        "steps": [{**step._asdict(), "gives": money.plain(step.gives)} for step in commission_steps(facts)],
        "commission": facts["commission"],
    }


def facts_at(terms: CommissionTerms, facts: Facts) -> Facts:
    """Return the facts of an event as if it had been recorded on other terms.

    Raises ``ValueError`` if its commission would need more than 38 digits.
    """
    commission = terms.commission(Decimal(facts["amount"]))
    if commission is None:
        raise ValueError(f"the commission of {facts['source']} {facts['id']} would need more than 38 digits")
    return {
        **facts,
        "commission_rate": money.plain(terms.commission_rate),
        "terms": terms.origin,
        "arithmetic": terms.arithmetic,
        "commission": money.plain(commission),
    }


def _commission_terms(facts: Facts, looked_at: Sequence[LookedAt]) -> dict[str, Any]:
    applied = applied_rate_card(facts)
    shown = {"looked_at": [_looked_at(one, applied) for one in looked_at]} if looked_at else {}
    if applied is None:
        origin: dict[str, Any] = {"from": facts.get("terms") or _UNKNOWN, **shown}
        if origin["from"] == BY_PAYMENT:
            origin["note"] = _NO_COMMISSION
        if origin["from"] == BY_RERATING:
            applied_by = Rerating.parse(facts[RERATING]).as_dict()
            origin |= {"document": applied_by.pop("rate_card"), **applied_by, "reason": facts["reason"]}
        return {**origin, "sale": facts["refers_to"]} if origin["from"] in _OF_SALE else origin
    document, version = applied
    terms: dict[str, Any] = {"from": BY_RATE_CARD.strip(), "document": document, "version": version, **shown}
    rate_card = looked_at[-1].rate_card if looked_at else None
    if rate_card is None:
        return terms
    details = {name: value for name, value in facts.items() if value}
    rule = rate_card.rule_for(sold_in(facts["type"], Decimal(facts["amount"]), facts["currency"], details))
    terms |= {"valid_from": iso_exact(rate_card.valid_from), "rule": rule.as_dict() if rule else None}
    return terms if rule is None or rule.is_plain or facts.get("arithmetic") else {**terms, "note": _NO_ITEM}


def _looked_at(one: LookedAt, applied: Version | None) -> dict[str, Any]:
    if one.version is None:
        return {"document": one.document, "result": "not in force"}
    result = "applied" if (one.document, one.version) == applied else "no rule for this event"
    return {"document": one.document, "version": one.version, "result": result}
