"""How many calls have to wait for each other, counted while they are made one by one."""

import pytest

from benchmarks.latency import InTurn, Row


@pytest.fixture
def row() -> Row:
    InTurn.row = Row()
    return InTurn.row


def call(row: Row, length: int = 1) -> int:
    row.length += length
    return length


@pytest.mark.parametrize(("workers", "in_a_row"), [(1, 7), (3, 3), (7, 1), (32, 1)])
def test_calls_wait_only_where_no_worker_is_free(row: Row, workers: int, in_a_row: int) -> None:
    assert InTurn(workers).map(lambda _: call(row), range(7)) == [1] * 7
    assert row.length == in_a_row


def test_a_call_begins_when_the_first_worker_is_free(row: Row) -> None:
    InTurn(2).map(lambda length: call(row, length), [3, 1, 1, 1])
    assert row.length == 3


def test_a_row_goes_on_behind_the_calls_before(row: Row) -> None:
    call(row)
    InTurn(8).map(lambda _: call(row), range(8))
    InTurn(8).map(lambda _: call(row), [])
    call(row)
    assert row.length == 3


def test_a_call_that_was_started_is_waited_for_where_its_result_is_used(row: Row) -> None:
    result = InTurn(8).start(lambda: call(row, 3))
    call(row)
    assert row.length == 1
    assert result() == 3
    assert row.length == 3
    call(row, 2)
    assert result() == 3
    assert row.length == 5
