"""The rate cards that price a batch of events: which documents apply to an agency, and their versions in force.

An event is priced by the first rate card with a rule for it: its agency's, that of its agency's group, the default one.
"""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from typing import Final, NamedTuple

from quarterhour.registry.documents.keys import (
    DEFAULT_RATE_CARD,
    agency_document,
    group_rate_card_name,
    is_agency,
    rate_card_name,
)
from quarterhour.registry.documents.timeline import Timeline, start_at, version_at
from quarterhour.registry.rate_cards.rate_card import RateCard

RateCardQuery = tuple[str, datetime]
"""An agency, and the instant at which its rate cards must be in force."""
Version = tuple[str, int]
"""A document and the number of one of its versions."""


def own_documents(agency: str) -> tuple[str, ...]:
    """Return the documents of an agency alone: its registration and its own rate card.

    An agency that cannot be registered has none: its rate card would have the name of a group's or the default one.
    """
    return (agency_document(agency), rate_card_name(agency)) if is_agency(agency) else ()


def applicable(agency: str, group: str) -> tuple[str, ...]:
    """Return the rate cards for the events of an agency in a group, or (``""``) in none, in the order of precedence."""
    own = rate_card_name(agency) if is_agency(agency) else ""
    of_group = group_rate_card_name(group) if group else ""
    return tuple(filter(None, (own, of_group, DEFAULT_RATE_CARD)))


class InForce(NamedTuple):
    """A rate card in force at some instant: its document, its version and its content."""

    document: str
    version: int
    rate_card: RateCard


class LookedAt(NamedTuple):
    """A rate card that was looked at for an event, with its version in force, or without one if none was."""

    document: str
    version: int | None = None
    rate_card: RateCard | None = None


class RateCards(NamedTuple):
    """The timelines of some agencies' registrations and rate cards, and the versions of rate cards that were read.

    Both are by the names of their documents; a document that does not exist has no timeline.
    """

    timelines: Mapping[str, Timeline]
    versions: Mapping[Version, RateCard]

    def is_registered(self, agency: str) -> bool:
        """Return whether an agency is registered, from whichever instant on."""
        return agency_document(agency) in self.timelines

    def group(self, agency: str, at: datetime) -> str:
        """Return the group of an agency at an instant; empty if it is in none, or not registered then."""
        start = start_at(self.timelines.get(agency_document(agency), ()), at)
        return "" if start is None else start.label

    def at(self, agency: str, group: str, at: datetime) -> Iterator[InForce]:
        """Yield the rate cards in force at an instant for an agency in a group then, in the order of precedence."""
        for document, version in self._in_force(agency, group, at):
            rate_card = self.versions[document, version]
            if rate_card.is_valid(at):  # one that has ended leaves events to the next
                yield InForce(document, version, rate_card)

    def group_rate_cards(self, queries: Collection[RateCardQuery]) -> set[str]:
        """Return the rate cards of the agencies' groups that answer one of the queries."""
        groups = {self.group(agency, at) for agency, at in queries}
        return {group_rate_card_name(group) for group in groups if group}

    def missing(self, queries: Collection[RateCardQuery]) -> set[Version]:
        """Return each version of a rate card that answers one of the queries and has not been read."""
        found = {one for agency, at in queries for one in self._in_force(agency, self.group(agency, at), at)}
        return found - self.versions.keys()

    def _in_force(self, agency: str, group: str, at: datetime) -> Iterator[Version]:
        for document in applicable(agency, group):
            version = version_at(self.timelines.get(document, ()), at)
            if version is not None:
                yield document, version


NO_RATE_CARDS: Final = RateCards({}, {})
