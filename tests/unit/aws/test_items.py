"""Items are built and read as boto3 does it, and what no table holds is refused."""

from collections.abc import Mapping
from decimal import Decimal, DecimalException, Inexact, Overflow, Rounded, Underflow
from types import MappingProxyType
from typing import Any

import pytest
from boto3.dynamodb.types import Binary, TypeDeserializer, TypeSerializer
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.aws.items import from_item, to_item

NUMBERS = st.integers(-(10**38) + 1, 10**38 - 1) | st.decimals(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(max_size=8),
    lambda values: (
        st.lists(values, max_size=3)
        | st.lists(values, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=4), values, max_size=3)
    ),
    max_leaves=8,
)


def by_boto3(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the item that boto3 makes of plain values, without the names whose value is ``None``."""
    return {name: TypeSerializer().serialize(value) for name, value in values.items() if value is not None}


def read_by_boto3(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return the plain values that boto3 reads from an item."""
    return {name: TypeDeserializer().deserialize(attribute) for name, attribute in item.items()}


def exact(values: object) -> str:
    """Return a text that tells types and digits apart: ``1``, ``True`` and ``Decimal("1.0")`` are equal otherwise."""
    return repr(values)


@given(st.dictionaries(st.text(max_size=4), VALUES, max_size=4))
def test_items_are_those_of_boto3_and_so_are_the_values_read_back(values: dict[str, Any]) -> None:
    try:
        expected = by_boto3(values)
    except DecimalException as error:
        # boto3 refuses zeros with an exponent beyond the range, too; as a zero they are no loss.
        if isinstance(error, (Inexact, Overflow, Rounded, Underflow)):
            with pytest.raises(type(error)):
                to_item(values)
        return
    item = to_item(values)
    assert exact(item) == exact(expected)
    assert exact(from_item(item)) == exact(read_by_boto3(item))


@pytest.mark.parametrize(
    "number",
    [
        Decimal("9" * 38),
        Decimal("-0." + "9" * 38),
        Decimal("9.9999999999999999999999999999999999999E+126"),
        Decimal("1E-128"),
        Decimal("1E-165"),
        Decimal("-0.0"),
        10**38 - 1,
        0,
    ],
)
def test_the_outermost_numbers_are_written_and_read_whole(number: Decimal | int) -> None:
    item = to_item({"n": number})
    assert item == by_boto3({"n": number})
    assert exact(from_item(item)["n"]) == exact(Decimal(number))


@pytest.mark.parametrize(
    ("number", "error"),
    [
        (10**38 + 1, Inexact),
        (10**38 * 10, Rounded),
        (Decimal("1E+127"), Overflow),
        (Decimal("1.5E-165"), Underflow),
        (Decimal("0." + "1" * 39), Inexact),
    ],
)
def test_a_number_that_would_be_rounded_is_refused_as_boto3_refuses_it(
    number: Decimal | int, error: type[DecimalException]
) -> None:
    for build in (by_boto3, to_item):
        with pytest.raises(error):
            build({"n": number})
    with pytest.raises(error):
        from_item({"n": {"N": str(number)}})


@pytest.mark.parametrize("text", ["NaN", "sNaN", "Infinity", "-Infinity"])
def test_what_is_no_finite_number_is_refused(text: str) -> None:
    with pytest.raises(TypeError, match=f"^{text} is not a DynamoDB number$"):
        to_item({"n": Decimal(text)})


def test_a_text_that_is_no_number_is_refused_where_a_number_is_read() -> None:
    with pytest.raises(DecimalException):
        from_item({"n": {"N": "twelve"}})


@pytest.mark.parametrize("nested", [False, True])
def test_a_float_is_refused_as_boto3_refuses_it(nested: bool) -> None:  # noqa: FBT001 - a table's column
    values = {"n": [{"deep": 1.5}] if nested else 1.5}
    for build in (by_boto3, to_item):
        with pytest.raises(TypeError):
            build(values)
    with pytest.raises(TypeError, match=r"^an item cannot hold a float$"):
        to_item(values)


@pytest.mark.parametrize("value", [{"a"}, frozenset({1}), {b"a"}, b"a", bytearray(b"a"), Binary(b"a")])
def test_bytes_and_sets_which_no_table_of_ours_holds_are_refused_both_ways(value: Any) -> None:
    written = by_boto3({"v": value})
    with pytest.raises(TypeError, match=f"^an item cannot hold a {type(value).__name__}$"):
        to_item({"v": value})
    ((kind, _),) = written["v"].items()
    with pytest.raises(TypeError, match=f"^attributes of type {kind} are not supported$"):
        from_item(written)
    with pytest.raises(TypeError, match=f"^attributes of type {kind} are not supported$"):
        from_item({"deep": {"M": {"list": {"L": [written["v"]]}}}})


def test_none_is_left_out_at_the_top_alone() -> None:
    values = {"gone": None, "map": {"kept": None}, "list": [None]}
    assert to_item(values) == {"map": {"M": {"kept": {"NULL": True}}}, "list": {"L": [{"NULL": True}]}}
    assert from_item(to_item(values)) == {"map": {"kept": None}, "list": [None]}


def test_any_mapping_is_a_map() -> None:
    assert to_item({"m": MappingProxyType({"a": 1})}) == {"m": {"M": {"a": {"N": "1"}}}}
