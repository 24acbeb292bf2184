"""The DynamoDB stores of the statements: progress and plan, sealed periods, and the parties as of an instant."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from typing import TYPE_CHECKING, Final, Self

from quarterhour.aws.entity import Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.items import to_item
from quarterhour.aws.plan_store import PlanStore
from quarterhour.aws.resources import Resources
from quarterhour.aws.tables import insert_items
from quarterhour.aws.workers import Workers
from quarterhour.model.errors import NotFoundError, UnavailableError
from quarterhour.model.identifiers import Account
from quarterhour.model.instants import ALWAYS
from quarterhour.model.periods import Period
from quarterhour.registry.agencies.agency import Agency, read_agency
from quarterhour.registry.documents.keys import agency_document
from quarterhour.registry.documents.queries import KnownDocument, KnownDocuments
from quarterhour.registry.documents.timeline import version_at
from quarterhour.registry.owner import OWNER, Owner, read_owner
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.reports.store import CheckpointStore, PinStore, ProjectionStore, RunStore, began
from quarterhour.statements.drafts.draft import DraftItem
from quarterhour.statements.keys import PROGRESS_KEY, period_key
from quarterhour.statements.parties import Parties, PartyVersions
from quarterhour.statements.plan import SEALED, Progress, StatementPlan

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_TABLE: Final = "the Entity table"


@dataclass(frozen=True, slots=True)
class ProgressStore:
    """The control item of the statements."""

    client: "DynamoDBClient"
    table: str

    @property
    def _plans(self) -> PlanStore:
        return PlanStore(self.client, self.table, PROGRESS_KEY, SEALED)

    def progress(self) -> Progress:
        """Return the progress; before the first plan, that of nothing."""
        values = self._plans.read()
        return Progress.of(values) if values else Progress()

    def save_plan(self, progress: Progress, plan: StatementPlan) -> None:
        """Store a plan, unless another run has stored one first."""
        self._plans.save(plan.as_dict(), str(progress.sealed) if progress.sealed else None)

    def finish(self, plan: StatementPlan, manifest_sha256: str) -> None:
        """Make a period the last sealed one; raise ``OvertakenError`` if its plan is not the one under way."""
        done = {
            SEALED: str(plan.period),
            "first_period": str(plan.first_period),
            "bound": str(plan.bound),
            "manifest_sha256": manifest_sha256,
        }
        self._plans.finish(plan.as_dict(), plan.previous[0] or None, done)


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
        """Insert drafts; leave those that exist as they are.

        Raises ``UnavailableError`` if some could not be written.
        """
        items = [to_item(one.as_item()) for one in drafts]
        if insert_items(self.client, self.table, items, self.workers).unwritten:
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
        return AgencyAt(KnownDocuments(self.entities, known).document(document))

    def parties(self, accounts: Sequence[Account], at: datetime, known: datetime | PartyVersions) -> list[Parties]:
        """Return the parties to each account's statement: those of the instant, and the agencies' tax at any other.

        ``known``: when, or the newest versions of the owner and of all these agencies.
        """
        of_owner, of_agencies = known if isinstance(known, PartyVersions) else (known, known)
        document = KnownDocuments(self.entities, of_owner).document(OWNER)
        owner = _owner_at(document, at)
        names = {account.agency: agency_document(account.agency) for account in accounts}
        found = KnownDocuments(self.entities, of_agencies).documents(names.values())
        agencies = {agency: AgencyAt(found[name]) for agency, name in names.items()}
        return [
            Parties(
                owner,
                agencies[one.agency](at),
                agencies[one.agency],
                PartyVersions(document.version, found[names[one.agency]].version),
            )
            for one in accounts
        ]


def _owner_at(document: KnownDocument, at: datetime) -> Owner:
    content = document.content(at)
    owner = Owner() if content is None else read_owner(content)
    return owner if isinstance(owner, Owner) else Owner()


class AgencyAt:
    """Returns an agency at an instant, ``None`` if not registered then. Each version is read and parsed once."""

    def __init__(self, document: KnownDocument) -> None:
        self._document = document
        self._of_version = cache(self._read)

    def __call__(self, at: datetime) -> Agency | None:
        """Return the agency at an instant."""
        return self._of_version(version_at(self._document.timeline, at))

    @property
    def versions(self) -> list[Agency | None]:
        """The agency before its first version, and by each version that is ever in force."""
        starts = (ALWAYS[0], *(start.valid_from for start in self._document.timeline))
        return [self(at) for at in starts]

    def _read(self, version: int | None) -> Agency | None:
        content = self._document.content_of_version(version)
        agency = None if content is None else read_agency(content)
        return agency if isinstance(agency, Agency) else None


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
    entities: EntityReader
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
            resources.entities,
            workers,
            partial(began, resources.entities),
        )
