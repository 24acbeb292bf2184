"""Snapshot layers: the windows whose states are kept, and for how long."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final


@dataclass(frozen=True, slots=True)
class Layer:
    """A snapshot layer. ``window`` is the length of its windows, or ``None`` for the layer of single changes."""

    name: str
    window: timedelta | None
    retention: timedelta


CHANGE: Final = "change"
"""The name of the layer that keeps every single change."""

LAYERS: Final = (
    Layer(CHANGE, None, timedelta(hours=1)),
    Layer("5m", timedelta(minutes=5), timedelta(hours=24)),
    Layer("1h", timedelta(hours=1), timedelta(days=31)),
)
"""The layers of this system; a day is a multiple of each window."""
