"""Previews of re-ratings: what the events of an agency would be charged by another rate card."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from quarterhour.ledger.events.event import Rerating
from quarterhour.ledger.postings.posting import Facts
from quarterhour.ledger.reading.queries import LedgerQueries
from quarterhour.ledger.recording.order_fee_store import OrderFeeStore
from quarterhour.ledger.recording.order_fees import order_key
from quarterhour.ledger.recording.pricing import rate_card_in
from quarterhour.ledger.rerating.plan import Fee, PricingOf, Rerated, ReratingRequest, by_account, rerated, sums_of
from quarterhour.ledger.rerating.requests import EffectRequest, PreviewRequest
from quarterhour.model import exact_json, instants, money
from quarterhour.model.clock import parse_iso
from quarterhour.model.errors import FieldProblem, InvalidError, TooLargeError, in_words
from quarterhour.model.identifiers import Identity
from quarterhour.registry.documents.keys import (
    DEFAULT_RATE_CARD,
    RATE_CARD,
    agency_document,
    is_agency,
    latest_key,
    rate_card_name,
)
from quarterhour.registry.documents.queries import DocumentQueries
from quarterhour.registry.documents.timeline import timeline_of
from quarterhour.registry.rate_cards.charge import Pricing
from quarterhour.registry.rate_cards.plan import RateCards
from quarterhour.registry.rate_cards.rate_card import RateCard, read_rate_card
from quarterhour.registry.settings.store import SettingsReader
from quarterhour.web.access import Caller
from quarterhour.web.paging import MAX_LIMIT, RESERVE_SECONDS, Paging
from quarterhour.web.parameters import invalid

if TYPE_CHECKING:
    from quarterhour.ledger.reading.api import Event
    from quarterhour.ledger.rerating import api

MAX_CHANGES: Final = 3000
"""The most events whose commission a preview changes: each takes about a kilobyte of its answer."""


@dataclass(frozen=True, slots=True)
class ReratingQueries:
    """Computes previews of re-ratings. It posts nothing."""

    ledger: LedgerQueries
    documents: DocumentQueries
    settings: SettingsReader
    order_fees: OrderFeeStore

    def preview(
        self, request: PreviewRequest, caller: Caller, remaining_seconds: Callable[[], float]
    ) -> "api.ReratingPreview":
        """Return the sums of each account, and the changes with the events that apply them.

        Raises ``NotFoundError`` without the rate card, ``InvalidError`` if it is none or another agency's, and
        ``TooLargeError`` if there are too many events for one request.
        """
        version, rate_card = self._rate_card(request)
        events = self._events(request.agency, request.start, caller, remaining_seconds)
        span, pricing = (request.start, request.end), self._pricing(request.agency, rate_card)
        found = rerated(events, rate_card, span, pricing, self._bearers)
        changed = [one for one in found if one.is_changed]
        if len(changed) > MAX_CHANGES:
            raise _too_large(f"changes {len(changed):,} events", f"at most {MAX_CHANGES:,} of them, in a shorter span")
        rerating = ReratingRequest(Rerating(request.rate_card, version, caller.name), request.reason)
        try:
            return {
                "rate_card": request.rate_card,
                "version": version,
                "accounts": _accounts(found),
                "changes": [_shown(one, rerating) for one in changed],
            }
        except ValueError as error:
            raise InvalidError(str(error)) from error

    def effect(self, request: EffectRequest, caller: Caller, remaining_seconds: Callable[[], float]) -> "api.Effect":
        """Return what the events of a span would be charged by a rate card that is not written yet.

        Events that an earlier rate card in the order of precedence prices stay as they are, and are left out. Raises
        ``InvalidError`` if it is another agency's, and ``TooLargeError`` as ``preview`` does.
        """
        _check_agency(request.document, request.agency)
        earlier = _earlier(request.document, request.agency)
        all_events = self._events(request.agency, request.start, caller, remaining_seconds)
        events = (one for one in all_events if not _is_priced_by(one, earlier))
        span, pricing = (request.start, request.end), self._pricing(request.agency, request.rate_card)
        found = rerated(events, request.rate_card, span, pricing, self._bearers)
        return {"rate_card": request.document, "accounts": _accounts(found)}

    def _rate_card(self, request: PreviewRequest) -> tuple[int, RateCard]:
        """Return the version of a rate card and its content."""
        _check_agency(request.rate_card, request.agency)
        latest = request.version is None
        values = (
            self.documents.latest(request.rate_card)
            if latest
            else self.documents.version(request.rate_card, request.version or 0)
        )
        rate_card = read_rate_card(exact_json.parse(values["content"]))
        if not isinstance(rate_card, RateCard):
            raise invalid("rate_card", f"is no rate card: {in_words(rate_card)}", "the document of a rate card")
        return int(values["version"]), rate_card

    def _pricing(self, agency: str, rate_card: RateCard) -> PricingOf:
        """Return what the charges of an agency's events depend on beside them."""
        document = agency_document(agency)
        found = self.documents.entities.get_many([latest_key(document)]) if rate_card.is_of_group else []
        groups, rounding = (
            RateCards(dict(zip([document], map(timeline_of, found), strict=False)), {}),
            self.settings.settings().rounding,
        )
        return lambda facts: Pricing(
            rounding, groups.group(agency, parse_iso(facts.get("time") or facts["recorded_at"]))
        )

    def _bearers(self, lines: Collection[Facts]) -> dict[Fee, Identity]:
        """Return which lines bear the fees of the orders of some lines."""
        found = self.order_fees.read(filter(None, map(order_key, lines)))
        return {(key, name): owner for key, fees in found.items() for name, owner in fees.owners.items()}

    def _events(
        self, agency: str, start: datetime, caller: Caller, remaining_seconds: Callable[[], float]
    ) -> Iterator[Facts]:
        """Yield the agency's events that were recorded from the start until now, as later ones refer to them."""
        paging = Paging(MAX_LIMIT, "")
        only = {"agency": agency}
        while True:
            page = self.ledger.events(start, instants.ALWAYS[1], only, paging, remaining_seconds, caller)
            yield from map(_facts, page.items)
            if page.after is None:
                return
            if remaining_seconds() < RESERVE_SECONDS:
                raise _too_large("has more events until now than a request can read", "a later beginning")
            paging = Paging(MAX_LIMIT, "", page.after)


