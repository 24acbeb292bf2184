"""The owner of the marketplace from a JSON file, for `quarterhour owner` and `quarterhour replay --owner`."""

import argparse
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, Protocol

from quarterhour.model import exact_json
from quarterhour.model.errors import in_words
from quarterhour.registry.owner import FIELDS, FOR_STATEMENTS, Owner, read_owner
from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading.agencies import CHANGED, CREATED, UNCHANGED, Send
from quarterhour_tools.target.deployment import api, configure_target

NAME: Final = "owner"
DESCRIPTION: Final = (
    "Register the owner of the marketplace from a JSON file, if the latest version differs, and print what a "
    "complete statement lacks. Running it again changes nothing."
)

FILE_HELP: Final = (
    f"a JSON object with legal_name and any of {', '.join(FIELDS[1:])}; "
    f"a complete statement needs {', '.join(FOR_STATEMENTS)}"
)
PATH: Final = "/documents/owner"
"""The path of the document."""
_FOUND: Final = 200
_MISSING: Final = 404
_WRITTEN: Final = frozenset({200, 201})


@dataclass(frozen=True, slots=True)
class OwnerFile:
    """The owner in a file: the content of the document, and the fields that a complete statement lacks."""

    content: dict[str, Any]
    missing: list[str]
    path: str = PATH


def read(file: Path) -> OwnerFile:
    """Return the owner in a file; raise ``ToolError`` with every problem if it is invalid."""
    try:
        content: Any = exact_json.parse(file.read_bytes().decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ToolError(f"{file} is not JSON: {error}") from error
    owner = read_owner(content, "")
    if not isinstance(owner, Owner):
        raise ToolError(f"{file}: {in_words(owner)}")
    # The days are the only number.
    plain = {name: int(value) if isinstance(value, Decimal) else value for name, value in content.items()}
    return OwnerFile(plain, owner.missing)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour owner``."""
    parser.add_argument("file", type=Path, metavar="FILE", help=FILE_HELP)
    configure_target(parser)


def run(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    owner = read(args.file)
    print(f"owner: {register(owner, api(args).send)}")
    if owner.missing:
        print(f"A complete statement also needs: {', '.join(owner.missing)}")
    return 0


class DocumentFile(Protocol):
    """A document in a file: its content, and the path of the document."""

    @property
    def content(self) -> dict[str, Any]:
        """The content."""

    @property
    def path(self) -> str:
        """The path."""


def register(document: DocumentFile, send: Send) -> str:
    """Write a document if the latest version differs; return what was done. Raises ``ToolError`` if it is refused."""
    status, existing = send("GET", document.path, None)
    if status not in {_FOUND, _MISSING}:
        raise ToolError(f"GET {document.path} failed with {status}: {existing}")
    seen, before = (existing["version"], existing["content"]) if status == _FOUND else (0, None)
    if before == document.content:
        return UNCHANGED
    status, answer = send("PUT", document.path, {"seen": seen, "content": document.content})
    if status not in _WRITTEN:
        raise ToolError(f"PUT {document.path} failed with {status}: {answer.get('detail', answer)}")
    return CHANGED if seen else CREATED
