"""The routes of a function of the HTTP API. Each route has a policy, and each error becomes a problem.

A room's routes are registered when a request first needs them, so that a function starts without the code of all rooms.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.model import fields, texts
from quarterhour.model.errors import MalformedError, NotFoundError
from quarterhour.model.settings import Environment
from quarterhour.web import http, parameters
from quarterhour.web.access import Caller, Gate, Policy
from quarterhour.web.bodies import check_size, media_type, read_json, refusal, unsupported
from quarterhour.web.parameters import Parameters

RouteHandler = Callable[..., http.Response]
"""Handles a request; the keyword arguments are the variables of the route's path."""

RoomRegistration = Callable[[], None]
"""Registers the routes of a room."""

Revealed = Callable[[str], str]
"""A function that returns a JSON document with names in place of the tokens of customers."""

Names = tuple[str, ...]

Spellings = tuple[str, ...]
"""The possible spellings of a name in the path, as far as the caller may see what they name."""

JSON: Final = "application/json"
ON_DEMAND: Final = "on-demand"
"""How Lambda calls a start for a request that waits for it."""
MAX_BODY: Final = 1_000_000
"""The maximum size of a body in bytes."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A registered route, from which its OpenAPI description is made."""

    method: str
    rule: str
    allow: Policy
    query: Names
    handler: RouteHandler

    def variables(self, method: str, path: str) -> dict[str, str] | None:
        """Return the variables of a path that this route answers, else ``None``."""
        names, parts = self.rule.split("/"), path.split("/")
        if method != self.method or len(names) != len(parts):
            return None
        found = {}
        for name, part in zip(names, parts, strict=True):
            if name.startswith("<") and part:
                found[name.strip("<>")] = part
            elif name != part:
                return None
        return found


@dataclass(slots=True)
class _Room:
    """The routes of a room, and the first names of their paths; ``register`` is ``None`` once they are registered."""

    names: Names
    register: RoomRegistration | None
    operations: list[Operation] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Request:
    event: dict[str, Any]
    context: LambdaContext
    path: str


