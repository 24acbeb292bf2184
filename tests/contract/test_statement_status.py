"""What becomes of statements, on both engines: numbered changes, disputes, lists, and their cost."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

import pytest

from benchmarks.metering import Meter, Tables
from quarterhour.aws import clients
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.items import to_item
from quarterhour.ledger.postings.segments import segment_of
from quarterhour.ledger.reading.queries import EventLookup
from quarterhour.model.clock import ManualClock, iso_millis, using
from quarterhour.model.errors import ConflictError
from quarterhour.model.identifiers import Account, Identity, Position
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.statements.status.plan import DisputeStatus, StatementName, Status, StatusRequest
from quarterhour.statements.status.queries import StatementFilter, StatementStatusQueries
from quarterhour.statements.status.requests import DisputeRequest
from quarterhour.statements.status.service import StatementStatusService
from quarterhour.statements.status.store import StatementStatusStore
from quarterhour_tools.emulator.engines import environment
from tests.contract.paging import everything
from tests.contract.storage import Storage
from tests.support.builders import MACHINE
from tests.support.stored_statements import document, plan_of, sealed_items

T = TypeVar("T")
Record = Callable[[str, object], None]


@dataclass(frozen=True, slots=True)
class Desk:
    """Statements of a month of a test's own, on an engine, with a meter of the cost."""

    storage: Storage
    meter: Meter
    service: StatementStatusService
    queries: StatementStatusQueries
    agency: str
    period: Period
    at: datetime

    @property
    def name(self) -> StatementName:
        return StatementName(self.period, Account(self.agency, "GBP"))

    def change(self, status: str, seen: int, reason: str = "checked") -> Status:
        return self.service.change(self.name, StatusRequest(Status(status), reason, seen), MACHINE).status

    def sold(self, id_: str) -> Identity:
        """Record an event of the agency in this month."""
        event = Identity(self.agency, id_)
        key = {"quarter_hour": f"{QuarterHour.at(self.at)}#00", "position": str(Position.of(event.hash, self.at).at(0))}
        of_event = {"source": self.agency, "id": id_, "agency": self.agency, "currency": "GBP", "type": "sale.recorded"}
        facts = {**of_event, "period": str(self.period), "recorded_at": iso_millis(self.at), "amount": "1"}
        client = self.storage.dynamodb
        client.put_item(TableName=self.storage.identity_table, Item=to_item({"event": str(event), **key}))
        client.put_item(TableName=self.storage.ledger_table, Item=segment_of([{**key, **facts}]))
        return event

    def dispute(self, line: Identity, reason: str = "returned") -> bool:
        """Dispute a line; return whether this call opened the dispute."""
        return self.service.dispute(self.name, DisputeRequest(line, reason), MACHINE)[1]

    def resolve(self, line: Identity) -> None:
        self.service.resolve(self.name, line, "agreed", MACHINE)

    def statements(self, limit: int = 1, **query: Any) -> list[str]:
        """Return the currency and status of the agency's statements on all pages."""
        only = StatementFilter(**{"period": None, "agency": None, "status": None, **query})
        found = everything(lambda paging: self.queries.statements(only, paging), limit)
        return [f"{one['currency']} {one['status']}" for one in found if one["agency"] == self.agency]

    def disputes(self, status: str = "open", agency: str | None = None, limit: int = 1) -> list[str]:
        """Return the ids of the agency's disputed lines on all pages."""
        found = everything(lambda paging: self.queries.disputes(DisputeStatus(status), agency, paging, MACHINE), limit)
        return [one["id"] for one in found if one["agency"] == self.agency]

    def at_once(self, do: Callable[[T], bool], arguments: Iterable[T]) -> list[bool]:
        """Return the results of calls at once, if the engine takes calls at once."""
        with ThreadPoolExecutor(4) as pool:
            return list((map if self.storage.stack.engine.embedded else pool.map)(do, arguments))

    def bill(self, do: Callable[[], object]) -> tuple[float, float, int]:
        """Return the write units, the read units and the calls of an action."""
        self.meter.take()
        do()
        bill = self.meter.take()
        return bill.write_units, bill.read_units, bill.calls.total()


@pytest.fixture
def desk(storage: Storage, own: str, at: datetime) -> Desk:
    """A statement of the test's own agency, and one in another currency."""
    with environment({"AWS_ENDPOINT_URL_DYNAMODB": storage.stack.engine.dynamodb_url}):
        client = clients.dynamodb()
    meter = Meter(Tables(storage.stack.dynamodb))
    meter.attach(client)
    entities = EntityReader(client, storage.entity_table)
    lookup = EventLookup(client, storage.identity_table, storage.ledger_table)
    service = StatementStatusService(StatementStatusStore(client, entities), lookup)
    period = Period.of(at)
    for values in sealed_items(plan_of(str(period), str(QuarterHour.at(at))), document(own), document(own, "EUR")):
        storage.write(values)
    return Desk(storage, meter, service, StatementStatusQueries(entities), own, period, at)


