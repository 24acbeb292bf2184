"""Faults at the functions' AWS calls, on botocore's own hooks: the product's code knows nothing of them.

A fault strikes by seeded chance or at a position in the sequence of calls. Spec: ``throttle=0.01,kill-after=0.001,
reset-after@12,seed=7``; ``all=0.05`` shares a chance among all kinds.
"""

import io
import json
import random
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
from moto.core.models import botocore_stubber

from quarterhour.model import clock
from quarterhour_tools.emulator.capacity import Capacity
from quarterhour_tools.errors import ToolError


class Kind(Enum):
    """What can go wrong at a call."""

    THROTTLE = "throttle"
    SERVER_ERROR = "server-error"
    RESET_BEFORE = "reset-before"
    RESET_AFTER = "reset-after"
    UNPROCESSED = "unprocessed"
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
_TRANSACTION: Final = "TransactWriteItems"
_EXCEEDED: Final = "ProvisionedThroughputExceededException"
_WRITES: Final = frozenset({"PutItem", "UpdateItem", "DeleteItem", _BATCH_WRITE, _TRANSACTION})
_CONDITIONAL: Final = frozenset({"PutItem", "UpdateItem"})


class Killed(BaseException):
    """The process died here. No ``Exception``: nothing may catch it but whoever plays Lambda."""


@dataclass(frozen=True, slots=True)
class Call:
    """One AWS call of a function, as it was made: its place in the sequence, and what it was."""

    position: int
    service: str
    operation: str

    def __str__(self) -> str:
        """Return how it is shown: ``12 dynamodb.PutItem``."""
        return f"{self.position} {self.service}.{self.operation}"


def fits(kind: Kind, call: Call) -> bool:
    """Tell whether a kind of fault can happen to a call."""
    match kind:
        case Kind.UNPROCESSED:
            return call.operation in _BATCHES
        case Kind.CANCEL:
            return call.operation == _TRANSACTION
        case Kind.CONFLICT:
            return call.operation == _TRANSACTION or (call.service == "dynamodb" and call.operation in _CONDITIONAL)
        case _:
            return True


@dataclass(frozen=True, slots=True)
class Spec:
    """Which faults strike: with what chance (0 to 1) each, at which positions, and the seed of the chances."""

    chances: dict[Kind, float] = field(default_factory=dict)
    positions: dict[int, Kind] = field(default_factory=dict)
    seed: int = 0

    @classmethod
    def parse(cls, text: str) -> "Spec":
        """Read a spec; raise ``LocalError`` where a part of it is none."""
        spec = cls()
        seed = 0
        for part in filter(None, text.split(",")):
            try:
                if part.startswith("seed="):
                    seed = int(part.removeprefix("seed="))
                elif "@" in part:
                    name, position = part.split("@")
                    spec.positions[int(position)] = Kind(name)
                else:
                    name, chance = part.split("=")
                    kinds = list(Kind) if name == _ALL else [Kind(name)]
                    spec.chances.update(dict.fromkeys(kinds, _chance(chance) / len(kinds)))
            except ValueError as error:
                names = ", ".join(kind.value for kind in Kind)
                raise ToolError(
                    f"--faults: {part!r} is none of KIND=CHANCE, KIND@POSITION, seed=N; kinds: {names}, all"
                ) from error
        return cls(spec.chances, spec.positions, seed)


def _chance(text: str) -> float:
    chance = float(text)
    if not 0 <= chance <= 1:
        raise ValueError(text)
    return chance


