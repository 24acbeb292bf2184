"""Finds recorded events by one text: a source and an id, or an id alone."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.workers import Workers
from quarterhour.ledger.postings.posting import Facts
from quarterhour.ledger.reading.queries import EventLookup
from quarterhour.ledger.reading.sealed_index import all_sources
from quarterhour.model.fields import is_name
from quarterhour.model.identifiers import SEPARATOR, Identity
from quarterhour.web.access import Caller

if TYPE_CHECKING:
    from quarterhour.ledger.reading import api

MAX_IDENTITIES: Final = 100
"""The most events that are looked up: one BatchGetItem."""
_BETWEEN: Final = (SEPARATOR, " ", "/")
"""What can separate a source from an id."""
_SPLITS: Final = 3


@dataclass(frozen=True, slots=True)
class EventSearch:
    """Searches for events of the first sources by name."""

    entities: EntityReader
    events: EventLookup
    workers: Workers

    def found(self, text: str, caller: Caller, most: int) -> "api.FoundEvents":
        """Return the events that a text names and the caller may see, at most some.

        ``all_sources``: whether they were looked for in all sources, and not only in the first ones.
        """
        listed = self.entities.read(all_sources(), MAX_IDENTITIES)
        sources = [values["sk"] for values in islice(listed, MAX_IDENTITIES)]
        recorded = self.events.find_all(identities_in(text, sources), self.workers)
        visible = sorted(
            (one for one in recorded if caller.may_see(one["agency"])), key=lambda one: (one["source"], one["id"])
        )
        return {
            "events": [_found(one) for one in visible[:most]],
            "all_sources": len(sources) < MAX_IDENTITIES,
        }


def _found(event: Facts) -> "api.FoundEvent":
    return {
        "source": event["source"],
        "id": event["id"],
        "type": event["type"],
        "agency": event["agency"],
        "currency": event["currency"],
        "amount": event["amount"],
        "recorded_at": event["recorded_at"],
    }


def identities_in(text: str, sources: Iterable[str]) -> list[Identity]:
    """Return the events that a text can mean: a source and an id, or the id of an event of one of some sources."""
    found = chain(_split(text), ((source, text) for source in sources))
    named = (Identity(*pair) for pair in found if all(map(is_name, pair)))
    return list(islice(dict.fromkeys(named), MAX_IDENTITIES))


def _split(text: str) -> Iterator[tuple[str, str]]:
    for between in _BETWEEN:
        pieces = text.split(between)
        for place in range(1, min(len(pieces), _SPLITS + 1)):
            yield between.join(pieces[:place]), between.join(pieces[place:])
