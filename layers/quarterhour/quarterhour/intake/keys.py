"""The keys of the inbox bucket: files, their results, and the maps of CSV files."""

from dataclasses import dataclass
from typing import Final

INBOX: Final = "inbox/"
RESULTS: Final = "results/"
MAPS: Final = "maps/"
FORMS: Final = "inbox/NAME.ndjson or inbox/MAP/NAME.csv, each plain or .gz"
"""The keys that a file may have."""

_GZIP: Final = ".gz"
_CSV: Final = ".csv"
_LINES: Final = (".ndjson", ".jsonl")


class UnreadableError(Exception):
    """A file of the inbox cannot be read; the message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class InboxForm:
    """What the key of a file says of its content.

    ``map``: the name of the map of a CSV file; empty for NDJSON. ``settings``: the values that the map asks for.
    """

    is_gzip: bool
    map: str
    settings: dict[str, str]


def form_of(key: str) -> InboxForm:
    """Return the form of a file by its key; raise ``UnreadableError`` if it has none.

    ``inbox/stripe/agency=42/2026-11.csv.gz``: gzip of CSV, with the map ``stripe`` and the setting ``agency``.
    """
    *folders, name = key.removeprefix(INBOX).split("/")
    is_gzip = name.endswith(_GZIP)
    name = name.removesuffix(_GZIP)
    if name.endswith(_LINES):
        return InboxForm(is_gzip, "", {})
    if not name.endswith(_CSV):
        raise UnreadableError(f"the key does not tell the form of the file: write {FORMS}")
    if not folders:
        raise UnreadableError(f"the key names no map for the CSV file: write {INBOX}MAP/{name}")
    settings = dict(one.split("=", 1) for one in folders[1:] if "=" in one)
    return InboxForm(is_gzip, folders[0], settings)


def result_key(key: str, etag: str) -> str:
    """Return the key of the result of one content of a file."""
    return f"{RESULTS}{key.removeprefix(INBOX)}/{etag}.json"


def map_key(name: str) -> str:
    """Return the key of a map of the deployment's own."""
    return f"{MAPS}{name}.toml"
