"""Builds the OpenAPI document from the functions' routes and the descriptions in ``routes``."""

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import UnionType
from typing import Any, Final, get_args

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from quarterhour.web.http import REQUEST_ID
from quarterhour.web.routing import JSON, Operation
from quarterhour_tools.emulator.stack import TEMPLATE, load
from quarterhour_tools.emulator.template import Function, Template
from quarterhour_tools.openapi.parameters import PATH, QUERY, Parameter
from quarterhour_tools.openapi.responses import GatewayMessage, Problem
from quarterhour_tools.openapi.routes import ROUTES, Link, RouteDescription, Shape

PROBLEM: Final = "application/problem+json"

Json = dict[str, Any]

_REF: Final = "#/components/schemas/{model}"
_VARIABLE: Final = re.compile(r"<(\w+)>")
_DESCRIPTION: Final = """\
A commission ledger for marketplaces: every event exactly once, every quarter-hour reported.

Amounts of money are exact decimal strings. Times are UTC. A span of time includes `from` and excludes `to`. A list \
has `items` and a token `next`; send it as the parameter `next` to get the following page. Errors are problem \
details (RFC 9457). Every response has an `x-request-id`. Every write can be retried safely: its description says \
why. Responses may gain fields, so ignore unknown ones. Encode a name in a path twice if it holds a slash or a \
percent sign."""

_PROBLEMS: Final[Mapping[int, tuple[str, str]]] = {
    400: ("BadRequest", "The request is invalid; `errors` names the fields."),
    401: ("Unauthenticated", "The request is not authenticated."),
    403: ("Forbidden", "The caller may not do or read this."),
    404: ("NotFound", "It does not exist."),
    409: ("Conflict", "The request conflicts with the current state; nothing was changed."),
    410: ("Gone", "What it needs was kept for a limited time, which is over."),
    413: ("TooLarge", "The body is too large."),
    415: ("UnsupportedMediaType", "The content type is not supported, or the body is compressed."),
    429: ("TooManyRequests", "There are too many requests: retry after a pause."),
    503: ("Unavailable", "The service is not available: retry after `Retry-After` seconds."),
}
_ALWAYS: Final = (400, 401, 403, 429, 503)
"""The statuses of problems that every route can return."""
_OF_THE_GATEWAY: Final = frozenset({401, 403, 413, 429, 503})
"""The statuses that API Gateway can return, in its own form, before it invokes a function."""
_RESPONSES: Final[Mapping[int, str]] = {
    200: "The current state.",
    201: "Created; the new state.",
    202: "All events are recorded, by this request or an earlier one.",
    207: "Some events are recorded; each item has its own verdict.",
    409: "All events are conflicts.",
    422: "All events are rejected or conflicts.",
    503: "No event could be recorded: retry after `Retry-After` seconds.",
}
_GROUPS: Final[Mapping[str, str]] = {
    **{name: name for name in ("documents", "operations", "orders", "schedule", "threads")},
    "agencies": "documents",
    "customers": "orders",
    "disputes": "accounting",
    "exchange-rates": "exchange_rates",
    "periods": "accounting",
    "statements": "accounting",
    "/accounts/<agency>/<currency>/balance": "accounting",
}
"""The first parts of operation ids by a route or by its first part, which clients know; of the others it is ``api``."""
_UNAVAILABLE: Final = 503
_REQUEST_ID: Final = {
    "description": "Identifies the request in all logs.",
    "schema": {"type": "string", "minLength": 1},
}
_HEADERS: Final[Json] = {
    "RequestId": {"required": True, **_REQUEST_ID},
    "UsualRequestId": {
        **_REQUEST_ID,
        "description": "Identifies the request in all logs; missing if API Gateway itself has responded.",
    },
    "RetryAfter": {
        "description": "The seconds to wait before a retry.",
        "schema": {"type": "integer", "minimum": 1},
    },
}
_SIGNED: Final = "signed"
_TOKEN: Final = "token"  # noqa: S105 - the name of a scheme
_SECURITY_SCHEMES: Final[Json] = {
    _SIGNED: {
        "type": "apiKey",
        "name": "Authorization",
        "in": "header",
        "description": "For machines and operators: a request signed for IAM (SigV4, service `execute-api`).",
        "x-amazon-apigateway-authtype": "awsSigv4",
    },
    _TOKEN: {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": (
            "For people: a token of the deployment's issuer, for the API at `PeopleApiUrl`. Each route names in "
            "`x-roles` the roles of those who may use it."
        ),
    },
}


