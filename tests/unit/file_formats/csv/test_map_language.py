"""What a map can say of a file: exclusions, lookups, languages, zones by row, numbers of either form, other maps."""

import io
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.file_formats.csv.errors import CellError, MapError
from quarterhour.file_formats.csv.events import MappedEvent, converted
from quarterhour.file_formats.csv.lines import numbered
from quarterhour.file_formats.csv.map import load_map, shipped_maps
from quarterhour.file_formats.csv.numbers import NEGATIVE_FORMS, NumberForm
from quarterhour.file_formats.csv.parts import FileConversion, convert_part
from quarterhour.file_formats.csv.seen import SeenRows
from quarterhour.file_formats.csv.table import BadRow, read_table
from tests.support.cases import cases

HARBOUR = """
[columns.Note]
optional = true
default = "none"

[numbers]
thousands = ","

[time]
zone = [{ column = "Zone", matches = "/", is = "{Zone}" }, { is = "{zone}" }]
formats = ["%m/%d/%Y %H:%M"]

[lookups.kind]
column = "Type"
[lookups.kind.texts]
sale = ["Sale", "Verkauf"]
refund = ["Refund", "R\u00fcckzahlung"]
fee = ["Fee", "Geb\u00fchr"]

[lookups.zone]
column = "Zone"
[lookups.zone.texts]
"America/New_York" = ["Eastern Time (US & Canada)"]
"-07:00" = ["PDT"]

[[exclude]]
rule = "pending"
when = { column = "State", one_of = ["Pending", "Offen"] }

[[exclude]]
rule = "fees"
when = { column = "kind", equals = "fee" }

[[event]]
when = [{ column = "kind", one_of = ["sale", "refund"] }, { column = "Gross", sign = "> 0" }]
id = "{No}"
source = "harbour"
type = "sale.recorded"
subject = "42"
time = "{Day}"
data = { amount = "{Gross}", currency = "EUR", extra = { note = "{Note}" } }

[[event]]
when = { column = "Returned", sign = "> 0" }
id = "{No}:refund"
source = "harbour"
type = "sale.refunded"
subject = "42"
time = "{Day}"
data = { amount = "-{Returned}", currency = "EUR" }

[names]
Returned = ["Returned amount", "Given back"]

[languages.de]
numbers = { decimal = ",", thousands = "." }
time = { formats = ["%d.%m.%Y %H:%M"] }
[languages.de.names]
Type = "Typ"
State = "Status"
Gross = ["Brutto", "Bruttobetrag"]
No = "Nr"
Day = "Tag"
Returned = "Erstattet"
"""
ENGLISH = (
    "No,Type,State,Day,Zone,Gross,Given back\n"
    '1,Sale,Done,10/02/2026 10:00,PDT,"1,200.50",0\n'
    "2,SALE,Done,11/02/2026 10:00,Eastern Time (US & Canada),80.00,30.00\n"
    "3,Sale,Pending,10/02/2026 10:00,PDT,5.00,\n"
    "4,Fee,Done,10/02/2026 10:00,PDT,-5.00,\n"
)
GERMAN = (
    "Nr;Typ;Status;Tag;Zone;Bruttobetrag;Erstattet;Note\n"
    "1;Verkauf;Fertig;02.10.2026 10:00;Europe/Berlin;1.200,50;0;\n"
    "2;Ru\u0308ckzahlung;Fertig;02.11.2026 10:00;PDT;80,00;30,00;x\n"
    "3;Verkauf;Offen;02.10.2026 10:00;PDT;5,00;;\n"
    "4;geb\u00dcHR;Fertig;02.10.2026 10:00;PDT;-5,00;;\n"
)


def outcomes(text: str, toml: str = HARBOUR) -> list[MappedEvent | BadRow]:
    mapping = load_map(toml)
    table = read_table(numbered(io.StringIO(text, newline="")), mapping.file, mapping.used_by)
    found = list[MappedEvent | BadRow]()
    for row in converted(table, mapping):
        found += [BadRow(row.line, row.bad)] if row.bad else row.events
    return found


def shown(found: list[MappedEvent | BadRow]) -> list[Any]:
    return [
        (one.body["id"], one.body["time"], one.body["data"]["amount"])
        if isinstance(one, MappedEvent)
        else (one.line, one.reason)
        for one in found
    ]


def test_a_row_gives_a_sale_and_its_refund_in_the_zone_that_it_names() -> None:
    assert shown(outcomes(ENGLISH)) == [
        ("1", "2026-10-02T17:00:00Z", "1200.50"),
        ("2", "2026-11-02T15:00:00Z", "80.00"),
        ("2:refund", "2026-11-02T15:00:00Z", "-30.00"),
    ]


def test_a_file_in_another_language_has_its_own_names_numbers_and_times() -> None:
    assert shown(outcomes(GERMAN)) == [
        ("1", "2026-10-02T08:00:00Z", "1200.50"),
        ("2", "2026-11-02T17:00:00Z", "80.00"),
        ("2:refund", "2026-11-02T17:00:00Z", "-30.00"),
    ]


