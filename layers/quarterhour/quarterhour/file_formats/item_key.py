"""The key of an item within its order, from texts that an export file and a webhook both have."""

import json
from collections.abc import Iterable
from hashlib import sha256
from typing import Final

from quarterhour.model import texts

_LENGTH: Final = 12


def key_of(parts: Iterable[str], length: int = _LENGTH) -> str:
    """Return hexadecimal digits for texts, whatever their letters and blanks: an id may hold them, names may not."""
    written = json.dumps([texts.with_single_blanks(one) for one in parts])
    return sha256(written.encode()).hexdigest()[:length]
