"""The short way from an AWS client's request to moto: without HTTP objects, and without converting shapes.

moto rebuilds an HTTP request from what botocore is about to send, matches its URL with those of all services, and
walks the description of the operation twice, for the request and for the response. For calls about items, that takes
longer than the operation. Here the JSON of the request goes to moto's operation, and its result becomes JSON.

Other operations, and requests with sets of binary values or ``null``, take moto's own way. A test compares both.

A query of a partition that holds nothing is answered without moto: a report of a quiet day makes a hundred of them.

An object of S3 is put, read and looked up by moto's handler without an HTTP request. Other requests for objects go to
that handler at once: the URL is not matched with any other service's.

The emulator itself reads streams and objects, and makes queues, without a request: nothing is encoded, signed, or
decoded.
"""

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache
from http import HTTPStatus
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any, Final
from urllib.parse import urlparse
from weakref import WeakKeyDictionary

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders
from botocore.endpoint import Endpoint
from botocore.model import OperationModel
from botocore.parsers import ResponseParserFactory, create_parser
from botocore.regions import EndpointRulesetResolver
from botocore.response import StreamingBody
from botocore.utils import parse_timestamp
from moto.core.botocore_stubber import BotocoreStubber
from moto.core.common_types import TYPE_RESPONSE
from moto.core.request import normalize_request
from moto.core.responses import BaseResponse
from moto.core.utils import camelcase_to_underscores, get_service_model
from moto.dynamodb.models import dynamodb_backends
from moto.dynamodb.models.dynamo_type import DynamoType
from moto.dynamodb.responses import DynamoHandler
from moto.dynamodbstreams.models import dynamodbstreams_backends
from moto.s3.exceptions import S3ClientError
from moto.s3.models import s3_backends
from moto.s3.responses import S3Response
from moto.sqs.models import sqs_backends
from requests.structures import CaseInsensitiveDict

from quarterhour_tools.bucket import Objects

if TYPE_CHECKING:
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient

REGION: Final = "us-east-1"
ACCOUNT: Final = "123456789012"
_PARTITION: Final = "aws"
"""moto's S3 has one backend for all regions."""

_ADDRESS: Final = f"https://dynamodb.{REGION}.amazonaws.com/"
_QUEUES: Final = urlparse(f"https://sqs.{REGION}.amazonaws.com/")
_OBJECT: Final = re.compile(rf"https://([a-z0-9.-]+\.)?s3(\.{REGION})?\.amazonaws\.com/[^/?]+/[^/?]")
"""The address of an object in a folder; moto takes others for a bucket too."""
_OPERATIONS: Final = frozenset(
    {
        "BatchExecuteStatement",
        "BatchGetItem",
        "BatchWriteItem",
        "DeleteItem",
        "GetItem",
        "PutItem",
        "Query",
        "Scan",
        "TransactGetItems",
        "TransactWriteItems",
        "UpdateItem",
    }
)
_ACTIONS: Final = {operation: camelcase_to_underscores(operation) for operation in _OPERATIONS}
_JSON: Final = "application/x-amz-json-1.0"
_OF_PARTITION: Final = re.compile(r"(\w+) = (:\w+)")
_OF_PARTITIONS: Final = frozenset(
    {"ConsistentRead", "ExpressionAttributeValues", "KeyConditionExpression", "Limit", "ScanIndexForward", "TableName"}
)
"""The members of a query for all items of a partition."""
_NOTHING: Final = json.dumps({"Count": 0, "Items": [], "ScannedCount": 0})
_MOST_ITERATORS: Final = 100
_NOT_PLAIN: Final = (b'"BS"', b"null")
"""moto decodes sets of binary values and removes members that are ``null``."""

