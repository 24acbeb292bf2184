"""A simulated stream: as many events as the load has, in batches within the batching window and the record limit."""

import pytest

from benchmarks.assumptions import BATCH_RECORDS, CALLS_AT_A_TIME
from benchmarks.traffic import HOURS_A_MONTH, StreamLoad, Traffic, call_waits, simulate
from quarterhour.aws.tables import BATCH_WRITE

MILLION = 1_000_000
FEW = Traffic(events=5 * MILLION, accounts=300)


@pytest.fixture(scope="module")
def load() -> StreamLoad:
    return simulate(FEW)


def test_a_month_has_the_events_of_the_load(load: StreamLoad) -> None:
    assert load.scaled_to_month(load.events) == pytest.approx(FEW.events)
    assert load.hours == pytest.approx(40_000 * HOURS_A_MONTH / FEW.events, rel=0.05)


def test_the_same_seed_gives_the_same_stream(load: StreamLoad) -> None:
    assert simulate.__wrapped__(FEW) == load != simulate(FEW, seed=1)


def test_an_event_of_many_accounts_is_nearly_always_an_account_batch(load: StreamLoad) -> None:
    assert 0.95 < sum(load.account_batches) / load.events < 1
    assert len(load.account_batches) == FEW.accounts


def test_a_batching_window_opens_with_its_first_record(load: StreamLoad) -> None:
    """So a batch is delivered after its batching window and the mean gap to the first record of the next."""
    gap = HOURS_A_MONTH * 3600 / FEW.events
    assert load.hours * 3600 / load.counter_batches == pytest.approx(FEW.batching_window + gap, rel=0.02)


def test_a_full_batch_does_not_wait_for_its_batching_window() -> None:
    busy = Traffic(events=1_000 * MILLION, accounts=10, batching_window=300)
    load = simulate(busy)
    assert load.events / load.counter_batches == pytest.approx(BATCH_RECORDS, rel=0.05)
    assert load.counter_batches * busy.accounts >= sum(load.account_batches)


def test_a_request_is_as_many_records_as_the_ledger_writes() -> None:
    in_items = simulate(
        Traffic(events=1_000 * MILLION, events_a_request=100, batching_window=300, records_a_request=100)
    )
    in_segments = simulate(
        Traffic(events=1_000 * MILLION, events_a_request=100, batching_window=300, records_a_request=1)
    )
    assert in_items.counter_batches > 5 * in_segments.counter_batches


def test_longer_batching_windows_and_fewer_accounts_make_fewer_account_batches(load: StreamLoad) -> None:
    assert sum(simulate(Traffic(batching_window=60)).account_batches) < sum(load.account_batches)
    assert sum(simulate(Traffic(accounts=10)).account_batches) < sum(load.account_batches)


def test_by_zipf_s_law_the_second_account_has_half_of_the_first_s_events() -> None:
    lopsided = Traffic(accounts=100, skew=1)
    first, second, *_, last = lopsided.shares()
    assert [second, last] == pytest.approx([first / 2, first / 100])
    assert sum(lopsided.shares()) == pytest.approx(1)
    batches = simulate(lopsided).account_batches
    assert batches[0] > batches[9] > batches[99] > 0


@pytest.mark.parametrize(
    ("accounts", "accounts_a_call", "expected"),
    [(1, BATCH_WRITE, 1), (200, BATCH_WRITE, 1), (201, BATCH_WRITE, 2), (1_000, BATCH_WRITE, 5), (8, 1, 1), (9, 1, 2)],
)
def test_a_function_waits_once_for_eight_calls(accounts: int, accounts_a_call: int, expected: int) -> None:
    assert call_waits(accounts, accounts_a_call) == expected


def test_counters_wait_once_for_a_batch_of_few_accounts(load: StreamLoad) -> None:
    assert load.counter_waits == load.counter_batches


def test_snapshots_wait_once_for_up_to_eight_accounts(load: StreamLoad) -> None:
    calls = sum(load.account_batches)
    assert calls / CALLS_AT_A_TIME < load.snapshot_waits < load.snapshot_batches + calls / CALLS_AT_A_TIME


def test_each_shard_of_the_entities_stream_is_delivered_by_itself(load: StreamLoad) -> None:
    assert 3 * load.counter_batches < load.snapshot_batches <= 4 * load.counter_batches


def test_an_account_has_events_in_most_quarter_hours_of_a_busy_month(load: StreamLoad) -> None:
    pairs = FEW.accounts * load.hours * 4
    assert 0.97 * pairs < load.quarter_hours <= 1.03 * pairs
