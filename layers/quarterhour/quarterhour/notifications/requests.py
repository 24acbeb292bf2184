"""The bodies of requests about subscriptions."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from quarterhour.model import fields
from quarterhour.model.fields import INSTANT, NAME, Fields
from quarterhour.notifications.addresses import EXPECTED, read_address
from quarterhour.notifications.notification import NotificationKind

_KINDS: Final = f"a list of some of {', '.join(NotificationKind)}"


class SubscriptionRequest(NamedTuple):
    """What a subscription is to be. ``kinds`` and ``agency``: empty for all."""

    address: str
    kinds: frozenset[NotificationKind]
    agency: str


def read_subscription(body: Mapping[str, Any], *, local: bool) -> SubscriptionRequest:
    """Return the subscription in a request's body; raise ``InvalidError`` with every problem in it."""
    outer = Fields(body)
    outer.report_unknown(frozenset({"address", "kinds", "agency"}))

    def address(value: object) -> str | None:
        return value if isinstance(value, str) and read_address(value, local=local) else None

    to = outer.value("address", EXPECTED, address)
    kinds = outer.value("kinds", _KINDS, _kinds, optional=True) or frozenset()
    agency = outer.value("agency", NAME, fields.name, optional=True) or ""
    if agency and any(not one.has_agency for one in kinds):
        outer.problem("kinds", "has a kind that is about no agency", "kinds that begin with statement. or event.")
    fields.refuse(outer.problems, "address, and perhaps kinds and agency")
    return SubscriptionRequest(to, kinds, agency)


def read_replay(body: Mapping[str, Any]) -> datetime:
    """Return the instant in a request's body; raise ``InvalidError`` with every problem in it."""
    outer = Fields(body)
    outer.report_unknown(frozenset({"from"}))
    instant = outer.value("from", INSTANT, fields.instant)
    fields.refuse(outer.problems, "from, an instant")
    result: datetime = instant
    return result


def _kinds(value: object) -> frozenset[NotificationKind] | None:
    if (
        not isinstance(value, list)
        or not value
        or not all(isinstance(one, str) and one in set(NotificationKind) for one in value)
    ):
        return None
    return frozenset(map(NotificationKind, value))