def document() -> Json:
    """Return the OpenAPI document of the template's HTTP API."""
    template = Template.load(TEMPLATE)
    functions = template.functions(lambda resource, name: f"{resource}-{name}").values()
    routes = {one.key: one for function in functions for one in _routes(function)}
    writer = _Writer({key: one.name for key, one in routes.items()})
    paths: dict[str, Json] = {}
    for key in sorted(routes, key=lambda key: key.partition(" ")[::-1]):
        method, _, path = key.partition(" ")
        paths.setdefault(path, {})[method.lower()] = writer.operation(routes[key])
    responses = {name: writer.problem(status) for status, (name, _) in _PROBLEMS.items()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Quarterhour",
            "version": template.parameters["CodeVersion"],
            "description": _DESCRIPTION,
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(writer.schemas.items())),
            "responses": responses,
            "headers": _HEADERS,
            "securitySchemes": _SECURITY_SCHEMES,
        },
    }


def text() -> str:
    """Return the document as published JSON."""
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


# ---------------------------------------------------------------- the routes


@dataclass(frozen=True, slots=True)
class _Route:
    """A route of a function; ``name`` is unique."""

    name: str
    operation: Operation

    @property
    def key(self) -> str:
        """Method and path, as in the template."""
        path = _VARIABLE.sub(lambda variable: f"{{{variable[1]}}}", self.operation.rule)
        return f"{self.operation.method} {path}"

    @property
    def description(self) -> RouteDescription:
        """The parts of its description that its code does not show."""
        return ROUTES[self.key]

    def parameters(self) -> Iterator[tuple[str, str, Parameter]]:
        """Yield its parameters: the place (path or query), the name and the description of each."""
        for name in _VARIABLE.findall(self.operation.rule):
            yield "path", name, (self.description.parameters.get(name) or PATH[name]).as_required
        for name in self.operation.query:
            yield "query", name, self.description.parameters.get(name) or QUERY[name]


def _routes(function: Function) -> Iterator[_Route]:
    """Yield the routes of a function; a function with a single route does not register it."""
    if not function.routes:
        return
    module = load(function, f"openapi.{function.name}")
    if hasattr(module, "routes"):
        for operation in module.routes.operations:
            rule = operation.rule
            group = _GROUPS.get(rule) or _GROUPS.get(rule.split("/")[1], "api")
            yield _Route(f"{group}_{operation.handler.__name__}", operation)
    else:
        (only,) = function.routes
        yield _Route(function.name, Operation(only.method, only.path, module.allow, (), module.handler))


# ---------------------------------------------------------------- the parts of the document


