"""A map turns the CSV of a bank into lines that the ledger reads."""

from decimal import Decimal
from pathlib import Path

import pytest

from quarterhour.file_formats.bank.read import read_bank_file
from quarterhour.file_formats.csv.errors import MapError
from quarterhour.file_formats.csv.map import load_line_map, load_map
from quarterhour.file_formats.csv.table import BadRow, read_table
from quarterhour_tools.accounting.payments import ExcludedRow, bank_lines
from quarterhour_tools.csv.file import open_text
from tests.support.repository import ROOT

EXAMPLE = ROOT / "examples" / "accounting"
MAP = '[line]\ndate = "{Day}"\namount = "{Sum}"\ncurrency = "{Ccy}"\nname = "{Name}"\n'


def converted(file: Path, text: str) -> list[str | ExcludedRow]:
    csv_map = load_line_map(text)
    assert csv_map.line is not None
    with open_text(str(file), None) as opened:
        table = read_table(opened.lines(), csv_map.file, csv_map.used_by)
        return list(bank_lines(table, csv_map, csv_map.line, {}))


def test_the_example_reads_money_in_and_out() -> None:
    rows = converted(EXAMPLE / "bank.csv", (EXAMPLE / "bank.toml").read_text("utf-8"))
    found = read_bank_file("".join(map(str, rows)).encode()).lines
    assert [(one.booked_on.isoformat(), str(one.amount), one.name, one.reference) for one in found] == [
        ("2026-12-05", "1121.00", "Harbour Books Ltd", "Invoice S-000001"),
        ("2026-12-07", "-12.50", "Bank", "Fees"),
    ]


def test_an_empty_cell_is_empty_but_a_line_needs_its_currency(tmp_path: Path) -> None:
    file = tmp_path / "bank.csv"
    file.write_text(
        "Day,Sum,Ccy,Name\n2026-11-05,7.00,EUR,\n2026-11-05,7.00,,x\n2026-11-05,7.00\n2026-11-05,7.005,EUR,x\n"
        "2026-11-05,7.00,euro,x\n5.11.2026,7.00,EUR,x\n"
    )
    _, good, *bad = converted(file, MAP)
    assert good == "2026-11-05,7.00,EUR,,,,,\r\n"
    assert bad == [
        ExcludedRow("bad", bad=BadRow(3, "line.currency: Ccy is empty")),
        ExcludedRow("bad", bad=BadRow(4, "has 2 columns instead of 4")),
        ExcludedRow("bad", Decimal("7.005"), "EUR", BadRow(5, "line.amount: 7.005 has more decimal places than EUR")),
        ExcludedRow("bad", bad=BadRow(6, "line.currency: 'euro' is no code of ISO 4217 such as EUR")),
        ExcludedRow("bad", Decimal("7.00"), "EUR", BadRow(7, "line.date: '5.11.2026' is not a time of the form iso")),
    ]


@pytest.mark.parametrize(
    ("text", "field"),
    [("", "line"), (f'{MAP}payer = "x"\n', "line.payer"), (f'{MAP}[[event]]\nid = "1"\n', "event")],
)
def test_a_map_of_lines_has_no_other_entries(text: str, field: str) -> None:
    with pytest.raises(MapError) as raised:
        load_line_map(text)
    assert raised.value.field == field


def test_a_map_of_events_has_no_line() -> None:
    with pytest.raises(MapError, match="at least one"):
        load_map(MAP)
