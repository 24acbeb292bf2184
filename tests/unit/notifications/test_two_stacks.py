"""What goes to a bus that stacks share."""

import json

from quarterhour.notifications.bus import put_request
from quarterhour.notifications.notification import Logged, Notification, NotificationKind

SEALED = Notification.of(NotificationKind.REPORT_SEALED, {"run": "2026-10-23T0130-0230"}, "2026-10-23T0130-0230")
LOGGED = Logged("2026-10-23T02:35:00.000Z#1", SEALED)


def test_it_names_its_stack_and_no_other_stack_has_its_id() -> None:
    stacks = ("123456789012/eu-west-1/prod", "123456789012/eu-west-1/dev")
    details = [json.loads(put_request("shared", stack, LOGGED)["Entries"][0]["Detail"]) for stack in stacks]
    assert [(one["stack"], one["id"]) for one in details] == [(stack, f"{stack}/{SEALED.id}") for stack in stacks]
    assert details[0]["data"] == details[1]["data"] == {"run": "2026-10-23T0130-0230"}