_parser: Final[Any] = create_parser("json")
_factory: Final = ResponseParserFactory()
# Reading a time takes as long as reading the object, and many objects have the same.
_factory.set_parser_defaults(timestamp_parser=lru_cache(maxsize=1000)(parse_timestamp))
_object_parser: Final[Any] = _factory.create_parser("rest-xml")
_plain_construct: Final[Any] = EndpointRulesetResolver.construct_endpoint
_endpoints: Final[WeakKeyDictionary[EndpointRulesetResolver, dict[object, Any]]] = WeakKeyDictionary()
_plain_create: Final = Endpoint.create_request
_plain_process: Final = BotocoreStubber.process_request


def answer_call(model: OperationModel, params: dict[str, Any], **_: object) -> tuple[Any, dict[str, Any]] | None:
    """Answer a call about items or an object before it becomes an HTTP request: botocore's hook ``before-call``.

    A call of S3 that fails has no effect. It is made again the long way, on which botocore reads the error. Only the
    look-up of an object that does not exist is answered at once, because the functions make it often.
    """
    if BotocoreStubber.process_request is not process_request:
        return None  # the embedded engine is not open
    if model.name in _OBJECT_OPERATIONS:
        return _OBJECT_OPERATIONS[model.name](model, params) if _OBJECT.match(params["url"]) else None
    if params["url"] != _ADDRESS or model.name not in _OPERATIONS:
        return None
    body = _as_bytes(params["body"])
    if not _is_plain(body):
        return None
    status, headers, content = _call(model.name, params["headers"]["X-Amz-Target"], body)
    answer = {"status_code": status, "headers": headers, "body": _as_bytes(content)}
    parsed = _parser.parse(answer, model.output_shape)
    if status == HTTPStatus.OK:
        return _answered(status), parsed
    # As botocore does: an error may have members of its own, such as the reasons of a cancelled transaction.
    shape = model.service_model.shape_for_error_code(parsed["Error"]["Code"])
    if shape is not None:
        parsed.update(_parser.parse(answer, shape))
    return _answered(status), parsed


@cache
def _answered(status: int) -> AWSResponse:
    """Return an HTTP response of which botocore reads no more than the status."""
    return AWSResponse(_ADDRESS, status, HTTPHeaders(), None)


def _put_object(model: OperationModel, params: dict[str, Any]) -> tuple[Any, dict[str, Any]] | None:
    """Let moto put an object; ``None`` if moto refuses, or if the checksum is not botocore's own."""
    checksum = params["context"].get("checksum", {}).get("request_algorithm_header")
    if checksum is None:
        return None
    headers = CaseInsensitiveDict({**params["headers"], checksum["name"]: checksum["value"]})
    body = params["body"]
    if not isinstance(body, bytes):
        file, start = body, body.tell()
        body = file.read()
        file.seek(start)
    try:
        status, answered, content = _Object(params["context"]["input_params"], headers, body).put_object()
    except S3ClientError:
        return None
    return _read(model, status, answered, _as_bytes(content))


def _get_object(model: OperationModel, params: dict[str, Any]) -> tuple[Any, dict[str, Any]] | None:
    """Let moto return a whole object; ``None`` if moto refuses, or for a part or a version."""
    if not _is_whole(params):
        return None
    try:
        status, answered, content = _Object(params["context"]["input_params"], params["headers"], b"").get_object()
    except S3ClientError:
        return None
    if status != HTTPStatus.OK:
        return None
    body = _as_bytes(content)
    return _read(model, status, answered, StreamingBody(BytesIO(body), len(body)))


def _head_object(model: OperationModel, params: dict[str, Any]) -> tuple[Any, dict[str, Any]] | None:
    """Let moto describe a whole object; ``None`` if moto refuses, or for a part or a version."""
    if not _is_whole(params):
        return None
    place, headers = params["context"]["input_params"], params["headers"]
    try:
        status, answered, _ = _Object(place, headers, b"").head_object(place["Bucket"], {}, place["Key"], headers)
    except S3ClientError:
        return None
    return _read(model, status, answered, b"") if status in {HTTPStatus.OK, HTTPStatus.NOT_FOUND} else None


def _is_whole(params: dict[str, Any]) -> bool:
    """Return whether a request is for a whole object in its current version."""
    return not params["query_string"] and "Range" not in params["headers"]


