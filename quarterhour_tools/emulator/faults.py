"""Injects faults into the functions' AWS calls, with botocore's hooks and without changes to the product's code.

A fault occurs by seeded chance or at a position in the sequence of calls. Spec: ``throttle=0.01,kill-after=0.001,
reset-after@12,seed=7``; ``all=0.05`` divides a chance among all kinds.
"""

import json
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final

import botocore.endpoint
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.exceptions import ConnectionClosedError
from botocore.handlers import BUILTIN_HANDLERS
from botocore.httpsession import URLLib3Session
from botocore.model import OperationModel

from quarterhour.model import clock
from quarterhour_tools.emulator.capacity import Capacity
from quarterhour_tools.emulator.direct import HOOK, answer_call, answer_request, response_of
from quarterhour_tools.emulator.dynamodb.statements import parsed
from quarterhour_tools.errors import ToolError


class FaultKind(Enum):
    """A kind of fault at a call."""

    THROTTLE = "throttle"
    SERVER_ERROR = "server-error"
    RESET_BEFORE = "reset-before"
    RESET_AFTER = "reset-after"
    UNPROCESSED = "unprocessed"
    STATEMENTS_BEFORE = "statements-before"
    STATEMENTS_AFTER = "statements-after"
    CONFLICT = "conflict"
    CANCEL = "cancel"
    SLOW = "slow"
    KILL_BEFORE = "kill-before"
    KILL_AFTER = "kill-after"


SLOW_SECONDS: Final = 4.0
_BAD: Final = 400
_ALL: Final = "all"
_BATCHES: Final = {
    "BatchWriteItem": ("RequestItems", "UnprocessedItems"),
    "BatchGetItem": ("RequestItems", "UnprocessedKeys"),
}
_BATCH_WRITE: Final = "BatchWriteItem"
_STATEMENTS: Final = "BatchExecuteStatement"
_STATEMENT_CODES: Final = (
    "InternalServerError",
    "ProvisionedThroughputExceeded",
    "RequestLimitExceeded",
    "ThrottlingError",
    "TransactionConflict",
)
"""The errors of a statement that did not take effect, and may be repeated."""
_TRANSACTION: Final = "TransactWriteItems"
_EXCEEDED: Final = "ProvisionedThroughputExceededException"
_WRITES: Final = frozenset({"PutItem", "UpdateItem", "DeleteItem", _BATCH_WRITE, _STATEMENTS, _TRANSACTION})
_CONDITIONAL: Final = frozenset({"PutItem", "UpdateItem"})


class Killed(BaseException):
    """The function's process dies here. It is not an ``Exception``, so that only the emulator of Lambda catches it."""


@dataclass(frozen=True, slots=True)
class Call:
    """One AWS call of a function: its position in the sequence, its service and its operation."""

    position: int
    service: str
    operation: str

    def __str__(self) -> str:
        """Return the call as text: ``12 dynamodb.PutItem``."""
        return f"{self.position} {self.service}.{self.operation}"


def fits(kind: FaultKind, call: Call) -> bool:
    """Tell whether a kind of fault can occur at a call."""
    match kind:
        case FaultKind.UNPROCESSED:
            return call.operation in _BATCHES
        case FaultKind.STATEMENTS_BEFORE | FaultKind.STATEMENTS_AFTER:
            return call.operation == _STATEMENTS
        case FaultKind.CANCEL:
            return call.operation == _TRANSACTION
        case FaultKind.CONFLICT:
            return call.operation == _TRANSACTION or (call.service == "dynamodb" and call.operation in _CONDITIONAL)
        case _:
            return True


