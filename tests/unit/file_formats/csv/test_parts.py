"""A file that is converted part by part gives what the command has for the whole file."""

import base64
import io
import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from quarterhour.file_formats.csv import parts
from quarterhour.file_formats.csv.errors import FileError, MapError
from quarterhour.file_formats.csv.events import converted
from quarterhour.file_formats.csv.lines import AS_BROKEN, numbered
from quarterhour.file_formats.csv.map import CsvMap, load_map
from quarterhour.file_formats.csv.parts import FileConversion, PartPlace, convert_part
from quarterhour.file_formats.csv.seen import SeenRows, seen_rows
from quarterhour.file_formats.csv.table import BadRow, read_table
from quarterhour.model.fields import printable
from tests.support.cases import cases

TILL = """
[[event]]
id = "{invoice}:{row}"
source = "till"
subject = "{shop}"
type = "sale.recorded"
[event.data]
amount = "{price}"
currency = "EUR"
[columns]
shop = { fill_down = true }
[total]
when = [{ column = "invoice", equals = "Total" }]
[total.sums]
price = "{price}"
"""
HEADER = b"invoice,shop,price\n"


def whole(content: bytes, toml: str = TILL) -> tuple[list[dict[str, Any]], list[BadRow]]:
    """Return the events and the bad rows of a file as the command reads it."""
    mapping = load_map(toml)
    text = io.TextIOWrapper(io.BytesIO(content), mapping.file.encoding or "utf-8", AS_BROKEN, newline="")
    found = list(converted(read_table(numbered(text), mapping.file, mapping.used_by), mapping))
    bad = [BadRow(one.line, printable(one.bad)) for one in found if one.bad]
    return [event.body for one in found for event in one.events], bad


def in_parts(content: bytes, size: int, toml: str = TILL) -> tuple[list[dict[str, Any]], list[BadRow]]:
    """Return the events and the bad rows of a file that is sent in parts; a part is longer if no row fits into it."""
    with seen_rows() as seen:
        return _in_parts(content, size, load_map(toml), seen)


def _in_parts(content: bytes, size: int, mapping: CsvMap, seen: SeenRows) -> tuple[list[dict[str, Any]], list[BadRow]]:
    place, at, longer = None, 0, size
    found: list[dict[str, Any]] = []
    bad: list[BadRow] = []
    while True:
        piece = content[at : at + longer]
        last = at + longer >= len(content)
        try:
            part = convert_part(piece, FileConversion(mapping, {}, seen), place, last=last)
            seen.commit()
        except (FileError, MapError):
            assert not last
            seen.rollback()
            longer *= 2
            continue
        found += [one.body for one in part.events]
        bad += part.bad
        if part.next is None:
            assert part.read == len(piece)
            return found, bad
        at, longer, place = at + part.read, size, PartPlace.parse(part.next.token)


CELLS = st.sampled_from(["1", "2.50", "x", "", '"', '"a\nb"', '"a"', '""', "é", "Total", "\r", "\n", "\r\n", ","])
LINES = st.lists(st.lists(CELLS, max_size=5).map(",".join), max_size=12)


@given(LINES, st.sampled_from(["\n", "\r\n", "\r"]), st.integers(20, 120))
@example(["1,42,1", '2,"43', "3,,2", "Total,,3"], "\n", 20)
@example([",,,,"], "\r", 20)
@example(["1,42,1", "2,,2.50", "x,,3", "Total,,9"], "\r\n", 20)
def test_parts_of_any_size_give_what_the_whole_file_gives(lines: list[str], end: str, size: int) -> None:
    content = HEADER.replace(b"\n", end.encode()) + end.join(lines).encode()
    assert in_parts(content, size) == whole(content)


def test_a_row_and_its_number_go_on_in_the_next_part() -> None:
    content = HEADER + b"1,42,1\nb,,2,5\n3,,2.50\nTotal,,9\n"
    found, bad = in_parts(content, 32)
    assert [(one["id"], one["subject"]) for one in found] == [("1:1", "42")]
    assert bad == [
        BadRow(3, "has 4 columns instead of 3"),
        BadRow(4, "event[1].subject: shop is empty"),
        BadRow(5, "total.sums.price: is 9, but the rows add up to 3.50"),
    ]


