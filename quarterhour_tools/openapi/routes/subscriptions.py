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
            {
                201: "It is new; no other response has its `secret` again.",
                200: "It was changed, or is as it was.",
                409: f"{_OFF} Or there are 100 subscriptions, or somebody else has created it at the same time.",
            },
            bodies=json_body(SubscriptionContent),
        ),
        "GET /subscriptions": read("subscriptions_list", Page[Subscription]),
        "GET /subscriptions/{name}": read("subscriptions_get", Subscription, missing=_NONE),
        "POST /subscriptions/{name}/secrets": RouteDescription(
            "subscriptions_rotate_secret", {200: NewSubscription}, (404, 409), {404: _NONE, 409: _OFF}
        ),
        "POST /subscriptions/{name}/replays": RouteDescription(
            "subscriptions_replay",
            {202: Subscription},
            (404, 409, *BODY_PROBLEMS),
            {202: "The subscription is active, and its deliveries begin.", 404: _NONE, 409: _OFF},
            bodies=json_body(Replay),
        ),
        "GET /subscriptions/{name}/deliveries": read("subscriptions_list_deliveries", Page[Delivery], missing=_NONE),
        "DELETE /subscriptions/{name}": RouteDescription("subscriptions_delete", {200: DeletedSubscription}, ()),
    },
)