def _check_agency(document: str, agency: str) -> None:
    own = document.removeprefix(RATE_CARD)
    if is_agency(own) and document != rate_card_name(agency):
        raise invalid("rate_card", "is the rate card of another agency", rate_card_name(agency))


def _earlier(document: str, agency: str) -> Callable[[str], bool]:
    """Return the function that returns whether another rate card comes before this one in the order of precedence."""
    own = rate_card_name(agency)
    if document == own:
        return lambda _: False
    return (lambda other: other == own) if document != DEFAULT_RATE_CARD else (lambda other: other != document)


def _is_priced_by(facts: Facts, of: Callable[[str], bool]) -> bool:
    found = rate_card_in(facts.get("terms", ""), facts["agency"])
    return found is not None and of(found[0])


def _accounts(found: Iterable[Rerated]) -> "list[api.ReratedAccount]":
    """Return the sums of each account."""
    return [
        {"agency": account.agency, "currency": account.currency, **sums_of(some)}
        for account, some in by_account(found).items()
    ]


def _facts(event: "Event") -> Facts:
    """Return the facts of an event that the API shows; of a re-rating, its JSON."""
    return {name: value if isinstance(value, str) else exact_json.canonical(value) for name, value in event.items()}


def _too_large(problem: str, expected: str) -> TooLargeError:
    message = f"the span {problem}: a preview takes {expected}; quarterhour rerate has no such limit"
    return TooLargeError(message, FieldProblem("from", problem, expected))


def _shown(one: Rerated, request: ReratingRequest) -> "api.ReratedEvent":
    """Return a change as the API shows it, with the events to post."""
    return {
        "source": one.facts["source"],
        "id": one.facts["id"],
        "recorded_at": one.facts["recorded_at"],
        "currency": one.facts["currency"],
        "amount": one.facts["amount"],
        "commission": money.plain(one.paid),
        "would_be": money.plain(one.due),
        "difference": money.plain(one.difference),
        "events": [one.adjustment(request)],
    }
