"""The parties to statements that can be released: an owner, and agencies, with all that the checks need."""

from typing import Any, Final

from quarterhour_tools.replay.replay import Document
from tests.support.agencies import FULL

OWNER: Final[dict[str, Any]] = {
    "legal_name": "Corner Market Ltd",
    "address": "1 Dock Street\nLondon E1 8JN",
    "country": "GB",
    "vat_id": "GB980780684",
    "iban": "GB82WEST12345698765432",
}
EXEMPT: Final = {"scheme": "exempt"}


def registered(profile: dict[str, Any] = EXEMPT, **changed: Any) -> dict[str, Any]:
    """Return the content of an agency that collects, from the beginning on."""
    content = {name: value for name, value in FULL.items() if name != "valid_from"}
    return {**content, "collects": "agency", "tax": profile, **changed}


def parties(*agencies: str) -> list[Document]:
    """Return the documents of the owner and of agencies."""
    return [Document("/documents/owner", OWNER), *(Document(f"/agencies/{one}", registered()) for one in agencies)]
