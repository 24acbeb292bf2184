"""The DynamoDB stores of the statements: progress and plan, sealed periods, and the parties as of an instant."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from quarterhour.aws.entity import Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.items import Request, from_item, to_item
from quarterhour.aws.resources import Resources
from quarterhour.aws.tables import conditional_write, get_item, insert_items
from quarterhour.aws.workers import Workers
from quarterhour.model.errors import NotFoundError, OvertakenError, UnavailableError
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.registry.agencies.agency import Agency, TaxProfile, read_agency
from quarterhour.registry.documents.keys import agency_document
from quarterhour.registry.documents.queries import KnownDocument, KnownDocuments
from quarterhour.registry.documents.timeline import version_at
from quarterhour.registry.owner import OWNER, Owner, read_owner
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.reports.store import CheckpointStore, PinStore, ProjectionStore, RunStore, began
from quarterhour.statements.document.statement import Parties, PartyVersions
from quarterhour.statements.drafts.draft_items import DraftItem
from quarterhour.statements.keys import PROGRESS_KEY, period_key
from quarterhour.statements.plan import AT_ONCE, Progress, StatementPlan

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_TABLE: Final = "the Entity table"
_WRITTEN_AT_A_TIME: Final = 500


class Published(NamedTuple):
    """A published period: its manifest's SHA-256, and the next numbers of 0.2.0 after it."""

    manifest_sha256: str
    numbers: tuple[int, int]


def plan_request(table: str, progress: Progress, plan: StatementPlan) -> Request:
    """Build the UpdateItem that stores a plan, if the progress has not moved and holds no plan."""
    at = "stated = :sealed" if progress.sealed else "attribute_not_exists(stated)"
    values = {":plan": plan.as_dict(), ":first": str(plan.first_period), ":numbers": list(plan.numbers)}
    return {
        "TableName": table,
        "Key": to_item(dict(PROGRESS_KEY)),
        "UpdateExpression": "SET #plan = :plan, first_period = :first, numbers = :numbers",
        "ConditionExpression": f"{at} AND attribute_not_exists(#plan)",
        "ExpressionAttributeNames": {"#plan": "plan"},
        "ExpressionAttributeValues": to_item(
            {**values, **({":sealed": str(progress.sealed)} if progress.sealed else {})}
        ),
    }


def finish_request(table: str, plan: StatementPlan, published: Published) -> Request:
    """Build the UpdateItem that makes a plan's period the last sealed one, if the plan is the one under way."""
    drafted = "" if plan.schema == AT_ONCE else " drafted_from = if_not_exists(drafted_from, :period),"
    return {
        "TableName": table,
        "Key": to_item(dict(PROGRESS_KEY)),
        "UpdateExpression": f"SET stated = :period, bound = :bound, manifest_sha256 = :sha256,{drafted}"
        " numbers = :numbers REMOVE #plan",
        "ConditionExpression": "#plan.period = :period AND #plan.planned_at = :planned_at",
        "ExpressionAttributeNames": {"#plan": "plan"},
        "ExpressionAttributeValues": to_item(
            {
                ":period": str(plan.period),
                ":bound": str(plan.bound),
                ":sha256": published.manifest_sha256,
                ":numbers": list(published.numbers),
                ":planned_at": plan.planned_at,
            }
        ),
    }


@dataclass(frozen=True, slots=True)
class ProgressStore:
    """The control item of the statements."""

    client: "DynamoDBClient"
    table: str

    def progress(self) -> Progress:
        """Return the progress; before the first plan, that of nothing."""
        item = get_item(self.client, self.table, PROGRESS_KEY)
        return Progress.of(from_item(item)) if item else Progress()

    def save_plan(self, progress: Progress, plan: StatementPlan) -> None:
        """Store a plan, unless another run has stored one first."""
        self._update(plan_request(self.table, progress, plan))

    def finish(self, plan: StatementPlan, published: Published) -> None:
        """Make a period the last sealed one; raise ``OvertakenError`` if its plan is not the one under way."""
        if self._update(finish_request(self.table, plan, published)):
            return
        sealed = self.progress().sealed
        if sealed is None or sealed < plan.period:
            raise OvertakenError(f"the plan of the period {plan.period} is not the one under way")

    def _update(self, request: Request) -> bool:
        return conditional_write(lambda: self.client.update_item(**request), _TABLE).applied


def sealed_period(entities: EntityReader, period: Period) -> Values:
    """Return the item of a sealed period; raise ``NotFoundError`` if it is not sealed."""
    values = entities.get(period_key(period))
    if values is None:
        raise NotFoundError(f"{period} is not sealed")
    return values


