"""The bodies of requests about statements: a change of the status, the dispute of a line, its resolution."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from quarterhour.model import fields
from quarterhour.model.fields import NAME, TEXT, Fields
from quarterhour.model.identifiers import Identity
from quarterhour.statements.status.keys import MOST_CHANGES
from quarterhour.statements.status.plan import Status, StatusRequest

_STATUS: Final = f"one of {', '.join(Status)}"
_SEEN: Final = "the number of changes that was seen, a whole number, or 0 for none"


class DisputeRequest(NamedTuple):
    """A request to dispute a line, and why."""

    line: Identity
    reason: str


def read_status(body: Mapping[str, Any]) -> StatusRequest:
    """Return the change of a status in a request's body; raise ``InvalidError`` with every problem in it."""
    outer = Fields(body)
    outer.report_unknown(frozenset({"status", "reason", "seen"}))
    status = outer.value("status", _STATUS, fields.member(Status))
    reason = outer.value("reason", TEXT, fields.text)
    seen = outer.value("seen", _SEEN, _seen)
    fields.refuse(outer.problems, "status, reason and seen")
    return StatusRequest(status, reason, seen)


def read_dispute(body: Mapping[str, Any]) -> DisputeRequest:
    """Return the dispute in a request's body; raise ``InvalidError`` with every problem in it."""
    outer = Fields(body)
    outer.report_unknown(frozenset({"source", "id", "reason"}))
    source, id_ = (outer.value(name, NAME, _stored_name) for name in ("source", "id"))
    reason = outer.value("reason", TEXT, fields.text)
    fields.refuse(outer.problems, "source, id and reason")
    return DisputeRequest(Identity(source, id_), reason)


def read_resolution(body: Mapping[str, Any]) -> str:
    """Return why a dispute is resolved, from a request's body; raise ``InvalidError`` with every problem in it."""
    outer = Fields(body)
    outer.report_unknown(frozenset({"reason"}))
    reason = outer.value("reason", TEXT, fields.text)
    fields.refuse(outer.problems, "reason")
    return str(reason)


def _seen(value: object) -> int | None:
    seen = fields.whole(value)
    return seen if seen is not None and seen <= MOST_CHANGES else None


def _stored_name(value: object) -> str | None:
    return fields.name(value)
