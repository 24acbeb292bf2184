"""The requests about customers that an operator's event can hold: `forget` and `forgotten`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from quarterhour.model import fields
from quarterhour.model.errors import FieldProblem, InvalidError
from quarterhour.model.fields import TEXT, Fields


@dataclass(frozen=True, slots=True)
class ForgetRequest:
    """Forget a customer, given by name or token. ``by``: who decides, ``reason``: why."""

    customer: str
    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class ForgottenRequest:
    """Return the log of what was forgotten."""


ForgettingRequest = ForgetRequest | ForgottenRequest


def read_forgetting(event: Mapping[str, Any]) -> ForgettingRequest | None:
    """Return the request that an operator's event holds, or ``None`` if its action is none about customers.

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
    text = fields.label(value)
    if not text:
        raise ValueError("is no name and no token")
    return text


def _forgotten(read: Fields) -> ForgottenRequest:
    read.report_unknown(frozenset({"action"}))
    fields.refuse(read.problems, "no other field")
    return ForgottenRequest()


_ACTIONS: Final[Mapping[str, Callable[[Fields], ForgettingRequest]]] = {"forget": _forget, "forgotten": _forgotten}
