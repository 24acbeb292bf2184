"""The tables of a map in TOML, from which each entry is taken once, and which refuse what is left."""

from typing import Self

from quarterhour.file_formats.csv.errors import MapError
from quarterhour.file_formats.csv.numbers import OPEN


class Section:
    """One table of a map. As a context, it refuses entries at the end that were not taken."""

    def __init__(self, content: object, name: str) -> None:
        if not isinstance(content, dict):
            raise MapError(name, "must be a table")
        self._content: dict[str, object] = dict(content)
        self.name = name

    def __enter__(self) -> Self:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if error is None:
            for key in self._content:
                raise MapError(self.path(key), "is unknown here")

    def __contains__(self, key: str) -> bool:
        return key in self._content

    def path(self, key: str) -> str:
        """Return the full name of an entry."""
        return f"{self.name}.{key}" if self.name else key

    def is_text(self, key: str, text: str) -> bool:
        """Return whether an entry is a text, without removing it."""
        return self._content.get(key) == text

    def peek(self, key: str) -> object:
        """Return an entry without removing it; `None` if it is not there."""
        return self._content.get(key)

    def names(self) -> list[str]:
        """Return the names of the entries that were not taken."""
        return list(self._content)

    def take(self, key: str, default: object = None) -> object:
        """Remove and return an entry; without a default it must exist."""
        value = self._content.pop(key, default)
        if value is None:
            raise MapError(self.path(key), "is missing")
        return value

    def section(self, key: str) -> "Section":
        """Remove and return a table; empty if it is not there."""
        return Section(self.take(key, {}), self.path(key))

    def text(self, key: str, default: str | None = None) -> str:
        """Remove and return a text, which must not be open."""
        value = self.take(key, default)
        if not isinstance(value, str):
            raise MapError(self.path(key), "must be text in quotes")
        return self.decided(key, value)

    def texts(self, key: str, *default: str) -> tuple[str, ...]:
        """Remove and return a list of texts, of which none is open."""
        value = self.take(key, list(default))
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise MapError(self.path(key), "must be a list of texts")
        return tuple(self.decided(key, item) for item in value)

    def is_open(self, key: str) -> bool:
        """Remove an entry that is still to be decided, and return whether it is."""
        return self._content.get(key) == OPEN and self._content.pop(key) == OPEN

    def texts_or_text(self, key: str) -> tuple[str, ...]:
        """Remove and return a list of texts, or a single text."""
        return (self.text(key),) if isinstance(self.peek(key), str) else self.texts(key)

    def decided(self, key: str, value: str) -> str:
        """Return a value of the map; raise `MapError` if it is still to be decided."""
        if value == OPEN:
            raise MapError(self.path(key), f'is still "{OPEN}": answer the question')
        return value

    def number(self, key: str) -> int | None:
        """Remove and return a whole number above 0; `None` if it is not there."""
        value = self._content.pop(key, None)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            raise MapError(self.path(key), "must be a whole number above 0")
        return value

    def flag(self, key: str, *, default: bool) -> bool:
        """Remove and return true or false."""
        value = self.take(key, default)
        if not isinstance(value, bool):
            raise MapError(self.path(key), "must be true or false")
        return value
