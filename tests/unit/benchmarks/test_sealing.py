"""How long a quarter-hour takes to be sealed, computed from what was measured."""

import pytest

from benchmarks.sealing import Sealing, Speed, at_limit

SPEED = Speed(line=1 / 50_000, publish=2)


@pytest.mark.parametrize(
    ("shards", "part", "all_"),
    [
        pytest.param(1, 36, 40, id="one part"),
        pytest.param(8, 288, 292, id="one full part"),
        pytest.param(16, 288, 292, id="two side by side"),
        pytest.param(24, 288, 580, id="three, of which one waits"),
        pytest.param(9, 180, 184, id="parts of five and four shards"),
    ],
)
def test_full_shards_are_sealed_part_by_part_as_many_as_may_run_at_once(shards: int, part: float, all_: float) -> None:
    sealed = at_limit(shards, SPEED, concurrency=2, cores=0.5)
    assert sealed.part == pytest.approx(part)
    assert sealed.all == pytest.approx(all_)


def test_sealing_keeps_up_if_a_quarter_hour_is_sealed_in_one() -> None:
    assert Sealing(part=400, all=450).times == 2
