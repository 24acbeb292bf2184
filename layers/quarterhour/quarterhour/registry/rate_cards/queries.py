"""Reading the rate cards of an agency, now or as they were for a recorded event, from their documents' histories."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from quarterhour.aws.entity import Range, Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.model.clock import parse_iso
from quarterhour.registry.documents.keys import (
    MAX_VERSION,
    RATE_CARD,
    agency_document,
    document_pk,
    version_key,
    version_sk,
)
from quarterhour.registry.rate_cards.plan import LookedAt, Version, applicable
from quarterhour.registry.rate_cards.rate_card import rate_card_of

_VERSIONS_A_PAGE: Final = 5
"""How many versions of a document are read at a time; as a rule, the newest one is found first."""


@dataclass(frozen=True, slots=True)
class RateCardQueries:
    """Reads the rate cards that apply to an agency."""

    entities: EntityReader

    def in_force(self, agency: str, at: datetime, now: datetime) -> Iterator[tuple[str, Values]]:
        """Yield the rate cards in force for an agency at an instant: documents and versions, in order of precedence."""
        for document in self._applicable(agency, at, now):
            values = self._in_force(document, at, now)
            if values is not None:
                yield document, values

    def looked_at(
        self, agency: str, at: datetime, recorded_at: datetime, applied: Version | None
    ) -> Iterator[LookedAt]:
        """Yield the rate cards that were looked at for an agency's event, up to the one that applied, if one did.

        ``at``: the instant at which they had to be in force. Versions written after the event are left out.
        """
        for document in self._applicable(agency, at, recorded_at):
            if applied and document == applied[0]:
                break
            values = self._in_force(document, at, recorded_at)
            yield _looked_at(document, values)
        if applied:
            yield self.version(applied)

    def version(self, applied: Version) -> LookedAt:
        """Return a version of a rate card."""
        return _looked_at(applied[0], self.entities.get(version_key(*applied)))

    def _applicable(self, agency: str, at: datetime, recorded_at: datetime) -> Iterator[str]:
        """Yield the rate cards for an agency in the order of precedence; its group is read only if it is needed."""
        first, *_ = applicable(agency, "")
        yield first
        registration = self._in_force(agency_document(agency), at, recorded_at) or {}
        yield from applicable(agency, registration.get("label", ""))[1:]

    def _in_force(self, document: str, at: datetime, recorded_at: datetime) -> Values | None:
        history = Range(document_pk(document), version_sk(1), version_sk(MAX_VERSION), descending=True)
        for values in self.entities.read(history, _VERSIONS_A_PAGE):
            if parse_iso(values["written_at"]) <= recorded_at and parse_iso(values["valid_from"]) <= at:
                return values if _is_valid(document, values, at) else None
        return None


def _is_valid(document: str, values: Values, at: datetime) -> bool:
    """Return whether what is in force at an instant has not ended by then, as a rate card may."""
    return not document.startswith(RATE_CARD) or rate_card_of(values).is_valid(at)


def _looked_at(document: str, values: Values | None) -> LookedAt:
    return LookedAt(document, int(values["version"]), rate_card_of(values)) if values else LookedAt(document)
