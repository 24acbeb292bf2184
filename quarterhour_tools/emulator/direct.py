"""How calls of AWS clients are answered in this process.

DynamoDB and its streams are the embedded engine's (``dynamodb``). S3, SQS, Step Functions, EventBridge and its
Scheduler are moto's. A call takes the short way where it can: botocore's hook ``before-call`` answers it before it
becomes an HTTP request. For a call of DynamoDB, the JSON of the request goes to the engine, and its answer comes back.
An object of S3 is put, read and looked up by moto's handler. Every other call, and one to which a fault may happen,
takes the long way, through the hook ``before-send``. A test compares both.

The emulator itself reads objects, and makes buckets, queues and schedules, without a request: nothing is encoded,
signed, or decoded.
"""

import json
import marshal
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import cache, lru_cache
from http import HTTPStatus
from io import BytesIO
from typing import IO, Any, Final
from urllib.parse import urlparse

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.compat import HTTPHeaders
from botocore.handlers import BUILTIN_HANDLERS
from botocore.model import OperationModel
from botocore.parsers import ResponseParserFactory, create_parser
from botocore.response import StreamingBody
from botocore.utils import parse_timestamp
from moto.core.models import botocore_stubber
from moto.s3.exceptions import S3ClientError
from moto.s3.models import s3_backends
from moto.s3.responses import S3Response
from moto.scheduler.models import scheduler_backends
from moto.sqs.models import sqs_backends
from requests.structures import CaseInsensitiveDict

from quarterhour_tools.bucket import Objects
from quarterhour_tools.emulator.dynamodb.calls import DynamoDB
from quarterhour_tools.emulator.dynamodb.errors import CallError

REGION: Final = "us-east-1"
ACCOUNT: Final = "123456789012"
_PARTITION: Final = "aws"
"""moto's S3 has one backend for all regions."""

_DYNAMODB: Final = f"https://dynamodb.{REGION}.amazonaws.com/"
_STREAMS: Final = f"https://streams.dynamodb.{REGION}.amazonaws.com/"
_UNSET: Final[Mapping[str, Any]] = dict.fromkeys(
    ("action_after_completion", "description", "end_date", "group_name", "kms_key_arn", "start_date")
)
"""What moto wants to know of a schedule and the template does not say."""
_QUEUES: Final = urlparse(f"https://sqs.{REGION}.amazonaws.com/")
_OBJECT: Final = re.compile(rf"https://([a-z0-9.-]+\.)?s3(\.{REGION})?\.amazonaws\.com/[^/?]+/[^/?]")
"""The address of an object in a folder; moto takes others for a bucket too."""
_JSON: Final = "application/x-amz-json-1.0"
_TYPE: Final = "com.amazonaws.dynamodb.v20120810#"

_parser: Final[Any] = create_parser("json")
_factory: Final = ResponseParserFactory()
# Reading a time takes as long as reading the object, and many objects have the same.
_factory.set_parser_defaults(timestamp_parser=lru_cache(maxsize=1000)(parse_timestamp))
_object_parser: Final[Any] = _factory.create_parser("rest-xml")
_running: Final[list[DynamoDB]] = []
"""The embedded engine, once for each block that has it open."""


@contextmanager
def embedded() -> Iterator[DynamoDB]:
    """Answer calls of DynamoDB by an embedded engine for the block; within another such block, by that one's."""
    _running.append(_running[0] if _running else DynamoDB(REGION, ACCOUNT))
    try:
        yield _running[0]
    finally:
        _running.pop()


def answer_call(model: OperationModel, params: dict[str, Any], **_: object) -> tuple[Any, dict[str, Any]] | None:
    """Answer a call before it becomes an HTTP request, if it is one for the engine or for an object.

    A call of S3 that fails has no effect. It is made again the long way, on which botocore reads the error. Only the
    look-up of an object that does not exist is answered at once, because the functions make it often.
    """
    if not _running:
        return None
    if model.name in _OBJECT_OPERATIONS:
        return _OBJECT_OPERATIONS[model.name](model, params) if _OBJECT.match(params["url"]) else None
    return _answer_of_engine(model, params) if params["url"] in {_DYNAMODB, _STREAMS} else None