def test_a_part_ends_where_its_answer_would_grow_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "MAX_EVENT_BYTES", 200)
    content = HEADER + b"".join(b"%d,42,1\n" % n for n in range(20)) + b"Total,,20\n"
    part = convert_part(content, FileConversion(load_map(TILL), {}, SeenRows()), None, last=True)
    assert part.next
    assert (part.summary.file.rows, part.read, part.next.line, part.next.rows) == (2, len(HEADER) + 14, 4, 2)
    assert in_parts(content, 10_000) == whole(content)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "cp1252", "iso8859-15", "gb18030"])
def test_the_bytes_are_read_in_the_encoding_of_the_file_or_the_map(encoding: str) -> None:
    declared = "" if encoding == "utf-8-sig" else f'[file]\nencoding = "{encoding}"\n'
    content = "invoice,shop,price\né,42,1\nü,,2\nTotal,,3\n".encode(encoding)
    found, bad = in_parts(content, 40, declared + TILL)
    assert ([one["id"] for one in found], bad) == (["é:1", "ü:2"], [])


def test_bytes_of_another_encoding_are_a_bad_row() -> None:
    content = HEADER + "é,42,1\nç,42,2\n".encode() + b"\xe9,42,1\n" + b"Total,,3\n"
    assert in_parts(content, 1000) == whole(content)
    assert "bytes that are not of the file's encoding" in whole(content)[1][0].reason


@pytest.mark.parametrize(
    ("content", "toml", "problem"),
    [
        (b"PK\x03\x04x", TILL, "is not a CSV file but a spreadsheet or another ZIP file: save it as CSV, or unpack it"),
        (HEADER + b"\xe9,42,1\n", TILL, 'is not UTF-8: set encoding = "cp1252" or another in [file]'),
        (
            HEADER.decode().encode("utf-16"),
            TILL,
            "is utf-16: save the file as UTF-8, or convert it with quarterhour csv",
        ),
        (
            HEADER.decode().encode("utf-8-sig"),
            f'[file]\nencoding = "cp1252"\n{TILL}',
            'begins with the byte order mark of utf-8, but the map has encoding = "cp1252"',
        ),
    ],
)
def test_a_file_that_cannot_be_read_in_parts_is_refused_with_what_to_do(
    content: bytes, toml: str, problem: str
) -> None:
    with pytest.raises(FileError) as refused:
        convert_part(content, FileConversion(load_map(toml), {}, SeenRows()), None, last=True)
    assert str(refused.value) == problem


def test_a_row_that_does_not_fit_into_a_part_is_refused_with_its_line() -> None:
    place = convert_part(HEADER + b'1,"4', FileConversion(load_map(TILL), {}, SeenRows()), None, last=False).next
    with pytest.raises(FileError, match="line 2: the row does not fit into a part; save the file as UTF-8, or convert"):
        convert_part(b'1,"4\n5', FileConversion(load_map(TILL), {}, SeenRows()), place, last=False)


def test_a_map_that_does_not_fit_is_refused_as_by_the_command() -> None:
    with pytest.raises(MapError, match=r"event\[1\]\.data\.amount: the file has no column 'price'; it has a, b"):
        convert_part(b"a,b\n1,2\n", FileConversion(load_map(TILL), {}, SeenRows()), None, last=True)


@pytest.mark.parametrize("token", ["", "x", "e30=", "bnVsbA==", "W10="])
def test_a_token_of_no_answer_is_refused(token: str) -> None:
    with pytest.raises(ValueError, match="is of no answer about a part"):
        PartPlace.parse(token)


@cases(
    ("name", "value"),
    [
        ("line", "0"),
        ("rows", "1E+999999"),
        ("encoding", '"utf-16"'),
        ("encoding", '"rot13"'),
        ("delimiter", '"\\n"'),
        ("columns", "[1]"),
        ("sums", '{"price": "x"}'),
        ("sums", '{"price": 1}'),
        ("totals", "[[1]]"),
        ("filled", "[]"),
        ("counts", "[[1, 1]]"),
        ("counts", f'[["{1 << 63}", 1]]'),
    ],
)
def test_a_forged_token_is_refused(name: str, value: str) -> None:
    place = convert_part(HEADER + b"1,42,1\n", FileConversion(load_map(TILL), {}, SeenRows()), None, last=False).next
    assert place
    held = json.loads(base64.urlsafe_b64decode(f"{place.token}=="))
    values = {**{key: json.dumps(one) for key, one in held.items()}, name: value}
    forged = "{" + ", ".join(f'"{key}": {text}' for key, text in values.items()) + "}"
    with pytest.raises(ValueError, match="is of no answer about a part"):
        PartPlace.parse(base64.urlsafe_b64encode(forged.encode()).decode())
