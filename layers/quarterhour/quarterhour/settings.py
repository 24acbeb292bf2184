"""What a function reads from its environment, checked once, when it starts."""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import Final, Self, TypeVar

from quarterhour import money
from quarterhour.errors import SettingsError

T = TypeVar("T")

_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_SPAN: Final = re.compile(r"([1-9][0-9]*)([smhd])")


@dataclass(frozen=True, slots=True)
class Environment:
    """The variables of a process; each read names the variable, what stood there and what would be right."""

    variables: Mapping[str, str]

    @classmethod
    def of_process(cls) -> Self:
        """Return the environment of this process."""
        return cls(os.environ)

    def text(self, name: str) -> str:
        """Return a variable that must not be empty."""
        value = self.variables.get(name, "")
        if not value:
            raise SettingsError(f"{name} is not set")
        return value

    def integer(self, name: str, least: int = 0) -> int:
        """Return a whole number of at least ``least``."""
        return self.parsed(name, f"a whole number of at least {least}", lambda text: _at_least(least, int(text)))

    def days(self, name: str) -> timedelta:
        """Return a number of days."""
        return timedelta(days=self.integer(name))

    def seconds(self, name: str) -> timedelta:
        """Return a number of seconds."""
        return timedelta(seconds=self.integer(name))

    def rate(self, name: str) -> Decimal:
        """Return a share between 0 and 1."""
        return self.parsed(name, "a decimal from 0 to 1", _share)

    def currency(self, name: str) -> str:
        """Return the code of a currency; empty where there is to be none."""
        code = self.variables.get(name, "")
        if code and not money.is_currency(code):
            raise SettingsError(f"{name} is {code!r}: expected an ISO 4217 code such as EUR, or nothing")
        return code

    def layers(self, name: str) -> tuple["Layer", ...]:
        """Return the snapshot layers."""
        return self.parsed(name, "layers such as change=1h,5m=24h,1h=31d", parse_layers)

    def parsed(self, name: str, expected: str, parse: Callable[[str], T]) -> T:
        """Return a variable as ``parse`` reads it, which raises ``ValueError`` for what does not fit."""
        text = self.text(name)
        try:
            return parse(text)
        except ValueError as error:
            raise SettingsError(f"{name} is {text!r}: expected {expected}") from error


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


def _at_least(least: int, value: int) -> int:
    if value < least:
        raise ValueError(value)
    return value


def _share(text: str) -> Decimal:
    value = money.parse_decimal(text)
    if value is None or not 0 <= value <= 1:
        raise ValueError(text)
    return value
