"""The maps of the reports of payment providers that come with the tools."""

from importlib import resources
from pathlib import Path
from typing import Final

from quarterhour.file_formats.csv.errors import MapError
from quarterhour.file_formats.csv.map import shipped_map, shipped_maps

_SHIPPED: Final = resources.files("quarterhour_tools.reconciliation") / "maps"
_TOML: Final = ".toml"


def shipped() -> list[str]:
    """Return the names of the maps: those of reports, and those of events, whose lines are their events."""
    return sorted({*_reports(), *shipped_maps()})


def _reports() -> set[str]:
    return {one.name.removesuffix(_TOML) for one in _SHIPPED.iterdir() if one.name.endswith(_TOML)}


def map_text(name: str) -> str:
    """Return the text of a map: a file, or the name of one that comes with the tools; raise ``MapError`` if neither."""
    try:
        if name in _reports():
            return (_SHIPPED / f"{name}{_TOML}").read_text("utf-8")
        return shipped_map(name) or Path(name).read_text("utf-8")
    except (OSError, UnicodeError) as error:
        known = ", ".join(shipped())
        raise MapError("map", f"cannot be read: {error}; the maps that come with the tools are {known}") from None
