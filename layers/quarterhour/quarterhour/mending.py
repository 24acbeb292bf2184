"""Mending counters from the sealed ledger: what `rebuild` and `unpark` have in common, put together in one place."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from quarterhour import aws
from quarterhour.counters.plan import Retention
from quarterhour.counters.rebuilder import Rebuilder, Rebuilt
from quarterhour.counters.store import CounterStore
from quarterhour.ledger.keys import Account
from quarterhour.reports.sealed import SealedLedger
from quarterhour.settings import Environment
from quarterhour.streams import Record

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


@dataclass(frozen=True, slots=True)
class Mending:
    """The sealed ledger, and the counters that are held to it."""

    sealed: SealedLedger
    counters: CounterStore
    retention: Retention

    @classmethod
    def of(cls, env: Environment, dynamodb: "DynamoDBClient") -> Self:
        """Put it together from a function's environment."""
        table = env.text("ENTITY_TABLE")
        return cls(
            SealedLedger(dynamodb, aws.s3(), table, env.text("REPORT_BUCKET")),
            CounterStore(dynamodb, table),
            Retention(env.days("QUARTER_RETENTION_DAYS"), env.days("DAY_RETENTION_DAYS")),
        )

    def rebuild(self, only: Account | None) -> Rebuilt:
        """Mend the counters of one account or (``None``) of all; nothing where nothing is sealed yet.

        Raises ``UnavailableError`` where an account keeps changing: what was mended stays so, and it can run again.
        """
        at = self.sealed.checkpoint()
        if at is None:
            return Rebuilt()
        rebuilder = Rebuilder(self.counters, self.retention, at.sealed_through)
        return rebuilder.rebuild(self.sealed.lines_through(at.sealed_through), only)

    def mender(self) -> Callable[[Record], bool] | None:
        """Return what applies a parked ledger record, see ``Rebuilder.mender``; ``None`` where nothing is sealed."""
        at = self.sealed.checkpoint()
        if at is None:
            return None
        rebuilder = Rebuilder(self.counters, self.retention, at.sealed_through)
        return rebuilder.mender(lambda: self.sealed.lines_through(at.sealed_through))
