"""The engines that replace AWS: they hold the emulator's tables, S3 buckets, queues and schedules."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import boto3
import botocore.session
import requests
from botocore.config import Config
from botocore.handlers import BUILTIN_HANDLERS
from botocore.loaders import Loader
from moto import mock_aws

from quarterhour.aws import clients
from quarterhour.aws.botocore_model import Descriptions
from quarterhour_tools.emulator import dynamodb_local, faults
from quarterhour_tools.emulator.direct import REGION, answer_call, answer_request, embedded, respond
from quarterhour_tools.emulator.dynamodb.calls import DynamoDB
from quarterhour_tools.emulator.http_api import Request, Response
from quarterhour_tools.emulator.state_machines import prepare, prepare_for
from quarterhour_tools.errors import ToolError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_scheduler import EventBridgeSchedulerClient
    from mypy_boto3_sqs import SQSClient
    from mypy_boto3_stepfunctions import SFNClient

EMBEDDED: Final = "embedded"
DYNAMODB_LOCAL: Final = "dynamodb-local"

SERVICES: Final = frozenset({"dynamodb", "events", "s3", "scheduler", "sqs", "states"})
"""The services that an engine has, by their names in AWS's signatures."""

_KEY: Final = "local"
# moto knows only the plain endpoints, not those with an account id in the host name.
_CONFIG: Final = Config(account_id_endpoint_mode="disabled", retries={"mode": "standard", "max_attempts": 3})

_ANSWERS_WITHIN: Final = 30.0
"""Seconds. A shorter timeout would give up on a call that may still take effect."""

_AWS: Final[Mapping[str, str]] = {
    "AWS_ACCESS_KEY_ID": _KEY,
    "AWS_SECRET_ACCESS_KEY": _KEY,
    "AWS_REGION": REGION,
    "AWS_DEFAULT_REGION": REGION,
    "AWS_ACCOUNT_ID_ENDPOINT_MODE": "disabled",
    "AWS_EC2_METADATA_DISABLED": "true",
}
_S3_ADDRESS: Final = "MOTO_S3_CUSTOM_ENDPOINTS"
"""moto answers requests to this address, too; it reads the variable at each request."""
_OF_AWS: Final = "AWS_"
_KEPT: Final = ("PATH", "HOME", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "LANG", "LC_ALL", _S3_ADDRESS)
"""The process's environment variables that stay while a function's are set."""


@contextmanager
def environment(variables: Mapping[str, str], *, shared: bool = False, whole: bool = True) -> Iterator[None]:
    """Replace the process's environment for the block, so that new AWS clients reach only the engine.

    The machine's own AWS settings, such as profiles and regions, are hidden. ``shared``: functions with the same
    settings in the same environment get the same client. ``whole``: hide all other variables, too; without it, only
    those of AWS change, so that other threads notice nothing.
    """
    before = boto3.DEFAULT_SESSION, clients.session
    handlers = tuple(BUILTIN_HANDLERS)
    with _environment_variables(variables, whole=whole):
        boto3.DEFAULT_SESSION = _session(handlers)
        session = _sharing_session if shared else _functions_session
        clients.session = partial(session, handlers)  # type: ignore[assignment] # not a cache
        try:
            yield
        finally:
            boto3.DEFAULT_SESSION, clients.session = before


