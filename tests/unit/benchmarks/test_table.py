"""The table that the benchmarks print, and the rounds that their times come from."""

import pytest

from benchmarks import timing
from benchmarks.table import MET, MISSED, Line, at_least, at_most, show


def test_a_budget_is_met_up_to_its_limit() -> None:
    assert [at_most(2.0, value) for value in (1.9, 2.0, 2.1)] == [MET, MET, MISSED]
    assert [at_least(0.8, value) for value in (0.79, 0.8, 0.9)] == [MISSED, MET, MET]


def test_lines_stand_under_each_other_with_their_notes_behind() -> None:
    lines = [
        Line("write units", "2.0", "2.0", MET, ("by the rules",)),
        Line("memory", "300 MiB", "<= 256 MiB", MISSED, ("of a process", "by the rules")),
        Line("  more", "4"),
    ]
    assert show(lines).splitlines() == [
        "what             budget      measured  verdict",
        "---------------  ----------  --------  -------",
        "write units [1]  2.0         2.0       met",
        "memory [2] [1]   <= 256 MiB  300 MiB   MISSED",
        "  more                       4",
        "",
        "[1] by the rules",
        "[2] of a process",
    ]


def test_the_ratio_is_the_median_of_the_rounds() -> None:
    assert timing.ratio([(1.0, 2.0), (9.0, 1.0), (3.0, 4.0)]) == 0.75


def test_both_are_run_once_before_and_then_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    monkeypatch.setattr(timing, "process_time", lambda: float(len(ran)))
    rounds = timing.in_turns(lambda: ran.append("a"), lambda: ran.extend("bb"), 3)
    assert "".join(ran) == "abb" + "abb" + "bba" + "abb"
    assert rounds == [(1.0, 2.0)] * 3
