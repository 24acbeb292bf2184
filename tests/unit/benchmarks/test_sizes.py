"""DynamoDB's sizing rules, on examples worked out by hand."""

from typing import Any

import pytest

from quarterhour_tools.emulator.dynamodb.sizes import Index, item_size, item_write_units, read_units, write_units
from tests.support.cases import cases

BY_GROUP = Index(("group", "pk"))


def text(value: str) -> dict[str, Any]:
    return {"S": value}


def of_size(size: int, **more: Any) -> dict[str, Any]:
    item: dict[str, Any] = {"pk": text("a"), **more}
    return {**item, "x": text("x" * (size - item_size(item) - 1))}


@cases(
    ("value", "size"),
    [
        ({"S": ""}, 0),
        ({"S": "abc"}, 3),
        ({"S": "ü€"}, 5),
        ({"B": b"12345"}, 5),
        ({"BOOL": False}, 1),
        ({"NULL": True}, 1),
        ({"N": "0"}, 1),
        ({"N": "7"}, 2),
        ({"N": "12"}, 2),
        ({"N": "123"}, 3),
        ({"N": "1200000"}, 2),
        ({"N": "0.0012"}, 2),
        ({"N": "12.34"}, 3),
        ({"N": "-12"}, 3),
        ({"N": "1234567890123456789012345678901234567"}, 20),
        ({"SS": ["a", "bc"]}, 3),
        ({"NS": ["1", "123"]}, 5),
        ({"BS": [b"1", b"23"]}, 3),
        ({"L": []}, 3),
        ({"L": [{"S": "ab"}, {"BOOL": True}]}, 3 + 3 + 2),
        ({"M": {}}, 3),
        ({"M": {"ab": {"S": "c"}, "d": {"L": []}}}, 3 + (1 + 2 + 1) + (1 + 1 + 3)),
    ],
)
def test_a_value_has_the_size_that_its_type_gives_it(value: dict[str, Any], size: int) -> None:
    assert item_size({"name": value}) == len("name") + size


def test_an_item_is_as_large_as_its_names_and_values() -> None:
    assert item_size({"pk": text("ACCOUNT#42#GBP"), "ü": {"N": "250"}}) == 2 + 14 + 2 + 2


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(ValueError, match="'X' is no type"):
        item_size({"a": {"X": "?"}})


@pytest.mark.parametrize(("size", "units"), [(0, 1), (1, 1), (1024, 1), (1025, 2), (3 * 1024, 3)])
def test_writes_are_rounded_up_to_1_kb(size: int, units: int) -> None:
    assert write_units(size) == units


@pytest.mark.parametrize(("size", "units"), [(0, 1), (4096, 1), (4097, 2), (250_000, 62)])
def test_reads_are_rounded_up_to_4_kb_and_cost_half_where_they_may_be_stale(size: int, units: int) -> None:
    assert read_units(size, consistent=True) == units
    assert read_units(size, consistent=False) == units / 2


@pytest.mark.parametrize(
    ("before", "after", "units"),
    [
        (None, 100, 1),
        (None, 2000, 2),
        (3000, 100, 3),
        (100, 3000, 3),
        (3000, None, 3),
        (None, None, 1),
    ],
)
def test_a_write_costs_the_larger_of_before_and_after(before: int | None, after: int | None, units: int) -> None:
    old, new = (None if size is None else of_size(size) for size in (before, after))
    assert item_write_units(old, new, []) == units


@pytest.mark.parametrize(
    ("before", "after", "units"),
    [
        (of_size(100), of_size(200), 0),
        (None, of_size(100, group=text("x")), 1),
        (None, of_size(2000, group=text("x")), 2),
        (of_size(100, group=text("x")), None, 1),
        (of_size(100, group=text("x")), of_size(100, group=text("x")), 0),
        (of_size(100, group=text("x")), of_size(2000, group=text("x")), 2),
        (of_size(3000, group=text("x")), of_size(2000, group=text("x")), 3),
        (of_size(100, group=text("x")), of_size(100, group=text("y")), 2),
        (of_size(3000, group=text("x")), of_size(100, group=text("y")), 4),
    ],
)
def test_an_index_costs_a_write_for_an_entry_that_changes_and_two_for_one_that_moves(
    before: dict[str, Any] | None, after: dict[str, Any] | None, units: int
) -> None:
    assert BY_GROUP.write_units(before, after) == units


def test_an_index_costs_nothing_where_only_what_it_does_not_hold_changes() -> None:
    keys_only = Index(("group",), frozenset({"pk", "group"}))
    before, after = of_size(100, group=text("x")), of_size(2000, group=text("x"))
    assert keys_only.write_units(before, after) == 0
    assert keys_only.write_units(None, after) == 1


def test_a_write_costs_its_table_and_each_of_its_indexes() -> None:
    before, after = of_size(1500, group=text("x")), of_size(1500, group=text("y"))
    assert item_write_units(before, after, [BY_GROUP, Index(("group",)), Index(("other",))]) == 2 + 4 + 4