class Faults:
    """Counts the functions' AWS calls, and makes those go wrong that the spec says."""

    def __init__(self, spec: Spec | None = None) -> None:
        self.spec = spec or Spec()
        self.calls: list[Call] = []
        self.struck: list[tuple[Call, Kind]] = []
        self.capacity: Capacity | None = None
        """What bounds the writes to a table; without it nothing does."""
        self._random = random.Random(self.spec.seed)  # noqa: S311 - to be repeated, not to be secret  # nosec B311
        self._at_work = False
        self._actions: dict[int, Callable[[], None]] = {}
        self._plain = URLLib3Session()

    def arm(self, kind: Kind, after: int = 0) -> None:
        """Let a fault strike so many calls from now, or at the first one after that it fits."""
        self.spec.positions[len(self.calls) + after] = kind

    def meanwhile(self, after: int, action: Callable[[], None]) -> None:
        """Let something else happen so many calls from now, just before the call takes its effect."""
        self._actions[len(self.calls) + after] = action

    def disarm(self) -> None:
        """Forget the positions that have not been reached."""
        self.spec.positions.clear()
        self._actions.clear()

    @contextmanager
    def installed(self) -> Iterator["Faults"]:
        """Hook into every client that is made within the block; botocore's waits go by Quarterhour's clock."""
        # In moto's place, not before it: botocore calls each hook, whatever the ones before it have answered.
        moto, hook = ("before-send", botocore_stubber), ("before-send", self._before_send)
        place = BUILTIN_HANDLERS.index(moto)
        BUILTIN_HANDLERS[place] = hook
        waiting, botocore.endpoint.time = botocore.endpoint.time, _Waiting  # type: ignore[attr-defined]
        try:
            yield self
        finally:
            botocore.endpoint.time = waiting  # type: ignore[attr-defined]
            BUILTIN_HANDLERS[BUILTIN_HANDLERS.index(hook)] = moto

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Count and strike only within the block: while a function runs, not while the local stack itself calls."""
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

    def _before_send(self, request: AWSPreparedRequest, event_name: str, **_more: object) -> AWSResponse | None:
        if not self._at_work:
            return botocore_stubber(event_name, request)
        _, service, operation = event_name.split(".")
        call = Call(len(self.calls), service, operation)
        self.calls.append(call)
        action = self._actions.pop(call.position, None)
        if action:
            with self._resting():
                action()
        kind = self._kind(call)
        if kind is None:
            if self.capacity and call.operation in _WRITES:
                return self._bounded(self.capacity, call, request, lambda: self._send(request, event_name))
            return botocore_stubber(event_name, request)
        self.struck.append((call, kind))
        return self._strike(kind, call, request, lambda: self._send(request, event_name))

    def _bounded(
        self, capacity: Capacity, call: Call, request: AWSPreparedRequest, send: Callable[[], AWSResponse]
    ) -> AWSResponse:
        """Let a write through as far as capacity is left: a batch item by item, anything else whole or not at all."""
        body = json.loads(_text(request))
        if call.operation == _BATCH_WRITE:
            return self._bounded_batch(capacity, body, request, send)
        writes = body.get("TransactItems", [{"Write": body}])
        if capacity.table not in {write["TableName"] for one in writes for write in one.values()}:
            return send()
        if not capacity.is_left:
            return _failure(request.url, 400, _EXCEEDED)
        with self._resting():
            units = capacity.price(call.operation, body)
        answer = send()
        with self._resting():
            capacity.take(units(_told(answer)))
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

    def _kind(self, call: Call) -> Kind | None:
        """Choose the fault of a call: one whose position has come and that fits, else by chance."""
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
        self, kind: Kind, call: Call, request: AWSPreparedRequest, send: Callable[[], AWSResponse]
    ) -> AWSResponse:
        match kind:
            case Kind.THROTTLE:
                return _throttled(call, request.url)
            case Kind.SERVER_ERROR:
                return _failure(
                    request.url, 500, "InternalServerError" if call.service == "dynamodb" else "InternalError"
                )
            case Kind.CONFLICT | Kind.CANCEL:
                return _conflict(call, request, kind)
            case Kind.UNPROCESSED:
                return _half(call, request, send)
            case Kind.SLOW:
                clock.sleep(SLOW_SECONDS)
                return send()
            case Kind.RESET_BEFORE:
                raise ConnectionClosedError(endpoint_url=request.url)
            case Kind.RESET_AFTER:
                send()
                raise ConnectionClosedError(endpoint_url=request.url)
            case Kind.KILL_BEFORE:
                raise Killed(str(call))
            case Kind.KILL_AFTER:
                send()
                raise Killed(str(call))

    def _send(self, request: AWSPreparedRequest, event_name: str) -> AWSResponse:
        """Let a call take its effect, on moto or, where moto lets it through, on the wire."""
        answer = botocore_stubber(event_name, request)
        return answer if answer is not None else self._plain.send(request)


class _Waiting:
    """In place of the ``time`` module in botocore, which waits there between its own attempts."""

    @staticmethod
    def sleep(seconds: float) -> None:
        clock.sleep(seconds)


class _Raw(io.BytesIO):
    """A body as urllib3 gives it."""

    def stream(self, *_: object, **__: object) -> Iterator[bytes]:
        while block := self.read(65536):
            yield block


def _answer(url: str, status: int, body: bytes, content_type: str) -> AWSResponse:
    headers: Any = {"content-type": content_type, "x-amzn-requestid": "fault", "content-length": str(len(body))}
    return AWSResponse(url, status, headers, _Raw(body))


def _failure(url: str, status: int, code: str, **more: Any) -> AWSResponse:  # noqa: ANN401
    """Answer with an error, in XML for S3 and in JSON for the others."""
    if ".s3." in url or "//s3." in url:
        body = f"<Error><Code>{code}</Code><Message>a fault that was asked for</Message></Error>"
        return _answer(url, status, body.encode(), "application/xml")
    body = json.dumps({"__type": f"com.amazonaws#{code}", "message": "a fault that was asked for", **more})
    return _answer(url, status, body.encode(), "application/x-amz-json-1.0")


def _text(request: AWSPreparedRequest) -> str | bytes:
    if not isinstance(request.body, str | bytes):
        raise TypeError("a DynamoDB request has its body at hand")
    return request.body


def _told(answer: AWSResponse) -> dict[str, Any]:
    """Return what an answer says, an error as boto3 tells of it."""
    content: dict[str, Any] = json.loads(answer.content)
    if answer.status_code < _BAD:
        return content
    return {**content, "Error": {"Code": str(content.get("__type", "")).rpartition("#")[2]}}


def _throttled(call: Call, url: str) -> AWSResponse:
    if call.service == "s3":
        return _failure(url, 503, "SlowDown")
    return _failure(url, 400, "ThrottlingException")


def _conflict(call: Call, request: AWSPreparedRequest, kind: Kind) -> AWSResponse:
    if call.operation != _TRANSACTION:
        return _failure(request.url, 400, "TransactionConflictException")
    items = json.loads(_text(request))["TransactItems"]
    code = "TransactionConflict" if kind is Kind.CONFLICT else "ThrottlingError"
    reasons = [{"Code": code, "Message": "a fault that was asked for"}, *({"Code": "None"} for _ in items[1:])]
    return _failure(request.url, 400, "TransactionCanceledException", CancellationReasons=reasons)


def _half(call: Call, request: AWSPreparedRequest, send: Callable[[], AWSResponse]) -> AWSResponse:
    """Let the first half of a batch take effect, and hand the rest back as unprocessed."""
    asked, unprocessed = _BATCHES[call.operation]
    body = json.loads(_text(request))
    done, left = {}, {}
    for table, wanted in body[asked].items():
        entries = wanted["Keys"] if isinstance(wanted, dict) else wanted
        half = len(entries) // 2
        done[table] = {**wanted, "Keys": entries[:half]} if isinstance(wanted, dict) else entries[:half]
        left[table] = {**wanted, "Keys": entries[half:]} if isinstance(wanted, dict) else entries[half:]
    if any(some["Keys"] if isinstance(some, dict) else some for some in done.values()):
        return _in_part(request, {**body, asked: done}, {unprocessed: left}, send)
    empty: dict[str, Any] = {"Responses": {}} if call.operation == "BatchGetItem" else {}
    return _answer(request.url, 200, json.dumps({**empty, unprocessed: left}).encode(), "application/x-amz-json-1.0")


def _in_part(
    request: AWSPreparedRequest, part: dict[str, Any], left: dict[str, Any], send: Callable[[], AWSResponse]
) -> AWSResponse:
    """Let a part of a batch take effect, and hand back what is left of it."""
    request.body = json.dumps(part).encode()
    request.headers["Content-Length"] = str(len(request.body))
    answer = {**json.loads(send().content), **left}
    return _answer(request.url, 200, json.dumps(answer).encode(), "application/x-amz-json-1.0")
