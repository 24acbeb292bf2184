"""The meter: AWS's charge for a run, computed from its requests and responses with botocore's hooks.

The units follow DynamoDB's published rules (``sizes``). What those leave open is computed to our disadvantage: the
index entries that a transaction changes count double as the transaction does, and so does a cancelled transaction.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from botocore.handlers import BUILTIN_HANDLERS

from quarterhour_tools.emulator.dynamodb.sizes import Index, item_size, item_write_units, keys_of, read_units
from quarterhour_tools.emulator.dynamodb.statements import Insertion, parsed
from quarterhour_tools.emulator.dynamodb.values import Item

if TYPE_CHECKING:
    from botocore.model import OperationModel
    from mypy_boto3_dynamodb import DynamoDBClient

Request = Mapping[str, Any]
"""The parameters of one call, as the caller gave them."""
Place = tuple[str, Item]
"""A table, and the key of an item there."""

_CHARGED: Final = frozenset(
    {
        "ConditionalCheckFailed",  # of one statement in a batch
        "ConditionalCheckFailedException",
        "DuplicateItem",
        "TransactionCanceledException",
    }
)
"""The failures that cost as much as a write of the current item."""
_PARTIAL: Final = ("FilterExpression", "ProjectionExpression", "QueryFilter", "ScanFilter", "AttributesToGet")
_TRANSACTION: Final = 2


@dataclass(slots=True)
class Bill:
    """Calls by service and operation (``dynamodb.PutItem``), read and write units by table."""

    calls: Counter[str] = field(default_factory=Counter)
    reads: dict[str, float] = field(default_factory=dict)
    writes: dict[str, float] = field(default_factory=dict)

    def __add__(self, other: "Bill") -> "Bill":
        """Return the bill of both."""
        return Bill(self.calls + other.calls, _added(self.reads, other.reads), _added(self.writes, other.writes))

    @property
    def read_units(self) -> float:
        """Read units of all tables."""
        return sum(self.reads.values())

    @property
    def write_units(self) -> float:
        """Write units of all tables."""
        return sum(self.writes.values())


@dataclass(frozen=True, slots=True)
class Table:
    """A table's keys with their types, and its indexes."""

    keys: Mapping[str, str]
    indexes: tuple[Index, ...]

    def holds(self, key: Item) -> bool:
        """Tell whether the table can hold an item of this key: DynamoDB refuses one of another type."""
        return all(self.keys[name] in value for name, value in key.items())


class Tables:
    """Reads the current items of the tables: a request alone does not show what its write changes."""

    def __init__(self, client: "DynamoDBClient") -> None:
        """Take a client that is not metered."""
        self._client = client
        self._known: dict[str, Table] = {}

    def table(self, name: str) -> Table:
        """Return a table's keys and indexes."""
        if name not in self._known:
            described: Any = self._client.describe_table(TableName=name)["Table"]
            keys = keys_of(described)
            indexes = [*described.get("GlobalSecondaryIndexes", []), *described.get("LocalSecondaryIndexes", [])]
            types = {one["AttributeName"]: one["AttributeType"] for one in described["AttributeDefinitions"]}
            self._known[name] = Table({key: types[key] for key in keys}, tuple(Index.of(one, keys) for one in indexes))
        return self._known[name]

    def place(self, name: str, item: Item) -> Place:
        """Return the table and key of an item."""
        return name, {key: item[key] for key in self.table(name).keys}

    def items(self, places: Sequence[Place]) -> list[Item | None]:
        """Return the current items at these places, in the same order."""
        requested: dict[str, Any] = {}
        for name, key in places:
            if not self.table(name).holds(key):
                continue
            requested.setdefault(name, {"Keys": [], "ConsistentRead": True})["Keys"].append(key)
        answer: dict[str, Any] = {}
        if requested:
            answer = dict(self._client.batch_get_item(RequestItems=requested)["Responses"])
        found = [(self.place(name, item), item) for name, items in answer.items() for item in items]
        return [next((item for other, item in found if other == place), None) for place in places]


