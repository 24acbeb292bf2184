"""The requests about forgetting in an operator's event: `forget`, `forgotten`, `move-customers` and `redact`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from quarterhour.messages.keys import SubjectKind, Thread
from quarterhour.model import fields
from quarterhour.model.errors import FieldProblem, InvalidError
from quarterhour.model.fields import NAME, TEXT, Fields


@dataclass(frozen=True, slots=True)
class ForgetRequest:
    """Forget a customer, given by name or token. ``by``: who decides, ``reason``: why."""

    customer: str
    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class ForgottenRequest:
    """Return the log of what was forgotten."""


@dataclass(frozen=True, slots=True)
class MoveRequest:
    """Move data from before the vault, as far as there is time."""


@dataclass(frozen=True, slots=True)
class RedactRequest:
    """Remove the text of a user's message in a thread. ``by``: who decides, ``reason``: why."""

    thread: Thread
    user: str
    id: str
    by: str
    reason: str


ForgettingRequest = ForgetRequest | ForgottenRequest | MoveRequest | RedactRequest
_KIND: Final = f"one of {', '.join(SubjectKind)}"


def read_forgetting(event: Mapping[str, Any]) -> ForgettingRequest | None:
    """Return the request that an operator's event holds, or ``None`` if its action is none about forgetting.

    Raises ``InvalidError`` with every field that is wrong. No error shows the customer: the function logs its errors.
    """
    action = event.get("action")
    read = _ACTIONS.get(action) if isinstance(action, str) else None
    return read(Fields(event)) if read else None


def _forget(read: Fields) -> ForgetRequest:
    read.report_unknown(frozenset({"action", "customer", "by", "reason"}))
    customer = read.value("customer", f"the customer's name or token: {TEXT}", _customer)
    by, reason = (read.value(name, TEXT, fields.text) for name in ("by", "reason"))
    fields.refuse(read.problems, "customer, by and reason")
    if customer.casefold() in reason.casefold():
        raise InvalidError("the reason is kept", FieldProblem("reason", "names the customer", "why, without the name"))
    return ForgetRequest(customer, by, reason)


def _customer(value: object) -> str:
    text = fields.text(value)
    if not text:
        raise ValueError("is no name and no token")
    return text


def _redact(read: Fields) -> RedactRequest:
    read.report_unknown(frozenset({"action", "kind", "subject", "user", "id", "by", "reason"}))
    kind = read.value("kind", _KIND, SubjectKind)
    subject = read.value("subject", TEXT, fields.text)
    user, id_ = (read.value(name, NAME, fields.name) for name in ("user", "id"))
    by, reason = (read.value(name, TEXT, fields.text) for name in ("by", "reason"))
    fields.refuse(read.problems, "kind, subject, user, id, by and reason")
    return RedactRequest(Thread(kind, subject), user, id_, by, reason)


def _alone(request: Callable[[], ForgettingRequest]) -> Callable[[Fields], ForgettingRequest]:
    def read(read: Fields) -> ForgettingRequest:
        read.report_unknown(frozenset({"action"}))
        fields.refuse(read.problems, "no other field")
        return request()

    return read


_ACTIONS: Final[Mapping[str, Callable[[Fields], ForgettingRequest]]] = {
    "forget": _forget,
    "forgotten": _alone(ForgottenRequest),
    "move-customers": _alone(MoveRequest),
    "redact": _redact,
}
