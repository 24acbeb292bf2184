"""Requests to convert a part of a CSV file, or to propose a map for one."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from quarterhour.file_formats.csv.column_names import PARTS
from quarterhour.file_formats.csv.errors import MapError
from quarterhour.file_formats.csv.guess import Given
from quarterhour.file_formats.csv.map import CsvMap, load_map, shipped_map, shipped_maps
from quarterhour.file_formats.csv.parts import PartPlace
from quarterhour.model import fields
from quarterhour.model.errors import FieldProblem, InvalidError
from quarterhour.model.fields import Fields, printable
from quarterhour.model.texts import described
from quarterhour.web.bodies import MAX_FILE, file_content

MAX_MAP: Final = 50_000
"""Characters of a map."""
MAX_SETTING: Final = 1000
"""Characters of a value that a map asks for."""
_PART: Final = f"a part of the file in Base64, at most {MAX_FILE} bytes"
_MAP: Final = f"a map as TOML of at most {MAX_MAP} characters, or the name of a map: {{}}"
_FILE_NAME: Final = f"the name of a file, 1 to {MAX_SETTING} printable characters"
_COLUMNS: Final = f"an object with a column of the file for some parts of an event: {', '.join(PARTS)}"
_SETTING: Final = f"text of at most {MAX_SETTING} characters"


class PartRequest(NamedTuple):
    """A part of a file: its bytes, the map with the values that it asks for, its place, and whether it is the last."""

    content: bytes
    map: CsvMap
    settings: dict[str, str]
    place: PartPlace | None
    last: bool


def read_part(body: Mapping[str, Any]) -> PartRequest:
    """Return the request in a body; raise ``InvalidError`` with every problem in it."""
    read = Fields(body)
    read.report_unknown(frozenset({"map", "settings", "part", "last", "next"}))
    csv_map = read.value("map", _MAP.format(", ".join(shipped_maps())), _map)
    given = read.value("settings", "an object", lambda value: value if isinstance(value, dict) else None, optional=True)
    content = read.value("part", _PART, file_content)
    last = read.value("last", "true or false", lambda value: value if isinstance(value, bool) else None)
    place = read.value("next", "next of the answer about the part before", _place, optional=True)
    settings = _settings(csv_map, read.within("settings", given or {})) if csv_map else {}
    fields.refuse(read.problems, "a part of a file and its map")
    return PartRequest(content, csv_map, settings, place, last)


class MapRequest(NamedTuple):
    """The beginning of a file for which a map is proposed: its bytes, what is said of it, and whether they are all."""

    content: bytes
    given: Given
    last: bool


def read_map_request(body: Mapping[str, Any]) -> MapRequest:
    """Return the request in a body; raise ``InvalidError`` with every problem in it."""
    read = Fields(body)
    read.report_unknown(frozenset({"part", "name", "last", "source", "columns"}))
    content = read.value("part", _PART, file_content)
    name = read.value("name", _FILE_NAME, _file_name, optional=True)
    last = read.value("last", "true or false", lambda value: value if isinstance(value, bool) else None)
    source = read.value("source", fields.NAME, fields.name, optional=True)
    columns = read.value("columns", _COLUMNS, _columns, optional=True)
    fields.refuse(read.problems, "the beginning of a file")
    return MapRequest(content, Given(name or "file.csv", source, columns or {}), last)


def refused(field: str, error: Exception) -> InvalidError:
    """Return the error for a map or a file that cannot be used, in the words of the command."""
    text = printable(error)
    return InvalidError(text, FieldProblem(field, text, "what docs/csv.md describes"))


def _map(value: object) -> CsvMap | None:
    if not isinstance(value, str) or len(value) > MAX_MAP:
        return None
    try:
        return load_map(shipped_map(value) or value)
    except MapError as error:
        raise ValueError(printable(error)) from error


def _settings(csv_map: CsvMap, given: Fields) -> dict[str, str]:
    """Return the values that a map asks for, and those given in place of its own.

    Each that is missing has the meaning that the map gives it as problem.
    """
    given.report_unknown(frozenset({*csv_map.settings, *csv_map.values}))
    found = {name: given.value(name, f"{meaning}: {_SETTING}", _setting) for name, meaning in csv_map.settings.items()}
    found |= {name: given.value(name, _SETTING, _setting, optional=True) for name in csv_map.values}
    return {name: value for name, value in found.items() if value}


def _setting(value: object) -> str | None:
    return value if isinstance(value, str) and 1 <= len(value) <= MAX_SETTING else None


def _columns(value: object) -> dict[str, str] | None:
    if not isinstance(value, dict) or not value.keys() <= {*PARTS}:
        return None
    return value if all(isinstance(one, str) and one for one in value.values()) else None


def _file_name(value: object) -> str | None:
    return (described(value, MAX_SETTING) or None) if isinstance(value, str) else None


def _place(value: object) -> PartPlace | None:
    return PartPlace.parse(value) if isinstance(value, str) else None
