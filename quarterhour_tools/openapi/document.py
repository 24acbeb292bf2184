"""The document, put together: routes from the functions, and beside each what is told of it."""

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

from quarterhour.web.access import machines
from quarterhour.web.http import REQUEST_ID
from quarterhour.web.routing import JSON, Operation
from quarterhour_tools.emulator.stack import TEMPLATE, load
from quarterhour_tools.emulator.template import Function, Template
from quarterhour_tools.openapi.parameters import PATH, QUERY, Parameter
from quarterhour_tools.openapi.responses import GatewayMessage, Problem
from quarterhour_tools.openapi.routes import ROUTES, Link, Shape, Told

PROBLEM: Final = "application/problem+json"

Json = dict[str, Any]

_REF: Final = "#/components/schemas/{model}"
_VARIABLE: Final = re.compile(r"<(\w+)>")
_DESCRIPTION: Final = """\
A commission ledger for marketplaces: every event exactly once, every quarter-hour reported.

Sums of money are exact decimal strings, times are UTC. A span is `from`, included, and `to`, not included. A listing \
answers `items`, and in `next` what to send as `next` for the page that follows. What is wrong is told as problem \
details (RFC 9457). Every answer has an `x-request-id`. Every write may be sent again: its description says why that \
is harmless. Answers may gain fields, so let others pass. A name in a path with a slash or a percent sign is \
encoded twice."""

