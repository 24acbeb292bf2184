"""The snapshots' keys in the Entity table, which are built and parsed only here."""

from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Final

from quarterhour.model.clock import iso_seconds
from quarterhour.snapshots.layers import Layer

WINDOW_SHARDS: Final = 4
"""The number of index partitions of one window, over which its entities are spread."""
_VERSION_DIGITS: Final = 12


def window_start(instant: datetime, window: timedelta) -> datetime:
    """Return the start of the window that contains the instant; windows are aligned to midnight UTC."""
    midnight = instant.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight + (instant - midnight) // window * window


def window_name(layer: Layer, start: datetime) -> str:
    """Return the name of a window, ``5m#2026-10-23T01:30:00Z``, which is the sort key of its states."""
    return f"{layer.name}#{iso_seconds(start)}"


def change_sk(layer: Layer, last_updated: str, version: int) -> str:
    """Return the sort key of a single change; changes of the same millisecond differ by their version."""
    return f"{layer.name}#{last_updated}#{version:0{_VERSION_DIGITS}d}"


def layer_sk(layer: Layer, instant: str) -> str:
    """Return the sort key from which a layer's states at or after an instant follow.

    ``instant`` is text, and can be a prefix of an instant.
    """
    return f"{layer.name}#{instant}"


def start_of(layer: Layer, sk: str) -> str:
    """Return the text after the layer in a sort key: a window's start, or a change's instant and version."""
    return sk.removeprefix(layer_sk(layer, ""))


def window_index(window: str, pk: str) -> dict[str, str]:
    """Return the index attributes by which ``EntityReader.read_window`` finds an entity's state in a window."""
    shard = sha256(pk.encode()).digest()[0] % WINDOW_SHARDS
    return {"gsi1pk": f"{window}#{shard}", "gsi1sk": pk}


def window_partitions(window: str) -> list[str]:
    """Return the index partitions of a window, in the order in which they are read."""
    return [f"{window}#{shard}" for shard in range(WINDOW_SHARDS)]
