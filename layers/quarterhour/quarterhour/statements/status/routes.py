"""The routes of statements and disputes: reading them, and changing their status."""

from typing import TYPE_CHECKING

from quarterhour.aws.resources import Resources
from quarterhour.model import instants
from quarterhour.model.fields import CURRENCY, NAME, currency_of_account
from quarterhour.model.identifiers import Account, Identity
from quarterhour.model.periods import PERIOD
from quarterhour.statements.previews.queries import PreviewQueries
from quarterhour.statements.queries import shown_statement
from quarterhour.statements.receivables.queries import ReceivableQueries
from quarterhour.statements.status.plan import MAY_DISPUTE, MAY_RESOLVE, DisputeStatus, StatementName, Status
from quarterhour.statements.status.queries import StatementFilter, StatementStatusQueries
from quarterhour.statements.status.requests import read_dispute, read_resolution, read_status
from quarterhour.statements.status.service import StatementStatusService
from quarterhour.web import http, parameters
from quarterhour.web.access import Caller, everyone, own_agency, people
from quarterhour.web.parameters import PAGE, one_of
from quarterhour.web.routing import Routes, Spellings

if TYPE_CHECKING:
    from quarterhour.statements.status import api


def read(routes: Routes, resources: Resources) -> None:
    """Register the reading routes."""
    statuses, receivables = StatementStatusQueries(resources.entities), ReceivableQueries.of(resources)
    previews = PreviewQueries.of(resources, routes.seconds_left)

    @routes.get("/statements", allow=everyone, query=("period", "agency", "status", *PAGE))
    def list_statements() -> http.Response:
        """Return statements with their status, those of the newest period first."""
        query = routes.parameters()
        period = query.optional("period", PERIOD, instants.month, None)
        agency = routes.caller().requested_agency(query)
        status = query.optional("status", one_of(Status), Status, None)
        paging = query.paging()
        return http.response(200, paging.body(statuses.statements(StatementFilter(period, agency, status), paging)))

    @routes.get("/statements/<agency>/<currency>/<period>", allow=own_agency)
    def statement(agency: Spellings, currency: str, period: str) -> http.Response:
        """Return a statement with its status, payment, history and links, or a preview of a period without one."""
        month = parameters.parsed("period", parameters.decoded(period), PERIOD, instants.month)
        account, _ = previews.counters.find(agency, parameters.decoded(currency))
        history = statuses.history(month, account)
        if history is None:
            return http.response(200, previews.preview(account, month))
        figures = shown_statement(history.statement)
        shown: api.StatementWithFiles = {
            **figures,
            "preview": False,
            **history.shown_to(routes.caller()),
            "payment": receivables.payment(account, figures["number"]),
            **previews.statements.files_of(history.statement),
        }
        return http.response(200, shown)

    @routes.get("/disputes", allow=everyone, query=("agency", "status", *PAGE))
    def list_disputes() -> http.Response:
        """Return disputed lines, open ones or resolved ones, the oldest first."""
        query = routes.parameters()
        agency = routes.caller().requested_agency(query)
        status = query.optional("status", one_of(DisputeStatus), DisputeStatus, DisputeStatus.OPEN)
        paging = query.paging()
        return http.response(200, paging.body(statuses.disputes(status, agency, paging, routes.caller())))


def write(routes: Routes, resources: Resources) -> None:
    """Register the writing routes."""
    service = StatementStatusService.of(resources)

    @routes.put("/statements/<agency>/<currency>/<period>/status", allow=people(*MAY_DISPUTE, *MAY_RESOLVE))
    def change_status(agency: str, currency: str, period: str) -> http.Response:
        """Change the status of a statement, after the changes that were seen.

        People accept or dispute a statement of their own agency. Machines and finance also resolve it.
        """
        caller = routes.caller()
        name = _statement(agency, currency, period, caller)
        history = service.change(name, read_status(routes.body()), caller)
        shown: api.StatementHistory = {**name.as_dict(), **history.shown_to(caller)}
        return http.response(200, shown)

    @routes.post("/statements/<agency>/<currency>/<period>/disputes", allow=people(*MAY_DISPUTE))
    def dispute(agency: str, currency: str, period: str) -> http.Response:
        """Dispute a line of a statement; the statement is disputed then, too.

        A correction of the line that is recorded later resolves the dispute, and the last resolved dispute the
        statement.
        """
        caller = routes.caller()
        name = _statement(agency, currency, period, caller)
        made, is_new = service.dispute(name, read_dispute(routes.body()), caller)
        return http.response(201 if is_new else 200, made.shown_to(caller))

    @routes.put("/statements/<agency>/<currency>/<period>/disputes/<source>/<event>", allow=people(*MAY_RESOLVE))
    def resolve(agency: str, currency: str, period: str, source: str, event: str) -> http.Response:
        """Resolve the dispute of a line by hand, without a correction."""
        caller = routes.caller()
        name = _statement(agency, currency, period, caller)
        line = Identity(_name("source", source), _name("event", event))
        resolved = service.resolve(name, line, read_resolution(routes.body()), caller)
        return http.response(200, resolved.shown_to(caller))


def _statement(agency: str, currency: str, period: str, caller: Caller) -> StatementName:
    """Return the name of a statement; raise ``ForbiddenError`` if the caller may not see its agency."""
    name = _name("agency", agency)
    caller.narrowed(name)
    code = parameters.parsed("currency", parameters.decoded(currency), CURRENCY, currency_of_account)
    month = parameters.parsed("period", parameters.decoded(period), PERIOD, instants.month)
    return StatementName(month, Account(name, code))


def _name(field: str, segment: str) -> str:
    return parameters.parsed(field, parameters.decoded(segment), NAME, parameters.name)
