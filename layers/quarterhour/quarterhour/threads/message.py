"""A message: what a body must hold to be one, and what is stored of it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from typing import Any, Final

from quarterhour.model import fields
from quarterhour.model.clock import iso_millis
from quarterhour.model.errors import ForbiddenError
from quarterhour.model.fields import NAME, Fields
from quarterhour.threads.keys import Place, Thread, claim_hash, claim_key
from quarterhour.web.access import Caller

MAX_TEXT: Final = 4000
"""Characters of a message."""

_TEXT: Final = f"1 to {MAX_TEXT} printable characters and line breaks, not all blank"
_ID: Final = f"{NAME}: the same each time the message is sent"
_FIELDS: Final = frozenset({"id", "user", "text"})
_PERIOD: Final = re.compile(r"\d{4}(-\d{2}(-\d{2}(T\d{2}(:\d{2}(:\d{2})?)?)?)?)?", re.ASCII)
_REST: Final = "0001-01-01T00:00:00+00:00"
"""Completes each beginning of an instant, from its length on."""
PERIOD: Final = "the beginning of a UTC instant: 2026, 2026-10, 2026-10-23, 2026-10-23T01, 2026-10-23T01:30"


@dataclass(frozen=True)
class Message:
    """What a user says in a thread; ``id`` tells a retry from another message."""

    thread: Thread
    user: str
    id: str
    text: str

    @cached_property
    def hash(self) -> str:
        """What the message is claimed under."""
        return claim_hash(self.thread, self.user, self.id)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of what it says: what a retry must repeat to be one."""
        return sha256(self.text.encode()).hexdigest()

    def claim(self, at: datetime) -> dict[str, Any]:
        """Return what fixes, before the message is written, when it was."""
        return {**claim_key(self.hash), "at": iso_millis(at), "digest": self.digest}

    def values(self, at: str) -> dict[str, Any]:
        """Return the item of the message, as written at an instant."""
        place, partition = Place.of(self.user, at, self.hash), self.thread.partition(self.user)
        keys = {"pk": partition, "sk": place.by_user, "gsi1pk": partition, "gsi1sk": place.by_time}
        return {**keys, "id": self.id, "text": self.text}


def read_message(thread: Thread, body: Mapping[str, Any], caller: Caller) -> Message:
    """Read the body of a request; a person speaks for themselves alone, a machine names the user.

    Raises ``InvalidError`` that tells what is wrong, all at once, or ``ForbiddenError``.
    """
    found = Fields(body)
    found.no_others(_FIELDS)
    id_ = found.value("id", _ID, fields.name)
    text = found.value("text", _TEXT, _text)
    user = found.value("user", NAME, fields.name, optional=not caller.is_machine)
    fields.refuse(found.problems, "a message as described")
    if not caller.is_machine:
        if user not in {None, caller.name}:
            raise ForbiddenError("user is somebody else: leave it out, your token tells who you are")
        if fields.name(caller.name) is None:
            # What can be no part of a key would leave the thread unreadable, for everybody.
            raise ForbiddenError(f"your token's subject (sub) can name no writer: that takes {NAME}")
        user = caller.name
    return Message(thread, user, id_, text)


def shown(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a message as it is shown."""
    place = Place.parse(values["sk"])
    return {"user": place.user, "at": place.at, "id": values["id"], "text": values["text"]}


def period(text: str) -> str:
    """Read the beginning of an instant; raise ``ValueError`` where it is none."""
    if not _PERIOD.fullmatch(text):
        raise ValueError(text)
    datetime.fromisoformat(text + _REST[len(text) :])
    return text


def _text(value: object) -> str | None:
    fits = isinstance(value, str) and 1 <= len(value) <= MAX_TEXT and bool(value.strip())
    return str(value) if fits and all(one.isprintable() or one in "\n\t" for one in str(value)) else None
