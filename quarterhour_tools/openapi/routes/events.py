"""The routes of events."""

import json
from typing import Final

from quarterhour.ledger.events.api import Batch, EventData, EventType, Lines, SentEvent
from quarterhour.ledger.events.http import BATCH, LINES, ONE
from quarterhour.ledger.held.api import HeldDecision, HeldEvent
from quarterhour.ledger.reading.api import Event, Explanation, Story
from quarterhour.ledger.recording.api import Recording
from quarterhour.ledger.rerating.api import ReratingPreview
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
            """
            Sends one event, or up to 500 in a batch or in lines. [Sending events](events.md) is the reference of the
            format, the fields and the verdicts. People of finance record payments and adjustments with the source
            `finance`, the re-ratings of [a preview](#get-rerating), and events of all types with a source that
            `upload_sources` names. Where `approvals` is 2, all of these but payments that came in and views are
            `held` with the reason `needs_approval`, until [another person approves them](#put-heldsourceevent). What
            machines record needs no approval: its controls are those of the system that sends it.
            """,
            bodies={
                ONE: Body(SentEvent),
                BATCH: Body(Batch, lambda event: [event]),
                LINES: Body(Lines, lambda event: f"{json.dumps(event)}\n"),
                JSON: Body(EventData, lambda event: event["data"]),
            },
            retries="Source and id identify an event for ever. The same event again is a `duplicate` with the first "
            "receipt. Other content under the same source and id is a `conflict`; nothing is written.",
            links={
                "explain": Link(
                    "GET /events/{source}/{event}/explain",
                    {"source": "$response.body#/items/0/source", "event": "$response.body#/items/0/id"},
                )
            },
        ),
        "GET /events": read(
            "events_list",
            Page[Event],
            """
            The events are read straight from the ledger. Their order is that of recording, whatever an event's own
            `time` is. The parameters select events alone or together. `extra` is JSON text, as it was recorded. So is
            `attributes`, the [attributes of the CloudEvent](events.md#attributes) that the ledger keeps without using
            them.

            | events | how they are found |
            |---|---|
            | sealed, with `agency` | by an [index of agencies](data-model.md#projections-of-sealed-quarter-hours) |
            | sealed, with `source` | by the index of sources |
            | others | all events of the span are read, and the others left out |

            With an index, the cost follows the events of the agency or source; further parameters select from these. A
            request searches for up to about 20 seconds until its page is full. Until a quarter-hour is over and its
            grace past, an event under way may still get a position before one that was read.
            """,
            parameters={**SPAN, **_SELECTED},
        ),
        "GET /events/{source}/{event}": read(
            "events_get",
            Event,
            """
            `recorded_by` names the person, if a [person recorded it](events.md#what-people-record), and `approved_by`
            the second one, if it needed one. People of agencies see neither.
            """,
            missing=_UNKNOWN,
        ),
        "GET /events/{source}/{event}/story": read(
            "events_get_story",
            Story,
            """
            The list has the sale, and its refunds, voids and adjustments from any source, in the order in which the
            ledger applied them, also within one millisecond. A correction leads to the story of its sale.

            - `left_after` is what is left of the sale's amount after the event, and `commission_after` the commission
              of the sale and all corrections so far. `left` and `commission` are the figures after the last one.
            - A re-rating has `rerating`: rate card, version and, for staff and machines, the operator (`by`).
            """,
            missing=_UNKNOWN,
        ),
        "GET /events/{source}/{event}/explain": read(
            "events_explain",
            Explanation,
            """
            The steps use only what is stored with the event, and the last step gives the commission.

            | `terms.from` | whose terms |
            |---|---|
            | `event` | the event's own: it named its rate, or its commission |
            | `sale` | its sale's: it is a linked refund or a void |
            | `rerating` | those of the rate card that the re-rating names, with its reason |
            | `card` | a rate card's: with the version in force at the event's time, and the rule for the event |
            | `default` | the default rate |
            | `payment` | none: a payment bears no commission, as `note` says |

            With `card` and `default`, `looked_at` lists the rate cards in the order of precedence, up to the one that
            applied. The `result` of each is `applied`, `no rule for this event` or `not in force`. They are shown as
            they were when the event was recorded, whatever was written since. With `rerating`, staff and machines also
            see its operator (`by`).

            After a [re-rating](events.md#re-ratings), `in_force` is the computation by the rate card in force, for the
            whole amount. Later refunds give back parts of that commission.
            """,
            missing=_UNKNOWN,
        ),
        "GET /rerating": read(
            "rerating_preview",
            ReratingPreview,
            """
            Computes what [`quarterhour rerate`](operations.md#re-rating) would post for the events of an agency that
            were recorded in a span, and posts nothing. `events` of each change go to [`POST /events`](#post-events):
            they have the ids of the command, so whatever is sent twice is a `duplicate`.

            A request reads the agency's events from `from` until now, and changes up to 3,000 of them.
            """,
            missing="There is no such rate card, or no such version.",
            parameters=RERATING,
        ),
        "GET /held": read(
            "held_list",
            Page[HeldEvent],
            """
            [Held events](events.md#held-events) wait for their sale, their agency, or a second person. People of an
            agency see those of their agency, but none that waits for a second person; staff see all.

            `problems` says why the event is not posted yet, and `event` has its type, agency, currency, figures and
            details, and `recorded_by`. `approved`, `released` and `discarded` are
            [decisions](#put-heldsourceevent): `by`, `at` and `reason`. `released` also has `waived`: what the event
            waited for. People of agencies do not see `by`. A page with `reason` can be short although another
            follows.
            """,
            parameters=HELD,
        ),
        "PUT /held/{source}/{event}": RouteDescription(
            "held_decide",
            {200: HeldEvent},
            (404, 409, *BODY_PROBLEMS),
            """
            - `release` approves an event with the reason `needs_approval`. It can still wait for its agency or its sale
              then. Any other event is posted without what it waits for: a correction without its sale.
            - `discard` is final: the event is never posted. Its source and id stay taken. Sent again, it is `rejected`
              with the reason.
            - The watch posts what is released within 15 minutes. The event is then no longer held, and a request
              about it returns 404.
            - The person who recorded an event that needs approval cannot release it, but can discard it.
            - The ledger keeps the name of who approved as `approved_by`.
            """,
            {
                404: "There is no such held event: it is posted, or was never held.",
                409: "Somebody has decided about it before, you recorded it, or it has no figures without its sale.",
            },
            bodies=json_body(HeldDecision),
            retries="The same decision and reason of the same person again change nothing, as long as the event is "
            "held.",
        ),
        "GET /sources/{source}/events": read(
            "sources_list_events",
            Page[Event],
            """
            Like the log of a device. Send `after` an instant (`>`), `before` one (`<`), or `from` and `to`. Sealed
            events are found by the [index of sources](data-model.md#projections-of-sealed-quarter-hours), at a cost
            that follows the source's own events. Later events are searched in the ledger. `GET /events?source=` returns
            the same for a span, and takes further parameters.
            """,
        ),
    },
)
