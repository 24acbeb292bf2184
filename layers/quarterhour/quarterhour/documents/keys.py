"""The documents' keys in the Entity table, built and parsed here alone."""

from typing import Final

from quarterhour.aws.entity import Key
from quarterhour.model.fields import MAX_TEXT, is_name
from quarterhour.model.identifiers import SEPARATOR

DOCUMENTS: Final = f"DOCUMENT{SEPARATOR}"
"""The prefix of the partition keys of all documents."""
RATE_CARD: Final = "rate-card:"
"""The prefix of the names of the agencies' rate cards."""
REPORT: Final = "report:"
"""The prefix of the names under which the permissions of report runs are stored."""
MAX_NAME: Final = MAX_TEXT + len(RATE_CARD)
NAME: Final = f"1 to {MAX_NAME} printable characters without {SEPARATOR!r}"

_LATEST: Final = "v_0"
_VERSION: Final = "v_"
_DIGITS: Final = 8
MAX_VERSION: Final = 10**_DIGITS - 1
NUMBER: Final = f"a whole number from 1 to {MAX_VERSION}"


def document_pk(document: str) -> str:
    """Return the partition key of all items of a document: ``DOCUMENT#rate-card:42``."""
    return f"{DOCUMENTS}{document}"


def latest_key(document: str) -> Key:
    """Return the key of the latest version, which sorts before all versions of the history."""
    return {"pk": document_pk(document), "sk": _LATEST}


def version_key(document: str, version: int) -> Key:
    """Return the key of a version in the history, from 1 on."""
    return {"pk": document_pk(document), "sk": version_sk(version)}


def version_sk(version: int) -> str:
    """Return the sort key of a version in the history: ``v_00000003``."""
    return f"{_VERSION}{version:0{_DIGITS}d}"


def version_of(sk: str) -> int:
    """Return the version of a sort key; raise ``ValueError`` if it is no key of the history."""
    version = int(sk.removeprefix(_VERSION))
    if not 1 <= version <= MAX_VERSION or version_sk(version) != sk:
        raise ValueError(f"{sk!r} is no version")
    return version


def metadata_key(document: str) -> Key:
    """Return the key of a document's metadata."""
    return {"pk": document_pk(document), "sk": "metadata"}


def permissions_key(document: str) -> Key:
    """Return the key of a document's permissions."""
    return {"pk": document_pk(document), "sk": "permissions"}


def document_name(text: str) -> str:
    """Return a document's name; raise ``ValueError`` if the text is no valid name."""
    if not is_name(text, MAX_NAME):
        raise ValueError(text)
    return text


def version_number(text: str) -> int:
    """Return the number of a version; raise ``ValueError`` if the text is no valid number."""
    return version_of(f"{_VERSION}{text:0>{_DIGITS}}")


def rate_card_name(agency: str) -> str:
    """Return the name of the document that holds an agency's rate card."""
    return f"{RATE_CARD}{agency}"


def agency_of(pk: str) -> str:
    """Return the agency of a rate card's partition key; raise ``ValueError`` for any other key."""
    prefix = document_pk(RATE_CARD)
    if not pk.startswith(prefix):
        raise ValueError(f"{pk!r} is no rate card")
    return pk.removeprefix(prefix)


def report(run: str) -> str:
    """Return the name under which a report run's permissions are stored."""
    return f"{REPORT}{run}"
