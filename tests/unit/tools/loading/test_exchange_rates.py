"""A file of exchange rates: read in the order of time, bad lines reported, each exchange rate sent once."""

import gzip
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading.exchange_rates import ENTERED, REFUSED, SHOWN, BadRateRow, RateFile, RateRow, enter, read


def file(folder: Path, content: str, name: str = "rates.csv") -> str:
    path = folder / name
    path.write_bytes(gzip.compress(content.encode()) if name.endswith(".gz") else content.encode())
    return str(path)


@pytest.mark.parametrize("name", ["rates.csv", "rates.csv.gz"])
@pytest.mark.parametrize("units", ["units_per_base", "units_per_eur"])
def test_exchange_rates_come_in_the_order_of_time(tmp_path: Path, name: str, units: str) -> None:
    content = (
        f"\ufeffdate,currency,{units}\n2011-01-03,GBP,0.86\n2010-12-31,USD,1.34\n2010-12-31T15:00:00+01:00,GBP,0.85\n"
    )
    found = read(file(tmp_path, content, name))
    rows = found.rows
    assert (found.bad, found.refused) == ([], 0)
    assert [(row.as_of, row.currency, row.units) for row in rows] == [
        (datetime(2010, 12, 31, tzinfo=UTC), "USD", "1.34"),
        (datetime(2010, 12, 31, 14, tzinfo=UTC), "GBP", "0.85"),
        (datetime(2011, 1, 3, tzinfo=UTC), "GBP", "0.86"),
    ]
    assert rows[0].path == "/exchange-rates/USD"
    base = {"base": "EUR"} if units == "units_per_eur" else {}
    assert rows[0].body == {"units_per_base": "1.34", "source": name, "as_of": "2010-12-31T00:00:00.000Z", **base}


def test_a_line_may_name_its_source(tmp_path: Path) -> None:
    rows = read(
        file(tmp_path, "source,date,units_per_base,currency\nECB,2011-01-03,0.86,GBP\n,2011-01-04,1,GBP\n")
    ).rows
    assert [row.source for row in rows] == ["ECB", "rates.csv"]


INVALID = {
    "03/01/2011,GBP,1": "the date is '03/01/2011': expected",
    "2011-1-3": "has 1 cell: expected 3, as in the first line",
    "2011-01-03,GBP,1,2": "has 4 cells: expected 3",
    "2011-01-03,pounds,1": "currency is 'pounds': expected three capital letters",
    "2011-01-03,,1": "currency is '': expected",
    "2011-01-03,GBP,": "GBP: units_per_base is '': expected a decimal above 0",
    "2011-01-03,GBP,0": "GBP: units_per_base is '0'",
    "2011-01-03,GBP,1;5": "GBP: units_per_base is '1;5'",
    "2011-01-03,\x1b[2J,1": "currency is '\\x1b[2J'",
}


@pytest.mark.parametrize(("line", "problem"), INVALID.items())
def test_an_invalid_line_is_reported_and_the_others_are_read(tmp_path: Path, line: str, problem: str) -> None:
    found = read(file(tmp_path, f"date,currency,units_per_base\n{line}\n\n2011-01-03,GBP,1\n"))
    assert [row.number for row in found.rows] == [4]
    (bad,) = found.bad
    assert (bad.number, found.refused) == (2, 1)
    assert bad.problem.startswith(problem)
    assert bad.problem.isprintable()


ECB = """\
Date,USD,GBP,ISK,
2026-11-20,1.0842,0.8712,N/A,
2026-11-19,1.0840,0.8700,150.1,
1999-01-04,1.1789,0.7111,,
"""


@pytest.mark.parametrize("content", [ECB, "\ufeff" + ECB, ECB.replace("\n", "\r\n"), ECB.replace(",\n", "\n")])
def test_the_file_of_the_ecb_is_read_as_it_is(tmp_path: Path, content: str) -> None:
    """A column for each currency, the newest line first, N/A where there is no rate, and a comma at the end."""
    found = read(file(tmp_path, content, "eurofxref-hist.csv.gz"))
    assert (found.bad, found.refused) == ([], 0)
    assert [(f"{row.as_of:%Y-%m-%d}", row.currency, row.units) for row in found.rows] == [
        ("1999-01-04", "GBP", "0.7111"),
        ("1999-01-04", "USD", "1.1789"),
        ("2026-11-19", "GBP", "0.8700"),
        ("2026-11-19", "ISK", "150.1"),
        ("2026-11-19", "USD", "1.0840"),
        ("2026-11-20", "GBP", "0.8712"),
        ("2026-11-20", "USD", "1.0842"),
    ]
    assert {(row.source, row.base) for row in found.rows} == {("ECB", "EUR")}


def test_a_file_is_read_in_the_encoding_of_its_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "rates.csv").write_bytes(ECB.encode("utf-16"))
    assert len(read(str(tmp_path / "rates.csv")).rows) == 7