@dataclass(frozen=True, slots=True)
class Spec:
    """The faults to inject: the chance of each kind (0 to 1), the positions, and the seed of the random numbers."""

    chances: dict[FaultKind, float] = field(default_factory=dict)
    positions: dict[int, FaultKind] = field(default_factory=dict)
    seed: int = 0

    @classmethod
    def parse(cls, text: str) -> "Spec":
        """Parse a spec; raise ``ToolError`` if a part of it is malformed."""
        spec = cls()
        seed = 0
        for part in filter(None, text.split(",")):
            try:
                if part.startswith("seed="):
                    seed = int(part.removeprefix("seed="))
                elif "@" in part:
                    name, position = part.split("@")
                    spec.positions[int(position)] = FaultKind(name)
                else:
                    name, chance = part.split("=")
                    kinds = list(FaultKind) if name == _ALL else [FaultKind(name)]
                    spec.chances.update(dict.fromkeys(kinds, _chance(chance) / len(kinds)))
            except ValueError as error:
                names = ", ".join(kind.value for kind in FaultKind)
                raise ToolError(
                    f"--faults: {part!r} is not one of KIND=CHANCE, KIND@POSITION, seed=N; kinds: {names}, all"
                ) from error
        return cls(spec.chances, spec.positions, seed)


def _chance(text: str) -> float:
    chance = float(text)
    if not 0 <= chance <= 1:
        raise ValueError(text)
    return chance


