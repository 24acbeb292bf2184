"""The envelope of a CloudEvent: its extension attributes, its data schema, and its data in any form."""

import json
from base64 import b64encode
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.ledger.events.cloud_event import MAX_ATTRIBUTES_BYTES
from quarterhour.ledger.events.event import Event, Rejection, read_event
from quarterhour.model import exact_json
from quarterhour.model.fields import MAX_PROBLEMS
from tests.support.builders import sale
from tests.support.cases import cases
from tests.support.events import ABSENT

NAMES = "1 to 200 of the letters a to z and the digits 0 to 9; put your own into data.extra"
VALUES = "a text without control characters, a boolean, or a whole number from -2147483648 to 2147483647"
URI = "an absolute URI such as https://shop.example/schemas/sale"
OBJECT = "an object with amount and currency"


def kept(**attributes: object) -> dict[str, Any]:
    """Return the attributes that the ledger keeps of a sale with these."""
    read = read_event(sale(**attributes))
    assert isinstance(read, Event), read
    found: dict[str, Any] = json.loads(read.attributes or "{}")
    return found


def problems(item: object) -> list[tuple[str, str, str]]:
    found = read_event(item)
    assert isinstance(found, Rejection), found
    return [(one.field, one.problem, one.expected) for one in found.problems]


def in_base64(data: object) -> str:
    return b64encode(data if isinstance(data, bytes) else json.dumps(data).encode()).decode()


# ---------------------------------------------------------------- attributes


@cases(
    ("name", "sent", "stored"),
    [
        ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", None),
        ("sampledrate", Decimal(30), 30),
        ("least", Decimal(-(2**31)), -(2**31)),
        ("most", Decimal(2**31 - 1), 2**31 - 1),
        ("urgent", True, None),
        ("urgent", False, None),
        ("empty", "", None),
        ("0", "a name may begin with a digit", None),
        ("x" * 200, "a long name", None),
        ("words", "Zoë\u00a0\u2028 \U0001f6d2", None),
        ("payload", in_base64(b"\x00\xff"), None),
        ("dataschema", "https://shop.example/schemas/sale?v=1#/lines", None),
        ("dataschema", "urn:example:sale%20v1", None),
    ],
)
def test_an_attribute_is_kept_as_it_was_sent(name: str, sent: object, stored: object) -> None:
    assert kept(**{name: sent}) == {name: sent if stored is None else stored}


def test_attributes_are_kept_in_one_canonical_json_object() -> None:
    read = read_event(sale(tracestate="b=2", dataschema="urn:x:y", rank=Decimal(1), gone=None))
    assert isinstance(read, Event)
    assert read.attributes == '{"dataschema":"urn:x:y","rank":1,"tracestate":"b=2"}'


@pytest.mark.parametrize("nothing", [{}, {"traceparent": None}, {"dataschema": None}, {"datacontenttype": "text/json"}])
def test_an_event_without_further_attributes_keeps_none(nothing: dict[str, object]) -> None:
    read = read_event(sale(**nothing))
    assert isinstance(read, Event)
    assert read.attributes is None


LONG = ("x" * 201, "x" * 60 + "... (201 characters)")


@pytest.mark.parametrize(
    ("name", "shown"),
    [*((name, name) for name in ("Trace", "trace-parent", "trace_parent", "", " ", "a b")), ("ü", "\\xfc"), LONG],
)
def test_a_name_has_lower_case_letters_and_digits_alone(name: str, shown: str) -> None:
    assert problems(sale(**{name: "x"})) == [(shown, "is not an attribute name", NAMES)]


@cases(
    "name",
    ["amount", "currency", "commission", "customer", "product", "quantity", "line", "location", "category", "reason"],
)
def test_a_field_of_the_data_beside_it_is_not_taken_for_an_attribute(name: str) -> None:
    assert problems(sale(**{name: "1"})) == [(name, "is a field of data", f"data.{name}")]


@cases(
    ("value", "shown"),
    [
        (Decimal("1.5"), "1.5"),
        (Decimal("1.0"), "1.0"),
        (Decimal("1E+1"), "1E+1"),
        (Decimal(2**31), "2147483648"),
        (Decimal(-(2**31) - 1), "-2147483649"),
        (exact_json.NOT_A_NUMBER, "not a finite number"),
        ({"a": 1}, "an object of 1"),
        (["a"], "a list of 1"),
        ("a\nb", "'a\\nb'"),
        ("\x7f", "'\\x7f'"),
        ("\x85", "'\\x85'"),
        ("\ud800", "'\\ud800'"),
        ("\ufdd0", "'\\ufdd0'"),
        ("\U0001ffff", "'\\U0001ffff'"),
    ],
)
def test_a_value_is_a_text_a_boolean_or_a_whole_number(value: object, shown: str) -> None:
    assert problems(sale(traceparent=value)) == [("traceparent", f"is {shown}", VALUES)]


