"""The routes of subscriptions."""

from typing import Final

from quarterhour.notifications.api import (
    DeletedSubscription,
    Delivery,
    NewSubscription,
    Replay,
    Subscription,
    SubscriptionContent,
)
from quarterhour.web.api import Page
from quarterhour_tools.openapi.description import BODY_PROBLEMS, Group, RouteDescription, json_body, read

_NONE: Final = "There is no such subscription."
_OFF: Final = "The deployment sends no notifications."

SUBSCRIPTIONS: Final = Group(
    "Subscriptions",
    {
        "PUT /subscriptions/{name}": RouteDescription(
            "subscriptions_put",
            {201: NewSubscription, 200: Subscription},
            (409, *BODY_PROBLEMS),
            """
            A subscription gets [notifications](getting-data-out.md#webhooks) of the `kinds` that it names, or of all.
            With `agency`, it gets those about this agency alone. A new one begins with what happens from now on. A
            changed one keeps its secret and its place, and becomes active if it was disabled.
            """,
            {
                201: "It is new; no other response has its `secret` again.",
                200: "It was changed, or is as it was.",
                409: f"{_OFF} Or there are 100 subscriptions, or somebody else has created it at the same time.",
            },
            bodies=json_body(SubscriptionContent),
            retries="The same content again changes nothing. If the response with the secret was lost, rotate it.",
        ),
        "GET /subscriptions": read(
            "subscriptions_list",
            Page[Subscription],
            "They are in the order of their names. The subscription `bus` is that of the EventBridge bus.",
        ),
        "GET /subscriptions/{name}": read("subscriptions_get", Subscription, missing=_NONE),
        "POST /subscriptions/{name}/secrets": RouteDescription(
            "subscriptions_rotate_secret",
            {200: NewSubscription},
            (404, 409),
            "For a day, deliveries are signed with the secret before, too.",
            {404: _NONE, 409: _OFF},
            retries="Each request makes a new secret. The one before stays valid for a day, an older one ends at once.",
        ),
        "POST /subscriptions/{name}/replays": RouteDescription(
            "subscriptions_replay",
            {202: Subscription},
            (404, 409, *BODY_PROBLEMS),
            """
            Everything that the subscription wants is delivered again, in order, from an instant of the last 31 days on.
            What it has not taken yet is not skipped: delivery begins there, if that is earlier. It becomes active if it
            was disabled. Receivers know a repeated notification by its `webhook-id`.
            """,
            {202: "The subscription is active, and its deliveries begin.", 404: _NONE, 409: _OFF},
            bodies=json_body(Replay),
            retries="Each request begins again at its instant.",
        ),
        "GET /subscriptions/{name}/deliveries": read(
            "subscriptions_list_deliveries",
            Page[Delivery],
            "The deliveries of the last 31 days, those of the newest notifications first. Each has its latest attempt.",
            missing=_NONE,
        ),
        "DELETE /subscriptions/{name}": RouteDescription(
            "subscriptions_delete",
            {200: DeletedSubscription},
            (),
            "Its secret and what is not delivered go with it.",
            retries="One that does not exist is deleted already.",
        ),
    },
)
