"""The figures of DAC7 by agency and calendar quarter; months without statements are named."""

from pathlib import Path

import pytest

from quarterhour.model.periods import Period
from quarterhour_tools.accounting.dac7 import DAC7_COLUMNS, calendar_quarter_of, dac7_rows
from quarterhour_tools.cli import main
from tests.support.accounting import CUSTOMER, content, document, rows_of, tax, write_period

WHO = ["42", "Harbour Books GmbH", "Am Sandtorkai 1\n20457 Hamburg", "DE", "DE136695976"]


@pytest.mark.parametrize(
    ("period", "expected"),
    [
        (Period(2026, 1), "2026-Q1"),
        (Period(2026, 3), "2026-Q1"),
        (Period(2026, 4), "2026-Q2"),
        (Period(2026, 12), "2026-Q4"),
    ],
)
def test_a_calendar_quarter_has_three_months(period: Period, expected: str) -> None:
    assert calendar_quarter_of(period) == expected


def test_the_months_of_a_calendar_quarter_are_added_up_by_currency() -> None:
    found = dac7_rows(
        [
            document(period="2026-09", net="500.00"),
            document(period="2026-10"),
            document(period="2026-11"),
            document(period="2026-11", currency="GBP"),
        ]
    )
    assert found == [
        [*WHO, "2026-Q3", "EUR", "9", "500.00", "100.00", "19.00", "119.00", "381.00"],
        [*WHO, "2026-Q4", "EUR", "18", "2000.00", "200.00", "38.00", "238.00", "1762.00"],
        [*WHO, "2026-Q4", "GBP", "9", "1000.00", "100.00", "19.00", "119.00", "881.00"],
    ]


def test_a_cancelled_statement_leaves_nothing() -> None:
    cancelling = document(
        tax("-100.00", "-19.00"), net="-1000.00", number="C-000001", cancels={"number": "S-000001"}, revision=2
    )
    assert dac7_rows([document(), cancelling]) == []
    assert [row[7:] for row in dac7_rows([document(), cancelling, document(number="S-000002", revision=3)])] == [
        ["9", "1000.00", "100.00", "19.00", "119.00", "881.00"]
    ]


def test_an_agency_has_the_name_of_its_newest_document() -> None:
    moved = {**CUSTOMER, "legal_name": "=Harbour", "address": None}
    found = dac7_rows([document(customer=moved, release=2), document(number="S-000002")])
    assert [row[:5] for row in found] == [["42", "'=Harbour", "", "DE", "DE136695976"]]


def test_a_cancellation_does_not_bring_back_an_old_name() -> None:
    old = {**CUSTOMER, "legal_name": "Harbor Books GmbH"}
    taken_back = tax("-100.00", "-19.00")
    cancelling = document(
        taken_back, customer=old, number="C-000001", cancels={"number": "S-000001"}, net="-1000.00", release=3,
        revision=2,
    )  # fmt: skip
    found = dac7_rows([document(customer=old), document(number="S-000002", period="2026-12", release=2), cancelling])
    assert [row[1] for row in found] == ["Harbour Books GmbH"]


def test_the_command_needs_every_month_or_the_word_partial(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "dac7.csv"
    arguments = ["dac7", str(tmp_path), "--year", "2026", "--out", str(out)]
    for month in range(1, 12):
        period = f"2026-{month:02d}"
        write_period(tmp_path, [content(period=period)], period)
    assert main(arguments) == 2
    assert "2026-12 is not sealed: seal them first, or write what there is with --partial" in capsys.readouterr().err
    assert not out.exists()
    assert main([*arguments, "--partial"]) == 0
    assert capsys.readouterr().out.splitlines() == [f"{out}: 1 agency, 4 rows", "NOT complete: 2026-12 is not sealed"]
    assert [row[5:8] for row in rows_of(out.read_bytes())] == [
        list(DAC7_COLUMNS[5:8]),
        *(["2026-Q1", "EUR", "27"], ["2026-Q2", "EUR", "27"], ["2026-Q3", "EUR", "27"], ["2026-Q4", "EUR", "18"]),
    ]
    write_period(tmp_path, [content(period="2026-12")], "2026-12")
    assert main(arguments) == 0
    assert rows_of(out.read_bytes())[-1][7] == "27"


@pytest.mark.parametrize("year", ["26", "", "2026.0", "9999", "20260"])
def test_a_year_is_a_year(year: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["dac7", str(tmp_path), "--year", year, "--out", "x"])
    assert "expected a year such as 2026" in capsys.readouterr().err
