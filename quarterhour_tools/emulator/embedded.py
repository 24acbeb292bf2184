"""moto as an engine for many items: the same responses, faster, and in bounded memory.

moto is made for tests of a few items. Some of its algorithms take time or memory that grows with the table; others are
slow for every value or call. While the embedded engine is open, the functions below replace them. A test compares
their results with moto's.

- moto: a transaction copies each of its tables once per item, to be able to roll back.
  Here it saves only its own items, and restores them after a failure.
- moto: a query sorts the whole table before it selects its partition.
  Here it sees only that partition, and there only the selected keys, which are found in order; for an index, only the
  items that may be in it.
- moto: a list for a dashboard keeps every object ever made, such as copies of items and stream records.
  Here the list keeps nothing.
- moto: the size of an item is summed again for each of its attributes. Here it is summed once.
- moto: each value is checked for every type before it is measured, compared, copied or returned.
  Here texts come first: almost all values are texts.
- moto: PartiQL fails on parameters, and inserts an item whose key exists.
  Here a batch of ``INSERT`` and ``UPDATE`` answers as DynamoDB does. This is compared with DynamoDB Local instead.
- moto: the size of a stream record is that of its JSON, which is made for it. Here it is that of keys and images.

Expressions, and queues and buses, have replacements of their own (``embedded_expressions``, ``embedded_messages``).
"""

import copy
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from operator import attrgetter
from threading import RLock
from typing import Any, Final

from botocore.endpoint import Endpoint
from botocore.regions import EndpointRulesetResolver
from moto.core.botocore_stubber import BotocoreStubber
from moto.core.utils import utcnow
from moto.dynamodb import responses
from moto.dynamodb.exceptions import ItemSizeTooLarge, MockValidationException
from moto.dynamodb.models import DynamoDBBackend
from moto.dynamodb.models.dynamo_type import DynamoType, Item, LimitedSizeDict
from moto.dynamodb.models.table import StreamRecord, Table
from moto.dynamodb.models.utilities import dynamo_to_dict
from moto.dynamodbstreams.models import ShardIterator
from moto.moto_api._internal import mock_random

from quarterhour_tools.emulator.direct import REGION, construct_endpoint, create_request, process_request
from quarterhour_tools.emulator.embedded_expressions import REPLACED as OF_EXPRESSIONS
from quarterhour_tools.emulator.embedded_messages import REPLACED as OF_MESSAGES
from quarterhour_tools.emulator.partiql import Insertion, Update, parsed

ItemKey = tuple[DynamoType, DynamoType | None]
"""The key of an item in its table: hash and range key."""

_TEXT: Final = "S"
_BINARY: Final = "B"
_plain_size: Final = DynamoType.size
_plain_cast: Final[Any] = vars(DynamoType)["cast_value"].fget
_plain_copy: Final = DynamoType.__deepcopy__
_plain_table: Final[Any] = Table.__init__
_plain_query: Final = Table.query
_plain_put: Final = Table.put_item
_plain_update: Final = DynamoDBBackend.update_item
_plain_transaction: Final = DynamoDBBackend.transact_write_items
_one_write: Final = RLock()

_plain_validate: Final = vars(Table)["_validate_item_types"]


_LARGEST_ITEM: Final = 405_000
"""moto's limit for the size of an item, in bytes."""
_MOST_STATEMENTS: Final = 25
"""DynamoDB's limit for the statements of one call."""


# ---------------------------------------------------------------- transactions


def _transact_write_items(backend: DynamoDBBackend, transact_items: list[dict[str, Any]]) -> None:
    """Write all items or none; after a failure, restore the items already written. Threads take turns."""
    with _one_write:
        _transact(backend, transact_items)


def _transact(backend: DynamoDBBackend, transact_items: list[dict[str, Any]]) -> None:
    touched = [place for operations in transact_items for place in _touched(backend, operations.values())]
    before = [(table, place, copy.deepcopy(_stored(table, place))) for table, place in touched]
    streamed = {table.name: (table, len(table.stream_shard.items)) for table, _ in touched if table.stream_shard}
    with _replaced(Table, "__deepcopy__", lambda table, _: table):
        try:
            _plain_transaction(backend, transact_items)
        except Exception:
            for table, place, item in reversed(before):
                _put_back(table, place, item)
            for table, length in streamed.values():
                del table.stream_shard.items[length:]  # type: ignore[union-attr] # a table does not lose its stream
            raise


def _touched(backend: DynamoDBBackend, operations: Iterable[dict[str, Any]]) -> Iterator[tuple[Table, ItemKey]]:
    """Yield the table and key that each operation writes; a malformed operation writes none."""
    for operation in operations:
        table = backend.tables.get(operation.get("TableName", ""))
        if table is not None:
            with suppress(MockValidationException, KeyError):
                yield table, backend.get_keys_value(table, operation.get("Key") or operation["Item"])


