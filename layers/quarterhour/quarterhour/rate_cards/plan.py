"""The rate cards that a batch of events needs, and the version of each that is in force at an instant."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Final, NamedTuple

from quarterhour.documents.timeline import Timeline, version_at
from quarterhour.rate_cards.rate_card import RateCard

Wanted = tuple[str, datetime]
"""An agency, and the instant at which its terms are asked for."""


class InForce(NamedTuple):
    """A card's version, as it is in force at some instant."""

    version: int
    card: RateCard


class RateCards(NamedTuple):
    """The cards of some agencies, as far as they were asked for."""

    timelines: Mapping[str, Timeline]
    versions: Mapping[tuple[str, int], RateCard]

    def at(self, agency: str, at: datetime) -> InForce | None:
        """Return the card in force for an agency at an instant; ``None`` where it has none then."""
        version = version_at(self.timelines.get(agency, ()), at)
        return None if version is None else InForce(version, self.versions[agency, version])

    def missing(self, wanted: Collection[Wanted]) -> set[tuple[str, int]]:
        """Return the versions that are in force when they are wanted, and not among these."""
        named = {(agency, version_at(self.timelines.get(agency, ()), at)) for agency, at in wanted}
        return {(agency, version) for agency, version in named if version} - self.versions.keys()


NO_RATE_CARDS: Final = RateCards({}, {})
