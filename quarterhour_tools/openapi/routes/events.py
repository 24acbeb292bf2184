"""The routes of events."""

import json
from typing import Final

from quarterhour.ledger.events.api import Batch, EventData, EventType, Lines, SentEvent
from quarterhour.ledger.events.http import BATCH, LINES, ONE
from quarterhour.ledger.held.api import HeldDecision, HeldEvent
from quarterhour.ledger.reading.api import Event, Explanation, Story
from quarterhour.ledger.recording.api import Recording
from quarterhour.ledger.rerating.api import Effect, ReratingPreview, SentEffect
from quarterhour.model.api import Text
from quarterhour.web.api import Page
from quarterhour.web.routing import JSON
from quarterhour_tools.openapi.description import BODY_PROBLEMS, Body, Group, Link, RouteDescription, json_body, read
from quarterhour_tools.openapi.parameters import HELD, PATH, RERATING, SPAN, Parameter

_SELECTED: Final = {
    "source": Parameter("Only those of this source.", PATH["source"].shape, "shop"),
    "type": Parameter("Only those of this type.", EventType, "sale.recorded"),
    "order": Parameter("Only those of this order (`order_id`).", Text, "1001"),
    "customer": Parameter("Only those of this customer: the name, or the token.", Text, "ann"),
}
_UNKNOWN: Final = (
    "There is no such event, its identity is no longer remembered (`DedupRetentionDays`), or it is of another agency "
    "than the person's."
)

EVENTS: Final = Group(
    "Events",
    {
        "POST /events": RouteDescription(
            "events_record",
            dict.fromkeys((202, 207, 409, 422, 503), Recording),
            BODY_PROBLEMS,
            bodies={
                ONE: Body(SentEvent),
                BATCH: Body(Batch, lambda event: [event]),
                LINES: Body(Lines, lambda event: f"{json.dumps(event)}\n"),
                JSON: Body(EventData, lambda event: event["data"]),
            },
            links={
                "explain": Link(
                    "GET /events/{source}/{event}/explain",
                    {"source": "$response.body#/items/0/source", "event": "$response.body#/items/0/id"},
                )
            },
        ),
        "GET /events": read("events_list", Page[Event], parameters={**SPAN, **_SELECTED}),
        "GET /events/{source}/{event}": read("events_get", Event, missing=_UNKNOWN),
        "GET /events/{source}/{event}/story": read("events_get_story", Story, missing=_UNKNOWN),
        "GET /events/{source}/{event}/explain": read("events_explain", Explanation, missing=_UNKNOWN),
        "GET /rerating": read(
            "rerating_preview",
            ReratingPreview,
            missing="There is no such rate card, or no such version.",
            parameters=RERATING,
        ),
        "POST /rerating": RouteDescription(
            "rerating_effect", {200: Effect}, (413, *BODY_PROBLEMS), bodies=json_body(SentEffect)
        ),
        "GET /held": read("held_list", Page[HeldEvent], parameters=HELD),
        "PUT /held/{source}/{event}": RouteDescription(
            "held_decide",
            {200: HeldEvent},
            (404, 409, *BODY_PROBLEMS),
            {
                404: "There is no such held event: it is posted, or was never held.",
                409: "Somebody has decided about it before, you recorded it, or it has no figures without its sale.",
            },
            bodies=json_body(HeldDecision),
        ),
        "GET /sources/{source}/events": read("sources_list_events", Page[Event]),
    },
)
