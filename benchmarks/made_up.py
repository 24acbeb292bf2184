"""A fake AWS that responds at once, from a ledger of any size that it generates on reading.

It sits on botocore's hook before a request is sent, so a client does all of its own work and nothing else is timed.
Writes of events and objects are taken and forgotten; control items and the totals of parts are kept. The
counters agree with the ledger.
"""

import io
import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from botocore.awsrequest import AWSResponse
from botocore.handlers import BUILTIN_HANDLERS

from quarterhour.aws.items import to_item
from quarterhour.ledger.keys import recorded_key
from quarterhour.ledger.postings.segments import packed
from quarterhour.model.clock import iso_millis
from quarterhour.model.identifiers import Partition
from quarterhour.model.quarter_hours import LENGTH, QuarterHour
from quarterhour.model.schema import SCHEMA

if TYPE_CHECKING:
    from botocore.awsrequest import AWSPreparedRequest
    from botocore.httpchecksum import AwsChunkedWrapper

Json = dict[str, Any]
MakePage = Callable[[tuple[str, ...], str | None, int | None], bytes]

NEWEST: Final = QuarterHour(datetime(2026, 10, 23, 1, 30, tzinfo=UTC))
"""The newest quarter-hour of every generated ledger."""
ITEM_BYTES: Final = 250
"""Bytes of a ledger item without details."""
_PAGE_BYTES: Final = 1 << 20
_PAGES_KEPT: Final = 1000

# One text for all items: what differs is put in, and the id is as long as makes it 250 bytes by DynamoDB's rules.
_ITEM: Final = (
    '{{"quarter_hour":{{"S":"{partition}"}},"position":{{"S":"{at}.{number:016d}"}},"source":{{"S":"shop"}},'
    '"id":{{"S":"event-{number:09d}"}},"type":{{"S":"sale.recorded"}},"agency":{{"S":"agency-{agency:02d}"}},'
    '"currency":{{"S":"EUR"}},"amount":{{"S":"12.50"}},"commission_rate":{{"S":"0.10"}},'
    '"commission":{{"S":"1.2500"}},"recorded_at":{{"S":"{at}"}},"terms":{{"S":"event"}},"period":{{"S":"2026-10"}}{extra}}}'
)
_DETAILS: Final = (
    ',"time":{{"S":"{at}"}},"product":{{"S":"{product:.12}"}},"quantity":{{"S":"5"}},"unit_price":{{"S":"2.50"}},'
    '"customer":{{"S":"{order:.6}"}},"order_id":{{"S":"{order:.10}"}},"line":{{"S":"{number:07d}"}}'
)
"""What a real sale has besides; in a segment, it takes about as many bytes as one of Online Retail: 26."""
_DETAIL_BYTES: Final = 113
_SEGMENT_BYTES: Final = 100
"""Of a segment besides its events, about."""
_EXTRA: Final = ',"extra":{{"S":"{padding}"}}'
_EXTRA_NAME: Final = len("extra")
_COUNTER: Final = re.compile(r"ACCOUNT#agency-(\d+)#EUR QUARTER#\d{12}")


