"""The subjects of threads: they must exist, and a person must be allowed to see them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from quarterhour.aws.entity_table import EntityReader
from quarterhour.counters.queries import CounterQueries
from quarterhour.ledger.reading.queries import EventLookup
from quarterhour.messages.keys import SubjectKind, Thread
from quarterhour.model.errors import ForbiddenError, NotFoundError
from quarterhour.model.fields import is_stored_name, shown
from quarterhour.model.identifiers import SEPARATOR, Account, Identity
from quarterhour.model.periods import Period
from quarterhour.orders.keys import header_key
from quarterhour.orders.plan import OrderHeader
from quarterhour.registry.documents.keys import agency_document, latest_key, report
from quarterhour.reports.keys import is_run_id, run_key
from quarterhour.statements.keys import statement_key
from quarterhour.web.access import Caller


@dataclass(frozen=True, slots=True)
class Subjects:
    """Checks that the subject of a thread exists and is visible to the caller."""

    events: EventLookup
    entities: EntityReader
    may_read: Callable[[str, Caller], bool]
    """Returns whether a caller may read a document."""

    def thread(self, kind: str, names: Sequence[str], caller: Caller) -> Thread:
        """Return the thread about the first subject that exists, of these spellings of its name.

        Raises ``NotFoundError`` if none exists. For a person of an agency it raises ``ForbiddenError`` instead. That is
        also the error for subjects that the person may not see.
        """
        if kind not in set(SubjectKind):
            raise NotFoundError(f"there are no threads on {shown(kind)}: expected one of {', '.join(SubjectKind)}")
        checks = {
            SubjectKind.ORDERS: self._order,
            SubjectKind.LINES: self._line,
            SubjectKind.REPORTS: self._report,
            SubjectKind.AGENCIES: self._agency,
            SubjectKind.STATEMENTS: self._statement,
        }
        is_visible = checks[SubjectKind(kind)]
        for name in names:
            if is_visible(name, caller):
                return Thread(SubjectKind(kind), name)
        if not caller.is_of_marketplace:
            # The same error whether the subject exists or not: a person must not learn which.
            raise ForbiddenError(f"your token opens none of the {kind} {shown(names[0])}")
        raise NotFoundError(f"there is none of the {kind} {shown(names[0])}")

    def _order(self, name: str, caller: Caller) -> bool:
        """Return whether an order exists; only for the marketplace, as its items can be of several agencies."""
        values = self.entities.get(header_key(name)) if caller.is_of_marketplace and is_stored_name(name) else None
        return values is not None and OrderHeader.of(values).is_complete

    def _line(self, name: str, caller: Caller) -> bool:
        """Return whether an event is in the ledger and the caller may see its agency."""
        source, _, id_ = name.partition(SEPARATOR)
        if not (is_stored_name(source) and is_stored_name(id_)):
            return False
        event = self.events.find(Identity(source, id_))
        return event is not None and caller.may_see(event.facts["agency"])

    def _report(self, name: str, caller: Caller) -> bool:
        """Return whether a report run exists and the caller may read it."""
        found = is_run_id(name) and self.may_read(report(name), caller)
        return found and self.entities.get(run_key(name)) is not None

    def _agency(self, name: str, caller: Caller) -> bool:
        """Return whether an agency is registered or has an account, and the caller may see it."""
        if not (is_stored_name(name) and caller.may_see(name)):
            return False
        registered = self.entities.get(latest_key(agency_document(name))) is not None
        return registered or CounterQueries(self.entities).has_accounts(name)

    def _statement(self, name: str, caller: Caller) -> bool:
        """Return whether a statement is sealed and the caller may see its agency."""
        names, _, period = name.rpartition(SEPARATOR)
        try:
            account, month = Account.parse(names), Period.parse(period)
        except ValueError:
            return False
        found = is_stored_name(account.agency) and is_stored_name(account.currency) and caller.may_see(account.agency)
        return found and self.entities.get(statement_key(month, account)) is not None