def _stored(table: Table, place: ItemKey) -> Item | None:
    return table.get_item(*place)


def _put_back(table: Table, place: ItemKey, item: Item | None) -> None:
    hash_key, range_key = place
    items: Any = table.items if range_key is None else table.items[hash_key]
    key = hash_key if range_key is None else range_key
    if item is None:
        items.pop(key, None)
    else:
        items[key] = item
        _index(table, item)


# ---------------------------------------------------------------- queries


def _query(  # noqa: PLR0913, PLR0917 - as in moto
    table: Table,
    hash_key: DynamoType | None,
    range_comparison: str | None,
    range_objs: list[DynamoType],
    limit: int,
    exclusive_start_key: dict[str, Any],
    scan_index_forward: bool,  # noqa: FBT001 - as in moto
    projection_expressions: list[list[str]] | None,
    index_name: str | None = None,
    *more: Any,  # noqa: ANN401 - as in moto
    **options: Any,  # noqa: ANN401 - as in moto
) -> Any:  # noqa: ANN401 - as in moto
    """Query a view of the table that holds only the candidates."""
    view = copy.copy(table)
    if index_name:
        view.items = _in_index(table, *options["hash_key_conditions"][0])
    else:
        partition: Any = table.items.get(hash_key)
        # With a limit, moto looks at the items beyond the selected ones to tell whether there is a next page.
        of_texts = limit is None and range_comparison in _SELECTS and all(one.type == _TEXT for one in range_objs)
        if table.has_range_key and partition and of_texts:
            partition = partition.selected(range_comparison, range_objs)
        view.items = defaultdict(dict, {} if partition is None else {hash_key: partition})
    return _plain_query(
        view,
        hash_key,
        range_comparison,
        range_objs,
        limit,
        exclusive_start_key,
        scan_index_forward,
        projection_expressions,
        index_name,
        *more,
        **options,
    )


class _Partition(dict[DynamoType, Item]):
    """The items of a hash key by range key. It keeps the keys in order from the first query that needs it."""

    _order: list[DynamoType] | None = None

    def __setitem__(self, key: DynamoType, item: Item) -> None:
        if self._order is not None and key not in self:
            insort(self._order, key, key=_VALUE)
        super().__setitem__(key, item)

    def pop(self, key: DynamoType, *default: Any) -> Any:  # noqa: ANN401 - as in a dict
        self._order = None
        return super().pop(key, *default)

    def selected(self, comparison: str, bounds: list[DynamoType]) -> dict[DynamoType, Item]:
        """Return the items that a condition on text keys selects."""
        if self._order is None:
            self._order = sorted(self, key=_VALUE)
        low, high = bounds[0].value, bounds[-1].value
        compared = _beginning(len(low)) if comparison == "BEGINS_WITH" else _VALUE
        first = bisect_left(self._order, low, key=compared)
        last = bisect_right(self._order, high, first, key=compared)
        return {key: self[key] for key in self._order[first:last]}


def _beginning(length: int) -> Callable[[DynamoType], str]:
    return lambda key: key.value[:length]


_VALUE: Final = attrgetter("value")
_SELECTS: Final = frozenset({"=", "BEGINS_WITH", "BETWEEN"})


def _new_table(table: Table, *arguments: Any, **options: Any) -> None:  # noqa: ANN401 - as in moto
    _plain_table(table, *arguments, **options)
    if table.has_range_key:
        table.items = defaultdict(_Partition)


def _in_index(table: Table, attribute: str, value: DynamoType) -> Any:  # noqa: ANN401 - as in moto
    """Return the items whose attribute has the value, in a table's data structure."""
    places = _candidates(table)[attribute, value.value]
    found: Any = defaultdict(dict)
    for place in list(places):
        item = _stored(table, place)
        if item is None or item.attrs.get(attribute) is None or item.attrs[attribute] != value:
            del places[place]  # it has left the index
        elif place[1] is None:
            found[place[0]] = item
        else:
            found[place[0]][place[1]] = item
    return found


def _candidates(table: Table) -> defaultdict[tuple[str, str], dict[ItemKey, None]]:
    """Return the keys of the items that have or had each value of an index's hash key; built at first use."""
    if "candidates" not in table.__dict__:
        table.__dict__["candidates"] = defaultdict(dict)
        for item in table.all_items():
            _index(table, item)
    candidates: defaultdict[tuple[str, str], dict[ItemKey, None]] = table.__dict__["candidates"]
    return candidates


