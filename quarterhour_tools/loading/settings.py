"""The settings from a JSON file, for `quarterhour settings`, `quarterhour up --settings` and `quarterhour replay`."""

import argparse
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from quarterhour.model import exact_json
from quarterhour.model.errors import in_words
from quarterhour.registry.settings.settings import DEFAULTS, FIELDS, SettingsContent, read_settings
from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading.owner import register
from quarterhour_tools.output import as_json
from quarterhour_tools.target.deployment import api, configure_target

NAME: Final = "settings"
DESCRIPTION: Final = (
    "Write the settings of the marketplace from a JSON file, if the latest version differs; or show those that are "
    "written, with the defaults of the others. Running it again changes nothing."
)
FILE_HELP: Final = f"a JSON object with any of {', '.join(FIELDS)}"
PATH: Final = "/documents/settings"
"""The path of the document."""
_FOUND: Final = 200
_MISSING: Final = 404


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """The settings in a file: the content of the document."""

    content: dict[str, Any]
    path: str = PATH


def read(file: Path) -> SettingsFile:
    """Return the settings in a file; raise ``ToolError`` with every problem if they are invalid."""
    try:
        content: Any = exact_json.parse(file.read_bytes().decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ToolError(f"{file} is not JSON: {error}") from error
    settings = read_settings(content)
    if not isinstance(settings, SettingsContent):
        raise ToolError(f"{file}: {in_words(settings)}")
    # All numbers are whole but the rate, which may be a number, too.
    return SettingsFile({name: _plain(value) for name, value in content.items()})


def _plain(value: object) -> object:
    if not isinstance(value, Decimal):
        return value
    return int(value) if value == int(value) else str(value)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour settings``."""
    chosen = parser.add_mutually_exclusive_group(required=True)
    chosen.add_argument("file", nargs="?", type=Path, metavar="FILE", help=FILE_HELP)
    chosen.add_argument("--show", action="store_true", help="print the settings as JSON, and change nothing")
    configure_target(parser)


def run(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    send = api(args).send
    if not args.show:
        print(f"settings: {register(read(args.file), send)}")
        return 0
    status, found = send("GET", PATH, None)
    if status not in {_FOUND, _MISSING}:
        raise ToolError(f"GET {PATH} failed with {status}: {found}")
    written: dict[str, Any] = found if status == _FOUND else {"version": 0, "content": {}}
    print(as_json({**written, "content": {**DEFAULTS, **written["content"]}}))
    return 0
