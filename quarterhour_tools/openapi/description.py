"""The description of a route: what its code does not show, but for its text and its examples, which are in files."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from quarterhour.web.routing import JSON
from quarterhour_tools.openapi.parameters import Parameter

Shape = Any
"""A type that becomes a JSON schema."""

BODY_PROBLEMS: Final = (413, 415)
"""The statuses of problems of a request with a body, besides those of every route."""


@dataclass(frozen=True, slots=True)
class Link:
    """A link from a response to a route; the values of the route's variables are OpenAPI expressions."""

    route: str
    variables: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Body:
    """A request body in a content type; ``write`` makes the content of the route's example such a body."""

    shape: Shape
    write: Callable[[Any], Any] = lambda content: content


@dataclass(frozen=True, slots=True)
class RouteDescription:
    """The description of a route.

    ``name``: the id of its operation, which names it in generated clients: the first part of its path, then the action.
    ``answers``: the types of its answers by status. ``problems``: the statuses of its problems, without those of every
    route. ``statuses``: the meaning of its statuses, if it is more specific than usual. ``bodies``: its request bodies
    by content type. ``parameters``: those with another meaning than elsewhere. ``links``: the links from its first
    answer, by name.
    """

    name: str
    answers: Mapping[int, Shape]
    problems: tuple[int, ...] = ()
    statuses: Mapping[int, str] = field(default_factory=dict)
    bodies: Mapping[str, Body] = field(default_factory=dict)
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    links: Mapping[str, Link] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Group:
    """The routes of a feature by method and path, in the order of the reference."""

    title: str
    routes: Mapping[str, RouteDescription]


def read(
    name: str, shape: Shape, *, missing: str = "", parameters: Mapping[str, Parameter] | None = None
) -> RouteDescription:
    """Return the description of a route that reads; ``missing`` is the meaning of its status 404, if it has one."""
    statuses = {404: missing} if missing else {}
    return RouteDescription(name, {200: shape}, tuple(statuses), statuses, parameters=parameters or {})


def json_body(shape: Shape) -> Mapping[str, Body]:
    """Return the bodies of a route that takes JSON."""
    return {JSON: Body(shape)}
