"""A load on 64 shards: it is recorded in all of them and sealed in parts, and sealing keeps up with every tick."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from quarterhour.model.identifiers import MAX_SHARDS, Partition
from quarterhour.reports.keys import last_closed, part_of_lines
from quarterhour.reports.lines import read_lines
from quarterhour.reports.plan import SHARDS_A_PART, shards_of
from quarterhour.reports.store import CheckpointStore
from quarterhour_tools.bucket import Objects
from quarterhour_tools.emulator.stack import open_stack
from quarterhour_tools.replay.replay import replaying
from tests.e2e.sales import START, event, lines, totals
from tests.e2e.test_replay import exact

PARTS = MAX_SHARDS // SHARDS_A_PART
HOURS = 6
TICK = timedelta(hours=1)


def sold() -> list[dict[str, Any]]:
    """Sales and refunds of seven agencies: 50 every three minutes, for some hours."""
    return [
        event(number, number // 50 * 3, f"{number % 90 - 9}.25", f"agency {number % 7}")
        for number in range(HOURS * 20 * 50)
    ]


def last_tick(now: datetime) -> datetime:
    """Return the time of the last firing of a schedule: its periods count from 1970."""
    return now - (now - datetime(1970, 1, 1, tzinfo=UTC)) % TICK


def sealed(bucket: Objects) -> list[tuple[str, Partition]]:
    """Return the id of each sealed event and its partition, which must be one of its part."""
    found = []
    for key in bucket.keys():  # noqa: SIM118 - no dict
        part = part_of_lines(key)
        if part is None:
            continue
        with bucket.open(key) as file:
            for line in read_lines(file):
                partition = Partition.parse(line["quarter_hour"])
                assert partition.quarter_hour == part.quarter_hour
                assert partition.shard in shards_of(part, PARTS, MAX_SHARDS)
                found.append((line["id"], partition))
    return found


@pytest.mark.slow
def test_every_tick_seals_all_that_64_shards_have_recorded_until_then() -> None:
    messages: list[str] = []
    behind: list[timedelta] = []
    with (
        open_stack("embedded", {"LedgerShards": MAX_SHARDS, "ReportRate": "rate(1 hour)"}, virtual=True) as stack,
        replaying(stack, messages.append) as replay,
    ):
        checkpoints = CheckpointStore(stack.dynamodb, stack.ref("EntityTable"))

        def see() -> None:
            checkpoint, tick = checkpoints.checkpoint(), last_tick(replay.clock.now())
            if tick > START:
                assert checkpoint
                assert checkpoint.plan is None
                behind.append(last_closed(tick, stack.grace).end - checkpoint.sealed_through.end)

        replay.play(lines(sold()), see)
        outcome = replay.finish()
        events = sealed(stack.bucket)
    assert (set(behind), len(behind)) == ({timedelta()}, (HOURS - 1) * 20)
    assert (outcome.verdicts, outcome.lines, messages) == ({"recorded": len(sold())}, len(sold()), [])
    assert outcome.problems == ()
    assert exact(outcome.as_dict()["accounts"]) == exact(outcome.as_dict()["ledger"]) == totals(sold())
    assert Counter(id_ for id_, _ in events) == Counter(one["id"] for one in sold())
    assert len({partition.shard for _, partition in events}) > MAX_SHARDS // 2, "a request takes one shard"
