"""The decisions about a held event, `release` and `discard`, in an operator's event or in the body of a request."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from quarterhour.model import fields
from quarterhour.model.fields import NAME, TEXT, Fields
from quarterhour.model.identifiers import Identity


@dataclass(frozen=True, slots=True)
class ReleaseRequest:
    """Post a held event without what it waits for. ``by``: who decides, ``reason``: why."""

    identity: Identity
    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class DiscardRequest:
    """Discard a held event. ``by``: who decides, ``reason``: why."""

    identity: Identity
    by: str
    reason: str


DecisionRequest = ReleaseRequest | DiscardRequest

_DECISIONS: Final[Mapping[str, Callable[[Identity, str, str], DecisionRequest]]] = {
    "release": ReleaseRequest,
    "discard": DiscardRequest,
}


def read_decision(event: Mapping[str, Any]) -> DecisionRequest | None:
    """Return the decision that an operator's event holds, or ``None`` if its action is none of them.

    Raises ``InvalidError`` with every field that is wrong.
    """
    action = event.get("action")
    request = _DECISIONS.get(action) if isinstance(action, str) else None
    if request is None:
        return None
    read = Fields(event)
    read.report_unknown(frozenset({"action", "source", "id", "by", "reason"}))
    source, id_ = (read.value(name, NAME, fields.name) for name in ("source", "id"))
    by, reason = (read.value(name, TEXT, fields.text) for name in ("by", "reason"))
    fields.refuse(read.problems, "source, id, by and reason")
    return request(Identity(source, id_), by, reason)


def read_body(body: Mapping[str, Any], identity: Identity, by: str) -> DecisionRequest:
    """Return the decision about an event in a request's body; raise ``InvalidError`` with every problem in it.

    ``by``: the caller.
    """
    read = Fields(body)
    read.report_unknown(frozenset({"decision", "reason"}))
    request = read.value("decision", f"one of {', '.join(_DECISIONS)}", _request)
    reason = read.value("reason", TEXT, fields.text)
    fields.refuse(read.problems, "decision and reason")
    decision: DecisionRequest = request(identity, by, reason)
    return decision


def _request(value: object) -> Callable[[Identity, str, str], DecisionRequest] | None:
    return _DECISIONS.get(value) if isinstance(value, str) else None
