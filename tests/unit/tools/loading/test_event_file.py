"""A file of events, line by line, and the requests that carry them."""

import gzip
import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.ledger.events.http import BATCH, ONE
from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading import input_lines
from quarterhour_tools.loading.event_file import BadLine, EventLine, Group, grouped, open_source, read_lines

START = datetime(2026, 10, 23, 1, 30, tzinfo=UTC)
LEAP = timedelta(days=366)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def line(number: int, seconds: float | None) -> EventLine:
    return EventLine(number, f'{{"n":{number}}}', None if seconds is None else at(seconds))


def groups(
    lines: Iterable[EventLine | BadLine], now: datetime | None = None, most: int = 500
) -> list[tuple[datetime, list[int]]]:
    return [
        (group.instant, [one.number for one in group.lines])
        for group in grouped(lines, now, most, LEAP)
        if isinstance(group, Group)
    ]


def test_each_line_is_an_event_and_blank_lines_are_none() -> None:
    text = b'\xef\xbb\xbf{"time":"2026-10-23T01:30:00Z"}\n\n  \n{"time":"2026-10-23T03:30:00+02:00","a":1.50}\n'
    assert list(read_lines(text.splitlines(keepends=True))) == [
        EventLine(1, '{"time":"2026-10-23T01:30:00Z"}', START),
        EventLine(4, '{"time":"2026-10-23T03:30:00+02:00","a":1.50}', START),
    ]


@pytest.mark.parametrize("text", [b"no json", b'{"a":', b'{"a":NaN}', b'"\xff"', b"[" * 100_000])
def test_a_line_that_is_not_json_is_reported_with_its_number(text: bytes) -> None:
    (bad,) = read_lines([text])
    assert isinstance(bad, BadLine)
    assert bad.number == 1
    assert bad.problem.startswith("is not JSON")


@pytest.mark.parametrize(
    "time", ['"soon"', '"2026-10-23T01:30:00"', "5", "null", '"9999-12-31T23:59:59Z"', '"0001-01-01T00:00:00Z"']
)
def test_a_time_that_cannot_be_followed_is_none(time: str) -> None:
    (read,) = read_lines([f'{{"time":{time}}}'.encode()])
    assert isinstance(read, EventLine)
    assert read.time is None


@pytest.mark.parametrize("text", [b"42", b"[1]", b'"text"', b"null"])
def test_json_that_is_no_object_is_the_ledgers_to_judge(text: bytes) -> None:
    assert list(read_lines([text])) == [EventLine(1, text.decode(), None)]


def test_lines_of_one_instant_go_together_and_the_clock_follows_their_times() -> None:
    assert groups([line(1, 0), line(2, 0), line(3, 60)]) == [(at(0), [1, 2]), (at(60), [3])]


def test_the_clock_never_goes_backwards() -> None:
    assert groups([line(1, 60), line(2, 0), line(3, 60), line(4, 61)]) == [(at(60), [1, 2, 3]), (at(61), [4])]
    assert groups([line(1, 0)], now=at(100)) == [(at(100), [1])]


def test_without_a_time_the_clock_stays_and_before_the_first_it_starts_there() -> None:
    assert groups([line(1, None), line(2, 5), line(3, None)]) == [(at(5), [1, 2, 3])]


def test_without_any_time_the_clock_has_the_machines_time() -> None:
    ((instant, numbers),) = groups([line(1, None), line(2, None)])
    assert abs(datetime.now(UTC) - instant) < timedelta(minutes=1)
    assert numbers == [1, 2]


def test_a_time_too_far_ahead_leaves_the_clock_where_it_is() -> None:
    far = LEAP.total_seconds() + 1
    assert groups([line(1, 0), line(2, far), line(3, 1)]) == [(at(0), [1, 2]), (at(1), [3])]


def test_a_request_carries_no_more_events_and_bytes_than_it_may() -> None:
    assert [numbers for _, numbers in groups([line(n, 0) for n in range(5)], most=2)] == [[0, 1], [2, 3], [4]]
    big = [EventLine(n, "x" * 1_500_000, START) for n in range(3)]
    assert [numbers for _, numbers in groups(big)] == [[0, 1], [2]]