class Meter:
    """Counts the calls of every client made while it is installed, and what they would cost.

    A call that fails with its units unknown (throttled, refused, the network down) counts as a call and costs nothing.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._bill = Bill()
        self._lock = Lock()

    @contextmanager
    def installed(self) -> Iterator["Meter"]:
        """Hook into every client that is made within the block."""
        hooks: list[tuple[str, Any]] = [("before-parameter-build.dynamodb", self._before), ("after-call", self._after)]
        BUILTIN_HANDLERS.extend(hooks)
        try:
            yield self
        finally:
            for hook in hooks:
                BUILTIN_HANDLERS.remove(hook)

    def attach(self, client: "DynamoDBClient") -> None:
        """Hook into one client."""
        client.meta.events.register("before-parameter-build.dynamodb", self._before)
        client.meta.events.register("after-call", self._after)

    def take(self) -> Bill:
        """Return the bill since the last call."""
        bill, self._bill = self._bill, Bill()
        return bill

    def _before(self, params: Request, model: "OperationModel", context: dict[str, Any], **_: object) -> None:
        context["metered"] = deepcopy(params), pending_writes(model.name, params, self._tables)

    def _after(self, parsed: Request, model: "OperationModel", context: dict[str, Any], **_: object) -> None:
        with self._lock:
            self._bill.calls[f"{model.service_model.service_name}.{model.name}"] += 1
            if "metered" not in context:
                return
            params, writes = context.pop("metered")
            self._charge_writes(model.name, writes, parsed)
            if "Error" not in parsed:
                for table, units in reads(model.name, params, parsed):
                    self._bill.reads[table] = self._bill.reads.get(table, 0) + units

    def _charge_writes(self, operation: str, writes: "PendingWrites", answer: Request) -> None:
        for table, units in charges(operation, writes, answer, self._tables):
            self._bill.writes[table] = self._bill.writes.get(table, 0) + units


@dataclass(frozen=True, slots=True)
class Write:
    """The place of a write, and the whole item if the call holds it."""

    place: Place
    item: Item | None = None


def written(operation: str, request: Request, tables: Tables) -> list[Write]:
    """Return what a call writes, or would if its condition held."""
    match operation:
        case "PutItem" | "UpdateItem" | "DeleteItem":
            return [_write(request["TableName"], request, tables)]
        case "BatchWriteItem":
            entries = [(table, one) for table, some in request["RequestItems"].items() for one in some]
            return [_write(table, action, tables) for table, one in entries for action in one.values()]
        case "TransactWriteItems":
            actions = [action for one in request["TransactItems"] for action in one.values()]
            return [_write(action["TableName"], action, tables) for action in actions]
        case "BatchExecuteStatement":
            return [
                Write(tables.place(one.table, one.item), one.item if isinstance(one, Insertion) else None)
                for one in map(parsed, request["Statements"])
            ]
        case _:
            return []


PendingWrites = Sequence[tuple[Write, Item | None]]
"""The writes of a call, each with the existing item at its place."""


def pending_writes(operation: str, request: Request, tables: Tables) -> PendingWrites:
    """Return the writes of a call before it is sent, each with the existing item."""
    writes = written(operation, request, tables)
    return list(zip(writes, tables.items([one.place for one in writes]), strict=True))


def charges(operation: str, writes: PendingWrites, answer: Request, tables: Tables) -> Iterator[tuple[str, float]]:
    """Yield the write units of a call by table; for a failed call, those of the existing items."""
    error = _code(answer)
    times = _TRANSACTION if operation == "TransactWriteItems" else 1
    left = written("BatchWriteItem", {"RequestItems": answer.get("UnprocessedItems", {})}, tables)
    each_by_itself = operation == "BatchExecuteStatement" and not error
    codes = map(_code, answer["Responses"]) if each_by_itself else [error] * len(writes)
    for (write, before), code in zip(writes, codes, strict=True):
        if write in left or (code and code not in _CHARGED):
            continue
        after = before if code else write.item or tables.items([write.place])[0]
        table, _ = write.place
        yield table, times * item_write_units(before, after, tables.table(table).indexes)


def _code(answer: Request) -> str:
    return str(answer.get("Error", {}).get("Code", ""))


def _write(table: str, action: Request, tables: Tables) -> Write:
    if "Item" in action:
        return Write(tables.place(table, action["Item"]), action["Item"])
    return Write((table, action["Key"]))


def reads(operation: str, request: Request, answer: Request) -> list[tuple[str, float]]:
    """Return the read units of a call that succeeded, by table.

    Raises ``ValueError`` where the answer holds less than was read, so that its size does not tell the cost.
    """
    match operation:
        case "GetItem":
            size = item_size(answer.get("Item") or {})
            return [(request["TableName"], _units(size, request))]
        case "Query" | "Scan":
            return [(request["TableName"], _units(sum(map(item_size, answer.get("Items", ()))), request))]
        case "BatchGetItem":
            return [
                (table, _batch_units(table, requested, answer)) for table, requested in request["RequestItems"].items()
            ]
        case "TransactGetItems":
            gets = [one["Get"] for one in request["TransactItems"]]
            return [
                (get["TableName"], _TRANSACTION * _units(item_size(found.get("Item") or {}), get, consistent=True))
                for get, found in zip(gets, answer["Responses"], strict=True)
            ]
        case _:
            return []


def _batch_units(table: str, requested: Request, answer: Request) -> float:
    """Each item is rounded up by itself; a key that finds nothing costs as the smallest item."""
    found = answer["Responses"].get(table, [])
    left = answer.get("UnprocessedKeys", {}).get(table, {}).get("Keys", [])
    absent = len(requested["Keys"]) - len(left) - len(found)
    return sum(_units(size, requested) for size in [*map(item_size, found), *[0] * absent])


def _units(size: int, request: Request, *, consistent: bool = False) -> float:
    """Return the units of a read; raise an error if the response omits items that were read and charged."""
    if any(name in request for name in _PARTIAL) or request.get("Select") == "COUNT":
        raise ValueError("what a filter or projection leaves out is read and charged, but not in the answer")
    return read_units(size, consistent=consistent or request.get("ConsistentRead", False))


def _added(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {table: one.get(table, 0) + other.get(table, 0) for table in one.keys() | other.keys()}
