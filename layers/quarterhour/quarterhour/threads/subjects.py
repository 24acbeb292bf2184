"""What is discussed must be there, and a person must be allowed to see it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from quarterhour.aws.entity_table import EntityReader
from quarterhour.documents.keys import report
from quarterhour.ledger.queries import EventLookup
from quarterhour.model.errors import ForbiddenError, NotFoundError
from quarterhour.model.fields import is_name, shown
from quarterhour.model.identifiers import SEPARATOR, Identity
from quarterhour.orders.keys import header_key
from quarterhour.orders.plan import OrderHeader
from quarterhour.reports.keys import is_run_id, run_key
from quarterhour.threads.keys import Kind, Thread
from quarterhour.web.access import Caller


@dataclass(frozen=True, slots=True)
class Subjects:
    """The things that can be discussed, in all tables."""

    events: EventLookup
    entities: EntityReader
    may_read: Callable[[str, Caller], bool]
    """Tells whether a caller may read a document."""

    def thread(self, kind: str, names: Sequence[str], caller: Caller) -> Thread:
        """Return the thread of the first thing that is there, of these spellings of its name.

        Raises ``NotFoundError``, or ``ForbiddenError`` where a person asks for what they may not see.
        """
        if kind not in set(Kind):
            raise NotFoundError(f"nothing is discussed under {shown(kind)}: expected one of {', '.join(Kind)}")
        look = {Kind.ORDERS: self._order, Kind.LINES: self._line, Kind.REPORTS: self._report}[Kind(kind)]
        for name in names:
            found = look(name, caller)
            if found:
                return Thread(Kind(kind), name)
        if not caller.is_machine:
            # Whether it is there at all is nothing that a person may learn.
            raise ForbiddenError(f"your token opens none of the {kind} {shown(names[0])}")
        raise NotFoundError(f"there is none of the {kind} {shown(names[0])}")

    def _order(self, name: str, caller: Caller) -> bool:
        """Tell whether an order is there; its items may be of several agencies, so it is for machines."""
        values = self.entities.get(header_key(name)) if caller.is_machine and is_name(name) else None
        return values is not None and OrderHeader.of(values).is_complete

    def _line(self, name: str, caller: Caller) -> bool:
        """Tell whether an event is there, and of the person's agency."""
        source, _, id_ = name.partition(SEPARATOR)
        if not (is_name(source) and is_name(id_)):
            return False
        event = self.events.find(Identity(source, id_))
        return event is not None and caller.may_see(event["agency"])

    def _report(self, name: str, caller: Caller) -> bool:
        """Tell whether a run is there, and one that a person may read."""
        found = is_run_id(name) and self.may_read(report(name), caller)
        return found and self.entities.get(run_key(name)) is not None
