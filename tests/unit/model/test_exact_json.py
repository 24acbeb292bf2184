"""Lossless JSON."""

import json
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.model import exact_json
from quarterhour.model.texts import one_form
from tests.support.cases import cases

TEXTS = st.text().map(one_form)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=20,
)

texts = st.recursive(
    st.none() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)


@pytest.mark.parametrize(
    "number", ["0.1", "12.50", "1E+400", "-0.0", "123456789012345678901234567890.123456789", "1" * 5000]
)
def test_a_number_is_parsed_digit_for_digit(number: str) -> None:
    assert exact_json.parse(number).as_tuple() == Decimal(number).as_tuple()


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e99999999999999999999"])
def test_a_number_beyond_the_range_of_decimals_becomes_nan(number: str) -> None:
    assert exact_json.parse(f'{{"amount": {number}}}')["amount"].is_nan()


@cases(
    ("text", "problem"),
    [
        ("", "Expecting value"),
        ("{", "Expecting property name"),
        ("{'a': 1}", "Expecting property name"),
        ('{"a": 1} {"b": 2}', "Extra data"),
        ('{"a": 1, "b": 2, "a": 1}', "'a' appears twice"),
        ('[{"x": {"deep": 1, "deep": 2}}]', "'deep' appears twice"),
        (f'{{"{"k" * 100}": 1, "{"k" * 100}": 2}}', f"'{'k' * 60}' appears twice"),
        ("[" * 200_000, "nested too deeply"),
        ('{"a":' * 200_000, "nested too deeply"),
        ('"\x00"', "Invalid control character"),
    ],
)
def test_invalid_json_and_repeated_keys_are_refused(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        exact_json.parse(text)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b'{"closing": "1", "closing": "2"}', "'closing' appears twice"),
        (b'{"tax": {"a": 1, "\\u0061": 1}}', "'a' appears twice"),
        (b'{"lines": 1.0}', "1.0 is not a whole number"),
        (b'{"lines": 1e2}', "1e2 is not a whole number"),
        (b'{"lines": NaN}', "NaN is not a whole number"),
        (b"[" * 200_000, "nested too deeply"),
        (b"\xff", "invalid start byte"),
    ],
)
def test_a_sealed_file_that_two_readers_may_read_differently_is_refused(text: bytes, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        exact_json.parse_sealed(text)


def test_the_numbers_of_a_sealed_file_are_whole() -> None:
    lines = exact_json.parse_sealed(b'{"lines": 11}')["lines"]
    assert (lines, type(lines)) == (11, int)


@given(json_values)
def test_a_value_is_parsed_back_from_its_canonical_text(value: object) -> None:
    text = exact_json.canonical(value)
    assert json.loads(text) == value
    assert text.isascii()
    assert exact_json.canonical(exact_json.parse(text)) == text


@given(json_values, st.integers(0, 4))
def test_the_canonical_text_does_not_depend_on_blanks_or_escapes(value: object, indent: int) -> None:
    for text in (json.dumps(value, indent=indent), json.dumps(value, ensure_ascii=False)):
        assert exact_json.canonical(exact_json.parse(text)) == exact_json.canonical(exact_json.parse(json.dumps(value)))


@given(st.dictionaries(TEXTS, st.integers()))
def test_the_canonical_text_does_not_depend_on_the_order_of_keys(value: dict[str, int]) -> None:
    reordered = dict(reversed(value.items()))
    assert exact_json.canonical(reordered) == exact_json.canonical(value)


@pytest.mark.parametrize(("one", "other"), [("1", "1.0"), ("1", '"1"'), ("null", '""'), ("[]", "{}"), ("0", "false")])
def test_different_values_have_different_canonical_texts(one: str, other: str) -> None:
    assert exact_json.canonical(exact_json.parse(one)) != exact_json.canonical(exact_json.parse(other))


def test_the_canonical_text_holds_exact_numbers_and_no_blanks() -> None:
    text = '{ "b" : [ 1.50 , true , null ], "a" : "\u00e9" }'
    assert exact_json.canonical(exact_json.parse(text)) == '{"a":"\\u00e9","b":[1.50,true,null]}'


@pytest.mark.parametrize("value", [exact_json.NOT_A_NUMBER, {"a": [exact_json.NOT_A_NUMBER]}, Decimal("Infinity")])
def test_nan_and_infinity_have_no_canonical_text(value: object) -> None:
    with pytest.raises(ValueError, match="holds a number that is not finite"):
        exact_json.canonical(value)


def test_a_value_that_nests_too_deeply_has_no_canonical_text() -> None:
    deep: list[object] = []
    for _ in range(32):
        deep = [deep]
    assert exact_json.canonical(deep) == "[" * 33 + "]" * 33
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ValueError, match="nested too deeply"):
        exact_json.canonical(deep)


@given(texts)
def test_texts_have_the_same_canonical_text_by_the_fast_way(value: object) -> None:
    assert exact_json.canonical_texts(value) == exact_json.canonical(value)
