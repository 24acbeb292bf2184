"""`quarterhour journal`: which documents it writes, and what it says if it writes nothing."""

from pathlib import Path

import pytest

from quarterhour_tools.cli import main
from tests.support.accounting import content, rows_of, tax, write_period
from tests.support.repository import ROOT

MAP = str(ROOT / "examples" / "accounting" / "accounts.toml")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    later = content(agency="43", number="S-000002", issued_on="2027-01-05")
    foreign = content(agency="44", number="S-000003", currency="GBP")
    write_period(tmp_path, [content(), later, foreign, content(tax("0.00"), agency="45", number="S-000004")])
    return tmp_path


def test_the_documents_can_be_chosen_by_currency_and_month_of_issue(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = folder / "journal.csv"
    arguments = ["journal", str(folder), "--period", "2026-11", "--accounts", MAP, "--out", str(out)]
    assert main(arguments) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{out}: 3 journals of 2026-11 with 9 lines",
        "1 document without a journal, as nothing was charged or paid",
    ]
    assert main([*arguments, "--currency", "EUR", "--issued", "2026-12"]) == 0
    assert {row[1] for row in rows_of(out.read_bytes())[1:]} == {"S-000001"}
    assert main([*arguments, "--currency", "EUR", "--format", "xero"]) == 0
    assert rows_of(out.read_bytes())[1][1] == "04/12/2026"


def test_nothing_is_written_and_every_problem_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder / "journal.csv"
    arguments = ["journal", str(folder), "--accounts", MAP, "--out", str(out), "--format", "datev"]
    assert main(arguments) == 2
    assert not out.exists()
    dates, currency, last = capsys.readouterr().err.splitlines()
    assert dates.startswith("datev.fiscal_year begins twice, on 2026-01-01 and on 2027-01-01: expected documents")
    assert currency.startswith("currency is EUR, and S-000003 is in GBP: expected a document with its exchange rate")
    assert last == f"quarterhour: nothing is written: 2 problems with {MAP}"
    assert main([*arguments, "--currency", "EUR", "--issued", "2027-01"]) == 0
    assert b'"S-000002"' in out.read_bytes()


def test_a_map_that_cannot_be_read_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["journal", str(folder), "--out", str(folder / "x"), "--accounts"]
    assert main([*arguments, str(folder / "none.toml")]) == 2
    assert "none.toml cannot be read" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*arguments, MAP, "--currency", "euro"])
    assert "expected an ISO 4217 code such as EUR" in capsys.readouterr().err
