"""The figures of DAC7 by agency and calendar quarter; months without statements are named."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from quarterhour.model.periods import Period
from quarterhour_tools.accounting.dac7 import DAC7_COLUMNS, calendar_quarter_of, dac7_rows, not_negative
from quarterhour_tools.cli import main
from tests.support.accounting import CUSTOMER, content, document, in_euros, rows_of, tax, write_period

YES = ["yes", ""]
WHO = ["42", "Harbour Books GmbH", "Am Sandtorkai 1\n20457 Hamburg", "DE", "DE136695976", "", "DE89370400440532013000"]


ABROAD = {**CUSTOMER, "country": "CH"}


def kinds(sales: int) -> dict[str, dict[str, int]]:
    """Return the numbers of lines by kind."""
    return {"sales": {"lines": sales}, **{name: {"lines": 0} for name in ("voids", "adjustments", "payments")}}


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
        [
            *WHO,
            "2026-Q3",
            "EUR",
            "9",
            "500.00",
            "100.00",
            "19.00",
            "119.00",
            "381.00",
            "381.00",
            *YES,
            "9",
            "381",
            "119",
        ],
        [
            *WHO,
            "2026-Q4",
            "EUR",
            "18",
            "2000.00",
            "200.00",
            "38.00",
            "238.00",
            "1762.00",
            "1762.00",
            *YES,
            "18",
            "1762",
            "238",
        ],
        [*WHO, "2026-Q4", "GBP", "9", "1000.00", "100.00", "19.00", "119.00", "881.00", "", *YES, "9", "881", "119"],
    ]


def test_a_cancelled_statement_leaves_nothing() -> None:
    cancelling = document(
        tax("-100.00", "-19.00"), net="-1000.00", number="C-000001", cancels={"number": "S-000001"}, revision=2
    )
    assert dac7_rows([document(), cancelling]) == []
    assert [row[9:15] for row in dac7_rows([document(), cancelling, document(number="S-000002", revision=3)])] == [
        ["9", "1000.00", "100.00", "19.00", "119.00", "881.00"]
    ]


def test_refunds_of_earlier_sales_correct_the_months_before_in_whole_units() -> None:
    """Authorities refuse a consideration of -26.37 in the last three months; the year stays right."""
    sold = document(net="1500.50", period="2026-09", by_kind=kinds(30))
    refunded = document(tax("-5.00", "-0.95"), net="-32.32", by_kind=kinds(0), number="C-000001")
    found = dac7_rows([sold, refunded, document(customer=ABROAD, agency="7", net="99999.00")])
    assert [row[14:] for row in found] == [
        ["1381.50", "1381.50", *YES, "30", "1355", "113"],
        ["-26.37", "-26.37", *YES, "0", "0", "0"],
        ["99880.00", "99880.00", "no", "resides in CH, which is no member state", "", "", ""],
    ]
    assert list(map(str, not_negative([Decimal(-5), Decimal(3), Decimal(1)]))) == ["0", "0", "0"]


@pytest.mark.parametrize(
    ("activities", "net", "of_goods", "expected"),
    [
        (29, "2119.00", True, "no"),
        (30, "2119.00", True, "yes"),
        (29, "2119.01", True, "yes"),
        (1, "1.00", False, "yes"),
    ],
)
def test_who_sells_few_goods_for_little_is_not_reportable(
    activities: int,
    net: str,
    of_goods: bool,  # noqa: FBT001 - a case
    expected: str,
) -> None:
    """The limits of Annex V are of a year, in euros; 2,119.00 less 119.00 fees are 2,000.00."""
    (row,) = dac7_rows([document(net=net, by_kind=kinds(activities))], of_goods=of_goods)
    assert row[16] == expected
    assert bool(row[17]) == (expected == "no")


def test_other_currencies_count_in_euros_if_their_statements_have_a_rate() -> None:
    pounds: dict[str, Any] = {"currency": "GBP", "net": "1719.00", "by_kind": kinds(1)}
    (row,) = dac7_rows([document(**pounds, tax_in=in_euros(("125.00", "23.75")))])
    assert row[14:17] == ["1600.00", "2000.00", "no"]
    (row,) = dac7_rows([document(**pounds)])
    assert row[14:17] == ["1600.00", "", "yes"]


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
    assert [row[7:10] for row in rows_of(out.read_bytes())] == [
        list(DAC7_COLUMNS[7:10]),
        *(["2026-Q1", "EUR", "27"], ["2026-Q2", "EUR", "27"], ["2026-Q3", "EUR", "27"], ["2026-Q4", "EUR", "18"]),
    ]
    write_period(tmp_path, [content(period="2026-12")], "2026-12")
    assert main(arguments) == 0
    assert rows_of(out.read_bytes())[-1][9] == "27"


@pytest.mark.parametrize("year", ["26", "", "2026.0", "9999", "20260"])
def test_a_year_is_a_year(year: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["dac7", str(tmp_path), "--year", year, "--out", "x"])
    assert "expected a year such as 2026" in capsys.readouterr().err
