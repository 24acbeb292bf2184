"""The entries of a map, and the errors of a wrong one."""

import pytest

from quarterhour.file_formats.csv.errors import MapError
from quarterhour.file_formats.csv.map import load_map
from quarterhour.file_formats.csv.table import FileForm
from tests.support.cases import cases
from tests.support.repository import ROOT

EVENT = """
[[event]]
id = "{id}"
source = "till"
type = "sale.recorded"
subject = "{shop}"
data = { amount = "{amount}", currency = "EUR" }
"""


def test_a_map_of_one_event_is_enough() -> None:
    mapping = load_map(EVENT)
    assert mapping.file == FileForm(encoding=None, delimiter=None, quote='"', columns=(), header=None)
    assert mapping.used_by == {"id": "event[1].id", "shop": "event[1].subject", "amount": "event[1].data.amount"}


@cases(
    ("field", "text"),
    [
        ("map", "id ="),
        ("map", "id = " + "[" * 5000),
        ("event", "[file]"),
        ("fiel", "fiel = 1\n" + EVENT),
        ("file.encoding", "[file]\nencoding = 'latin-99'\n" + EVENT),
        ("file.encoding", "[file]\nencoding = 'rot13'\n" + EVENT),
        ("file.encoding", "[file]\nencoding = 'undefined'\n" + EVENT),
        ("file.encoding", '[file]\nencoding = "a\\u0000"\n' + EVENT),
        ("file.delimiter", "[file]\ndelimiter = '::'\n" + EVENT),
        ("file.quote", "[file]\nquote = ','\n" + EVENT),
        ("file.columns", "[file]\ncolumns = 'a,b'\n" + EVENT),
        ("file.header", "[file]\nheader = 'first'\n" + EVENT),
        ("file.header", "[file]\nheader = 0\n" + EVENT),
        ("file.header", "[file]\nheader = 1001\n" + EVENT),
        ("file.header", "[file]\nheader = true\n" + EVENT),
        ("numbers", "[numbers]\nthousands = '('\n" + EVENT),
        ("numbers", "[numbers]\nnegative = ['red']\n" + EVENT),
        ("numbers", "[numbers]\ncurrencies = { '-' = 'EUR' }\n" + EVENT),
        ("numbers", "[numbers]\ncurrencies = { '€' = 'EURO' }\n" + EVENT),
        ("numbers.currencies.$", "[numbers]\ncurrencies = { '$' = '?' }\n" + EVENT),
        ("numbers.decimal", "[numbers]\ndecimal = '?'\n" + EVENT),
        ("time.formats", "[time]\nformats = ['?']\n" + EVENT),
        ("event[1].subject", EVENT.replace("{shop}", "?")),
        ("settings.shop", "[settings]\nshop = 5\n" + EVENT),
        ("columns.shop.fill_down", "[columns.shop]\nfill_down = 'yes'\n" + EVENT),
        ("total.sums", "[total]\nwhen = { column = 'id', equals = 'x' }\n" + EVENT),
        ("total.sums.a", "[total]\nsums = { a = '{b' }\n" + EVENT),
        ("file.headers", "[file]\nheaders = ['a']\n" + EVENT),
        ("numbers", "[numbers]\ndecimal = '·'\n" + EVENT),
        ("numbers", "[numbers]\ndecimal = ','\nthousands = ','\n" + EVENT),
        ("time.zone", "[time]\nzone = 'Europe/Atlantis'\n" + EVENT),
        ("time", "[time]\ngap = 'ignore'\n" + EVENT),
        ("time", "[time]\nambiguous = 'both'\n" + EVENT),
        ("time", "[time]\nformats = ['%y%y']\n" + EVENT),
        ("time", "[time]\nformats = ['iso', '%Q']\n" + EVENT),
        ("time", "[time]\nformats = ['%Y-%m-%d %']\n" + EVENT),
        ("text.strip", "[text]\nstrip = 'yes'\n" + EVENT),
        ("columns.shopp", "[columns.shopp]\n" + EVENT),
        ("columns.shop.cut", "[columns.shop]\ncut = 'x'\n" + EVENT),
        ("columns.shop", "[columns]\nshop = 'x'\n" + EVENT),
        ("event[1].id", EVENT.replace("id = ", "ids = ")),
        ("event[1].subject", EVENT.replace('"{shop}"', '"{shop"')),
        ("event[1].data.currency", EVENT.replace("currency", "curency")),
        ("event[1].data.amount", EVENT.replace('"{amount}"', '"{amount} / 2"')),
        ("event[1].data.amount", EVENT.replace("{amount}", "(" * 5000 + "{amount}" + ")" * 5000)),
        ("event[1].data.amount", EVENT.replace("{amount}", "-" * 20_000 + "{amount}")),
        ("event[1].data.amount", EVENT.replace("{amount}", "{amount}" + " + 1" * 20_000)),
        ("event[1].data.amount", EVENT.replace('"{amount}"', "5")),
        ("event[1].data.colour", EVENT.replace("data = {", "data = { colour = 'red',")),
        ("event[1].colour", EVENT + "colour = 'red'"),
        ("event[1].type", EVENT.replace('"sale.recorded"', "5")),
        ("event[1].type[1].is", EVENT.replace('"sale.recorded"', "[{ column = 'id', prefix = 'C' }]")),
        ("event[1].type[1]", EVENT.replace('"sale.recorded"', "[{ column = 'id', is = 'x' }]")),
        ("event[1].type[1]", EVENT.replace('"sale.recorded"', "[{ column = 'id', matches = '(', is = 'x' }]")),
        (
            "event[1].type[1]",
            EVENT.replace('"sale.recorded"', f"[{{ column = 'id', matches = '{'(' * 5000}', is = 'x' }}]"),
        ),
        (
            "event[1].type[1]",
            EVENT.replace('"sale.recorded"', "[{ column = 'id', matches = 'a{9999999999}', is = 'x' }]"),
        ),
        ("event[1].type[1].prefix", EVENT.replace('"sale.recorded"', "[{ prefix = 'C', is = 'x' }]")),
        ("event[1].type[1].amount", EVENT.replace('"sale.recorded"', "[{ amount = '> 5', is = 'x' }]")),
        ("event[1].when.amount", EVENT + "when = { amount = '< 0' }"),
        ("event[2].data.amount", EVENT + "[[event]]"),
    ],
)
def test_a_wrong_map_names_the_entry(field: str, text: str) -> None:
    with pytest.raises(MapError) as error:
        load_map(text)
    assert error.value.field == field


def test_the_formats_that_files_use_are_accepted() -> None:
    formats = ["%d/%m/%Y", "%m/%d/%y %I:%M %p", "%Y-%m-%dT%H:%M:%S.%f%z", "%A, %d. %B %Y", "%Y%j", "%H:%M %Z", "%c"]
    load_map(f"[time]\nformats = {formats}\n{EVENT}")


def test_the_map_in_the_documentation_is_a_good_one() -> None:
    page = (ROOT / "docs" / "csv.md").read_text("utf-8")
    mapping = load_map(page.partition("## The map\n\n```toml\n")[2].partition("```")[0])
    assert mapping.file.columns == ("a", "b")