def _read(
    model: OperationModel, status: int, headers: dict[str, str], body: bytes | StreamingBody
) -> tuple[Any, dict[str, Any]]:
    """Return the answer to a request about an object."""
    # botocore's own headers are a list, which the parser would search for each member of the answer.
    answer = {"status_code": status, "headers": CaseInsensitiveDict(headers), "body": body}
    return _answered(status), _object_parser.parse(answer, model.output_shape)


_OBJECT_OPERATIONS: Final = {"GetObject": _get_object, "HeadObject": _head_object, "PutObject": _put_object}


class _Object(S3Response):
    """moto's handler of one object, without an HTTP request."""

    def __init__(self, place: Mapping[str, str], headers: Mapping[str, str], body: bytes) -> None:
        super().__init__()
        self.bucket_name, self._key = place["Bucket"], place["Key"]
        self.headers, self.querystring, self.uri_match, self.data = headers, {}, {}, {}
        self.body = self.raw_body = body
        self.region, self.current_account = REGION, ACCOUNT

    def parse_key_name(self) -> str:
        return self._key


def create_request(endpoint: Endpoint, parameters: dict[str, Any], operation: Any = None) -> AWSPreparedRequest:  # noqa: ANN401 - untyped in botocore
    """Return the request for a call: one about items is not signed, because moto checks no signature."""
    if parameters["url"] == _ADDRESS and operation is not None and operation.name in _OPERATIONS:
        body = _as_bytes(parameters["body"])
        return AWSPreparedRequest("POST", _ADDRESS, parameters["headers"], body, stream_output=False)
    request: AWSPreparedRequest = _plain_create(endpoint, parameters, operation)
    return request


def process_request(stubber: BotocoreStubber, request: AWSPreparedRequest) -> TYPE_RESPONSE | None:
    """Answer a request as moto does; one about items or an object takes the short way."""
    target: Any = request.headers.get("X-Amz-Target", "")
    target = target.decode() if isinstance(target, bytes) else target
    operation, body = target.rpartition(".")[2], request.body
    if request.url == _ADDRESS and operation in _OPERATIONS and isinstance(body, bytes) and _is_plain(body):
        return _call(operation, target, body)
    if _OBJECT.match(request.url):
        normalized: Any = normalize_request(request)
        return S3Response.key_dispatch(normalized, normalized.raw_url, normalized.headers)
    answer: TYPE_RESPONSE | None = _plain_process(stubber, request)
    return answer


def construct_endpoint(
    resolver: EndpointRulesetResolver,
    operation_model: OperationModel,
    call_args: Mapping[str, Any],
    request_context: Mapping[str, Any],
) -> Any:  # noqa: ANN401 - untyped in botocore
    """Return the endpoint of a call. A client has one for DynamoDB, and one for the objects of each S3 bucket."""
    key: object
    if operation_model.service_model.service_name == "dynamodb":
        key = "dynamodb"
    elif operation_model.name in _OBJECT_OPERATIONS:
        key = operation_model.name, call_args["Bucket"], request_context.get("use_global_endpoint")
    else:
        return _plain_construct(resolver, operation_model, call_args, request_context)
    known = _endpoints.setdefault(resolver, {})
    if key not in known:
        known[key] = _plain_construct(resolver, operation_model, call_args, request_context)
    return known[key]


def _as_bytes(body: str | bytes) -> bytes:
    return body.encode() if isinstance(body, str) else body


def _is_plain(body: bytes) -> bool:
    return not any(one in body for one in _NOT_PLAIN)


