"""The settings of a function: environment variables, checked once, when the function starts."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Self, TypeVar

from quarterhour.model.errors import SettingsError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Environment:
    """The environment variables of a process.

    Every method raises ``SettingsError``, which names the variable, its value and what is expected.
    """

    variables: Mapping[str, str]

    @classmethod
    def of_process(cls) -> Self:
        """Return the environment of this process as it is now."""
        return cls(dict(os.environ))

    def text(self, name: str) -> str:
        """Return a variable, which must not be empty."""
        value = self.variables.get(name, "")
        if not value:
            raise SettingsError(f"{name} is not set")
        return value

    def check(self, *names: str) -> None:
        """Refuse variables that are empty, before they are used."""
        for name in names:
            self.text(name)

    def integer(self, name: str, minimum: int = 0) -> int:
        """Return a whole number of at least ``minimum``."""
        return self.parsed(name, f"a whole number of at least {minimum}", lambda text: _at_least(minimum, int(text)))

    def days(self, name: str) -> timedelta:
        """Return a number of days."""
        return timedelta(days=self.integer(name))

    def seconds(self, name: str) -> timedelta:
        """Return a number of seconds."""
        return timedelta(seconds=self.integer(name))

    def parsed(self, name: str, expected: str, parse: Callable[[str], T]) -> T:
        """Return a variable as ``parse`` converts it; ``parse`` raises ``ValueError`` for an invalid text."""
        text = self.text(name)
        try:
            return parse(text)
        except ValueError as error:
            raise SettingsError(f"{name} is {text!r}: expected {expected}") from error

    def optional(self, name: str, expected: str, parse: Callable[[str], T]) -> T | None:
        """Return a variable as ``parse`` converts it; ``None`` if the variable is empty or missing."""
        return self.parsed(name, expected, parse) if self.variables.get(name) else None


def _at_least(minimum: int, value: int) -> int:
    if value < minimum:
        raise ValueError(value)
    return value
