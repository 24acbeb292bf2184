"""What an account costs beside its groups, between the paces that were metered; and the file that keeps it."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import units
from benchmarks.units import BATCHES, PACES, Pace, stored_units

STORED = stored_units()
SLOW, FAST = Pace(1, 10, 20, 3, 1000), Pace(16, 30, 40, 5, 3000)
BETWEEN = replace(STORED, paces=(SLOW, FAST))


def test_a_metered_pace_costs_what_was_metered() -> None:
    assert (BETWEEN.pace(1), BETWEEN.pace(16)) == (SLOW, FAST)


def test_between_two_paces_the_cost_lies_between() -> None:
    assert BETWEEN.pace(4) == Pace(pytest.approx(8.5), 20, 30, 4, 2000)  # type: ignore[arg-type]  # approximately


def test_an_account_without_groups_costs_nothing_and_a_rare_one_little() -> None:
    assert BETWEEN.pace(0) == Pace(0, 0, 0, 0, 0)
    assert BETWEEN.pace(0.5) == Pace(0.5, 5, 10, 1.5, 500)


def test_a_fast_account_enters_no_more_windows_than_an_hour_has() -> None:
    assert BETWEEN.pace(500) == FAST


def test_the_file_holds_what_is_metered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "FILE", tmp_path / "units.json")
    units.store(STORED)
    assert stored_units() == STORED
    assert tuple(STORED.recorded) == BATCHES
    assert tuple(pace.groups for pace in STORED.paces) == tuple(PACES)
