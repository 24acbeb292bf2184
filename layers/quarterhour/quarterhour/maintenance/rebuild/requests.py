"""The requests that an operator's event can hold: `rebuild`, `follow` and `unpark`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from quarterhour.model import instants, texts
from quarterhour.model.fields import Fields, is_name, refuse
from quarterhour.model.identifiers import Account

_ACCOUNT: Final = "AGENCY#CURRENCY, such as 42#GBP"


@dataclass(frozen=True, slots=True)
class RebuildRequest:
    """Rebuild the counters of one account, or (``None``) of all, from the day ``first`` on.

    If ``day`` is given, rebuild that day alone, without the lifetimes.
    """

    account: Account | None
    first: date
    day: date | None = None


@dataclass(frozen=True, slots=True)
class FollowRequest:
    """Return the result of the execution that rebuilds many days."""

    execution: str


@dataclass(frozen=True, slots=True)
class UnparkRequest:
    """Apply the parked records of the counters and of the snapshots."""


RepairRequest = RebuildRequest | FollowRequest | UnparkRequest


def read_request(event: Mapping[str, Any]) -> RepairRequest:
    """Return the request that an operator's event holds; raise ``InvalidError`` with every field that is wrong."""
    fields = Fields(event)
    read = fields.value("action", _ACTION, lambda sent: _ACTIONS.get(sent) if isinstance(sent, str) else None)
    refuse(fields.problems, _ACTION)
    request: RepairRequest = read(fields)
    refuse(fields.problems, _ACTION)
    return request


def _rebuild(fields: Fields) -> RebuildRequest:
    fields.report_unknown(frozenset({"action", "account", "from", "day"}))
    account = fields.value("account", _ACCOUNT, _account, optional=True)
    first = fields.value("from", instants.DAY, _day, optional=True)
    day = fields.value("day", instants.DAY, _day, optional=True)
    if first and day:
        fields.problem("from", "is not for one day", "from or day")
    return RebuildRequest(account, first or date.min, day)


def _follow(fields: Fields) -> FollowRequest:
    fields.report_unknown(frozenset({"action", "execution"}))
    return FollowRequest(fields.value("execution", "the ARN of an execution", _text))


def _unpark(fields: Fields) -> UnparkRequest:
    fields.report_unknown(frozenset({"action"}))
    return UnparkRequest()


_ACTIONS: Final[Mapping[str, Callable[[Fields], RepairRequest]]] = {
    "rebuild": _rebuild,
    "follow": _follow,
    "unpark": _unpark,
}
_ACTION: Final = " or ".join(_ACTIONS)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _account(value: object) -> Account | None:
    try:
        account = Account.parse(texts.of_name(value)) if isinstance(value, str) else None
    except ValueError:
        return None
    return account if account and is_name(account.agency) and is_name(account.currency) else None


def _day(value: object) -> date | None:
    try:
        return instants.day(value) if isinstance(value, str) else None
    except ValueError:
        return None
