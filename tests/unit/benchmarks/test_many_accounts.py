"""How many postings are counted in Lambda, computed from what was measured."""

import pytest

from benchmarks.assumptions import BATCH_RECORDS, CALL_SECONDS, CORE_MEGABYTES
from benchmarks.many_accounts import BatchTime, Speed


def speed(accounts: int, seconds: float, calls: int) -> Speed:
    return Speed(accounts, [BatchTime(seconds * 2, calls), BatchTime(seconds, calls)])


def test_a_batch_that_needs_the_processor_is_as_fast_as_its_share_of_a_core() -> None:
    one = speed(300, seconds=2, calls=8)
    assert one.a_cpu_second == 500
    assert one.in_lambda(CORE_MEGABYTES) == 500
    assert one.in_lambda(CORE_MEGABYTES // 4) == pytest.approx(125, rel=0.01)


def test_more_than_a_core_counts_no_more() -> None:
    assert speed(300, 2, 600).in_lambda(2 * CORE_MEGABYTES) == speed(300, 2, 600).in_lambda(CORE_MEGABYTES)


@pytest.mark.parametrize(("calls", "at_a_time"), [(1, 1), (4, 4), (8, 8), (40, 8)])
def test_some_calls_wait_at_a_time(calls: int, at_a_time: int) -> None:
    seconds = calls * CALL_SECONDS / at_a_time
    assert speed(300, 0, calls).in_lambda(CORE_MEGABYTES) == pytest.approx(BATCH_RECORDS / seconds)
