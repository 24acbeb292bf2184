"""Rate cards from a folder, for `quarterhour replay`: one JSON file each, named by its document."""

from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from quarterhour.model import exact_json
from quarterhour.model.clock import iso_exact
from quarterhour.model.errors import in_words
from quarterhour.model.instants import ALWAYS
from quarterhour.registry.documents.keys import RATE_CARD, is_rate_card
from quarterhour.registry.rate_cards.rate_card import RATE_CARDS, RateCard, read_rate_card
from quarterhour_tools.errors import ToolError
from quarterhour_tools.target.remote import segment

FILE_HELP: Final = (
    "a folder with one JSON file per rate card, named by its document, such as rate-card:42.json, "
    "rate-card:default.json or rate-card:group/eu.json; or percent-encoded, rate-card%%3Agroup%%2Feu.json"
)
_SUFFIX: Final = ".json"


class RateCardFile(NamedTuple):
    """A rate card from a file: the name of its document, and its content."""

    document: str
    content: dict[str, Any]

    @property
    def path(self) -> str:
        """The path of its request."""
        return f"/documents/{segment(self.document)}"


def read(folder: Path) -> list[RateCardFile]:
    """Return the rate cards of a folder and its subfolders; one without ``valid_from`` is valid from the beginning.

    Raises ``ToolError`` if there is none, or a file is no rate card or has the name of none.
    """
    if not folder.is_dir():
        raise ToolError(f"{folder} is no folder")
    found: dict[str, RateCardFile] = {}
    for file in sorted(folder.rglob(f"*{_SUFFIX}")):
        document = unquote(file.relative_to(folder).as_posix().removesuffix(_SUFFIX))
        name = document.removeprefix(RATE_CARD)
        if name == document or not is_rate_card(name):
            raise ToolError(f"{file} is not named by a rate card: expected {RATE_CARDS.names}")
        if document in found:
            raise ToolError(f"{folder} holds {document} twice")
        found[document] = RateCardFile(document, _content(file))
    if not found:
        raise ToolError(f"{folder} holds no rate card: expected {FILE_HELP.replace('%%', '%')}")
    return list(found.values())


def _content(file: Path) -> dict[str, Any]:
    try:
        content: Any = exact_json.parse(file.read_bytes().decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise ToolError(f"{file} is not JSON: {error}") from error
    if isinstance(content, dict):
        content.setdefault("valid_from", iso_exact(ALWAYS[0]))
    rate_card = read_rate_card(content)
    if not isinstance(rate_card, RateCard):
        raise ToolError(f"{file} is not a rate card: {in_words(rate_card)}")
    return dict(content)
