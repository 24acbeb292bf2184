"""A simulated stream: as many events as the load has, in batches that no window or record limit is broken by."""

import pytest

from benchmarks.assumptions import BATCH_RECORDS, CALLS_AT_A_TIME
from benchmarks.traffic import HOURS_A_MONTH, Load, Traffic, simulate

MILLION = 1_000_000
FEW = Traffic(events=5 * MILLION, accounts=300)


@pytest.fixture(scope="module")
def load() -> Load:
    return simulate(FEW)


def test_a_month_has_the_events_of_the_load(load: Load) -> None:
    assert load.a_month(load.events) == pytest.approx(FEW.events)
    assert load.hours == pytest.approx(40_000 * HOURS_A_MONTH / FEW.events, rel=0.05)


def test_the_same_seed_gives_the_same_stream(load: Load) -> None:
    assert simulate(FEW) == load != simulate(FEW, seed=1)


def test_an_event_of_many_accounts_is_nearly_always_a_group_of_its_own(load: Load) -> None:
    assert 0.95 < sum(load.groups) / load.events < 1
    assert len(load.groups) == FEW.accounts


def test_a_window_opens_with_its_first_record(load: Load) -> None:
    """So a batch is delivered after its window and the mean gap to the first record of the next."""
    gap = HOURS_A_MONTH * 3600 / FEW.events
    assert load.hours * 3600 / load.batches == pytest.approx(FEW.window + gap, rel=0.02)


def test_a_full_batch_does_not_wait_for_its_window() -> None:
    busy = Traffic(events=1_000 * MILLION, accounts=10, window=300)
    load = simulate(busy)
    assert load.events / load.batches == pytest.approx(BATCH_RECORDS, rel=0.05)
    assert load.batches * busy.accounts >= sum(load.groups)


def test_a_request_is_as_many_records_as_the_ledger_writes() -> None:
    in_items = simulate(Traffic(events=1_000 * MILLION, batch=100, window=300, records=100))
    in_segments = simulate(Traffic(events=1_000 * MILLION, batch=100, window=300, records=1))
    assert in_items.batches > 5 * in_segments.batches


def test_longer_windows_and_fewer_accounts_make_fewer_groups(load: Load) -> None:
    assert sum(simulate(Traffic(window=60)).groups) < sum(load.groups)
    assert sum(simulate(Traffic(accounts=10)).groups) < sum(load.groups)


def test_by_zipf_s_law_the_second_account_has_half_of_the_first_s_events() -> None:
    lopsided = Traffic(accounts=100, skew=1)
    first, second, *_, last = lopsided.shares()
    assert [second, last] == pytest.approx([first / 2, first / 100])
    assert sum(lopsided.shares()) == pytest.approx(1)
    groups = simulate(lopsided).groups
    assert groups[0] > groups[9] > groups[99] > 0


def test_accounts_are_handled_some_at_a_time(load: Load) -> None:
    assert load.batches < load.rounds < load.batches + sum(load.groups) / CALLS_AT_A_TIME + 1


def test_each_shard_of_the_entities_stream_is_delivered_by_itself(load: Load) -> None:
    assert 3 * load.batches < load.changes <= 4 * load.batches
    assert load.changes <= load.change_rounds


def test_an_account_has_events_in_most_quarter_hours_of_a_busy_month(load: Load) -> None:
    pairs = FEW.accounts * load.hours * 4
    assert 0.97 * pairs < load.quarter_hours <= 1.03 * pairs
