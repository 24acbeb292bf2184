"""The calls of DynamoDB's API: each takes a request and returns an answer, both as JSON has them."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from threading import RLock
from typing import TYPE_CHECKING, Any, Final

from quarterhour.model import clock
from quarterhour_tools.emulator.dynamodb import statements
from quarterhour_tools.emulator.dynamodb.errors import CallError, FailedConditionError, InvalidCallError
from quarterhour_tools.emulator.dynamodb.expressions import Placeholders, condition, update
from quarterhour_tools.emulator.dynamodb.pages import bounds_of, capacity, page, projected, scope_of
from quarterhour_tools.emulator.dynamodb.sizes import read_units
from quarterhour_tools.emulator.dynamodb.stream import SHARD, Stream
from quarterhour_tools.emulator.dynamodb.table import IndexOrder, Key, StoredItem, Table
from quarterhour_tools.emulator.dynamodb.values import CallBody, normal_item

if TYPE_CHECKING:
    from datetime import datetime

    from quarterhour_tools.emulator.dynamodb.values import Item

_MOST_WRITTEN: Final = 25
_MOST_GOT: Final = 100
_MOST_IN_TRANSACTION: Final = 100
_BATCH_BYTES: Final = 16 << 20
_TOKEN_LIVES: Final = timedelta(minutes=10)
_TRANSACTION: Final = 2
"""How many times the units of a plain call a transaction costs."""

_DUPLICATES: Final = "Provided list of item keys contains duplicates"
_PLACEHOLDERS: Final = frozenset({"ExpressionAttributeNames", "ExpressionAttributeValues"})
_WRITE: Final = _PLACEHOLDERS | {"TableName", "ConditionExpression", "ReturnValuesOnConditionCheckFailure"}
_RETURNS: Final = frozenset({"ReturnValues", "ReturnConsumedCapacity"})
_READ: Final = frozenset(
    {
        "ConsistentRead",
        "ExclusiveStartKey",
        "FilterExpression",
        "IndexName",
        "Limit",
        "ProjectionExpression",
        "ReturnConsumedCapacity",
        "Select",
        "TableName",
    }
)


@dataclass(slots=True)
class PlannedWrite:
    """A write whose condition holds, before it takes effect: the place, and the row before and after it."""

    table: Table
    place: Key
    before: StoredItem | None
    after: StoredItem | None

    def apply(self) -> None:
        """Let it take effect."""
        self.table.write(self.place, self.after)

    @property
    def units(self) -> int:
        """The write units that it takes."""
        return self.table.write_units(self.before and self.before.item, self.after and self.after.item)


class DynamoDB:
    """All tables of an account and region."""

    def __init__(self, region: str, account: str) -> None:
        self.tables: dict[str, Table] = {}
        self._region = region
        self._account = account
        self._lock = RLock()
        self._tokens: dict[str, tuple[datetime, str]] = {}

    def call(self, operation: str, request: CallBody) -> CallBody:
        """Answer a call; raise ``CallError`` as DynamoDB refuses it, ``NotImplementedError`` for an unknown call."""
        answer = _CALLS.get(operation)
        if answer is None:
            raise NotImplementedError(f"the engine knows no {operation}")
        with self._lock:
            return answer(self, request)

    # ------------------------------------------------------------ tables

    def create_table(self, request: CallBody) -> CallBody:
        """Create a table: it is active at once."""
        if request["TableName"] in self.tables:
            raise CallError("ResourceInUseException", f"Table already exists: {request['TableName']}")
        table = Table(request, self._region, self._account)
        self.tables[table.name] = table
        return {"TableDescription": _description(table)}

    def delete_table(self, request: CallBody) -> CallBody:
        """Delete a table."""
        table = self._table(request)
        del self.tables[table.name]
        return {"TableDescription": {**_description(table), "TableStatus": "DELETING"}}

    def describe_table(self, request: CallBody) -> CallBody:
        """Describe a table."""
        return {"Table": _description(self._table(request))}

    def list_tables(self, _: CallBody) -> CallBody:
        """Return the names of all tables."""
        return {"TableNames": sorted(self.tables)}

    def update_time_to_live(self, request: CallBody) -> CallBody:
        """Set the attribute that says when an item expires."""
        lifetime = request["TimeToLiveSpecification"]
        self._table(request).lifetime = lifetime["AttributeName"] if lifetime["Enabled"] else ""
        return {"TimeToLiveSpecification": lifetime}

    def describe_time_to_live(self, request: CallBody) -> CallBody:
        """Return the attribute that says when an item expires."""
        lifetime = self._table(request).lifetime
        described = {"TimeToLiveStatus": "ENABLED", "AttributeName": lifetime}
        return {"TimeToLiveDescription": described if lifetime else {"TimeToLiveStatus": "DISABLED"}}

    def _table(self, request: Mapping[str, Any]) -> Table:
        table = self.tables.get(request["TableName"])
        if table is None:
            raise CallError("ResourceNotFoundException", "Requested resource not found")
        return table

    # ------------------------------------------------------------ writes

    def put_item(self, request: CallBody) -> CallBody:
        """Put an item."""
        _only(request, _WRITE | _RETURNS | {"Item"})
        return self._written(request, self._put(request))

    def update_item(self, request: CallBody) -> CallBody:
        """Update an item, or insert it."""
        _only(request, _WRITE | _RETURNS | {"Key", "UpdateExpression"})
        return self._written(request, self._update(request))

    def delete_item(self, request: CallBody) -> CallBody:
        """Delete an item, if it exists."""
        _only(request, _WRITE | _RETURNS | {"Key"})
        return self._written(request, self._delete(request))

    def _written(self, request: CallBody, write: PlannedWrite) -> CallBody:
        write.apply()
        before, after = (row.item if row else {} for row in (write.before, write.after))
        answer: CallBody = {}
        match request.get("ReturnValues", "NONE"):
            case "ALL_OLD" if before:
                answer["Attributes"] = before
            case "ALL_NEW":
                answer["Attributes"] = after
            case "UPDATED_NEW":
                answer["Attributes"] = {name: value for name, value in after.items() if before.get(name) != value}
            case "NONE" | "ALL_OLD":
                pass
            case other:
                raise NotImplementedError(f"the engine knows no ReturnValues {other}")
        return {**answer, **capacity(request, {write.table.name: write.units})}

    def _put(self, request: Mapping[str, Any]) -> PlannedWrite:
        table = self._table(request)
        after = table.checked(request["Item"])
        return _conditional(request, table, table.place(after.item), scope_of(request), lambda _: after)

    def _update(self, request: Mapping[str, Any]) -> PlannedWrite:
        table, key = self._table(request), normal_item(request["Key"])
        place, scope = table.key(key), scope_of(request)
        if "UpdateExpression" not in request:
            return _conditional(request, table, place, scope, lambda before: before or table.checked(key))
        change = update(request["UpdateExpression"])
        for name in table.keys:
            if name in change.names(scope):
                raise InvalidCallError(
                    "One or more parameter values were invalid: "
                    f"Cannot update attribute {name}. This attribute is part of the key"
                )
        return _conditional(
            request, table, place, scope, lambda row: table.checked(change.apply(row.item if row else key, scope))
        )

    def _delete(self, request: Mapping[str, Any]) -> PlannedWrite:
        table = self._table(request)
        return _conditional(request, table, table.key(normal_item(request["Key"])), scope_of(request), lambda _: None)

    def _check(self, request: Mapping[str, Any]) -> PlannedWrite:
        table = self._table(request)
        return _conditional(request, table, table.key(normal_item(request["Key"])), scope_of(request), lambda row: row)

    def _target(self, request: Mapping[str, Any]) -> tuple[str, Key]:
        """Return the table and the place of a write."""
        table = self._table(request)
        return table.name, table.key(request["Key"]) if "Key" in request else table.place(request["Item"])

    def batch_write_item(self, request: CallBody) -> CallBody:
        """Put and delete up to 25 items."""
        _only(request, {"RequestItems", "ReturnConsumedCapacity"})
        writes = []
        for table, entries in request["RequestItems"].items():
            for entry in entries:
                ((kind, one),) = entry.items()
                write = self._put if kind == "PutRequest" else self._delete
                writes.append(write({"TableName": table, **one}))
        _check_number(len(writes), _MOST_WRITTEN)
        _check_distinct(((one.table.name, one.place) for one in writes), _DUPLICATES)
        return {"UnprocessedItems": {}, **self._applied(request, writes)}

    def transact_write_items(self, request: CallBody) -> CallBody:
        """Write up to 100 items, or none: a call with a token that it had within ten minutes has no effect."""
        _only(request, {"TransactItems", "ClientRequestToken", "ReturnConsumedCapacity"})
        _check_number(len(request["TransactItems"]), _MOST_IN_TRANSACTION)
        if self._is_repeated(request):
            return {}
        made = {"Put": self._put, "Update": self._update, "Delete": self._delete, "ConditionCheck": self._check}
        writes: list[PlannedWrite] = []
        reasons: list[CallBody] = []
        _check_distinct(
            (self._target(one) for entry in request["TransactItems"] for one in entry.values()),
            "Transaction request cannot include multiple operations on one item",
        )
        for entry in request["TransactItems"]:
            ((kind, one),) = entry.items()
            try:
                writes.append(made[kind](one))
                reasons.append({"Code": "None"})
            except FailedConditionError as failed:
                reasons.append({"Code": "ConditionalCheckFailed", "Message": failed.message, **failed.more})
        if len(writes) < len(reasons):
            codes = ", ".join(reason["Code"] for reason in reasons)
            message = f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]"
            raise CallError("TransactionCanceledException", message, CancellationReasons=reasons)
        answer = self._applied(request, writes, _TRANSACTION)
        if "ClientRequestToken" in request:
            self._tokens[request["ClientRequestToken"]] = clock.now(), json.dumps(request["TransactItems"])
        return answer

    def _is_repeated(self, request: CallBody) -> bool:
        """Tell whether a transaction of this token took effect; raise ``CallError`` if it was another one."""
        since = clock.now() - _TOKEN_LIVES
        self._tokens = {token: used for token, used in self._tokens.items() if used[0] > since}
        known = self._tokens.get(request.get("ClientRequestToken", ""))
        if known and known[1] != json.dumps(request["TransactItems"]):
            raise CallError("IdempotentParameterMismatchException", "The token was used by another transaction")
        return known is not None

    def batch_execute_statement(self, request: CallBody) -> CallBody:
        """Execute up to 25 statements, each by itself."""
        _only(request, {"Statements", "ReturnConsumedCapacity"})
        _check_number(len(request["Statements"]), _MOST_WRITTEN)
        writes = [statements.parsed(one) for one in request["Statements"]]
        _check_distinct((place for one in writes if (place := self._statement_place(one))), _DUPLICATES)
        return {"Responses": [self._executed(one) for one in writes]}

    def _statement_place(self, one: statements.Insertion | statements.Update) -> tuple[str, Key] | None:
        """Return the table and the place that a statement writes; ``None`` if it is refused."""
        try:
            return one.table, self.tables[one.table].place(one.item)
        except (KeyError, InvalidCallError):
            return None

    def _executed(self, one: statements.Insertion | statements.Update) -> CallBody:
        try:
            table = self._table({"TableName": one.table})
            place = table.place(one.item)
            row = table.rows.get(place)
            if isinstance(one, statements.Insertion):
                if row is not None:
                    return _error(one.table, "DuplicateItem", "Duplicate primary key exists in table")
                after = table.checked(one.item)
            else:
                before = row.item if row else {}
                if any(before.get(name) != value for name, value in normal_item(one.conditions).items()):
                    return _error(one.table, "ConditionalCheckFailed", "The conditional request failed")
                after = table.checked({**before, **one.values})
        except InvalidCallError as refused:
            return _error(one.table, "ValidationError", refused.message)
        except CallError as refused:
            return {"Error": {"Code": refused.code.removesuffix("Exception"), "Message": refused.message}}
        table.write(place, after)
        return {"TableName": one.table}

    def _applied(self, request: CallBody, writes: Iterable[PlannedWrite], times: int = 1) -> CallBody:
        units: dict[str, float] = {}
        for write in writes:
            units[write.table.name] = units.get(write.table.name, 0) + times * write.units
            write.apply()
        return capacity(request, units, many=True)

    # ------------------------------------------------------------ reads

    def get_item(self, request: CallBody) -> CallBody:
        """Return an item, if it exists."""
        _only(
            request,
            {
                *("TableName", "Key", "ConsistentRead", "ProjectionExpression"),
                *("ExpressionAttributeNames", "ReturnConsumedCapacity"),
            },
        )
        table = self._table(request)
        row = table.rows.get(table.key(normal_item(request["Key"])))
        units = read_units(row.size if row else 0, consistent=request.get("ConsistentRead", False))
        found = {"Item": projected(request, row.item)} if row else {}
        return {**found, **capacity(request, {table.name: units})}

    def batch_get_item(self, request: CallBody) -> CallBody:
        """Return up to 100 items, as far as they are together no more than 16 MB."""
        _only(request, {"RequestItems", "ReturnConsumedCapacity"})
        _check_number(sum(len(one["Keys"]) for one in request["RequestItems"].values()), _MOST_GOT)
        responses: dict[str, list[Item]] = {}
        unprocessed: CallBody = {}
        size, units = 0, dict.fromkeys(request["RequestItems"], 0.0)
        for name, one in request["RequestItems"].items():
            _only(one, {"Keys", "ConsistentRead", "ProjectionExpression", "ExpressionAttributeNames"})
            table = self._table({"TableName": name})
            places = [table.key(normal_item(key)) for key in one["Keys"]]
            _check_distinct(places, _DUPLICATES)
            found = responses.setdefault(name, [])
            for key, place in zip(one["Keys"], places, strict=True):
                row = table.rows.get(place)
                size += row.size if row else 0
                if size > _BATCH_BYTES:
                    unprocessed.setdefault(name, {**one, "Keys": []})["Keys"].append(key)
                    continue
                units[name] += read_units(row.size if row else 0, consistent=one.get("ConsistentRead", False))
                if row:
                    found.append(projected(one, row.item))
        return {"Responses": responses, "UnprocessedKeys": unprocessed, **capacity(request, units, many=True)}

    def transact_get_items(self, request: CallBody) -> CallBody:
        """Return up to 100 items as they are at one instant."""
        _only(request, {"TransactItems", "ReturnConsumedCapacity"})
        _check_number(len(request["TransactItems"]), _MOST_IN_TRANSACTION)
        responses, units = [], dict[str, float]()
        for entry in request["TransactItems"]:
            table = self._table(entry["Get"])
            row = table.rows.get(table.key(normal_item(entry["Get"]["Key"])))
            responses.append({"Item": projected(entry["Get"], row.item)} if row else {})
            cost = _TRANSACTION * read_units(row.size if row else 0, consistent=True)
            units[table.name] = units.get(table.name, 0) + cost
        return {"Responses": responses, **capacity(request, units, many=True)}

    def query(self, request: CallBody) -> CallBody:
        """Return a page of the items of a partition, of the table or of an index."""
        _only(request, _READ | _PLACEHOLDERS | {"KeyConditionExpression", "ScanIndexForward"})
        table, scope = self._table(request), scope_of(request)
        index = self._index(table, request)
        partition, bounds = bounds_of(request, scope, index.keys if index else table.keys)
        start, forward = request.get("ExclusiveStartKey"), request.get("ScanIndexForward", True)
        if index is None:
            rows = table.partition(partition, bounds, start, forward=forward)
        else:
            rows = table.indexed(index, partition, bounds, start, forward=forward)
        return page(request, scope, table, index, rows)

    def scan(self, request: CallBody) -> CallBody:
        """Return a page of all items of a table."""
        _only(request, (_READ | _PLACEHOLDERS) - {"IndexName"})
        table = self._table(request)
        return page(request, scope_of(request), table, None, table.all_rows(request.get("ExclusiveStartKey")))

    def _index(self, table: Table, request: CallBody) -> IndexOrder | None:
        name = request.get("IndexName")
        if name is None:
            return None
        if name not in table.indexes:
            raise InvalidCallError(f"The table does not have the specified index: {name}")
        if request.get("ConsistentRead"):
            raise InvalidCallError("Consistent reads are not supported on global secondary indexes")
        return table.indexes[name]

    # ------------------------------------------------------------ streams

    def describe_stream(self, request: CallBody) -> CallBody:
        """Describe a stream: it has one shard."""
        table, stream = self._stream(request["StreamArn"])
        first = stream.records(stream.iterator("TRIM_HORIZON"), 1)["NextShardIterator"]
        shard = {"ShardId": SHARD, "SequenceNumberRange": {"StartingSequenceNumber": first.rpartition("|")[2]}}
        described = {"StreamArn": stream.arn, "StreamLabel": stream.label, "StreamStatus": "ENABLED"}
        shards = [shard] if request.get("ExclusiveStartShardId") != SHARD else []
        more = {"StreamViewType": stream.view, "TableName": table.name, "Shards": shards}
        return {"StreamDescription": {**described, **more}}

    def get_shard_iterator(self, request: CallBody) -> CallBody:
        """Return the iterator of a place in a stream."""
        _, stream = self._stream(request["StreamArn"])
        return {"ShardIterator": stream.iterator(request["ShardIteratorType"], request.get("SequenceNumber", ""))}

    def get_records(self, request: CallBody) -> CallBody:
        """Return the records from an iterator on."""
        _, stream = self._stream(request["ShardIterator"].partition("|")[0])
        return stream.records(request["ShardIterator"], request.get("Limit", 1000))

    def _stream(self, arn: str) -> tuple[Table, Stream]:
        for table in self.tables.values():
            if table.stream and table.stream.arn == arn:
                return table, table.stream
        raise CallError("ResourceNotFoundException", f"Requested resource not found: Stream: {arn} not found")

    def forget_records(self, streams: Iterable[str]) -> None:
        """Forget the records of streams, by ARN, which all readers have read."""
        with self._lock:
            for arn in streams:
                self._stream(arn)[1].forget()


_CALLS: Final[Mapping[str, Callable[[DynamoDB, CallBody], CallBody]]] = {
    "BatchExecuteStatement": DynamoDB.batch_execute_statement,
    "BatchGetItem": DynamoDB.batch_get_item,
    "BatchWriteItem": DynamoDB.batch_write_item,
    "CreateTable": DynamoDB.create_table,
    "DeleteItem": DynamoDB.delete_item,
    "DeleteTable": DynamoDB.delete_table,
    "DescribeStream": DynamoDB.describe_stream,
    "DescribeTable": DynamoDB.describe_table,
    "DescribeTimeToLive": DynamoDB.describe_time_to_live,
    "GetItem": DynamoDB.get_item,
    "GetRecords": DynamoDB.get_records,
    "GetShardIterator": DynamoDB.get_shard_iterator,
    "ListTables": DynamoDB.list_tables,
    "PutItem": DynamoDB.put_item,
    "Query": DynamoDB.query,
    "Scan": DynamoDB.scan,
    "TransactGetItems": DynamoDB.transact_get_items,
    "TransactWriteItems": DynamoDB.transact_write_items,
    "UpdateItem": DynamoDB.update_item,
    "UpdateTimeToLive": DynamoDB.update_time_to_live,
}


def _only(request: Mapping[str, Any], known: Iterable[str]) -> None:
    """Raise ``NotImplementedError`` for a member of a request that the engine would ignore."""
    unknown = request.keys() - set(known)
    if unknown:
        raise NotImplementedError(f"the engine knows no {', '.join(sorted(unknown))}")


def _conditional(
    request: Mapping[str, Any],
    table: Table,
    place: Key,
    scope: Placeholders,
    change: Callable[[StoredItem | None], StoredItem | None],
) -> PlannedWrite:
    """Return a write, if its condition holds for the existing item."""
    before = table.rows.get(place)
    text = request.get("ConditionExpression")
    if text and not condition(text)(before.item if before else {}, scope):
        returns = request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD"
        raise FailedConditionError(before.item if before and returns else None)
    return PlannedWrite(table, place, before, change(before))


def _check_number(number: int, most: int) -> None:
    if not 0 < number <= most:
        raise InvalidCallError(f"{number} items in one call: it takes 1 to {most}")


def _check_distinct(places: Iterable[object], problem: str) -> None:
    every = list(places)
    if len(set(every)) < len(every):
        raise InvalidCallError(problem)


def _error(table: str, code: str, message: str) -> CallBody:
    return {"Error": {"Code": code, "Message": message}, "TableName": table}


def _description(table: Table) -> CallBody:
    described = table.described
    active = {"IndexStatus": "ACTIVE"}
    indexes = [
        {**one, **active, "IndexArn": f"{table.arn}/index/{one['IndexName']}"}
        for one in described.get("GlobalSecondaryIndexes", [])
    ]
    stream = table.stream and {
        "StreamSpecification": described["StreamSpecification"],
        "LatestStreamLabel": table.stream.label,
        "LatestStreamArn": table.stream.arn,
    }
    return {
        **{name: described[name] for name in ("TableName", "KeySchema", "AttributeDefinitions")},
        "TableArn": table.arn,
        "TableStatus": "ACTIVE",
        "ItemCount": len(table.rows),
        "TableSizeBytes": table.size,
        "BillingModeSummary": {"BillingMode": described.get("BillingMode", "PROVISIONED")},
        **({"GlobalSecondaryIndexes": indexes} if indexes else {}),
        **(stream or {}),
    }
