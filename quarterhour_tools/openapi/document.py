"""Builds the OpenAPI document from the functions' routes, the descriptions in ``routes``, texts and examples."""

import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from quarterhour import __version__
from quarterhour.web.api import GatewayMessage, Problem
from quarterhour.web.http import REQUEST_ID
from quarterhour.web.routing import JSON, Operation
from quarterhour_tools.emulator.loading import load
from quarterhour_tools.emulator.template import TEMPLATE, Function, Template
from quarterhour_tools.openapi.description import Link, RouteDescription, Shape
from quarterhour_tools.openapi.layout import laid_out
from quarterhour_tools.openapi.parameters import PATH, QUERY, Parameter
from quarterhour_tools.openapi.routes import ROUTES
from quarterhour_tools.openapi.schemas import Json, Schemas

PROBLEM: Final = "application/problem+json"

GENERATED_BY: Final = "make openapi"
"""What writes the document and the reference; nobody edits them."""
PUBLISHED: Final = "GET /openapi.json"
"""The route that publishes the document."""
EXAMPLES: Final = Path(__file__).with_name("examples")
"""The folder of the examples: JSON files with the examples of each route by their names."""
TEXTS: Final = Path(__file__).with_name("texts.md")
"""The page of the texts: what each route does, and why a retry of a write is safe, below the route as heading."""

_TEXT: Final = re.compile(r"^## `([^`]+)`$(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_VARIABLE: Final = re.compile(r"<(\w+)>")
_LINK: Final = re.compile(r"\[([^]]+)\]\((?!https:)[^)]+\)")
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
PROBLEMS_OF_ALL: Final = (400, 401, 403, 429, 503)
"""The statuses of problems that every route can return."""
_OF_THE_GATEWAY: Final = frozenset({401, 403, 413, 429, 503})
"""The statuses that API Gateway can return, in its own form, before it invokes a function."""
MEANINGS: Final[Mapping[int, str]] = {
    200: "The current state.",
    201: "Created; the new state.",
    202: "All events are recorded, by this request or an earlier one.",
    207: "Some events are recorded; each item has its own verdict.",
    409: "All events are conflicts.",
    422: "All events are rejected or conflicts.",
    503: "No event could be recorded: retry after `Retry-After` seconds.",
}
"""What the statuses of answers mean, if a route does not say it more precisely."""
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


def document(template: Template) -> Json:
    """Return the OpenAPI document of a template's HTTP API."""
    routes = {one.key: one for function in _functions(template) for one in _routes(function)}
    writer = _Writer(routes, examples(), texts())
    paths: dict[str, Json] = {}
    for key in sorted(routes, key=lambda key: key.partition(" ")[::-1]):
        method, _, path = key.partition(" ")
        paths.setdefault(path, {})[method.lower()] = writer.operation(routes[key])
    responses = {name: writer.problem(status) for status, (name, _) in _PROBLEMS.items()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Quarterhour",
            "version": __version__,
            "description": _DESCRIPTION,
            "x-generated-by": GENERATED_BY,
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(writer.schemas.components.items())),
            "parameters": dict(sorted(writer.parameters.items())),
            "responses": responses,
            "headers": _HEADERS,
            "securitySchemes": _SECURITY_SCHEMES,
        },
    }


def examples() -> Mapping[str, Json]:
    """Return the examples of each route: request, body, status and response, by their names."""
    files = (json.loads(file.read_text("utf-8")) for file in sorted(EXAMPLES.glob("*.json")))
    return {route: named for content in files for route, named in content.items()}


def texts() -> Mapping[str, str]:
    """Return the text of each route that has one, in Markdown."""
    return {route: written.strip() for route, written in _TEXT.findall(TEXTS.read_text("utf-8"))}


def text(document: Json) -> str:
    """Return the document as published JSON."""
    return laid_out(document) + "\n"


def printed() -> str:
    """Return the published JSON of this project's template."""
    return text(document(Template.load(TEMPLATE)))


def file(template: Template) -> Path:
    """Return the file of the published document, next to the code of the function that serves it."""
    serving = (one for one in _functions(template) if any(route.key == PUBLISHED for route in _routes(one)))
    return next(serving).code / "openapi.json"


