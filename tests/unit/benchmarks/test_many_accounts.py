"""How many postings are counted in Lambda, computed from what was measured."""

import pytest

from benchmarks.latency import CALL_SECONDS
from benchmarks.many_accounts import CORE, Batch, Speed


def speed(accounts: int, seconds: float, calls: int) -> Speed:
    return Speed(accounts, [Batch(seconds * 2, calls), Batch(seconds, calls)], [Batch(seconds * 4, calls)] * 2)


def test_a_batch_that_needs_the_processor_is_as_fast_as_its_share_of_a_core() -> None:
    one = speed(300, seconds=2, calls=0)
    assert one.a_cpu_second == 500
    assert one.in_lambda(CORE) == 500
    assert one.in_lambda(CORE // 4) == pytest.approx(125, rel=0.01)


def test_more_than_a_core_counts_no_more() -> None:
    assert speed(300, 2, 600).in_lambda(2 * CORE) == speed(300, 2, 600).in_lambda(CORE)


@pytest.mark.parametrize(("accounts", "at_a_time"), [(1, 1), (4, 4), (8, 8), (300, 8)])
def test_calls_that_wait_for_each_other_take_their_time(accounts: int, at_a_time: int) -> None:
    calls = 1_000
    assert speed(accounts, 0, calls).in_lambda(CORE) == pytest.approx(at_a_time / CALL_SECONDS)


def test_the_median_of_the_rounds_is_compared() -> None:
    assert speed(300, 1, 0).ratio == 3
