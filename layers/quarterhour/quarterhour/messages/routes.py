"""The routes of threads: messages about an order, a report, a line of a report, an agency, or a statement."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from quarterhour.aws.resources import Resources
from quarterhour.messages.keys import SubjectKind, Thread
from quarterhour.messages.message import PERIOD, WRITERS, period, read_message
from quarterhour.messages.queries import MessageQuery, ThreadQueries
from quarterhour.messages.service import ThreadService
from quarterhour.messages.store import ThreadStore
from quarterhour.model.errors import ForbiddenError, NotFoundError
from quarterhour.model.fields import NAME, shown
from quarterhour.web import http, parameters
from quarterhour.web.access import Caller, IsVisible, everyone, people
from quarterhour.web.parameters import PAGE, among, one_of
from quarterhour.web.routing import Routes


@dataclass(frozen=True, slots=True)
class Subjects:
    """Finds the subjects of threads. ``checks``: for each kind, functions of which one must find the subject."""

    checks: Mapping[SubjectKind, Sequence[IsVisible]]

    def thread(self, kind: str, names: Sequence[str], caller: Caller) -> Thread:
        """Return the thread about the first subject that exists, of these spellings of its name.

        Raises ``NotFoundError`` if none exists. For a person of an agency it raises ``ForbiddenError`` instead. That is
        also the error for subjects that the person may not see.
        """
        if kind not in set(SubjectKind):
            raise NotFoundError(f"there are no threads on {shown(kind)}: expected one of {', '.join(SubjectKind)}")
        checks = self.checks[SubjectKind(kind)]
        for name in names:
            if any(is_visible(name, caller) for is_visible in checks):
                return Thread(SubjectKind(kind), name)
        if not caller.is_of_marketplace:
            # The same error whether the subject exists or not: a person must not learn which.
            raise ForbiddenError(f"your token opens none of the {kind} {shown(names[0])}")
        raise NotFoundError(f"there is none of the {kind} {shown(names[0])}")


ORDERS: Final = {"oldest": False, "newest": True}
"""The orders of messages by name, with whether the newest come first."""


def read(routes: Routes, resources: Resources, checks: Mapping[SubjectKind, Sequence[IsVisible]]) -> None:
    """Register the reading route; ``checks`` are those of ``Subjects``."""
    threads, subjects = ThreadQueries(resources.entities), Subjects(checks)

    @routes.get("/threads/<kind>/<subject>/messages", allow=everyone, query=("user", "period", "order", *PAGE))
    def read(kind: str, subject: str) -> http.Response:
        """Return a page of messages: of all users or one, of all time or a period."""
        query = routes.parameters()
        user = query.optional("user", NAME, parameters.name, None)
        within = query.optional("period", PERIOD, period, "")
        newest_first = query.optional("order", one_of(ORDERS), lambda name: among(ORDERS, name), default=False)
        thread = subjects.thread(parameters.decoded(kind), parameters.spellings(subject), routes.caller())
        return http.response(200, threads.messages(MessageQuery(thread, user, within, newest_first), query.paging()))


def write(routes: Routes, resources: Resources, checks: Mapping[SubjectKind, Sequence[IsVisible]]) -> None:
    """Register the writing route; ``checks`` are those of ``Subjects``."""
    threads = ThreadService(ThreadStore(resources.dynamodb, resources.entity_table))
    subjects = Subjects(checks)

    @routes.post("/threads/<kind>/<subject>/messages", allow=people(*WRITERS))
    def write(kind: str, subject: str) -> http.Response:
        """Write a message; a retry gets the same response as the first try."""
        caller = routes.caller()
        thread = subjects.thread(parameters.decoded(kind), (parameters.decoded(subject),), caller)
        written, is_new = threads.write(read_message(thread, routes.body(), caller))
        return http.response(201 if is_new else 200, written)
