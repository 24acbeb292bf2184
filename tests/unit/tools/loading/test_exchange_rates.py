"""A file of exchange rates: read in the order of time, bad lines reported, each exchange rate sent once."""

import gzip
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading.exchange_rates import REFUSED, STATED, BadRow, Row, read, state


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
    rows, bad = read(file(tmp_path, content, name))
    assert not bad
    assert [(row.as_of, row.currency, row.units) for row in rows] == [
        (datetime(2010, 12, 31, tzinfo=UTC), "USD", "1.34"),
        (datetime(2010, 12, 31, 14, tzinfo=UTC), "GBP", "0.85"),
        (datetime(2011, 1, 3, tzinfo=UTC), "GBP", "0.86"),
    ]
    assert rows[0].path == "/exchange-rates/USD"
    assert rows[0].body == {"units_per_base": "1.34", "source": name, "as_of": "2010-12-31T00:00:00.000Z"}


def test_a_line_may_name_its_source(tmp_path: Path) -> None:
    rows, _ = read(file(tmp_path, "source,date,units_per_base,currency\nECB,2011-01-03,0.86,GBP\n,2011-01-04,1,GBP\n"))
    assert [row.source for row in rows] == ["ECB", "rates.csv"]


def test_lines_without_a_date_are_reported(tmp_path: Path) -> None:
    rows, bad = read(file(tmp_path, "date,currency,units_per_base\n03/01/2011,GBP,1\n2011-01-03,GBP,1\n\n2011-1-3\n"))
    assert [row.number for row in rows] == [3]
    assert [one.number for one in bad] == [2, 5]
    assert "'03/01/2011'" in bad[0].problem


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


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"none\.csv"):
        read(str(tmp_path / "none.csv"))
    bad = tmp_path / "latin.csv"
    bad.write_bytes("date,currency,units_per_base\n2011-01-03,é,1\n".encode("latin-1"))
    with pytest.raises(ToolError, match=r"latin\.csv"):
        read(str(bad))


def test_a_long_date_is_cut_in_the_message(tmp_path: Path) -> None:
    _, (bad,) = read(file(tmp_path, f"date,currency,units_per_base\n{'x' * 100_000},GBP,1\n"))
    assert len(bad.problem) < 500


def test_a_refused_exchange_rate_is_reported_and_the_others_are_sent() -> None:
    rows = [Row(datetime(2011, 1, day, tzinfo=UTC), "GBP", str(day), "ECB", day) for day in (3, 4, 5)]
    messages: list[str] = []

    def put(_path: str, body: Any) -> tuple[int, Any]:
        return (409, {"detail": "too late"}) if body["units_per_base"] == "4" else (200, {})

    found = state(rows, [BadRow(9, "is nothing")], put, messages.append)
    assert found == {STATED: 2, REFUSED: 2}
    assert messages == ["line 9: is nothing", "line 4: too late"]
