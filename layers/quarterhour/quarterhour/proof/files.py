"""Reads the files that verification checks, and keeps every problem by the name of its file."""

import csv
from collections.abc import Iterable, Mapping
from typing import IO, Any, Final

from quarterhour.proof.reports import OpenObject
from quarterhour.reports.digests import hexdigest, stream_digest
from quarterhour.statements.document.files import rendered
from quarterhour.statements.keys import PAGE, STATEMENT, XML
from quarterhour.statements.listing import SealedObject

IN_MEMORY: Final = 16 << 20
"""Bytes of a file that are kept in memory; a larger one is copied to disk."""
UNREADABLE: Final = (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError, csv.Error)
"""The errors of reading a file that is not what it should be."""
_NAMES: Final = {PAGE: "page", XML: "XML"}
_LARGEST: Final = 16 << 20
"""Bytes of the largest file that is read at once."""


class CheckedFiles:
    """Files by key, compared with their sealed size and hash; ``problems`` names every difference."""

    def __init__(self, open_object: OpenObject) -> None:
        self._open = open_object
        self.problems: list[str] = []

    def problem(self, key: str, *problems: str) -> None:
        """Keep problems of a file."""
        self.problems += [f"{key}: {one}" for one in problems]

    def report(self, key: str, problems: Iterable[str]) -> None:
        """Keep problems of a file as they are found."""
        self.problem(key, *problems)

    def unreadable(self, key: str, error: Exception) -> None:
        """Keep the problem that a file is not what it should be."""
        self.problem(key, f"cannot be read: {error!r}")

    def content(self, key: str, sealed: SealedObject | None = None) -> bytes | None:
        """Return the content of a small file; ``None`` if it is missing or too large."""
        try:
            with self._open(key) as file:
                content = file.read(_LARGEST + 1)
        except FileNotFoundError as error:
            self._missing(key, error)
            return None
        if len(content) > _LARGEST:
            self.problem(key, f"has more than {_LARGEST:,} bytes")
            return None
        self._compare(key, SealedObject(hexdigest(content), len(content)), sealed)
        return content

    def has(self, key: str) -> bool:
        """Return whether a file is there."""
        try:
            with self._open(key):
                return True
        except FileNotFoundError:
            return False

    def check_rendered(self, prefix: str, document: Mapping[str, Any], found: Mapping[str, bytes | None]) -> None:
        """Compare the files that follow from a statement's document with those found, by name; ``None``: unreadable."""
        expected = rendered(document)
        for name in (PAGE, XML):
            if name in expected and name not in found:
                self.problem(prefix + name, "is missing")
            elif found.get(name) is not None and found[name] != expected.get(name):
                self.problem(prefix + name, f"is not the {_NAMES[name]} of {STATEMENT}")

    def copy(self, key: str, copy: IO[bytes] | Any, sealed: SealedObject | None = None) -> SealedObject | None:  # noqa: ANN401 - a temporary file
        """Copy a file, and return its hash and size; ``None`` if it is missing. The copy is at its beginning."""
        try:
            with self._open(key) as file:
                digest = stream_digest(file, copy=copy)
        except FileNotFoundError as error:
            self._missing(key, error)
            return None
        found = SealedObject(digest, copy.tell())
        copy.seek(0)
        self._compare(key, found, sealed)
        return found

    def _missing(self, key: str, error: FileNotFoundError) -> None:
        self.problem(key, error.strerror or "is missing")

    def _compare(self, key: str, found: SealedObject, sealed: SealedObject | None) -> None:
        if sealed and found.size != sealed.size:
            self.problem(key, f"size: expected {sealed.size}, found {found.size}")
        if sealed and found.sha256 != sealed.sha256:
            self.problem(key, f"SHA-256: expected {sealed.sha256}, found {found.sha256}")
