"""What recording needs to know of an agency: whether it is registered and closed, and by which ids of others."""

from enum import Enum
from typing import Final

from quarterhour.model import fields

ACTIVE: Final = "active"
CLOSED: Final = "closed"
STATUSES: Final = (ACTIVE, CLOSED)
"""Sales of a closed agency are held."""


class Registration(Enum):
    """Whether an agency is registered, from whichever instant on, and closed now."""

    NONE = "none"
    ACTIVE = "active"
    CLOSED = "closed"


def external_id(text: object) -> str | None:
    """Return a text as an id in the form in which it is registered; ``None`` if it can be none."""
    return fields.label(text)