def _answer_of_engine(model: OperationModel, params: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    try:
        found = _running[0].call(model.name, json.loads(params["body"]))
    except CallError as refused:
        return _answered(HTTPStatus.BAD_REQUEST), _parsed_error(model, refused)
    if params["url"] == _STREAMS:
        return _answered(HTTPStatus.OK), found
    if _takes_documents(model):
        parsed: dict[str, Any] = marshal.loads(marshal.dumps(found))  # noqa: S302 - a copy of our own answer  # nosec B302
        return _answered(HTTPStatus.OK), {**parsed, "ResponseMetadata": {"HTTPStatusCode": HTTPStatus.OK}}
    answer = {"status_code": HTTPStatus.OK, "headers": {}, "body": json.dumps(found).encode()}
    return _answered(HTTPStatus.OK), _parser.parse(answer, model.output_shape)


def _takes_documents(model: OperationModel) -> bool:
    """Tell whether a client takes items as JSON has them, as the functions' clients do."""
    return model.service_model.shape_for("AttributeMap").type_name == "structure"


def _parsed_error(model: OperationModel, refused: CallError) -> dict[str, Any]:
    """Return a refusal as botocore reads it: it may have members of its own, such as the reasons of a cancellation."""
    answer = {"status_code": HTTPStatus.BAD_REQUEST, "headers": {}, "body": _content_of(refused)}
    parsed: dict[str, Any] = _parser.parse(answer, model.output_shape)
    shape = model.service_model.shape_for_error_code(refused.code)  # type: ignore[arg-type] # the stub says int
    if shape is not None:
        parsed.update(_parser.parse(answer, shape))
    return parsed


def _content_of(refused: CallError) -> bytes:
    return json.dumps({"__type": _TYPE + refused.code, "message": refused.message, **refused.more}).encode()


def respond(target: str, body: bytes) -> tuple[int, bytes]:
    """Return the status and the content of the engine's answer to the body of a request."""
    try:
        found = _running[0].call(target.rpartition(".")[2], json.loads(body))
        return HTTPStatus.OK, json.dumps(found, default=datetime.timestamp).encode()
    except CallError as refused:
        return HTTPStatus.BAD_REQUEST, _content_of(refused)


def answer_request(event_name: str, request: AWSPreparedRequest, **_: object) -> AWSResponse | None:
    """Answer a request the long way: botocore's hook ``before-send``."""
    if _running and request.url == _DYNAMODB:
        target: Any = request.headers["X-Amz-Target"]
        body: Any = request.body
        status, content = respond(target.decode() if isinstance(target, bytes) else target, body)
        return response_of(request.url, status, content, _JSON)
    answer: AWSResponse | None = botocore_stubber(event_name, request)
    return answer


HOOK: Final = ("before-send", answer_request)
# In the place of moto's own hook: botocore calls every hook, even if an earlier one has returned a response.
BUILTIN_HANDLERS[BUILTIN_HANDLERS.index(("before-send", botocore_stubber))] = HOOK


class _Raw(BytesIO):
    """A body with urllib3's interface."""

    def stream(self, *_: object, **__: object) -> Iterator[bytes]:
        while block := self.read(65536):
            yield block


def response_of(url: str, status: int, body: bytes, content_type: str) -> AWSResponse:
    """Return a response as botocore gets it from the network."""
    headers: Any = {"content-type": content_type, "x-amzn-requestid": "emulated", "content-length": str(len(body))}
    return AWSResponse(url, status, headers, _Raw(body))


@cache
def _answered(status: int) -> AWSResponse:
    """Return an HTTP response of which botocore reads no more than the status."""
    return AWSResponse(_DYNAMODB, status, HTTPHeaders(), None)


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


def _as_bytes(body: str | bytes) -> bytes:
    return body.encode() if isinstance(body, str) else body


def create_queue(name: str) -> str:
    """Create a queue in moto, and return its URL."""
    return sqs_backends[ACCOUNT][REGION].create_queue(name).url(_QUEUES)


def create_bucket(name: str) -> None:
    """Create a bucket in moto."""
    s3_backends[ACCOUNT][_PARTITION].create_bucket(name, REGION)


def create_schedule(request: Mapping[str, Any]) -> None:
    """Create a schedule in moto: ``request`` is as for the client's ``create_schedule``."""
    scheduler_backends[ACCOUNT][REGION].create_schedule(
        **_UNSET,
        name=request["Name"],
        schedule_expression=request["ScheduleExpression"],
        schedule_expression_timezone=request["ScheduleExpressionTimezone"],
        flexible_time_window=request["FlexibleTimeWindow"],
        state=request["State"],
        target=request["Target"],
    )


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
