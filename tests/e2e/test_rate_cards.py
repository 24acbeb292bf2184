"""A table of rates is compared with a stack that is up, shown rule by rule, and written once."""

import io
from pathlib import Path

import pytest

from quarterhour_tools.cli import main
from quarterhour_tools.target.remote import Remote
from tests.e2e.test_rerate import serving
from tests.support.system import opened

HEADER = "agency,category,currency,charge,percent,fixed,fixed_per,minimum\n"
FIRST = HEADER + "42,,,,12.5,,,\n42,books,GBP,,8,,,0.50\n42,books,GBP,payment fee,1.4,0.25,order,\n"
NEXT = HEADER + "42,,,,12.5,,,\n42,books,GBP,,9,,,0.50\n,toys,,,5,,,\n"
SINCE = ["--from", "2026-10-01"]


class Terminal(io.StringIO):
    """Standard input at which somebody sits."""

    def isatty(self) -> bool:
        return True


def test_a_table_is_shown_rule_by_rule_and_written_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, next_ = tmp_path / "first.csv", tmp_path / "next.csv"
    first.write_text(FIRST)
    next_.write_text(NEXT)
    with opened() as world, serving(world) as url:
        to = [*SINCE, "--url", url]
        assert main(["rate-cards", str(first), *to, "--yes"]) == 0
        assert capsys.readouterr().out.splitlines() == [
            "rate-card:42: new, in force from 2026-10-01T00:00:00Z",
            "  + all events: commission 12.5 %",
            "  + books, GBP: commission 8 %, minimum 0.50; payment fee 1.4 %, fixed 0.25, fixed per order",
            "1 of 1 rate card changed",
            "rate-card:42: version 1 written",
        ]
        assert main(["rate-cards", str(first), *to]) == 0, "nothing is asked where nothing changes"
        assert capsys.readouterr().out == "0 of 1 rate card changed\n"

        monkeypatch.setattr("sys.stdin", Terminal("n\n"))
        assert main(["rate-cards", str(next_), *to]) == 1
        assert capsys.readouterr().out.splitlines()[1:-1] == [
            "  - books, GBP: commission 8 %, minimum 0.50; payment fee 1.4 %, fixed 0.25, fixed per order",
            "  + books, GBP: commission 9 %, minimum 0.50",
            "    1 rule unchanged",
            "rate-card:default: new, in force from 2026-10-01T00:00:00Z",
            "  + toys: commission 5 %",
            "2 of 2 rate cards changed",
        ]
        assert Remote(url).get("/documents/rate-card%253A42", {})["version"] == 1
        monkeypatch.setattr("sys.stdin", Terminal("y\n"))
        assert main(["rate-cards", str(next_), *to]) == 0
        found = Remote(url).get("/documents/rate-card%253A42", {})
        assert (found["version"], found["content"]["rules"][0]) == (2, {"percent": "12.5"})


def test_nothing_is_written_unasked_or_of_a_table_with_a_bad_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "rates.csv"
    table.write_text(FIRST)
    with opened() as world, serving(world) as url:
        monkeypatch.setattr("sys.stdin", io.StringIO())
        assert main(["rate-cards", str(table), *SINCE, "--url", url]) == 2
        assert "give --yes" in capsys.readouterr().err
        table.write_text(FIRST + "42,maps,,,101,,,\n")
        assert main(["rate-cards", str(table), *SINCE, "--url", url, "--yes"]) == 1
        assert capsys.readouterr().out.splitlines() == [
            "line 5: percent is '101': expected a decimal from 0 to 100 with at most 10 places",
            "1 problem; nothing was sent",
        ]
        assert Remote(url).send("GET", "/documents/rate-card%253A42")[0] == 404
