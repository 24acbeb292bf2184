"""Makes the reference of the HTTP API from the OpenAPI document: the table of routes, and a section for each."""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from quarterhour.web.access import STAFF, Role
from quarterhour.web.routing import JSON
from quarterhour_tools.openapi.description import BODY_PROBLEMS
from quarterhour_tools.openapi.document import MEANINGS, PROBLEMS_OF_ALL, texts
from quarterhour_tools.openapi.layout import laid_out
from quarterhour_tools.openapi.routes import GROUPS
from quarterhour_tools.openapi.schemas import Json

_INTRODUCTION: Final = """\
# Reference of the HTTP API

[The HTTP API](api.md) says who may call, and what all routes have in common."""

_HEADING: Final = re.compile(r"^#+ (.+)$", re.MULTILINE)
_LINK: Final = re.compile(r"\]\((?!https?:)([\w-]+\.md)?(?:#([\w-]+))?\)")
_USUAL: Final = ("200", MEANINGS[200])
_OF_ALL: Final = frozenset(map(str, (*PROBLEMS_OF_ALL, *BODY_PROBLEMS)))


def page(document: Json, docs: str) -> str:
    """Return the reference as a page whose links lead to its own sections, or to the pages in the folder ``docs``."""
    text = "\n\n".join([_INTRODUCTION, *_Reference(document).parts()]) + "\n"
    own = set(map(_anchor, _HEADING.findall(text)))

    def leading(link: re.Match[str]) -> str:
        name, anchor = link.groups()
        if not name and anchor in own:
            return link[0]
        return f"]({docs}/{name or 'api.md'}{f'#{anchor}' if anchor else ''})"

    return _LINK.sub(leading, text)


