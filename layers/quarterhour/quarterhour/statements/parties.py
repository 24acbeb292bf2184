"""The parties to a statement: the owner who issues it, and the agency that receives it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple, Self

from quarterhour.registry.agencies.agency import Agency
from quarterhour.registry.owner import Owner


class PartyVersions(NamedTuple):
    """The newest versions known of the owner and of the agency; 0 if none is."""

    owner: int = 0
    agency: int = 0

    @classmethod
    def of(cls, values: Iterable[Any]) -> Self:
        """Parse the versions as they are stored."""
        return cls(*map(int, values))


NO_VERSIONS: Final = PartyVersions()


@dataclass(frozen=True, slots=True)
class Parties:
    """Who issues a statement and who receives it, as it shows them; ``agency`` is ``None`` if not registered then.

    ``agency_at``: returns the agency as registered at an instant. ``versions``: known of both.
    """

    owner: Owner
    agency: Agency | None
    agency_at: Callable[[datetime], Agency | None]
    versions: PartyVersions = NO_VERSIONS
