"""Webhooks of any sender: the payload is a CloudEvent, or a list of CloudEvents."""

from typing import Final

from quarterhour.file_formats.webhooks.delivery import Delivery, Mapped

_MOST: Final = 500
"""The most events of a delivery."""
_EXPECTED: Final = f"a CloudEvent, or a list of 1 to {_MOST}"


def events_of(delivery: Delivery) -> Mapped:
    """Return the events of a delivery. They keep their own sources; the connection's ``source`` replaces them."""
    payload, source = delivery.payload, delivery.settings.source
    events = payload if isinstance(payload, list) else [payload]
    if not 1 <= len(events) <= _MOST or not all(isinstance(one, dict) and "specversion" in one for one in events):
        return Mapped(problem=f"the payload is not {_EXPECTED}")
    return Mapped([{**one, "source": source} if source else one for one in events])
