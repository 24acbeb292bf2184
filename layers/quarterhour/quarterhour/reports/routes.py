"""The routes of the report runs."""

from quarterhour.model import instants
from quarterhour.model.instants import DAY
from quarterhour.registry.documents.keys import report
from quarterhour.registry.documents.queries import DocumentQueries
from quarterhour.reports.keys import is_run_id
from quarterhour.reports.queries import ReportQueries, no_run
from quarterhour.web import http, parameters
from quarterhour.web.access import everyone, staff
from quarterhour.web.parameters import PAGE
from quarterhour.web.routing import Routes


def read(routes: Routes, reports: ReportQueries, documents: DocumentQueries) -> None:
    """Register the reading routes; the document of a report says who may read it."""

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
