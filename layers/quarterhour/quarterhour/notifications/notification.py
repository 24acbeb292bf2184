"""A notification: something that happened, with ids and links, and without personal data and amounts."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Self

from quarterhour.model import exact_json
from quarterhour.notifications.keys import log_key, notification_id


class NotificationKind(StrEnum):
    """What happened."""

    REPORT_SEALED = "report.sealed"
    """A run of the report sealed quarter-hours."""
    DRAFTS_SEALED = "drafts.sealed"
    """A run sealed the drafts of a period."""
    RELEASE_SEALED = "release.sealed"
    """A release issued statements or credit notes."""
    STATEMENT_ISSUED = "statement.issued"
    """An account has a new statement or credit note."""
    STATEMENT_ANSWERED = "statement.answered"
    """A statement, or a line of it, was accepted, disputed or resolved."""
    EVENT_HELD = "event.held"
    """An event waits for something that is not there yet."""
    EVENT_POSTED = "event.posted"
    """An event that was held is recorded."""
    EVENT_DISCARDED = "event.discarded"
    """An event that was held will never be recorded."""
    RECORDS_PARKED = "records.parked"
    """A queue of parked records or events is not empty any more."""

    @property
    def has_agency(self) -> bool:
        """Whether notifications of this kind are about one agency."""
        return self.startswith(("statement.", "event."))


@dataclass(frozen=True, slots=True)
class Notification:
    """A notification. ``agency`` is empty for what is about no agency or all; ``data`` holds ids and links alone."""

    id: str
    kind: NotificationKind
    agency: str
    data: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, kind: NotificationKind, data: Mapping[str, str], *parts: str, agency: str = "") -> Self:
        """Return a notification; ``parts``: what makes it different from all others of its kind."""
        return cls(notification_id(kind, *parts), kind, agency, data)


@dataclass(frozen=True, slots=True)
class Logged:
    """A notification and its place in the log. ``stack``: the name of the stack, once it is to be delivered."""

    place: str
    notification: Notification
    stack: str = ""

    def of_stack(self, stack: str) -> Self:
        """Return what is delivered: it names the stack, and its id, which begins with it, is that of no other stack."""
        return replace(self, notification=replace(self.notification, id=f"{stack}/{self.notification.id}"), stack=stack)

    def as_item(self, expires_at: int) -> dict[str, Any]:
        """Return the item of the log."""
        one = self.notification
        return {
            **log_key(self.place),
            "id": one.id,
            "kind": one.kind.value,
            "agency": one.agency or None,
            "data": dict(one.data),
            "expires_at": expires_at,
        }

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Self:
        """Parse what ``as_item`` returned."""
        return cls(
            values["sk"],
            Notification(values["id"], NotificationKind(values["kind"]), values.get("agency", ""), values["data"]),
        )

    @property
    def timestamp(self) -> str:
        """When the notification was put into the log, ISO 8601."""
        return self.place.partition("#")[0]

    def body(self) -> str:
        """Return the content of a delivery, always the same bytes: ``type``, ``timestamp``, ``stack`` and ``data``."""
        one = self.notification
        data = {**({"agency": one.agency} if one.agency else {}), **one.data}
        return exact_json.write(
            {"type": one.kind.value, "timestamp": self.timestamp, "stack": self.stack, "data": data}
        )
