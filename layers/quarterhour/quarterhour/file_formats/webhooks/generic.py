"""Webhooks of any sender: the payload is a CloudEvent, or a list of CloudEvents, or what the connection's map reads."""

from typing import Final

from quarterhour.file_formats.webhooks.delivery import Delivery, Mapped

_MOST: Final = 500
"""The most events of a delivery."""
_EXPECTED: Final = f"a CloudEvent, or a list of 1 to {_MOST}"


def events_of(delivery: Delivery) -> Mapped:
    """Return the events of a delivery. They keep their own sources; the connection's ``source`` replaces them.

    Raises ``PayloadError`` if the connection has a map that cannot read the payload.
    """
    payload, settings = delivery.payload, delivery.settings
    if settings.map:
        # Loaded for a map of the connection's own alone, so that a function starts without it.
        from quarterhour.file_formats.webhooks.own_map import events_by  # noqa: PLC0415

        return _with_source(events_by(settings.map, payload), settings.source)
    events = payload if isinstance(payload, list) else [payload]
    if not 1 <= len(events) <= _MOST or not all(isinstance(one, dict) and "specversion" in one for one in events):
        return Mapped(problem=f"the payload is not {_EXPECTED}")
    return _with_source(Mapped(events), settings.source)


def _with_source(found: Mapped, source: str) -> Mapped:
    return found._replace(events=[{**one, "source": source} if source else one for one in found.events])
