"""JSON schemas of the types of requests and responses: typed dictionaries, and values with constraints."""

import ast
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache
from itertools import pairwise
from textwrap import dedent
from types import UnionType
from typing import Annotated, Any, Final, Literal, NamedTuple, NotRequired, TypeVar, Union, get_args, get_origin

from typing_extensions import is_typeddict

from quarterhour.model.api import Schema

Json = dict[str, Any]

_REF: Final = "#/components/schemas/{name}"
_TYPES: Final[Mapping[type, str]] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


class _Field(NamedTuple):
    """A field of a typed dictionary."""

    shape: Any
    required: bool
    description: str

    def with_arguments(self, arguments: Mapping[Any, Any]) -> "_Field":
        """Return the field of a generic dictionary with arguments in place of its variables."""
        if isinstance(self.shape, TypeVar):
            return self._replace(shape=arguments[self.shape])
        variables = getattr(self.shape, "__parameters__", ())
        return self._replace(shape=self.shape[tuple(arguments[one] for one in variables)]) if variables else self


@dataclass(frozen=True, slots=True)
class Schemas:
    """Makes the schemas of types, and collects those that have a name.

    ``closed``: objects have no fields but their own.
    """

    components: dict[str, Json] = field(default_factory=dict)
    closed: bool = False

    def of(self, shape: Any) -> Json:  # noqa: ANN401 - any type
        """Return the schema of a type; it refers to schemas with a name, which become components."""
        kind, arguments = get_origin(shape) or shape, get_args(shape)
        if is_typeddict(kind):
            made = self._component(_name(shape), self._object(shape))
        elif kind is Annotated:
            made = self._annotated(*arguments)
        elif kind in {Union, UnionType}:
            made = {"anyOf": [self.of(one) for one in arguments]}
        elif kind is Literal:
            made = _one_of(arguments)
        elif kind in {list, Sequence}:
            made = {"type": "array", "items": self.of(*arguments)}
        elif kind in {dict, Mapping}:
            made = self._mapping(*arguments)
        elif issubclass(kind, Enum):
            made = _one_of([one.value for one in kind])
        else:
            made = {} if kind is Any else {"type": _TYPES[kind]}
        return made

    def _annotated(self, base: Any, *metadata: Schema) -> Json:  # noqa: ANN401 - any type
        is_named = any(one.name for one in metadata)
        made = self._object(base) if is_typeddict(base) and is_named else self.of(base)
        for one in metadata:
            made = {**made, **one.keywords}
            if one.name:
                made = self._component(one.name, made)
        return made

    def _mapping(self, name: Any, value: Any) -> Json:  # noqa: ANN401 - any type
        made: Json = {"type": "object", "additionalProperties": self.of(value) or True}
        return made if name is str else {**made, "propertyNames": self.of(name)}

    def _object(self, shape: Any) -> Json:  # noqa: ANN401 - any type
        fields = _fields(shape)
        made = {
            "description": inspect.cleandoc((get_origin(shape) or shape).__doc__ or ""),
            "type": "object",
            "properties": {name: _described(self.of(one.shape), one.description) for name, one in fields.items()},
            "required": [name for name, one in fields.items() if one.required],
        }
        closed = {"additionalProperties": False} if self.closed else {}
        return {name: value for name, value in made.items() if value} | closed

    def _component(self, name: str, schema: Json) -> Json:
        if self.components.setdefault(name, schema) != schema:
            raise ValueError(f"two different schemas are named {name}")
        return {"$ref": _REF.format(name=name)}


def _described(schema: Json, description: str) -> Json:
    return {**schema, "description": description} if description else schema


def _name(shape: Any) -> str:  # noqa: ANN401 - any type
    """Return the name of a typed dictionary; a generic one of another is named after both: ``OrderPage``."""
    others = [one.__name__ for one in get_args(shape) if is_typeddict(one)]
    return "".join([*others, (get_origin(shape) or shape).__name__])


def _one_of(values: Sequence[Any]) -> Json:
    (type_,) = {_TYPES[type(one)] for one in values}
    return {"type": type_, **({"enum": list(values)} if len(values) > 1 else {"const": values[0]})}


def _fields(shape: Any) -> dict[str, _Field]:  # noqa: ANN401 - any type
    """Return the fields of a typed dictionary by their names, those of its bases first."""
    kind = get_origin(shape) or shape
    bases = [base for base in kind.__orig_bases__ if is_typeddict(get_origin(base) or base)]
    fields = {name: one for base in bases for name, one in _fields(base).items()}
    descriptions = _field_descriptions(kind)
    for name, annotation in kind.__annotations__.items():
        if name not in fields:
            (value,) = get_args(annotation) if get_origin(annotation) is NotRequired else (annotation,)
            fields[name] = _Field(value, name in kind.__required_keys__, descriptions.get(name, ""))
    arguments = dict(zip(getattr(kind, "__parameters__", ()), get_args(shape), strict=True))
    return {name: one.with_arguments(arguments) for name, one in fields.items()}


@cache
def _field_descriptions(kind: type) -> Mapping[str, str]:
    """Return the strings below the fields in the source of a class; one made by a call has none."""
    try:
        definition = ast.parse(dedent(inspect.getsource(kind))).body[0]
    except OSError:
        return {}
    found = {}
    for before, after in pairwise(definition.body if isinstance(definition, ast.ClassDef) else []):
        match before, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = inspect.cleandoc(text)
    return found
