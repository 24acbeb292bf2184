"""Keys of the releases: objects in the bucket, and items of the Entity table; built and parsed only here."""

import re
from typing import Final

from quarterhour.aws.entity import Key, Range
from quarterhour.statements.keys import LIST, MANIFEST, STATEMENTS, WORK

PROGRESS_KEY: Final[Key] = {"pk": "CONTROL", "sk": "releases"}
"""The key of the control item with the last release, the next numbers, and the plan under way."""
_DIGITS: Final = 6
_PARTITION: Final = "RELEASE"
RELEASES: Final = f"{STATEMENTS}releases/"
"""The prefix of the files of all releases."""
_MANIFEST: Final = re.compile(r"statements/releases/(\d{6})/manifest\.json", re.ASCII)
_LIST: Final = re.compile(r"statements/releases/(\d{6})/statements\.csv", re.ASCII)


def _folder(number: int) -> str:
    return f"{RELEASES}{number:0{_DIGITS}d}/"


def release_manifest_key(number: int) -> str:
    """Return the object key of a release's manifest: ``statements/releases/000007/manifest.json``."""
    return f"{_folder(number)}{MANIFEST}"


def release_list_key(number: int) -> str:
    """Return the object key of the list of a release: ``statements/releases/000007/statements.csv``."""
    return f"{_folder(number)}{LIST}"


def release_of_manifest(key: str) -> int | None:
    """Parse the number of a release from the object key of its manifest; return ``None`` for any other key."""
    match = _MANIFEST.fullmatch(key)
    return int(match[1]) if match else None


def release_of_list(key: str) -> int | None:
    """Parse the number of a release from the object key of its list; return ``None`` for any other key."""
    match = _LIST.fullmatch(key)
    return int(match[1]) if match else None


def release_roster_key(number: int) -> str:
    """Return the object key of the numbered documents of a release: ``work/releases/000007/roster.jsonl.gz``."""
    return f"{WORK}releases/{number:0{_DIGITS}d}/roster.jsonl.gz"


def release_written_key(number: int, group: int) -> str:
    """Return the object key of the rows of a written group: ``work/releases/000007/written-0003.jsonl.gz``."""
    return f"{WORK}releases/{number:0{_DIGITS}d}/written-{group:04d}.jsonl.gz"


def release_key(number: int) -> Key:
    """Return the key of a finished release's item."""
    return {"pk": _PARTITION, "sk": f"{number:0{_DIGITS}d}"}


def releases(after: str | None = None) -> Range:
    """Return the items of the releases, the newest first, from the sort key ``after`` on."""
    return Range(_PARTITION, "0", "9" * _DIGITS, descending=True, after=after, consistent=True)
