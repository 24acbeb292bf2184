"""The routes of the receivables, and of the bank's files that pay them."""

from functools import partial
from typing import TYPE_CHECKING, Final

from quarterhour.aws.resources import Resources
from quarterhour.file_formats.bank.line import FILE, FORMATS
from quarterhour.ledger.reading.queries import EventLookup
from quarterhour.model import instants
from quarterhour.model.instants import DAY
from quarterhour.reports.archived import ArchivedPostings
from quarterhour.statements.receivables.queries import ReceivableQueries
from quarterhour.web import http
from quarterhour.web.access import Role, everyone, people
from quarterhour.web.parameters import PAGE, among, one_of
from quarterhour.web.routing import Routes

if TYPE_CHECKING:
    from quarterhour.statements.receivables.bank_files import BankFiles

MAX_FILE: Final = 4_000_000
"""Bytes of a bank's file: below Lambda's limit (6 MB) in Base64, too."""

_FORMATS: Final = {one: one for one in FORMATS}


def read(routes: Routes, resources: Resources) -> None:
    """Register the reading routes, and the one that reads a bank's file, which writes nothing."""
    receivables = ReceivableQueries.of(resources)
    events = EventLookup.of(resources, ArchivedPostings.of(resources))

    def bank_files() -> "BankFiles":
        """Return what reads the files of a bank; no other request needs these modules."""
        from quarterhour.statements.receivables.bank_files import BankFiles  # noqa: PLC0415 - see above

        zone = receivables.statements.calendar.zone
        return BankFiles(receivables, resources.entities, events, resources.workers, zone)

    @routes.get("/receivables", allow=everyone, query=("agency", "on", *PAGE))
    def list_receivables() -> http.Response:
        """Return the accounts with something open: their statements, how long these have been due, and totals."""
        query = routes.parameters()
        agency = routes.caller().requested_agency(query)
        on = query.optional("on", DAY, instants.day, receivables.today())
        return http.response(200, receivables.page(agency, on, query.paging(), routes.seconds_left))

    @routes.post("/bank-files", allow=people(Role.FINANCE), query=("format",))
    def match_bank_file() -> http.Response:
        """Return the lines of a bank's file, the statements that they match and why, and events to record that."""
        format_ = routes.parameters().optional("format", one_of(FORMATS), partial(among, _FORMATS), None)
        content = routes.file(FILE, MAX_FILE)
        return http.response(200, bank_files().proposed(content, format_, routes.seconds_left))
