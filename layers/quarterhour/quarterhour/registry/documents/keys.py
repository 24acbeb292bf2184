"""The documents' keys in the Entity table, built and parsed here alone."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from quarterhour.aws.entity import IndexRange, Key
from quarterhour.model.fields import MAX_TEXT, is_name
from quarterhour.model.identifiers import SEPARATOR

DOCUMENTS: Final = f"DOCUMENT{SEPARATOR}"
"""The prefix of the partition keys of all documents."""
AGENCY: Final = "agency:"
"""The prefix of the names of the agencies' own documents."""
RATE_CARD: Final = "rate-card:"
"""The prefix of the names of rate cards."""
GROUP: Final = "group/"
"""What follows that prefix in the name of a group's rate card."""
DEFAULT_RATE_CARD: Final = f"{RATE_CARD}default"
"""The name of the rate card for every agency."""
REPORT: Final = "report:"
"""The prefix of the names under which the permissions of report runs are stored."""
MAX_NAME: Final = MAX_TEXT + len(RATE_CARD) + len(GROUP)
ALIASES: Final = f"ALIAS{SEPARATOR}"
"""The prefix of the partition keys of aliases."""
FREE: Final = ""
"""The document of an alias that one has given up."""
NAME: Final = f"1 to {MAX_NAME} printable characters without {SEPARATOR!r}"

AGENCY_NAME: Final = (
    f'1 to {MAX_TEXT} printable characters without {SEPARATOR!r}, and no blank at either end; not "default", "*" or a '
    f'name that begins with "{GROUP}", which would be taken for the rate cards of others'
)
"""The names that a registered agency can have, and so those of an agency with a rate card."""
_RESERVED: Final = ("default", "*")

_LISTS: Final = f"DOCUMENTS{SEPARATOR}"
_FIRST_NAME: Final = " "
_LAST_NAME: Final = "\U0010ffff"
"""Before the first and after the last name in the order of an index; no name has a character like the last."""
_LATEST: Final = "v_0"
_VERSION: Final = "v_"
_DIGITS: Final = 8
MAX_VERSION: Final = 10**_DIGITS - 1
NUMBER: Final = f"a whole number from 1 to {MAX_VERSION}"


class Alias(NamedTuple):
    """A further name that only one document may have: a text in a ``list``, such as a vendor of a shop."""

    list: str
    text: str


def alias_key(alias: Alias) -> Key:
    """Return the key of the item that says whose an alias is."""
    return {"pk": f"{ALIASES}{alias.list}", "sk": alias.text}


def alias_in(key: Mapping[str, str]) -> Alias:
    """Return the alias of a key."""
    return Alias(key["pk"].removeprefix(ALIASES), key["sk"])


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


def proposal_key(document: str) -> Key:
    """Return the key of the last proposal of a version of a document."""
    return {"pk": document_pk(document), "sk": "proposal"}


def permissions_key(document: str) -> Key:
    """Return the key of a document's permissions."""
    return {"pk": document_pk(document), "sk": "permissions"}


def document_name(text: str) -> str:
    """Return a document's name; raise ``ValueError`` if the text is no valid name."""
    if not is_name(text, MAX_NAME):
        raise ValueError(text)
    return text


def agency_name(text: str) -> str:
    """Return an agency's name; raise ``ValueError`` if no agency of that name can be registered."""
    if not is_agency(text):
        raise ValueError(text)
    return text


def version_number(text: str) -> int:
    """Return the number of a version; raise ``ValueError`` if the text is no valid number."""
    return version_of(f"{_VERSION}{text:0>{_DIGITS}}")


def rate_card_name(agency: str) -> str:
    """Return the name of the document that holds an agency's rate card."""
    return f"{RATE_CARD}{agency}"


def group_rate_card_name(group: str) -> str:
    """Return the name of the document that holds a group's rate card."""
    return f"{RATE_CARD}{GROUP}{group}"


def agency_document(agency: str) -> str:
    """Return the name of the document that registers an agency."""
    return f"{AGENCY}{agency}"


def is_agency(name: str) -> bool:
    """Return whether an agency of this name can be registered and have a rate card."""
    return is_name(name) and name not in _RESERVED and not name.startswith(GROUP)


def is_rate_card(name: str) -> bool:
    """Return whether a rate card of this name, without its prefix, applies to any agency."""
    return is_agency(name) or name == "default" or (name.startswith(GROUP) and is_name(name.removeprefix(GROUP)))


def document_of(pk: str) -> str:
    """Return the document of a partition key; raise ``ValueError`` for any other key."""
    if not pk.startswith(DOCUMENTS):
        raise ValueError(f"{pk!r} is no document")
    return pk.removeprefix(DOCUMENTS)


def listing(kind: str, document: str) -> dict[str, str]:
    """Return the index attributes by which the documents of a kind are listed, in the order of their names."""
    return {"gsi1pk": f"{_LISTS}{kind}", "gsi1sk": document}


def listed_range(kind: str, after: str | None) -> IndexRange:
    """Return the documents of a kind in the index: all, or those from a name on, that name included."""
    return IndexRange("gsi1", f"{_LISTS}{kind}", _FIRST_NAME if after is None else after, _LAST_NAME)


def report(run: str) -> str:
    """Return the name under which a report run's permissions are stored."""
    return f"{REPORT}{run}"