@contextmanager
def _environment_variables(variables: Mapping[str, str], *, whole: bool = True) -> Iterator[None]:
    """Set variables and hide others for the block; what else changes meanwhile stays."""
    own = {name: value for name, value in variables.items() if whole or name.startswith(_OF_AWS)}
    own = {**_AWS, "AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull, **own}
    hidden = {
        name: os.environ[name]
        for name in os.environ  # reading all values would take longer than most calls
        if name in own or name.startswith(_OF_AWS) or (whole and name not in _KEPT)
    }
    for name in hidden:
        os.environ.pop(name, None)
    os.environ.update(own)
    try:
        yield
    finally:
        for name in own:
            os.environ.pop(name, None)
        os.environ.update(hidden)


@dataclass(frozen=True, slots=True)
class Engine:
    """A running engine: DynamoDB is the ``embedded`` one, or is at ``dynamodb_url``; the other services are moto's."""

    name: str
    dynamodb_url: str = ""
    embedded: DynamoDB | None = None

    def dynamodb(self) -> "DynamoDBClient":
        """Return the tools' DynamoDB client."""
        client: DynamoDBClient = _client("dynamodb", self.dynamodb_url)
        return client

    def create_table(self, request: Mapping[str, Any], lifetime: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """Create a table, whose items expire as ``lifetime`` says; return its description."""
        expiry = {"TableName": request["TableName"], "TimeToLiveSpecification": lifetime}
        made: Any
        if self.embedded:
            made = self.embedded.create_table(dict(request))
            if lifetime:
                self.embedded.update_time_to_live(expiry)
        else:
            client: Any = self.dynamodb()
            made = client.create_table(**request)
            if lifetime:
                client.update_time_to_live(**expiry)
        described: Mapping[str, Any] = made["TableDescription"]
        return described

    def own_dynamodb(self) -> "DynamoDBClient":
        """Return a new DynamoDB client that is not shared, to observe its calls."""
        with _environment_variables({}):
            session = _session(tuple(BUILTIN_HANDLERS))
            return session.client("dynamodb", endpoint_url=self.dynamodb_url or None, config=_CONFIG)

    def streams(self) -> "DynamoDBStreamsClient":
        """Return a DynamoDB Streams client."""
        streams: DynamoDBStreamsClient = _client("dynamodbstreams", self.dynamodb_url)
        return streams

    def forget_records(self, streams: Iterable[str]) -> None:
        """Let the embedded engine forget the records of streams, by ARN, once all readers have read them."""
        if self.embedded:
            self.embedded.forget_records(streams)

    def s3(self) -> "S3Client":
        """Return an S3 client."""
        client: S3Client = _client("s3")
        return client

    def sqs(self) -> "SQSClient":
        """Return an SQS client."""
        client: SQSClient = _client("sqs")
        return client

    def scheduler(self) -> "EventBridgeSchedulerClient":
        """Return an EventBridge Scheduler client."""
        client: EventBridgeSchedulerClient = _client("scheduler")
        return client

    def stepfunctions(self) -> "SFNClient":
        """Return a Step Functions client."""
        client: SFNClient = _client("stepfunctions")
        return client

    def events(self) -> Any:  # noqa: ANN401 - the stubs are no dependency
        """Return an EventBridge client."""
        return _client("events")

    def answer(self, service: str, request: Request) -> Response:
        """Answer a request that an AWS client has signed for one of the ``SERVICES``."""
        if service == "states":
            prepare_for(request.body)
        if service == "dynamodb" and self.embedded:
            target = next(value for name, value in request.headers if name.lower() == "x-amz-target")
            status, content = respond(target, request.body)
            return Response(status, {"content-type": "application/x-amz-json-1.0"}, content)
        # moto intercepts requests to AWS's own addresses: nothing leaves the machine.
        own = self.dynamodb_url if service == "dynamodb" else ""
        answer = requests.request(
            request.method,
            f"{own or f'https://{service}.{REGION}.amazonaws.com'}{request.path}?{request.query}",
            headers={name: value for name, value in request.headers if name.lower() != "host"},
            data=request.body,
            stream=True,  # the raw bytes: a compressed file stays compressed
            timeout=_ANSWERS_WITHIN,
        )
        headers = {name.lower(): value for name, value in answer.headers.items()}
        return Response(answer.status_code, headers, answer.raw.read(decode_content=False))


def _client(service: str, url: str = "") -> Any:  # noqa: ANN401 - each service has its own type
    """Return the tools' client of a service, for botocore's current handlers."""
    return _shared_client(service, url, tuple(BUILTIN_HANDLERS))


@lru_cache(maxsize=32)
def _shared_client(service: str, url: str, handlers: tuple[object, ...]) -> Any:  # noqa: ANN401 - as above
    """Return a client that is made once in a process: making one takes longer than most calls."""
    with _environment_variables({}):
        return _session(handlers).client(service, endpoint_url=url or None, config=_CONFIG)  # type: ignore[call-overload]


@lru_cache(maxsize=4)
def _session(handlers: tuple[object, ...]) -> boto3.Session:
    """Return a session for botocore's current handlers; ``Faults`` changes the handlers.

    A client reads the environment when it is made, so the clients of several functions may share a session.
    """
    return boto3.Session(botocore_session=_prepared(botocore.session.get_session(), _Descriptions(), handlers))


@lru_cache(maxsize=4)
def _functions_session(handlers: tuple[object, ...]) -> botocore.session.Session:
    """Return the session of the functions' clients for botocore's current handlers."""
    return _prepared(botocore.session.get_session(), _FunctionsDescriptions(), handlers)


@lru_cache(maxsize=4)
def _sharing_session(handlers: tuple[object, ...]) -> botocore.session.Session:
    """Return the same that makes each client once."""
    return _prepared(_SharingSession(), _FunctionsDescriptions(), handlers)


def _prepared(
    session: botocore.session.Session, descriptions: Loader, handlers: tuple[object, ...]
) -> botocore.session.Session:
    session.register_component("data_loader", descriptions)
    session.register("before-call.sfn.StartExecution", prepare)
    short = _short_way([one[1] for one in handlers if isinstance(one, tuple) and one[0] == "before-send"])
    if short:
        # Last, because botocore calls no hook after an answer.
        session.get_component("event_emitter").register_last("before-call", short)
    return session


def _short_way(hooks: list[Any]) -> Callable[..., object] | None:
    """Return what answers calls before they become requests; ``None`` if other hooks must get all requests."""
    if hooks == [answer_request]:
        return answer_call
    return faults.before_call if hooks == [faults.before_send] else None


class _SharingSession(botocore.session.Session):
    """Makes each client once: functions with the same settings in the same environment of AWS share it.

    Making a client takes longer than most calls, and every start of a function asks for some.
    """

    def __init__(self) -> None:
        super().__init__()
        self._made: dict[object, Any] = {}

    def create_client(self, service_name: str, *, config: Config) -> Any:  # type: ignore[override]  # noqa: ANN401
        """Return the client of a service; ``clients`` names no other arguments."""
        own = sorted((name, value) for name, value in os.environ.items() if name.startswith("AWS_"))
        key = service_name, repr(vars(config)), tuple(own)
        if key not in self._made:
            # A copy, because botocore rewrites the number of attempts, and with it the key.
            self._made[key] = super().create_client(service_name, config=deepcopy(config))
        return self._made[key]


class _Descriptions(Loader):
    """Loads botocore's descriptions of AWS's services, each once in a process: parsing takes longer than most tests."""

    _shared: Final[dict[object, object]] = {}

    def __init__(self) -> None:
        super().__init__()
        self._cache = self._shared


class _FunctionsDescriptions(Descriptions, _Descriptions):
    """Loads them as the functions do."""


@contextmanager
def open_engine(choice: str = EMBEDDED, s3_url: str = "", *, executes: bool = True) -> Iterator[Engine]:
    """Start an engine for the length of the block: ``embedded``, ``dynamodb-local`` or the URL of a DynamoDB endpoint.

    ``s3_url``: a further address of the embedded S3. ``executes``: execute the state machines. Raises ``ToolError`` if
    the engine cannot be started.
    """
    # moto intercepts requests to s3_url inside the process, so nothing needs to listen there. moto also makes its own
    # sessions, which fail if AWS_PROFILE names a profile that the machine does not have.
    variables = {_S3_ADDRESS: s3_url or None, "AWS_PROFILE": None, "AWS_DEFAULT_PROFILE": None}
    # Every client here has its own credentials, so moto need not put any into the process's environment.
    config: Any = {"core": {"mock_credentials": False}, "stepfunctions": {"execute_state_machine": executes}}
    with mock_aws(config=config), _process_variables(variables):
        if choice == EMBEDDED:
            with embedded() as dynamodb:
                yield Engine(EMBEDDED, embedded=dynamodb)
        elif choice == DYNAMODB_LOCAL:
            with dynamodb_local.running() as url:
                yield Engine(DYNAMODB_LOCAL, url)
        else:
            yield Engine(choice, _checked(choice))


@contextmanager
def _process_variables(variables: Mapping[str, str | None]) -> Iterator[None]:
    """Set or remove environment variables of the process for the block."""
    before = {name: os.environ.get(name) for name in variables}
    _set(variables)
    try:
        yield
    finally:
        _set(before)


def _set(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _checked(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ToolError(
            f"{url!r} is not an engine: choose {EMBEDDED}, {DYNAMODB_LOCAL} or the URL of a DynamoDB endpoint"
        )
    if parts.hostname.endswith(".amazonaws.com"):
        raise ToolError(f"{url} is AWS itself: deploy with SAM instead, the emulator creates and deletes tables")
    return url
