"""What the calls share: placeholders, the bounds and pages of a read, projections, and the capacity that they took."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from quarterhour_tools.emulator.dynamodb.errors import InvalidCallError
from quarterhour_tools.emulator.dynamodb.expressions import (
    Placeholders,
    condition,
    key_conditions,
    placeholders,
    projection,
)
from quarterhour_tools.emulator.dynamodb.sizes import read_units
from quarterhour_tools.emulator.dynamodb.table import IndexOrder, Range, StoredItem, Table
from quarterhour_tools.emulator.dynamodb.values import CallBody, Item, normal_item, sortable

_PAGE_BYTES: Final = 1 << 20
_EXPRESSIONS: Final = (
    "ConditionExpression",
    "FilterExpression",
    "KeyConditionExpression",
    "ProjectionExpression",
    "UpdateExpression",
)


def scope_of(request: Mapping[str, Any]) -> Placeholders:
    """Return the placeholders of a call; raise ``InvalidCallError`` for one that no expression uses."""
    names, values = request.get("ExpressionAttributeNames", {}), request.get("ExpressionAttributeValues", {})
    if names or values:
        used = placeholders(tuple(request[name] for name in _EXPRESSIONS if name in request))
        for member, given in (("ExpressionAttributeNames", names), ("ExpressionAttributeValues", values)):
            unused = given.keys() - used
            if unused:
                raise InvalidCallError(
                    f"Value provided in {member} unused in expressions: keys: {{{', '.join(unused)}}}"
                )
    return Placeholders(names, normal_item(values))


def bounds_of(request: CallBody, scope: Placeholders, keys: tuple[str, ...]) -> tuple[Any, Range | None]:
    """Return the partition of a query, and the condition on its range key."""
    partition: Any = None
    bounds: Range | None = None
    for one in key_conditions(request["KeyConditionExpression"]):
        name, values = scope.name(one.name), tuple(sortable(scope.value(token)) for token in one.values)
        if name == keys[0] and one.operator == "=" and partition is None:
            partition = values[0]
        elif name in keys[1:] and bounds is None:
            bounds = Range(one.operator, values)
        else:
            raise InvalidCallError(f"Query condition missed key schema element: {keys[0]}, or has more than the keys")
    if partition is None:
        raise InvalidCallError(f"Query condition missed key schema element: {keys[0]}")
    if bounds and bounds.operator == "BETWEEN" and bounds.values[0] > bounds.values[1]:  # type: ignore[operator]
        raise InvalidCallError("The BETWEEN operator requires upper bound to be greater than or equal to lower bound")
    return partition, bounds


def page(
    request: CallBody, scope: Placeholders, table: Table, index: IndexOrder | None, rows: Iterator[StoredItem]
) -> CallBody:
    """Return rows up to the limit, or to 1 MB of what was read; a filter drops what it has read."""
    limit = request.get("Limit")
    if limit is not None and limit < 1:
        raise InvalidCallError("Limit must be greater than or equal to 1")
    keeps = condition(request["FilterExpression"]) if "FilterExpression" in request else None
    items: list[Item] = []
    count, size, last = 0, 0, None
    for row in rows:
        item = index.shown(row.item) if index else row.item
        if size + row.size > _PAGE_BYTES and count:
            break
        count, size, last = count + 1, size + row.size, row.item
        if keeps is None or keeps(item, scope):
            items.append(projected(request, item))
        if count == limit:
            break
    else:
        last = None
    names = {*table.keys, *(index.keys if index else ())}
    more = {"LastEvaluatedKey": {name: last[name] for name in names}} if last else {}
    units = read_units(size, consistent=request.get("ConsistentRead", False))
    shown = {} if request.get("Select") == "COUNT" else {"Items": items}
    return {**shown, "Count": len(items), "ScannedCount": count, **more, **capacity(request, {table.name: units})}


def projected(request: Mapping[str, Any], item: Item) -> Item:
    """Return an item, or what a projection keeps of it."""
    if "ProjectionExpression" not in request:
        return item
    scope = Placeholders(request.get("ExpressionAttributeNames", {}), {})
    names = {scope.name(token) for token in projection(request["ProjectionExpression"])}
    return {name: value for name, value in item.items() if name in names}


def capacity(request: CallBody, units: Mapping[str, float], *, many: bool = False) -> CallBody:
    """Return the capacity that a call took by table, if it asks for it; ``many``: as a call of several tables does."""
    if request.get("ReturnConsumedCapacity", "NONE") == "NONE":
        return {}
    used = [{"TableName": table, "CapacityUnits": float(number)} for table, number in units.items()]
    return {"ConsumedCapacity": used if many else used[0]}
