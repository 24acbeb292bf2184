"""Explaining a commission, the pure part: where its commission terms come from, and the steps that compute it.

Everything follows from the recorded facts of the event, in the ledger or in a sealed line.
"""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Final, Literal

from quarterhour.ledger.events.event import RERATING, Rerating
from quarterhour.ledger.postings.posting import Facts
from quarterhour.ledger.recording.pricing import (
    BY_PAYMENT,
    BY_RATE_CARD,
    BY_REFUND,
    BY_RERATING,
    BY_SALE,
    CommissionTerms,
    rate_card_in,
    sold_in,
)
from quarterhour.model import money
from quarterhour.model.charges import COMMISSION, write_charges
from quarterhour.model.clock import iso_exact
from quarterhour.registry.rate_cards import arithmetic
from quarterhour.registry.rate_cards.arithmetic import PricingStep
from quarterhour.registry.rate_cards.plan import LookedAt, Version

if TYPE_CHECKING:
    from quarterhour.ledger.reading import api

_UNKNOWN: Final = "unknown"
"""The origin of the terms of events recorded before the ledger held commission terms."""
_OF_SALE: Final = (BY_SALE, BY_RERATING)
"""The origins of the terms that follow from a sale's."""
_NO_COMMISSION: Final = "a payment bears no commission"
_NO_ITEM: Final = "no item is sold or given back, so the rule's percentage counts alone"


def applied_rate_card(facts: Facts) -> Version | None:
    """Return the rate card that priced an event, or ``None`` if none did."""
    return rate_card_in(facts.get("terms", ""), facts["agency"])


def commission_steps(facts: Facts) -> Iterator[tuple[str, PricingStep]]:
    """Yield the steps that compute an event's commission, each with the name of its charge.

    The last one gives the recorded commission.
    """
    text = facts.get("arithmetic")
    if text:
        yield from arithmetic.steps(arithmetic.read(text))
    else:
        amount, commission_rate = Decimal(facts["amount"]), Decimal(facts["commission_rate"])
        words = f"{money.plain(commission_rate)} of {money.plain(amount)}"
        yield COMMISSION, PricingStep("rate", words, money.multiply(amount, commission_rate))


def commission_matches(facts: Facts) -> bool:
    """Return whether an event's recorded commission and charges equal those computed from its commission terms."""
    commission = Decimal(facts["commission"])
    if not facts.get("arithmetic"):
        *_, (_, last) = commission_steps(facts)
        return last.gives == commission and not facts.get("charges")
    charges = arithmetic.charges(arithmetic.read(facts["arithmetic"]))
    if charges is None or charges.commission != commission:
        return False
    return write_charges(charges) == facts.get("charges", "")


def explanation_of(facts: Facts, looked_at: Sequence[LookedAt]) -> "api.Explanation":
    """Return the explanation of an event's commission: the origin of its commission terms, and each computing step.

    ``looked_at``: the rate cards that were looked at, in the order of precedence; the last one is that which priced the
    event, if one did.
    """
    computation = computation_of(facts, looked_at)
    explained: api.Explanation = {
        "source": facts["source"],
        "id": facts["id"],
        "type": facts["type"],
        "agency": facts["agency"],
        "currency": facts["currency"],
        "amount": facts["amount"],
        "recorded_at": facts["recorded_at"],
        "terms": computation["terms"],
        "steps": computation["steps"],
        "commission": computation["commission"],
    }
    if facts.get("time"):
        explained["time"] = facts["time"]
    return explained


def computation_of(facts: Facts, looked_at: Sequence[LookedAt]) -> "api.Computation":
    """Return the terms, the steps and the result of computing an event's commission."""
    return {
        "terms": _commission_terms(facts, looked_at),
        "steps": [_shown_step(charge, step) for charge, step in commission_steps(facts)],
        "commission": facts["commission"],
    }


def _shown_step(charge: str, step: PricingStep) -> "api.Step":
    shown: api.Step = {"name": step.name, "says": step.says, "gives": money.plain(step.gives)}
    return shown if charge == COMMISSION else {**shown, "charge": charge}


def facts_at(terms: CommissionTerms, facts: Facts) -> Facts:
    """Return the facts of an event as if it had been recorded on other terms.

    Raises ``ValueError`` if its commission would need more than 38 digits.
    """
    charges = terms.charges(Decimal(facts["amount"]))
    if charges is None:
        raise ValueError(f"the commission of {facts['source']} {facts['id']} would need more than 38 digits")
    return {
        **facts,
        "commission_rate": money.plain(terms.commission_rate),
        "terms": terms.origin,
        "arithmetic": terms.arithmetic,
        "commission": money.plain(charges.commission),
        "charges": write_charges(charges),
    }


def _commission_terms(facts: Facts, looked_at: Sequence[LookedAt]) -> "api.EventTerms":
    applied = applied_rate_card(facts)
    terms = _terms_without_rate_card(facts) if applied is None else _terms_of_rate_card(facts, applied, looked_at)
    if looked_at:
        terms["looked_at"] = [_looked_at(one, applied) for one in looked_at]
    return terms


def _terms_without_rate_card(facts: Facts) -> "api.EventTerms":
    terms: api.EventTerms = {"from": facts.get("terms") or _UNKNOWN}
    if terms["from"] == BY_PAYMENT:
        terms["note"] = _NO_COMMISSION
    if terms["from"] == BY_RERATING:
        applied_by = Rerating.parse(facts[RERATING])
        terms["document"], terms["version"] = applied_by.rate_card, applied_by.version
        if applied_by.by is not None:
            terms["by"] = applied_by.by
        terms["reason"] = facts["reason"]
    if terms["from"] == BY_REFUND:
        terms["refund"] = facts["refers_to"]
    if terms["from"] in _OF_SALE:
        terms["sale"] = facts["refers_to"]
    return terms


def _terms_of_rate_card(facts: Facts, applied: Version, looked_at: Sequence[LookedAt]) -> "api.EventTerms":
    document, version = applied
    terms: api.EventTerms = {"from": BY_RATE_CARD.strip(), "document": document, "version": version}
    rate_card = looked_at[-1].rate_card if looked_at else None
    if rate_card is None:
        return terms
    details = {name: value for name, value in facts.items() if value}
    sold = sold_in(facts["type"], Decimal(facts["amount"]), facts["currency"], details)
    rule = rate_card.rule_for(sold)
    terms["valid_from"] = iso_exact(rate_card.valid_from)
    terms["rule"] = rule.as_dict() if rule else None
    notes = []
    if (
        rule
        and sold.items is None
        and " items=" not in facts.get("arithmetic", "")
        and any(one.has_fees for one in rule.charges)
    ):
        notes.append(_NO_ITEM)
    if rule and (lacks := rule.lacks(sold)):
        notes.append(f"the event does not say its {lacks.replace(' ', ' and ')}, which counts as 0")
    if notes:
        terms["note"] = "; ".join(notes)
    return terms


def _looked_at(one: LookedAt, applied: Version | None) -> "api.LookedAt":
    if one.version is None:
        return {"document": one.document, "result": "not in force"}
    is_applied = (one.document, one.version) == applied
    result: Literal["applied", "no rule for this event"] = "applied" if is_applied else "no rule for this event"
    return {"document": one.document, "version": one.version, "result": result}
