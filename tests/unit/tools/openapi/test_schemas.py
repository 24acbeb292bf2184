"""The schemas of the OpenAPI document, made of the types of requests and responses."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Generic, Literal, NotRequired, TypeVar

import pytest
from typing_extensions import TypedDict

from quarterhour.model.api import From, Name, Text, constrained, named, one_of
from quarterhour.web.api import Page
from quarterhour_tools.openapi.schemas import Schemas
from tests.support.cases import cases

T = TypeVar("T")


class Size(StrEnum):
    SMALL = "small"
    LARGE = "large"


class Thing(TypedDict):
    """A thing."""

    id: int
    """Its number."""
    note: NotRequired[str | None]


class Box(Thing, From):
    """A box of things."""

    size: Size
    """How large it is."""
    things: Sequence[Thing]


class Pair(Page[T], Generic[T]):
    first: T


class Boxes(Pair[Box]):
    """Boxes."""


@cases(
    ("shape", "schema"),
    [
        (str, {"type": "string"}),
        (Any, {}),
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal[False], {"type": "boolean", "const": False}),
        (Size, {"type": "string", "enum": ["small", "large"]}),
        (Annotated[str, one_of(Size)], {"type": "string", "enum": ["small", "large"]}),
        (list[float], {"type": "array", "items": {"type": "number"}}),
        (dict[str, Any], {"type": "object", "additionalProperties": True}),
        (
            Mapping[Size, bool],
            {
                "type": "object",
                "additionalProperties": {"type": "boolean"},
                "propertyNames": {"type": "string", "enum": ["small", "large"]},
            },
        ),
        (Annotated[int, constrained(minimum=1)], {"type": "integer", "minimum": 1}),
        (Annotated[Text, constrained(maxLength=9)], {"$ref": "#/components/schemas/Text", "maxLength": 9}),
    ],
)
def test_a_type_has_its_schema(shape: Any, schema: Any) -> None:
    assert Schemas().of(shape) == schema


def test_a_typed_dictionary_is_a_component_with_the_fields_and_descriptions_of_its_bases() -> None:
    schemas = Schemas()
    assert schemas.of(Box) == {"$ref": "#/components/schemas/Box"}
    box = schemas.components["Box"]
    assert box["description"] == "A box of things."
    assert box["required"] == ["id", "from", "size", "things"]
    assert box["properties"]["id"] == {"type": "integer", "description": "Its number."}
    assert box["properties"]["note"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}
    assert box["properties"]["from"] == {"$ref": "#/components/schemas/Instant"}
    assert box["properties"]["size"]["description"] == "How large it is."
    assert box["properties"]["things"] == {"type": "array", "items": {"$ref": "#/components/schemas/Thing"}}
    assert "additionalProperties" not in box


def test_a_generic_dictionary_is_named_after_its_argument_and_holds_it() -> None:
    schemas = Schemas()
    assert schemas.of(Page[Thing]) == {"$ref": "#/components/schemas/ThingPage"}
    assert schemas.components["ThingPage"]["properties"]["items"]["items"] == {"$ref": "#/components/schemas/Thing"}
    schemas.of(Boxes)
    properties = schemas.components["Boxes"]["properties"]
    assert properties["first"] == properties["items"]["items"] == {"$ref": "#/components/schemas/Box"}


def test_a_body_takes_no_other_fields() -> None:
    schemas = Schemas(closed=True)
    schemas.of(list[Thing])
    assert schemas.components["Thing"]["additionalProperties"] is False


def test_a_named_dictionary_may_take_other_fields() -> None:
    schemas = Schemas(closed=True)
    open_thing = Annotated[Thing, named("Open", "It takes more.", additionalProperties={"type": "string"})]
    assert schemas.of(open_thing) == {"$ref": "#/components/schemas/Open"}
    assert schemas.components["Open"]["additionalProperties"] == {"type": "string"}
    assert schemas.components["Open"]["description"] == "It takes more."


def test_two_different_schemas_of_one_name_are_refused() -> None:
    schemas = Schemas()
    schemas.of(Name)
    schemas.of(Name)
    with pytest.raises(ValueError, match="two different schemas are named Name"):
        schemas.of(Annotated[str, named("Name", "Another one.")])
    schemas.of(Thing)
    with pytest.raises(ValueError, match="two different schemas are named Thing"):
        Schemas(schemas.components, closed=True).of(Thing)
