"""The routes of reports, of their schedule and of the operation."""

from typing import Final

from quarterhour.maintenance.api import Operations
from quarterhour.reports.api import Report, ReportRun
from quarterhour.reports.schedule.api import Schedule, ScheduleUpdate, ScheduleWithChanges
from quarterhour.web.api import Page
from quarterhour_tools.openapi.description import BODY_PROBLEMS, Group, Link, RouteDescription, json_body, read

REPORTS: Final = Group(
    "Reports",
    {
        "GET /reports": RouteDescription(
            "reports_list",
            {200: Page[ReportRun]},
            text="""
            - `counters` compares the live counters with what the run sealed: `verified`, `pending` (they lag; the next
              run checks again) or `drift`.
            - `default_rate_events` is how many of the run's events were charged by `commission_rate`, because no
              rate card had a rule for them. In the sealed lines, their `terms` are `default`. Views do not count.
            """,
            links={"report": Link("GET /reports/{run}", {"run": "$response.body#/items/0/run"})},
        ),
        "GET /reports/{run}": read(
            "reports_get",
            Report,
            """
            `files` are the manifest, the summary, the page, and the lines of every quarter-hour that has any. The page
            `report.html` shows the run to people; a browser opens its `url`. Each `url` can be fetched without
            authorization for 15 minutes. A manifest of more than 2 MiB is only linked (`manifest` is `null`).

            A run [in parts](architecture.md#sealing-in-parts) has a file of lines for each part, such as
            `lines-03.csv.gz`.
            """,
            missing="There is no such run, or the person may not read it.",
        ),
        "GET /schedule": read(
            "schedule_get",
            ScheduleWithChanges,
            """
            | field | meaning |
            |---|---|
            | `expression`, `state` | the schedule of the scheduler; `enabled` or `paused` |
            | `firings` | the next ones; AWS fires within a minute of each |
            | `desired` | the schedule that the system keeps |
            | `version` | the number of its changes; send it as `seen` with the next one |
            | `deployed` | the parameter `ReportRate` |
            | `items` | all changes ever made, the newest first, in pages: who, when, from what to what |

            A `rate` counts from when the schedule was last set.
            """,
        ),
        "PUT /schedule": RouteDescription(
            "schedule_change",
            {200: Schedule},
            (409, *BODY_PROBLEMS),
            """
            The change has effect at once and without a deployment. The response is that of `GET /schedule`, without the
            changes. An absent field keeps its value; `expression` or `paused` is required.

            **Expressions** are those of
            [EventBridge Scheduler](https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html), in UTC.
            Any two firings must be at least 15 minutes and at most 9 days apart:

            - `rate(15 minutes)` to `rate(9 days)`
            - `cron(minutes hours day-of-month month day-of-week year)`, where month and year are `*`, and one of the
              two days is `?`. `L`, `W` and `#` are not possible, because they leave more than nine days between
              firings.

            **No change loses or repeats anything.** The schedule only says when to look; the checkpoint decides what a
            report covers. A deployment may reset the schedule; the watch, every 15 minutes, reconciles it. The watch
            also measures for how many firings the oldest final quarter-hour has waited (`ReportDelay`). A pause does
            not stop that, so a forgotten pause sets off the alarm [report-late](runbooks.md#report-late).
            """,
            {
                409: "Somebody else has changed the schedule after the version in `seen`, or at the same moment: read "
                "it first."
            },
            bodies=json_body(ScheduleUpdate),
            retries="The same request again changes nothing; after a crash it completes the first one. `seen` names "
            "the version that it changes. If another change has followed that version, it returns 409.",
        ),
        "GET /operations": read(
            "operations_get",
            Operations,
            """
            What an operator looks at first. If a queue cannot be read, the request fails. Periods that are due are in
            [`GET /periods`](#get-periods): their state is `closed` or `running`.

            - `queues` are the parked records and dead letters, by the name of their [alarm](runbooks.md#alarms). They
              count the messages that are `waiting`, and those `in_flight`, which somebody has received and not deleted
              yet. SQS counts approximately.
            - `reports` says until when quarter-hours are sealed, and how long the oldest closed one has waited, in
              seconds and in firings of the schedule. It is `late` from two firings on, as the alarm
              [report-late](runbooks.md#report-late).
            """,
        ),
    },
)
