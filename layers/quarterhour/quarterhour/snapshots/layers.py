"""Snapshot layers: their names, the length of their windows, how long they are kept."""

import re
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

LAYERS: Final = "layers such as change=1h,5m=24h,1h=31d"

_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_SPAN: Final = re.compile(r"([1-9][0-9]*)([smhd])")


@dataclass(frozen=True, slots=True)
class Layer:
    """A snapshot layer: its name, the length of its windows (``None``: one a change), how long they are kept."""

    name: str
    window: timedelta | None
    kept: timedelta


CHANGE: Final = "change"
"""The layer that keeps each single change."""


def parse_layers(text: str) -> tuple[Layer, ...]:
    """Read ``change=1h,5m=24h,1h=31d``: name (a window length or ``change``) = how long it is kept."""
    layers = tuple(_layer(part) for part in text.split(","))
    if len({layer.name for layer in layers}) < len(layers):
        raise ValueError("a layer is named twice")
    return layers


def _layer(part: str) -> Layer:
    name, _, kept = part.strip().partition("=")
    window = None if name == CHANGE else parse_span(name)
    if window is not None and timedelta(days=1) % window:
        raise ValueError(f"a day is no multiple of {name}")
    return Layer(name, window, parse_span(kept))


def parse_span(text: str) -> timedelta:
    """Read a span of time such as ``90s``, ``5m``, ``24h``, ``31d``."""
    match = _SPAN.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no span of time")
    return timedelta(seconds=int(match[1]) * _UNITS[match[2]])