@dataclass(slots=True)
class _Writer:
    """Builds the parts of the document, and collects the named schemas."""

    names: Mapping[str, str]
    """The operations' ids by route."""
    schemas: Json = field(default_factory=dict)

    def operation(self, route: _Route) -> Json:
        """Return the operation object of a route."""
        operation, description = route.operation, route.description
        retries = [f"**Retries:** {description.retries}"] if description.retries else []
        summary, _, more = str(inspect.getdoc(operation.handler)).partition("\n\n")
        return _without_empty(
            {
                "operationId": route.name,
                "tags": [operation.rule.split("/")[1]],
                "summary": summary,
                "description": "\n\n".join([*filter(None, [more]), *retries]),
                "security": [{_SIGNED: []}, *([{_TOKEN: []}] if operation.allow.roles else [])],
                "x-roles": sorted(operation.allow.roles),
                "parameters": [self._parameter(*one) for one in route.parameters()],
                "requestBody": self._body(description),
                "responses": self._responses(description),
            }
        )

    def problem(self, status: int) -> Json:
        """Return the response object of a problem that several routes share."""
        _, description = _PROBLEMS[status]
        own = status in _OF_THE_GATEWAY
        content = {PROBLEM: Problem, **({JSON: GatewayMessage} if own else {})}
        return self._response(status, description, content, always_named=not own)

    def _parameter(self, place: str, name: str, parameter: Parameter) -> Json:
        example = {} if parameter.example is None else {"example": parameter.example}
        return {
            "name": name,
            "in": place,
            "required": parameter.required,
            "description": parameter.description,
            "schema": self._schema(parameter.shape),
            **example,
        }

    def _body(self, description: RouteDescription) -> Json:
        content = {
            kind: {"schema": self._schema(shape), "example": example}
            for kind, (shape, example) in description.bodies.items()
        }
        return {"required": True, "content": content} if content else {}

    def _responses(self, description: RouteDescription) -> Json:
        responses: Json = {}
        for status in sorted({*description.answers, *description.problems, *_ALWAYS}):
            if status not in description.answers:
                responses[str(status)] = {"$ref": f"#/components/responses/{_PROBLEMS[status][0]}"}
            elif status in _ALWAYS:  # an answer in addition to the problem
                content = {PROBLEM: Problem, JSON: description.answers[status] | GatewayMessage}
                responses[str(status)] = self._response(status, _RESPONSES[status], content, always_named=False)
            else:
                responses[str(status)] = self._response(status, _RESPONSES[status], {JSON: description.answers[status]})
        links = {name: self._link(link) for name, link in description.links.items()}
        if links:
            responses[str(next(iter(description.answers)))]["links"] = links
        return responses

    def _response(
        self, status: int, description: str, content: Mapping[str, Shape], *, always_named: bool = True
    ) -> Json:
        named = {"$ref": f"#/components/headers/{'' if always_named else 'Usual'}RequestId"}
        later = {"retry-after": {"$ref": "#/components/headers/RetryAfter"}} if status == _UNAVAILABLE else {}
        return {
            "description": description,
            "headers": {REQUEST_ID: named, **later},
            "content": {kind: {"schema": self._schema(shape)} for kind, shape in content.items()},
        }

    def _link(self, link: Link) -> Json:
        return {"operationId": self.names[link.route], "parameters": dict(link.variables)}

    def _schema(self, shape: Shape) -> Json:
        """Return the schema of a type; named schemas become components, and the result refers to them."""
        if isinstance(shape, UnionType):
            return {"anyOf": [self._schema(one) for one in get_args(shape)]}
        made = TypeAdapter(shape).json_schema(ref_template=_REF, schema_generator=_Plain)
        named = made.pop("$defs", {})
        if isinstance(shape, type) and issubclass(shape, BaseModel):
            named[shape.__name__], made = made, {"$ref": _REF.format(model=shape.__name__)}
        for name, schema in named.items():
            del schema["title"]
            if self.schemas.setdefault(name, schema) != schema:
                raise ValueError(f"two different schemas are named {name}")
        return made


class _Plain(GenerateJsonSchema):
    """Generates schemas without titles, which repeat the names, and without the default null of omitted fields."""

    def field_title_should_be_set(self, _schema: object) -> bool:
        """Return False: no field has a title."""
        return False

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Return the schema without a default of ``None``."""
        made = super().default_schema(schema)
        return {name: value for name, value in made.items() if (name, value) != ("default", None)}


def _without_empty(content: Json) -> Json:
    return {name: value for name, value in content.items() if value}
