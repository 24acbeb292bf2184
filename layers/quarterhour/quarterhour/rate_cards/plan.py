"""The rate cards that price a batch of events, and the version of each that is in force at an instant."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Final, NamedTuple

from quarterhour.documents.timeline import Timeline, version_at
from quarterhour.rate_cards.rate_card import RateCard

RateCardQuery = tuple[str, datetime]
"""An agency, and the instant at which its rate card must be in force."""


class InForce(NamedTuple):
    """The rate card in force at some instant, with its version."""

    version: int
    rate_card: RateCard


class RateCards(NamedTuple):
    """The timelines of some agencies' rate cards, and the versions that have been read."""

    timelines: Mapping[str, Timeline]
    versions: Mapping[tuple[str, int], RateCard]

    def at(self, agency: str, at: datetime) -> InForce | None:
        """Return the rate card in force for an agency at an instant, or ``None`` if it has none."""
        version = version_at(self.timelines.get(agency, ()), at)
        return None if version is None else InForce(version, self.versions[agency, version])

    def missing(self, queries: Collection[RateCardQuery]) -> set[tuple[str, int]]:
        """Return the agency and version of each rate card that answers one of the queries and has not been read."""
        in_force = {(agency, version_at(self.timelines.get(agency, ()), at)) for agency, at in queries}
        return {(agency, version) for agency, version in in_force if version} - self.versions.keys()


NO_RATE_CARDS: Final = RateCards({}, {})
