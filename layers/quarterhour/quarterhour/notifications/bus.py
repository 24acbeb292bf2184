"""Puts notifications on an EventBridge bus, in the form of EventBridge's own events."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ClientError

from quarterhour.aws.retries import NETWORK_ERRORS, with_retries
from quarterhour.model import exact_json
from quarterhour.model.clock import parse_iso
from quarterhour.model.errors import UnavailableError
from quarterhour.notifications.notification import Logged
from quarterhour.notifications.subscription import Attempt, DeliveryOutcome

if TYPE_CHECKING:
    from mypy_boto3_events import EventBridgeClient

SOURCE: Final = "quarterhour"
"""The ``source`` of the events."""


def put_request(bus: str, logged: Logged) -> Any:  # noqa: ANN401 - boto3's own type is too narrow
    """Build the PutEvents of a notification: its kind is the ``detail-type``, and its ``detail`` has its id."""
    body = {**exact_json.parse(logged.body()), "id": logged.notification.id}
    entry = {
        "EventBusName": bus,
        "Source": SOURCE,
        "DetailType": logged.notification.kind.value,
        "Time": parse_iso(logged.timestamp),
        "Detail": exact_json.write(body),
    }
    return {"Entries": [entry]}


@dataclass(frozen=True, slots=True)
class Bus:
    """An EventBridge bus by its name."""

    client: "EventBridgeClient"
    name: str

    def put(self, logged: Logged) -> Attempt:
        """Put a notification on the bus once; return the outcome."""
        request = put_request(self.name, logged)
        try:
            failed = with_retries(lambda: self.client.put_events(**request), "EventBridge")["FailedEntryCount"]
        except (ClientError, *NETWORK_ERRORS, UnavailableError):
            return Attempt(DeliveryOutcome.BUS_FAILED)
        return Attempt(DeliveryOutcome.BUS_FAILED if failed else DeliveryOutcome.DELIVERED)
