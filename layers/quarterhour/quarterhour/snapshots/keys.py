"""The snapshots' keys in the Entity table, built and parsed here alone."""

from datetime import UTC, datetime, timedelta
from typing import Final

from quarterhour.model.clock import iso_seconds
from quarterhour.snapshots.layers import Layer

_VERSION_DIGITS: Final = 12


def window_start(instant: datetime, window: timedelta) -> datetime:
    """Return the start of the window that holds the instant; windows begin at midnight UTC."""
    midnight = instant.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight + (instant - midnight) // window * window


def window_name(layer: Layer, start: datetime) -> str:
    """Return the name of a window, which is the sort key of a state in it: ``5m#2026-10-23T01:30:00Z``."""
    return f"{layer.name}#{iso_seconds(start)}"


def change_sk(layer: Layer, last_updated: str, version: int) -> str:
    """Return the sort key of a single change; the version tells apart changes of the same millisecond."""
    return f"{layer.name}#{last_updated}#{version:0{_VERSION_DIGITS}d}"


def layer_sk(layer: Layer, instant: str) -> str:
    """Return where a layer's states from an instant (or a prefix of one, as text) on stand in the sort order."""
    return f"{layer.name}#{instant}"


def start_of(layer: Layer, sk: str) -> str:
    """Read when a state's window began, or its change was (with a version behind it), as text."""
    return sk.removeprefix(layer_sk(layer, ""))
