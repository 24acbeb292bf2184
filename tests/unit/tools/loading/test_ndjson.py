"""Lines of NDJSON come whole, in bounded memory, from whatever a file holds."""

import gzip
import io
import json
import os
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading import input_lines
from quarterhour_tools.loading.ndjson import LONGEST, Line, Lines, NoEventError, open_lines, value_of, values


def read(content: bytes, tmp_path: Path) -> tuple[list[Line], str | None]:
    (file := tmp_path / "file").write_bytes(content)
    with open_lines(str(file)) as lines:
        return list(lines), lines.problem


def texts(content: bytes, tmp_path: Path) -> list[tuple[int, bytes]]:
    lines, problem = read(content, tmp_path)
    assert problem is None
    return [(line.number, line.body) for line in lines]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"\n \r\n\t\n", []),
        (b"{}\n[]\n", [(1, b"{}"), (2, b"[]")]),
        (b"{}\r\n\r\n{}", [(1, b"{}"), (3, b"{}")]),
        (b"\xef\xbb\xbf{}\n\xef\xbb\xbf{}", [(1, b"{}"), (2, b"\xef\xbb\xbf{}")]),
        (b"a\rb\x85c\xe2\x80\xa8d\n", [(1, b"a\rb\x85c\xe2\x80\xa8d")]),
    ],
)
def test_lines_end_at_a_line_feed_and_blank_ones_count(
    tmp_path: Path, content: bytes, expected: list[tuple[int, bytes]]
) -> None:
    assert texts(content, tmp_path) == expected
    assert texts(gzip.compress(content), tmp_path) == expected


def test_the_chain_identifies_all_lines_up_to_one_but_not_their_ends(tmp_path: Path) -> None:
    def chains(content: bytes) -> list[bytes]:
        return [line.chain for line in read(content, tmp_path)[0]]

    first = chains(b"a\nb\nc")
    assert chains(b"a\r\nb\r\nc\r\n") == first == chains(gzip.compress(b"a\nb\nc\n"))
    assert chains(b"a\nb") == first[:2]
    assert [one == two for one, two in zip(chains(b"a\nx\nc"), first, strict=True)] == [True, False, False]
    assert chains(b"ab\nc")[-1] != chains(b"a\nbc")[-1]


def test_a_line_that_is_too_long_is_one_line_and_the_next_one_is_read(tmp_path: Path) -> None:
    fits = b'"' + b"x" * (LONGEST - 2) + b'"'
    content = fits + b"\r\n" + fits + b"x\n" + b"y" * 1_000_000 + b"\n{}\n" + b"y" * 1_000_001
    lines, problem = read(content, tmp_path)
    assert problem is None
    assert [line.number for line in lines] == [1, 2, 3, 4, 5]
    problems = [problem_of(line) for line in lines]
    assert [problem is None for problem in problems] == [True, False, False, True, False]
    assert str(problems[2]).startswith("has 1,000,00")
    assert len({line.chain for line in lines}) == 5


@pytest.mark.slow
@pytest.mark.parametrize("piece", [b"\0", b"\n", b"x", b"\n \n\n"])
def test_a_bomb_ends_within_bounds_of_memory_and_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: bytes
) -> None:
    monkeypatch.setattr(input_lines, "_MOST_UNUSED", 1 << 20)
    monkeypatch.setattr(input_lines, "_MOST_UNUSED_LINES", 100_000)
    bomb = gzip.compress(b"{}\n" + piece * (16 << 20))
    tracemalloc.start()
    lines, problem = read(bomb, tmp_path)
    peak = tracemalloc.get_traced_memory()[1] - len(bomb)
    tracemalloc.stop()
    assert [line.body for line in lines] == [b"{}"]
    assert problem
    assert "there is no event in" in problem
    assert peak < 4 << 20


def test_blank_lines_end_the_reading_long_before_their_bytes_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(input_lines, "_MOST_UNUSED_LINES", 3)
    lines, problem = read(b"\n\n\n{}\n\n\n\n{}" + b"\n" * 5 + b"{}", tmp_path)
    assert [line.number for line in lines] == [4, 8]
    assert problem == "what follows line 11 cannot be read: there is no event in 3 lines"


def test_what_can_be_read_of_a_truncated_or_broken_file_is_read_and_the_rest_reported(tmp_path: Path) -> None:
    content = b"".join(b'{"id": "%d"}\n' % number for number in range(50_000))
    packed = gzip.compress(content)
    for broken in (packed[:-9], packed[: len(packed) // 2], packed + b"rest", packed[:-8] + b"12345678"):
        lines, problem = read(broken, tmp_path)
        assert problem
        assert problem.startswith(f"what follows line {lines[-1].number:,} cannot be read: ")
        assert [line.body for line in lines] == content.split(b"\n")[: len(lines)]
        assert len(lines) > 10_000


def test_another_thing_than_a_regular_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for name, problem in (("fifo", "write -"), (".", "not a regular file"), ("none", "No such file")):
        with pytest.raises(ToolError, match=problem), open_lines(str(tmp_path / name)):
            pass


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_standard_input_is_read_plain_or_compressed(monkeypatch: pytest.MonkeyPatch, pack: Any) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(pack(b"{}\n[]"))))
    with open_lines("-") as lines:
        assert [line.body for line in lines] == [b"{}", b"[]"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"id,amount", "is not JSON: Expecting value at character 1"),
        (b'{"a": 1}, {"b": 2}', "is not JSON: Extra data at character 9"),
        (b'{"a": 1, "a": 2}', "is not JSON: the key 'a' appears twice in one object"),
        (b'"caf\xe9"', "is not JSON: byte 5 is not UTF-8"),
        (b"[" * 100_000, "is not JSON: nested too deeply"),
    ],
)
def test_a_line_that_would_spoil_a_request_has_a_problem(text: bytes, problem: str) -> None:
    assert problem_of(Line(1, text, b"", len(text))) == problem


def problem_of(line: Line) -> str | None:
    try:
        value_of(line)
    except NoEventError as error:
        return error.problem.problem
    return None


TEXTS = st.lists(
    st.sampled_from(
        ("{}", '{"a": 1}', '{"a": 1, "a": 2}', '{"a": {"b": 1, "b": 1}}', "{}, {}", "[{}", "{}]", '{"a": [{}', "{}]}")
    )
    | st.sampled_from(("1", "1, 2", "[1", "2]", "3, 4, 5", '"a', 'b"', "NaN", "1e999999999999999999", "9" * 5000))
    | st.sampled_from(("[" * 5000, "caf\xe9", ",", '"', "\\", "{", "}")),
    max_size=8,
)


@given(TEXTS)
def test_lines_together_are_values_only_if_each_alone_is_one(texts: list[str]) -> None:
    lines = [Line(number, text.encode("latin-1"), b"", len(text)) for number, text in enumerate(texts, 1)]
    found = values(lines) if lines else []
    if any("appears twice" not in (problem_of(line) or "appears twice") for line in lines):
        assert found is None
    else:
        assert repr(found) == repr([json.loads(line.body, parse_int=float) for line in lines])


@given(st.binary(max_size=300).map(lambda one: one.replace(b"\x00", b"\n")))
def test_the_lines_are_those_of_a_split_whatever_the_content(content: bytes) -> None:
    lines = Lines(io.BytesIO(content))
    expected = [one.strip(b" \t\r\n") for one in content.removeprefix(b"\xef\xbb\xbf").split(b"\n")]
    assert [(line.number, line.body) for line in lines] == [(at, one) for at, one in enumerate(expected, 1) if one]