@dataclass(frozen=True, slots=True)
class Ledger:
    """A ledger of quarter-hours up to ``NEWEST``, with the number of their events, accounts and bytes an event.

    ``details``: whether events have those of real sales, too. ``events_a_segment``: how many events share a segment; 0:
    each is a separate item, as in the tables of people who start with one.
    """

    quarter_hours: int
    events: int
    shards: int = 1
    accounts: int = 10
    item_bytes: int = ITEM_BYTES
    details: bool = False
    events_a_segment: int = 0

    @property
    def first(self) -> QuarterHour:
        """The first quarter-hour."""
        return QuarterHour(NEWEST.start - LENGTH * (self.quarter_hours - 1))

    def partitions(self) -> Iterator[Partition]:
        """Yield all partitions, the oldest first."""
        starts = (self.first.start + LENGTH * quarter_hour for quarter_hour in range(self.quarter_hours))
        return (Partition(QuarterHour(start), shard) for start in starts for shard in range(self.shards))

    def numbers(self, partition: Partition, after: str | None = None) -> range:
        """Return the numbers, within their quarter-hour, of a partition's events after the position of an item."""
        in_ledger = self.first <= partition.quarter_hour <= NEWEST and partition.shard < self.shards
        step = self.shards * max(1, self.events_a_segment)
        first = partition.shard if after is None else int(after.rpartition(".")[2]) + step
        return range(first, self.events if in_ledger else 0, self.shards)

    def item(self, partition: Partition, number: int) -> str:
        """Return an event as a separate item, as JSON."""
        at = iso_millis(partition.quarter_hour.start + timedelta(microseconds=number * 900_000_000 // self.events))
        padding = "x" * (self.item_bytes - ITEM_BYTES - _EXTRA_NAME)
        extra = _EXTRA.format(padding=padding) if padding else ""
        if self.details:
            # A shop sells 500 products. One product for each sale would be no shop.
            product, order = (sha256(str(n).encode()).hexdigest() for n in (number % 500, number // 10))
            extra += _DETAILS.format(at=at, product=product, order=order, number=number)
        return _ITEM.format(partition=partition, at=at, number=number, agency=number % self.accounts, extra=extra)

    def items(self, partition: Partition, after: str | None) -> Iterator[tuple[str, int]]:
        """Yield a partition's items after a position as JSON, each with its bytes."""
        numbers = self.numbers(partition, after)
        if not self.events_a_segment:
            size = self.item_bytes + (_DETAIL_BYTES if self.details else 0)
            yield from ((self.item(partition, number), size) for number in numbers)
            return
        for start in range(0, len(numbers), self.events_a_segment):
            yield self._segment(partition, numbers[start : start + self.events_a_segment])

    def _segment(self, partition: Partition, numbers: range) -> tuple[str, int]:
        """Return the segment of some events, with its bytes."""
        items: list[Json] = [json.loads(self.item(partition, number)) for number in numbers]
        tax_point = {"tax_point": {"S": f"{partition.quarter_hour.day}"}}
        events = packed({name: value["S"] for name, value in (item | tax_point).items()} for item in items)
        key = {name: items[0][name] for name in ("quarter_hour", "position")}
        more = {
            "count": {"N": str(len(items))},
            "schema": {"S": str(SCHEMA)},
            "events": {"B": b64encode(events).decode()},
        }
        return json.dumps({**key, **more}), len(events) + _SEGMENT_BYTES

    def stream(self, items: int) -> Iterator[Json]:
        """Yield what Lambda passes of the stream of the newest quarter-hour, with so many of its items at a time."""
        written = (json.loads(item) for item, _ in self.items(Partition(NEWEST, 0), None))
        while records := [_record(image) for image in islice(written, items)]:
            yield {"Records": records}


def _record(image: Json) -> Json:
    key = {name: image[name] for name in ("quarter_hour", "position")}
    change = {"SequenceNumber": image["position"]["S"].rpartition(".")[2], "NewImage": image, "Keys": key}
    return {"eventID": "1", "eventName": "INSERT", "dynamodb": change}


class MadeUp:
    """A fake AWS with a generated ledger."""

    def __init__(self, ledger: Ledger, unsealed: int = 1, *, keeps_pages: bool = False) -> None:
        """``unsealed``: how many of the newest quarter-hours are to be reported.

        ``keeps_pages``: make each page of the ledger once, so that its making is not timed again.
        """
        self._ledger = ledger
        self._sealed_through = QuarterHour(NEWEST.start - LENGTH * unsealed)
        self._page: MakePage = lru_cache(_PAGES_KEPT)(self._make_page) if keeps_pages else self._make_page
        self._items: dict[tuple[str, str], Json] = {}
        self._totals: dict[str, bytes] = {}
        self.reset()

    def reset(self) -> None:
        """Remove all written items."""
        self._items.clear()
        self._totals.clear()
        sealed = {"S": str(self._sealed_through)}
        self._keep({"pk": {"S": "CONTROL"}, "sk": {"S": "checkpoint"}, "sealed_through": sealed})
        self._keep({"pk": {"S": "CONTROL"}, "sk": {"S": "shards"}, "shards": {"N": str(self._ledger.shards)}})

    @contextmanager
    def installed(self) -> Iterator["MadeUp"]:
        """Answer every client that is made within the block."""
        hook = ("before-send", self._answer)
        BUILTIN_HANDLERS.insert(0, hook)
        try:
            yield self
        finally:
            BUILTIN_HANDLERS.remove(hook)

    def _answer(self, request: "AWSPreparedRequest", event_name: str, **_more: object) -> AWSResponse:
        _, service, operation = event_name.split(".")
        body: Any = request.body
        if service == "s3":
            return _response(request.url, self._object(request.url, body))
        answer = getattr(self, f"_{operation}")(json.loads(body))
        return _response(request.url, answer if isinstance(answer, bytes) else json.dumps(answer).encode())

    # ------------------------------------------------------------ the ledger

    def _Query(self, request: Json) -> Json | bytes:  # noqa: N802 - the operation's name
        if "IndexName" in request:
            return {"Items": [], "Count": 0, "ScannedCount": 0}
        given = {name: value["S"] for name, value in request["ExpressionAttributeValues"].items()}
        if ":pk" in given:
            return self._marks(given)
        (partition,) = given.values()
        start = request.get("ExclusiveStartKey", {}).get("position", {}).get("S")
        return self._page((partition,), start, request.get("Limit"))

    def _marks(self, given: Mapping[str, str]) -> Json:
        """Return the marks of the ledger's quarter-hours in a range: something is recorded in each."""
        marked = (recorded_key(one.quarter_hour) for one in self._ledger.partitions() if one.shard == 0)
        found = [to_item(dict(key)) for key in marked if given[":low"] <= key["sk"] <= given[":high"]]
        return {"Items": found, "Count": len(found), "ScannedCount": len(found)}

    def _Scan(self, request: Json) -> bytes:  # noqa: N802 - the operation's name
        start = request.get("ExclusiveStartKey")
        partitions = map(str, self._ledger.partitions())
        if start is None:
            return self._page(tuple(partitions), None, None)
        left = (name for name in partitions if name >= start["quarter_hour"]["S"])
        return self._page(tuple(left), start["position"]["S"], None)

    def _make_page(self, partitions: tuple[str, ...], after: str | None, limit: int | None) -> bytes:
        """Return the answer with a page: of these partitions, the first of them after a position."""
        items: list[str] = []
        size, more = 0, False
        for item, item_bytes in self._rows(partitions, after):
            size += item_bytes
            more = size > _PAGE_BYTES or len(items) == limit
            if more:
                break
            items.append(item)
        last, count = "", len(items)
        if more or count == limit:
            key = json.loads(items[-1])
            last = ',"LastEvaluatedKey":' + json.dumps({name: key[name] for name in ("quarter_hour", "position")})
        return f'{{"Items":[{",".join(items)}],"Count":{count},"ScannedCount":{count}{last}}}'.encode()

    def _rows(self, partitions: tuple[str, ...], after: str | None) -> Iterator[tuple[str, int]]:
        for name in partitions:
            yield from self._ledger.items(Partition.parse(name), after)
            after = None

    # ------------------------------------------------------------ everything else

    def _keep(self, item: Json) -> None:
        self._items[item["pk"]["S"], item["sk"]["S"]] = item

    def _GetItem(self, request: Json) -> Json:  # noqa: N802 - the operation's name
        key = request["Key"]
        item = self._items.get((key["pk"]["S"], key["sk"]["S"]))
        return {"Item": item} if item else {}

    def _BatchGetItem(self, request: Json) -> Json:  # noqa: N802 - the operation's name
        found = {
            table: [item for key in requested["Keys"] if (item := self._item(key["pk"]["S"], key["sk"]["S"]))]
            for table, requested in request["RequestItems"].items()
        }
        return {"Responses": found, "UnprocessedKeys": {}}

    def _item(self, pk: str, sk: str) -> Json | None:
        """Return a kept item; or the counter of an account and a quarter-hour, which agrees with the ledger."""
        counter = _COUNTER.fullmatch(f"{pk} {sk}")
        if counter is None:
            return self._items.get((pk, sk))
        events = len(range(int(counter[1]), self._ledger.events, self._ledger.accounts))
        gross, commission = events * Decimal("12.50"), events * Decimal("1.25")
        figures = {"events": events, "gross": gross, "refunds": 0, "commission": commission}
        return {"pk": {"S": pk}, "sk": {"S": sk}, **{name: {"N": str(value)} for name, value in figures.items()}}

    def _PutItem(self, request: Json) -> Json:  # noqa: N802 - the operation's name
        if "pk" in request["Item"]:
            self._keep(request["Item"])
        return {}

    def _BatchExecuteStatement(self, request: Json) -> Json:  # noqa: N802 - the operation's name
        return {"Responses": [{} for _ in request["Statements"]]}

    def _BatchWriteItem(self, _request: Json) -> Json:  # noqa: N802 - the operation's name
        return {"UnprocessedItems": {}}

    def _UpdateItem(self, request: Json) -> Json:  # noqa: N802 - the operation's name
        """Carry out ``SET a = :a, b = :b REMOVE c``; the conditions of the only writer hold."""
        if "pk" not in request["Key"]:
            return {}
        item = {**self._GetItem(request).get("Item", {}), **request["Key"]}
        names = request.get("ExpressionAttributeNames", {})
        sets, _, removes = request["UpdateExpression"].removeprefix("SET ").partition(" REMOVE ")
        for name, value in (one.split(" = ") for one in sets.split(", ")):
            item[names.get(name, name)] = request["ExpressionAttributeValues"][value]
        item.pop(names.get(removes, removes), None)
        self._keep(item)
        return {}

    def _TransactWriteItems(self, request: Json) -> Json:  # noqa: N802 - the operation's name
        for action in request["TransactItems"]:
            for operation, parameters in action.items():
                getattr(self, f"_{operation}Item")(parameters)
        return {}

    def _object(self, url: str, body: "AwsChunkedWrapper | None") -> bytes:
        if "list-type=2" in url:
            return self._listing(url)
        if body is None:
            return self._totals.get(url, b"")
        if "/totals/" in url:
            self._totals[url] = b"".join(_chunks(body))
        return b""

    def _listing(self, url: str) -> bytes:
        """List the kept objects under the prefix that a request names."""
        (prefix,) = parse_qs(urlsplit(url).query).get("prefix", [""])
        keys = (unquote(urlsplit(kept).path).lstrip("/") for kept in self._totals)
        found = "".join(f"<Contents><Key>{key}</Key></Contents>" for key in sorted(keys) if key.startswith(prefix))
        return f"<ListBucketResult><IsTruncated>false</IsTruncated>{found}</ListBucketResult>".encode()

    def _StartExecution(self, request: Json) -> Json:  # noqa: N802 - the operation's name
        machine = request["stateMachineArn"].replace(":stateMachine:", ":execution:")
        return {"executionArn": f"{machine}:{request['name']}"}

    def _DescribeTable(self, _request: Json) -> Json:  # noqa: N802 - the operation's name
        keys = [{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}]
        types = [{"AttributeName": key["AttributeName"], "AttributeType": "S"} for key in keys]
        return {"Table": {"KeySchema": keys, "AttributeDefinitions": types}}


def _chunks(body: "AwsChunkedWrapper") -> Iterator[bytes]:
    """Yield the content of a body in chunks, each behind its length; an empty one ends it."""
    content = io.BytesIO(body.read())
    while length := int(content.readline(), 16):
        yield content.read(length)
        content.readline()


class _Raw(io.BytesIO):
    """A body with urllib3's interface."""

    def stream(self, **_: object) -> Iterator[bytes]:
        yield self.getvalue()


def _response(url: str, body: bytes) -> AWSResponse:
    headers: Any = {"content-type": "application/x-amz-json-1.0", "x-amzn-requestid": "made-up", "etag": '"made-up"'}
    return AWSResponse(url, 200, headers, _Raw(body))