class Faults:
    """Counts the functions' AWS calls, and injects the faults of the spec."""

    def __init__(self, spec: Spec | None = None) -> None:
        self.spec = spec or Spec()
        self.calls: list[Call] = []
        self.struck: list[tuple[Call, FaultKind]] = []
        self.capacity: Capacity | None = None
        """Limits the writes to a table; ``None``: no limit."""
        self._random = random.Random(self.spec.seed)  # noqa: S311 - reproducible, not secret  # nosec B311
        self._at_work = False
        self._actions: dict[int, Callable[[], object]] = {}
        self._plain = URLLib3Session()
        self._counted = threading.local()
        """Whether the thread's next request is of a call that ``before_call`` has counted."""

    def arm(self, kind: FaultKind, after: int = 0) -> None:
        """Inject a fault ``after`` calls from now, or at the first later call that it fits."""
        self.spec.positions[len(self.calls) + after] = kind

    def meanwhile(self, after: int, action: Callable[[], object]) -> None:
        """Run an action ``after`` calls from now, just before that call takes effect."""
        self._actions[len(self.calls) + after] = action

    def disarm(self) -> None:
        """Remove the positions that have not been reached."""
        self.spec.positions.clear()
        self._actions.clear()

    @contextmanager
    def installed(self) -> Iterator["Faults"]:
        """Hook into every client that is made within the block; botocore's pauses use Quarterhour's clock.

        Clients are made with one hook for all blocks, so that later blocks find them made. Blocks cannot be nested.
        """
        # In the other hook's place: botocore calls every hook, even if an earlier one has returned a response.
        BUILTIN_HANDLERS[BUILTIN_HANDLERS.index(HOOK)] = FAULTY
        waiting, botocore.endpoint.time = botocore.endpoint.time, _Waiting  # type: ignore[attr-defined]
        _installed.append(self)
        try:
            yield self
        finally:
            _installed.clear()
            botocore.endpoint.time = waiting  # type: ignore[attr-defined]
            BUILTIN_HANDLERS[BUILTIN_HANDLERS.index(FAULTY)] = HOOK

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Count calls and inject faults only within the block: for a function's calls, not the emulator's own."""
        before, self._at_work = self._at_work, True
        try:
            yield
        finally:
            self._at_work = before

    @contextmanager
    def _resting(self) -> Iterator[None]:
        self._at_work = False
        try:
            yield
        finally:
            self._at_work = True

    def before_call(
        self, model: OperationModel, params: dict[str, Any], event_name: str, **_more: object
    ) -> tuple[Any, dict[str, Any]] | None:
        """Count and answer a call to which nothing can happen, the short way."""
        self._counted.next = False
        if not self._at_work:
            return answer_call(model, params)
        if not self._passes(len(self.calls)):
            return None
        self._count(event_name)
        self._random.random()  # as for every call, so that later faults do not depend on the way of this one
        answer = answer_call(model, params)
        self._counted.next = answer is None
        return answer

    def _passes(self, position: int) -> bool:
        """Tell whether nothing can happen to the call at a position."""
        return not (
            self.spec.chances
            or self.capacity
            or position in self._actions
            or any(reached <= position for reached in self.spec.positions)
        )

    def _count(self, event_name: str) -> Call:
        _, service, operation = event_name.split(".")
        call = Call(len(self.calls), service, operation)
        self.calls.append(call)
        return call

    def before_send(self, request: AWSPreparedRequest, event_name: str, **_more: object) -> AWSResponse | None:
        """Count a call, and answer it or let it fail, the long way."""
        counted, self._counted.next = getattr(self._counted, "next", False), False
        if not self._at_work or counted:
            return answer_request(event_name, request)
        call = self._count(event_name)
        action = self._actions.pop(call.position, None)
        if action:
            with self._resting():
                action()
        kind = self._kind(call)
        if kind is None:
            if self.capacity and call.operation in _WRITES:
                return self._bounded(self.capacity, call, request, lambda: self._send(request, event_name))
            return answer_request(event_name, request)
        self.struck.append((call, kind))
        return self._strike(kind, call, request, lambda: self._send(request, event_name))

    def _bounded(
        self, capacity: Capacity, call: Call, request: AWSPreparedRequest, send: Callable[[], AWSResponse]
    ) -> AWSResponse:
        """Send a write while capacity is left: a batch item by item, any other write as a whole or not at all."""
        body = json.loads(_text(request))
        if call.operation == _BATCH_WRITE:
            return self._bounded_batch(capacity, body, request, send)
        if call.operation == _STATEMENTS:
            return self._bounded_statements(capacity, body, request, send)
        writes = body.get("TransactItems", [{"Write": body}])
        if capacity.table not in {write["TableName"] for one in writes for write in one.values()}:
            return send()
        if not capacity.is_left:
            return _failure(request.url, 400, _EXCEEDED)
        with self._resting():
            units = capacity.price(call.operation, body)
        answer = send()
        with self._resting():
            capacity.take(units(_content(answer)))
        return answer

    def _bounded_batch(
        self, capacity: Capacity, body: dict[str, Any], request: AWSPreparedRequest, send: Callable[[], AWSResponse]
    ) -> AWSResponse:
        done: dict[str, list[Any]] = {}
        left: dict[str, list[Any]] = {}
        for table, entries in body["RequestItems"].items():
            for entry in entries:
                if table == capacity.table and not capacity.is_left:
                    left.setdefault(table, []).append(entry)
                    continue
                done.setdefault(table, []).append(entry)
                if table == capacity.table:
                    with self._resting():
                        capacity.take(capacity.price(_BATCH_WRITE, {"RequestItems": {table: [entry]}})({}))
        if not done:
            return _failure(request.url, 400, _EXCEEDED)
        return _in_part(request, {**body, "RequestItems": done}, {"UnprocessedItems": left}, send)

    def _bounded_statements(
        self, capacity: Capacity, body: dict[str, Any], request: AWSPreparedRequest, send: Callable[[], AWSResponse]
    ) -> AWSResponse:
        failed: dict[int, str] = {}
        for number, statement in enumerate(body["Statements"]):
            if parsed(statement).table != capacity.table:
                continue
            if not capacity.is_left:
                failed[number] = "ProvisionedThroughputExceeded"
                continue
            with self._resting():
                capacity.take(capacity.price(_STATEMENTS, {"Statements": [statement]})({"Responses": [{}]}))
        return _fail_statements(request, failed, send)

    def _kind(self, call: Call) -> FaultKind | None:
        """Choose the fault of a call: one whose position is reached and that fits, else one by chance."""
        for position, kind in sorted(self.spec.positions.items()):
            if position <= call.position and fits(kind, call):
                del self.spec.positions[position]
                return kind
        dice = self._random.random()
        for kind, chance in self.spec.chances.items():
            dice -= chance
            if dice < 0:
                return kind if fits(kind, call) else None
        return None

    def _strike(
        self, kind: FaultKind, call: Call, request: AWSPreparedRequest, send: Callable[[], AWSResponse]
    ) -> AWSResponse:
        match kind:
            case FaultKind.THROTTLE | FaultKind.SERVER_ERROR | FaultKind.CONFLICT | FaultKind.CANCEL:
                return _refusal(kind, call, request)
            case FaultKind.UNPROCESSED:
                return _half(call, request, send)
            case FaultKind.STATEMENTS_BEFORE | FaultKind.STATEMENTS_AFTER:
                return self._fail_statements(kind, request, send)
            case FaultKind.SLOW:
                clock.sleep(SLOW_SECONDS)
                return send()
            case FaultKind.RESET_BEFORE:
                raise ConnectionClosedError(endpoint_url=request.url)
            case FaultKind.RESET_AFTER:
                send()
                raise ConnectionClosedError(endpoint_url=request.url)
            case FaultKind.KILL_BEFORE:
                raise Killed(str(call))
            case FaultKind.KILL_AFTER:
                send()
                raise Killed(str(call))

    def _fail_statements(
        self, kind: FaultKind, request: AWSPreparedRequest, send: Callable[[], AWSResponse]
    ) -> AWSResponse:
        """Let half of a call's statements fail, at least one: before their effect with any code, or after it."""
        after = kind is FaultKind.STATEMENTS_AFTER
        codes = ("InternalServerError",) if after else _STATEMENT_CODES
        count = len(json.loads(_text(request))["Statements"])
        failed = {number: self._random.choice(codes) for number in self._random.sample(range(count), (count + 1) // 2)}
        return _fail_statements(request, failed, send, after=after)

    def _send(self, request: AWSPreparedRequest, event_name: str) -> AWSResponse:
        """Send a call: it is answered here, or over the network."""
        answer = answer_request(event_name, request)
        return answer if answer is not None else self._plain.send(request)


_installed: Final[list[Faults]] = []
"""The faults of the block that is open, if one is."""


def before_call(model: OperationModel, params: dict[str, Any], **more: Any) -> tuple[Any, dict[str, Any]] | None:  # noqa: ANN401
    """Answer a call the short way, by the installed faults if there are any: botocore's hook ``before-call``."""
    return (_installed[0].before_call if _installed else answer_call)(model, params, **more)


def before_send(event_name: str, request: AWSPreparedRequest, **more: object) -> AWSResponse | None:
    """Answer a call the long way, by the installed faults if there are any: botocore's hook ``before-send``."""
    if _installed:
        return _installed[0].before_send(request, event_name, **more)
    return answer_request(event_name, request)


FAULTY: Final = ("before-send", before_send)


class _Waiting:
    """Replaces the ``time`` module in botocore, which sleeps between its attempts."""

    @staticmethod
    def sleep(seconds: float) -> None:
        clock.sleep(seconds)


def _failure(url: str, status: int, code: str, **more: Any) -> AWSResponse:  # noqa: ANN401
    """Return an error response, in XML for S3 and in JSON for the other services."""
    if ".s3." in url or "//s3." in url:
        body = f"<Error><Code>{code}</Code><Message>an injected fault</Message></Error>"
        return response_of(url, status, body.encode(), "application/xml")
    body = json.dumps({"__type": f"com.amazonaws#{code}", "message": "an injected fault", **more})
    return response_of(url, status, body.encode(), "application/x-amz-json-1.0")


def _text(request: AWSPreparedRequest) -> str | bytes:
    if not isinstance(request.body, str | bytes):
        raise TypeError("the body of a DynamoDB request must be text or bytes")
    return request.body


def _content(answer: AWSResponse) -> dict[str, Any]:
    """Return the content of a response; an error in boto3's form."""
    content: dict[str, Any] = json.loads(answer.content)
    if answer.status_code < _BAD:
        return content
    return {**content, "Error": {"Code": str(content.get("__type", "")).rpartition("#")[2]}}


def _refusal(kind: FaultKind, call: Call, request: AWSPreparedRequest) -> AWSResponse:
    """Return the error of a call that does not take effect."""
    if kind is FaultKind.THROTTLE:
        return _throttled(call, request.url)
    if kind is FaultKind.SERVER_ERROR:
        return _failure(request.url, 500, "InternalServerError" if call.service == "dynamodb" else "InternalError")
    return _conflict(call, request, kind)


def _throttled(call: Call, url: str) -> AWSResponse:
    if call.service == "s3":
        return _failure(url, 503, "SlowDown")
    return _failure(url, 400, "ThrottlingException")


def _conflict(call: Call, request: AWSPreparedRequest, kind: FaultKind) -> AWSResponse:
    if call.operation != _TRANSACTION:
        return _failure(request.url, 400, "TransactionConflictException")
    items = json.loads(_text(request))["TransactItems"]
    code = "TransactionConflict" if kind is FaultKind.CONFLICT else "ThrottlingError"
    reasons = [{"Code": code, "Message": "an injected fault"}, *({"Code": "None"} for _ in items[1:])]
    return _failure(request.url, 400, "TransactionCanceledException", CancellationReasons=reasons)


def _half(call: Call, request: AWSPreparedRequest, send: Callable[[], AWSResponse]) -> AWSResponse:
    """Send the first half of a batch, and return the rest as unprocessed."""
    requested, unprocessed = _BATCHES[call.operation]
    body = json.loads(_text(request))
    done, left = {}, {}
    for table, part in body[requested].items():
        entries = part["Keys"] if isinstance(part, dict) else part
        half = len(entries) // 2
        done[table] = {**part, "Keys": entries[:half]} if isinstance(part, dict) else entries[:half]
        left[table] = {**part, "Keys": entries[half:]} if isinstance(part, dict) else entries[half:]
    if any(part["Keys"] if isinstance(part, dict) else part for part in done.values()):
        return _in_part(request, {**body, requested: done}, {unprocessed: left}, send)
    empty: dict[str, Any] = {"Responses": {}} if call.operation == "BatchGetItem" else {}
    return response_of(
        request.url, 200, json.dumps({**empty, unprocessed: left}).encode(), "application/x-amz-json-1.0"
    )


def _fail_statements(
    request: AWSPreparedRequest, failed: dict[int, str], send: Callable[[], AWSResponse], *, after: bool = False
) -> AWSResponse:
    """Send a batch without the statements that fail, or with them if they fail ``after`` their effect.

    The response holds their errors in their places.
    """
    body = json.loads(_text(request))
    statements = body["Statements"]
    sent = [number for number in range(len(statements)) if after or number not in failed]
    responses: dict[int, Any] = {}
    if sent:
        request.body = json.dumps({**body, "Statements": [statements[number] for number in sent]}).encode()
        request.headers["Content-Length"] = str(len(request.body))
        answer = send()
        if answer.status_code >= _BAD:
            return answer
        responses = dict(zip(sent, json.loads(answer.content)["Responses"], strict=True))
    responses |= {number: {"Error": {"Code": code, "Message": "an injected fault"}} for number, code in failed.items()}
    content = {"Responses": [responses[number] for number in range(len(statements))]}
    return response_of(request.url, 200, json.dumps(content).encode(), "application/x-amz-json-1.0")


def _in_part(
    request: AWSPreparedRequest, part: dict[str, Any], left: dict[str, Any], send: Callable[[], AWSResponse]
) -> AWSResponse:
    """Send a part of a batch, and return the rest as unprocessed."""
    request.body = json.dumps(part).encode()
    request.headers["Content-Length"] = str(len(request.body))
    answer = {**json.loads(send().content), **left}
    return response_of(request.url, 200, json.dumps(answer).encode(), "application/x-amz-json-1.0")
