"""The header and the rows of a file, found among other lines."""

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.file_formats.csv.errors import MapError
from quarterhour.file_formats.csv.lines import LONGEST, numbered
from quarterhour.file_formats.csv.table import BadRow, CsvRecord, FileForm, Table, read_table
from tests.support.cases import cases

USED = {"id": "event[1].id", "amount": "event[1].data.amount"}


def table(text: str, form: FileForm | None = None) -> Table:
    return read_table(numbered(io.StringIO(text, newline="")), form or FileForm(), USED)


def rows(text: str, form: FileForm | None = None) -> list[tuple[int, list[str] | str]]:
    return [(row.line, row.cells if isinstance(row, CsvRecord) else row.reason) for row in table(text, form).rows]


@cases("before", ["", "\n", "My shop\nExported 2026-10-23;by ann\n\n", 'Shop "Nº 1\n', '"open\n', "\ufeff"])
@cases("delimiter", [",", ";", "\t", "|"])
def test_the_header_is_the_line_with_the_columns_of_the_map(before: str, delimiter: str) -> None:
    text = f"{before}id{delimiter}note{delimiter} amount \nA{delimiter}x{delimiter}5\n"
    found = table(text)
    assert found.header == ["id", "note", "amount"]
    assert [row.cells for row in found.rows if isinstance(row, CsvRecord)] == [["A", "x", "5"]]


@given(st.integers(0, 99))
def test_the_header_may_be_among_the_first_hundred_lines(before: int) -> None:
    assert rows("-\n" * before + "id,amount\nA,5\n") == [(before + 2, ["A", "5"])]


def test_names_in_quotes_may_hold_line_ends() -> None:
    assert table('"note\nof us",id,amount\nx,A,5\n').header == ["note\nof us", "id", "amount"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "file.columns: the file has no header line"),
        ("-\n" * 100 + "id,amount\n", "event[1].id: the file has no column 'id'; it has -"),
        ("a note\nid,price\nA,5\n", "event[1].data.amount: the file has no column 'amount'; it has id, price"),
        ("id,amount,amount\n", "event[1].data.amount: the file has more than one column 'amount'"),
        (
            "id,amount\nA,5\n\nid,amount\nA,6\n",
            "file.header: lines 1 and 4 both have the columns of the map: set header = 1",
        ),
    ],
)
def test_a_file_without_one_header_is_refused(text: str, message: str) -> None:
    with pytest.raises(MapError, match=re.escape(message)):
        table(text)


def test_the_map_can_say_where_the_header_is() -> None:
    text = "id,amount\nA,5\n\nid,amount\nB,6\n"
    assert rows(text, FileForm(header=4)) == [(5, ["B", "6"])]
    assert rows("-\n" * 500 + text, FileForm(header=504)) == [(505, ["B", "6"])]
    with pytest.raises(MapError):
        table(text, FileForm(header=2))


def test_a_declared_delimiter_alone_is_tried() -> None:
    with pytest.raises(MapError, match="no column 'id'; it has id,amount"):
        table("id,amount\n", FileForm(delimiter=";"))


@pytest.mark.parametrize("row", ['"open,5', 'C,"x"y', "x" * (LONGEST + 5), f'"{"x" * 200_000}",5'])
def test_a_bad_row_takes_no_other_row_with_it(row: str) -> None:
    text = f"id,amount\nA,5\n{row}\n" + "B,6\n" * 1000
    found = list(table(text).rows)
    assert [one.line for one in found if isinstance(one, BadRow)] == [3]
    assert len([one for one in found if isinstance(one, CsvRecord)]) == 1001


@pytest.mark.slow
def test_rows_without_an_end_are_refused_in_bounded_work() -> None:
    text = "id,amount\nA,5\n" + 'x","\n' * 50_000 + "B,6\n"
    bad = [one for one in table(text).rows if isinstance(one, BadRow)]
    assert len(bad) < 200
    assert "takes the lines up to 50003 with it" in bad[-1].reason


@given(st.lists(st.lists(st.text('ab"\n\r,; é', max_size=5), min_size=2, max_size=2), max_size=6))
def test_what_csv_writes_is_read_back(cells: list[list[str]]) -> None:
    out = io.StringIO(newline="")
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows([["id", "amount"], *cells])
    assert [row for _, row in rows(out.getvalue(), FileForm(header=1))] == cells
