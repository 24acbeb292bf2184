"""The decisions that an operator's event can hold: `release` and `discard`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from quarterhour.model import fields
from quarterhour.model.fields import NAME, TEXT, Fields
from quarterhour.model.identifiers import Identity


@dataclass(frozen=True, slots=True)
class ReleaseRequest:
    """Post a held event without what it waits for. ``by``: the operator, ``reason``: why."""

    identity: Identity
    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class DiscardRequest:
    """Discard a held event. ``by``: the operator, ``reason``: why."""

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
