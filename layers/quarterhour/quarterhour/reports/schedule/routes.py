"""The routes of the report schedule: read it, and change it at run time."""

from typing import TYPE_CHECKING

from quarterhour.aws.resources import Resources
from quarterhour.reports.schedule.plan import ScheduleRequest
from quarterhour.reports.schedule.service import ScheduleReconciler
from quarterhour.web import http
from quarterhour.web.access import Role, people, staff
from quarterhour.web.parameters import PAGE
from quarterhour.web.routing import Routes

if TYPE_CHECKING:
    from quarterhour.reports.schedule import api


def read(routes: Routes, resources: Resources) -> None:
    """Register the reading route."""
    schedule = ScheduleReconciler.of(resources)

    @routes.get("/schedule", allow=staff, query=PAGE)
    def show_schedule() -> http.Response:
        """Return the actual and the desired schedule, and its changes, newest first."""
        paging = routes.parameters().paging()
        shown: api.ScheduleWithChanges = {**schedule.show(), **paging.body(schedule.changes(paging))}
        return http.response(200, shown)


def write(routes: Routes, resources: Resources) -> None:
    """Register the writing route."""
    schedule = ScheduleReconciler.of(resources)

    @routes.put("/schedule", allow=people(Role.FINANCE))
    def change_schedule() -> http.Response:
        """Change the schedule; return the actual and the desired schedule afterwards."""
        schedule.change(ScheduleRequest.of(routes.body()), routes.caller().name)
        return http.response(200, schedule.show())
