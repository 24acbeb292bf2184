"""The units of an account's windows, between those that were metered; and the file with all that is metered."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks import units
from benchmarks.units import DAYS_METERED, EVENTS_A_REQUEST, WindowUnits, load_units

METERED = load_units()
FEW, MANY = WindowUnits(1, 10, 20, 3, 1000), WindowUnits(16, 30, 40, 5, 3000)
BETWEEN = replace(METERED, windows=(FEW, MANY))


def test_a_metered_number_of_account_batches_costs_what_was_metered() -> None:
    assert (BETWEEN.window_units(1), BETWEEN.window_units(16)) == (FEW, MANY)


def test_between_two_metered_numbers_the_cost_lies_between() -> None:
    assert BETWEEN.window_units(4) == WindowUnits(pytest.approx(8.5), 20, 30, 4, 2000)  # type: ignore[arg-type]  # approximately


def test_an_account_without_events_costs_nothing_and_a_rare_one_little() -> None:
    assert BETWEEN.window_units(0) == WindowUnits(0, 0, 0, 0, 0)
    assert BETWEEN.window_units(0.5) == WindowUnits(0.5, 5, 10, 1.5, 500)


def test_a_busy_account_enters_no_more_windows_than_an_hour_has() -> None:
    assert BETWEEN.window_units(500) == MANY


def test_the_file_holds_what_is_metered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "FILE", tmp_path / "units.json")
    units.save_units(METERED)
    assert load_units() == METERED
    assert tuple(METERED.recording) == EVENTS_A_REQUEST
    assert tuple(one.account_batches for one in METERED.windows) == tuple(DAYS_METERED)
