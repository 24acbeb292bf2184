"""The routes of a function of the HTTP API. Each route has a policy, and each error becomes a problem."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver, Response
from aws_lambda_powertools.event_handler.exceptions import NotFoundError as NoRouteError
from aws_lambda_powertools.utilities.typing import LambdaContext

from quarterhour.model import fields, texts
from quarterhour.model.errors import MalformedError, NotFoundError, RequestError
from quarterhour.model.settings import Environment
from quarterhour.web import http, parameters
from quarterhour.web.access import Caller, Gate, Policy
from quarterhour.web.bodies import check_size, media_type, read_json, refusal, unsupported
from quarterhour.web.parameters import Parameters

RouteHandler = Callable[..., http.Response]
"""Handles a request; the keyword arguments are the variables of the route's path."""

Revealed = Callable[[str], str]
"""A function that returns a JSON document with names in place of the tokens of customers."""

Names = tuple[str, ...]

Spellings = tuple[str, ...]
"""The possible spellings of a name in the path, as far as the caller may see what they name."""

JSON: Final = "application/json"
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


class Routes:
    """The routes of one function."""

    def __init__(self, env: Environment, revealed: Revealed | None = None) -> None:
        """Read the settings of the gate from the environment.

        ``revealed`` shows customers by name in the responses to those who may see names.
        """
        self._revealed = revealed
        self._app = APIGatewayHttpResolver()
        self._gate = Gate(env)
        # By default, the resolver logs an error with its stack, which holds content of the request.
        self._app.exception_handler(RequestError)(self._refused)
        self._app.not_found(self._no_route)
        self.operations: list[Operation] = []

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
        return self._gate.caller(self._app.current_event.raw_event)

    def parameters(self) -> Parameters:
        """Return the query parameters of the current request."""
        event = self._app.current_event
        values = {name: texts.of_name(value) for name, value in event.query_string_parameters.items()}
        return Parameters(event.path, values)

    def header(self, name: str) -> str:
        """Return a header of the current request by its name in lower case; empty if it is missing."""
        return http.header(self._app.current_event.raw_event, name)

    def body(self) -> dict[str, Any]:
        """Return the JSON object in the body of the current request, with numbers as exact decimals.

        Raises ``UnsupportedMediaTypeError``, ``TooLargeError`` or ``MalformedError``.
        """
        content = http.body_of(self._app.current_event.raw_event)
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
        content = http.body_of(self._app.current_event.raw_event)
        check_size(content, max_bytes)
        return content

    def seconds_left(self) -> float:
        """Return the seconds that remain for the current request until Lambda's timeout."""
        return float(self._app.lambda_context.get_remaining_time_in_millis()) / 1000

    def handle(self, event: dict[str, Any], context: LambdaContext) -> http.Response:
        """Return the response to an event of the HTTP API."""
        return self._app.resolve(parameters.routed(event), context)

    def _route(self, method: str, rule: str, allow: Policy, query: Names) -> Callable[[RouteHandler], RouteHandler]:
        def register(handler: RouteHandler) -> RouteHandler:
            def allowed(**variables: str) -> Response[str]:
                admitted = allow(self.caller(), variables)
                self.parameters().allow(*query)
                return _as_resolver_response(self._seen(handler(**admitted)))

            self._app.route(rule, method=method)(allowed)
            self.operations.append(Operation(method, rule, allow, query, handler))
            return handler

        return register

    def _seen(self, response: http.Response) -> http.Response:
        if self._revealed and self.caller().is_of_marketplace:
            return {**response, "body": self._revealed(response["body"])}
        return response

    def _refused(self, error: RequestError) -> Response[str]:
        return _as_resolver_response(http.refused(error, self._app.current_event.request_context.request_id))

    def _no_route(self, _error: NoRouteError) -> Response[str]:
        event = self._app.current_event
        path = fields.shown(event.path)
        return self._refused(NotFoundError(f"there is no route {event.http_method} {path}"))


def _as_resolver_response(response: http.Response) -> Response[str]:
    return Response(response["statusCode"], headers=response["headers"], body=response["body"])
