"""Files as they are: encodings, kinds, compression, and limits."""

import gzip
import io
import tracemalloc
import zlib
from encodings.aliases import aliases
from pathlib import Path

import pytest

from quarterhour.file_formats.csv.errors import FileError, MapError
from quarterhour.file_formats.csv.lines import BROKEN, LONGEST, numbered
from quarterhour.file_formats.csv.map import load_map
from quarterhour_tools.csv.file import open_text

TEXT = "invoice,shop\nA,Zoë\n"


def content(path: Path, raw: bytes, encoding: str | None = None) -> tuple[list[str | None], str | None]:
    path.write_bytes(raw)
    with open_text(str(path), encoding) as file:
        return [line.text for line in file.lines()], file.problem


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_utf_8_and_byte_order_marks_need_no_declaration(tmp_path: Path, encoding: str) -> None:
    assert content(tmp_path / "f.csv", TEXT.encode(encoding)) == (TEXT.splitlines(keepends=True), None)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "latin-1", "cp1252", "mac-roman"])
def test_other_encodings_are_read_as_declared_and_refused_in_doubt(tmp_path: Path, encoding: str) -> None:
    raw = TEXT.encode(encoding)
    assert content(tmp_path / "f.csv", raw, encoding)[0] == TEXT.splitlines(keepends=True)
    with pytest.raises(FileError, match="set encoding = "):
        content(tmp_path / "f.csv", raw)


def test_a_doubt_shows_what_the_encodings_read(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cp1252 reads 'A,Zoë'"):
        content(tmp_path / "f.csv", TEXT.encode("cp1252"))


def test_an_encoding_is_not_detected_from_a_part_of_a_file(tmp_path: Path) -> None:
    names = ["Müller", "Händler", "Größe", "Söhne", "Straße", "Möbel", "Bücher"]
    german = "".join(f"{name} und {name}\n" for name in names).encode("cp1252")
    lines, _ = content(tmp_path / "f.csv", german * 100)
    assert lines[0] == "Müller und Müller\n"
    with pytest.raises(FileError, match="set encoding = "):
        content(tmp_path / "f.csv", german * 10_000)


def test_a_byte_order_mark_that_contradicts_the_map_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match='byte order mark of utf-8, but the map has encoding = "cp1252"'):
        content(tmp_path / "f.csv", TEXT.encode("utf-8-sig"), "cp1252")


@pytest.mark.parametrize(("encoding", "cut"), [("utf-8", b"\xe9"), ("utf-16", b"x")])
def test_bytes_that_cannot_be_decoded_are_marked(tmp_path: Path, encoding: str, cut: bytes) -> None:
    lines, problem = content(tmp_path / "f.csv", TEXT.encode(encoding) + cut)
    assert (lines, problem) == ([*TEXT.splitlines(keepends=True), BROKEN], None)


def test_a_character_on_the_edge_of_the_sample_is_read(tmp_path: Path) -> None:
    text = "x" * 99 + "\n"
    text = text * ((1 << 20) // 100)
    text += "y" * ((1 << 20) - len(text) - 1) + "ë\n"
    assert content(tmp_path / "f.csv", text.encode())[0][-1] == text.splitlines()[-1] + "\n"


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        (b"PK\x03\x04", "spreadsheet"),
        (b"\xd0\xcf\x11\xe0", "spreadsheet"),
        (b"%PDF-1.7", "PDF"),
        (b"PAR1", "Parquet"),
        (b"  <!DOCTYPE html>", "HTML"),
        (b"\xef\xbb\xbf<html>", "HTML"),
        (b"<?xml", "XML"),
    ],
)
def test_a_file_of_another_kind_is_named(tmp_path: Path, start: bytes, kind: str) -> None:
    with pytest.raises(FileError, match=f"is not a CSV file but .*{kind}"):
        content(tmp_path / "f.csv", start + b"\x00\x01 of it")
    with pytest.raises(FileError, match=f"is not a CSV file but .*{kind}"):
        content(tmp_path / "f.csv.gz", gzip.compress(start + b" of it"))


def test_a_gzipped_file_is_known_by_its_content_and_by_its_name(tmp_path: Path) -> None:
    assert content(tmp_path / "f.csv", gzip.compress(TEXT.encode()))[0] == TEXT.splitlines(keepends=True)
    with pytest.raises(FileError, match="cannot be read"):
        content(tmp_path / "f.csv.gz", TEXT.encode())


def test_the_lines_before_a_file_breaks_off_are_read(tmp_path: Path) -> None:
    compressor = zlib.compressobj(wbits=31)
    raw = compressor.compress(b"a,b\n1,2\n") + compressor.flush(zlib.Z_SYNC_FLUSH)
    lines, problem = content(tmp_path / "f.csv.gz", raw)
    assert lines == ["a,b\n", "1,2\n"]
    assert problem is not None
    assert "ends early" in problem


def test_a_line_that_is_too_long_is_no_text_and_takes_no_other_line_with_it() -> None:
    longest = "x" * (LONGEST - 1) + "\n"
    text = io.StringIO(f"a\n{longest}x{longest}b\n" + "y" * 3 * LONGEST, newline="")
    assert list(numbered(text)) == [(1, "a\n"), (2, longest), (3, None), (4, "b\n"), (5, None)]


def test_a_bomb_ends_within_limits(tmp_path: Path) -> None:
    compressor = zlib.compressobj(9, wbits=31)
    with (tmp_path / "bomb.csv.gz").open("wb") as file:
        for _ in range(1100):
            file.write(compressor.compress(b"\n" * 100_000))
        file.write(compressor.flush())
    tracemalloc.start()
    try:
        with open_text(str(tmp_path / "bomb.csv.gz"), None) as bomb:
            count = sum(1 for _ in zip(bomb.lines(), range(10), strict=False))
            for _ in iter(lambda: bomb._text.read(1 << 16), ""):
                pass
            list(bomb.lines())
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()
    assert count == 10
    assert bomb.problem is not None
    assert "expands more than 250-fold" in bomb.problem


def test_what_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="is not text"):
        content(tmp_path / "f.csv", bytes(range(1, 256)) * 100)


@pytest.mark.parametrize("encoding", sorted(set(aliases.values())))
def test_every_encoding_of_a_map_gives_lines_or_an_error(tmp_path: Path, encoding: str) -> None:
    toml = f"""
[file]
encoding = "{encoding}"

[[event]]
id = "{{id}}"
source = "s"
type = "sale.recorded"
subject = "{{shop}}"
data = {{ amount = "1", currency = "EUR" }}
"""
    try:
        declared = load_map(toml).file.encoding
    except MapError as error:
        assert error.field == "file.encoding"  # noqa: PT017 - either is right
        return
    lines, _ = content(tmp_path / "f.csv", b"id,shop\nA,\xff\xfe\x81\nB,42", declared)
    assert all(line is None or isinstance(line, str) for line in lines)
