"""Messages: the schema of a request's body, and the items that store a message."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from quarterhour.messages.keys import MessageKey, Thread, claim_hash, claim_key
from quarterhour.model import fields, texts
from quarterhour.model.clock import iso_millis
from quarterhour.model.errors import ForbiddenError
from quarterhour.model.fields import NAME, Fields
from quarterhour.web.access import Caller, Role

if TYPE_CHECKING:
    from quarterhour.messages import api

WRITERS: Final = (Role.AGENCY, Role.SUPPORT, Role.FINANCE)
"""The roles of people who may write messages. Who has two of them writes as the first."""
MAX_TEXT: Final = 4000
"""The largest number of characters in a message."""

_TEXT: Final = f"1 to {MAX_TEXT} printable characters and line breaks, not all blank"
_ID: Final = f"{NAME}: the same each time the message is sent"
_FIELDS: Final = frozenset({"id", "user", "text"})
_PERIOD: Final = re.compile(r"\d{4}(-\d{2}(-\d{2}(T\d{2}(:\d{2}(:\d{2})?)?)?)?)?", re.ASCII)
_REST: Final = "0001-01-01T00:00:00+00:00"
"""The text whose end completes the beginning of an instant."""
PERIOD: Final = "the beginning of a UTC instant: 2026, 2026-10, 2026-10-23, 2026-10-23T01, 2026-10-23T01:30"


@dataclass(frozen=True)
class Message:
    """A user's message in a thread; two messages with the same ``id`` are a message and its retry.

    ``role`` is that of a person, as whom they write; ``None`` for a user whom a machine names.
    """

    thread: Thread
    user: str
    id: str
    text: str
    role: Role | None = None

    @cached_property
    def hash(self) -> str:
        """The hash under which the message is claimed."""
        return claim_hash(self.thread, self.user, self.id)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the text; a retry has the same digest as the first try."""
        return sha256(self.text.encode()).hexdigest()

    def claim(self, at: datetime) -> dict[str, Any]:
        """Return the claim's item, which fixes the message's instant before the message is written."""
        return {**claim_key(self.hash), "at": iso_millis(at), "digest": self.digest}

    def values(self, at: str) -> dict[str, Any]:
        """Return the item of the message, written at an instant."""
        key, partition = MessageKey.of(self.user, at, self.hash), self.thread.partition(self.user)
        keys = {"pk": partition, "sk": key.by_user, "gsi1pk": partition, "gsi1sk": key.by_time}
        return {**keys, "id": self.id, "text": self.text, **({"role": self.role} if self.role else {})}


def read_message(thread: Thread, body: Mapping[str, Any], caller: Caller) -> Message:
    """Return the message in a request's body. A person writes as themselves; a machine names the user.

    Raises ``InvalidError`` with every problem in the body, or ``ForbiddenError``.
    """
    outer = Fields(body)
    outer.report_unknown(_FIELDS)
    id_ = outer.value("id", _ID, fields.name)
    text = outer.value("text", _TEXT, _text)
    user = outer.value("user", NAME, fields.name, optional=not caller.is_machine)
    fields.refuse(outer.problems, "a message as described")
    if not caller.is_machine:
        if user not in {None, caller.name}:
            raise ForbiddenError("user is not the subject (sub) of your token: leave it out")
        if fields.name(caller.name) is None:
            # A name that is not valid in a key would make the thread unreadable for everybody.
            raise ForbiddenError(f"your token's subject (sub) can name no writer: that takes {NAME}")
        user = caller.name
    return Message(thread, user, id_, text, caller.first_role(WRITERS))


def shown(values: Mapping[str, Any]) -> "api.Message":
    """Return a message as the API shows it."""
    key = MessageKey.parse(values["sk"])
    message: api.Message = {"user": key.user, "at": key.at, "id": values["id"], "text": values["text"]}
    if "role" in values:
        message["role"] = values["role"]
    removed = values.get("redacted")
    if removed:  # who removed a text is for operators, as who decided about a held event
        message["redacted"] = {"at": removed["at"], "reason": removed["reason"]}
    return message


def period(text: str) -> str:
    """Return the beginning of an instant; raise ``ValueError`` if the text is none."""
    if not _PERIOD.fullmatch(text):
        raise ValueError(text)
    datetime.fromisoformat(text + _REST[len(text) :])
    return text


def _text(value: object) -> str | None:
    if not isinstance(value, str):
        return None
    shown = texts.described_lines(value, lambda line: "\t".join(map(texts.visible, texts.of_name(line).split("\t"))))
    return shown if 1 <= len(shown) <= MAX_TEXT and shown.strip() else None