def plan_of_period(entities: EntityReader, period: Period) -> StatementPlan:
    """Return the plan of the run that sealed a period; raise ``NotFoundError`` if it is not sealed."""
    return StatementPlan.of(sealed_period(entities, period))


@dataclass(frozen=True, slots=True)
class DraftStore:
    """Writes the items of new drafts."""

    client: "DynamoDBClient"
    table: str
    workers: Workers

    def insert(self, drafts: Iterable[DraftItem]) -> None:
        """Insert drafts, some at a time; leave those that exist as they are.

        Raises ``UnavailableError`` if some could not be written.
        """
        items = (to_item(one.as_item()) for one in drafts)
        while some := list(islice(items, _WRITTEN_AT_A_TIME)):
            if insert_items(self.client, self.table, some, self.workers).unwritten:
                raise UnavailableError(f"{_TABLE} did not take all items in time")


@dataclass(frozen=True, slots=True)
class PartyReader:
    """Reads the owner and the agencies as of an instant, as they were known at another: so a run can be repeated."""

    entities: EntityReader

    def owner(self, at: datetime, known: datetime) -> Owner:
        """Return the owner; one without data if the document is not written."""
        return _owner_at(KnownDocuments(self.entities, known).document(OWNER), at)

    def agency(self, agency: str, known: datetime) -> "AgencyAt":
        """Return a function that returns an agency's data at an instant; ``None`` if it was not registered then."""
        document = agency_document(agency)
        return _agency_at(KnownDocuments(self.entities, known).document(document))

    def parties(self, accounts: Sequence[Account], at: datetime, known: datetime | PartyVersions) -> list[Parties]:
        """Return the parties to each account's statement: those of the instant, and the agencies' tax at any other.

        ``known``: when, or the newest versions of the owner and of all these agencies.
        """
        of_owner, of_agencies = known if isinstance(known, PartyVersions) else (known, known)
        document = KnownDocuments(self.entities, of_owner).document(OWNER)
        owner = _owner_at(document, at)
        names = {account.agency: agency_document(account.agency) for account in accounts}
        found = KnownDocuments(self.entities, of_agencies).documents(names.values())
        agencies = {agency: _agency_at(found[name]) for agency, name in names.items()}
        return [
            Parties(
                owner,
                agencies[one.agency](at),
                _profile_at(agencies[one.agency]),
                PartyVersions(document.version, found[names[one.agency]].version),
            )
            for one in accounts
        ]


AgencyAt = Callable[[datetime], Agency | None]


def _owner_at(document: KnownDocument, at: datetime) -> Owner:
    content = document.content(at)
    owner = Owner() if content is None else read_owner(content)
    return owner if isinstance(owner, Owner) else Owner()


def _agency_at(document: KnownDocument) -> AgencyAt:
    """Return a function that returns the agency at an instant; each version is read and parsed once."""

    @cache
    def of_version(version: int | None) -> Agency | None:
        content = document.content_of_version(version)
        agency = None if content is None else read_agency(content)
        return agency if isinstance(agency, Agency) else None

    return lambda at: of_version(version_at(document.timeline, at))


def _profile_at(agency_at: AgencyAt) -> Callable[[datetime], TaxProfile | None]:
    def profile_at(at: datetime) -> TaxProfile | None:
        agency = agency_at(at)
        return agency.tax if agency else None

    return profile_at


@dataclass(frozen=True, slots=True)
class StatementStores:
    """The stores that a run reads and writes."""

    checkpoints: CheckpointStore
    runs: RunStore
    pins: PinStore
    projections: ProjectionStore
    files: SealedFiles
    progress: ProgressStore
    drafts: DraftStore
    parties: PartyReader
    workers: Workers
    began: Callable[[], datetime | None]
    """Returns when the first run of the reports begins; ``None`` before it."""

    @classmethod
    def of(cls, resources: Resources) -> Self:
        """Return the stores of a function."""
        dynamodb, table, workers = resources.dynamodb, resources.entity_table, resources.workers
        return cls(
            CheckpointStore(dynamodb, table),
            RunStore(dynamodb, table),
            PinStore(dynamodb, table, workers),
            ProjectionStore(dynamodb, table, workers),
            SealedFiles.of(resources),
            ProgressStore(dynamodb, table),
            DraftStore(dynamodb, table, workers),
            PartyReader(resources.entities),
            workers,
            partial(began, resources.entities),
        )
