"""The short way from an AWS client's request to moto's DynamoDB: without HTTP objects, and without converting shapes.

moto rebuilds an HTTP request from what botocore is about to send, matches its URL with those of all services, and
walks the description of the operation twice, for the request and for the response. For calls about items, that takes
longer than the operation. Here the JSON of the request goes to moto's operation, and its result becomes JSON.

Other operations, and requests with binary values or ``null``, take moto's own way. A test compares both.

The emulator itself reads the streams without a request: nothing is encoded, signed, or decoded.
"""

import json
from base64 import b64encode
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from botocore.awsrequest import AWSPreparedRequest
from botocore.endpoint import Endpoint
from moto.core.botocore_stubber import BotocoreStubber
from moto.core.common_types import TYPE_RESPONSE
from moto.core.responses import BaseResponse
from moto.core.utils import camelcase_to_underscores, get_service_model
from moto.dynamodb.responses import DynamoHandler
from moto.dynamodbstreams.models import dynamodbstreams_backends

if TYPE_CHECKING:
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient

REGION: Final = "us-east-1"
ACCOUNT: Final = "123456789012"

_ADDRESS: Final = f"https://dynamodb.{REGION}.amazonaws.com/"
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
_JSON: Final = "application/x-amz-json-1.0"
_MOST_ITERATORS: Final = 100
_NOT_PLAIN: Final = (b'"B"', b'"BS"', b"null")
"""moto decodes binary values and removes members that are ``null``."""

_plain_create: Final = Endpoint.create_request
_plain_process: Final = BotocoreStubber.process_request


def create_request(endpoint: Endpoint, parameters: dict[str, Any], operation: Any = None) -> AWSPreparedRequest:  # noqa: ANN401 - untyped in botocore
    """Return the request for a call: one about items is not signed, because moto checks no signature."""
    if parameters["url"] == _ADDRESS and operation is not None and operation.name in _OPERATIONS:
        body = parameters["body"]
        content = body.encode() if isinstance(body, str) else body
        return AWSPreparedRequest("POST", _ADDRESS, parameters["headers"], content, stream_output=False)
    request: AWSPreparedRequest = _plain_create(endpoint, parameters, operation)
    return request


def process_request(stubber: BotocoreStubber, request: AWSPreparedRequest) -> TYPE_RESPONSE | None:
    """Answer a request as moto does; one about items takes the short way."""
    target: Any = request.headers.get("X-Amz-Target", "")
    target = target.decode() if isinstance(target, bytes) else target
    operation, body = target.rpartition(".")[2], request.body
    if request.url == _ADDRESS and operation in _OPERATIONS and isinstance(body, bytes) and _is_plain(body):
        return _call(operation, target, body)
    answer: TYPE_RESPONSE | None = _plain_process(stubber, request)
    return answer


def _is_plain(body: bytes) -> bool:
    return not any(one in body for one in _NOT_PLAIN)


def _call(operation: str, target: str, body: bytes) -> TYPE_RESPONSE:
    handler: Any = DynamoHandler()
    handler.region, handler.current_account = REGION, ACCOUNT
    handler.querystring, handler.uri_match = {}, {}
    handler.headers = {"X-Amz-Target": target, "Content-Type": _JSON}
    handler.response_headers = {}
    handler.body = handler.params = json.loads(body)
    action = camelcase_to_underscores(operation)
    try:
        result = getattr(handler, action)().result
    except Exception as error:  # noqa: BLE001 - moto makes an answer of it, or raises it
        setattr(handler, action, _raising(error))
        return BaseResponse.call_action(handler)
    members = _members(operation)
    answer = {name: value for name, value in result.items() if name in members and value is not None}
    return 200, {"content-type": _JSON}, json.dumps(answer, default=_encoded)


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


class Streams:
    """A Streams client that gets records from moto as they are, and lets moto forget them."""

    def __init__(self, client: "DynamoDBStreamsClient") -> None:
        self.plain = client

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - the client's
        return getattr(self.plain, name)

    def get_records(self, *, ShardIterator: str, Limit: int = 1000) -> dict[str, Any]:  # noqa: N803 - as in boto3
        """Return the records after an iterator."""
        backend = dynamodbstreams_backends[ACCOUNT][REGION]
        answer: dict[str, Any] = _copied(backend.get_records(ShardIterator, Limit))
        return answer


def _copied(value: Any) -> Any:  # noqa: ANN401 - JSON and instants
    if isinstance(value, dict):
        return {name: one if isinstance(one, str) else _copied(one) for name, one in value.items()}
    return [_copied(member) for member in value] if isinstance(value, list) else value


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