def test_bad_lines_are_not_grouped() -> None:
    bad = BadLine(2, "is not JSON")
    assert list(grouped([line(1, 0), bad, line(3, 0)], None, 500, LEAP)) == [
        bad,
        Group(START, (line(1, 0), line(3, 0))),
    ]


def test_a_request_holds_the_unchanged_lines() -> None:
    one = Group(START, (EventLine(1, '{"amount":1.50}', None),))
    two = Group(START, (*one.lines, EventLine(2, '{"amount":2e0}', None)))
    assert (one.content_type, one.body) == (ONE, b'{"amount":1.50}')
    assert (two.content_type, two.body) == (BATCH, b'[{"amount":1.50},{"amount":2e0}]')


@given(st.lists(st.one_of(st.none(), st.integers(0, 5)), max_size=30), st.integers(1, 4))
def test_every_line_goes_once_in_order_at_the_latest_time_seen(times: list[int | None], most: int) -> None:
    lines = [line(number, seconds) for number, seconds in enumerate(times)]
    made = [(instant, number) for instant, numbers in groups(lines, START, most) for number in numbers]
    assert [number for _, number in made] == list(range(len(lines)))
    for instant, number in made:
        assert instant == at(max([0, *(seconds for seconds in times[: number + 1] if seconds is not None)]))


def test_files_are_read_packed_or_not_and_tell_how_far(tmp_path: Path) -> None:
    content = b"".join(json.dumps({"n": n}).encode() + b"\n" for n in range(3))
    (tmp_path / "a.ndjson").write_bytes(content)
    (tmp_path / "a.ndjson.gz").write_bytes(gzip.compress(content))
    for name in ("a.ndjson", "a.ndjson.gz"):
        with open_source(str(tmp_path / name)) as source:
            assert len(list(source.lines)) == 3
            assert source.position() == source.size == (tmp_path / name).stat().st_size


def test_a_file_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="none: No such file"), open_source(str(tmp_path / "none")):
        pass


def test_a_broken_packed_file_is_one_clear_line(tmp_path: Path) -> None:
    whole = gzip.compress(b"{}\n" * 100_000)
    for content, problem in (
        (b"not packed", "Not a gzipped file"),
        (whole[:50], "ended before"),
        (whole[:12] + b"\xff" * 50, ""),
    ):
        (tmp_path / "broken.gz").write_bytes(content)
        with (
            open_source(str(tmp_path / "broken.gz")) as source,
            pytest.raises(ToolError, match=rf"broken\.gz: .*{problem}"),
        ):
            list(source.lines)


def test_a_broken_file_ends_in_a_bad_line_after_those_that_could_be_read(tmp_path: Path) -> None:
    (tmp_path / "broken.gz").write_bytes(gzip.compress(b'{"n": 1}\n' * 3)[:-1])
    with open_source(str(tmp_path / "broken.gz")) as source:
        *found, last = read_lines(source.lines)
    assert found == [EventLine(number, '{"n": 1}', None) for number in (1, 2, 3)]
    assert isinstance(last, BadLine)
    assert (last.number, last.problem.partition(": ")[0]) == (4, "cannot be read, nor can what follows")


def test_a_line_that_is_too_long_is_bad_alone(tmp_path: Path) -> None:
    (tmp_path / "long").write_bytes(b"{}\n" + b"[" * 9_000_000 + b"\n{}")
    with open_source(str(tmp_path / "long")) as source:
        first, long, last = read_lines(source.lines)
    assert (first, last) == (EventLine(1, "{}", None), EventLine(3, "{}", None))
    assert long == BadLine(2, "has more than 4,000,000 bytes")


@pytest.mark.parametrize("filling", [b" " * 63 + b"\n", b" ", b"0"])
def test_reading_ends_where_no_event_comes_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, filling: bytes
) -> None:
    monkeypatch.setattr(input_lines, "_MOST_UNUSED", 1 << 20)
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b"{}\n" + filling * ((6 << 20) // len(filling)), 1))
    with open_source(str(tmp_path / "bomb.gz")) as source:
        found = list(read_lines(source.lines))
    assert found[0] == EventLine(1, "{}", None)
    assert isinstance(found[-1], BadLine)
    assert "there is no event in 1 MB" in found[-1].problem


def test_other_errors_are_not_reported_as_errors_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "events").write_bytes(b"{}")
    with pytest.raises(PermissionError), open_source(str(tmp_path / "events")):
        raise PermissionError
