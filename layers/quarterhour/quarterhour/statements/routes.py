"""The routes of the periods and of the balances."""

from quarterhour.counters.queries import CounterQueries
from quarterhour.model import instants
from quarterhour.statements.queries import StatementQueries
from quarterhour.web import http, parameters
from quarterhour.web.access import everyone, own_agency
from quarterhour.web.parameters import INSTANT, PAGE
from quarterhour.web.routing import Routes, Spellings


def read(routes: Routes, statements: StatementQueries, counters: CounterQueries) -> None:
    """Register the reading routes."""

    @routes.get("/accounts/<agency>/<currency>/balance", allow=own_agency, query=("at",))
    def account_balance(agency: Spellings, currency: str) -> http.Response:
        """Return an account's balance: the closing balance of its last statement, and what is on no statement yet.

        Without ``at``, the balance now; with it, the balance as of the start of that quarter-hour.
        """
        at = routes.parameters().optional("at", INSTANT, instants.instant, None)
        account, _ = counters.find(agency, parameters.decoded(currency))
        return http.response(200, statements.balance(account, at))

    @routes.get("/periods", allow=everyone, query=PAGE)
    def periods() -> http.Response:
        """Return the periods, the newest first: those that are not sealed yet, then the sealed ones."""
        paging = routes.parameters().paging()
        return http.response(200, paging.body(statements.periods(paging, routes.caller())))