@pytest.mark.parametrize(
    "uri", ["", "sale", "/schemas/sale", "https:", "https://shop.example/a b", "x:%2", "ä:b", "1:b"]
)
def test_a_data_schema_is_an_absolute_uri(uri: str) -> None:
    assert problems(sale(dataschema=uri)) == [("dataschema", f"is {uri!a}", URI)]


def test_attributes_have_at_most_4096_bytes_together() -> None:
    room = MAX_ATTRIBUTES_BYTES - len('{"a":"","b":"x"}')
    assert len(kept(a="x" * room, b="x")["a"]) == room
    ((field, problem, expected),) = problems(sale(a="x" * room, b="xx"))
    assert (field, problem) == ("attributes", "has 4097 bytes as JSON")
    assert expected == "at most 4096 bytes of dataschema and extension attributes"


@given(st.dictionaries(st.text("az09", min_size=1), st.booleans() | st.text() | st.integers(-99, 99).map(Decimal)))
def test_attributes_read_back_as_they_were_sent(attributes: dict[str, Any]) -> None:
    read = read_event(sale(**attributes))
    if isinstance(read, Event):
        assert exact_json.parse(read.attributes or "{}") == attributes
    else:
        shown = read.problems[:MAX_PROBLEMS]  # one more says how many are left out
        assert {problem.field for problem in shown} <= {*attributes, "attributes"}


# ---------------------------------------------------------------- data


@pytest.mark.parametrize("kind", ["application/vnd.shop+json", "text/json", "Application/JSON ;charset=utf-8"])
def test_the_data_may_have_any_type_of_json(kind: str) -> None:
    assert read_event(sale(datacontenttype=kind)) == read_event(sale())


@cases(
    "kind",
    [
        *("", "json", "application/xml", "application/jsonp", "application/json+xml", "a/b/json", 5),
        *(f"application/json{blank}" for blank in ("\n", "\r", "\t", "\x00", "\x85", "\u00a0", "\u2028", ";\n")),
        *("\napplication/json", "application\n/json", "application/json;charset=utf-8\n", "application/j\u017fon"),
    ],
)
def test_data_of_another_type_is_rejected(kind: object) -> None:
    ((field, _, expected),) = problems(sale(datacontenttype=kind))
    assert field == "datacontenttype"
    assert expected.startswith('"application/json", or another type of JSON')


def test_data_in_base64_is_the_same_data() -> None:
    encoded = in_base64(sale()["data"])
    assert read_event(sale(data=ABSENT, data_base64=encoded)) == read_event(sale())
    assert read_event(sale(data=None, data_base64=encoded)) == read_event(sale())


BAD_DATA: dict[str, tuple[object, str]] = {
    "no Base64": ("{}", "is not JSON in Base64"),
    "Base64 with a line break": (in_base64({"a": 1}) + "\n", "is not JSON in Base64"),
    "no JSON": (in_base64(b"amount=1"), "is not JSON in Base64"),
    "not UTF-8": (in_base64(b"\xff"), "is not JSON in Base64"),
    "nested too deeply": (in_base64(b"[" * 100_000), "is not JSON in Base64"),
    "a list": (in_base64([1]), "is not an object"),
    "a number": (Decimal(5), "is 5"),
}


@pytest.mark.parametrize(("encoded", "problem"), BAD_DATA.values(), ids=BAD_DATA)
def test_data_in_base64_that_is_no_object_is_rejected(encoded: object, problem: str) -> None:
    ((field, found, _),) = problems(sale(data=ABSENT, data_base64=encoded))
    assert field == "data_base64"
    assert found.startswith(problem)


def test_data_is_given_once() -> None:
    assert problems(sale(data_base64=in_base64(sale()["data"]))) == [
        ("data_base64", "is given with data", "one of them")
    ]


def test_a_problem_of_data_in_base64_names_the_field_in_the_data() -> None:
    encoded = in_base64({**sale()["data"], "amount": "twelve"})
    assert [field for field, _, _ in problems(sale(data=ABSENT, data_base64=encoded))] == ["data.amount"]