def test_only_the_rates_from_an_instant_on_are_read(tmp_path: Path) -> None:
    found = read(file(tmp_path, ECB), datetime(2026, 11, 20, tzinfo=UTC))
    assert [(row.currency, row.number) for row in found.rows] == [("GBP", 2), ("USD", 2)]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("2026-11-20,1.0842,0.87", "has 3 cells: expected 5"),
        ("20 November 2026,1,1,1,", "the date is '20 November 2026'"),
        ("2026-11-20,N/A,n/a,N/A,", "GBP: units_per_base is 'n/a'"),
        ("2026-11-20,N/A,N/A,N/A,1.5", "currency is '': expected three capital letters"),
    ],
)
def test_an_invalid_line_of_the_ecbs_layout_is_reported(tmp_path: Path, line: str, problem: str) -> None:
    found = read(file(tmp_path, ECB + line + "\n"))
    assert (len(found.rows), found.refused) == (7, 1)
    assert [(bad.number, bad.problem[: len(problem)]) for bad in found.bad] == [(5, problem)]


def test_of_many_bad_lines_the_first_are_kept_and_all_are_counted(tmp_path: Path) -> None:
    found = read(file(tmp_path, "date,currency,units_per_base\n" + "x,GBP,1\n" * 20_000))
    assert (len(found.bad), found.refused) == (SHOWN, 20_000)
    messages: list[str] = []
    assert enter(found, lambda *_: (200, {}), messages.append)[REFUSED] == 20_000
    assert len(messages) == SHOWN + 1
    assert messages[-1] == "19,900 more are refused"


@pytest.mark.parametrize(
    "content", ["", "date,currency\n", "currency,units_per_base\nGBP,1\n", "day,currency,units_per_eur\n"]
)
def test_a_file_without_the_columns_is_an_error(tmp_path: Path, content: str) -> None:
    with pytest.raises(ToolError, match="expected date, currency, units_per_base"):
        read(file(tmp_path, content))


def test_ambiguous_columns_are_refused_by_name(tmp_path: Path) -> None:
    content = "date,currency,units_per_eur,units_per_usd\n2011-01-03,GBP,0.86,0.65\n"
    with pytest.raises(ToolError, match="units_per_eur, units_per_usd: expected one of them"):
        read(file(tmp_path, content))


def test_a_long_list_of_columns_is_cut_in_the_message(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="expected date, currency, units_per_base") as refused:
        read(file(tmp_path, "\x1b[2J" + "x" * 100_000))
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 1000


BROKEN = {
    "rates.csv.gz": (gzip.compress(ECB.encode())[:-10], "cannot be read to its end: it ends early"),
    "cut.csv.gz": (ECB.encode(), "Not a gzipped file"),
    "book.xlsx": (b"PK\x03\x04\xff\xfe", "a spreadsheet or another ZIP file"),
    "zeros.csv": (bytes(1000), "many NUL bytes"),
    "broken.csv": (ECB.encode() + b"\xff\xfe" + "é".encode() * 9, "line 5 has bytes that are no text"),
    "page.html": (b"<!doctype html>\n<p>ECB</p>\n", "not a CSV file but a page"),
    "page.csv": (b"The rates of today\n", "expected date, currency, units_per_base"),
    "open.csv": ((ECB + '"' + "x" * 200_000).encode(), "field limit"),
    "quote.csv": ((ECB + '2026-11-19,"1').encode(), "unexpected end"),
    "bomb.csv.gz": (gzip.compress(ECB.encode() + b"1" * (70 << 20), 1), "line 5 has more than 262,144 characters"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_file_that_cannot_be_read_to_its_end_is_an_error(tmp_path: Path, name: str) -> None:
    content, problem = BROKEN[name]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ToolError, match=problem) as refused:
        read(str(tmp_path / name))
    assert str(refused.value).startswith(str(tmp_path / name))


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"none\.csv"):
        read(str(tmp_path / "none.csv"))


def test_a_long_date_is_cut_in_the_message(tmp_path: Path) -> None:
    (bad,) = read(file(tmp_path, f"date,currency,units_per_base\n{'x' * 100_000},GBP,1\n")).bad
    assert len(bad.problem) < 500


def test_a_refused_exchange_rate_is_reported_and_the_others_are_sent() -> None:
    rows = [RateRow(datetime(2011, 1, day, tzinfo=UTC), "GBP", str(day), "ECB", day) for day in (3, 4, 5)]
    messages: list[str] = []

    def put(_path: str, body: Any) -> tuple[int, Any]:
        return (409, {"detail": "too late"}) if body["units_per_base"] == "4" else (200, {})

    found = enter(RateFile(rows, [BadRateRow(9, "is nothing")], 1), put, messages.append)
    assert found == {ENTERED: 2, REFUSED: 2}
    assert messages == ["line 9: is nothing", "line 4: GBP: too late"]
