"""The documents' keys in the Entity table, built and parsed here alone."""

from typing import Final

from quarterhour.aws.entity import Key
from quarterhour.model.fields import MAX_TEXT, is_name
from quarterhour.model.identifiers import SEPARATOR

DOCUMENTS: Final = f"DOCUMENT{SEPARATOR}"
"""What the partition keys of all documents begin with."""
RATE_CARD: Final = "rate-card:"
"""What the names of the agencies' rate cards begin with."""
REPORT: Final = "report:"
"""What the names begin with under which the permissions of the report runs stand."""
MAX_NAME: Final = MAX_TEXT + len(RATE_CARD)
NAME: Final = f"1 to {MAX_NAME} printable characters without {SEPARATOR!r}"

_LATEST: Final = "v_0"
_VERSION: Final = "v_"
_DIGITS: Final = 8
MAX_VERSION: Final = 10**_DIGITS - 1
NUMBER: Final = f"a whole number from 1 to {MAX_VERSION}"


def document_pk(document: str) -> str:
    """Return the partition of all that stands of a document: ``DOCUMENT#rate-card:42``."""
    return f"{DOCUMENTS}{document}"


def latest_key(document: str) -> Key:
    """Return the key of the latest version: sorts before all of the history."""
    return {"pk": document_pk(document), "sk": _LATEST}


def version_key(document: str, version: int) -> Key:
    """Return the key of a version in the history, from 1 on."""
    return {"pk": document_pk(document), "sk": version_sk(version)}


def version_sk(version: int) -> str:
    """Return a version's place in the history: ``v_00000003``."""
    return f"{_VERSION}{version:0{_DIGITS}d}"


def version_of(sk: str) -> int:
    """Read the version from its sort key; raise ``ValueError`` where it is none of the history."""
    version = int(sk.removeprefix(_VERSION))
    if not 1 <= version <= MAX_VERSION or version_sk(version) != sk:
        raise ValueError(f"{sk!r} is no version")
    return version


def metadata_key(document: str) -> Key:
    """Return the key of what is told of the document as a whole."""
    return {"pk": document_pk(document), "sk": "metadata"}


def permissions_key(document: str) -> Key:
    """Return the key of who may read it."""
    return {"pk": document_pk(document), "sk": "permissions"}


def document_name(text: str) -> str:
    """Read a document's name; raise ``ValueError`` where none can have it."""
    if not is_name(text, MAX_NAME):
        raise ValueError(text)
    return text


def version_number(text: str) -> int:
    """Read the number of a version; raise ``ValueError`` where none can have it."""
    return version_of(f"{_VERSION}{text:0>{_DIGITS}}")


def rate_card_name(agency: str) -> str:
    """Return the name of an agency's rate card."""
    return f"{RATE_CARD}{agency}"


def agency_of(pk: str) -> str:
    """Read the agency from the partition key of its rate card; raise ``ValueError`` where it is none."""
    prefix = document_pk(RATE_CARD)
    if not pk.startswith(prefix):
        raise ValueError(f"{pk!r} is no rate card")
    return pk.removeprefix(prefix)


def report(run: str) -> str:
    """Return the name under which a run's permissions stand."""
    return f"{REPORT}{run}"
