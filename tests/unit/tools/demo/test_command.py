"""The demo reports every difference, and none for a small day."""

import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.model.totals import Totals
from quarterhour.proof.reports import verify
from quarterhour_tools.bucket import Folder
from quarterhour_tools.cli import main
from quarterhour_tools.demo.command import Judged, LineVerdict, Sending, differing, figures, judge, problems
from quarterhour_tools.demo.marketplace import DayLine, ExpectedSums
from quarterhour_tools.demo.month_end import StatementFigures, differing_statements
from quarterhour_tools.replay.result import ReplayResult
from tests.support.repository import ROOT

NOW = datetime(2026, 10, 23, tzinfo=UTC)
SUMS = ExpectedSums(2, Decimal("10.00"), Decimal(-1), Decimal("0.9"))
TOTALS = Totals(2, Decimal("10.0"), Decimal("-1.00"), Decimal("0.90"))
EXPECTED = {"42#GBP": figures(SUMS)}
LOCAL = (ROOT / "docs" / "local.md").read_text("utf-8")
OPENING = re.findall(r"^quarterhour (statements build/demo .*)$", LOCAL, re.MULTILINE)
"""The commands of a page that list and open the demo's statements."""


SMALL = """
import argparse, sys
from quarterhour_tools.demo import command as demo
from quarterhour_tools.demo.marketplace import marketplace_day
from quarterhour_tools.demo.year import Calendar
demo.marketplace_day = lambda seed: marketplace_day(seed, orders=12)
demo.Calendar = lambda until: Calendar(until, months=1)
parser = argparse.ArgumentParser()
demo.configure(parser)
sys.exit(demo.run(parser.parse_args(["--out", sys.argv[1]])))
"""
"""Runs a demo of few orders and two months, in a process without the memory of other tests."""


def line(verdict: str, blamed: str | None = None) -> DayLine:
    return DayLine(NOW, "sale", verdict, {}, blamed)


def sending(judged: Sequence[Judged] = (), totals: Totals = TOTALS, problems_of_proof: tuple[str, ...] = ()) -> Sending:
    accounts = {Account("42", "GBP"): totals}
    periods = {Account("42", "GBP"): {Period(2026, 10): totals}}
    return Sending(list(judged), ReplayResult(2, {}, 1, 1, 2, accounts, accounts, periods, periods, problems_of_proof))


def test_an_answer_is_right_with_the_verdict_and_the_field_on_the_label() -> None:
    day = [line("recorded"), line("rejected", "time"), line("rejected", "time"), line("recorded")]
    answers = [
        LineVerdict("recorded"),
        LineVerdict("rejected", frozenset({"id", "time"})),
        LineVerdict("rejected", frozenset({"id"})),
    ]
    assert judge(day, answers) == [Judged("sale", "recorded", 2, 1), Judged("sale", "rejected", 2, 1)]


def test_accounts_differ_in_value_or_presence_but_not_in_scale() -> None:
    assert not differing([EXPECTED, {"42#GBP": figures(TOTALS)}])
    assert differing([EXPECTED, {}]) == ["42#GBP"]
    assert differing([EXPECTED, EXPECTED | {"7#EUR": figures(SUMS)}]) == ["7#EUR"]


def test_nothing_is_wrong_where_all_agrees() -> None:
    assert problems(EXPECTED, EXPECTED, sending([Judged("sale", "recorded", 2, 2)]), sending()) == []


def test_every_difference_is_reported() -> None:
    more = TOTALS.plus(Decimal(1), Decimal(0))
    first, again = sending([Judged("sale", "recorded", 2, 1)], problems_of_proof=("lost file",)), sending(totals=more)
    assert problems(EXPECTED, {}, first, again) == [
        "1 of 2 lines (sale) were not recorded",
        "42#GBP: the figures differ",
        "42#GBP: changed by the second sending",
        "lost file",
    ]


@pytest.mark.slow
def test_a_small_day_and_two_months_agree_and_its_files_can_be_proven_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [sys.executable, "-c", SMALL, str(tmp_path / "out")]
    ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603 - our own
    assert "Everything agrees;" in ran.stdout
    folder = Folder(tmp_path / "out")
    assert verify(folder.open, folder.keys()).proven

    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    for command in OPENING:
        assert main(shlex.split(command.replace("build/demo", str(tmp_path / "out")))) == 0
    assert [(one.split("/")[-4], one.split("/")[-3]) for one in opened] == [
        *[("2026-11", "42")] * 2,
        ("2026-12", "42"),
    ]


def test_a_statement_that_is_not_as_expected_is_reported() -> None:
    right = StatementFigures(*map(Decimal, ("10.0", "1.25", "0.25", "0", "0", "1.50")))
    november, december = ("2026-11", "42", "GBP", 1), ("2026-12", "42", "GBP", 1)
    expected = {november: right, december: right}
    same = {key: right._replace(net=Decimal("10.00")) for key in expected}
    assert list(differing_statements(expected, same)) == []
    assert list(differing_statements(expected, {november: right._replace(tax=Decimal(0))})) == [
        "the statement of 2026-11 42 GBP 1 differs",
        "the statement of 2026-12 42 GBP 1 differs",
    ]