def _index(table: Table, item: Item) -> None:
    """Remember the values under which the table's indexes hold an item."""
    if "candidates" not in table.__dict__:
        return
    for index in table.all_indexes():
        for key in index.schema:
            value = item.attrs.get(key["AttributeName"])
            if key["KeyType"] == "HASH" and value is not None:
                table.__dict__["candidates"][key["AttributeName"], value.value][item.hash_key, item.range_key] = None


def _put_item(table: Table, *arguments: Any, **options: Any) -> Item:  # noqa: ANN401 - as in moto
    with _one_write:
        item = _plain_put(table, *arguments, **options)
        _index(table, item)
    return item


def _update_item(backend: DynamoDBBackend, table_name: str, *arguments: Any, **options: Any) -> Item:  # noqa: ANN401
    with _one_write:
        item = _plain_update(backend, table_name, *arguments, **options)
        _index(backend.get_table(table_name), item)
    return item


# ---------------------------------------------------------------- statements


def _execute_statements(backend: DynamoDBBackend, statements: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Write items, each by itself; the call fails as a whole if it names a key twice or holds too many statements."""
    if len(statements) > _MOST_STATEMENTS:
        raise MockValidationException(f"BatchWriteItem cannot write more than {_MOST_STATEMENTS} items")
    writes = [parsed(statement) for statement in statements]
    touched = list(_touched(backend, ({"TableName": one.table, "Item": one.item} for one in writes)))
    places = [(table.name, *(key and key.value for key in place)) for table, place in touched]
    if len(set(places)) < len(places):
        raise MockValidationException("Provided list of item keys contains duplicates")
    with _one_write:
        return [_execute(backend, one) for one in writes]


def _execute(backend: DynamoDBBackend, write: Insertion | Update) -> dict[str, Any]:
    table = backend.tables.get(write.table)
    if table is None:
        message = "Cannot do operations on a non-existent table"
        return {"Error": {"Code": "ResourceNotFound", "Message": message}}
    try:
        existing = _stored(table, backend.get_keys_value(table, write.item))
        error = _insert(table, write, existing) if isinstance(write, Insertion) else _update(table, write, existing)
    except MockValidationException as refused:
        error = {"Code": "ValidationError", "Message": refused.message}
    return {**({"Error": error} if error else {}), "TableName": write.table}


def _insert(table: Table, insertion: Insertion, existing: Item | None) -> dict[str, Any]:
    if existing is not None:
        return {"Code": "DuplicateItem", "Message": "Duplicate primary key exists in table"}
    table.put_item(insertion.item)
    return {}


def _update(table: Table, update: Update, existing: Item | None) -> dict[str, Any]:
    before = {} if existing is None else {name: value.to_regular_json() for name, value in existing.attrs.items()}
    if any(before.get(name) != value for name, value in update.conditions.items()):
        return {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed"}
    table.put_item({**before, **update.values})
    return {}


# ---------------------------------------------------------------- items and their values


def _new_item(item: Item, hash_key: DynamoType, range_key: DynamoType | None, attrs: dict[str, Any]) -> None:
    item.hash_key = hash_key
    item.range_key = range_key
    values = {name: DynamoType(value) for name, value in attrs.items()}
    if _size_of(values) > _LARGEST_ITEM:
        raise ItemSizeTooLarge
    item.attrs = _attributes(values)


def _attributes(values: dict[str, DynamoType]) -> LimitedSizeDict:
    attributes = LimitedSizeDict()
    dict.update(attributes, values)  # without the dict's own checks
    return attributes


def _size_of(values: dict[str, DynamoType]) -> int:
    return sum(_bytes(name) + _value_size(value) for name, value in values.items())


def _item_size(item: Item) -> int:
    return _size_of(item.attrs)


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())


def _value_size(value: DynamoType) -> int:
    if value.type == _BINARY and isinstance(value.value, str):
        return len(value.value) * 3 // 4 - value.value.count("=", -2)
    return _bytes(value.value) if value.type == _TEXT else _plain_size(value)


def _cast(value: DynamoType) -> Any:  # noqa: ANN401 - as in moto
    return value.value if value.type == _TEXT else _plain_cast(value)


def _copied_item(item: Item, memo: dict[int, Any]) -> Item:
    values = {name: _copied_value(value, memo) for name, value in item.attrs.items()}
    copied = object.__new__(Item)
    range_key = item.range_key and _copied_value(item.range_key, memo)
    copied.hash_key, copied.range_key, copied.attrs = _copied_value(item.hash_key, memo), range_key, _attributes(values)
    return copied


def _copied_value(value: DynamoType, memo: dict[int, Any]) -> DynamoType:
    if value.type != _TEXT:
        return _plain_copy(value, memo)
    copied = object.__new__(DynamoType)
    copied.type, copied.value = _TEXT, value.value
    return copied


def _as_json(result: Any) -> Any:  # noqa: ANN401 - as in moto
    """Return a result of an operation as JSON; moto itself converts what is neither a text, an object nor a list."""
    if isinstance(result, dict):
        return {name: one if type(one) is str else _as_json(one) for name, one in result.items()}
    if type(result) is DynamoType and result.type == _TEXT:
        return {_TEXT: result.value}
    return [_as_json(one) for one in result] if type(result) is list else dynamo_to_dict(result)


def _validate_item_types(table: Table, item_attrs: dict[str, Any], attr: str | None = None) -> None:
    others = {name: value for name, value in item_attrs.items() if not _is_text(value)}
    _plain_validate(table, others, attr)


def _is_text(value: Any) -> bool:  # noqa: ANN401 - JSON
    return type(value) is dict and type(value.get(_TEXT)) is str


# ---------------------------------------------------------------- stream records


def _new_record(  # noqa: PLR0913, PLR0917 - as in moto
    record: StreamRecord, table: Table, view: str, event: str, old: Item | None, new: Item | None, number: int
) -> None:
    images = {name: image for name, image in (("NewImage", new), ("OldImage", old)) if image and view in _VIEWS[name]}
    keys = {name: (old or new).attrs[name] for name in table.table_key_attrs}  # type: ignore[union-attr] # one exists
    record.record = {
        "eventID": mock_random.uuid4().hex,
        "eventName": event,
        "eventSource": "aws:dynamodb",
        "eventVersion": "1.0",
        "awsRegion": REGION,
        "dynamodb": {
            "StreamViewType": view,
            "ApproximateCreationDateTime": utcnow(),
            "SequenceNumber": str(number),
            "SizeBytes": _size_of(keys) + sum(image.size() for image in images.values()),
            "Keys": {name: key.to_json() for name, key in keys.items()},
            **{name: image.to_json()["Attributes"] for name, image in images.items()},
        },
    }


_VIEWS: Final = {
    "NewImage": {"NEW_IMAGE", "NEW_AND_OLD_IMAGES"},
    "OldImage": {"OLD_IMAGE", "NEW_AND_OLD_IMAGES"},
}


# ---------------------------------------------------------------- replacements of moto's functions

_REPLACED: Final[tuple[tuple[Any, str, Any], ...]] = (
    (EndpointRulesetResolver, "construct_endpoint", construct_endpoint),
    (Endpoint, "create_request", create_request),
    (BotocoreStubber, "process_request", process_request),
    (DynamoDBBackend, "transact_write_items", _transact_write_items),
    (DynamoDBBackend, "update_item", _update_item),
    (DynamoDBBackend, "batch_execute_statement", _execute_statements),
    (Table, "__init__", _new_table),
    (Table, "query", _query),
    (Table, "put_item", _put_item),
    (Table, "_validate_item_types", _validate_item_types),
    (StreamRecord, "__init__", _new_record),
    (Item, "__init__", _new_item),
    (Item, "__deepcopy__", _copied_item),
    (Item, "size", _item_size),
    (DynamoType, "cast_value", property(_cast)),
    (DynamoType, "size", _value_size),
    (responses, "dynamo_to_dict", _as_json),
    *OF_EXPRESSIONS,
    *OF_MESSAGES,
)
_UNTRACKED: Final[tuple[Any, ...]] = (Item, StreamRecord, ShardIterator, Table)


class _Adjustments:
    """Installs the replacements while at least one user needs them."""

    def __init__(self) -> None:
        self._users = 0
        self._plain: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> None:
        self._users += 1
        if self._users == 1:
            self._plain = [(owner, name, vars(owner).get(name) or getattr(owner, name)) for owner, name, _ in _REPLACED]
            for owner, name, value in _REPLACED:
                setattr(owner, name, value)
            for kind in _UNTRACKED:
                kind.instances_tracked = deque(maxlen=0)

    def __exit__(self, *_: object) -> None:
        self._users -= 1
        if not self._users:
            for owner, name, value in self._plain:
                setattr(owner, name, value)
            for kind in _UNTRACKED:
                kind.instances_tracked = []


adjusted: Final = _Adjustments()
"""Within ``with adjusted:``, moto's DynamoDB handles many items."""


@contextmanager
def _replaced(owner: type, name: str, value: Any) -> Iterator[None]:  # noqa: ANN401 - any attribute
    setattr(owner, name, value)
    try:
        yield
    finally:
        delattr(owner, name)