def test_changes_follow_each_other_and_none_is_lost_or_replaced(desk: Desk) -> None:
    assert [desk.change("disputed", 0), desk.change("resolved", 1)] == [Status.DISPUTED, Status.RESOLVED]
    assert desk.change("disputed", 0) is Status.RESOLVED, "a late retry"
    with pytest.raises(ConflictError, match="has 2 changes"):
        desk.change("accepted", 1)
    history = desk.queries.history(*desk.name)
    assert history
    assert [one.status for one in history.changes] == [Status.DISPUTED, Status.RESOLVED]


def test_of_changes_at_once_one_is_made(desk: Desk) -> None:
    def attempt(number: int) -> bool:
        try:
            desk.change("accepted" if number % 2 else "disputed", 0, f"reason {number}")
        except ConflictError:
            return False
        return True

    assert sum(desk.at_once(attempt, range(4))) == 1
    history = desk.queries.history(*desk.name)
    assert history
    assert len(history.changes) == 1


def test_lines_that_are_disputed_at_once_are_all_in_the_history(desk: Desk) -> None:
    lines = [desk.sold(f"e{number}") for number in range(3)]
    with ThreadPoolExecutor(3) as pool:
        opened = list(map(desk.dispute, lines) if desk.storage.stack.engine.embedded else pool.map(desk.dispute, lines))
    assert opened == [True] * 3
    assert [desk.dispute(line) for line in lines] == [False] * 3
    history = desk.queries.history(*desk.name)
    assert history
    assert {one.line for one in history.changes} == set(lines)
    for line in lines:
        desk.resolve(line)
    assert desk.statements(agency=desk.agency) == ["GBP resolved", "EUR issued"]


def test_statements_are_listed_with_their_status_page_by_page(desk: Desk) -> None:
    desk.change("accepted", 0)
    assert desk.statements(agency=desk.agency) == ["GBP accepted", "EUR issued"]
    assert desk.statements(agency=desk.agency, period=desk.period) == ["GBP accepted", "EUR issued"]
    assert desk.statements(period=desk.period, limit=100) == ["EUR issued", "GBP accepted"]
    assert desk.statements(agency=desk.agency, status=Status.ISSUED) == ["EUR issued"]
    assert desk.statements(period=desk.period, status=Status.ACCEPTED) == ["GBP accepted"]
    assert desk.statements(agency=desk.agency, period=desk.period.next) == []
    assert sorted(desk.statements(limit=100)) == ["EUR issued", "GBP accepted"]


def test_disputes_are_listed_by_age_page_by_page(desk: Desk, at: datetime) -> None:
    for number in range(3):
        with using(ManualClock(at + timedelta(minutes=number))):
            desk.dispute(desk.sold(f"e{number}"))
    assert desk.disputes() == desk.disputes(agency=desk.agency) == ["e0", "e1", "e2"]
    desk.resolve(Identity(desk.agency, "e1"))
    assert desk.disputes(agency=desk.agency) == ["e0", "e2"]
    assert desk.disputes("resolved") == desk.disputes("resolved", desk.agency) == ["e1"]


def test_each_access_pattern_costs_what_the_data_model_says(desk: Desk, record_property: Record) -> None:
    line, other = desk.sold("e0"), desk.sold("e1")
    bills = {
        "dispute a line": desk.bill(lambda: desk.dispute(line)),
        "a retry of it": desk.bill(lambda: desk.dispute(line)),
        "dispute another": desk.bill(lambda: desk.dispute(other)),
        "resolve one": desk.bill(lambda: desk.resolve(line)),
        "resolve the last": desk.bill(lambda: desk.resolve(other)),
        "a statement with its status": desk.bill(lambda: desk.queries.history(*desk.name)),
        "an agency's statements": desk.bill(lambda: desk.statements(agency=desk.agency, limit=100)),
        "an agency's disputes": desk.bill(lambda: desk.disputes("resolved", desk.agency, 100)),
        "change a status": desk.bill(lambda: desk.service.change(euros(desk), ACCEPTED, MACHINE)),
        "a retry of the change": desk.bill(lambda: desk.service.change(euros(desk), ACCEPTED, MACHINE)),
    }
    for name, (writes, reads, calls) in bills.items():
        record_property(name, f"{writes:g} write units, {reads:g} read units, {calls} calls")
    assert bills == {
        "dispute a line": (10, 5, 6),
        "a retry of it": (0, 2, 2),
        "dispute another": (10, 5, 6),
        "resolve one": (14, 3, 4),
        "resolve the last": (14, 3, 4),
        "a statement with its status": (0, 1, 1),
        "an agency's statements": (0, 0.5, 1),
        "an agency's disputes": (0, 0.5, 1),
        "change a status": (4, 1, 2),
        "a retry of the change": (0, 1, 1),
    }


ACCEPTED = StatusRequest(Status.ACCEPTED, "checked", 0)


def euros(desk: Desk) -> StatementName:
    return StatementName(desk.period, Account(desk.agency, "EUR"))