@pytest.mark.parametrize("text", [ENGLISH, GERMAN])
def test_parts_of_a_file_have_the_language_of_its_header(text: str) -> None:
    content, mapping = text.encode(), load_map(HARBOUR)
    first = content.index(b"\n2") + 1
    one = convert_part(content[:first], FileConversion(mapping, {}, SeenRows()), None, last=False)
    two = convert_part(content[first:], FileConversion(mapping, {}, SeenRows()), one.next, last=True)
    assert [event.body for event in one.events + two.events] == [
        event.body for event in outcomes(text) if isinstance(event, MappedEvent)
    ]


def test_a_column_that_a_file_may_lack_has_its_default() -> None:
    for text, note in ((ENGLISH, "none"), (GERMAN, "none")):
        first = outcomes(text)[0]
        assert isinstance(first, MappedEvent)
        assert first.body["data"]["extra"] == {"note": note}


def test_a_zone_that_nobody_knows_is_a_bad_row() -> None:
    found = shown(outcomes(ENGLISH.replace("PDT", "Middle/Earth")))
    assert found[0] == (
        2,
        "event[1].time: 'Middle/Earth' is neither a time zone, such as Europe/Madrid, nor an offset of -07:00",
    )
    [first, *_] = shown(outcomes(ENGLISH.replace("PDT", "XYZ")))
    assert first == (2, "time.zone[2].is: Zone is 'XYZ', which is not listed in lookups.zone")


@cases(
    ("field", "change"),
    [
        ("lookups.kind.texts.refund", ('refund = ["', 'refund = ["sale", "')),
        (
            "lookups.kind.texts",
            ('sale = ["Sale", "Verkauf"]\nrefund = ["Refund", "R\u00fcckzahlung"]\nfee = ["Fee", "Geb\u00fchr"]', ""),
        ),
        ("exclude[1].rule", ('rule = "pending"', 'rule = ""')),
        ("exclude[1].when", ('when = { column = "State", one_of = ["Pending", "Offen"] }', "")),
        ("exclude[1].when", ('one_of = ["Pending", "Offen"]', "starts = 1")),
        ("event[2].when.sign", ('"Returned", sign = "> 0"', '"Returned", sign = "> 1"')),
        ("languages.de.colums", ("[languages.de]", "[languages.de]\ncolums = 1")),
        ("languages.de.numbers", ('decimal = ","', 'decimal = ";"')),
        ("languages.de.names.No", ('"Nr"', '"Typ"')),
        ("like", ("[columns.Note]", 'like = "harbour"\n[columns.Note]')),
        ("file.encoding", ("[columns.Note]", '[file]\nencoding = "idna"\n[columns.Note]')),
    ],
)
def test_a_wrong_entry_is_named(field: str, change: tuple[str, str]) -> None:
    assert change[0] in HARBOUR
    with pytest.raises(MapError) as caught:
        load_map(HARBOUR.replace(*change, 1))
    assert caught.value.field.startswith(field)


@pytest.mark.parametrize(
    "name", ["idna", "punycode", "unicode_escape", "raw_unicode_escape", "rot13", "hex", "undefined"]
)
def test_a_codec_that_is_no_encoding_of_text_is_refused(name: str) -> None:
    with pytest.raises(MapError, match="there is no text encoding"):
        load_map(f'[file]\nencoding = "{name}"\n' + HARBOUR)


def test_a_map_that_is_like_another_one_has_its_entries() -> None:
    mapping = load_map('like = "stripe"\n[numbers]\ndecimal = ","\n')
    assert mapping.numbers.decimal == ","
    assert mapping.used_by == load_map_of("stripe").used_by


def load_map_of(name: str) -> Any:
    assert name in shipped_maps()
    return load_map(f'like = "{name}"')


EITHER = NumberForm("either", "", NEGATIVE_FORMS, {"\u20ac": "EUR"})


@cases(
    ("text", "value"),
    [
        ("12", "12"),
        ("12.5", "12.5"),
        ("12,50", "12.50"),
        ("-0,125", "-0.125"),
        ("1234.567", "1234.567"),
        ("1,234.56", "1234.56"),
        ("1.234,56 \u20ac", "1234.56"),
        ("(1.234.567)", "-1234567"),
        ("1,234,567.8", "1234567.8"),
    ],
)
def test_a_number_of_either_form_shows_its_own(text: str, value: str) -> None:
    assert EITHER.number(text) == Decimal(value)


@pytest.mark.parametrize("text", ["1,234", "-1.234", "1,23,4.5", "1.2.3,4", "1,234.5,6"])
def test_a_number_that_fits_both_forms_or_none_is_refused(text: str) -> None:
    with pytest.raises(CellError, match=r"1,234.56 or 1.234,56"):
        EITHER.number(text)


@given(st.decimals(-(10**9), 10**9, places=2), st.sampled_from([(".", ","), (",", ".")]))
def test_an_amount_with_cents_is_read_in_its_own_form(value: Decimal, form: tuple[str, str]) -> None:
    decimal, thousands = form
    for text in (f"{value:,.2f}", f"{value:.2f}"):
        written = text.translate({ord("."): decimal, ord(","): thousands})
        assert EITHER.number(written) == value
