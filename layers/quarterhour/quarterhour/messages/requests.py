"""The request about messages that an operator's event can hold: `redact`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from quarterhour.messages.keys import SubjectKind, Thread
from quarterhour.model import fields
from quarterhour.model.fields import NAME, TEXT, Fields

_KIND: Final = f"one of {', '.join(SubjectKind)}"


@dataclass(frozen=True, slots=True)
class RedactRequest:
    """Remove the text of a user's message in a thread. ``by``: who decides, ``reason``: why."""

    thread: Thread
    user: str
    id: str
    by: str
    reason: str


def read_redaction(event: Mapping[str, Any]) -> RedactRequest | None:
    """Return the request that an operator's event holds, or ``None`` if its action is another.

    Raises ``InvalidError`` with every field that is wrong.
    """
    if event.get("action") != "redact":
        return None
    read = Fields(event)
    read.report_unknown(frozenset({"action", "kind", "subject", "user", "id", "by", "reason"}))
    kind = read.value("kind", _KIND, fields.member(SubjectKind))
    subject = read.value("subject", TEXT, fields.text)
    user, id_ = (read.value(name, NAME, fields.name) for name in ("user", "id"))
    by, reason = (read.value(name, TEXT, fields.text) for name in ("by", "reason"))
    fields.refuse(read.problems, "kind, subject, user, id, by and reason")
    return RedactRequest(Thread(kind, subject), user, id_, by, reason)
