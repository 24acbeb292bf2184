"""Copies of sealed files on this machine: what the tables read, fetched once, as sealed files never change."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from quarterhour.aws.workers import Workers
from quarterhour_tools.bucket import Objects
from quarterhour_tools.errors import ToolError
from quarterhour_tools.warehouse.tables import SealedTable

_AT_ONCE: Final = 8
_READ: Final = (".csv", ".csv.gz", "/manifest.json")
"""How the keys of the files end whose rows the views show."""
_PARTS: Final = ".parts"
"""Where a file is until it is whole: outside what the tables read."""


def copy_sealed(objects: Objects, tables: Iterable[SealedTable], folder: Path) -> int:
    """Copy the objects that the tables read and that the folder lacks; return their number.

    A file appears when it is whole, so a copy that was interrupted goes on where it stopped. Raises ``ToolError`` for
    an object whose key leads out of the folder.
    """
    prefixes = tuple(table.prefix for table in tables)
    keys = [key for key in objects.keys() if key.startswith(prefixes) and key.endswith(_READ)]  # noqa: SIM118

    def copy(key: str) -> int:
        file = folder / key
        if not file.resolve().is_relative_to(folder.resolve()):
            raise ToolError(f"the bucket has an object with the key {key!r}, which leads out of the folder")
        if file.exists():
            return 0
        file.parent.mkdir(parents=True, exist_ok=True)
        part = folder / _PARTS / key
        part.parent.mkdir(parents=True, exist_ok=True)
        with objects.open(key) as content:
            part.write_bytes(content.read())
        part.replace(file)
        return 1

    return sum(Workers(_AT_ONCE).map(copy, keys))