class Routes:
    """The routes of one function."""

    def __init__(self, env: Environment, revealed: Revealed | None = None) -> None:
        """Read the settings of the gate from the environment.

        ``revealed`` shows customers by name in the responses to those who may see names.
        """
        self._revealed = revealed
        self._gate = Gate(env)
        self._is_kept = env.variables.get("AWS_LAMBDA_INITIALIZATION_TYPE", ON_DEMAND) != ON_DEMAND
        self._rooms = [_Room((), None)]
        self._registering = self._rooms[0]
        self._request: _Request | None = None

    def room(self, *names: str) -> Callable[[RoomRegistration], RoomRegistration]:
        """Let the decorated function register a room when a request first needs it.

        ``names``: the first names of the paths of its routes, without which no request finds them.
        """

        def later(register: RoomRegistration) -> RoomRegistration:
            self._rooms.append(_Room(names, register))
            return register

        return later

    def started(self) -> None:
        """Register every room now if the started process is kept before a request comes, as SnapStart does."""
        if self._is_kept:
            for room in self._rooms:
                self._registered(room)

    @property
    def operations(self) -> list[Operation]:
        """All routes. Every room is registered for it."""
        return [operation for room in self._rooms for operation in self._registered(room)]

    def get(self, rule: str, *, allow: Policy, query: Names = ()) -> Callable[[RouteHandler], RouteHandler]:
        """Register the decorated handler for GET of a path such as ``/accounts/<agency>/<currency>``.

        The policy ``allow`` admits callers. ``query`` names the query parameters; any other is refused.
        """
        return self._route("GET", rule, allow, query)

    def post(self, rule: str, *, allow: Policy, query: Names = ()) -> Callable[[RouteHandler], RouteHandler]:
        """Register the decorated handler for POST, as ``get`` does."""
        return self._route("POST", rule, allow, query)

    def put(self, rule: str, *, allow: Policy, query: Names = ()) -> Callable[[RouteHandler], RouteHandler]:
        """Register the decorated handler for PUT, as ``get`` does."""
        return self._route("PUT", rule, allow, query)

    def delete(self, rule: str, *, allow: Policy, query: Names = ()) -> Callable[[RouteHandler], RouteHandler]:
        """Register the decorated handler for DELETE, as ``get`` does."""
        return self._route("DELETE", rule, allow, query)

    def caller(self) -> Caller:
        """Return the caller of the current request."""
        return self._gate.caller(self._current.event)

    def parameters(self) -> Parameters:
        """Return the query parameters of the current request."""
        sent = self._current.event.get("queryStringParameters") or {}
        return Parameters(self._current.path, {name: texts.of_name(value) for name, value in sent.items()})

    def header(self, name: str) -> str:
        """Return a header of the current request by its name in lower case; empty if it is missing."""
        return http.header(self._current.event, name)

    def body(self) -> dict[str, Any]:
        """Return the JSON object in the body of the current request, with numbers as exact decimals.

        Raises ``UnsupportedMediaTypeError``, ``TooLargeError`` or ``MalformedError``.
        """
        content = http.body_of(self._current.event)
        _, parsed = read_json(self.header("content-type"), content, {JSON: "an object"}, MAX_BODY)
        if not isinstance(parsed, dict):
            raise refusal(MalformedError, "is not a JSON object", "an object")
        return parsed

    def file(self, content_type: str, max_bytes: int) -> bytes:
        """Return the file in the body of the current request.

        Raises ``UnsupportedMediaTypeError``, ``TooLargeError`` or ``MalformedError``.
        """
        given = self.header("content-type")
        if media_type(given) != content_type:
            raise unsupported(given, {content_type: "a file"})
        content = http.body_of(self._current.event)
        check_size(content, max_bytes)
        return content

    def seconds_left(self) -> float:
        """Return the seconds that remain for the current request until Lambda's timeout."""
        return float(self._current.context.get_remaining_time_in_millis()) / 1000

    def handle(self, event: dict[str, Any], context: LambdaContext) -> http.Response:
        """Return the response to an event of the HTTP API; raise ``RequestError`` if it is refused."""
        path, method = parameters.path_of(event), event["requestContext"]["http"]["method"]
        self._request = _Request(event, context, path)
        operation, variables = self._found(method, path)
        caller = self.caller()
        admitted = operation.allow(caller, variables)
        self.parameters().allow(*operation.query)
        response = operation.handler(**admitted)
        if self._revealed and caller.is_of_marketplace:
            return {**response, "body": self._revealed(response["body"])}
        return response

    def _found(self, method: str, path: str) -> tuple[Operation, dict[str, str]]:
        """Return the route of a path, and the variables in it; raise ``NotFoundError`` if there is none."""
        _, _, first = path.partition("/")
        name, _, _ = first.partition("/")
        for room in self._rooms:
            if not room.names or name in room.names:
                for operation in self._registered(room):
                    variables = operation.variables(method, path)
                    if variables is not None:
                        return operation, variables
        raise NotFoundError(f"there is no route {method} {fields.shown(path)}")

    def _registered(self, room: _Room) -> list[Operation]:
        """Return the routes of a room, registered now if they are not yet."""
        if room.register:
            room.operations.clear()  # of a registration that failed
            before, self._registering = self._registering, room
            try:
                room.register()
            finally:
                self._registering = before
            room.register = None
        return room.operations

    @property
    def _current(self) -> _Request:
        if self._request is None:
            raise RuntimeError("there is no request")
        return self._request

    def _route(self, method: str, rule: str, allow: Policy, query: Names) -> Callable[[RouteHandler], RouteHandler]:
        def register(handler: RouteHandler) -> RouteHandler:
            room = self._registering
            if room.names and rule.split("/")[1] not in room.names:
                raise ValueError(f"no request finds {rule}: its room begins with {', '.join(room.names)}")
            room.operations.append(Operation(method, rule, allow, query, handler))
            return handler

        return register
