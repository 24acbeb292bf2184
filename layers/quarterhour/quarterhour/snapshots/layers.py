"""Snapshot layers, and the parser of their setting."""

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

LAYERS: Final = "layers such as change=1h,5m=24h,1h=31d"

_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_SPAN: Final = re.compile(r"([1-9][0-9]*)([smhd])")


@dataclass(frozen=True, slots=True)
class Layer:
    """A snapshot layer. ``window`` is the length of its windows, or ``None`` for the layer of single changes."""

    name: str
    window: timedelta | None
    retention: timedelta


CHANGE: Final = "change"
"""The name of the layer that keeps every single change."""


def parse_layers(text: str) -> tuple[Layer, ...]:
    """Parse ``change=1h,5m=24h,1h=31d``: each layer is a name (a window length or ``change``) and its retention."""
    layers = tuple(_layer(part) for part in text.split(","))
    if len({layer.name for layer in layers}) < len(layers):
        raise ValueError("a layer is named twice")
    return layers


def _layer(part: str) -> Layer:
    name, _, retention = part.strip().partition("=")
    window = None if name == CHANGE else parse_span(name)
    if window is not None and timedelta(days=1) % window:
        raise ValueError(f"a day is not a multiple of {name}")
    return Layer(name, window, parse_span(retention))


def parse_span(text: str) -> timedelta:
    """Parse a duration such as ``90s``, ``5m``, ``24h`` or ``31d``."""
    match = _SPAN.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a duration such as 5m")
    return timedelta(seconds=int(match[1]) * _UNITS[match[2]])
