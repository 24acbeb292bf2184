"""The agencies of events whose payloads name them by their ids at the provider, which the registry knows."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from quarterhour.file_formats.webhooks.delivery import Provider
from quarterhour.file_formats.webhooks.payload import PayloadError
from quarterhour.model import clock
from quarterhour.model.fields import shown

AgenciesWithIds = Callable[[str, Collection[str]], Mapping[str, str]]
"""A function that returns the agency with each external id at a provider, of those that the registry knows."""

_FRESH_FOR: Final = timedelta(minutes=1)
_MOST: Final = 10_000
"""The most ids that a process keeps."""


@dataclass(slots=True)
class AgenciesById:
    """Names agencies in place of their external ids; each process keeps those that it found for up to a minute."""

    read: AgenciesWithIds
    _known: dict[tuple[str, str], tuple[str, datetime]] = field(default_factory=dict)

    def named(self, provider: Provider, events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return events whose subjects are agencies in place of their ids; raise ``PayloadError`` for an unknown id."""
        found = self._agencies(provider, {one["subject"] for one in events if "subject" in one})
        return [{**one, "subject": found[one["subject"]]} if "subject" in one else one for one in events]

    def _agencies(self, provider: Provider, ids: Collection[str]) -> dict[str, str]:
        now = clock.now()
        found = {id_: one[0] for id_ in ids if (one := self._known.get((provider, id_))) and now < one[1]}
        unknown = sorted(id_ for id_ in ids if id_ not in found)
        read = self.read(provider, unknown) if unknown else {}
        if missing := [id_ for id_ in unknown if id_ not in read]:
            raise PayloadError(f"no agency has the {provider} id {' or '.join(map(shown, missing[:3]))}: register it")
        if len(self._known) > _MOST:
            self._known.clear()
        self._known |= {(provider, id_): (agency, now + _FRESH_FOR) for id_, agency in read.items()}
        return {**found, **read}
