"""The DynamoDB stores of the reports, one for each kind of item, and the requests they send."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any, Final

from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.expressions import NEW, RETURN_EXISTING, put_request, query_request
from quarterhour.aws.items import Request, from_item, to_item
from quarterhour.aws.plan_store import PlanStore
from quarterhour.aws.retries import with_retries
from quarterhour.aws.tables import conditional_write, get_item, put_items, query_pages
from quarterhour.aws.workers import Workers
from quarterhour.ledger.keys import CHECKPOINT_KEY, SEALED_THROUGH, recorded_of, recorded_range
from quarterhour.ledger.postings.partitions import highest_shards
from quarterhour.model.errors import UnavailableError
from quarterhour.model.quarter_hours import LENGTH, QuarterHour
from quarterhour.registry.exchange_rates.plan import LastUse
from quarterhour.registry.exchange_rates.store import ExchangeRateStore
from quarterhour.reports.base_currency import Pins, pins_as_list, pins_of
from quarterhour.reports.keys import ALL_RUNS, PENDING, RUNS, pins_key, run_bounds, run_key, runs_between
from quarterhour.reports.plan import Checkpoint, Plan, Run

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_TABLE: Final = "the Entity table"
_WRITTEN_AT_A_TIME: Final = 1000
_OF_A_DAY: Final = timedelta(days=1) // LENGTH


def pin_request(table: str, quarter_hour: QuarterHour, base: str, pins: Pins) -> Request:
    """Build the PutItem that pins exchange rates unless some are pinned; it then returns the pinned ones."""
    pinned = {**pins_key(quarter_hour, base), "rates": pins_as_list(pins)}
    return {**put_request(table, pinned, NEW), **RETURN_EXISTING}


def pending_request(table: str) -> Request:
    """Build the Query for the runs that have a pending proof."""
    return {**query_request(table, "gsi1pk = :pending", {"pending": PENDING}), "IndexName": "gsi1"}


def runs_request(table: str, first: date, last: date) -> Request:
    """Build the Query for the control items of the runs of some days: ordered by time, strongly consistent."""
    lowest, highest = runs_between(first, last)
    given = {"runs": RUNS, "first": lowest, "last": highest}
    return {**query_request(table, "pk = :runs AND sk BETWEEN :first AND :last", given), "ConsistentRead": True}


@dataclass(frozen=True, slots=True)
class CheckpointStore:
    """The control items: the checkpoint with the plan under way, and the number of shards."""

    client: "DynamoDBClient"
    table: str

    @property
    def _plans(self) -> PlanStore:
        return PlanStore(self.client, self.table, CHECKPOINT_KEY, SEALED_THROUGH)

    def checkpoint(self) -> Checkpoint | None:
        """Return the checkpoint; ``None`` before the first event."""
        values = self._plans.read()
        return Checkpoint.of(values) if values else None

    def shards(self) -> int:
        """Return the highest number of ledger shards ever used."""
        return highest_shards(self.client, self.table)

    def recorded(self, first: QuarterHour, last: QuarterHour) -> list[QuarterHour]:
        """Return the marked quarter-hours of some final ones, in order, as many as a day can have.

        All others are empty, as each quarter-hour is marked before anything is recorded in it.
        """
        marks = EntityReader(self.client, self.table).read(recorded_range(first, last), _OF_A_DAY)
        return [recorded_of(mark) for mark in islice(marks, _OF_A_DAY)]

    def pass_over(self, at: Checkpoint, last: QuarterHour) -> None:
        """Move the checkpoint over empty quarter-hours, unless another run has moved it or stored a plan."""
        self._plans.move({SEALED_THROUGH: str(last)}, str(at.sealed_through))

    def save_plan(self, at: Checkpoint, plan: Plan) -> None:
        """Store a plan, unless another run has stored one first."""
        self._plans.save(plan.as_dict(), str(at.sealed_through))

    def finish(self, plan: Plan, manifest_sha256: str) -> None:
        """Move the checkpoint and clear the plan; raise ``OvertakenError`` if the plan is not the one under way."""
        done = {SEALED_THROUGH: str(plan.last), "previous": [plan.run, manifest_sha256]}
        self._plans.finish(plan.as_dict(), str(plan.first.previous), done)


@dataclass(frozen=True, slots=True)
class RunStore:
    """The control items of the finished runs."""

    client: "DynamoDBClient"
    table: str

    def get(self, run: str) -> Run | None:
        """Return the control item of a run; ``None`` if there is none."""
        item = get_item(self.client, self.table, run_key(run))
        return from_item(item) if item else None

    def put(self, run: Run) -> None:
        """Write the control item of a run."""
        item = to_item(run)
        with_retries(lambda: self.client.put_item(TableName=self.table, Item=item), _TABLE)

    def pending(self) -> list[Run]:
        """Return the runs that have a pending proof, the oldest first."""
        pages = query_pages(self.client, pending_request(self.table), Workers(1))
        return [from_item(item) for items in pages for item in items]

    def days(self, first: date, last: QuarterHour) -> Iterator[tuple[date, list[Run]]]:
        """Yield each day from ``first`` on with its runs, the oldest first; none ends after ``last``."""
        if first > last.day:
            return
        pages = query_pages(self.client, runs_request(self.table, first, last.day), Workers(1))
        runs = (from_item(item) for items in pages for item in items)
        # A run that crashed before it moved the checkpoint has an item too.
        finished = (run for run in runs if run_bounds(run["sk"])[1] <= last.end)
        for day, some in groupby(finished, lambda run: run_bounds(run["sk"])[0].date()):
            yield day, list(some)


def began(entities: EntityReader) -> datetime | None:
    """Return the start of the first run, before which nothing was recorded; ``None`` before the first run."""
    first = next(entities.read(ALL_RUNS, 1), None)
    return run_bounds(first["sk"])[0] if first else None


@dataclass(frozen=True, slots=True)
class PinStore:
    """The exchange rates pinned for a quarter-hour."""

    client: "DynamoDBClient"
    table: str
    workers: Workers

    def pinned_or_pin(self, run: str, quarter_hour: QuarterHour, base: str, currencies: Sequence[str]) -> Pins:
        """Return the exchange rates pinned for a quarter-hour of a run; if none are, pin those in force at its end."""
        rates = ExchangeRateStore(self.client, self.table)

        def in_force(some: Sequence[str]) -> Pins:
            found = self.workers.map(lambda currency: rates.in_force(currency, quarter_hour.end, base), some)
            return dict(zip(some, found, strict=True))

        pins = in_force(currencies)
        used = [currency for currency, rate in pins.items() if rate]
        self.workers.map(lambda currency: rates.use(currency, LastUse(quarter_hour, run)), used)
        # From then on, no earlier rate can be added. One that was added before is found now.
        return self.pin(quarter_hour, base, {**pins, **in_force(used)})

    def pinned(self, quarter_hour: QuarterHour, base: str) -> Pins:
        """Return the exchange rates pinned for a quarter-hour; empty if none are."""
        item = get_item(self.client, self.table, pins_key(quarter_hour, base))
        return pins_of(from_item(item)["rates"], base) if item else {}

    def pin(self, quarter_hour: QuarterHour, base: str, pins: Pins) -> Pins:
        """Pin the exchange rates of a quarter-hour unless some are pinned; return those that are pinned now."""
        request = pin_request(self.table, quarter_hour, base, pins)
        write = conditional_write(lambda: self.client.put_item(**request), _TABLE)
        return pins if write.applied else pins_of(from_item(write.item)["rates"], base)


@dataclass(frozen=True, slots=True)
class ProjectionStore:
    """Writes projections: items derived from sealed lines, each time with the same bytes."""

    client: "DynamoDBClient"
    table: str
    workers: Workers

    def write(self, projections: Iterable[Mapping[str, Any]]) -> None:
        """Write projections, some at a time; raise ``UnavailableError`` if some could not be written."""
        items = map(to_item, projections)
        while some := list(islice(items, _WRITTEN_AT_A_TIME)):
            if put_items(self.client, self.table, some, self.workers):
                raise UnavailableError(f"{_TABLE} did not take all items in time")