class _Reference:
    """The reference of a document."""

    def __init__(self, document: Json) -> None:
        self._texts = texts()
        self._components: Json = document["components"]
        self._operations = {
            f"{method.upper()} {path}": operation
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
        }

    def parts(self) -> Iterator[str]:
        """Yield the paragraphs, tables and examples."""
        yield "## Routes"
        yield _table(("feature", "routes"), ((one.title, ", ".join(map(_link, one.routes))) for one in GROUPS))
        yield "These are the variables in the paths. A section names one again only if it means something else there."
        shared = [one for one in self._components["parameters"].values() if one["in"] == "path"]
        yield _table(("variable", "meaning"), self._parameters(shared))
        for group in GROUPS:
            yield f"## {group.title}"
            for route in group.routes:
                yield f"### `{route}`"
                yield from filter(None, self._section(route))

    def _section(self, route: str) -> Iterator[str]:
        operation = self._operations[route]
        yield f"{operation['summary']}\n**Callers:** {_callers(operation.get('x-roles', []), own='{agency}' in route)}."
        yield self._texts.get(route, "")
        yield _table(("parameter", "meaning"), self._parameters(_own(operation)))
        content = operation.get("requestBody", {}).get("content", {})
        if content.keys() == {JSON}:
            yield from self._body(content[JSON]["schema"])
        yield from self._examples(operation, content)
        yield _table(("status", "meaning"), self._statuses(operation))

    def _parameters(self, parameters: Iterable[Json]) -> Iterator[tuple[str, str]]:
        for one in map(self._resolved, parameters):
            if one["name"] == "limit":
                yield "`limit`, `next`", "The maximum of items, and the token of the [page](#pages)."
            elif one["name"] != "next":
                required = ", required" if one["required"] and one["in"] == "query" else ""
                yield (
                    f"`{one['name']}`{required}",
                    self._meaning({**one["schema"], "description": one["description"]}, lengths=False),
                )

    def _body(self, schema: Json) -> Iterator[str]:
        """Yield the table of a body's fields, and one for each form that a field can have."""
        yield _table(("field", "meaning"), self._fields(self._resolved(schema)))
        for name, one in self._resolved(schema)["properties"].items():
            for form in (forms := [self._resolved(form) for form in one.get("anyOf", [])]):
                if len(forms) > 1 and "properties" in form:
                    yield f"{form['description']} It has these fields in `{name}`:"
                    yield _table(("field", "meaning"), self._fields(form))

    def _fields(self, schema: Json, prefix: str = "") -> Iterator[tuple[str, str]]:
        for name, one in schema["properties"].items():
            required = ", required" if name in schema.get("required", []) else ""
            yield f"`{prefix}{name}`{required}", self._meaning(one)
            inner, suffix = self._value(one), "."
            if inner.get("type") == "array":
                inner, suffix = self._resolved(inner["items"]), "[]."
            if "properties" in inner:
                yield from self._fields(inner, f"{prefix}{name}{suffix}")

    def _meaning(self, schema: Json, *, lengths: bool = True) -> str:
        """Return what a value means and can be; ``lengths``: and how long it can be."""
        value = self._value(schema)
        meaning: str = value.get("description", "")
        if "enum" in value:
            values = ", ".join(f"`{one}`" for one in value["enum"])
            meaning = f"{meaning} One of {values}."
        if "maximum" in value:
            meaning += f" {value['minimum']} to {value['maximum']}."
        if lengths and "maxLength" in value:
            meaning += f" Up to {value['maxLength']:,} characters."
        if lengths and "maxItems" in value:
            meaning += f" Up to {value['maxItems']:,}."
        return meaning.strip()

    def _examples(self, operation: Json, content: Json) -> Iterator[str]:
        bodies: Json = next((media["examples"] for media in content.values()), {})
        for response in operation["responses"].values():
            for name, one in response.get("content", {}).get(JSON, {}).get("examples", {}).items():
                if "summary" in one:
                    yield f"{one['summary']}:"
                yield f"```http\n{one['x-request']}\n```"
                for value in (*([bodies[name]["value"]] if name in bodies else []), one["value"]):
                    yield f"```json\n{laid_out(value)}\n```"

    def _statuses(self, operation: Json) -> Iterator[tuple[str, str]]:
        """Yield the statuses with their meanings, but for those that mean the same on every route."""
        for status, response in operation["responses"].items():
            meaning = response.get("description") or self._resolved(response)["description"]
            if (status, meaning) != _USUAL and (status not in _OF_ALL or "description" in response):
                yield status, meaning

    def _resolved(self, schema: Json) -> Json:
        """Return the component to which a reference points; anything else as it is."""
        if "$ref" not in schema:
            return schema
        _, _, kind, name = schema["$ref"].split("/")
        component: Json = self._components[kind][name]
        return component

    def _value(self, schema: Json) -> Json:
        """Return the schema of a value that may also be null, together with the component to which it refers."""
        forms = [one for one in schema.get("anyOf", []) if one != {"type": "null"}]
        return {**self._resolved(forms[0] if len(forms) == 1 else schema), **schema}


def _callers(roles: list[str], *, own: bool) -> str:
    """Return who may call a route; ``own``: people of agencies may, if they are of the agency in its path."""
    if not roles:
        return "machines only"
    if set(roles) == set(Role) and not own:
        return "all"
    staff = ["staff"] if set(roles) >= STAFF else [role for role in roles if role in STAFF]
    people = ["people of the agency" if own else "people of agencies"] if Role.AGENCY in roles else []
    *first, last = ["machines", *staff, *people]
    return f"{', '.join(first)} and {last}"


def _own(operation: Json) -> list[Json]:
    """Return an operation's parameters without the variables of its path that mean the same everywhere."""
    return [one for one in operation.get("parameters", []) if "/path." not in one.get("$ref", "")]


def _link(route: str) -> str:
    return f"[`{route}`](#{_anchor(route)})"


def _anchor(heading: str) -> str:
    """Return the name of a heading, as links write it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _table(head: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> str:
    """Return a table of Markdown, or nothing if it has no rows."""
    lines = ["| " + " | ".join(str(cell).replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([f"| {' | '.join(head)} |", "|---" * len(head) + "|", *lines]) if lines else ""
