"""The route of the operation: the depths of the queues, and how far the reports are behind their schedule."""

from quarterhour.aws.resources import Resources
from quarterhour.maintenance.operations import OperationQueries
from quarterhour.web import http
from quarterhour.web.access import staff
from quarterhour.web.routing import Routes


def read(routes: Routes, resources: Resources) -> None:
    """Register the reading route."""
    operation = OperationQueries.of(resources)

    @routes.get("/operations", allow=staff)
    def show_state() -> http.Response:
        """Return the depths of the queues, and the delay of the reports."""
        return http.response(200, operation.state())
