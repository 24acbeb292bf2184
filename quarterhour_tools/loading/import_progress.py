"""How much of a file has been imported, kept beside the file, and the lock that keeps two imports of it apart."""

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import file_digest
from pathlib import Path
from typing import Final

from quarterhour_tools.errors import ToolError

FORMAT: Final = 1
"""The version of the progress file."""
_NAMES: Final = {
    "format": "another version of quarterhour",
    "sha256": "another file, or another version of this one",
    "address": "another deployment",
}


def digest_of(file: Path) -> str:
    """Return the SHA-256 of a file's bytes; raise ``ToolError`` if it cannot be read."""
    try:
        with file.open("rb") as content:
            return file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise ToolError(f"{file}: {error.strerror}") from error


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Keep other imports of a file on this machine out for the length of the block.

    Raises ``ToolError`` if another one is under way. The lock ends with the process.
    """
    try:
        content = file.open("rb")
    except OSError as error:
        raise ToolError(f"{file}: {error.strerror}") from error
    with content:
        try:
            fcntl.flock(content, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ToolError(f"{file} is imported by another process at this moment: wait for its end") from error
        yield


@dataclass(slots=True)
class ProgressFile:
    """How much of a file has been sent: kept next to the file, for the file's content and one deployment.

    ``address``: that of the deployment's API. ``done``: the number of the last line that was sent. ``missing``: the
    lines up to it that are not in the ledger.
    """

    path: Path
    sha256: str
    address: str
    done: int = 0
    missing: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, file: Path, sha256: str, address: str) -> "ProgressFile":
        """Return the progress of a file; raise ``ToolError`` if the stored one is of something else."""
        path = file.with_name(file.name + ".progress")
        if not path.exists():
            return cls(path, sha256, address)
        own = {"format": FORMAT, "sha256": sha256, "address": address}
        try:
            stored = json.loads(path.read_text("utf-8"))
            found = {name: stored[name] for name in own}
            done, missing = int(stored["done"]), [int(number) for number in stored["missing"]]
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise ToolError(f"{path} is no progress file: delete it to send everything") from error
        for name, right in own.items():
            if found[name] != right:
                raise ToolError(f"{path} is of {_NAMES[name]}: delete it to send everything")
        return cls(path, sha256, address, done, missing)

    def save(self) -> None:
        """Store the progress."""
        values = {"sha256": self.sha256, "address": self.address, "done": self.done, "missing": self.missing}
        temporary = self.path.with_name(self.path.name + ".new")
        temporary.write_text(json.dumps({"format": FORMAT, **values}), "utf-8")
        temporary.replace(self.path)
