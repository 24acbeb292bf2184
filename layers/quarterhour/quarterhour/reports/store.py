"""The DynamoDB stores of the reports, one for each kind of item, and the requests they send."""

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING, Any, Final

from quarterhour.aws.entity import CHECKPOINT_KEY, Key
from quarterhour.aws.entity_table import EntityReader, highest_shards
from quarterhour.aws.items import Item, Request, from_item, to_item
from quarterhour.aws.retries import with_retries
from quarterhour.aws.tables import conditional_write, get_item, get_items, put_items, query_pages
from quarterhour.aws.workers import Workers
from quarterhour.counters.keys import account_of, partition_key, quarter_hour_key, quarter_hour_of
from quarterhour.exchange_rates.exchange_rate import ExchangeRate
from quarterhour.exchange_rates.keys import stated_until
from quarterhour.exchange_rates.plan import LastUse
from quarterhour.ledger.event_index import IndexedSpan
from quarterhour.ledger.event_pages import position_of
from quarterhour.model.clock import MILLISECOND
from quarterhour.model.errors import OvertakenError, UnavailableError
from quarterhour.model.identifiers import Partition
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import Totals
from quarterhour.reports.base_currency import Pins, pins_as_list, pins_of
from quarterhour.reports.keys import ALL_RUNS, PENDING, RUNS, pins_key, run_bounds, run_key, runs_between
from quarterhour.reports.plan import Checkpoint, Plan, QuarterHourTotals, Run, SealedFile

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_TABLE: Final = "the Entity table"
_ITEMS_IN_MEMORY: Final = 10_000
_SMALLEST_PAGE: Final = 100
_WRITTEN_AT_A_TIME: Final = 1000


def partition_request(table: str, partition: Partition, page: int) -> Request:
    """Build the Query that reads a ledger partition in order, strongly consistent."""
    return {
        "TableName": table,
        "KeyConditionExpression": "quarter_hour = :partition",
        "ExpressionAttributeValues": {":partition": {"S": str(partition)}},
        "ConsistentRead": True,
        "Limit": page,
    }


def plan_request(table: str, at: Checkpoint, plan: Plan) -> Request:
    """Build the UpdateItem that stores a plan, if the checkpoint has not moved and holds no plan."""
    return _checkpoint_update(
        table,
        "SET #plan = :plan",
        "sealed_through = :at AND attribute_not_exists(#plan)",
        {":plan": plan.as_dict(), ":at": str(at.sealed_through)},
    )


def progress_request(table: str, plan: Plan, sealed: Sequence[SealedFile]) -> Request:
    """Build the UpdateItem that stores what a plan has sealed, if it is the plan under way."""
    return _checkpoint_update(
        table,
        "SET #plan.sealed = :sealed",
        "#plan.planned_at = :planned_at",
        {":sealed": [one.as_list() for one in sealed], ":planned_at": plan.planned_at},
    )


def finish_request(table: str, plan: Plan, manifest_sha256: str) -> Request:
    """Build the UpdateItem that moves the checkpoint and clears the plan, if the plan begins at the checkpoint."""
    indexed = IndexedSpan(plan.indexed_from, plan.last).as_list() if plan.indexed_from else None
    return _checkpoint_update(
        table,
        "SET sealed_through = :last, #previous = :previous"
        + (", agencies_indexed = :indexed" if indexed else "")
        + " REMOVE #plan",
        "sealed_through = :before AND #plan.planned_at = :planned_at",
        {
            ":last": str(plan.last),
            ":previous": [plan.run, manifest_sha256],
            ":before": str(plan.first.previous),
            ":planned_at": plan.planned_at,
            ":indexed": indexed,
        },
    )


def _checkpoint_update(table: str, update: str, condition: str, values: dict[str, Any]) -> Request:
    names = {name: name.removeprefix("#") for name in ("#plan", "#previous") if name in update + condition}
    return {
        "TableName": table,
        "Key": to_item(dict(CHECKPOINT_KEY)),
        "UpdateExpression": update,
        "ConditionExpression": condition,
        "ExpressionAttributeNames": names,
        "ExpressionAttributeValues": to_item(values),
    }


