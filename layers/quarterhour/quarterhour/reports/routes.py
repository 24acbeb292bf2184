"""The routes of the report runs, of what they project, and of their schedule."""

from functools import partial

from quarterhour.aws.resources import Resources
from quarterhour.model import instants
from quarterhour.model.instants import DAY
from quarterhour.registry.documents.keys import report
from quarterhour.registry.documents.queries import DocumentQueries
from quarterhour.reports.keys import is_run_id
from quarterhour.reports.projections import routes as projections
from quarterhour.reports.queries import ReportQueries, is_visible, no_run
from quarterhour.reports.schedule import routes as schedule
from quarterhour.web import http, parameters
from quarterhour.web.access import IsVisible, everyone, staff
from quarterhour.web.parameters import PAGE
from quarterhour.web.routing import Routes


def read(routes: Routes, resources: Resources) -> None:
    """Register the reading routes; the document of a report says who may read it."""
    projections.read(routes, resources)
    schedule.read(routes, resources)
    reports = ReportQueries(resources.entities, resources.s3, resources.env.text("REPORT_BUCKET"))
    documents = DocumentQueries(resources.entities)

    @routes.get("/reports", allow=staff, query=("date", *PAGE))
    def report_runs() -> http.Response:
        """Return the report runs, the newest first."""
        query = routes.parameters()
        day = query.optional("date", DAY, instants.day, None)
        paging = query.paging()
        return http.response(200, paging.body(reports.runs(day, paging)))

    @routes.get("/reports/<run>", allow=everyone)
    def report_run(run: str) -> http.Response:
        """Return a report run with its manifest and links to its files, to callers who may read it."""
        name = parameters.decoded(run)
        if not (is_run_id(name) and documents.may_read(report(name), routes.caller())):
            raise no_run(name)
        return http.response(200, reports.run(name))


def write(routes: Routes, resources: Resources) -> None:
    """Register the writing route."""
    schedule.write(routes, resources)


def visibility(resources: Resources) -> IsVisible:
    """Return the function that returns whether a report run exists and is visible to a caller."""
    return partial(is_visible, resources.entities, DocumentQueries(resources.entities).may_read)
