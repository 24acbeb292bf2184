"""The routes of the report schedule: read it, change it at run time, and see how far the reports are behind it."""

from quarterhour.reports.schedule.plan import ScheduleRequest
from quarterhour.reports.schedule.queries import OperationQueries
from quarterhour.reports.schedule.service import ScheduleReconciler
from quarterhour.web import http
from quarterhour.web.access import Role, people, staff
from quarterhour.web.parameters import PAGE
from quarterhour.web.routing import Routes


def read(routes: Routes, schedule: ScheduleReconciler, operation: OperationQueries) -> None:
    """Register the reading routes."""

    @routes.get("/schedule", allow=staff, query=PAGE)
    def show_schedule() -> http.Response:
        """Return the actual and the desired schedule, and its changes, newest first."""
        paging = routes.parameters().paging()
        return http.response(200, {**schedule.show(), **paging.body(schedule.changes(paging))})

    @routes.get("/operations", allow=staff)
    def show_state() -> http.Response:
        """Return the depths of the queues, and the delay of the reports."""
        return http.response(200, operation.state())


def write(routes: Routes, schedule: ScheduleReconciler) -> None:
    """Register the writing route."""

    @routes.put("/schedule", allow=people(Role.FINANCE))
    def change_schedule() -> http.Response:
        """Change the schedule; return the actual and the desired schedule afterwards."""
        schedule.change(ScheduleRequest.of(routes.body()), routes.caller().name)
        return http.response(200, schedule.show())
