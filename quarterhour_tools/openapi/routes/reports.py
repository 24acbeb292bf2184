"""The routes of reports, their schedule, the operation, and sales."""

from typing import Final

from quarterhour.maintenance.api import Operations
from quarterhour.reports.api import Report, ReportRun
from quarterhour.reports.projections.api import LocationSales, Sold
from quarterhour.reports.schedule.api import Schedule, ScheduleUpdate, ScheduleWithChanges
from quarterhour.web.api import Page
from quarterhour_tools.openapi.description import BODY_PROBLEMS, Group, Link, RouteDescription, json_body, read
from quarterhour_tools.openapi.parameters import BY, DAYS

REPORTS: Final = Group(
    "Reports",
    {
        "GET /reports": RouteDescription(
            "reports_list",
            {200: Page[ReportRun]},
            links={"report": Link("GET /reports/{run}", {"run": "$response.body#/items/0/run"})},
        ),
        "GET /reports/{run}": read(
            "reports_get", Report, missing="There is no such run, or the person may not read it."
        ),
        "GET /schedule": read("schedule_get", ScheduleWithChanges),
        "PUT /schedule": RouteDescription(
            "schedule_change",
            {200: Schedule},
            (409, *BODY_PROBLEMS),
            {
                409: "Somebody else has changed the schedule after the version in `seen`, or at the same moment: read "
                "it first."
            },
            bodies=json_body(ScheduleUpdate),
        ),
        "GET /operations": read("operations_get", Operations),
    },
)

SALES: Final = Group(
    "Sales",
    {
        "GET /sales": read("sales_list", Page[Sold], parameters={**DAYS, "by": BY}),
        "GET /locations": read("locations_list_sales", Page[LocationSales], parameters=DAYS),
        "GET /locations/{location}": read("locations_list_sales_within", Page[LocationSales], parameters=DAYS),
    },
)
