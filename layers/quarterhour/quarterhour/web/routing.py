"""The routes of a function behind the HTTP API: none without a policy, and every error told as a problem."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError as NoRouteError
from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.aws.settings import Environment
from quarterhour.model import fields
from quarterhour.model.errors import MalformedError, NotFoundError, RequestError
from quarterhour.web import http, parameters
from quarterhour.web.access import Caller, Gate, Policy
from quarterhour.web.bodies import read_json, refusal
from quarterhour.web.parameters import Parameters

Handler = Callable[..., http.Response]
"""Answers a request; takes the variables of its route's path by their names."""

Names = tuple[str, ...]

JSON: Final = "application/json"
MAX_BODY: Final = 1_000_000
"""Bytes of a body."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A route as it is registered: what it is described from."""

    method: str
    rule: str
    allow: Policy
    query: Names
    handler: Handler


class Routes:
    """The routes of one function."""

    def __init__(self, env: Environment) -> None:
        """Take from the environment how callers are told apart."""
        self._app = APIGatewayHttpResolver()
        self._gate = Gate(env)
        # Left to itself, the resolver logs an error with its stack, and so with what was sent.
        self._app.exception_handler(RequestError)(self._refused)
        self._app.not_found(self._no_route)
        self.operations: list[Operation] = []

    def get(self, rule: str, *, allow: Policy, query: Names = ()) -> Callable[[Handler], Handler]:
        """Register what answers GET of ``/accounts/<agency>/…`` to those whom the policy lets through.

        ``query`` names the parameters that may be sent besides; any other is refused.
        """
        return self._route("GET", rule, allow, query)

    def post(self, rule: str, *, allow: Policy, query: Names = ()) -> Callable[[Handler], Handler]:
        """Register what answers POST."""
        return self._route("POST", rule, allow, query)

    def put(self, rule: str, *, allow: Policy, query: Names = ()) -> Callable[[Handler], Handler]:
        """Register what answers PUT."""
        return self._route("PUT", rule, allow, query)

    def caller(self) -> Caller:
        """Return who sends the request at hand."""
        return self._gate.caller(self._app.current_event.raw_event)

    def parameters(self) -> Parameters:
        """Return the query parameters of the request at hand."""
        event = self._app.current_event
        return Parameters(event.path, event.query_string_parameters)

    def header(self, name: str) -> str:
        """Return a header of the request, empty where it is missing; the name is in lower case."""
        return http.header(self._app.current_event.raw_event, name)

    def body(self) -> dict[str, Any]:
        """Return the JSON object that the request carries, its numbers as exact decimals.

        Raises ``UnsupportedMediaTypeError``, ``TooLargeError`` or ``MalformedError``.
        """
        content = http.body_of(self._app.current_event.raw_event)
        _, parsed = read_json(self.header("content-type"), content, {JSON: "an object"}, MAX_BODY)
        if not isinstance(parsed, dict):
            raise refusal(MalformedError, "is no JSON object", "an object")
        return parsed

    def seconds_left(self) -> float:
        """Return how long the function may still work on the request at hand, and answer it."""
        return float(self._app.lambda_context.get_remaining_time_in_millis()) / 1000

    def handle(self, event: dict[str, Any], context: LambdaContext) -> http.Response:
        """Answer an event of the HTTP API."""
        return self._app.resolve(parameters.routed(event), context)

    def _route(self, method: str, rule: str, allow: Policy, query: Names) -> Callable[[Handler], Handler]:
        def register(handler: Handler) -> Handler:
            def allowed(**variables: str) -> Response[str]:
                let_through = allow(self.caller(), variables)
                self.parameters().allow(*query)
                return _answered(handler(**let_through))

            self._app.route(rule, method=method)(allowed)
            self.operations.append(Operation(method, rule, allow, query, handler))
            return handler

        return register

    def _refused(self, error: RequestError) -> Response[str]:
        return _answered(http.refused(error, self._app.current_event.request_context.request_id))

    def _no_route(self, _error: NoRouteError) -> Response[str]:
        event = self._app.current_event
        path = fields.shown(event.path)
        return self._refused(NotFoundError(f"there is no route {event.http_method} {path}"))


def _answered(response: http.Response) -> Response[str]:
    return Response(response["statusCode"], headers=response["headers"], body=response["body"])