_PROBLEMS: Final[Mapping[int, tuple[str, str]]] = {
    400: ("BadRequest", "Something in the request does not fit; `errors` names it."),
    401: ("Unauthenticated", "Nobody has proven who asks."),
    403: ("Forbidden", "Who asks may not do this, or see it."),
    404: ("NotFound", "What was asked for is not there."),
    409: ("Conflict", "Something else stands in its place, and nothing was changed."),
    413: ("TooLarge", "The body is too large."),
    415: ("UnsupportedMediaType", "The content type is none of those taken."),
    429: ("TooManyRequests", "Too many requests at once: send it again, a little later."),
    503: ("Unavailable", "It cannot be answered now: send it again after `Retry-After` seconds."),
}
_ALWAYS: Final = (400, 401, 403, 429, 503)
"""Problems that every route can meet."""
_OF_THE_GATEWAY: Final = frozenset({401, 403, 413, 429, 503})
"""What API Gateway may answer before a function is asked, in a form of its own."""
_ANSWERED: Final[Mapping[int, str]] = {
    200: "As it stands.",
    201: "Written now, and as it stands.",
    202: "All events are recorded, now or before.",
    207: "Some events are recorded; each item has its own verdict.",
    409: "All events are conflicts.",
    422: "All events are rejected, or conflicts.",
    503: "Nothing could be recorded now: send it again after `Retry-After` seconds.",
}
_UNAVAILABLE: Final = 503
_REQUEST_ID: Final = {
    "description": "Names the request in all logs.",
    "schema": {"type": "string", "minLength": 1},
}
_HEADERS: Final[Json] = {
    "RequestId": {"required": True, **_REQUEST_ID},
    "UsualRequestId": {
        **_REQUEST_ID,
        "description": "Names the request in all logs; there, unless API Gateway has answered by itself.",
    },
    "RetryAfter": {
        "description": "After how many seconds to send the request again.",
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
        "description": "Machines and operators: a request signed for IAM (SigV4, service `execute-api`).",
        "x-amazon-apigateway-authtype": "awsSigv4",
    },
    _TOKEN: {
        "type": "http",
        "scheme": "bearer",
        "bearerFormat": "JWT",
        "description": "People of an agency: a token of the deployment's issuer, for the API of `PeopleApiUrl`.",
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
    """Return the document as it is published."""
    return json.dumps(document(), indent=1, ensure_ascii=False) + "\n"


# ---------------------------------------------------------------- the routes


@dataclass(frozen=True, slots=True)
class _Route:
    """A route of a function, with what is told of it; ``name`` tells it from all others."""

    name: str
    operation: Operation

    @property
    def key(self) -> str:
        """Method and path, as the template writes them."""
        path = _VARIABLE.sub(lambda variable: f"{{{variable[1]}}}", self.operation.rule)
        return f"{self.operation.method} {path}"

    @property
    def told(self) -> Told:
        """What its code does not show."""
        return ROUTES[self.key]

    def parameters(self) -> Iterator[tuple[str, str, Parameter]]:
        """Yield its parameters: where each stands, its name, what it means."""
        for name in _VARIABLE.findall(self.operation.rule):
            yield "path", name, (self.told.parameters.get(name) or PATH[name]).needed
        for name in self.operation.query:
            yield "query", name, self.told.parameters.get(name) or QUERY[name]


def _routes(function: Function) -> Iterator[_Route]:
    """Yield the routes of a function; one that answers a single route does so without registering it."""
    if not function.routes:
        return
    module = load(function, f"openapi.{function.name}")
    if hasattr(module, "routes"):
        for operation in module.routes.operations:
            yield _Route(f"{function.name}_{operation.handler.__name__}", operation)
    else:
        (only,) = function.routes
        yield _Route(function.name, Operation(only.method, only.path, machines, (), module.handler))


# ---------------------------------------------------------------- what is said of each


@dataclass(slots=True)
class _Writer:
    """Writes the parts of the document, and collects the schemas that have a name."""

    names: Mapping[str, str]
    """The operations' names, by their routes."""
    schemas: Json = field(default_factory=dict)

    def operation(self, route: _Route) -> Json:
        """Describe a route."""
        operation, told = route.operation, route.told
        once = [f"**Sent again:** {told.once}"] if told.once else []
        summary, _, more = str(inspect.getdoc(operation.handler)).partition("\n\n")
        return _without_empty(
            {
                "operationId": route.name,
                "tags": [operation.rule.split("/")[1]],
                "summary": summary,
                "description": "\n\n".join([*filter(None, [more]), *once]),
                "security": [{_SIGNED: []}, *([] if operation.allow is machines else [{_TOKEN: []}])],
                "parameters": [self._parameter(*one) for one in route.parameters()],
                "requestBody": self._body(told),
                "responses": self._responses(told),
            }
        )

    def problem(self, status: int) -> Json:
        """Describe a problem that several routes can meet."""
        _, description = _PROBLEMS[status]
        own = status in _OF_THE_GATEWAY
        content = {PROBLEM: Problem, **({JSON: GatewayMessage} if own else {})}
        return self._response(status, description, content, always_named=not own)

    def _parameter(self, place: str, name: str, parameter: Parameter) -> Json:
        told = {"name": name, "in": place, "required": parameter.required, "description": parameter.says}
        example = {} if parameter.example is None else {"example": parameter.example}
        return {**told, "schema": self._schema(parameter.of), **example}

    def _body(self, told: Told) -> Json:
        content = {
            kind: {"schema": self._schema(shape), "example": example} for kind, (shape, example) in told.bodies.items()
        }
        return {"required": True, "content": content} if content else {}

    def _responses(self, told: Told) -> Json:
        responses: Json = {}
        for status in sorted({*told.answers, *told.problems, *_ALWAYS}):
            if status not in told.answers:
                responses[str(status)] = {"$ref": f"#/components/responses/{_PROBLEMS[status][0]}"}
            elif status in _ALWAYS:  # an answer of its own, beside the problem
                content = {PROBLEM: Problem, JSON: told.answers[status] | GatewayMessage}
                responses[str(status)] = self._response(status, _ANSWERED[status], content, always_named=False)
            else:
                responses[str(status)] = self._response(status, _ANSWERED[status], {JSON: told.answers[status]})
        links = {name: self._link(link) for name, link in told.links.items()}
        if links:
            responses[str(next(iter(told.answers)))]["links"] = links
        return responses

    def _response(self, status: int, says: str, content: Mapping[str, Shape], *, always_named: bool = True) -> Json:
        named = {"$ref": f"#/components/headers/{'' if always_named else 'Usual'}RequestId"}
        later = {"retry-after": {"$ref": "#/components/headers/RetryAfter"}} if status == _UNAVAILABLE else {}
        return {
            "description": says,
            "headers": {REQUEST_ID: named, **later},
            "content": {kind: {"schema": self._schema(shape)} for kind, shape in content.items()},
        }

    def _link(self, link: Link) -> Json:
        return {"operationId": self.names[link.route], "parameters": dict(link.variables)}

    def _schema(self, shape: Shape) -> Json:
        """Return the schema of a type; those that have a name go among the components, and are referred to."""
        if isinstance(shape, UnionType):
            return {"anyOf": [self._schema(one) for one in get_args(shape)]}
        made = TypeAdapter(shape).json_schema(ref_template=_REF, schema_generator=_Plain)
        named = made.pop("$defs", {})
        if isinstance(shape, type) and issubclass(shape, BaseModel):
            named[shape.__name__], made = made, {"$ref": _REF.format(model=shape.__name__)}
        for name, schema in named.items():
            del schema["title"]
            if self.schemas.setdefault(name, schema) != schema:
                raise ValueError(f"there are two shapes called {name}")
        return made


class _Plain(GenerateJsonSchema):
    """Without titles of fields, which say what their names say; and without defaults that only mean: left out."""

    def field_title_should_be_set(self, _schema: object) -> bool:
        """Leave it out."""
        return False

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Leave out a default of nothing."""
        made = super().default_schema(schema)
        return {name: value for name, value in made.items() if (name, value) != ("default", None)}


def _without_empty(told: Json) -> Json:
    return {name: value for name, value in told.items() if value}
