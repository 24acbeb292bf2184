"""What sales, their corrections and held events must come to: computed from what was sent, and from what is stored.

Nothing here uses the product's code. What is left of a sale only grows when a refund of it is taken back. So each
reason for a rejection or a hold that was right once is still right in the end, or was before such a void.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from fractions import Fraction
from functools import cached_property
from typing import Any, Final

from tests.support.events import Cloud

SALE: Final = "sale.recorded"
VOID: Final = "sale.voided"
ADJUSTMENT: Final = "adjustment.recorded"
REFUND: Final = "sale.refunded"
REVERSALS: Final = frozenset({REFUND, VOID})
WITHOUT_CURRENCY: Final = "XXX"
PLACES: Final = 8
"""A part of a commission that a refund gives back is cut off after so many places."""

DISCARDED: Final = "was held, and discarded by an operator"
"""Why an event is rejected that was discarded."""
WAIVED: Final = {"unknown_sale": "is no recorded sale yet", "unregistered_agency": "is no registered agency"}
"""What an event does not wait for any more, by what an operator has waived."""

Facts = Mapping[str, Any]
"""An event as the ledger or the list of held events has it."""
Name = tuple[str, str]
"""Source and id."""


@dataclass(frozen=True)
class RateCard:
    """A version of a rate card with one rule: a percent, or a charge with a fee and bounds beside it."""

    percent: str
    fixed: str = ""
    minimum: str = ""
    maximum: str = ""

    @property
    def rule(self) -> dict[str, Any]:
        """The rule as the rate card's document holds it."""
        charge = {name: text for name, text in asdict(self).items() if text}
        if charge.keys() == {"percent"}:
            return {"currency": "GBP", **charge}
        return {"currency": "GBP", "charges": [{"name": "commission", **charge}]}

    def left(self, amount: Fraction, left: Fraction) -> Fraction:
        """Return the commission of a sale of an amount of which this is left."""
        share = Fraction(self.percent) / 100
        if "charges" not in self.rule:
            return left * share
        charged = amount * share + Fraction(self.fixed or 0)
        charged = max(charged, Fraction(self.minimum or 0))
        charged = min(charged, Fraction(self.maximum)) if self.maximum else charged
        return charged - Fraction(int(charged * (amount - left) / amount * 10**PLACES), 10**PLACES)


def name_of(event: Mapping[str, Any]) -> Name:
    """Return source and id of an event."""
    return event["source"], event["id"]


def reference(source: str, facts: Facts) -> Name | None:
    """Return source and id of what an event refers to; ``None`` if it refers to nothing."""
    return (facts.get("refers_to_source") or source, facts["refers_to"]) if facts.get("refers_to") else None


def facts_of(event: Cloud) -> Facts:
    """Return the facts of a sent event."""
    amount = {"amount": event["data"].get("amount", "0")}
    own = {name: event[name] for name in ("source", "id", "type")}
    return {**event["data"], **amount, **own, "agency": event["subject"]}


def is_content(event: Cloud, facts: Facts) -> bool:
    """Return whether facts are those of a sent event.

    The ledger decides the amount of a void, and leaves out the reference of an event that was released.
    """
    sent = event["data"]
    of = reference(event["source"], facts)
    return (
        (*name_of(event), event["type"], event["subject"]) == (*name_of(facts), facts["type"], facts["agency"])
        and (event["type"] == VOID or Fraction(sent.get("amount", "0")) == Fraction(facts["amount"]))
        and ("commission" not in sent or Fraction(sent["commission"]) == Fraction(facts["commission"]))
        and _instant(event.get("time")) == _instant(facts.get("time"))
        and is_customer(sent.get("customer"), facts.get("customer"))
        and sent.get("rerating") == rerating_of(facts)
        and of in {None, reference(event["source"], sent)}
    )


def with_customer(event: Cloud, customer: str | None) -> Cloud:
    """Return an event that names another customer, or none."""
    data = {name: value for name, value in event["data"].items() if name != "customer"}
    return {**event, "data": data if customer is None else {**data, "customer": customer}}