def pin_request(table: str, quarter_hour: QuarterHour, base: str, pins: Pins) -> Request:
    """Build the PutItem that pins exchange rates unless some are pinned; it then returns the pinned ones."""
    return {
        "TableName": table,
        "Item": to_item({**pins_key(quarter_hour, base), "rates": pins_as_list(pins)}),
        "ConditionExpression": "attribute_not_exists(pk)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


def use_request(table: str, currency: str, use: LastUse) -> Request:
    """Build the PutItem that stores the last use of a currency's rates, unless a later one is stored."""
    return {
        "TableName": table,
        "Item": to_item(use.values(currency)),
        "ConditionExpression": "attribute_not_exists(pk) OR quarter_hour < :used",
        "ExpressionAttributeValues": to_item({":used": str(use.quarter_hour)}),
    }


def pending_request(table: str) -> Request:
    """Build the Query for the runs that have a pending proof."""
    return {
        "TableName": table,
        "IndexName": "gsi1",
        "KeyConditionExpression": "gsi1pk = :pending",
        "ExpressionAttributeValues": {":pending": {"S": PENDING}},
    }


def runs_request(table: str, first: date, last: date) -> Request:
    """Build the Query for the control items of the runs of some days: ordered by time, strongly consistent."""
    lowest, highest = runs_between(first, last)
    return {
        "TableName": table,
        "KeyConditionExpression": "pk = :runs AND sk BETWEEN :first AND :last",
        "ExpressionAttributeValues": {":runs": {"S": RUNS}, ":first": {"S": lowest}, ":last": {"S": highest}},
        "ConsistentRead": True,
    }


@dataclass(frozen=True, slots=True)
class CheckpointStore:
    """The control items: the checkpoint with the plan under way, and the number of shards."""

    client: "DynamoDBClient"
    table: str

    def checkpoint(self) -> Checkpoint | None:
        """Return the checkpoint; ``None`` before the first event."""
        item = get_item(self.client, self.table, CHECKPOINT_KEY)
        return Checkpoint.of(from_item(item)) if item else None

    def shards(self) -> int:
        """Return the highest number of ledger shards ever used."""
        return highest_shards(self.client, self.table)

    def save_plan(self, at: Checkpoint, plan: Plan) -> None:
        """Store a plan, unless another run has stored one first."""
        self._update(plan_request(self.table, at, plan))

    def save_progress(self, plan: Plan, sealed: Sequence[SealedFile]) -> None:
        """Store what a plan has sealed, unless another run has finished it."""
        self._update(progress_request(self.table, plan, sealed))

    def finish(self, plan: Plan, manifest_sha256: str) -> None:
        """Move the checkpoint and clear the plan; raise ``OvertakenError`` if the plan is not the one under way."""
        if self._update(finish_request(self.table, plan, manifest_sha256)):
            return
        at = self.checkpoint()
        if at is None or at.sealed_through < plan.last:
            raise OvertakenError(f"the plan of run {plan.run} is not the one under way")

    def _update(self, request: Request) -> bool:
        return conditional_write(lambda: self.client.update_item(**request), _TABLE).applied


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
class LedgerReader:
    """Reads the ledger, one quarter-hour at a time."""

    client: "DynamoDBClient"
    table: str
    workers: Workers

    def read(self, partitions: Sequence[Partition]) -> Iterator[Item]:
        """Yield the items of a quarter-hour's partitions, which are read in parallel, ordered by position."""
        page = max(_SMALLEST_PAGE, _ITEMS_IN_MEMORY // len(partitions))
        # To fetch the only partition ahead, in a thread, takes more CPU time than the waiting it saves.
        workers = self.workers if len(partitions) > 1 else Workers(1)
        streams = [
            chain.from_iterable(query_pages(self.client, partition_request(self.table, partition, page), workers))
            for partition in partitions
        ]
        return heapq.merge(*streams, key=position_of)


@dataclass(frozen=True, slots=True)
class CounterReader:
    """Reads the quarter-hour counters that prove sealed quarter-hours.

    Reads are eventually consistent: an old value makes the proof pending, and is read again.
    """

    client: "DynamoDBClient"
    table: str
    workers: Workers

    def counted(self, expected: QuarterHourTotals, shards: int) -> QuarterHourTotals:
        """Return what is counted of each account and quarter-hour; ``expected`` are the ledger's totals.

        The counters that 0.1.0 kept of partitions are read only where today's do not hold the ledger's totals.
        """
        counted = self._read([quarter_hour_key(*key) for key in expected])
        differing = [key for key, totals in expected.items() if counted.get(key) != totals]
        older = [
            partition_key(account, Partition(quarter_hour, shard))
            for account, quarter_hour in differing
            for shard in range(shards)
        ]
        for key, totals in self._read(older).items():
            counted[key] = counted.get(key, Totals()) + totals
        return counted

    def _read(self, keys: Sequence[Key]) -> QuarterHourTotals:
        items = get_items(self.client, self.table, keys, self.workers, consistent=False)
        sums: QuarterHourTotals = {}
        for item in items:
            key = account_of(item["pk"]["S"]), quarter_hour_of(item["sk"]["S"])
            sums[key] = sums.get(key, Totals()) + Totals.of(from_item(item))
        return sums


@dataclass(frozen=True, slots=True)
class PinStore:
    """The exchange rates pinned for a quarter-hour, and those in force."""

    client: "DynamoDBClient"
    table: str
    workers: Workers

    def pinned_or_pin(self, run: str, quarter_hour: QuarterHour, base: str, currencies: Sequence[str]) -> Pins:
        """Return the exchange rates pinned for a quarter-hour of a run; if none are, pin those in force at its end."""
        pins = self._all_in_force(currencies, quarter_hour.end, base)
        used = [currency for currency, rate in pins.items() if rate]
        self.workers.map(lambda currency: self.use(currency, LastUse(quarter_hour, run)), used)
        # From then on, no earlier rate can be added. One that was added before is found now.
        return self.pin(quarter_hour, base, {**pins, **self._all_in_force(used, quarter_hour.end, base)})

    def use(self, currency: str, use: LastUse) -> None:
        """Store the last use of a currency's rates, unless a later one is stored."""
        request = use_request(self.table, currency, use)
        conditional_write(lambda: self.client.put_item(**request), _TABLE)

    def _all_in_force(self, currencies: Sequence[str], before: datetime, base: str) -> Pins:
        rates = self.workers.map(lambda currency: self.in_force(currency, before, base), currencies)
        return dict(zip(currencies, rates, strict=True))

    def in_force(self, currency: str, before: datetime, base: str) -> ExchangeRate | None:
        """Return a currency's exchange rate in force right before an instant; ``None`` if there was none."""
        entities = EntityReader(self.client, self.table)
        values = next(entities.read(stated_until(currency, before - MILLISECOND), 1), None)
        rate = ExchangeRate.of(values) if values else None
        return rate if rate and rate.base == base else None

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
