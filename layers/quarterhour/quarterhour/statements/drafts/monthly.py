"""What rate cards charge for a month whatever is sold: fees, and what is missing to a minimum.

Registered agencies are charged: for the days on which they are registered, not closed, and a rate card with the charge
is valid for them. All is read as it was known when the run was planned, so a run that is repeated charges the same.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final, NamedTuple

from quarterhour.aws.items import chunks
from quarterhour.model import money
from quarterhour.model.clock import parse_iso
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import start_of, time_zone
from quarterhour.model.tiers import SHARE_PLACES
from quarterhour.registry.agencies.agency import AGENCIES
from quarterhour.registry.agencies.registration import ACTIVE
from quarterhour.registry.documents.keys import listed_range
from quarterhour.registry.documents.queries import KnownDocument, KnownDocuments
from quarterhour.registry.documents.timeline import version_at
from quarterhour.registry.rate_cards.charge import MonthlyCharge, PartMonths
from quarterhour.registry.rate_cards.plan import applicable
from quarterhour.registry.rate_cards.rate_card import RATE_CARDS, RateCard, rate_card_of
from quarterhour.statements.drafts.charge_sums import PeriodCharge, written
from quarterhour.statements.plan import StatementPlan
from quarterhour.statements.store import AgencyAt, StatementStores

_AT_A_TIME: Final = 500
_INSTANT: Final = timedelta(microseconds=1)
FEE: Final = "month/fee/"
FEE_BY_DAYS: Final = "month/fee_by_days/"
MINIMUM: Final = "month/minimum/"
"""How the definitions of monthly charges begin; the amount follows."""


class MonthlyTerm(NamedTuple):
    """A monthly charge, and the number of days of the month for which it is agreed, of all."""

    charge: MonthlyCharge
    days: int
    of: int


MonthlyTerms = Mapping[Account, Sequence[MonthlyTerm]]


def terms_of(days: Sequence[Iterable[MonthlyCharge]]) -> list[MonthlyTerm]:
    """Return the terms of a month from the charges of each of its days, by name.

    Of a charge that changes within the month, the last one is charged whole, and each by its days.
    """
    found: dict[tuple[str, MonthlyCharge | None], tuple[MonthlyCharge, int]] = {}
    for charges in days:
        for charge in charges:
            is_by_days = charge.part_months is PartMonths.BY_DAYS
            key = charge.name, charge if is_by_days else None
            found[key] = charge, found.get(key, (charge, 0))[1] + 1
    terms = [MonthlyTerm(charge, number, len(days)) for charge, number in found.values()]
    return sorted(terms, key=lambda term: (term.charge.name, term.charge.amount is None, term.charge.amount or 0))


def monthly_charges(terms: Iterable[MonthlyTerm], commission: Decimal) -> Iterator[PeriodCharge]:
    """Yield what a month charges by its terms; ``commission``: that of lines and tiers, which a minimum completes."""
    for charge, days, of in terms:
        if charge.minimum is not None:
            missing = money.subtract(charge.minimum, commission)
            basis = {"commission": written(commission)}
            amount = max(missing, money.ZERO)
            yield PeriodCharge(charge.name, MINIMUM + written(charge.minimum), amount, basis)
        elif charge.amount is not None:
            definition, amount = FEE + written(charge.amount), charge.amount
            if charge.part_months is PartMonths.BY_DAYS:
                definition = FEE_BY_DAYS + written(charge.amount)
                amount = money.part(charge.amount, Decimal(days), Decimal(of), SHARE_PLACES)
            yield PeriodCharge(charge.name, definition, amount, {"days": days, "of_days": of})


def read_terms(stores: StatementStores, plan: StatementPlan) -> MonthlyTerms:
    """Return the monthly charges of a period by account, of all agencies that have some."""
    rate_cards = _RateCards.read(stores, plan)
    terms: dict[Account, list[MonthlyTerm]] = {}
    if not rate_cards.currencies:
        return terms
    ends = _ends_of_days(plan)
    documents = KnownDocuments(stores.entities, parse_iso(plan.planned_at))
    names = [values["gsi1sk"] for values in stores.entities.read_index(listed_range(AGENCIES.name, None), _AT_A_TIME)]
    for some in chunks(names, _AT_A_TIME):
        for name, document in documents.documents(some).items():
            agency, agency_at = name.removeprefix(AGENCIES.prefix), AgencyAt(document)
            for currency in rate_cards.currencies:
                if found := terms_of([rate_cards.charges(agency, agency_at, currency, end) for end in ends]):
                    terms[Account(agency, currency)] = found
    return terms


def _ends_of_days(plan: StatementPlan) -> list[datetime]:
    """Return the last instant of each day of the period."""
    first, zone = plan.period.first_day, time_zone(plan.zone)
    days = range(1, plan.period.last_day.day + 1)
    return [start_of(first + timedelta(days=number), zone) - _INSTANT for number in days]


@dataclass(frozen=True, slots=True)
class _RateCards:
    """The rate cards as they were known, by name; ``currencies``: in which some of them charge by the month."""

    documents: Mapping[str, KnownDocument]
    currencies: Sequence[str]

    @classmethod
    def read(cls, stores: StatementStores, plan: StatementPlan) -> "_RateCards":
        known = KnownDocuments(stores.entities, parse_iso(plan.planned_at))
        listed = stores.entities.read_index(listed_range(RATE_CARDS.name, None), _AT_A_TIME)
        names = [values["gsi1sk"] for values in listed]
        documents = {
            name: document for some in chunks(names, _AT_A_TIME) for name, document in known.documents(some).items()
        }
        found = cls(documents, ())
        currencies = {
            rule.currency
            for document in documents.values()
            for rate_card in found._in_force(document, plan)
            for rule in rate_card.rules
            if rule.monthly and rule.currency
        }
        return cls(documents, sorted(currencies))

    def _in_force(self, document: KnownDocument, plan: StatementPlan) -> Iterator[RateCard]:
        """Yield the versions of a rate card that are in force at some time of a period."""
        first = version_at(document.timeline, plan.starts)
        for start in document.timeline:
            is_in_force = start.version == first or plan.starts < start.valid_from < plan.ends
            if is_in_force and (rate_card := self._version(document, start.version)):
                yield rate_card

    def charges(self, agency: str, agency_at: AgencyAt, currency: str, at: datetime) -> list[MonthlyCharge]:
        """Return the monthly charges of an agency at an instant: of the first rate card for all that it sells."""
        registered = agency_at(at)
        if registered is None or registered.status != ACTIVE:
            return []
        for name in applicable(agency, registered.group or ""):
            document = self.documents.get(name)
            rate_card = document and self._version(document, version_at(document.timeline, at))
            if rate_card and rate_card.is_valid(at):
                monthly = rate_card.monthly(currency)
                if monthly or _is_for_all(rate_card, currency):
                    return monthly
        return []

    @staticmethod
    def _version(document: KnownDocument, version: int | None) -> RateCard | None:
        content = None if version is None else document.content_of(version)
        return None if content is None else rate_card_of({"content": content})


def _is_for_all(rate_card: RateCard, currency: str) -> bool:
    """Return whether a rate card has a rule for all that is sold in a currency."""
    return any(
        rule.charges and rule.currency in {None, currency} and not (rule.category or rule.location or rule.product)
        for rule in rate_card.rules
    )