def _call(operation: str, target: str, body: bytes) -> TYPE_RESPONSE:
    request = json.loads(body)
    if operation == "Query" and _finds_nothing(request):
        return 200, {"content-type": _JSON}, _NOTHING
    handler: Any = DynamoHandler()
    handler.region, handler.current_account = REGION, ACCOUNT
    handler.querystring, handler.uri_match = {}, {}
    handler.headers = {"X-Amz-Target": target, "Content-Type": _JSON}
    handler.response_headers = {}
    handler.body = handler.params = request
    action = _ACTIONS[operation]
    try:
        result = getattr(handler, action)().result
    except Exception as error:  # noqa: BLE001 - moto makes an answer of it, or raises it
        setattr(handler, action, _raising(error))
        return BaseResponse.call_action(handler)
    members = _members(operation)
    answer = {name: value for name, value in result.items() if name in members and value is not None}
    return 200, {"content-type": _JSON}, json.dumps(answer, default=_encoded)


def _finds_nothing(request: dict[str, Any]) -> bool:
    """Tell whether a query is for all items of a partition, and there are none. Any doubt is left to moto."""
    condition = _OF_PARTITION.fullmatch(request.get("KeyConditionExpression", ""))
    table = dynamodb_backends[ACCOUNT][REGION].tables.get(request.get("TableName", ""))
    if condition is None or table is None or not request.keys() <= _OF_PARTITIONS or request.get("Limit", 1) < 1:
        return False
    name, placeholder = condition.groups()
    values = request.get("ExpressionAttributeValues", {})
    value = values.get(placeholder, {}).get("S")
    return bool(name == table.hash_key_attr and value and len(values) == 1) and not table.items.get(
        DynamoType({"S": value})
    )


def _raising(error: Exception) -> Callable[[], None]:
    def method() -> None:
        raise error

    return method


@cache
def _members(operation: str) -> frozenset[str]:
    """Return the names of an operation's results: moto's operations return more."""
    shape = get_service_model("dynamodb").operation_model(operation).output_shape
    return frozenset(shape.members if shape else ())


def _encoded(value: object) -> str:
    """Return a binary value as JSON has it."""
    if isinstance(value, bytes):
        return b64encode(value).decode()
    raise TypeError(f"moto returned a {type(value).__name__}")


def create_queue(name: str) -> str:
    """Create a queue in moto, and return its URL."""
    return sqs_backends[ACCOUNT][REGION].create_queue(name).url(_QUEUES)


class EmbeddedBucket(Objects):
    """The objects of a bucket in moto."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._s3 = s3_backends[ACCOUNT][_PARTITION]

    def keys(self) -> list[str]:
        """Return all keys, sorted."""
        found, *_ = self._s3.list_objects(self._s3.get_bucket(self._name), None, None, None, None)
        return [one.name for one in found]

    def open(self, key: str) -> IO[bytes]:
        """Open an object; raise ``FileNotFoundError`` if it does not exist."""
        found = self._s3.get_object(self._name, key)
        if found is None:
            raise FileNotFoundError(key)
        return BytesIO(found.value)


class Streams:
    """A Streams client that gets records from moto as they are, and lets moto forget them."""

    def __init__(self, client: "DynamoDBStreamsClient") -> None:
        self.plain = client

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - the client's
        return getattr(self.plain, name)

    def get_records(self, *, ShardIterator: str, Limit: int = 1000) -> dict[str, Any]:  # noqa: N803 - as in boto3
        """Return the records after an iterator; raise ``ExpiredIteratorException`` if it is forgotten."""
        backend = dynamodbstreams_backends[ACCOUNT][REGION]
        if ShardIterator not in backend.shard_iterators:
            error: Any = {"Error": {"Code": "ExpiredIteratorException", "Message": "the iterator is forgotten"}}
            raise self.plain.exceptions.ExpiredIteratorException(error, "GetRecords")
        return backend.get_records(ShardIterator, Limit)


def forget_records(streams: Iterable[str]) -> None:
    """Remove the records of these streams, which all readers have read. moto keeps them, and iterators, for ever."""
    backend = dynamodbstreams_backends[ACCOUNT][REGION]
    for stream in streams:
        shard = backend.dynamodb.get_table(stream.split("/")[1]).stream_shard
        if shard is not None:
            shard.starting_sequence_number += len(shard.items)
            shard.items.clear()
    for old in list(backend.shard_iterators)[:-_MOST_ITERATORS]:
        del backend.shard_iterators[old]
