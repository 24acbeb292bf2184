"""The calls to DynamoDB about statuses and disputes, and the builders of their requests."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from quarterhour.aws.entity import Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.expressions import NEW, put_request
from quarterhour.aws.items import Request
from quarterhour.aws.retries import optimistically, with_retries
from quarterhour.ledger.keys import linked_event_of, linked_range
from quarterhour.model import clock
from quarterhour.model.identifiers import Identity
from quarterhour.statements.keys import period_key
from quarterhour.statements.plan import StatementPlan
from quarterhour.statements.status.keys import (
    CURSOR_KEY,
    LOWEST,
    dispute_key,
    disputes_by_age,
    disputes_of,
    with_changes,
)
from quarterhour.statements.status.plan import Dispute, DisputeStatus, StatementChange, StatementHistory, StatementName

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_TABLE: Final = "the Entity table"
_PAGE: Final = 200


def change_request(table: str, change: Mapping[str, Any], dispute: Dispute | None = None) -> Request:
    """Build the transaction that writes a change of a status, and the dispute that it opens or resolves.

    It fails if another change has the number. So the changes of a statement and of its disputes happen one at a time.
    """
    puts = [put_request(table, change, NEW)]
    if dispute:
        # Its item is replaced once, when it is resolved.
        is_new = dispute.status is DisputeStatus.OPEN
        condition = (NEW, {}) if is_new else ("#status = :open", {"open": DisputeStatus.OPEN})
        puts.append(put_request(table, dispute.as_item(), *condition))
    return {"TransactItems": [{"Put": put} for put in puts]}


@dataclass(frozen=True, slots=True)
class StatementStatusStore:
    """Reads and writes statuses and disputes."""

    client: "DynamoDBClient"
    entities: EntityReader

    def history(self, name: StatementName) -> StatementHistory | None:
        """Return a statement with its changes, read with strong consistency; ``None`` if there is none."""
        history = StatementHistory.of(self.entities.read(with_changes(*name), _PAGE))
        return history.as_of(clock.now()) if history else None

    def plan(self, name: StatementName) -> StatementPlan | None:
        """Return the plan of the run that made a statement; ``None`` before that run is finished."""
        values = self.entities.get(period_key(name.period))
        return StatementPlan.of(values) if values else None

    def dispute(self, name: StatementName, line: Identity) -> Dispute | None:
        """Return the dispute of a line; ``None`` if it was never disputed."""
        values = self.entities.get(dispute_key(*name, line))
        return Dispute.of(values) if values else None

    def open_lines(self, name: StatementName) -> int:
        """Return the number of lines of a statement whose disputes are open, read with strong consistency."""
        disputes = map(Dispute.of, self.entities.read(disputes_of(*name), _PAGE))
        return sum(one.status is DisputeStatus.OPEN for one in disputes)

    def open_disputes(self, after: str) -> Iterator[Dispute]:
        """Yield all open disputes after a place, the oldest first."""
        entries = self.entities.read_index(disputes_by_age(DisputeStatus.OPEN, None, after), _PAGE)
        return (Dispute.of(values) for values in entries if values["gsi1sk"] > after)

    def linked(self, subject: Identity) -> Sequence[Identity]:
        """Return the identities of the events that refer to an event."""
        return [linked_event_of(values).identity for values in self.entities.read(linked_range(subject), _PAGE)]

    def record(self, change: Values, dispute: Dispute | None = None) -> None:
        """Write a change and its dispute; raise botocore's ``ClientError`` if another change has the number."""
        request = change_request(self.entities.table, change, dispute)
        with_retries(lambda: self.client.transact_write_items(**request), _TABLE)

    def add(self, name: StatementName, change: StatementChange) -> None:
        """Add a change to a statement, after those that it has, unless it has it already."""

        def attempt() -> None:
            history = self.history(name)
            if history and change not in history.changes:
                self.record(change.as_item(name, len(history.changes) + 1))

        optimistically(attempt, str(name))

    def cursor(self) -> str:
        """Return the place after which the next look at open disputes begins."""
        values = self.entities.get(CURSOR_KEY)
        return str(values["after"]) if values else LOWEST

    def set_cursor(self, after: str) -> None:
        """Keep the place after which the next look at open disputes begins."""
        request = put_request(self.entities.table, {**CURSOR_KEY, "after": after})
        with_retries(lambda: self.client.put_item(**request), _TABLE)