def _functions(template: Template) -> Iterable[Function]:
    return template.functions(lambda resource, name: f"{resource}-{name}").values()


# ---------------------------------------------------------------- the routes


@dataclass(frozen=True, slots=True)
class _Route:
    """A route of a function."""

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
    module = load(function, f"openapi.{function.name}", kept=True)
    if hasattr(module, "routes"):
        for operation in module.routes.operations:
            yield _Route(operation)
    else:
        (only,) = function.routes
        yield _Route(Operation(only.method, only.path, module.allow, (), module.handler))


# ---------------------------------------------------------------- the parts of the document


@dataclass(slots=True)
class _Writer:
    """Builds the parts of the document, and collects the named schemas and the parameters that routes share."""

    routes: Mapping[str, _Route]
    examples: Mapping[str, Json]
    texts: Mapping[str, str]
    schemas: Schemas = field(default_factory=Schemas)
    parameters: Json = field(default_factory=dict)

    def operation(self, route: _Route) -> Json:
        """Return the operation object of a route."""
        operation, description = route.operation, route.description
        return _without_empty(
            {
                "operationId": description.name,
                "tags": [operation.rule.split("/")[1]],
                "summary": str(inspect.getdoc(operation.handler)).partition("\n\n")[0],
                "description": _LINK.sub(r"\1", self.texts.get(route.key, "")),
                "security": [{_SIGNED: []}, *([{_TOKEN: []}] if operation.allow.roles else [])],
                "x-roles": sorted(operation.allow.roles),
                "parameters": [self._parameter(*one) for one in route.parameters()],
                "requestBody": self._body(route),
                "responses": self._responses(route),
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
        written = {
            "name": name,
            "in": place,
            "required": parameter.required,
            "description": parameter.description,
            "schema": self.schemas.of(parameter.shape),
            **example,
        }
        usual = PATH[name].as_required if place == "path" else QUERY.get(name)
        if parameter != usual:
            return written
        shared = f"{place}.{name}"
        self.parameters[shared] = written
        return {"$ref": f"#/components/parameters/{shared}"}

    def _body(self, route: _Route) -> Json:
        sent = {name: one["body"] for name, one in self._examples(route).items()} if route.description.bodies else {}
        content = {
            kind: {
                "schema": Schemas(self.schemas.components, closed=True).of(body.shape),
                "examples": {name: {"value": body.write(one)} for name, one in sent.items()},
            }
            for kind, body in route.description.bodies.items()
        }
        return {"required": True, "content": content} if content else {}

    def _responses(self, route: _Route) -> Json:
        description = route.description
        responses: Json = {}
        for status in sorted({*description.answers, *description.problems, *PROBLEMS_OF_ALL}):
            meaning = description.statuses.get(status)
            if status not in description.answers:
                responses[str(status)] = _without_empty(
                    {"$ref": f"#/components/responses/{_PROBLEMS[status][0]}", "description": meaning}
                )
            elif status in PROBLEMS_OF_ALL:  # an answer in addition to the problem
                content = {PROBLEM: Problem, JSON: description.answers[status] | GatewayMessage}
                responses[str(status)] = self._response(
                    status, meaning or MEANINGS[status], content, always_named=False
                )
            else:
                content = {JSON: description.answers[status]}
                responses[str(status)] = self._response(status, meaning or MEANINGS[status], content)
        for name, one in self._examples(route).items():
            shown = {"summary": one.get("summary"), "x-request": one["request"], "value": one["response"]}
            media = responses[str(one["status"])]["content"][JSON]
            media.setdefault("examples", {})[name] = _without_empty(shown)
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
            "content": {kind: {"schema": self.schemas.of(shape)} for kind, shape in content.items()},
        }

    def _examples(self, route: _Route) -> Mapping[str, Json]:
        """Return the examples of a route by name; only the route of the document itself has none."""
        return self.examples[route.key] if route.key != PUBLISHED else {}

    def _link(self, link: Link) -> Json:
        return {"operationId": self.routes[link.route].description.name, "parameters": dict(link.variables)}


def _without_empty(content: Json) -> Json:
    return {name: value for name, value in content.items() if value}
