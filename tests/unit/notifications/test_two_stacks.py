"""What two stacks send to one bus or receiver."""

import json

from standardwebhooks import Webhook

from quarterhour.notifications.bus import put_request
from quarterhour.notifications.notification import Logged, Notification, NotificationKind
from quarterhour.notifications.webhook import signed_headers

SEALED = Notification.of(NotificationKind.REPORT_SEALED, {"run": "2026-10-23T0130-0230"}, "2026-10-23T0130-0230")
SIGNED_BY = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
LOGGED = Logged("2026-10-23T02:35:00.000Z#1", SEALED)


def test_it_names_its_stack_and_no_other_stack_has_its_id() -> None:
    stacks = ("123456789012/eu-west-1/prod", "123456789012/eu-west-1/dev")
    sent = [LOGGED.of_stack(stack) for stack in stacks]
    details = [json.loads(put_request("shared", one)["Entries"][0]["Detail"]) for one in sent]
    assert [(one["stack"], one["id"]) for one in details] == [(stack, f"{stack}/{SEALED.id}") for stack in stacks]
    assert details[0]["data"] == details[1]["data"] == {"run": "2026-10-23T0130-0230"}
    for one, detail in zip(sent, details, strict=True):
        headers = signed_headers(one, one.body(), [SIGNED_BY])
        assert headers["webhook-id"] == detail.pop("id")
        assert json.loads(one.body()) == detail, "the same on both ways"
        assert Webhook(SIGNED_BY).verify(one.body(), headers) == detail
