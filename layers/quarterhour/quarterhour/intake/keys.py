"""The keys of the inbox bucket: files, their results, the rows that were seen of them, and the maps of CSV files."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from quarterhour.model.identifiers import base58_prefix

INBOX: Final = "inbox/"
RESULTS: Final = "results/"
MAPS: Final = "maps/"
SEEN: Final = "seen/"
FORMS: Final = "inbox/NAME.ndjson or inbox/MAP/NAME.csv, each plain or .gz"
"""The keys that a file may have."""

_LONGEST_KEY: Final = 1024
"""The most bytes of a key in S3."""
_HASH_LENGTH: Final = 22
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
    """Return the key of the result of one content of a file.

    If it would be too long for S3, the end of the file's name is cut off for a hash of it.
    """
    name, end = key.removeprefix(INBOX).encode(), f"/{etag}.json"
    room = _LONGEST_KEY - len(RESULTS) - len(end)
    if len(name) > room:
        digest = base58_prefix(sha256(name).digest(), _HASH_LENGTH)
        name = name[: room - len(digest) - 1].decode(errors="ignore").encode() + b"~" + digest.encode()
    return f"{RESULTS}{name.decode()}{end}"


def seen_key(key: str, etag: str, upload: str, part: int) -> str:
    """Return the key of what a part of a CSV file must know of the rows before it."""
    name = sha256(f"{key}\n{etag}\n{upload}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"{SEEN}{name}-{part}.sqlite"


def map_key(name: str) -> str:
    """Return the key of a map of the deployment's own."""
    return f"{MAPS}{name}.toml"
