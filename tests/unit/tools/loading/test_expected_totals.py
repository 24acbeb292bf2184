"""The expected totals of an import: read exactly, or refused with the line and the reason."""

from decimal import Decimal
from pathlib import Path

import pytest

from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading.event_import import expected_totals

HEADER = "agency,currency,month,events,gross,commission\n"


def read(folder: Path, text: str) -> object:
    (file := folder / "totals.csv").write_bytes(text.encode("utf-8-sig"))
    return expected_totals(file)


def test_figures_are_exact_and_an_empty_cell_is_no_expectation(tmp_path: Path) -> None:
    text = f'{HEADER}42,GBP,2023-04,2,1000.10,\n\n"a ""b""",EUR,2023-05,,,-0.5\n'
    assert read(tmp_path, text) == {
        (Account("42", "GBP"), Period(2023, 4)): {"events": Decimal(2), "gross": Decimal("1000.10")},
        (Account('a "b"', "EUR"), Period(2023, 5)): {"commission": Decimal("-0.5")},
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "line 1: the column agency is missing"),
        ("agency,currency\n", "line 1: the column month is missing"),
        ("agency,currency,month,net\n", "line 1: the column 'net' is not known"),
        ("agency,currency,month, gross\n", "line 1: the column ' gross' is not known"),
        ("agency,currency,month,gross,gross\n", "line 1: the column gross is there twice"),
        (f"{HEADER}42,GBP,2023-04,2,1.00\n", "line 2: it has 5 cells: expected 6"),
        (f"{HEADER}42,GBP,2023-04,2,1.00,,\n", "line 2: it has 7 cells: expected 6"),
        (f"{HEADER}42,GBP,2023-04,,,\n\n42,GBP,2023-04,,,\n", "line 4: 42#GBP 2023-04 is in an earlier line already"),
        (f"{HEADER}42,GBP,2023-13,,,\n", "line 2: month is '2023-13': expected"),
        (f"{HEADER}42,gbp,2023-04,,,\n", "line 2: currency is 'gbp': expected"),
        (f"{HEADER},GBP,2023-04,,,\n", "line 2: agency is '': expected"),
        (f"{HEADER}42,GBP,2023-04,2.5,,\n", "line 2: events is '2.5': expected a whole number"),
        (f"{HEADER}42,GBP,2023-04,-1,,\n", "line 2: events is '-1': expected a whole number"),
        (f"{HEADER}42,GBP,2023-04,,NaN,\n", "line 2: gross is 'NaN': expected a decimal"),
        (f"{HEADER}42,GBP,2023-04,,Infinity,\n", "line 2: gross is 'Infinity': expected a decimal"),
        (f"{HEADER}42,GBP,2023-04,,,x\n", "line 2: commission is 'x': expected a decimal"),
        (f'{HEADER}42,GBP,2023-04,,,"1\n', "line 2: unexpected end of data"),
    ],
)
def test_a_table_that_is_not_as_described_is_refused_by_its_line(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ToolError) as error:
        read(tmp_path, text)
    assert f"totals.csv: {problem}" in str(error.value)


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="No such file"):
        expected_totals(tmp_path / "none.csv")
    (file := tmp_path / "totals.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ToolError, match="is not UTF-8"):
        expected_totals(file)