def is_customer(sent: str | None, stored: str | None) -> bool:
    """Return whether a customer is stored as a token, if one was sent; whose it is, only the vault knows."""
    return stored is None if sent is None else stored is not None and stored.startswith("ct_")


def rerating_of(facts: Facts) -> Any:
    """Return what a re-rating applies, which the ledger stores as text; ``None`` for another event."""
    found = facts.get("rerating")
    return json.loads(found) if isinstance(found, str) else found


def _instant(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


@dataclass(frozen=True)
class Books:
    """All that is stored in the end: the ledger, and the events that are held or discarded, as ``GET /held`` has them.

    ``sent``: the contents that were sent under each id. ``registered``: the agencies that were registered, or may be;
    ``None`` if they need not be. ``released``: the ids of the events that operators released, or tried to.
    ``rate_cards``: versions by document and number.
    """

    items: Iterable[Facts]
    held: Mapping[Name, Facts]
    discarded: Mapping[Name, Facts]
    sent: Mapping[str, list[Cloud]]
    registered: frozenset[str] | None
    released: frozenset[str]
    rate_cards: Mapping[tuple[str, int], RateCard]

    @cached_property
    def ledger(self) -> dict[Name, Facts]:
        """The ledger by source and id."""
        return {name_of(item): item for item in self.items}

    @cached_property
    def corrections(self) -> dict[Name, list[Facts]]:
        """The corrections in the ledger by what they correct: a void of a refund corrects the refund's sale."""
        found = defaultdict(list)
        for item in self.items:
            if of := reference(item["source"], item):
                refund = self.ledger.get(of, {}) if item["type"] == VOID else {}
                sale = reference(refund["source"], refund) if refund.get("type") == REFUND else None
                found[sale or of].append(item)
        return found

    @cached_property
    def taken_back(self) -> dict[Name, list[Facts]]:
        """The voids of refunds by the refund."""
        found = defaultdict(list)
        for item in self.items:
            of = reference(item["source"], item)
            if of and item["type"] == VOID and self.ledger.get(of, {}).get("type") == REFUND:
                found[of].append(item)
        return found

    def stored(self, name: Name) -> Facts | None:
        """Return the event that has an identity."""
        return self.ledger.get(name) or self.held.get(name) or self.discarded.get(name)

    def left(self, sale: Name) -> Fraction:
        """Return what is left of the amount of a sale."""
        reversals = [item for item in self.corrections.get(sale, ()) if item["type"] in REVERSALS]
        return sum((Fraction(item["amount"]) for item in reversals), Fraction(self.ledger[sale]["amount"]))

    def is_voided(self, name: Name) -> bool:
        """Return whether a sale or a refund was voided."""
        return bool(self.taken_back.get(name)) or any(map(_is_of_sale, self.corrections.get(name, ())))

    # ------------------------------------------------------------ the invariants

    def check(self) -> None:
        """Hold the ledger to the rules of corrections, and each held event to its reasons."""
        for of, linked in self.corrections.items():
            assert of in self.ledger, "a correction is in the ledger, and its sale is not"
            if self.ledger[of]["type"] == SALE:
                self._sale_is_corrected_exactly(of)
            else:  # a refund without a sale, which is priced as a sale is: its commission alone, or by a void
                own = [item for item in linked if item not in self.taken_back.get(of, ())]
                zero = all(item["type"] == ADJUSTMENT and not Fraction(item["amount"]) for item in own)
                assert zero, "a correction of what is no sale"
        for of, voids in self.taken_back.items():
            self._refund_is_taken_back_once(of, voids)
        for item in self.items:
            self._may_be_recorded(item)
        for name, one in self.held.items():
            assert name not in self.ledger, "a held event is in the ledger"
            waived = WAIVED[one["released"]["waived"]] if "released" in one else None
            for problem in one["problems"]:
                assert not waived or waived not in problem["problem"], f"{name} waits for what an operator has waived"
                assert self.is_right(one, problem["problem"]), f"{name} waits for another reason than {problem}"

    def _refund_is_taken_back_once(self, name: Name, voids: list[Facts]) -> None:
        """Hold the void of a refund to it: one, of its account, amount and, without a sale, commission."""
        refund = self.ledger[name]
        assert len(voids) == 1, "a refund was taken back twice"
        (void,) = voids
        assert (void["agency"], void["currency"]) == (refund["agency"], refund["currency"]), "by another account"
        assert Fraction(void["amount"]) == -Fraction(refund["amount"]) > 0, "another amount than that of the refund"
        if not reference(refund["source"], refund):
            rerated = [item for item in self.corrections[name] if "rerating" in item]
            charged = sum(Fraction(item["commission"]) for item in (refund, void, *rerated))
            assert charged == 0, "another commission than that of the refund"

    def _sale_is_corrected_exactly(self, name: Name) -> None:
        """Hold the corrections of a sale to it: never more than it was, nothing after a void, at its own terms."""
        sale, linked = self.ledger[name], self.corrections[name]
        account = sale["agency"], sale["currency"]
        assert all((item["agency"], item["currency"]) == account for item in linked), "corrected by another account"
        reversals = [item for item in linked if item["type"] in REVERSALS]
        voids = [item for item in reversals if _is_of_sale(item)]
        left, back = self.left(name), sum(not _is_of_sale(item) for item in reversals if item["type"] == VOID)
        assert 0 <= left <= Fraction(sale["amount"]), "more was given back than sold, or taken back than given"
        assert len(voids) <= 1 + back, "a sale was voided twice"
        assert not voids or left == 0 or back, "something is left of a voided sale"
        assert all(Fraction(item["amount"]) or not Fraction(sale["amount"]) for item in voids), "a void of nothing"
        rerated = [item for item in linked if "rerating" in item]
        charged = sum(Fraction(item["commission"]) for item in (sale, *reversals, *rerated))
        if left == 0 and not any("order=" in item.get("arithmetic", "") for item in (sale, *reversals)):
            # What an order pays once stays with the order, which is looked at where orders are.
            assert charged == 0 or not reversals, "a sale was given back, and its commission was not"
        due = self._due(sale, rerated, left)
        assert due is None or charged in due, "another commission than for what is left"

    def _due(self, sale: Facts, rerated: list[Facts], left: Fraction) -> set[Fraction] | None:
        """Return what a sale may be charged for what is left, by its own terms or by one of its re-ratings.

        ``None`` if the rate card is not known here, and for sales of 0. Which of several re-ratings was the last is not
        looked at; each gives another commission.
        """
        named = [rerating_of(item) for item in rerated]
        applied = {(one["rate_card"], one["version"]) for one in named}
        word, _, rest = sale.get("terms", "").partition(" ")
        if word == "card" and not applied:
            version, _, document = rest.partition(" ")
            applied = {(document or f"rate-card:{sale['agency']}", int(version))}
        amount = Fraction(sale["amount"])
        if not applied:
            return None if "arithmetic" in sale else {left * Fraction(sale["commission_rate"])}
        if amount == 0 or not applied <= self.rate_cards.keys():
            return None
        return {self.rate_cards[one].left(amount, left) for one in applied}

    def _may_be_recorded(self, item: Facts) -> None:
        (source, id_), own = name_of(item), self.sent.get(item["id"], ())
        if self.registered is not None and item["currency"] != WITHOUT_CURRENCY:
            assert item["agency"] in self.registered or id_ in self.released, "an unregistered agency's event"
        if not reference(source, item) and id_ not in self.released:
            contents = [one for one in own if is_content(one, item)]
            assert any(reference(source, one["data"]) is None for one in contents), "the reference is lost"

    def is_right(self, event: Facts, problem: str) -> bool:
        """Return whether an event that was rejected or is held has a problem."""
        return any(part in problem for part in self._problems(event))

    def _problems(self, event: Facts) -> Iterator[str]:
        """Yield a part of the text of each problem that an event has."""
        name = name_of(event)
        if self.stored(name):
            yield "with other content"
        if name in self.discarded:
            yield DISCARDED
        if self.registered is not None and event["agency"] not in self.registered:
            yield "is no registered agency"
        if of := reference(name[0], event):
            yield from self._problems_of_reference(name, of)
            if self.ledger.get(of, {}).get("type") == SALE:
                yield from self._problems_with_sale(event, of)
            elif event["type"] == VOID and self.ledger.get(of, {}).get("type") == REFUND:
                yield from self._problems_with_refund(event, of)
            if of in self.ledger and rerating_of(event):
                yield from self._problems_of_rerating(event, self.ledger[of])

    def _problems_of_reference(self, name: Name, of: Name) -> Iterator[str]:
        sent, found = self.sent.get(of[1], ()), self.ledger.get(of)
        if of == name:
            yield "is the event itself"
        if found is None:
            yield "is no recorded sale yet"
        elif found["type"] != SALE:
            yield f"is no sale, but {found['type']}"
            if found["type"] != REFUND:
                yield f"is no sale and no refund, but {found['type']}"
        if any(one["type"] != SALE for one in sent):
            yield "is a held event, and no sale"
            if found is None or found["type"] != SALE:  # claimed, perhaps before the ledger had it
                yield "is no sale"
        if any(reference(one["source"], one["data"]) == name for one in sent):
            yield "refers back to this event"
        if of in self.discarded:
            yield "was discarded by an operator"

    def _problems_of_rerating(self, event: Facts, rerated: Facts) -> Iterator[str]:
        if rerated["agency"] != event["agency"]:
            yield "is a sale of another account"
        if rerated.get("terms", "").partition(" ")[0] not in {"card", "default"}:
            yield f"is {rerated['type']} with the terms"
        named = rerating_of(event)
        if (named["rate_card"], named["version"]) not in self.rate_cards:
            yield "is no version of "
        # Whether it changed something depends on the terms in force then, and is not looked at.
        yield from ("changes nothing: ", "does not price the event")

    def _problems_with_sale(self, event: Facts, name: Name) -> Iterator[str]:
        sale, left = self.ledger[name], self.left(name)
        if sale["agency"] != event["agency"]:
            yield "is a sale of another account"
        if self.is_voided(name):
            yield "was voided"
        # What was taken back was given back before: the event may have come in between.
        once = sum((Fraction(item["amount"]) for item in self.corrections[name] if _takes_back(item)), Fraction())
        if left <= once and Fraction(sale["amount"]):
            yield "was refunded whole"
        if left - once + Fraction(event["amount"]) < 0:
            yield "more than is left of the sale"

    def _problems_with_refund(self, event: Facts, name: Name) -> Iterator[str]:
        refund = self.ledger[name]
        if refund["agency"] != event["agency"]:
            yield "is a refund of another account"
        if self.is_voided(name):
            yield "was voided before"
        if Fraction(refund["amount"]) == 0:
            yield "gave back nothing"


def _is_of_sale(item: Facts) -> bool:
    """Return whether a correction is the void of a sale."""
    return item["type"] == VOID and not _takes_back(item)


def _takes_back(item: Facts) -> bool:
    """Return whether a correction takes a refund back: it is a void of more than 0."""
    return item["type"] == VOID and Fraction(item["amount"]) > 0


def check_story(sale: Facts, corrections: list[Facts], story: Mapping[str, Any]) -> None:
    """Hold the story of a sale to its corrections: all of them, each after the step that it follows from."""
    first, *steps = story["items"]
    assert name_of(first) == name_of(sale)
    assert sorted(map(name_of, steps)) == sorted(map(name_of, corrections)), "another story than the ledger has"
    left, commission = Fraction(sale["amount"]), Fraction(sale["commission"])
    assert (Fraction(first["left_after"]), Fraction(first["commission_after"])) == (left, commission)
    for step in steps:
        left += Fraction(step["amount"]) if step["type"] in REVERSALS else 0
        commission += Fraction(step["commission"])
        assert Fraction(step["left_after"]) == left, "a step does not follow from the one before it"
        assert Fraction(step["commission_after"]) == commission
    assert (Fraction(story["left"]), Fraction(story["commission"])) == (left, commission)
